"""The format of OpenAI's Responses API, without I/O: request bytes, and a completion from events or one whole answer.

A request is stateless (`store: false`): it brings the whole history, and with it the encrypted reasoning of earlier
answers, which the API gives back for that (`reasoning.encrypted_content`). Raises `ProviderError` for what cannot be
read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary

from xmcp.chat.completions import Completion, ToolCall, VendorState, unique_ids
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.json_values import encode_json
from xmcp.chat.messages import Message, text_of
from xmcp.chat.sampler_config import NOT_A_NAME, SamplerConfig
from xmcp.chat.tool_schemas import ToolSchemas
from xmcp.chat.usage import Usage
from xmcp.chat.vendor_state import vendor_state
from xmcp.providers.base import Piece, Reasoning, Received
from xmcp.providers.errors import classify
from xmcp.providers.formats.chat_completions import (
    CALL_COUNTS_AS,
    MAX_ANSWER_CHARACTERS,
    MAX_REASON,
    count,
    json_object,
    object_in,
    reported,
    too_large,
)
from xmcp.providers.formats.chat_shapes import can_be_written

NAME: Final = "openai_responses"
"""The `name` of the provider, under which its state is kept."""

_NO_OPTIONS: Final = SamplerConfig()

ENCRYPTED_REASONING: Final = ["reasoning.encrypted_content"]

BETWEEN_MESSAGES: Final = "\n\n"
"""What separates the texts of two messages in one answer, such as a comment before calls and a comment between them."""


# ---- requests


def request_body(
    model: str,
    messages: Sequence[Message],
    tools: ToolSchemas,
    sampler: SamplerConfig = _NO_OPTIONS,
    *,
    encrypted_reasoning: bool = True,
) -> bytes:
    """Return the body of a streaming request.

    `stop` and `seed` are left out: the API has no such options. `encrypted_reasoning=False` is for models without
    reasoning, which refuse to be asked for it.

    Raises:
        TypeError: the messages hold something that JSON cannot.
    """
    instructions, rest = _instructions(messages)
    members = {
        "model": encode_json(model),
        "input": encode_json([item for message in rest for item in _items(message)]),
        "stream": b"true",
        "store": b"false",
    }
    if instructions:
        members["instructions"] = encode_json(instructions)
    if encrypted_reasoning:
        members["include"] = encode_json(ENCRYPTED_REASONING)
    if tools.tools:
        members["tools"] = _flat_tools(tools)
    members.update((name, encode_json(value)) for name, value in _options(sampler, tools).items())
    return b"{" + b",".join(encode_json(name) + b":" + value for name, value in members.items()) + b"}"


_NO_PARAMETERS: Final = {"type": "object", "properties": {}}

_FLAT_TOOLS: Final[WeakKeyDictionary[ToolSchemas, bytes]] = WeakKeyDictionary()


def _flat_tools(tools: ToolSchemas) -> bytes:
    """Return the tools as this API wants them, made once for all requests that offer the same."""
    written = _FLAT_TOOLS.get(tools)
    if written is None:
        # Unless it is told, this API takes schemas as strict, which few are.
        flat = [
            {"type": "function", "parameters": _NO_PARAMETERS, "strict": False, **tool["function"]}
            for tool in tools.tools
        ]
        written = _FLAT_TOOLS[tools] = encode_json(flat)
    return written


def _options(sampler: SamplerConfig, tools: ToolSchemas) -> dict[str, Any]:
    """Return the members of a request for the options that are set."""
    members: dict[str, Any] = {}
    if sampler.temperature is not None:
        members["temperature"] = sampler.temperature
    if sampler.top_p is not None:
        members["top_p"] = sampler.top_p
    if sampler.max_tokens is not None:
        members["max_output_tokens"] = sampler.max_tokens
    if (choice := sampler.tool_choice) is not None and tools.tools:
        by_name = choice not in NOT_A_NAME
        members["tool_choice"] = {"type": "function", "name": choice} if by_name else choice
    if sampler.response_format is not None:
        schema = {"type": "json_schema", "name": "answer", "schema": dict(sampler.response_format), "strict": False}
        members["text"] = {"format": schema}
    if sampler.reasoning_effort is not None:
        members["reasoning"] = {"effort": sampler.reasoning_effort}
    return {**members, **(sampler.extra_body or {})}


def _instructions(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    """Return the text of the system messages at the beginning, and the messages after them."""
    begin = 0
    while begin < len(messages) and messages[begin].get("role") in ("system", "developer"):
        begin += 1
    texts = [text for message in messages[:begin] if (text := text_of(message))]
    return "\n\n".join(texts), messages[begin:]


def _items(message: Message) -> list[dict[str, Any]]:
    """Return the input items of one message."""
    role = message.get("role")
    if role == "assistant":
        return _of_assistant(message)
    content = message.get("content")
    parts = [_part(part) for part in content] if isinstance(content, list | tuple) else content or ""
    if role == "tool":
        return [{"type": "function_call_output", "call_id": message.get("tool_call_id"), "output": parts}]
    return [{"role": role, "content": parts}]


def _part(part: Any) -> Any:
    """Return a part of a message. One that the chat format does not have is sent as it is: it may be this API's own."""
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind == "text":
        return {"type": "input_text", "text": part.get("text") or ""}
    if kind == "image_url":
        image = part.get("image_url")
        url, detail = (image.get("url"), image.get("detail")) if isinstance(image, Mapping) else (image, None)
        return {"type": "input_image", "image_url": url, "detail": detail or "auto"}
    if kind == "file" and isinstance(part.get("file"), Mapping):  # its members have the same names
        return {"type": "input_file", **part["file"]}
    return part


