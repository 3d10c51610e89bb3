"""Gemini's generateContent format, without I/O: the body of a request, and a completion from chunks of an answer."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from mimetypes import guess_type
from typing import Any, Final
from urllib.parse import unquote_to_bytes, urlsplit
from weakref import WeakKeyDictionary

from xmcp.chat.arguments import parse_arguments
from xmcp.chat.completions import Completion, ToolCall, VendorState, unique_ids
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.json_values import encode_json
from xmcp.chat.messages import Message, text_of
from xmcp.chat.sampler_config import SamplerConfig
from xmcp.chat.tool_schemas import ToolSchemas
from xmcp.chat.untrusted_text import printable
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
    schema_in_words,
    too_large,
)
from xmcp.providers.formats.chat_shapes import can_be_written
from xmcp.providers.formats.files import file_of

VENDOR: Final = "gemini"
"""The name under which the state of answers is kept."""

_NO_OPTIONS: Final = SamplerConfig()


def request_body(
    model: str, messages: Sequence[Message], tools: ToolSchemas, sampler: SamplerConfig = _NO_OPTIONS
) -> dict[str, Any]:
    """Return the body of a request. It shares parts with the messages and the tools, so it must not be changed.

    Raises:
        ProviderError: a picture is neither a `data:` URL nor one that the vendor could load (category `content`), or
            the content of a file is not in the message.
    """
    declared, generation = _declared(tools), _generation(model)
    texts = [text_of(one) for one in messages if one["role"] in _INSTRUCTIONS]
    if sampler.response_format is not None and not takes_schema(model, tools):
        told = schema_in_words(sampler.response_format)
        texts.append(f"{told}\nThat is about your last answer, after all calls of functions.")
        sampler = replace(sampler, response_format=None)
    instructions = [{"text": text} for text in texts if text]  # the vendor refuses an empty one
    body: dict[str, Any] = {"contents": _contents(messages, declared, generation)}
    if instructions:
        body["systemInstruction"] = {"parts": instructions}
    if tools.tools:
        body["tools"] = declared.tools
        if (choice := sampler.tool_choice) is not None:
            body["toolConfig"] = {"functionCallingConfig": _choice(choice, declared)}
    if options := _generation_config(sampler, model, generation):
        body["generationConfig"] = options
    for name, value in (sampler.extra_body or {}).items():
        known = body.get(name)
        # Options of the vendor stand together in one member, of which some may be set already.
        body[name] = {**known, **value} if isinstance(known, dict) and isinstance(value, Mapping) else value
    return body


def takes_schema(model: str, tools: ToolSchemas) -> bool:
    """Return whether a model takes the schema of an answer together with these tools."""
    return not (tools.tools and 0 < _generation(model) < _SCHEMA_BESIDE_TOOLS_FROM)


_INSTRUCTIONS: Final = ("system", "developer")

_SCHEMA_BESIDE_TOOLS_FROM: Final = 3
"""The first generation that takes a schema of the answer together with tools; the ones before refuse the request."""


# ---- models

_LATEST: Final = 3


def _generation(model: str) -> int:
    """Return the generation of a model: 2 for `gemini-2.5-pro`. An alias such as `gemini-flash-latest` is the latest.

    Models of another family have what all generations have: 0.
    """
    name = model.rpartition("/")[2]
    if numbered := _NUMBERED.match(name):
        return int(numbered[1])
    return _LATEST if name.startswith("gemini-") else 0


_NUMBERED: Final = re.compile(r"gemini-(\d{1,3})")

_THINKS_FROM: Final = "gemini-2.5"


# ---- tools


@dataclass(frozen=True, slots=True)
class _Declared:
    """Tools in this format. Names must begin with a letter or `_`: the few others go under names of their own."""

    tools: list[dict[str, Any]]
    names: Mapping[str, str]
    """The vendor's name of each tool that needs another."""

    def name(self, name: str) -> str:
        return self.names.get(name) or (name if _LEGAL_START.match(name) else f"_{name}")


_LEGAL_START: Final = re.compile("[A-Za-z_]")

_prepared: Final[WeakKeyDictionary[ToolSchemas, _Declared]] = WeakKeyDictionary()
"""One walk over the tools for each version of the catalogue."""


