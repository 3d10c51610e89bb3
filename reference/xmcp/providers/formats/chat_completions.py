"""The chat-completions format, without I/O: request bytes, and a completion from chunks or from one whole answer.

Tolerates what servers that call themselves OpenAI-compatible really send: calls without ids or indexes, one index for
all calls, usage in any chunk or in none, content as a list of parts. Raises `ProviderError` for what cannot be read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import orjson

from xmcp.chat.completions import Completion, ToolCall, unique_ids
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.json_pieces import PIECE, decode_json, is_sparse, values
from xmcp.chat.json_values import containers, encode_json
from xmcp.chat.messages import Message
from xmcp.chat.sampler_config import NOT_A_NAME, SamplerConfig
from xmcp.chat.tool_schemas import ToolSchemas
from xmcp.chat.untrusted_text import printable
from xmcp.chat.usage import Usage
from xmcp.chat.vendor_state import VENDOR_STATE_KEY, vendor_state, without_vendor_state
from xmcp.providers.base import Piece, Reasoning, Received
from xmcp.providers.errors import classify
from xmcp.providers.formats.chat_shapes import can_be_written, shape_fault

_NO_OPTIONS: Final = SamplerConfig()


def request_body(
    model: str,
    messages: Sequence[Message],
    tools: ToolSchemas,
    sampler: SamplerConfig = _NO_OPTIONS,
    *,
    vendor: str | None = None,
) -> bytes:
    """Return the body of a streaming request; the tools' bytes are taken as they are.

    The state of vendors is left out of the messages. A provider whose vendor wants members of its messages back passes
    its name as `vendor`: the state's `value` is then a mapping of these members, and they are written into the message.
    """
    written = encode_json(list(messages))
    if _STATE_MARK in written:
        written = encode_json([_with_own_members(message, vendor) for message in messages])
    parts = [b'{"model":', encode_json(model), b',"messages":', written]
    parts.append(b',"stream":true,"stream_options":{"include_usage":true}')
    if tools.tools:
        parts += [b',"tools":', tools.json]
    if members := options(sampler, tools):
        parts += [b",", encode_json(members)[1:-1]]
    parts.append(b"}")
    return b"".join(parts)


_SAME_NAME: Final[tuple[str, ...]] = ("temperature", "top_p", "max_tokens", "stop", "seed", "reasoning_effort")


def options(sampler: SamplerConfig, tools: ToolSchemas) -> dict[str, Any]:
    """Return the members of a request for the options that are set."""
    given = sampler.to_dict()
    members: dict[str, Any] = {name: given[name] for name in _SAME_NAME if name in given}
    if (choice := sampler.tool_choice) is not None and tools.tools:
        by_name = choice not in NOT_A_NAME
        members["tool_choice"] = {"type": "function", "function": {"name": choice}} if by_name else choice
    if sampler.response_format is not None:
        schema = {"name": "answer", "schema": dict(sampler.response_format)}
        members["response_format"] = {"type": "json_schema", "json_schema": schema}
    return {**members, **(sampler.extra_body or {})}


def schema_in_words(schema: Mapping[str, Any]) -> str:
    """Return what tells a model to answer with JSON, where its vendor takes no schema."""
    written = encode_json(dict(schema)).decode()
    return f"Answer with a JSON object, and nothing else, that fits this JSON Schema: {written}"


def _with_own_members(message: Message, vendor: str | None) -> dict[str, Any]:
    state, plain = vendor_state(message), without_vendor_state(message)
    ours = state is not None and state.vendor == vendor and isinstance(state.value, Mapping)
    return {**plain, **state.value} if state is not None and ours else plain


_STATE_MARK: Final = VENDOR_STATE_KEY.encode()
"""Found in all messages that have a vendor's state: looking for it in their bytes costs nearly nothing."""


MAX_CONTAINERS: Final = 200_000
"""Maximum number of arrays and objects in a chunk, or in an answer in one piece; brackets in its texts count, too."""

MAX_VALUES: Final = 1_000_000
"""Maximum number of values in one, with the commas and colons in its texts. Commas and brackets are among the tokens of
which a model writes some hundred thousand at most; what was asked, and some servers repeat, may have more of them."""

_INLINE_BYTES: Final = 256 * 1024


def takes_long(data: bytes) -> bool:
    """Return whether reading a chunk takes long enough that other chats should not wait for it."""
    return len(data) > PIECE and (len(data) > _INLINE_BYTES or not is_sparse(data))


def json_object(data: bytes, provider: str) -> dict[str, Any]:
    """Return a JSON object that the vendor sent. A large one is decoded in pieces, so that other threads go on.

    Raises:
        ProviderError: it is not JSON, not an object, or has too many parts.
    """
    if len(data) > MAX_CONTAINERS and containers(data) > MAX_CONTAINERS:
        raise too_large(provider, f": one piece of it has more than {MAX_CONTAINERS:,} arrays and objects")
    if len(data) > MAX_VALUES and values(data) > MAX_VALUES:
        raise too_large(provider, f": one piece of it has more than {MAX_VALUES:,} values")
    try:
        value = _loads(data) if len(data) <= PIECE else decode_json(data, _loads)
    except (ValueError, RecursionError) as exc:
        raise ProviderError(
            f"{provider} answered with something that is not JSON: check the base URL and the service behind it.",
            provider=provider,
        ) from exc
    if not isinstance(value, dict):
        raise ProviderError(f"{provider} answered with JSON that is not an object.", provider=provider)
    return value