def _of_assistant(message: Message) -> list[dict[str, Any]]:
    text = text_of(message) or message.get("refusal") or ""
    calls = [_call_item(call) for call in message.get("tool_calls") or ()]
    state = vendor_state(message)
    if state is not None and state.vendor == NAME and (items := _in_order(state.value, text, calls)) is not None:
        return items
    return [*([{"role": "assistant", "content": text}] if text else []), *calls]


def _call_item(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"]
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        arguments = encode_json(arguments or {}).decode()
    return {"type": "function_call", "call_id": call["id"], "name": function["name"], "arguments": arguments or "{}"}


def _in_order(state: Any, text: str, calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """Return the items of an answer as the model made them, out of what `Assembly` kept.

    `None` if the message is no longer the answer that it was: reasoning before something else would be refused.
    """
    outline = state.get("output") if isinstance(state, Mapping) else None
    if not isinstance(outline, list | tuple):
        return None
    items, said, called = [], 0, 0
    for entry in outline:
        if not isinstance(entry, Mapping):
            return None
        if isinstance(kept := entry.get("kept"), Mapping):
            items.append(dict(kept))
        elif entry.get("call") == called and called < len(calls):
            items.append(calls[called])
            called += 1
        elif isinstance(length := entry.get("text"), int):
            said += len(BETWEEN_MESSAGES) if said else 0
            piece = text[said : said + length]
            said += length
            phase = {"phase": entry["phase"]} if isinstance(entry.get("phase"), str) else {}
            items.append({"role": "assistant", "content": piece, **phase})
        else:
            return None
    return items if (said, called) == (len(text), len(calls)) else None


# ---- answers


@dataclass(slots=True)
class _Item:
    """An item of an answer as its parts arrive, which are joined once, at the end."""

    kind: str
    place: int
    id: str = ""
    name: str = ""
    phase: str | None = None
    written: list[str] = field(default_factory=list)
    """The text of a message, or the arguments of a call."""
    kept: Mapping[str, Any] | None = None
    """An item that the API wants back as it is."""
    done: bool = False


class Assembly:
    """Builds one completion as its events arrive: at most `MAX_ANSWER_CHARACTERS` of text, calls and reasoning.

    `received` is kept up to date with what has arrived besides the text. What the API wants back is the `vendor_state`:
    `output` lists what the answer consisted of: `{"kept": item}`, `{"text": characters, "phase": ...}`, and
    `{"call": position}`.
    """

    unread: frozenset[str] = frozenset(
        {
            "response.in_progress",
            "response.queued",
            "response.content_part.added",
            "response.content_part.done",
            "response.output_text.done",
            "response.output_text.annotation.added",
            "response.refusal.done",
            "response.reasoning_summary_part.added",
            "response.reasoning_summary_part.done",
            "response.reasoning_summary_text.done",
            "response.reasoning_text.done",
        }
    )

    def __init__(self, provider: str, received: Received | None = None) -> None:
        self.ended = False
        self._provider = provider
        self._received = Received() if received is None else received
        self._size = 0
        self._said: list[str] = []
        """The whole text, in pieces."""
        self._items: dict[int, _Item] = {}
        self._speaking: _Item | None = None
        self._thinking: tuple[Any, ...] = ()
        """The part of the reasoning that is being received: the places of its item, and of itself in that."""
        self._finish: str | None = None

    def take(self, event: Mapping[str, Any]) -> Sequence[Piece]:
        """Add one event; return the pieces in it, of which there is often none.

        Raises:
            ProviderError: the answer failed, it grew above its limit (category `too_large`), or the event has a member
                of a wrong type.
        """
        kind = event.get("type")
        take = _TAKES.get(kind) if isinstance(kind, str) else None
        if take is not None:
            piece = take(self, event)
            return (piece,) if piece else ()
        if kind is None:
            raise self._strange("an event without a `type`") if not event.get("error") else self._failed(event)
        return ()

    def rest(self) -> Sequence[Piece]:
        """Return what was held back until the end of the stream; there is nothing in this format."""
        return ()

    def finish(self, *, done: bool) -> Completion:  # noqa: ARG002 - the mark is no end of this format
        """Return the completion.

        Raises:
            ProviderError: the stream broke off before the vendor said how the answer ended.
        """
        if self._finish is None:
            raise ProviderError(
                f"{self._provider} broke off in the middle of its answer.", category="network", provider=self._provider
            )
        items = [item for _, item in sorted(self._items.items())]
        calls = unique_ids(
            ToolCall(item.id, item.name, "".join(item.written)) for item in items if item.kind == "function_call"
        )
        reason = "tool_calls" if calls and self._finish == "stop" else self._finish
        received = self._received
        return Completion("".join(self._said), calls, reason, received.usage, received.model, _state(items))

    # What the events say. The API names an item by its place in the answer.

    def _take_text(self, event: Mapping[str, Any]) -> str:
        text = event.get("delta")
        if not isinstance(text, str):
            raise self._strange("`delta` is not a text")
        speaking = self._speaking
        if speaking is not None and event.get("output_index", 0) == speaking.place:
            # Nearly every piece comes through here, so it calls no function of its own.
            self._size += len(text)
            if self._size > MAX_ANSWER_CHARACTERS:
                raise too_large(self._provider)
            self._said.append(text)
            speaking.written.append(text)
            return text
        return self._say(self._item(event, "message"), text) if text else ""

    def _say(self, message: _Item, text: str) -> str:
        """Add text of a message that has said nothing yet; return what is to be read."""
        message.written.append(text)
        if self._said:
            text = BETWEEN_MESSAGES + text
        self._grow(len(text))
        self._said.append(text)
        self._speaking = message
        return text

    def _take_arguments(self, event: Mapping[str, Any]) -> str:
        arguments = self._delta(event)
        self._grow(len(arguments))
        self._received.bytes += _bytes(arguments)
        self._item(event, "function_call").written.append(arguments)
        return ""

    def _take_all_arguments(self, event: Mapping[str, Any]) -> str:
        self._set_arguments(self._item(event, "function_call"), event.get("arguments"))
        return ""

    def _take_thought(self, event: Mapping[str, Any]) -> Piece:
        text = self._delta(event)
        if not text:
            return ""
        before, self._thinking = self._thinking, tuple(map(event.get, _PLACES))
        return Reasoning(text if before in ((), self._thinking) else BETWEEN_MESSAGES + text)

    def _take_begun_item(self, event: Mapping[str, Any]) -> str:
        item = self._object(event, "item")
        if item.get("type") in ("message", "function_call"):
            self._name(self._item(event, item["type"]), item)
        return ""

    def _take_whole_item(self, event: Mapping[str, Any]) -> str:
        return self._take_item(event, self._object(event, "item"))

    def _take_beginning(self, event: Mapping[str, Any]) -> str:
        self._note(self._object(event, "response"))
        return ""

    def _take_end(self, event: Mapping[str, Any]) -> str:
        answer = self._object(event, "response")
        self._note(answer)
        output = answer.get("output") or ()
        if not isinstance(output, list | tuple):
            raise self._strange("`output` is not a list of objects")
        text = ""
        for place, item in enumerate(output):
            if not isinstance(item, dict):
                raise self._strange("`output` is not a list of objects")
            known = self._items.get(place)
            if known is None or not known.done:
                text += self._take_item({"output_index": place}, item)
        self._finish = self._reason(answer)
        self.ended = True
        return text

    def _take_failure(self, event: Mapping[str, Any]) -> str:
        answer = self._object(event, "response")
        self._note(answer)
        raise failure(answer.get("error"), self._provider)

    def _take_error(self, event: Mapping[str, Any]) -> str:
        raise self._failed(event)

    def _failed(self, event: Mapping[str, Any]) -> ProviderError:
        return failure(event.get("error") or event, self._provider)

    # Parts of events.

    def _take_item(self, event: Mapping[str, Any], item: Mapping[str, Any]) -> str:
        """Take an item that is complete; return its text if it has not come before."""
        kind = item.get("type")
        if kind == "function_call":
            call = self._item(event, kind)
            self._name(call, item)
            self._set_arguments(call, item.get("arguments"))
            call.done = True
        elif kind == "message":
            message = self._item(event, kind)
            self._name(message, item)
            message.done = True
            if not message.written and (text := self._content(item)):
                return self._say(message, text)
        elif _is_wanted_back(item):
            if not can_be_written(item):
                raise self._strange("an item is nested too deeply")
            self._grow(len(encode_json(item)))
            kept = self._item(event, "kept")
            kept.kept, kept.done = item, True
        return ""

    def _content(self, item: Mapping[str, Any]) -> str:
        content = item.get("content") or ()
        if not isinstance(content, list | tuple) or not all(isinstance(part, dict) for part in content):
            raise self._strange("the `content` of a message is not a list of objects")
        texts = [part.get("text") or part.get("refusal") or "" for part in content]
        if not all(isinstance(text, str) for text in texts):
            raise self._strange("the `text` of a message is not a text")
        return "".join(texts)

    def _item(self, event: Mapping[str, Any], kind: str) -> _Item:
        place = event.get("output_index", 0)
        if not isinstance(place, int):
            raise self._strange("`output_index` is not a number")
        item = self._items.get(place)
        if item is None:
            self._grow(CALL_COUNTS_AS)
            item = self._items[place] = _Item(kind, place)
        elif item.kind != kind:
            raise self._strange("an item changed its `type`")
        return item

    def _name(self, item: _Item, described: Mapping[str, Any]) -> None:
        name, id_, phase = (described.get(member) for member in ("name", "call_id", "phase"))
        if name and not isinstance(name, str):
            raise self._strange("the `name` of a function call is not a text")
        if not item.name and name:
            self._received.bytes += _bytes(name)
            item.name = name
        item.id = id_ if isinstance(id_, str) else item.id
        item.phase = phase if isinstance(phase, str) else item.phase

    def _set_arguments(self, call: _Item, arguments: Any) -> None:
        """Take the arguments of a call as a whole, which nearly always have come in parts."""
        if arguments is None:
            return
        if not isinstance(arguments, str):
            raise self._strange("the `arguments` of a function call are not a text")
        if not call.written:
            self._received.bytes += _bytes(arguments)
        self._grow(len(arguments) - sum(map(len, call.written)))
        call.written = [arguments]

    def _note(self, answer: Mapping[str, Any]) -> None:
        received, model = self._received, answer.get("model")
        received.model = model if model and isinstance(model, str) else received.model
        if answer.get("usage"):
            received.usage = usage(answer["usage"])

    def _reason(self, answer: Mapping[str, Any]) -> str:
        """Return why an answer ended, in the terms of a `Completion`."""
        status, details = answer.get("status"), answer.get("incomplete_details")
        if status == "completed" or (status is None and details is None):
            return "stop"
        if status != "incomplete":
            raise self._strange("the `status` of an answer that has ended is neither completed nor incomplete")
        reason = details.get("reason") if isinstance(details, Mapping) else None
        if reason is not None and not isinstance(reason, str):
            raise self._strange("the `reason` of an incomplete answer is not a text")
        return "content_filter" if reason == "content_filter" else "length"

    def _delta(self, event: Mapping[str, Any]) -> str:
        delta = event.get("delta")
        if not isinstance(delta, str):
            raise self._strange("`delta` is not a text")
        return delta

    def _object(self, event: Mapping[str, Any], member: str) -> Mapping[str, Any]:
        value = event.get(member)
        if not isinstance(value, dict):
            raise self._strange(f"`{member}` is not an object")
        return value

    def _grow(self, characters: int) -> None:
        self._size += characters
        if self._size > MAX_ANSWER_CHARACTERS:
            raise too_large(self._provider)

    def _strange(self, fault: str) -> ProviderError:
        return _strange(fault, self._provider)


_PLACES: Final = ("output_index", "summary_index", "content_index")
_TAKES: Final[Mapping[str, Callable[[Assembly, Mapping[str, Any]], Piece]]] = {
    "response.output_text.delta": Assembly._take_text,
    "response.refusal.delta": Assembly._take_text,
    "response.function_call_arguments.delta": Assembly._take_arguments,
    "response.function_call_arguments.done": Assembly._take_all_arguments,
    "response.reasoning_summary_text.delta": Assembly._take_thought,
    "response.reasoning_text.delta": Assembly._take_thought,
    "response.output_item.added": Assembly._take_begun_item,
    "response.output_item.done": Assembly._take_whole_item,
    "response.created": Assembly._take_beginning,
    "response.completed": Assembly._take_end,
    "response.incomplete": Assembly._take_end,
    "response.failed": Assembly._take_failure,
    "error": Assembly._take_error,
}


parse = json_object
"""Returns an event, or an answer in one piece. `Assembly` judges what is in it."""


def whole(answer: Mapping[str, Any], provider: str) -> tuple[str, Completion]:
    """Return the reasoning and the completion in an answer that came in one piece.

    Raises:
        ProviderError: the answer failed, or is none.
    """
    if answer.get("error") or answer.get("status") == "failed":
        raise failure(answer.get("error"), provider)
    if "output" not in answer:
        raise _strange("it has no `output`", provider)
    assembly = Assembly(provider)
    assembly.take({"type": "response.completed", "response": answer})
    return BETWEEN_MESSAGES.join(_reasoning_in(answer["output"])), assembly.finish(done=True)


def _reasoning_in(output: Any) -> Iterator[str]:
    """Yield the parts of the reasoning in the items of an answer: of its own words, or of a summary of them."""
    for item in output or ():
        if item.get("type") == "reasoning":
            parts = item.get("content") or item.get("summary")
            for part in parts if isinstance(parts, list) else ():
                text = part.get("text") if isinstance(part, Mapping) else None
                if isinstance(text, str) and text:
                    yield text


def failure(error: Any, provider: str) -> ProviderError:
    """Return the failure that the API describes in the middle of an answer, where no HTTP status says what it is."""
    told = reported(error, provider, status=None)
    code = error.get("code") if isinstance(error, Mapping) else None
    if isinstance(code, str) and told.category is ErrorCategory.NETWORK and told.status is None:
        status = _STATUSES.get(code, 400 if code in _OF_THE_REQUEST or code.startswith("invalid_") else None)
        category = classify(status, f"{code} {told.message}"[:MAX_REASON])
        return ProviderError(told.message, category=category, provider=provider)
    return told


_STATUSES: Final = {"rate_limit_exceeded": 429, "server_error": 500, "vector_store_timeout": 500}
_OF_THE_REQUEST: Final = frozenset(
    {
        "data_residency_mismatch",
        "empty_image_file",
        "failed_to_download_image",
        "image_file_not_found",
        "image_file_too_large",
        "image_parse_error",
        "image_too_large",
        "image_too_small",
        "unsupported_image_media_type",
    }
)
"""Codes of what asking again does not help. All that begin with `invalid_` are others."""


def usage(told: Any) -> Usage:
    """Return the tokens in a `usage` object; none if it is something else."""
    if not isinstance(told, Mapping):
        return Usage()
    read, written = object_in(told, "input_tokens_details"), object_in(told, "output_tokens_details")
    return Usage(
        count(told.get("input_tokens")),
        count(told.get("output_tokens")),
        count(read.get("cached_tokens")),
        count(read.get("cache_write_tokens")),
        count(written.get("reasoning_tokens")),
    )


def _is_wanted_back(item: Mapping[str, Any]) -> bool:
    """Return whether an item that is neither text nor a call goes back: only with its content, since none is stored."""
    return isinstance(item.get("encrypted_content"), str) or (
        item.get("type") == "reasoning" and bool(item.get("content"))
    )


def _state(items: Sequence[_Item]) -> VendorState | None:
    outline = list(_outline(items))
    while outline and "kept" in outline[-1]:
        outline.pop()  # the API refuses reasoning that nothing follows
    if any("kept" in entry or "phase" in entry for entry in outline):
        return VendorState(NAME, {"output": outline})
    return None


def _outline(items: Sequence[_Item]) -> Iterator[dict[str, Any]]:
    calls = 0
    for item in items:
        if item.kept is not None:
            yield {"kept": item.kept}
        elif item.kind == "function_call":
            yield {"call": calls}
            calls += 1
        elif item.kind == "message" and item.written:
            entry: dict[str, Any] = {"text": sum(map(len, item.written))}
            yield entry if item.phase is None else {**entry, "phase": item.phase}


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _strange(fault: str, provider: str) -> ProviderError:
    return ProviderError(
        f"{provider} answered with something that is not an answer of the Responses API: {fault}. Check the service "
        "behind the base URL.",
        provider=provider,
    )