def _declared(tools: ToolSchemas) -> _Declared:
    known = _prepared.get(tools)
    if known is None:
        functions = [tool["function"] for tool in tools.tools]
        names: dict[str, str] = {}
        taken = {function["name"] for function in functions}
        for name in sorted(taken):
            if not _LEGAL_START.match(name):
                legal = f"_{name}"
                while legal in taken:
                    legal = f"_{legal}"
                names[name] = legal
                taken.add(legal)
        declarations = [_declaration(function, names) for function in functions]
        known = _prepared[tools] = _Declared([{"functionDeclarations": declarations}], names)
    return known


def _declaration(function: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    written: dict[str, Any] = {"name": names.get(function["name"], function["name"])}
    if description := function.get("description"):
        written["description"] = description
    if parameters := function.get("parameters"):
        written["parametersJsonSchema"] = parameters
    return written


def own_names(tools: ToolSchemas) -> dict[str, str]:
    """Return the name of each tool that the vendor knows under another, by that other name."""
    return {theirs: ours for ours, theirs in _declared(tools).names.items()}


# ---- options

_MODES: Final = {"auto": "AUTO", "none": "NONE", "required": "ANY"}


def _choice(choice: str, declared: _Declared) -> dict[str, Any]:
    mode = _MODES.get(choice)
    return {"mode": mode} if mode else {"mode": "ANY", "allowedFunctionNames": [declared.name(choice)]}


_OPTIONS: Final = {
    "temperature": "temperature",
    "top_p": "topP",
    "max_tokens": "maxOutputTokens",
    "stop": "stopSequences",
    "seed": "seed",
    "response_format": "responseJsonSchema",
}


def _generation_config(sampler: SamplerConfig, model: str, generation: int) -> dict[str, Any]:
    given = sampler.to_dict()
    options = {theirs: given[ours] for ours, theirs in _OPTIONS.items() if ours in given}
    if "responseJsonSchema" in options:
        options["responseMimeType"] = "application/json"
    if sampler.reasoning_effort is not None and (thinking := _thinking(sampler.reasoning_effort, model, generation)):
        options["thinkingConfig"] = thinking
    return options


_BUDGETS: Final = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24_576}
"""Tokens for each effort, as in the vendor's own interface for OpenAI's clients."""

_LEAST_BUDGET_OF_PRO: Final = 128


def _thinking(effort: str, model: str, generation: int) -> dict[str, Any] | None:
    """Return how a model is told its effort; `None` if it does not think. Some models cannot stop thinking altogether:
    they are told the least that they take."""
    pro = "-pro" in model
    if generation >= 3:
        least = "low" if pro else "minimal"
        return {"thinkingLevel": (least if effort in ("none", "minimal") else effort).upper()}
    if _THINKS_FROM not in model:
        return None
    return {"thinkingBudget": max(_BUDGETS[effort], _LEAST_BUDGET_OF_PRO if pro else 0)}


# ---- histories

FOREIGN: Final = "skip_thought_signature_validator"
"""What the vendor accepts as the signature of a call that one of its models did not write.

From the third generation on it refuses a call without a signature. See "thought signatures" in its documentation.
"""

_SIGNED_FROM: Final = 3
_PICTURES_IN_RESULTS_FROM: Final = 3


def _contents(messages: Sequence[Message], declared: _Declared, generation: int) -> list[dict[str, Any]]:
    contents: list[dict[str, Any]] = []
    open_calls: dict[str, _Open] = {}
    results: list[tuple[int, Message, _Open]] = []

    def tell_results() -> None:
        if results:
            results.sort(key=lambda one: one[0])
            told = [(message, call) for _, message, call in results]
            contents.append({"role": "user", "parts": _result_parts(told, generation)})
            results.clear()

    for message in messages:
        role = message["role"]
        if role == "tool":
            call = open_calls.get(message.get("tool_call_id", "")) or _Open(
                len(open_calls), declared.name(str(message.get("name") or "tool"))
            )
            results.append((call.place, message, call))
            continue
        tell_results()
        if role == "user":
            _add(contents, "user", _user_parts(message))
        elif role == "assistant":
            parts, open_calls = _model_parts(message, declared, generation)
            _add(contents, "model", parts)
    tell_results()
    return contents


def _add(contents: list[dict[str, Any]], role: str, parts: list[dict[str, Any]]) -> None:
    """Add what somebody said. Results of calls stand alone, since they must match the calls before them."""
    if not parts:
        return
    last = contents[-1] if contents else None
    if last is not None and last["role"] == role and "functionResponse" not in last["parts"][0]:
        last["parts"] += parts
    else:
        contents.append({"role": role, "parts": parts})