def parse(data: bytes, provider: str) -> Mapping[str, Any]:
    """Return a chunk, or an answer in one piece.

    Raises:
        ProviderError: it is not JSON, not an object, has too many parts or a member of a wrong type, or the vendor
            reports an error in it.
    """
    value = json_object(data, provider)
    if value.get("error"):
        raise reported(value["error"], provider, status=None)
    if fault := shape_fault(value):
        raise ProviderError(
            f"{provider} answered with something that is not a chat completion: {fault}. Check the service behind the "
            "base URL.",
            provider=provider,
        )
    return value


def reported(error: Any, provider: str, *, status: int | None) -> ProviderError:
    """Return the failure that a vendor describes in an `error` member (an object or a plain string)."""
    facts = error if isinstance(error, Mapping) else {"message": error}
    code, kind, message = (_quoted(facts.get(key)) for key in ("code", "type", "message"))
    if status is None and _HTTP_ERROR.fullmatch(code):
        status = int(code)
    category = classify(status, f"{code} {kind} {message}")
    reason = printable(message or code or kind or "no reason given")
    return ProviderError(
        f"{provider} refused the request: {reason}", category=category, provider=provider, status=status
    )


MAX_REASON: Final = 2000
"""Maximum number of characters that are quoted of each thing that a vendor says about a failure."""

_HTTP_ERROR: Final = re.compile("[45][0-9][0-9]")


def _quoted(said: Any) -> str:
    """Return what a vendor says as text; it may be of any type and any depth."""
    if isinstance(said, str | int | float) and not isinstance(said, bool):
        return str(said)[:MAX_REASON]
    return encode_json(said).decode()[:MAX_REASON] if said and can_be_written(said) else ""


MAX_ANSWER_CHARACTERS: Final = 8 * 1024 * 1024
"""Maximum number of characters in one answer of a model, its text and the arguments of its calls together."""

CALL_COUNTS_AS: Final = 256
"""Characters as which a call counts besides its arguments."""


def too_large(provider: str, why: str = "") -> ProviderError:
    """Return the failure of an answer that is larger than a client reads; `why` goes on from that."""
    return ProviderError(
        f"{provider} sent an answer that is too large to be read{why}. Set a limit for its output at the vendor, or "
        "ask for less.",
        category=ErrorCategory.TOO_LARGE,
        provider=provider,
    )


