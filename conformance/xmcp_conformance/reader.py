"""The suite's own strict reader: text to a document, with an observation for each sentence that applied.

It stops at the first fault after which nothing more can be said, so that one fault breaks one requirement.
Built on lxml; the reference implementation reads with expat, and each keeps the other honest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from lxml import etree

from xmcp_models import DATA

from . import envelope, errors
from .jsontext import JsonFault, parse
from .markup import Kind, Token, tokens
from .observation import Observation, broken, either, obeyed, quoted

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REFERENCE = re.compile(r"&(?:#(?P<decimal>[0-9]+)|#x(?P<hex>[0-9a-fA-F]+)|(?P<name>lt|gt|amp|quot|apos));|&")
_PROTOCOL_TAG = re.compile(r"</?(?:tool_response|llm_output|display|error|meta)(?![\w.:-])", re.IGNORECASE)
_VERSION = re.compile(r"(?:0|[1-9][0-9]{0,3})\.(?:0|[1-9][0-9]{0,3})")
_TEXT_ELEMENTS = ("llm_output", "error")
_JSON_ELEMENTS = ("display", "meta")
_INERT = "`\\u003c`, `\\u003e`, `\\u0026`"
_FORMS = (("llm_output",), ("llm_output", "display"), ("display",), ("error",), ("error", "display"))
_ATTRIBUTES = {
    "tool_response": {"tool_name", "version", "call_id", "lossy"},
    "llm_output": {"format", "truncated", "lossy"},
    "display": {"lossy"},
    "error": {"code", "retryable", "retry_after_ms", "category", "lossy"},
    "meta": {"lossy"},
}


@dataclass(slots=True)
class Document:
    """What a document says. Absent parts are `None`, and so is what could not be made out; `lossy` names elements."""

    tool_name: str = ""
    version: str | None = "1.0"
    llm_output: str | None = None
    display: Any = None
    has_display: bool = False
    error: errors.ErrorElement | None = None
    lossy: frozenset[str] = frozenset()


@dataclass(slots=True)
class Reading:
    """A text that was read: the document where that was possible, and what was observed on the way.

    A document is one occasion for a sentence, however often it gives it: that also bounds what is kept of it.
    """

    document: Document | None = None
    observations: list[Observation] = field(default_factory=list)

    @property
    def faultless(self) -> bool:
        """True when nothing that was observed was broken."""
        return all(observation.ok for observation in self.observations)


_Seen = dict[tuple[str, bool], Observation]


def _note(seen: _Seen, observation: Observation) -> None:
    seen.setdefault((observation.requirement, observation.ok), observation)


class _Stop(Exception):
    """Nothing more can be said of this document."""


def looks_like_a_document(text: str) -> bool:
    """True when the text is an attempt at XML, so that its faults are chapter 2's and not "this is no document"."""
    return text.lstrip("\ufeff \t\r\n").startswith("<") and bool(re.search(r"<[A-Za-z_][^<>]*>", text))


def read(text: str) -> Reading:
    """Read one document.

    Args:
        text: what stands in the text block of a result.

    Returns:
        The reading; `document` is `None` where a fault made the content unreliable.
    """
    seen: _Seen = {}
    document = None
    with suppress(_Stop):
        document = _read(text, seen)
    return Reading(document, list(seen.values()))


def _read(text: str, seen: _Seen) -> Document:
    pieces = list(tokens(text))
    for step in (_prologue(text, pieces), _characters(text, pieces), _content(text, pieces)):
        for observation in step:
            _note(seen, observation)
            if not observation.ok and observation.requirement not in _SURVIVABLE:
                raise _Stop
    root = _parse(text, seen)
    document = Document()
    for step in (_structure(root, document), _validity(root, seen), _values(root, document)):
        for observation in step:
            _note(seen, observation)
    return document


# After these the rest of the document still means what it says.
_SURVIVABLE = frozenset({"XMCP-RSP-003", "XMCP-RSP-004", "XMCP-RSP-024", "XMCP-RSP-027"})


