"""Anthropic's Messages format, without I/O: request bytes, and a completion from events or from one whole answer.

The vendor checks that what it signed comes back as it was: blocks of thinking keep their place among the texts and the
calls of their answer, and what stands before them is written the same way in each request.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import orjson

from xmcp.chat.arguments import parse_arguments
from xmcp.chat.completions import Completion, ToolCall, VendorState, unique_ids
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.json_values import encode_json
from xmcp.chat.messages import Message, text_of
from xmcp.chat.sampler_config import SamplerConfig
from xmcp.chat.tool_schemas import ToolSchemas
from xmcp.chat.usage import Usage
from xmcp.chat.vendor_state import vendor_state
from xmcp.providers.base import Piece, Reasoning, Received
from xmcp.providers.formats import chat_completions
from xmcp.providers.formats.chat_completions import CALL_COUNTS_AS, MAX_ANSWER_CHARACTERS, too_large
from xmcp.providers.formats.chat_shapes import can_be_written
from xmcp.providers.formats.files import File, file_of, refused

VENDOR: Final = "anthropic"
"""Whose state in a message is written back."""

DEFAULT_MAX_TOKENS: Final = 32_000
"""The vendor wants a maximum in each request. Every model since Claude 4 accepts this one."""

BINDING_BETA: Final = "thinking-binding-controls-2026-08-01"
"""With this header a request may say what is done with thinking whose prefix has changed."""

Block: TypeAlias = dict[str, Any]


class Request(NamedTuple):
    """The body of a streaming request, and the beta that its header must name."""

    body: bytes
    beta: str | None


def write(
    model: str, messages: Sequence[Message], tools: ToolSchemas, sampler: SamplerConfig, vendor: str = VENDOR
) -> Request:
    """Return a request.

    Raises:
        AttributeError, KeyError, TypeError: the messages are not of the chat format, or hold what JSON cannot.
        ProviderError: a file is neither a PDF nor text.
    """
    system, turns, signed = _turns(messages, vendor)
    members: dict[str, Any] = {
        "model": model,
        "max_tokens": sampler.max_tokens or DEFAULT_MAX_TOKENS,
        "messages": turns,
        "stream": True,
    }
    if system:
        members["system"] = system
    # The vendor refuses white space.
    if stops := [stop for stop in sampler.stop or () if stop.strip()]:
        members["stop_sequences"] = stops
    known = _version(model)
    choice = sampler.tool_choice if tools.tools else None
    forced = choice not in (None, "auto", "none")
    if forced and known.number >= _NO_FORCE and known.family != "haiku":
        choice, forced = None, False
    if choice is not None:
        members["tool_choice"] = _CHOICES.get(choice) or {"type": "tool", "name": choice}
    thinking, output = _thinking(known, sampler.reasoning_effort, members["max_tokens"], forced=forced, turns=turns)
    if sampler.response_format is not None:
        output["format"] = {"type": "json_schema", "schema": dict(sampler.response_format)}
    if output:
        members["output_config"] = output
    beta = None
    if signed and known.number >= _BOUND and known.family != "haiku" and thinking in (None, _ADAPTIVE):
        # Otherwise a chat ends with status 400 as soon as its tools or its instructions change.
        thinking = {**_ADAPTIVE, "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
        beta = BINDING_BETA
    if thinking is not None:
        members["thinking"] = thinking
    members |= sampler.extra_body or {}
    written = encode_json(members)
    if tools.tools and "tools" not in members:
        written = b"".join((written[:-1], b',"tools":', _tools(tools), b"}"))
    return Request(written, beta)


_CHOICES: Final = {"auto": {"type": "auto"}, "none": {"type": "none"}, "required": {"type": "any"}}

_written_tools: WeakKeyDictionary[ToolSchemas, bytes] = WeakKeyDictionary()


def _tools(tools: ToolSchemas) -> bytes:
    """Return the tools in this format; made once for each version of the catalogue."""
    written = _written_tools.get(tools)
    if written is None:
        functions = [tool["function"] for tool in tools.tools]
        written = _written_tools[tools] = encode_json(
            [
                {
                    "name": one["name"],
                    **({"description": one["description"]} if one.get("description") else {}),
                    "input_schema": {"type": "object", **(one.get("parameters") or {})},
                }
                for one in functions
            ]
        )
    return written


# ---- thinking


class _Version(NamedTuple):
    """Which Claude a model is. A name that says nothing is treated as one that can do what most can."""

    family: str
    number: tuple[int, int]


_ADAPTS: Final = (4, 6)
"""The first version that decides itself how much it thinks; the ones before it need a budget in tokens."""
_THINKS_UNASKED: Final = (5, 0)
"""The first version that thinks unless it is told not to."""
_NO_FORCE: Final = (5, 1)
"""The first version that refuses a request which forces a call; it gets the choice."""
_BOUND: Final = (5, 1)
"""The first version that checks whether what stands before its thinking is unchanged."""
_ALWAYS_THINKS: Final = (5, 1)
"""The first version whose thinking cannot be turned off; of two families, it never could."""
_PROGRESS_ONLY: Final = (5, 5)
"""The first Sonnet with a form of thinking that is nearly none."""

_ADAPTIVE: Final = {"type": "adaptive"}
_BUDGETS: Final = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384}
_LEAST_BUDGET: Final = 1024

_NAME: Final = re.compile(r"claude-(fable|mythos|opus|sonnet|haiku)-(\d+)(?:-(\d{1,2}))?(?!\d)")


def _version(model: str) -> _Version:
    found = _NAME.search(model)
    if found is None:
        return _Version("", _ADAPTS)
    return _Version(found[1], (int(found[2]), int(found[3] or 0)))


def _thinking(
    known: _Version, effort: str | None, max_tokens: int, *, forced: bool, turns: Sequence[Block]
) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Return the members `thinking` and `output_config` for an effort. A forced call excludes thinking."""
    if known.number < _ADAPTS:
        # The budget is a part of `max_tokens`, and the answer needs some of it.
        budget = min(_BUDGETS.get(effort or "", 0), max_tokens * 3 // 4)
        possible = budget >= _LEAST_BUDGET and not forced and not _goes_on_without_thinking(turns)
        return ({"type": "enabled", "budget_tokens": budget} if possible else None), {}
    always = known.family in ("fable", "mythos") or (known.number >= _ALWAYS_THINKS and known.family != "haiku")
    if effort == "none":
        if known.family == "sonnet" and known.number >= _PROGRESS_ONLY:
            return {"type": "between_tools"}, {}
        return (None, {"effort": "low"}) if always else ({"type": "disabled"}, {})
    output = {} if effort is None else {"effort": "low" if effort == "minimal" else effort}
    if forced:
        off = known.number >= _THINKS_UNASKED and not always
        return ({"type": "disabled"} if off else None), output
    return (None if effort is None else _ADAPTIVE), output


def _goes_on_without_thinking(turns: Sequence[Block]) -> bool:
    """Return whether the turn that goes on began without thinking, as one of another vendor: now it cannot be asked."""
    if len(turns) < 2 or turns[-1]["content"][0]["type"] != "tool_result":
        return False
    return turns[-2]["content"][0]["type"] not in _THOUGHTS


# ---- messages


def _turns(messages: Sequence[Message], vendor: str) -> tuple[str, list[Block], bool]:
    """Return the instructions, the turns of user and assistant in alternation, and whether one has a vendor's state."""
    system: list[str] = []
    turns: list[Block] = []
    order: dict[Any, int] = {}
    results: list[Block] = []
    signed = False

    def add(role: str, blocks: list[Block]) -> None:
        if blocks and turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})

    def add_results() -> None:
        add("user", sorted(results, key=lambda result: order.get(result["tool_use_id"], 0)))
        results.clear()

    for message in messages:
        role = message["role"]
        if role == "tool":
            results.append(_result(message))
            continue
        add_results()
        if role == "assistant":
            calls = message.get("tool_calls") or ()
            order = {call["id"]: place for place, call in enumerate(calls)}
            state = vendor_state(message)
            kept = _layout(state.value) if state is not None and state.vendor == vendor else []
            signed = signed or bool(kept)
            add("assistant", _answer(text_of(message), [_call(call) for call in calls], kept))
        elif role == "user":
            add("user", _blocks(message.get("content")))
        elif (text := text_of(message)).strip():
            system.append(text)
    add_results()
    if messages and messages[-1]["role"] == "user" and not (turns and turns[-1]["role"] == "user"):
        add("user", [_NOTHING])
    if turns and turns[0]["role"] == "assistant":
        turns.insert(0, {"role": "user", "content": [_OPENING]})
    return "\n\n".join(system), turns, signed


