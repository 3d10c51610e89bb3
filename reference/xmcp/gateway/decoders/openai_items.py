"""The items of OpenAI's Responses API as messages in the chat format, and the earlier runs that a request names. Pure.

A client sends what was said before itself, or refers to it by the ids of responses and items, which say their run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from xmcp.chat.messages import Message, call_ids
from xmcp.gateway.decoders.fields import MAX_MESSAGES, BadRequest, member, needed
from xmcp.gateway.decoders.ui_messages import joined
from xmcp.gateway.runs.response_ids import is_reasoning, run_of_item, run_of_response
from xmcp.gateway.runs.rounds import last_added, run_of_call, size_with_calls

Earlier: TypeAlias = Mapping[str, Sequence[Message]]
"""The conversations after earlier runs, by their ids; those that are not known are not in it."""

MAX_EARLIER: Final = 200
"""Maximum number of earlier runs that a request can refer to."""

MAX_EARLIER_SIZE: Final = 16 * 1024 * 1024
"""Maximum number of characters of what the items that a request refers to are, about as many as it could send itself:
each reference has a hundred, and what it brings can have millions."""

_ROLES: Final = ("user", "assistant", "system", "developer")


def continued_run(body: Mapping[str, Any]) -> str | None:
    """Return the earlier run that a request names first, for whoever looks for the process that has it.

    `None`: it names none. The body need not be right.
    """
    listed = body.get("input")
    items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    named = (run_of_item(item.get("id")) or run_of_call(item.get("call_id")) for item in items)
    return run_of_response(body.get("previous_response_id")) or next(filter(None, named), None)


def run_before(body: Mapping[str, Any]) -> str | None:
    """Return the run whose conversation a request goes on from; `None` if it has all messages, or names a session.

    Results of the client's own tools come alone where the conversation has their calls.
    """
    if (found := run_of_response(body.get("previous_response_id"))) is not None:
        return found
    match body:
        case {"conversation": str() | dict(), "input": [{"type": "function_call_output", "call_id": call_id}, *_]}:
            return run_of_call(call_id)
        case _:
            return None


def needed_runs(body: Mapping[str, Any]) -> Sequence[str]:
    """Return the earlier runs whose conversations `messages_of` needs, each once.

    Raises:
        BadRequest: they are too many.
    """
    items = body.get("input")
    references = [item.get("id") for item in items if _is_reference(item)] if isinstance(items, list) else []
    found = [*dict.fromkeys(run for run in (run_before(body), *map(run_of_item, references)) if run is not None)]
    if len(found) > MAX_EARLIER:
        told = f"input refers to more than {MAX_EARLIER} earlier responses: send what they said itself."
        raise BadRequest(told, "input")
    return found


def _is_reference(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "item_reference"


def messages_of(
    items: Sequence[Any], before: Sequence[Message], brought: str | None, earlier: Earlier
) -> Sequence[Message]:
    """Return the messages of a conversation: those `before`, of the run `brought`, and what the items are.

    Raises:
        BadRequest: an item is wrong, or refers to what is not known.
    """
    if len(items) > MAX_MESSAGES:
        raise BadRequest(f"input has more than {MAX_MESSAGES:,} items.", "input")
    reading = _Reading(before, brought, earlier)
    for place, item in enumerate(items):
        if not isinstance(item, dict):
            raise BadRequest(f"input[{place}] must be an object.", f"input[{place}]", "invalid_type")
        reading.messages += reading.of(item, f"input[{place}]")
    return joined(reading.messages)


class _Reading:
    """Reads items in their order."""

    def __init__(self, before: Sequence[Message], brought: str | None, earlier: Earlier) -> None:
        self.messages: list[Any] = [*before]
        self._brought = {brought}
        """The runs of which everything is among the messages."""
        self._earlier = earlier
        self._calls = call_ids(before)
        self._referred_size = 0

    def of(self, item: Mapping[str, Any], place: str) -> Iterator[Message]:
        """Yield the messages that an item is."""
        match item.get("type") or "message":
            case "message":
                if (said := _message(item, place)) is not None:
                    yield said
            case "function_call":
                names = ("call_id", "name", "arguments")
                call_id, name, arguments = (_needed(item, one, place) for one in names)
                if call_id not in self._calls:
                    self._calls.add(call_id)
                    function = {"name": name, "arguments": arguments}
                    call = {"id": call_id, "type": "function", "function": function}
                    yield {"role": "assistant", "content": None, "tool_calls": [call]}
            case "function_call_output":
                call_id = _needed(item, "call_id", place)
                if call_id not in self._calls:
                    told = (
                        f"{place} is the output of the call {call_id[:100]!r}, which is not before it: send that too."
                    )
                    raise BadRequest(told, f"{place}.call_id")
                yield {
                    "role": "tool",
                    "tool_call_id": call_id,
                    "content": _parts(item.get("output"), f"{place}.output"),
                }
            case "item_reference":
                yield from self._referred(item.get("id"), f"{place}.id")
            case "reasoning":
                pass  # what a vendor wants back of it is kept with its run
            case other:
                told = f"{place} has the type {str(other)[:100]!r}, which cannot be taken."
                raise BadRequest(told, f"{place}.type", "unsupported_value")

    def _referred(self, name: Any, place: str) -> Iterator[Message]:
        """Yield all that the run of an item has added, once."""
        run_id = run_of_item(name)
        if is_reasoning(name) or (run_id is not None and run_id in self._brought):
            return
        if run_id is None or run_id not in self._earlier:
            told = (
                f"Item with id {str(name)[:100]!r} not found, or not kept any more: send what it said (store: false)."
            )
            raise BadRequest(told, place, "item_not_found")
        self._brought.add(run_id)
        added = last_added(self._earlier[run_id])
        self._referred_size += sum(map(size_with_calls, added))
        if self._referred_size > MAX_EARLIER_SIZE:
            told = f"input refers to more than {MAX_EARLIER_SIZE:,} characters of earlier responses: leave some out."
            raise BadRequest(told, place)
        self._calls |= call_ids(added)
        yield from added


def _needed(item: Mapping[str, Any], name: str, place: str) -> str:
    try:
        return needed(item, name, str)
    except BadRequest as error:
        raise BadRequest(f"{place}.{error}", f"{place}.{name}", error.code) from None


def _message(item: Mapping[str, Any], place: str) -> Message | None:
    """Return a message; `None` if the assistant said nothing in it."""
    role, content = item.get("role"), item.get("content")
    if role not in _ROLES:
        raise BadRequest(f"{place}.role must be one of {', '.join(_ROLES)}.", f"{place}.role")
    parts = _parts(content, f"{place}.content")
    if role == "user" or isinstance(parts, str):
        return {"role": role, "content": parts} if parts or role != "assistant" else None
    text = "".join(part["text"] for part in parts if part["type"] == "text")
    return {"role": role, "content": text} if text or role != "assistant" else None


def _parts(content: Any, place: str) -> Any:
    """Return a content in the chat format: a text, or parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise BadRequest(f"{place} must be a text or a list of parts.", place, "invalid_type")
    return [_part(part, f"{place}[{number}]") for number, part in enumerate(content)]


def _part(part: Any, place: str) -> dict[str, Any]:
    match part:
        case {"type": "input_text" | "output_text" | "text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "refusal", "refusal": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "input_image", "image_url": str(url)}:
            return {"type": "image_url", "image_url": {"url": url}}
        case {"type": "input_file", "file_data": str(data)}:
            return {"type": "file", "file": {"file_data": data, "filename": member(part, "filename", str)}}
        case _:
            told = f"{place} must be input_text, output_text, input_image with image_url, or input_file with file_data."
            raise BadRequest(told, place)