def _user_parts(message: Message) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"text": content}] if content else []
    parts: list[dict[str, Any]] = []
    for part in content if isinstance(content, list | tuple) else ():
        if part.get("type") == "text" and part.get("text"):
            parts.append({"text": part["text"]})
        elif part.get("type") == "image_url":
            parts.append(_picture(part))
        elif (file := file_of(part, VENDOR)) is not None:
            parts.append({"inlineData": {"mimeType": file.media_type, "data": file.data}})
    return parts


_FALLBACK_TYPE: Final = "image/jpeg"


def _picture(part: Mapping[str, Any]) -> dict[str, Any]:
    place = part.get("image_url")
    url = place.get("url") if isinstance(place, Mapping) else place
    if isinstance(url, str) and url.startswith("data:"):
        head, comma, data = url[5:].partition(",")
        kind, *parameters = head.split(";")
        if comma:
            if "base64" not in parameters:
                data = base64.b64encode(unquote_to_bytes(data)).decode("ascii")
            return {"inlineData": {"mimeType": kind or _FALLBACK_TYPE, "data": data}}
    elif isinstance(url, str) and url.startswith(("https://", "http://", "gs://")):
        kind = guess_type(urlsplit(url).path)[0] or _FALLBACK_TYPE
        return {"fileData": {"mimeType": kind, "fileUri": url}}
    raise ProviderError(
        "A picture has neither a data: URL nor one that begins with https://, so the model cannot see it.",
        category=ErrorCategory.CONTENT,
        provider=VENDOR,
    )


@dataclass(frozen=True, slots=True)
class _Open:
    """A call whose result follows."""

    place: int
    name: str
    id: str | None = None
    """The vendor's own id, if it gave one."""


def _result_parts(told: Sequence[tuple[Message, _Open]], generation: int) -> list[dict[str, Any]]:
    """Return the results of a turn. Models that see no picture inside a result get it beside the results."""
    parts: list[dict[str, Any]] = []
    beside: list[dict[str, Any]] = []
    for message, call in told:
        response: dict[str, Any] = {"name": call.name, "response": {"output": text_of(message)}}
        if call.id is not None:
            response["id"] = call.id
        content = message.get("content")
        seen = content if isinstance(content, list | tuple) else ()
        pictures = [_picture(part) for part in seen if part.get("type") == "image_url"]
        if pictures and generation >= _PICTURES_IN_RESULTS_FROM:
            response["parts"] = pictures
        else:
            beside += pictures
        parts.append({"functionResponse": response})
    return parts + beside


def _model_parts(
    message: Message, declared: _Declared, generation: int
) -> tuple[list[dict[str, Any]], dict[str, _Open]]:
    """Return the parts of an answer, as the vendor wrote them if it was this one, and its calls by their ids."""
    text, calls = text_of(message), message.get("tool_calls") or ()
    state = vendor_state(message)
    noted = _noted(state.value) if state is not None and state.vendor == VENDOR else []
    # Whoever changed the text of an answer wants the new one to be read.
    same_text = sum(len_ for one in noted if (len_ := _length(one)) is not None) == len(text)
    parts: list[dict[str, Any]] = [] if same_text or not text else [{"text": text}]
    ids: dict[int, str] = {}
    written: set[int] = set()
    begin = 0
    for one in noted:
        signed = {"thoughtSignature": one["signature"]} if isinstance(one.get("signature"), str) else {}
        place, length = one.get("call"), _length(one)
        if length is not None:
            if same_text and (length or signed):
                parts.append({"text": text[begin : begin + length], **signed})
                begin += length
        elif isinstance(place, int) and 0 <= place < len(calls) and place not in written:
            written.add(place)
            if isinstance(one.get("id"), str):
                ids[place] = one["id"]
            parts.append({"functionCall": _call(calls[place], declared, ids.get(place)), **signed})
        elif isinstance(one.get("thought"), str):
            parts.append({"text": one["thought"], "thought": True, **signed})
        elif isinstance(one.get("part"), Mapping):
            parts.append(one["part"])
    parts += [{"functionCall": _call(call, declared, None)} for place, call in enumerate(calls) if place not in written]
    if generation >= _SIGNED_FROM:
        first = next((place for place, part in enumerate(parts) if "functionCall" in part), None)
        if first is not None and "thoughtSignature" not in parts[first]:
            parts[first] = {**parts[first], "thoughtSignature": FOREIGN}
    return parts, {
        call["id"]: _Open(place, declared.name(call["function"]["name"]), ids.get(place))
        for place, call in enumerate(calls)
    }


