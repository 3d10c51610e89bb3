"""Four unusual clients that obey every sentence: each uses a freedom that the specification leaves."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from xmcp.chat import client_made_errors, completions, messages
from xmcp.chat.completions import ToolCall
from xmcp.chat.messages import Message
from xmcp.chat.tool_schemas import legal_name
from xmcp.client.calls.cache import ResponseCache
from xmcp.client.loop import chat
from xmcp.client.tools import names
from xmcp.providers.formats import chat_completions
from xmcp.wire import ToolResponse


def mends_what_was_given() -> None:
    """Send a mended copy of a history that breaks XMCP-CLI-002: calls without an answer get `CANCELLED`, tool messages
    without a call are left out (11.11, row "a history of the application that breaks XMCP-CLI-002").
    """
    right = messages.begin

    def begin(history: Sequence[Message], query: str) -> list[dict[str, Any]]:
        return right(history if messages.problem(history) is None else _mended(history), query)

    messages.begin = begin


def _mended(history: Sequence[Message]) -> Sequence[Message]:
    made: list[Message] = []
    for place, message in enumerate(history):
        if not isinstance(message, Mapping) or message.get("role") not in messages.ROLES:
            return history
        if message["role"] == "tool":
            continue
        made.append(message)
        calls = message.get("tool_calls") or ()
        if message["role"] != "assistant" or not calls:
            continue
        later = [other for other in history[place + 1 :] if isinstance(other, Mapping) and other.get("role") == "tool"]
        for call in calls:
            try:
                name, call_id = str(call["function"]["name"]), call["id"]
            except (KeyError, TypeError):
                return history
            answer = next((other for other in later if other.get("tool_call_id") == call_id), None)
            if answer is None:
                error = client_made_errors.cancelled()
                content = ToolResponse(legal_name(name), error=error).to_xml()
                answer = {"role": "tool", "tool_call_id": call_id, "content": content}
            made.append(answer)
    return made


def numbers_what_clashes() -> None:
    """Offer a tool whose name is taken under a name with a number and without the server (11.11, row "names")."""

    def free(_: str, tool: str, taken: Collection[str], own: Collection[str], numbers: dict[str, int]) -> str:
        while True:
            numbers[tool] = number = numbers.get(tool, 1) + 1
            name = legal_name(f"no{number}_{tool}")
            if name not in taken and name not in own:
                return name

    names._free = free


def remembers_nothing() -> None:
    """Use no stored answer: an entry of the cache is too old at once (11.5, 11.11, row "limits"). Equal calls that are
    under way at the same time are still made once.
    """

    async def get(_: ResponseCache, __: str) -> None:
        return None

    ResponseCache._get = get


def ids_by_chance() -> None:
    """Give a call that needs an id of the client's own 32 random digits: no sentence says what an id looks like
    (XMCP-CLI-005).
    """
    right = completions.unique_ids

    def unique_ids(calls: Iterable[ToolCall], taken: Collection[str] = ()) -> tuple[ToolCall, ...]:
        given = tuple(calls)
        return tuple(
            made if made.id == call.id else ToolCall(uuid.uuid4().hex, made.name, made.arguments)
            for call, made in zip(given, right(given, taken), strict=True)
        )

    completions.unique_ids = chat.unique_ids = chat_completions.unique_ids = unique_ids
