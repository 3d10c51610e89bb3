"""Four unusual clients that obey every sentence: each uses a freedom that the specification leaves."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from xmcp.chat import client_made_errors
from xmcp.chat.completions import ToolCall
from xmcp.chat.errors import QuotaExceeded
from xmcp.client.calls import context_budget
from xmcp.client.calls.active_call import Event
from xmcp.client.calls.context_budget import Budgets
from xmcp.client.calls.pipeline import Outcome
from xmcp.client.hooks.middleware import LLMState
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.fallback import Model
from xmcp.client.loop.turn import ToolTurn
from xmcp.wire import ErrorInfo, ToolResponse

_SPELT_OUT = 200
"""Maximum length of a piece of text that is cut: a long one would be too many events."""


_BUDGETS = Budgets()


def spells_the_text() -> None:
    """Report the model's text letter by letter (section 11.11, row "order": how it is cut into `llm_delta` is open)."""
    right = Chat._pieces

    async def pieces(self: Chat, model: Model, state: LLMState) -> AsyncGenerator[Any, None]:
        async with aclosing(right(self, model, state)) as given:
            async for piece in given:
                for part in piece if isinstance(piece, str) and len(piece) <= _SPELT_OUT else [piece]:
                    yield part

    Chat._pieces = pieces


def signs_its_documents() -> None:
    """Write into the documents that the client itself writes the version, and after the children an element of its own
    in a namespace of its own.

    XMCP-RSP-012 allows the element, and the table of section 11.1 that an absent attribute is written with its default.
    """
    right = context_budget.encode

    def encode(response: ToolResponse, **options: Any) -> str:
        start, more, rest = right(response, **options).partition(">")  # no value of an attribute has a raw `>`
        version = "" if " version=" in start else ' version="1.0"'
        inside = (start + version + more + rest).removesuffix("</tool_response>")
        return f'{inside}<by:client xmlns:by="urn:example:odd-client" by:name="odd"/></tool_response>'

    context_budget.encode = encode


def knows_what_it_did_not_send() -> None:
    """Say `side_effects` `none` for a call that the time-out of its chat met before an attempt (section 11.11, row "a
    call that the end of its chat met before an attempt was sent").

    Not where there is a cache: there, the attempt of an equal call can be the call's own.
    """
    right_emit, right_failed = ToolTurn._emit, ToolTurn._failed

    def emit(self: ToolTurn, event: Event | int | QuotaExceeded) -> None:
        if isinstance(event, ToolCall):  # its first attempt begins
            self.__dict__.setdefault("_sent", set()).add(event.id)
        right_emit(self, event)

    def failed(self: ToolTurn, call: ToolCall, error: ErrorInfo) -> Outcome:
        sent: set[str] = self.__dict__.get("_sent", set())
        if self._pipeline.cache is None and call.id not in sent and error == client_made_errors.chat_timed_out():
            error = replace(error, meta={**(error.meta or {}), "side_effects": "none"})
        return right_failed(self, call, error)

    ToolTurn._emit = emit
    ToolTurn._failed = failed


def says_nothing_of_blocks() -> None:
    """Tell the model nothing at all of a text block for the user alone: the reference in the place of one is something
    that it can get (section 6.4, "Blocks for the user alone"). A picture still has its reference.
    """
    right = context_budget.for_model

    def for_model(response: ToolResponse, document: str | None = None, budgets: Budgets = _BUDGETS) -> str:
        pictures = tuple(shown for shown in response.for_person if shown.type == "image")
        if len(pictures) < len(response.for_person):
            response = replace(response, for_person=pictures)
        return right(response, document, budgets)

    context_budget.for_model = for_model
