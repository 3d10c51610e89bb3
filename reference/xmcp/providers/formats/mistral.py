"""Mistral's format of chat completions, without I/O: request bytes, and a completion from the chunks of a stream.

It is OpenAI's with other rules: call ids of exactly nine letters and digits, no members that Mistral does not know, and
a content that may be a list of chunks, some of them what the model thinks. Raises `ProviderError` for what cannot be
read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, ClassVar, Final

import orjson

from xmcp.chat.completions import Completion, VendorState
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.json_values import encode_json
from xmcp.chat.messages import Message, text_of
from xmcp.chat.sampler_config import SamplerConfig
from xmcp.chat.tool_schemas import ToolSchemas
from xmcp.chat.usage import Usage
from xmcp.chat.vendor_state import vendor_state
from xmcp.providers.base import Piece, Received
from xmcp.providers.formats import chat_completions
from xmcp.providers.formats.chat_shapes import can_be_written
from xmcp.providers.formats.files import file_of

NAME: Final = "mistral"
"""The vendor's name in usage records and in the state that it wants back."""

_NO_OPTIONS: Final = SamplerConfig()

# ---- requests


def request_body(
    model: str, messages: Sequence[Message], tools: ToolSchemas, sampler: SamplerConfig = _NO_OPTIONS
) -> bytes:
    """Return the body of a streaming request; the tools' bytes are taken as they are.

    Raises:
        TypeError: the messages hold something that JSON cannot.
    """
    parts = [b'{"model":', encode_json(model), b',"messages":', encode_json(_written(messages)), b',"stream":true']
    if tools.tools:
        parts += [b',"tools":', tools.json]
    if options := _options(sampler, tools):
        parts += [b",", encode_json(options)[1:-1]]
    parts.append(b"}")
    return b"".join(parts)


_NAMES: Final = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_tokens",
    "stop": "stop",
    "seed": "random_seed",
    "reasoning_effort": "reasoning_effort",
}
"""Mistral's names of the options."""


def _options(sampler: SamplerConfig, tools: ToolSchemas) -> dict[str, Any]:
    given = sampler.to_dict()
    members: dict[str, Any] = {theirs: given[ours] for ours, theirs in _NAMES.items() if ours in given}
    if (choice := sampler.tool_choice) is not None and tools.tools:
        words = {"auto": "auto", "none": "none", "required": "any"}
        members["tool_choice"] = words.get(choice) or {"type": "function", "function": {"name": choice}}
    if sampler.response_format is not None:
        schema = {"name": "answer", "schema": dict(sampler.response_format)}
        members["response_format"] = {"type": "json_schema", "json_schema": schema}
    return {**members, **(sampler.extra_body or {})}


