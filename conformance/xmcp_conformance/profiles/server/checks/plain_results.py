"""Read a plain MCP result (section 6.3) into a `Document`, and check its form while it is read.

A plain result has its text in text blocks and everything else in `_meta`. The other modules of this package judge its
content, as they judge the content of documents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic_core import from_json

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import Observation, broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.server.checks import errors
from xmcp_conformance.profiles.server.checks.result_member import result_member
from xmcp_conformance.profiles.server.exchange import Exchange
from xmcp_conformance.profiles.server.text_changes import SENTENCES, change_between, is_cut, legal
from xmcp_conformance.reader import MOST_BYTES, Document, Reading
from xmcp_conformance.reader.checks import display_envelope, error_element, server_populated
from xmcp_conformance.reader.schemas import faults, validator
from xmcp_conformance.reader.strict_json import strings
from xmcp_models.registry import DISPLAY_META_KEY, ERROR_META_KEY, POPULATED_META_KEY, RESULT_META_KEY

from .told_values import untold

_SPACE = " \t\r\n"
_FIRST_TAG = re.compile(r"<([A-Za-z_][\w.:-]*)")
# `error`, `display` and `meta` are common names in other XML. In a document, `error` has the attribute `code`, and
# `display` and `meta` contain a JSON object.
_DOCUMENT_TAG = re.compile(
    r"<(?=(?P<name>[a-z_]+))(?:(?:tool_response|llm_output|server_populated)(?![\w.:-])"
    r"|error\s[^<>]*\bcode=|(?:display|meta)(?:\s[^<>]*)?>\s*\{)"
)
_SHORTEST_MARKUP = 8  # characters, as of `<meta>{}`
_LAST_CLOSING_TAG = re.compile(r"</([a-z_]+)\s*>\Z")
_ERROR = "chat_event#/$defs/Error"


def begins_a_document(text: str | None) -> bool:
    """Return whether the first element of a text is the root element of a document; the rest is not examined."""
    text = (text or "").lstrip("\ufeff" + _SPACE)
    first = _FIRST_TAG.search(text) if text.startswith("<") else None
    return first is not None and first[1].rpartition(":")[2] == "tool_response"


def has_a_document_later(exchange: Exchange) -> bool:
    """Return whether a block after the first one is a document."""
    content = (exchange.result or {}).get("content")
    return any(
        begins_a_document(text) for text in _texts({"content": content[1:]} if isinstance(content, list) else {})
    )


def document_markup(exchange: Exchange) -> str | None:
    """Return the first text block that is a document, or begins or ends with an element of a document, or `None`.

    Markup that the suite itself sent in an argument is ignored, because a tool may repeat its arguments. A shorter
    text, or one without markup, is not: to ignore it could hide the server's own markup.
    """
    sent = [text for text in strings(exchange.call.arguments) if "<" in text and len(text) >= _SHORTEST_MARKUP]
    for text in _texts(exchange.result or {}):
        written = text
        for string in sent:
            written = written.replace(string, "")
        written = written.strip("\ufeff" + _SPACE)
        first, last = _DOCUMENT_TAG.match(written), _LAST_CLOSING_TAG.search(written[-100:])
        begins = first is not None and f"</{first['name']}" in written
        ends = last is not None and any(opening["name"] == last[1] for opening in _DOCUMENT_TAG.finditer(written))
        if begins_a_document(written) or begins or ends:
            return text
    return None


def read(exchange: Exchange, announced: list[str] | None) -> Reading:
    """Read a plain result.

    Args:
        exchange: a call with a result.
        announced: the versions that the server announces; `None` if it does not list any.

    Returns:
        The reading; its `document` is `None` if the result is marked as failed but has no error in `_meta`.
    """
    result = exchange.result or {}
    raw_meta = result.get("_meta")
    meta: dict[str, Any] = raw_meta if isinstance(raw_meta, dict) else {}
    document = Document(version=None)
    observations = [*result_member(meta, "plain", announced), *errors.failure_marks(result, meta)]
    if ERROR_META_KEY in meta:
        value = meta[ERROR_META_KEY]
        valid = validator(_ERROR).is_valid(value)
        document.error = _error_element(value, valid=valid)
        observations += _error_schema(value)
        observations += error_element.observations(document.error) if valid else ()
        observations += _error_text(exchange, document.error)
    elif result.get("isError") is True:
        return Reading(None, observations)
    else:
        document.llm_output = _text(result)
        observations += _result_text(exchange)
        observations += _same_mark(exchange, meta, document.llm_output)
        observations += _same_text(exchange, document.llm_output)
        observations += _blocks_for_the_user(exchange, result)
    observations += _display(exchange, result, meta, document)
    if POPULATED_META_KEY in meta:
        document.server_populated = meta[POPULATED_META_KEY]
        faults_of_it = list(server_populated.observations(document.server_populated))
        observations += faults_of_it
        if document.error is None and all(one.ok for one in faults_of_it):
            observations += _told_what_was_filled_in(result, document.server_populated)
    return Reading(document, _without_repeats(observations))


def _without_repeats(observations: Iterable[Observation]) -> list[Observation]:
    """Return the observations without repeats: a requirement counts once per result."""
    seen: dict[tuple[str, bool], Observation] = {}
    for observation in observations:
        seen.setdefault((observation.requirement, observation.ok), observation)
    return list(seen.values())


def _text(result: Mapping[str, Any]) -> str:
    """Return the tool's own text for the model in a plain result."""
    return "\n".join(
        text for text, block in _blocks(result) if not _is_for_the_user(block) and not _is_about_values(block)
    )