_OPENING: Final = {"type": "text", "text": "(the conversation begins)"}
"""The vendor wants the person to begin."""

_NOTHING: Final = {"type": "text", "text": "(an empty message)"}
"""In the place of a last message without content: without it the model's answer would be the last."""


def _texts(text: str) -> list[Block]:
    """Return a block with the text; none if it is blank, which the vendor refuses."""
    return [{"type": "text", "text": text}] if text.strip() else []


def _blocks(content: Any) -> list[Block]:
    if isinstance(content, str):
        return _texts(content)
    blocks: list[Block] = []
    for part in content if isinstance(content, list | tuple) else ():
        if part.get("type") == "text":
            blocks += _texts(part["text"])
        elif part.get("type") == "image_url":
            blocks.append({"type": "image", "source": _source(part["image_url"])})
        elif (file := file_of(part, VENDOR)) is not None:
            blocks.append({"type": "document", "source": _document(file), "title": file.name})
        else:
            raise TypeError(f"a part of the type {part.get('type')!r} has no form in it")
    return blocks


def _source(image: Any) -> dict[str, str]:
    url: str = image if isinstance(image, str) else image["url"]
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        kind = head[len("data:") :].partition(";")[0].lower()
        return {"type": "base64", "media_type": "image/jpeg" if kind == "image/jpg" else kind, "data": data}
    if not url.startswith(("https://", "http://")):
        raise TypeError("a picture whose URL is neither https: nor data: with base64 has no form in it")
    return {"type": "url", "url": url}