def _prologue(text: str, pieces: list[Token]) -> Iterator[Observation]:
    opening = "a byte order mark" if text.startswith("\ufeff") else ""
    if any(piece.kind is Kind.DECLARATION for piece in pieces):
        opening = "an XML declaration"
    yield either("XMCP-RSP-004", not opening, f"the document begins with {opening}", "nothing before the root element")
    doctype = next((piece for piece in pieces if piece.kind is Kind.DOCTYPE and not piece.inside), None)
    yield either(
        "XMCP-RSP-002",
        doctype is None,
        f"`{quoted(text[doctype.offset : doctype.offset + 80]) if doctype else ''}`",
        "no document type declaration",
    )
    odd = next(
        (p for p in pieces if p.kind in (Kind.COMMENT, Kind.INSTRUCTION) and p.inside not in _JSON_ELEMENTS), None
    )
    yield either(
        "XMCP-RSP-003",
        odd is None,
        f"the {odd.kind if odd else ''} `{quoted(odd.text) if odd else ''}`",
        "no comment and no processing instruction",
    )


def _characters(text: str, pieces: list[Token]) -> Iterator[Observation]:
    """Code points that XML 1.0 does not allow, raw or as references."""
    if match := _ILLEGAL.search(text):
        yield broken(
            "XMCP-RSP-025",
            f"U+{ord(match.group()):04X} raw, in `{quoted(text, match.start())}`",
            'U+FFFD in its place and lossy="true"',
        )
    for piece in pieces:
        if piece.kind in (Kind.TEXT, Kind.START, Kind.EMPTY):
            for match in _REFERENCE.finditer(piece.text):
                if not _is_legal(match):
                    yield broken(
                        "XMCP-RSP-025",
                        f"the reference `{quoted(match.group())}`",
                        'U+FFFD in its place and lossy="true"',
                    )
    yield obeyed("XMCP-RSP-025")


def _is_legal(reference: re.Match[str]) -> bool:
    """True unless it is a character reference to a code point that XML does not allow."""
    digits = reference["decimal"] or reference["hex"]
    if not digits:
        return True
    number = int(digits.lstrip("0")[:8] or "0", 16 if reference["hex"] else 10)
    return number <= 0x10FFFF and not _ILLEGAL.match(chr(number))


def _content(text: str, pieces: list[Token]) -> Iterator[Observation]:
    """How text was written: the faults that make a document unreadable, or read differently by different readers."""
    for piece in pieces:
        if piece.inside in _JSON_ELEMENTS:
            yield from _raw_json(piece)
            continue
        if piece.inside == "llm_output" and piece.kind in (Kind.START, Kind.EMPTY):
            yield broken("XMCP-RSP-021", f"`{quoted(piece.text)}` inside `llm_output`", "character data only")
        if piece.inside in _TEXT_ELEMENTS and piece.kind in (Kind.STRAY, Kind.DOCTYPE):
            yield broken("XMCP-RSP-022", f"a raw `<`, in `{quoted(text, piece.offset)}`", "`&lt;` or a CDATA section")
        if piece.inside in _TEXT_ELEMENTS and piece.kind is Kind.TEXT:
            yield from _text(piece)
        if piece.kind is Kind.CDATA:
            yield from _cdata(piece)
        if piece.kind is Kind.END and piece.name == "llm_output":
            yield obeyed("XMCP-RSP-021")


def _raw_json(piece: Token) -> Iterator[Observation]:
    """Markup inside `display` or `meta`: JSON that was not made inert, whether or not it happens to parse."""
    own_end = piece.kind is Kind.END and piece.name == piece.inside
    bare = piece.kind is Kind.TEXT and (
        "]]>" in piece.text or any(m[0] == "&" for m in _REFERENCE.finditer(piece.text))
    )
    if bare or not (own_end or piece.kind in (Kind.TEXT, Kind.CDATA)):
        yield broken("XMCP-RSP-042", f"in `{piece.inside}`: `{quoted(piece.text)}`", _INERT)