def _blocks(result: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the text blocks, each with its text before it."""
    content = result.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str):
            yield block["text"], block


def _texts(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of all text blocks."""
    return (text for text, _ in _blocks(result))


def _is_for_the_user(block: Mapping[str, Any]) -> bool:
    annotations = block.get("annotations")
    audience = annotations.get("audience") if isinstance(annotations, dict) else None
    return isinstance(audience, list) and bool(audience) and all(one == "user" for one in audience)


def _is_about_values(block: Mapping[str, Any]) -> bool:
    """Return whether a block says which values the server filled in (XMCP-MCP-048)."""
    meta = block.get("_meta")
    return isinstance(meta, dict) and meta.get(POPULATED_META_KEY) is True


@check("XMCP-MCP-024", profile="server")
def _error_schema(value: Any) -> Observations:
    if validator(_ERROR).is_valid(value):
        yield obeyed("XMCP-MCP-024")
    else:
        seen = f"`{ERROR_META_KEY}`: {next(faults(_ERROR, value))}"
        yield broken("XMCP-MCP-024", seen, "a value that is valid against `Error` of schemas/chat_event.schema.json")


def _error_element(value: Any, *, valid: bool) -> error_element.ErrorElement:
    """Convert an error in `_meta` to an `ErrorElement`. An invalid value keeps only code and message."""
    members: Mapping[str, Any] = value if isinstance(value, dict) else {}
    code, message = members.get("code"), members.get("message")
    return error_element.ErrorElement(
        code=code if isinstance(code, str) else "",
        retryable=members.get("retryable") if valid else None,
        retry_after_ms=members.get("retry_after_ms") if valid else None,
        category=members.get("category") if valid else None,
        message=message.strip(_SPACE) if isinstance(message, str) else "",
        meta=members.get("meta"),
        has_meta="meta" in members,
        meta_reads=valid,
    )


@check("XMCP-MCP-020", profile="server")
def _error_text(exchange: Exchange, error: error_element.ErrorElement) -> Observations:
    """Judge whether the text for the model contains the code and the message of the error."""
    text = _text(exchange.result or {})
    missing = [f"`{quoted(part)}`" for part in (error.code, error.message) if part not in text]
    yield either("XMCP-MCP-020", not missing, f"the text `{quoted(text)}`", f"a text with {' and '.join(missing)}")


@check("XMCP-MCP-020", profile="server")
def _result_text(exchange: Exchange) -> Observations:
    """Judge whether the text repeats the argument unchanged, if the same call of a client that declared did."""
    text, twin = _text(exchange.result or {}), exchange.twin
    if twin is None:  # nothing says what the text should be
        return
    missing = next((trap for trap in twin.echoes if trap not in text), None)
    if missing is not None and exchange.call.shows:
        as_json = any(json.dumps(missing, ensure_ascii=ascii_only)[1:-1] in text for ascii_only in (True, False))
        if as_json or not _is_around(missing, twin.text or "", text):
            return  # the text stands for the data of the display (XMCP-DSP-025)
    if missing is not None and _has_its_lines_elsewhere(missing, text):
        return  # a tool that has no order
    expected = f"the text `{quoted(missing or '')}`, as for a client that declared the extension"
    yield either("XMCP-MCP-020", missing is None, f"the text `{quoted(text)}`", expected)


@check("XMCP-RSP-082", profile="server")
def _same_mark(exchange: Exchange, meta: Mapping[str, Any], text: str) -> Observations:
    """Judge whether a document says that its text was cut, where the plain result says or shows it."""
    member, twin = meta.get(RESULT_META_KEY), exchange.twin
    if twin is None or not twin.size or twin.text is None:
        return
    says_cut = isinstance(member, dict) and member.get("truncated") is True and twin.text == text
    # Beside a display, the text can be another one (XMCP-DSP-025).
    if says_cut or (not exchange.call.shows and is_cut(twin.text, text)):
        seen = f"the text `{quoted(twin.text)}` without `truncated` in the document, cut as the plain result shows"
        yield either("XMCP-RSP-082", twin.says_cut, seen, 'truncated="true" on `llm_output`')


@check("XMCP-RSP-020", "XMCP-RSP-024", "XMCP-MCP-020", profile="server")
def _same_text(exchange: Exchange, text: str) -> Observations:
    """Judge what was done to the text of a document, or to that of the plain result, where one is made of the other.

    Beside a display the two can say different things (XMCP-DSP-025).
    """
    twin = exchange.twin
    if twin is None or not twin.size or twin.text is None or exchange.call.shows or legal(text) != text:
        return  # what stands for code points that XML cannot carry is the subject of XMCP-RSP-026
    if change := change_between(text, twin.text):
        requirement = SENTENCES.get(change, "XMCP-RSP-020")
        yield broken(requirement, f"`{quoted(twin.text)}` in the document, {change}", f"`{quoted(text)}`, as plain")
    elif change := change_between(twin.text, text):
        yield broken("XMCP-MCP-020", f"the text `{quoted(text)}`, {change}", f"`{quoted(twin.text)}`, as in a document")


def _is_around(echo: str, declared: str, text: str) -> bool:
    """Return whether a text has what is before an echo in another one, or after it where nothing is before it."""
    before, _, after = (part.strip() for part in declared.partition(echo))
    return text.lstrip().startswith(before) if before else bool(after) and after[:_ENOUGH] in text


_ENOUGH: Final = 40


def _has_its_lines_elsewhere(echo: str, text: str) -> bool:
    """Return whether a text has all lines of an echo, in another order."""
    places = [text.find(line) for line in echo.splitlines() if line.strip()]
    return len(places) > 1 and min(places) >= 0 and places != sorted(places)


@check("XMCP-MCP-044", profile="server")
def _blocks_for_the_user(exchange: Exchange, result: Mapping[str, Any]) -> Observations:
    """Judge whether a client that declared the extension got what is for the user alone in the model's text.

    Where two answers of a tool differ, as they can, a text that is for the user alone in this one, and for the model in
    that one, is a leak all the same, unless it is too short to be recognized.
    """
    twin = exchange.twin
    if twin is None or twin.text is None:
        return
    declared, own = [*map(_words, (twin.text, *twin.earlier))], _words(_text(result))
    display = (result.get("_meta") or {}).get(DISPLAY_META_KEY)
    alt = display.get("alt") if isinstance(display, dict) else None
    for text, block in _blocks(result):
        words = _words(text)
        is_alternative = isinstance(alt, str) and alt.startswith(text)
        if _is_for_the_user(block) and len(words) >= _RECOGNIZED and words not in own and not is_alternative:
            seen = f"the text for the user `{quoted(text)}` in the text for the model of a client that declared"
            expected = "a block of its own, with its annotations"
            yield either("XMCP-MCP-044", not any(words in one for one in declared), seen, expected)


_RECOGNIZED = 7  # characters without spaces


def _words(text: str) -> str:
    return "".join(text.split())


@check("XMCP-MCP-048", profile="server")
def _told_what_was_filled_in(result: Mapping[str, Any], populated: Mapping[str, Any]) -> Observations:
    """Judge whether the model reads which parameters the server filled in, and their values."""
    said = "\n".join(text for text, block in _blocks(result) if _is_about_values(block))
    values = populated.get("values", {})
    missing = [
        f"`{quoted(part)}`" for part in untold([*values, *populated.get("redacted", ()), *values.values()], said)
    ]
    expected = f"a text block with `{POPULATED_META_KEY}`: true in its `_meta` and {', '.join(missing)} in its text"
    yield either("XMCP-MCP-048", not missing, f"the text `{quoted(said)}`", expected)


def _display(
    exchange: Exchange, result: Mapping[str, Any], meta: Mapping[str, Any], document: Document
) -> Iterator[Observation]:
    """Read the display into `document`, and judge the envelope and its place."""
    call = exchange.call
    in_place = DISPLAY_META_KEY in meta
    display = meta.get(DISPLAY_META_KEY)
    requested = call.shows and call.tool is not None and call.tool.displays and document.error is None
    if in_place:
        document.has_display, document.display = True, display
        yield from _display_place(None)
        yield from display_envelope.observations(display)
        yield from _alternative(result, display)
    elif requested:
        elsewhere = _elsewhere(result, meta)
        wrong_place = next((at for at, value in elsewhere if isinstance(value, dict) and _is_envelope(value)), None)
        document.has_display = wrong_place is not None
        if wrong_place is not None:
            yield from _display_place(wrong_place)


@check("XMCP-MCP-047", profile="server")
def _alternative(result: Mapping[str, Any], display: Any) -> Observations:
    """Judge whether a host without displays can show the person at least the `alt` of this one."""
    alt = display.get("alt") if isinstance(display, dict) else None
    alt = legal(alt) if isinstance(alt, str) else None
    if alt is not None and alt.strip() and alt[:500] not in legal(_text(result)):
        blocks = [legal(text) for text, block in _blocks(result) if _is_for_the_user(block)]
        shown = any(text.startswith(alt[:500]) for text in blocks)
        expected = f"a text block for the user alone with `{quoted(alt)}`"
        yield either("XMCP-MCP-047", shown, "no block for the user with the display's `alt`", expected)


@check("XMCP-MCP-021", profile="server")
def _display_place(wrong_place: str | None) -> Observations:
    """Judge where the display is; `wrong_place` describes a place other than the member of `_meta`, if there is one."""
    expected = f"a display as `{DISPLAY_META_KEY}` of `_meta`"
    yield either("XMCP-MCP-021", wrong_place is None, f"a display as {wrong_place}", expected)


def _is_envelope(value: Any) -> bool:
    return validator("display_envelope").is_valid(value)


def _elsewhere(result: Mapping[str, Any], meta: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield a description and the value of each other place where a server could have put a display."""
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
                value = from_json(text)  # the SDK limits the nesting of a message
            except ValueError:
                continue
            yield "the text of a block", value