def _document(file: File) -> dict[str, str]:
    if file.media_type == "application/pdf":
        return {"type": "base64", "media_type": file.media_type, "data": file.data}
    if not file.media_type.startswith("text/"):
        raise refused(VENDOR, f"of the type {file.media_type}", "Convert it to a PDF or to text")
    return {"type": "text", "media_type": "text/plain", "data": file.text(VENDOR)}


def _result(message: Message) -> Block:
    result: Block = {"type": "tool_result", "tool_use_id": message.get("tool_call_id")}
    content = message.get("content")
    if blocks := content if isinstance(content, str) and content.strip() else _blocks(content):
        result["content"] = blocks
    return result


def _call(call: Mapping[str, Any]) -> Block:
    function = call["function"]
    arguments = function.get("arguments") or ""
    try:
        if _LONG_NUMBER.search(arguments):  # of which orjson makes a float
            read: Any = parse_arguments(arguments)
        else:
            read = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        read = None
    return {
        "type": "tool_use",
        "id": call["id"],
        "name": function["name"],
        "input": read if isinstance(read, dict) else {},
    }


_LONG_NUMBER: Final = re.compile(r"\d{19}")


def _layout(state: Any) -> list[Block]:
    """Return the blocks in a vendor's state; none if it is something else, as after a change by hand."""
    listed = isinstance(state, list) and all(
        isinstance(one, dict) and isinstance(one.get("type"), str) for one in state
    )
    return state if listed else []