def _text(piece: Token) -> Iterator[Observation]:
    # White space at the ends of an error's message is none of its text (section 4.1).
    body = piece.text.strip(" \t\r\n") if piece.inside == "error" else piece.text
    if (at := piece.text.find("]]>")) >= 0:
        yield broken("XMCP-RSP-023", f"`]]>` raw in `{quoted(piece.text, at)}`", "`]]&gt;`")
    for match in _REFERENCE.finditer(piece.text):
        if match.group() == "&":
            yield broken(
                "XMCP-RSP-022",
                f"an `&` that begins no reference XML knows, in `{quoted(piece.text, match.start())}`",
                "`&amp;`",
            )
        elif match["name"] in ("lt", "amp"):
            yield obeyed("XMCP-RSP-022")
        elif match.group() in ("&#13;", "&#x0D;", "&#xD;", "&#x0d;", "&#xd;"):
            yield obeyed("XMCP-RSP-024")
    if "]]&gt;" in piece.text:
        yield obeyed("XMCP-RSP-023")
    if (at := body.find("\r")) >= 0:
        yield broken("XMCP-RSP-024", f"a raw carriage return in `{quoted(body, at)}`", "`&#13;`")


def _cdata(piece: Token) -> Iterator[Observation]:
    body = piece.text[len("<![CDATA[") : -len("]]>")]
    tag = _PROTOCOL_TAG.search(body)
    if tag:
        yield broken(
            "XMCP-RSP-027", f"`{quoted(tag.group())}` inside a CDATA section", "that text written with references"
        )
    elif "\r" in body:
        yield broken("XMCP-RSP-027", "a carriage return inside a CDATA section", "that text written with references")
    else:
        yield obeyed("XMCP-RSP-027")


def _parse(text: str, seen: _Seen) -> etree._Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
    body = re.sub(r"^\ufeff?\s*<\?xml[^>]*\?>", "", text.removeprefix("\ufeff"))
    try:
        root = etree.fromstring(body.encode("utf-8", "surrogatepass"), parser)
    except etree.XMLSyntaxError as error:
        line, column = error.position
        where = f"line {line}, column {column}: {quoted(error.msg or '')}"
        _note(seen, broken("XMCP-RSP-001", where, "well-formed XML 1.0"))
        raise _Stop from error
    _note(seen, obeyed("XMCP-RSP-001"))
    named = root.tag == "tool_response"
    _note(
        seen,
        either(
            "XMCP-RSP-005", named, f"the root element `{quoted(str(root.tag))}`", "`tool_response`, in no namespace"
        ),
    )
    if not named:
        raise _Stop
    return root


def _own(element: etree._Element) -> list[etree._Element]:
    """The child elements without a namespace; comments and instructions left out."""
    return [child for child in element if isinstance(child.tag, str) and not child.tag.startswith("{")]


def _attributes(element: etree._Element) -> dict[str, str]:
    return {str(name): str(value) for name, value in element.attrib.items()}


