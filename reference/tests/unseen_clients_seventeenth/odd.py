"""Clients that do something unusual that the specification allows, as changes of the reference client."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final

from xmcp.chat import client_made_errors, messages
from xmcp.chat.events import ChatChunk, LLMDelta, ToolEvent, ToolWarning
from xmcp.chat.messages import Message
from xmcp.chat.tool_schemas import legal_name
from xmcp.client.calls import content_blocks, server_results
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.fallback import Model
from xmcp.client.loop.turn import ToolTurn
from xmcp.client.tools.catalogue import Catalogue
from xmcp.wire import DisplayEnvelope, ToolResponse
from xmcp_models.registry import RESULT_META_KEY

_MEDIA_TYPE: Final = re.compile(r"[a-z]{1,40}/[a-z0-9][a-z0-9.+-]{0,60}")


def mends_a_broken_history() -> None:
    """Section 11.11, "a history of the application that breaks XMCP-CLI-002": a mended copy is sent.

    An answer that stands elsewhere comes to its call, a call without one gets an error with the code `CANCELLED`, and
    an answer without a call is left out. A history with a role that nobody knows, or with calls that have no id of
    their own, is refused as before.
    """
    begin = messages.begin

    def begin_mended(history: Sequence[Message], query: str) -> list[dict[str, Any]]:
        return begin(_mended(history) if _can_be_mended(history) else history, query)

    messages.begin = begin_mended


def _can_be_mended(history: Sequence[Message]) -> bool:
    ids: set[Any] = set()
    for message in history:
        if not isinstance(message, Mapping) or message.get("role") not in messages.ROLES:
            return False
        calls = (message.get("tool_calls") or ()) if message["role"] == "assistant" else ()
        if not isinstance(calls, list | tuple):
            return False
        for call in calls:
            given = call.get("id") if isinstance(call, Mapping) else None
            # With an id that occurs twice it would not be clear which answer is whose.
            if not isinstance(given, str) or given in ids:
                return False
            ids.add(given)
    return messages.problem(history) is not None


def _mended(history: Sequence[Message]) -> list[Message]:
    answers: dict[Any, Message] = {}
    for message in history:
        if message["role"] == "tool":
            answers.setdefault(message.get("tool_call_id"), message)
    mended: list[Message] = []
    for message in history:
        if message["role"] == "tool":
            continue
        mended.append(message)
        calls = (message.get("tool_calls") or ()) if message["role"] == "assistant" else ()
        mended.extend(answers.get(call["id"]) or _cancelled(call) for call in calls)
    return mended


def _cancelled(call: Mapping[str, Any]) -> Message:
    function = call.get("function")
    name = function.get("name") if isinstance(function, Mapping) else None
    document = ToolResponse(legal_name(str(name or "")), error=client_made_errors.not_ended()).to_xml()
    return {"role": "tool", "tool_call_id": call["id"], "content": document}


def repeats_the_marks_of_a_plain_result() -> None:
    """Section 11.11, "a plain result's `format`, `truncated` and `lossy`": the document for the model repeats them."""
    read = server_results._read_members

    def read_members(result: Any, tool_name: str, text: str, meta: Mapping[str, Any]) -> ToolResponse:
        response, mark = read(result, tool_name, text, meta), meta[RESULT_META_KEY]
        if mark.get("lossy") is True:
            response = replace(response, lossy=True)
        # They are about the text of the blocks: without it, the text is structured content in the place of it.
        if not text or response.llm_output != text:
            return response
        media_type = mark.get("format")
        if isinstance(media_type, str) and _MEDIA_TYPE.fullmatch(media_type) and media_type != "text/plain":
            response = replace(response, format=media_type)
        return replace(response, truncated=True) if mark.get("truncated") is True else response

    server_results._read_members = read_members


def shows_texts_as_markdown() -> None:
    """Section 6.4: a text for the person is shown as `text` or `markdown`; a link is shown as this client likes.

    A text that only repeats the beginning of an `alt` "need not be shown again"; this client shows it again.
    """
    words = content_blocks._words

    def in_markdown(block: Any) -> DisplayEnvelope | None:
        shown = words(block)
        if shown is None or shown.type != "text":
            return shown
        if block.type == "resource_link":
            return DisplayEnvelope(type="markdown", payload=f"<{block.uri}> ({block.name})")
        # The text stays as it is: nothing of it is escaped.
        return DisplayEnvelope(type="markdown", payload=shown.payload)

    content_blocks._words = in_markdown


def single_letters_and_late_warnings() -> None:
    """Section 11.11, "order": each `llm_delta` has one character, and a call's warnings are its last events."""
    attempt, outcome_events = Chat._attempt, ToolTurn._outcome_events

    async def in_letters(self: Chat, model: Model, catalogue: Catalogue) -> AsyncGenerator[ChatChunk, None]:
        async with aclosing(attempt(self, model, catalogue)) as events:
            async for event in events:
                if isinstance(event, LLMDelta):
                    for letter in event.text:
                        yield LLMDelta(turn=event.turn, text=letter)
                else:
                    yield event

    def warnings_last(self: ToolTurn, index: int) -> Sequence[ToolEvent]:
        return sorted(outcome_events(self, index), key=lambda event: isinstance(event, ToolWarning))

    Chat._attempt = in_letters  # type: ignore[method-assign]
    ToolTurn._outcome_events = warnings_last  # type: ignore[method-assign]
