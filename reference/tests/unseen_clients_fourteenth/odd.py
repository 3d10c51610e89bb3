"""Four clients that are right, in ways that few clients are."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from unseen_clients_fourteenth.wrong import put
from xmcp.chat.events import ToolDisplay, ToolEvent, ToolWarning
from xmcp.client.calls import context_budget
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.turn import ToolTurn, let_others_run
from xmcp.wire import ToolResponse, decode, encode
from xmcp.wire.response import bind_codec

_START, _END = "<tool_response ", "</tool_response>"


def documents_with_a_vendor_s_element() -> None:
    """Documents that the client writes have an element and an attribute in a namespace of its own (XMCP-RSP-012)."""

    def marked(response: ToolResponse, **options: Any) -> str:
        document = encode(response, **options)
        if not (document.startswith(_START) and document.endswith(_END)):
            raise ValueError("the encoder writes another form now")
        space = 'xmlns:acme="https://acme.example/xmcp" acme:by="client" '
        inside = document[len(_START) : -len(_END)]
        return f"{_START}{space}{inside}<acme:note>Written by the client.</acme:note>{_END}"

    put(context_budget, "encode", marked)
    bind_codec(marked, decode)


def one_delta_for_each_character() -> None:
    """Each character of the model's text is a `llm_delta` of its own: how the text is cut is open."""
    pieces = Chat._pieces

    async def characters(chat: Chat, model: Any, state: Any) -> AsyncGenerator[Any, None]:
        async with aclosing(pieces(chat, model, state)) as received:
            async for piece in received:
                if not isinstance(piece, str):
                    yield piece
                    continue
                for place, character in enumerate(piece, 1):
                    yield character
                    await let_others_run(place)

    put(Chat, "_pieces", characters)


def lists_the_tools_for_each_chat() -> None:
    """The tools of all servers are listed again when a chat begins (section 11.9), and at no other request."""
    tools = Chat._tools

    async def listed(chat: Chat) -> Any:
        if chat._turn == 0:
            (servers,) = chat._catalogue.args  # type: ignore[attr-defined]
            await servers._servers.refresh()
        return await tools(chat)

    put(Chat, "_tools", listed)


def warns_between_result_and_display() -> None:
    """A `warning` stands between the result of a call and each of its displays; where it stands is open."""
    events_of = ToolTurn._outcome_events

    def with_warnings(turn: ToolTurn, index: int) -> Sequence[ToolEvent]:
        events: list[ToolEvent] = []
        for event in events_of(turn, index):
            if isinstance(event, ToolDisplay):
                size = context_budget.size(event.envelope)
                fields = {"turn": event.turn, "call_id": event.call_id, "tool_name": event.tool_name}
                events.append(ToolWarning(**fields, text=f"A display of {size} bytes follows."))  # type: ignore[arg-type]
            events.append(replace(event))
        return events

    put(ToolTurn, "_outcome_events", with_warnings)
