"""Clients that are right, in ways of their own. A function changes the reference client in this process."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final, cast

from xmcp.chat import client_made_errors
from xmcp.chat.events import ChatChunk
from xmcp.client.calls import context_budget
from xmcp.client.calls.context_budget import Budgets
from xmcp.client.hooks.middleware import LLMState
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.fallback import Model
from xmcp.client.tools.catalogue import Catalogue
from xmcp.wire import REFERENCE_TYPE, DisplayEnvelope, ErrorInfo, ToolResponse

_LONG: Final = 2_000
_BUDGETS: Final = Budgets()


def letter_by_letter() -> None:
    """Each `llm_delta` has one character (section 11.11, order)."""
    received = Chat._pieces

    async def pieces(self: Chat, model: Model, state: LLMState) -> AsyncGenerator[str, None]:
        async with aclosing(received(self, model, state)) as whole:
            async for piece in whole:
                for part in piece if isinstance(piece, str) and len(piece) <= _LONG else (piece,):
                    yield part

    Chat._pieces = pieces  # type: ignore[method-assign]


def first_model_first() -> None:
    """Each turn asks the first model again, whichever answered before (section 11.11, another model)."""
    asked = Chat._ask

    async def ask(self: Chat, catalogue: Catalogue) -> AsyncGenerator[ChatChunk, None]:
        self._model = 0
        async with aclosing(asked(self, catalogue)) as events:
            async for event in events:
                yield event

    Chat._ask = ask  # type: ignore[method-assign]


def says_less_of_what_is_shown() -> None:
    """A reference has an `alt`, no note, and the display's `id`; of a block for the person the model is told nothing.

    Sections 3.5 and 6.4: what a reference has beside the three members is the client's choice, and so is whether there
    is one in the place of a block for the user alone.
    """
    whole = context_budget.for_model

    def reference(display: DisplayEnvelope, *, note: bool = True) -> DisplayEnvelope:
        own: dict[str, Any] = {"alt": "The person was shown something large."} if note else {}
        if note and display.id is not None:
            own["id"] = display.id
        return DisplayEnvelope(
            type=REFERENCE_TYPE,
            title=display.title,
            payload={"type": display.type, "bytes": context_budget.size(display)},
            **own,
        )

    def for_model(response: ToolResponse, document: str | None = None, budgets: Budgets = _BUDGETS) -> str:
        return whole(replace(response, for_person=()) if response.for_person else response, document, budgets)

    context_budget.reference = reference
    context_budget.for_model = for_model


def another_tongue() -> None:
    """The client's own errors are worded in another language, and have a vendor's member in `meta` and no `params`."""
    written = client_made_errors._error
    kept = {name for name, row in client_made_errors.TABLE.items() if row.message in ("{text}", "{reason}")}
    table = cast("dict[str, client_made_errors.Row]", client_made_errors.TABLE)
    for name, row in table.items():
        if name not in kept:
            words = f"Dieser Aufruf hat kein Ergebnis (Grund: {row.code}). Übrigens: ✗ & <nein>."
            table[name] = replace(row, message=words)

    def error(
        row: str,
        *,
        meta: Mapping[str, Any] | None = None,
        error_id: str | None = None,
        retry_after_ms: int | None = None,
        **values: object,
    ) -> ErrorInfo:
        made = written(row, meta=meta, error_id=error_id, retry_after_ms=retry_after_ms, **values)
        if row in kept:
            return made
        members = {name: value for name, value in (made.meta or {}).items() if name != "params"}
        return replace(made, meta={**members, "nineteenth.example/grund": [row, {"eigen": True}]})

    client_made_errors._error = error