def _answer(text: str, calls: list[Block], layout: list[Block]) -> list[Block]:
    """Return the blocks of an answer in their places, as the state says; what the vendor signed first, if they changed.

    In the state, a text is the number of its characters, and a call its position among the calls.
    """
    blocks: list[Block] = []
    at, placed = 0, []
    for one in layout:
        match one:
            case {"type": "text", "characters": int(size)} if size >= 0:
                blocks += _texts(text[at : at + size])
                at += size
            case {"type": "tool_use", "call": int(place)} if 0 <= place < len(calls):
                blocks.append(calls[place])
                placed.append(place)
            case {"type": "text" | "tool_use"}:
                placed.append(len(calls))  # no call has this place
            case _:
                blocks.append(one)
    if at != len(text) or placed != list(range(len(calls))):
        kept = [one for one in layout if one["type"] not in ("text", "tool_use")]
        blocks = [*kept, *_texts(text), *calls]
    while blocks and blocks[-1]["type"] in _THOUGHTS:
        blocks.pop()  # the vendor refuses an answer that ends so
    return blocks


_THOUGHTS: Final = ("thinking", "redacted_thinking")


# ---- answers


def parse(data: bytes, provider: str) -> Mapping[str, Any]:
    """Return an event, or an answer in one piece.

    Raises:
        ProviderError: it is not a JSON object or has too many parts, or the vendor reports an error in it.
    """
    value = chat_completions.json_object(data, provider)
    if value.get("error") or value.get("type") == "error":
        raise reported(value, provider, status=None)
    return value


