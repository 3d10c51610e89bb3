"""Clients that are unusual and right: each function uses a freedom that the specification leaves."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from xmcp.chat import client_made_errors, messages
from xmcp.chat.events import ChatChunk, LLMDelta
from xmcp.chat.messages import Message
from xmcp.chat.tool_schemas import legal_name
from xmcp.client.calls import content_blocks
from xmcp.client.loop.chat import Chat
from xmcp.client.tools.catalogue import Catalogue
from xmcp.wire import DisplayEnvelope, ToolResponse


def mends_a_history() -> None:
    """Send a mended copy of a history that breaks XMCP-CLI-002, in the place of refusing it (section 11.11)."""
    original = messages.begin

    def cancelled(call: Mapping[str, Any]) -> dict[str, Any]:
        name = legal_name(str((call.get("function") or {}).get("name") or ""))
        content = ToolResponse(name, error=client_made_errors.not_ended()).to_xml()
        return {"role": "tool", "tool_call_id": call["id"], "content": content}

    def mended(history: Sequence[Message]) -> list[Message]:
        kept: list[Message] = []
        waiting: dict[str, Mapping[str, Any]] = {}
        for message in history:
            if message["role"] == "tool":
                if waiting.pop(message.get("tool_call_id") or "", None) is not None:
                    kept.append(message)
                continue
            kept += map(cancelled, waiting.values())
            waiting = {call["id"]: call for call in message.get("tool_calls") or ()}
            kept.append(message)
        return [*kept, *map(cancelled, waiting.values())]

    def begin(history: Sequence[Message], query: str) -> list[dict[str, Any]]:
        if messages.problem(history) is None:
            return original(history, query)
        try:
            copy = mended(history)
        except (AttributeError, KeyError, TypeError):
            return original(history, query)
        return original(copy, query)

    messages.begin = begin


def words_its_errors_in_german() -> None:
    """Write one short German sentence as the message of each error that the client makes (section 11.11: texts).

    A message that is a server's or the application's own stays.
    """
    fixed = ("{text}", "{reason}")
    client_made_errors.TABLE = {  # type: ignore[misc]
        name: row if row.message in fixed else replace(row, message=f"Kein Ergebnis: {row.code}.")
        for name, row in client_made_errors.TABLE.items()
    }


def tells_the_text_letter_by_letter() -> None:
    """Give each letter of the model's text as an `llm_delta` of its own (section 11.11: order)."""
    original = Chat._ask

    async def ask(self: Chat, catalogue: Catalogue) -> AsyncGenerator[ChatChunk, None]:
        async with aclosing(original(self, catalogue)) as events:
            async for event in events:
                if isinstance(event, LLMDelta):
                    for letter in event.text:
                        yield replace(event, text=letter)
                else:
                    yield event

    Chat._ask = ask  # type: ignore[method-assign]


def shows_a_link_as_a_file() -> None:
    """Show the person a link for the user alone as a display of the type `file` (section 11.11, XMCP-MCP-046)."""
    original = content_blocks._words

    def words(block: Any) -> DisplayEnvelope | None:
        if block.type == "resource_link":
            try:
                return DisplayEnvelope(type="file", payload={"uri": str(block.uri), "name": block.name})
            except ValueError:
                pass
        return original(block)

    content_blocks._words = words