@dataclass(slots=True)
class _Call:
    """A call as its parts arrive. The arguments are joined once, at the end: any number of parts takes linear time."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class Assembly:
    """Builds one completion as its chunks arrive: at most `MAX_ANSWER_CHARACTERS` of text and calls.

    `received` is kept up to date with what has arrived besides the text.
    """

    unread: frozenset[str] = frozenset()
    ended = False
    reasons_in: ClassVar[frozenset[str]] = frozenset({"reasoning_content", "reasoning"})
    """Members of a delta in which reasoning comes. Most deltas have none of them."""

    def __init__(self, provider: str, received: Received | None = None) -> None:
        self._provider = provider
        self._received = Received() if received is None else received
        self._text: list[str] = []
        self._size = 0
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._finish: str | None = None

    def take(self, chunk: Mapping[str, Any]) -> Sequence[Piece]:
        """Add one chunk; return the pieces in it, of which there is often none.

        Raises:
            ProviderError: the answer grew above its limit (category `too_large`).
        """
        received = self._received
        received.model = chunk.get("model") or received.model
        if chunk.get("usage"):
            received.usage = usage(chunk["usage"])
        choices = chunk.get("choices")
        if not choices:
            return ()
        choice = choices[0]
        self._finish = choice.get("finish_reason") or self._finish
        delta = choice.get("delta") or {}
        for part in delta.get("tool_calls") or ():
            self._take_call(part)
        reasoning = "" if self.reasons_in.isdisjoint(delta) else self._reasoning(delta)
        text = content_text(delta.get("content")) or content_text(delta.get("refusal"))
        if text:
            # Each piece of a text comes through here: what `_grow` does, without the call.
            self._size += len(text)
            if self._size > MAX_ANSWER_CHARACTERS:
                raise too_large(self._provider)
            self._text.append(text)
        if reasoning:
            return (Reasoning(reasoning), text) if text else (Reasoning(reasoning),)
        return (text,) if text else ()

    def rest(self) -> Sequence[Piece]:
        """Return what was held back until the end of the stream; there is nothing in this format."""
        return ()

    def _reasoning(self, delta: Mapping[str, Any]) -> str:
        """Return the reasoning in a delta. Servers that write both members write the same in them."""
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        return reasoning if isinstance(reasoning, str) else ""

    def _grow(self, characters: int) -> None:
        self._size += characters
        if self._size > MAX_ANSWER_CHARACTERS:
            raise too_large(self._provider)

    def finish(self, *, done: bool) -> Completion:
        """Return the completion. `done`: the vendor marked the end of the stream (`[DONE]`).

        Raises:
            ProviderError: the stream broke off before the vendor gave a finish reason.
        """
        if self._finish is None and not done:
            raise ProviderError(
                f"{self._provider} broke off in the middle of its answer.", category="network", provider=self._provider
            )
        calls = unique_ids(ToolCall(call.id, call.name, "".join(call.arguments)) for call in self._calls)
        reason = self._finish or ("tool_calls" if calls else "stop")
        return Completion("".join(self._text), calls, reason, self._received.usage, self._received.model)

    def _take_call(self, part: Mapping[str, Any]) -> None:
        function = part.get("function") or {}
        self._received.bytes += sum(_bytes(said) for said in map(function.get, ("name", "arguments")))
        call = self._call_of(part)
        call.id = call.id or _id(part)
        call.name = call.name or function.get("name") or ""
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            self._grow(len(arguments))
            call.arguments.append(arguments)
        elif arguments is not None:
            written = encode_json(arguments).decode()
            self._grow(len(written))
            call.arguments = [written]

    def _call_of(self, part: Mapping[str, Any]) -> _Call:
        """Return the call that a part belongs to.

        It is found by its index; a second id under one index, or an id without an index, begins another call.
        """
        index, id_ = part.get("index"), _id(part)
        known = self._by_index.get(index) if isinstance(index, int) else (self._calls[-1] if self._calls else None)
        if known is not None and (not id_ or id_ == known.id):
            return known
        call = _Call()
        self._grow(CALL_COUNTS_AS)
        self._calls.append(call)
        if isinstance(index, int):
            self._by_index[index] = call
        return call


def _id(part: Mapping[str, Any]) -> str:
    """Return the id in a part of a call, which some servers write as a number; empty if there is none.

    Mistral writes the text `null` for none.
    """
    id_ = part.get("id")
    return str(id_) if isinstance(id_, str | int) and not isinstance(id_, bool) and id_ != "null" else ""


def _bytes(said: Any) -> int:
    """Return how many bytes a text has; 0 for anything else."""
    if not isinstance(said, str):
        return 0
    return len(said) if said.isascii() else len(said.encode("utf-8", "surrogatepass"))


def reasoning_in(pieces: Sequence[Piece]) -> str:
    """Return the reasoning in pieces of an answer."""
    return "".join(piece.text for piece in pieces if isinstance(piece, Reasoning))


def whole(answer: Mapping[str, Any], provider: str, assembly: Assembly | None = None) -> tuple[str, Completion]:
    """Return the reasoning and the completion in an answer that came in one piece, built by `assembly`.

    Raises:
        ProviderError: the answer has no choice.
    """
    assembly = assembly or Assembly(provider)
    if not answer.get("choices"):
        assembly.take(answer)  # some vendors say here why
        raise ProviderError(f"{provider} answered without a choice.", provider=provider)
    choice = answer["choices"][0]
    message = choice.get("message") or {}
    calls = [{**call, "index": place} for place, call in enumerate(message.get("tool_calls") or ())]
    pieces = assembly.take({**answer, "choices": [{**choice, "delta": {**message, "tool_calls": calls}}]})
    return reasoning_in(pieces), assembly.finish(done=True)


def usage(reported_usage: Any) -> Usage:
    """Return the tokens in a `usage` object; none if it is something else."""
    if not isinstance(reported_usage, Mapping):
        return Usage()
    read = object_in(reported_usage, "prompt_tokens_details")
    cached = read.get("cached_tokens")
    return Usage(
        count(reported_usage.get("prompt_tokens")),
        count(reported_usage.get("completion_tokens")),
        # the second is DeepSeek's name
        count(reported_usage.get("prompt_cache_hit_tokens") if cached is None else cached),
        count(read.get("cache_write_tokens")),
        count(object_in(reported_usage, "completion_tokens_details").get("reasoning_tokens")),
    )


def object_in(said: Mapping[str, Any], member: str) -> Mapping[str, Any]:
    """Return the object that is this member; an empty one if it is something else."""
    value = said.get(member)
    return value if isinstance(value, Mapping) else {}


_MAX_COUNT: Final = 2**53
"""No model reads or writes more; a larger number does not fit into the arithmetic of quotas and prices."""


def count(value: Any) -> int | None:
    """Return a count as the server wrote it; `None` if it is not a count."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_COUNT else None


def content_text(content: Any) -> str:
    """Return the text of a message's content: a string, or a list of parts of which only text counts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(p["text"] for p in content if isinstance(p, Mapping) and isinstance(p.get("text"), str))
    return ""


def _loads(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:  # a stream may cut an emoji between its two surrogates
        return _without_lone_surrogates(json.loads(data, parse_int=_as_orjson))


def _as_orjson(digits: str) -> int | float:
    """Return a whole number; one of more than 64 bits is a float, which is written without delay."""
    number = int(digits)
    return number if -(2**63) <= number < 2**64 else float(digits)


def _without_lone_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_lone_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_lone_surrogates(item) for key, item in value.items()}
    return value
