"""Four odd clients, which break nothing. Each function changes the reference client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xmcp.chat import client_made_errors, messages
from xmcp.chat.completions import Completion, ToolCall
from xmcp.chat.events import ToolEvent, ToolWarning
from xmcp.client.calls import context_budget
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.turn import ToolTurn

if TYPE_CHECKING:
    from xmcp.client.calls.context_budget import Budgets
    from xmcp.client.hooks.middleware import LLMState
    from xmcp.client.loop.fallback import Model
    from xmcp.providers import LLMProvider, ModelRequest
    from xmcp.wire import ErrorInfo, ToolResponse


def texts_for_the_person_leave_no_trace() -> None:
    """Section 6.4: the model *can* get a reference in the place of a block for the user alone; here it gets none.

    Of a picture, which can be for the model as well, the model is still told that it is there. The person is shown
    all of it as before.
    """
    original = context_budget.for_model

    def for_model(response: ToolResponse, document: str | None = None, budgets: Budgets | None = None) -> str:
        pictures = tuple(shown for shown in response.for_person if shown.type == "image")
        # Of a copy: events and callbacks get the response itself.
        seen = response if len(pictures) == len(response.for_person) else replace(response, for_person=pictures)
        return original(seen, document, budgets or context_budget.Budgets())

    context_budget.for_model = for_model


def documents_in_ascii() -> None:
    """Section 2.3 and XMCP-RSP-067: in a document of the client's own, what is no ASCII is a character reference.

    A reader delivers the same text. A document of a server stays as it is.
    """
    original = context_budget.for_model

    def for_model(response: ToolResponse, document: str | None = None, budgets: Budgets | None = None) -> str:
        written = original(response, document, budgets or context_budget.Budgets())
        # There are no references inside CDATA, so a document with a section of it is left alone.
        if written == document or "<![CDATA[" in written:
            return written
        return written.encode("ascii", "xmlcharrefreplace").decode()

    context_budget.for_model = for_model


class _Letters:
    """A provider whose text comes letter by letter."""

    def __init__(self, provider: LLMProvider) -> None:
        self._provider = provider
        self.name = provider.name
        self.supports_tools = provider.supports_tools
        self.max_context_tokens = provider.max_context_tokens

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Completion, None]:
        """Yield what the provider yields, and each text in pieces of one character."""
        async with aclosing(self._provider.stream(request)) as pieces:
            async for piece in pieces:
                if isinstance(piece, str):
                    for letter in piece:
                        yield letter
                else:
                    yield piece


def letter_by_letter_and_warnings_last() -> None:
    """Section 11.11, order: each `llm_delta` is one character, and a call's warnings come after its displays."""
    pieces, outcome_events = Chat._pieces, ToolTurn._outcome_events

    def in_letters(self: Chat, model: Model, state: LLMState) -> AsyncGenerator[str, None]:
        # Cut before the client keeps it, so that what was received and what was told are the same at any moment.
        return pieces(self, replace(model, provider=_Letters(model.provider)), state)

    def warnings_last(self: ToolTurn, index: int) -> Sequence[ToolEvent]:
        events = outcome_events(self, index)
        return sorted(events, key=lambda event: isinstance(event, ToolWarning))  # a stable sort

    Chat._pieces = in_letters  # type: ignore[method-assign]
    ToolTurn._outcome_events = warnings_last  # type: ignore[method-assign]


def terse_errors_and_nameless_messages() -> None:
    """Section 11.11, texts: errors have other words and a vendor's member in `meta`; tool messages have no `name`.

    Words that are a server's or the application's stay (sections 6.4 and 11.4), and so does all of `meta` that the
    specification speaks of.
    """
    make = client_made_errors._error

    def error(row: str, *, meta: Mapping[str, Any] | None = None, **values: Any) -> ErrorInfo:
        made = make(row, meta=meta, **values)
        given = client_made_errors.TABLE[row].message in ("{text}", "{reason}")
        words = made.message if given else f"No answer of the tool ({made.code.lower()})."
        return replace(made, message=words, meta={**(made.meta or {}), "acme.example/made_by": "client"})

    def tool_message(call: ToolCall, content: str) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": call.id, "content": content}

    client_made_errors._error = error
    messages.tool_message = tool_message