_STATUSES: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""What an error in the middle of a stream would have had as its status."""


def reported(body: Mapping[str, Any], provider: str, *, status: int | None) -> ProviderError:
    """Return the failure that the vendor describes in the body of an error, or in an event of that type."""
    error = body.get("error")
    if isinstance(error, Mapping):
        details = error.get("details")
        code = details.get("error_code") if isinstance(details, Mapping) else None
        kind = error.get("type")
        if status is None and isinstance(kind, str):
            status = _STATUSES.get(kind)
        error = {"code": code, "type": kind, "message": error.get("message")}
    return chat_completions.reported(error or body, provider, status=status)


_REASONS: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


@dataclass(slots=True)
class _Part:
    """A block as it arrives. What comes in pieces is joined once, at the end."""

    begun: Mapping[str, Any]
    kind: str
    characters: int = 0
    pieces: dict[str, list[str]] = field(default_factory=dict)
    """By the member of the block that they are parts of."""

    def joined(self, member: str) -> str:
        return "".join((self.begun.get(member) or "", *self.pieces.get(member, ())))


_MEMBERS: Final = {
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("partial_json", "partial_json"),
}
"""By the type of a delta: its member, and that of the block. Whatever else comes, such as citations, is left out."""


class Assembly:
    """Builds one completion as its events arrive: at most `MAX_ANSWER_CHARACTERS` of all that is kept of it.

    `received` is kept up to date with what has arrived besides the text.
    """

    unread = frozenset({"ping"})

    def __init__(self, provider: str, received: Received | None = None, vendor: str = VENDOR) -> None:
        self._provider, self._vendor = provider, vendor
        self._received = Received() if received is None else received
        self._text: list[str] = []
        self._size = 0
        self._parts: dict[Any, _Part] = {}
        self._usage: dict[str, int] = {}
        self._reason: str | None = None
        self.ended = False
        """Whether the vendor marked the end of its answer."""

    def take(self, event: Mapping[str, Any]) -> Sequence[Piece]:
        """Add one event; return the pieces in it, of which there is often none. One of an unknown type is left out.

        Raises:
            ProviderError: a member is of a wrong type, or the answer grew above its limit (category `too_large`).
        """
        kind = event.get("type")
        if kind == "content_block_delta":
            return self._take_delta(event)
        if kind == "content_block_start":
            return self._take_start(event.get("index"), self._object(event, "content_block"))
        if kind == "message_start":
            message = self._object(event, "message")
            self._received.model = self._str(message, "model") or self._received.model
            self._take_usage(message.get("usage"), begun=True)
        elif kind == "message_delta":
            self._reason = self._str(self._object(event, "delta"), "stop_reason") or self._reason
            self._take_usage(event.get("usage"))
        elif kind == "message_stop":
            self.ended = True
        return ()

    def take_whole(self, answer: Mapping[str, Any]) -> tuple[str, Completion]:
        """Return the reasoning and the completion in an answer that came in one piece.

        Raises:
            ProviderError: it is no message.
        """
        content = answer.get("content")
        if not isinstance(content, list):
            raise self._fault("`content` is not a list of objects")
        self.take({"type": "message_start", "message": answer})
        pieces: list[Piece] = []
        for index, block in enumerate(content):
            pieces += self.take({"type": "content_block_start", "index": index, "content_block": block})
        self._take_usage(answer.get("usage"))
        self._reason, self.ended = self._str(answer, "stop_reason") or None, True
        return chat_completions.reasoning_in(pieces), self.finish(done=False)

    def rest(self) -> Sequence[Piece]:
        """Return what was held back: nothing."""
        return ()

    def finish(self, *, done: bool) -> Completion:
        """Return the completion. `done`: a proxy marked the end of the stream (`[DONE]`).

        Raises:
            ProviderError: the stream broke off before the vendor said why the answer ends.
        """
        if self._reason is None and not (done or self.ended):
            message = f"{self._provider} broke off in the middle of its answer."
            raise ProviderError(message, category=ErrorCategory.NETWORK, provider=self._provider)
        calls: list[ToolCall] = []
        layout: list[Block] = []
        for part in self._parts.values():
            if part.kind == "tool_use":
                layout.append({"type": "tool_use", "call": len(calls)})
                calls.append(ToolCall(part.joined("id"), part.joined("name"), _arguments(part)))
            elif part.kind == "text":
                layout.append({"type": "text", "characters": part.characters})
            elif (kept := _kept(part)) is not None:
                layout.append(kept)
        signed = any(part["type"] not in ("text", "tool_use") for part in layout)
        reason = _REASONS.get(self._reason or "", self._reason) or ("tool_calls" if calls else "stop")
        return Completion(
            "".join(self._text),
            unique_ids(calls),
            reason,
            self._received.usage,
            self._received.model,
            VendorState(self._vendor, layout) if signed else None,
        )

    def _take_start(self, index: Any, block: Mapping[str, Any]) -> Sequence[Piece]:
        kind = self._str(block, "type")
        if not kind:
            raise self._fault("a block has no `type`")
        if not can_be_written(block):
            raise self._fault("a block is nested too deeply")
        if not isinstance(index, int) or index in self._parts:
            raise self._fault("`index` is not the number of a new block")
        # A text is kept apart, and what is written for a call at its beginning is short.
        self._grow(CALL_COUNTS_AS if kind == "text" else CALL_COUNTS_AS + len(encode_json(block)))
        part = self._parts[index] = _Part(block, kind)
        if kind == "text":
            return self._take_text(part, self._str(block, "text"))
        for member in ("id", "name", "thinking", "signature", "data", "partial_json"):
            said = self._str(block, member)
            if member in ("name", "data"):
                self._received.bytes += _bytes(said)
        if kind == "tool_use" and not isinstance(block.get("input"), dict | None):
            raise self._fault("`input` is not an object")
        return _reasoning(self._str(block, "thinking"))

    def _take_delta(self, event: Mapping[str, Any]) -> Sequence[Piece]:
        delta = self._object(event, "delta")
        index = event.get("index")
        part = self._parts.get(index) if isinstance(index, int) else None
        if part is None:
            raise self._fault("a delta belongs to no block")
        kind = self._str(delta, "type")
        if kind == "text_delta":
            if part.kind != "text":
                raise self._fault("a text is a part of something else")
            return self._take_text(part, self._str(delta, "text"))
        if kind in _MEMBERS:
            source, target = _MEMBERS[kind]
            piece = self._str(delta, source)
            self._grow(len(piece))
            if kind not in ("signature_delta", "thinking_delta"):
                self._received.bytes += _bytes(piece)
            part.pieces.setdefault(target, []).append(piece)
            if kind == "thinking_delta":
                return _reasoning(piece)
        return ()

    def _take_text(self, part: _Part, text: str) -> Sequence[Piece]:
        if text:
            self._grow(len(text))
            part.characters += len(text)
            self._text.append(text)
        return (text,) if text else ()

    def _take_usage(self, said: Any, *, begun: bool = False) -> None:
        """Counts are cumulative: the later one counts, and one that is missing or empty changes nothing.

        What a stream says of its output when it has `begun` counts next to nothing of it: if it breaks off, an estimate
        of what arrived is closer.
        """
        if not isinstance(said, Mapping):
            return
        details = said.get("output_tokens_details")
        thinking = details.get(_THINKING) if isinstance(details, Mapping) else None
        counts = {**said, _THINKING: thinking}
        for name in _INPUTS if begun else (*_INPUTS, "output_tokens", _THINKING):
            if (count := chat_completions.count(counts.get(name))) is not None:
                self._usage[name] = count
        inputs = [self._usage[name] for name in _INPUTS if name in self._usage]
        told = self._usage.get
        self._received.usage = Usage(
            sum(inputs) if inputs else None, told("output_tokens"), told(_CACHED), told(_WRITTEN), told(_THINKING)
        )

    def _grow(self, characters: int) -> None:
        self._size += characters
        if self._size > MAX_ANSWER_CHARACTERS:
            raise too_large(self._provider)

    def _object(self, event: Mapping[str, Any], member: str) -> Mapping[str, Any]:
        value = event.get(member)
        if not isinstance(value, dict):
            raise self._fault(f"`{member}` is not an object")
        return value

    def _str(self, value: Any, member: str) -> str:
        """Return a text; empty if it is missing."""
        if not isinstance(value, dict):
            raise self._fault("a block is not an object")
        said = value.get(member)
        if said is None:
            return ""
        if not isinstance(said, str):
            raise self._fault(f"`{member}` is not a text")
        return said

    def _fault(self, what: str) -> ProviderError:
        return ProviderError(
            f"{self._provider} answered with something that is not a message: {what}. Check the service behind "
            "the base URL.",
            provider=self._provider,
        )


_CACHED: Final = "cache_read_input_tokens"
_WRITTEN: Final = "cache_creation_input_tokens"
_INPUTS: Final = ("input_tokens", _WRITTEN, _CACHED)
_THINKING: Final = "thinking_tokens"


def _reasoning(text: str) -> Sequence[Piece]:
    return (Reasoning(text),) if text else ()


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _arguments(part: _Part) -> str:
    """Return the arguments of a call as the model wrote them; some servers send an object instead."""
    written = part.joined("partial_json")
    return written or encode_json(part.begun.get("input") or {}).decode()


def _kept(part: _Part) -> Block | None:
    """Return a block as the vendor wants it back; `None` if it was cut: then the vendor would refuse it."""
    block = {name: value for name, value in part.begun.items() if name != "partial_json"}
    for member in ("thinking", "signature"):
        if member in part.pieces:
            block[member] = part.joined(member)
    if part.kind == "thinking" and not block.get("signature"):
        return None
    if written := part.joined("partial_json"):
        try:
            block["input"] = orjson.loads(written)
        except orjson.JSONDecodeError:
            return None
    return block