def _structure(root: etree._Element, document: Document) -> Iterator[Observation]:
    """Attributes, order of children, text between them; fills in what the attributes say."""
    children = _own(root)
    names = tuple(str(child.tag) for child in children)
    yield either(
        "XMCP-RSP-009",
        names in _FORMS,
        f"the children {', '.join(names) or '(none)'}",
        "llm_output | llm_output display | display | error | error display",
    )
    between = "".join([root.text or "", *[child.tail or "" for child in root]])
    yield either(
        "XMCP-RSP-010", not between.strip(" \t\r\n"), f"the text `{quoted(between.strip())}`", "white space only"
    )
    for element in (root, *children, *[meta for child in children for meta in _own(child)]):
        known = _ATTRIBUTES.get(str(element.tag), set())
        unknown = [str(name) for name in element.attrib if not str(name).startswith("{") and name not in known]
        yield either(
            "XMCP-RSP-011",
            not unknown,
            f"`{element.tag}` has the attribute `{quoted(unknown[0]) if unknown else ''}`",
            f"only {', '.join(sorted(known))}, or names in a namespace",
        )
    document.tool_name = root.get("tool_name", "")
    if not document.tool_name:
        yield broken("XMCP-RSP-007", "no `tool_name`, or an empty one", "the name by which the tool was called")
    if (version := root.get("version")) is not None:
        document.version = version if _VERSION.fullmatch(version) else None
        yield either("XMCP-RSP-008", document.version is not None, f"`{quoted(version)}`", "such as `1.0`")
    document.lossy = frozenset(str(e.tag) for e in root.iter("*") if (e.get("lossy") or "").strip() in ("true", "1"))
    for child in children:
        if child.tag == "error":
            yield from errors.attributes(_attributes(child))
            for meta in _own(child):
                after = (meta.tail or "").strip(" \t\r\n")
                yield either("XMCP-ERR-008", not after, f"`{quoted(after)}` after `meta`", "the message before it")


@cache
def _schema() -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(str(DATA / "tool_response.xsd")))


def _validity(root: etree._Element, seen: _Seen) -> Iterator[Observation]:
    """The schema, for the faults that no more particular sentence covers."""
    if not all(ok for requirement, ok in seen if requirement not in _SURVIVABLE):
        return
    try:
        _schema().assertValid(root)
    except etree.DocumentInvalid as fault:
        yield broken("XMCP-RSP-006", quoted(str(fault)), "a document that the XSD accepts")
    else:
        yield obeyed("XMCP-RSP-006")


def _text_of(element: etree._Element) -> str:
    """The character data of an element itself, whatever comments split it."""
    return "".join([element.text or "", *[child.tail or "" for child in element if not isinstance(child.tag, str)]])


def _values(root: etree._Element, document: Document) -> Iterator[Observation]:
    """What the leaves hold, and the JSON in them."""
    for child in _own(root):
        if child.tag == "llm_output" and document.llm_output is None:
            document.llm_output = _text_of(child)
        elif child.tag == "display" and not document.has_display:
            document.has_display = True
            document.display, observations = _json(child)
            yield from observations
            if _all_read(observations):
                yield from envelope.observations(document.display)
        elif child.tag == "error" and document.error is None:
            meta = next((inner for inner in _own(child) if inner.tag == "meta"), None)
            value: Any = None
            observations = []
            if meta is not None:
                value, observations = _json(meta)
                yield from observations
            document.error = errors.ErrorElement.of(
                _attributes(child),
                child.text or "",
                value,
                has_meta=meta is not None,
                meta_reads=_all_read(observations),
            )
            if document.error.meta_reads:
                yield from errors.observations(document.error)


def _all_read(observations: list[Observation]) -> bool:
    """True when the JSON means what it says, however it was written."""
    return all(observation.ok or observation.requirement == "XMCP-RSP-042" for observation in observations)


def _json(element: etree._Element) -> tuple[Any, list[Observation]]:
    """The JSON value of `display` or `meta`, with what its writing shows."""
    name, text = str(element.tag), _text_of(element)
    try:
        value, facts = parse(text)
    except JsonFault as fault:
        return None, [broken(fault.requirement, f"in `{name}`: {quoted(fault.seen)}", fault.expected)]
    observations = [obeyed("XMCP-RSP-040"), *[obeyed(requirement) for requirement in facts]]
    if bare := re.search(r"[<>&]", text):
        observations.append(broken("XMCP-RSP-042", f"in `{name}`: `{quoted(text, bare.start())}`", _INERT))
    elif re.search(r"\\u00(?:3[cCeE]|26)", text):
        observations.append(obeyed("XMCP-RSP-042"))
    return value, observations