def _noted(value: Any) -> list[Mapping[str, Any]]:
    """Return the notes of an answer. They come from a stored history, so they may be anything."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _length(note: Mapping[str, Any]) -> int | None:
    length = note.get("text")
    return length if isinstance(length, int) and length >= 0 else None


def _call(call: Mapping[str, Any], declared: _Declared, id_: str | None) -> dict[str, Any]:
    function = call["function"]
    arguments = parse_arguments(function.get("arguments") or "")
    written = {"name": declared.name(function["name"]), "args": arguments if isinstance(arguments, dict) else {}}
    return written if id_ is None else {"id": id_, **written}


# ---- answers


def parse(data: bytes, provider: str) -> Mapping[str, Any]:
    """Return a chunk, or an answer in one piece.

    Raises:
        ProviderError: it is not JSON, not an object, has too many parts or a member of a wrong type, or the vendor
            reports an error in it.
    """
    value = json_object(data, provider)
    if error := value.get("error"):
        code = error.get("code") if isinstance(error, dict) else None
        raise reported(value, provider, status=status_of(code))
    if fault := _shape_fault(value):
        raise ProviderError(
            f"{provider} answered with something that is not an answer of Gemini: {fault}. Check the service behind "
            "the base URL.",
            provider=VENDOR,
        )
    return value


def status_of(code: object) -> int | None:
    """Return the code of an error as an HTTP status; `None` if it is none."""
    return code if isinstance(code, int) and 100 <= code <= 599 else None


def _shape_fault(chunk: Mapping[str, Any]) -> str | None:
    """Return what of a chunk is of a wrong type: a phrase; `None` if nothing is that decides what the answer says."""
    candidates = chunk.get("candidates")
    if not candidates:
        return None
    if not isinstance(candidates, list) or not isinstance(candidates[0], dict):
        return "`candidates` is not a list of objects"
    reason, content = candidates[0].get("finishReason"), candidates[0].get("content")
    if reason and not isinstance(reason, str):
        return "`finishReason` is not a text"
    if not content:
        return None
    if not isinstance(content, dict):
        return "`content` is not an object"
    parts = content.get("parts")
    if parts and not isinstance(parts, list):
        return "`parts` is not a list"
    return next((fault for part in parts or () if (fault := _part_fault(part))), None)


def _part_fault(part: Any) -> str | None:
    if not isinstance(part, dict):
        return "`parts` is not a list of objects"
    if not isinstance(part.get("text"), str | None):
        return "a `text` is not a text"
    signature = part.get("thoughtSignature")
    if signature is not None and not (isinstance(signature, str) and _BASE64.fullmatch(signature)):
        return "a `thoughtSignature` is not base64"
    call = part.get("functionCall")
    if call is None:
        return None
    if not isinstance(call, dict):
        return "a `functionCall` is not an object"
    for member, kind in (("name", str), ("id", str), ("args", dict)):
        if not isinstance(call.get(member), kind | None):
            return f"the `{member}` of a call is of a wrong type"
    return None if can_be_written(call.get("args")) else "the `args` of a call are nested too deeply"


_BASE64: Final = re.compile("[A-Za-z0-9+/_=-]*")

_NO_REASON: Final = "FINISH_REASON_UNSPECIFIED"

_FILTERED: Final = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "LANGUAGE",
        "ESCALATION",
        "MODEL_ARMOR",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
        "PUP_LIMITED_DISABLED",
    }
)
_CUT: Final = frozenset({"MAX_TOKENS", "CONTINUATION", "TOO_MANY_TOOL_CALLS"})
_SPOILT: Final = frozenset({"MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"})
"""The model wrote something that the vendor could not read, and it is lost."""


class Assembly:
    """Builds one completion as its chunks arrive: at most `MAX_ANSWER_CHARACTERS` of text, calls and state.

    `received` is kept up to date with what has arrived besides the text. `names` are the tools that the vendor knows
    under other names (`own_names`).
    """

    unread: frozenset[str] = frozenset()
    ended = False

    def __init__(self, provider: str, received: Received | None = None, names: Mapping[str, str] | None = None) -> None:
        self._provider = provider
        self._received = Received() if received is None else received
        self._names = names or {}
        self._text: list[str] = []
        self._calls: list[ToolCall] = []
        self._notes: list[dict[str, Any]] = []
        """The parts of the answer in order: the length of a text, the place of a call, and what is kept of the rest."""
        self._open_text: dict[str, Any] | None = None
        self._noteworthy = False
        self._size = 0
        self._finish: str | None = None
        self._why: Any = None

    def take(self, chunk: Mapping[str, Any]) -> Sequence[Piece]:
        """Add one chunk (see `parse`); return the pieces in it.

        Raises:
            ProviderError: the answer grew above its limit (category `too_large`), or the vendor refused the prompt
                (category `content`).
        """
        received, model = self._received, chunk.get("modelVersion")
        if model and isinstance(model, str):
            received.model = model
        if counted := object_in(chunk, "usageMetadata"):
            received.usage = usage(counted)
        feedback = object_in(chunk, "promptFeedback")
        if reason := feedback.get("blockReason"):
            raise self._blocked(feedback.get("blockReasonMessage") or reason)
        candidates = chunk.get("candidates")
        if not candidates:
            return ()
        candidate = candidates[0]
        finish = candidate.get("finishReason")
        if finish and finish != _NO_REASON:
            self._finish = finish
            self._why = candidate.get("finishMessage")
        content = candidate.get("content")
        parts = content.get("parts") if content else None
        return [piece for part in parts or () if (piece := self._take(part))]

    def rest(self) -> Sequence[Piece]:
        """Return what was held back until the end of the stream; there is nothing in this format."""
        return ()

    def finish(self, *, done: bool) -> Completion:  # noqa: ARG002 - the vendor marks the end by a reason
        """Return the completion.

        Raises:
            ProviderError: the stream broke off before the vendor gave a finish reason, or what the model wrote was lost
                (category `network`: asking again helps).
        """
        finish = self._finish
        if finish is None:
            raise ProviderError(
                f"{self._provider} broke off in the middle of its answer.", category="network", provider=VENDOR
            )
        if finish in _SPOILT and not self._calls:
            raise self._failed(finish, ErrorCategory.NETWORK)
        if finish == "MISSING_THOUGHT_SIGNATURE":
            raise self._failed(finish, ErrorCategory.UNKNOWN)
        if finish in _FILTERED:
            reason = "content_filter"
        elif finish in _CUT:
            reason = "length"
        else:
            reason = "tool_calls" if self._calls else "stop"
        state = VendorState(VENDOR, self._notes) if self._noteworthy else None
        received = self._received
        return Completion("".join(self._text), unique_ids(self._calls), reason, received.usage, received.model, state)

    def _take(self, part: Mapping[str, Any]) -> Piece:
        signature, text, call = part.get("thoughtSignature"), part.get("text"), part.get("functionCall")
        signed = {}
        if signature:
            signed = {"signature": signature}
            self._grow(len(signature))
            self._noteworthy = True
        if call is not None:
            self._take_call(call, signed)
        elif part.get("thought"):
            self._take_thought(text or "", signed)
            return Reasoning(str(text)) if text else ""
        elif text or (signed and text is not None):
            self._take_text(text, signed)
            return str(text)
        elif text is None:
            self._take_other(part)
        return ""

    def _take_text(self, text: str, signed: dict[str, str]) -> None:
        self._grow(len(text))
        self._text.append(text)
        # A text with a signature must stay apart from the texts around it.
        if self._open_text is not None and not signed:
            self._open_text["text"] += len(text)
            return
        note: dict[str, Any] = {"text": len(text), **signed}
        self._note(note)
        self._open_text = None if signed else note

    def _take_call(self, call: Mapping[str, Any], signed: dict[str, str]) -> None:
        name, id_, arguments = (
            call.get("name") or "",
            call.get("id") or "",
            encode_json(call.get("args") or {}).decode(),
        )
        self._grow(len(arguments) + CALL_COUNTS_AS)
        self._received.bytes += len(name) + len(arguments)
        note: dict[str, Any] = {"call": len(self._calls), **signed}
        if id_:
            note["id"] = id_
            self._noteworthy = True
        self._note(note)
        self._calls.append(ToolCall(id_, self._names.get(name, name), arguments))

    def _take_thought(self, text: str, signed: dict[str, str]) -> None:
        """Take what the model thinks aloud. The vendor wants it back only if it is signed."""
        if signed:
            self._grow(len(text))
            self._note({"thought": text, **signed})

    def _take_other(self, part: Mapping[str, Any]) -> None:
        """Keep a part of another kind, such as code that the vendor ran: it belongs to the answer in later requests."""
        kept = {name: value for name, value in part.items() if value is not None}
        if kept and can_be_written(kept):
            size = len(encode_json(kept))
            self._grow(size)
            self._received.bytes += size
            self._note({"part": kept})
            self._noteworthy = True

    def _note(self, note: dict[str, Any]) -> None:
        self._open_text = None
        self._notes.append(note)

    def _grow(self, characters: int) -> None:
        self._size += characters
        if self._size > MAX_ANSWER_CHARACTERS:
            raise too_large(self._provider)

    def _blocked(self, reason: Any) -> ProviderError:
        why = printable(reason[:MAX_REASON]) if isinstance(reason, str) else "no reason given"
        return ProviderError(
            f"{self._provider} refused the prompt: {why}", category=ErrorCategory.CONTENT, provider=VENDOR
        )

    def _failed(self, finish: str, category: ErrorCategory) -> ProviderError:
        why = f" ({printable(self._why[:MAX_REASON])})" if self._why and isinstance(self._why, str) else ""
        return ProviderError(f"{self._provider} gave up its answer: {finish}{why}", category=category, provider=VENDOR)


def usage(counted: Mapping[str, Any]) -> Usage:
    """Return the tokens that the vendor counted: thoughts are written, and results of its own tools are read."""
    thoughts = count(counted.get("thoughtsTokenCount"))
    return Usage(
        _sum(count(counted.get("promptTokenCount")), count(counted.get("toolUsePromptTokenCount"))),
        _sum(count(counted.get("candidatesTokenCount")), thoughts),
        count(counted.get("cachedContentTokenCount")),
        reasoning_tokens=thoughts,
    )


def _sum(*counts: int | None) -> int | None:
    known = [one for one in counts if one is not None]
    return sum(known) if known else None


# ---- errors

_KEY_REASONS: Final = re.compile(r"API_KEY_|api.key (?:not (?:valid|found)|expired)", re.IGNORECASE)
_BY_DAY: Final = re.compile("PerDay|PerMonth")
_BY_MINUTE: Final = re.compile("PerMinute|PerSecond")


def reported(error: Any, provider: str, *, status: int | None) -> ProviderError:
    """Return the failure that the vendor describes in the body of an error: an object with a member `error`.

    A body of another form is the page of some proxy, and is not shown.
    """
    facts = error.get("error") if isinstance(error, Mapping) else None
    if not isinstance(facts, Mapping):
        facts = {"message": facts} if isinstance(facts, str) else {}
    told = (facts.get(key) for key in ("status", "message"))
    state, message = (str(one)[:MAX_REASON] if isinstance(one, str | int) else "" for one in told)
    said = f"{state} {message} {_reasons(facts.get('details'))}"
    reason = printable(message or state or (f"HTTP status {status}" if status else "no reason given"))
    return ProviderError(
        f"{provider} refused the request: {reason}", category=_category(status, said), provider=VENDOR, status=status
    )


def _category(status: int | None, said: str) -> ErrorCategory:
    if status == 429:
        # One text tells of a minute's limit and of a used-up quota; only the names of the limits differ.
        if _BY_DAY.search(said):
            return ErrorCategory.QUOTA
        if _BY_MINUTE.search(said):
            return ErrorCategory.RATE_LIMIT
    if status in (400, 403) and _KEY_REASONS.search(said):
        return ErrorCategory.AUTH
    return classify(status, said)


def _reasons(details: Any) -> str:
    """Return the reasons in the details of an error, and the limits that were broken."""
    found: list[str] = []
    for detail in details[:20] if isinstance(details, list) else ():
        if isinstance(detail, Mapping):
            violations = detail.get("violations")
            listed = [detail, *(violations[:20] if isinstance(violations, list) else ())]
            found += [
                str(one[key])[:200]
                for one in listed
                if isinstance(one, Mapping)
                for key in ("reason", "quotaId")
                if isinstance(one.get(key), str)
            ]
    return " ".join(found)