def _written(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the messages with the members that Mistral knows: it refuses a request that has any other."""
    ids, written = _Ids(messages), []
    for message in messages:
        match message["role"]:
            case "assistant":
                said = _assistant(message, ids)
                if len(said) == 1:
                    continue  # Mistral refuses an answer without text and calls, as a model gives at times
                written.append(said)
            case "tool":
                result = {"role": "tool", "content": message.get("content") or ""}
                result["tool_call_id"] = ids.of_result(message.get("tool_call_id"))
                if message.get("name"):
                    result["name"] = message["name"]
                written.append(result)
            case "developer":
                written.append({"role": "system", "content": message.get("content")})
            case role:
                if written and written[-1]["role"] == "tool":
                    written.append(_AFTER_RESULTS)
                content = message.get("content")
                parts = [_part(part) for part in content] if isinstance(content, list | tuple) else content
                written.append({"role": role, "content": parts})
    return written


_AFTER_RESULTS: Final = {"role": "assistant", "content": "OK."}
"""Mistral refuses a person who speaks directly after results, as after a chat that ended with a display."""


def _part(part: Any) -> Any:
    file = file_of(part, NAME)
    return part if file is None else {"type": "document_url", "document_url": file.url, "document_name": file.name}


def _assistant(message: Message, ids: _Ids) -> dict[str, Any]:
    said: dict[str, Any] = {"role": "assistant"}
    if content := _content(message):
        said["content"] = content
    if calls := message.get("tool_calls"):
        said["tool_calls"] = [
            {
                "id": new,
                "type": "function",
                "function": {"name": call["function"]["name"], "arguments": _object(call["function"].get("arguments"))},
            }
            for call, new in zip(calls, ids.of_calls(calls), strict=True)
        ]
    return said


def _object(arguments: Any) -> str:
    """Return the arguments of an earlier call, which are to be a JSON object; an empty one if they are not."""
    try:
        if isinstance(arguments, str) and isinstance(orjson.loads(arguments), dict):
            return arguments
    except orjson.JSONDecodeError:
        pass
    return "{}"


def _content(message: Message) -> Any:
    """Return the content of an earlier answer; with what the model thought, if the state has it, as a list of chunks.

    The state has each thinking chunk with its place in the text (`at`, in characters).
    """
    state = vendor_state(message)
    thoughts = state.value if state is not None and state.vendor == NAME else None
    if not isinstance(thoughts, list):
        return message.get("content")
    text, chunks, begin = text_of(message), list[Any](), 0
    for thought in thoughts:
        if not isinstance(thought, Mapping) or not isinstance(thought.get("at"), int) or not thought.get("chunk"):
            return message.get("content")
        end = max(begin, thought["at"])
        chunks += [*_text_chunk(text[begin:end]), thought["chunk"]]
        begin = end
    return [*chunks, *_text_chunk(text[begin:])]


def _text_chunk(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}] if text else []


class _Ids:
    """The call ids of a request as Mistral takes them.

    An id that it takes stays; another is replaced by one that depends on nothing but the id, so that the same history
    is written in the same way each time (which prompt caches need), unless it was used before.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        calls = (call for message in messages for call in message.get("tool_calls") or ())
        self._theirs = {id_ for call in calls if _THEIRS.fullmatch(id_ := str(call.get("id")))}
        self._used: set[str] = set()
        self._of: dict[Any, str] = {}
        """The new id of each id in the last turn that has it."""

    def of_calls(self, calls: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return the ids of one answer's calls."""
        return [self._new(call.get("id")) for call in calls]

    def of_result(self, given: Any) -> str:
        """Return the id of the call that a result belongs to."""
        return self._of.get(given) or self._new(given)

    def _new(self, given: Any) -> str:
        new, tried = str(given), 0
        if new not in self._theirs or new in self._used:
            while (new := _derived(given, tried)) in self._used or new in self._theirs:
                tried += 1
        self._used.add(new)
        self._of[given] = new
        return new


_THEIRS: Final = re.compile(r"[A-Za-z0-9]{9}")
_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _derived(given: Any, tried: int) -> str:
    number = int.from_bytes(sha256(f"{tried}:{given}".encode("utf-8", "replace")).digest()[:8])
    out = ""
    for _ in range(9):
        number, digit = divmod(number, len(_ALPHABET))
        out += _ALPHABET[digit]
    return out


# ---- answers


def parse(data: bytes, provider: str) -> Mapping[str, Any]:
    """Return a JSON object that Mistral sent (see `chat_completions.parse`).

    Raises:
        ProviderError: it is not one, or it is an error.
    """
    value = chat_completions.parse(data, provider)
    if "choices" not in value and ("detail" in value or "message" in value):
        raise reported(value, provider, status=None)
    return value


def reported(error: Mapping[str, Any], provider: str, *, status: int | None) -> ProviderError:
    """Return the failure that Mistral describes in the body of an error, which has one of several forms.

    `message` is a text, or an object with `detail`; `detail` is a text, or a list of what is wrong with the request and
    where. What the request had there (`input`) is left out: it is from the conversation.
    """
    message = error.get("message")
    detail = message.get("detail") if isinstance(message, Mapping) else error.get("detail")
    if isinstance(detail, list):
        message = "; ".join(_fault(one) for one in detail[:_MOST_DETAILS] if isinstance(one, Mapping))
    elif not isinstance(message, str):
        message = detail if isinstance(detail, str) else ""
    facts = {"message": message, "type": error.get("type"), "code": error.get("code")}
    if status is None and isinstance(error.get("raw_status_code"), int):
        status = error["raw_status_code"]
    return chat_completions.reported(facts, provider, status=status)


_MOST_DETAILS: Final = 5


def _fault(detail: Mapping[str, Any]) -> str:
    place = detail.get("loc")
    steps = place[:20] if isinstance(place, list) else ()
    where = ".".join(str(step)[:80] for step in steps if isinstance(step, str | int))
    said = detail.get("msg")
    return f"{where}: {said[:200] if isinstance(said, str) and said else 'not valid'}".removeprefix(": ")


class Assembly(chat_completions.Assembly):
    """Builds one completion as its chunks arrive; what the model thinks becomes its state, and no text."""

    reasons_in: ClassVar[frozenset[str]] = frozenset({"content"})

    def __init__(self, provider: str, received: Received | None = None) -> None:
        super().__init__(provider, received)
        self._thoughts: list[_Thought] = []
        self._characters = 0

    def take(self, chunk: Mapping[str, Any]) -> Sequence[Piece]:
        """Add one chunk; return the pieces in it, of which there is often none.

        Raises:
            ProviderError: the answer grew above its limit (category `too_large`).
        """
        pieces = super().take(chunk)
        if chunk.get("usage"):
            self._received.usage = usage(chunk["usage"])
        self._characters += sum(len(piece) for piece in pieces if isinstance(piece, str))
        return pieces

    def finish(self, *, done: bool) -> Completion:
        """Return the completion. `done`: Mistral marked the end of the stream (`[DONE]`).

        Raises:
            ProviderError: the stream broke off before a finish reason, or the model failed (reason `error`).
        """
        if self._finish == "error":
            raise ProviderError(
                f"{self._provider} ended its answer with an error.",
                category=ErrorCategory.NETWORK,
                provider=self._provider,
            )
        if self._finish == "model_length":
            self._finish = "length"
        whole = super().finish(done=done)
        if not self._thoughts:
            return whole
        state = VendorState(NAME, [{"at": thought.at, "chunk": thought.chunk()} for thought in self._thoughts])
        return Completion(whole.text, whole.tool_calls, whole.finish_reason, whole.usage, whole.model, state)

    def _reasoning(self, delta: Mapping[str, Any]) -> str:
        content = delta.get("content")
        if not isinstance(content, list):
            return ""
        at, reasoning = self._characters, list[str]()
        for part in content:
            if not isinstance(part, Mapping):
                continue
            if part.get("type") != "thinking":
                at += len(chat_completions.content_text([part]))
                continue
            last = self._thoughts[-1] if self._thoughts else None
            if last is None or last.at != at or last.ended:
                self._grow(chat_completions.CALL_COUNTS_AS)
                self._thoughts.append(last := _Thought(at))
            size, text = last.take(part)
            self._received.bytes += size - len(text)
            self._grow(size)
            reasoning.append(text)
        return "".join(reasoning)


class _Thought:
    """A thinking chunk as its parts arrive."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.ended = False
        """Whether the next part begins another chunk."""
        self._parts: list[Any] = []
        """Pieces of text, and references as they came."""
        self._members: dict[str, Any] = {}

    def take(self, part: Mapping[str, Any]) -> tuple[int, str]:
        """Add a part; return its size in about bytes, and the text in it."""
        thinking, size, texts = part.get("thinking"), 0, list[str]()
        for piece in thinking if isinstance(thinking, list) else [{"type": "text", "text": thinking}]:
            if not isinstance(piece, Mapping):
                continue
            if piece.get("type") != "text":
                size += self._keep(piece)
            elif isinstance(text := piece.get("text"), str):
                self._parts.append(text)
                texts.append(text)
                size += len(text)
        for name, value in part.items():
            if name not in ("type", "thinking") and value is not None and can_be_written(value):
                self._members[name] = value
                size += len(encode_json(value))
        self.ended = bool(self._members.get("signature") or self._members.get("closed"))
        return size, "".join(texts)

    def _keep(self, piece: Mapping[str, Any]) -> int:
        if not can_be_written(piece):
            return 0
        self._parts.append(piece)
        return len(encode_json(piece))

    def chunk(self) -> dict[str, Any]:
        """Return the chunk as Mistral wants it back: pieces of text that follow each other are one."""
        thinking: list[Any] = []
        pieces: list[str] = []
        for part in [*self._parts, None]:
            if isinstance(part, str):
                pieces.append(part)
                continue
            thinking += _text_chunk("".join(pieces))
            pieces = []
            if part is not None:
                thinking.append(part)
        return {"type": "thinking", "thinking": thinking, **self._members}


def usage(said: Any) -> Usage:
    """Return the tokens in a `usage` object; none if it is something else.

    The SDK's types name no cached tokens but let any member through, and the service has named them in several ways.
    """
    if not isinstance(said, Mapping):
        return Usage()
    details = said.get("prompt_tokens_details") or said.get("prompt_token_details")
    if not isinstance(details, Mapping):
        details = {"cached_tokens": said.get("num_cached_tokens")}
    return chat_completions.usage({**said, "prompt_tokens_details": details})
