"""Four changes of the reference client that are unusual, and that the specification leaves to a client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final

from xmcp.chat import client_made_errors
from xmcp.chat.tool_schemas import legal_name
from xmcp.client.calls import context_budget
from xmcp.client.calls.context_budget import Budgets
from xmcp.client.loop.chat import Chat
from xmcp.client.tools import names
from xmcp.wire import ToolResponse

BUDGETS: Final = Budgets()
"""The budgets of a client whose application sets none."""

LONG_PIECE: Final = 400
"""A longer piece of the model's text stays whole: an event for each character of it would take long."""


def one_event_for_each_character() -> None:
    """Tell the text of the model character by character: how it is cut into `llm_delta` is open (section 11.11)."""
    original = Chat._pieces

    async def pieces(self: Chat, model: Any, state: Any) -> AsyncGenerator[str, None]:
        async with aclosing(original(self, model, state)) as answer:
            async for piece in answer:
                for part in piece if isinstance(piece, str) and len(piece) <= LONG_PIECE else [piece]:
                    yield part

    Chat._pieces = pieces  # type: ignore[method-assign]


def errors_in_german() -> None:
    """Write all errors of the client's own in the same few German words: their wording is open (section 11.11)."""
    client_made_errors.TABLE = {  # type: ignore[misc]
        kind: row if row.message in ("{text}", "{reason}") else replace(row, message="Das hat nicht geklappt.")
        for kind, row in client_made_errors.TABLE.items()
    }


def clashing_names_are_numbered() -> None:
    """Offer a tool whose name is taken under a number and that name: which name it gets is open (section 11.9)."""

    def free(server: str, tool: str, taken: Collection[str], own: Collection[str], numbers: dict[str, int]) -> str:
        name = ""
        while not name or name in taken or name in own:
            numbers[tool] = number = numbers.get(tool, 1) + 1
            name = legal_name(f"no{number}_{tool}")
        return name

    names._free = free


def no_reference_to_words_for_the_person() -> None:
    """Write no reference in the place of a text for the user alone: the model can get one (section 6.4).

    Pictures keep theirs, because the model is to learn of those that are for everybody.
    """
    original = context_budget.for_model

    def for_model(response: ToolResponse, document: str | None = None, budgets: Budgets = BUDGETS) -> str:
        pictures = tuple(shown for shown in response.for_person if shown.type == "image")
        return original(replace(response, for_person=pictures), document, budgets)

    context_budget.for_model = for_model
