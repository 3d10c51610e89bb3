"""Unusual clients that are right: each function uses a freedom that the specification leaves."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from xmcp.chat import client_made_errors, messages
from xmcp.chat.events import ToolEvent, ToolRequested
from xmcp.chat.messages import Message
from xmcp.chat.tool_schemas import legal_name
from xmcp.client.calls import context_budget, server_results
from xmcp.client.loop.turn import ToolTurn
from xmcp.wire import ToolResponse, encode
from xmcp_models.registry import RESULT_META_KEY


def says_nothing_of_texts_for_the_person() -> None:
    """Give the model no reference in the place of a text for the user alone: section 6.4 says that it can get one.

    A picture keeps its reference, because the model has to know that it is there.
    """
    for_model = context_budget.for_model

    def without_references(response: ToolResponse, *others: Any, **options: Any) -> str:
        pictures = tuple(display for display in response.for_person if display.type == "image")
        return for_model(replace(response, for_person=pictures), *others, **options)

    context_budget.for_model = without_references


def repeats_the_marks_of_plain_results() -> None:
    """Repeat `format`, `truncated` and `lossy` of a plain result in the document for the model (section 11.11)."""
    read_members = server_results._read_members

    def with_marks(result: Any, tool_name: str, text: str, meta: Mapping[str, Any]) -> ToolResponse:
        response, mark = read_members(result, tool_name, text, meta), meta.get(RESULT_META_KEY)
        if response.llm_output is None or not text or not isinstance(mark, Mapping):
            return response
        given = mark.get("format")
        media_type = given if isinstance(given, str) and given != "text/plain" else None
        truncated, lossy = mark.get("truncated") is True, mark.get("lossy") is True
        marked = replace(response, format=media_type, truncated=truncated, lossy=lossy)
        try:
            encode(marked, check=False)
        except ValueError:
            return response
        return marked

    server_results._read_members = with_marks


def mends_histories() -> None:
    """Send a mended copy of a history whose calls and tool messages do not match, in place of a refusal (11.11).

    A tool message without its call is left out, one that comes late is moved up, and one that is missing is written.
    """
    begin = messages.begin

    def begun(history: Sequence[Message], query: str) -> list[dict[str, Any]]:
        if messages.problem(history) is None or not all(_is_known(message) for message in history):
            return begin(history, query)
        return begin(_mended(history), query)

    messages.begin = begun


def _is_known(message: Any) -> bool:
    """Return whether a message has a role that is known and, if it has calls, an id and a name for each of them."""
    if not isinstance(message, Mapping) or message.get("role") not in messages.ROLES:
        return False
    calls = message.get("tool_calls") or ()
    if not isinstance(calls, list | tuple):
        return False
    ids = [call.get("id") for call in calls if isinstance(call, Mapping)]
    named = [call["function"].get("name") for call in calls if isinstance(call.get("function"), Mapping)]
    return (
        len(set(ids)) == len(named) == len(calls)
        and all(isinstance(call_id, str) for call_id in ids)
        and all(isinstance(name, str) for name in named)
    )


def _mended(history: Sequence[Message]) -> list[Message]:
    answers: dict[Any, list[Message]] = {}
    for message in history:
        if message["role"] == "tool":
            answers.setdefault(str(message.get("tool_call_id")), []).append(message)
    mended: list[Message] = []
    for message in history:
        if message["role"] == "tool":
            continue
        mended.append(message)
        if message["role"] == "assistant":
            for call in message.get("tool_calls") or ():
                known = answers.get(call["id"])
                mended.append(known.pop(0) if known else _missing(call))
    return mended


def _missing(call: Mapping[str, Any]) -> Message:
    name = legal_name(call["function"]["name"])
    content = ToolResponse(name, error=client_made_errors.not_ended()).to_xml()
    return {"role": "tool", "tool_call_id": call["id"], "name": name, "content": content}


def tells_calls_last_first() -> None:
    """Give the events `tool_call` of a turn from the last call to the first: among calls the order is open (11.11)."""
    run = ToolTurn.run

    async def last_first(self: ToolTurn) -> AsyncGenerator[ToolEvent, None]:
        asked: list[ToolEvent] = []
        async with aclosing(run(self)) as events:
            async for event in events:
                if not isinstance(event, ToolRequested):
                    yield event
                    continue
                asked.append(event)
                if len(asked) == len(self._calls):
                    for one in reversed(asked):
                        yield one

    ToolTurn.run = last_first  # type: ignore[method-assign]
