"""The result of section 6.3, plain MCP, read into the same values as a document, with what was observed on the way.

Everything that is no text stands in the result's `_meta`. The checks that need the call are in `server_checks.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from operator import eq
from typing import Any

from pydantic_core import from_json

from xmcp_conformance.core.observation import Observation, broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.reader import MOST_BYTES, Document, Reading, envelope, errors
from xmcp_conformance.reader import server_populated as populated
from xmcp_conformance.reader.jsontext import strings
from xmcp_conformance.reader.schemas import faults, validator
from xmcp_models.registry import DISPLAY_META_KEY, ERROR_META_KEY, PLAIN_META_KEY, POPULATED_META_KEY, VERSION_META_KEY

from .exchange import Exchange

_SPACE = " \t\r\n"
_FIRST_TAG = re.compile(r"<([A-Za-z_][\w.:-]*)")
# Other XML has elements named `error`, `display` and `meta` too; those of a document have a code, and JSON.
_OPENING = re.compile(
    r"<(?=(?P<name>[a-z_]+))(?:(?:tool_response|llm_output|server_populated)(?![\w.:-])"
    r"|error\s[^<>]*\bcode=|(?:display|meta)(?:\s[^<>]*)?>\s*\{)"
)
_CLOSING = re.compile(r"</([a-z_]+)\s*>\Z")
_ERROR = "chat_event#/$defs/Error"


def begins_a_document(text: str | None) -> bool:
    """True where the first element of a text is the root of a document, however the rest is written."""
    text = (text or "").lstrip("\ufeff" + _SPACE)
    first = _FIRST_TAG.search(text) if text.startswith("<") else None
    return first is not None and first[1].rpartition(":")[2] == "tool_response"


def tag_as_structure(exchange: Exchange) -> str | None:
    """A text block that is a document, or that begins or ends with an element of one; what the suite sent is none."""
    sent = [text for text in strings(exchange.call.arguments) if text]
    for text in _texts(exchange.result or {}):
        own = text
        for string in sent:
            own = own.replace(string, "")
        own = own.strip("\ufeff" + _SPACE)
        first, last = _OPENING.match(own), _CLOSING.search(own[-100:])
        begins = first is not None and f"</{first['name']}" in own
        ends = last is not None and any(opening["name"] == last[1] for opening in _OPENING.finditer(own))
        if begins_a_document(own) or begins or ends:
            return text
    return None


def read(exchange: Exchange, announced: list[str] | None) -> Reading:
    """Read a plain result.

    Args:
        exchange: a call with a result.
        announced: the versions that the server says it emits, where it says so.

    Returns:
        The reading; `document` is `None` where nothing says whether the call failed or with what.
    """
    result = exchange.result or {}
    stated = result.get("_meta")
    meta: dict[str, Any] = stated if isinstance(stated, dict) else {}
    document = Document(version=None)
    observations = [*_version(meta, announced), *_flag(result, meta)]
    if ERROR_META_KEY in meta:
        document.error, seen = _error(meta[ERROR_META_KEY])
        observations += [*seen, *_of_error(exchange, document.error)]
    elif result.get("isError") is True:
        return Reading(None, observations)
    else:
        document.llm_output = _text(result)
        observations += _of_text(exchange)
    observations += _display(exchange, result, meta, document)
    if POPULATED_META_KEY in meta:
        document.server_populated = meta[POPULATED_META_KEY]
        observations += populated.observations(document.server_populated)
    return Reading(document, _once(observations))


def _once(observations: Iterable[Observation]) -> list[Observation]:
    """A result is one occasion for a sentence, however often it gives it."""
    seen: dict[tuple[str, bool], Observation] = {}
    for observation in observations:
        seen.setdefault((observation.requirement, observation.ok), observation)
    return list(seen.values())


def _text(result: Mapping[str, Any]) -> str:
    """What a model reads of a plain result."""
    return "\n".join(_texts(result))


def _texts(result: Mapping[str, Any]) -> Iterator[str]:
    """The texts of the text blocks."""
    content = result.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str):
            yield block["text"]


def _version(meta: Mapping[str, Any], announced: list[str] | None) -> Iterator[Observation]:
    version = meta.get(PLAIN_META_KEY)
    known = isinstance(version, str) and (announced is None or version in announced)
    expected = f"`{PLAIN_META_KEY}`: {quoted(' or '.join(announced or ['such as 1.0']))}"
    yield either("XMCP-MCP-026", known, f"`{quoted(str(version))}`" if version else "no such member", expected)
    yield either(
        "XMCP-MCP-027", VERSION_META_KEY not in meta, f"`{VERSION_META_KEY}` with a plain result", "no such member"
    )


def _flag(result: Mapping[str, Any], meta: Mapping[str, Any]) -> Iterator[Observation]:
    """Whether the two marks of a failed call agree."""
    told, flag = ERROR_META_KEY in meta, result.get("isError") is True
    if told or flag:
        seen = f"isError={flag} {'with' if told else 'without'} `{ERROR_META_KEY}`"
        yield either("XMCP-MCP-022", told and flag, seen, f"isError=True with `{ERROR_META_KEY}`")
        yield either(
            "XMCP-MCP-004", result.get("structuredContent") is None, "`structuredContent` in a failed result", "none"
        )


def _error(value: Any) -> tuple[errors.ErrorElement, list[Observation]]:
    """The error as the error element would say it."""
    expected = "as the definition `Error` of schemas/chat_event.schema.json says"
    if not validator(_ERROR).is_valid(value):
        seen = f"`{ERROR_META_KEY}`: {next(faults(_ERROR, value))}"
        return _element(value, reads=False), [broken("XMCP-MCP-024", seen, expected)]
    error = _element(value, reads=True)
    return error, [obeyed("XMCP-MCP-024"), *errors.observations(error)]


def _element(value: Any, *, reads: bool) -> errors.ErrorElement:
    said: Mapping[str, Any] = value if isinstance(value, dict) else {}
    code, message = said.get("code"), said.get("message")
    return errors.ErrorElement(
        code=code if isinstance(code, str) else "",
        retryable=said.get("retryable") if reads else None,
        retry_after_ms=said.get("retry_after_ms") if reads else None,
        category=said.get("category") if reads else None,
        message=message.strip(_SPACE) if isinstance(message, str) else "",
        meta=said.get("meta"),
        has_meta="meta" in said,
        meta_reads=reads,
    )


def _of_error(exchange: Exchange, error: errors.ErrorElement) -> Iterator[Observation]:
    """Its code and message, for the model."""
    text = _text(exchange.result or {})
    missed = [f"`{quoted(part)}`" for part in (error.code, error.message) if part not in text]
    yield either("XMCP-MCP-020", not missed, f"the text `{quoted(text)}`", f"a text with {' and '.join(missed)}")


def _of_text(exchange: Exchange) -> Iterator[Observation]:
    """The text of `llm_output`: where the document had what the suite sent, it is there as the suite sent it."""
    text, trap = _text(exchange.result or {}), exchange.call.trap
    whole = not (exchange.twin and exchange.twin.echoes and trap not in text)
    expected = f"the text `{quoted(trap)}`, as in the document for the same call"
    yield either("XMCP-MCP-020", whole, f"the text `{quoted(text)}`", expected)


def _display(
    exchange: Exchange, result: Mapping[str, Any], meta: Mapping[str, Any], document: Document
) -> Iterator[Observation]:
    """The display, in its place and nowhere else."""
    call = exchange.call
    placed = DISPLAY_META_KEY in meta
    shown = meta.get(DISPLAY_META_KEY)
    asked = call.shows and call.tool is not None and call.tool.displays and document.error is None
    if not (placed or asked):
        return
    same: Callable[[Any], bool] = partial(eq, shown) if placed else _envelope
    found = (at for at, value in _elsewhere(result, meta) if isinstance(value, dict) and same(value))
    also = next(found, None)
    document.has_display, document.display = placed or also is not None, shown
    if document.has_display:
        expected = f"a display as `{DISPLAY_META_KEY}` of `_meta` only"
        yield either("XMCP-MCP-021", also is None, f"a display as {also}", expected)
    if placed:
        yield from envelope.observations(shown)


def _envelope(value: Any) -> bool:
    return validator("display_envelope").is_valid(value)


def _elsewhere(result: Mapping[str, Any], meta: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What stands where no display belongs, and where that is."""
    data = result.get("structuredContent")
    yield "`structuredContent`", data
    for name, value in data.items() if isinstance(data, dict) else ():
        yield f"the member `{quoted(name)}` of `structuredContent`", value
    for name, value in meta.items():
        if name != DISPLAY_META_KEY:
            yield f"the member `{quoted(name)}` of `_meta`", value
    for text in _texts(result):
        if text.lstrip(_SPACE).startswith("{") and len(text) <= MOST_BYTES:
            try:
                value = from_json(text)  # no deeper than the SDK lets through in a message
            except ValueError:
                continue
            yield "the text of a block", value
