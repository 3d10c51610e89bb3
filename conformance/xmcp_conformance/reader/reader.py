"""The suite's own strict reader: text to a document, with an observation for each sentence that applied.

It stops at the first fault after which nothing more can be said, so that one fault breaks one requirement.
Built on lxml; the reference implementation reads with expat, and each keeps the other honest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from typing import Any

from lxml import etree

from xmcp_conformance.core.observation import Observation, Path, Place, broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_models import DATA

from . import envelope, errors
from . import server_populated as populated
from .jsontext import DEEPEST, JsonFault, locate, parse
from .markup import REFERENCE, Kind, Token, attributes, cdata, character, code_point
from .places import Lines
from .source import Source
from .wellformed import first_fault

MOST_BYTES = 8 * 1024 * 1024
MOST_ELEMENTS = 256
DEEPEST_ELEMENT = 64
MOST_ATTRIBUTES = 256
LONGEST_ATTRIBUTE = 4096
LONGEST_TAG = 65_536
"""The sizes of section 2.6; those of an attribute and a tag are in bytes of UTF-8."""

# How far this reader goes itself; beyond it says no more than that.
_ELEMENTS_READ = 10_000
_DEPTH_READ = 1_000

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PROTOCOL_TAG = re.compile(
    r"</?(?:tool_response|llm_output|display|error|meta|server_populated)(?![\w.:-])", re.IGNORECASE
)
_VERSION = re.compile(r"(?:0|[1-9][0-9]{0,3})\.(?:0|[1-9][0-9]{0,3})")
_SPACE = " \t\r\n"
_TEXT_ELEMENTS = ("llm_output", "error")
_JSON_ELEMENTS = ("display", "meta", "server_populated")
_INERT = "`\\u003c`, `\\u003e`, `\\u0026`"
_CHANNELS = (("llm_output",), ("llm_output", "display"), ("display",), ("error",), ("error", "display"))
_FORMS = (*_CHANNELS, *((*form, "server_populated") for form in _CHANNELS))
_TAGS = (Kind.START, Kind.EMPTY)
_NAMESPACES_WITH_A_MEANING = {
    "",  # none
    "http://www.w3.org/XML/1998/namespace",
    "http://www.w3.org/2000/xmlns/",
    "http://www.w3.org/2001/XMLSchema-instance",
}
_ATTRIBUTES = {
    "tool_response": {"tool_name", "version", "call_id", "lossy"},
    "llm_output": {"format", "truncated", "lossy"},
    "display": {"lossy"},
    "error": {"code", "retryable", "retry_after_ms", "category", "lossy"},
    "meta": {"lossy"},
    "server_populated": {"lossy"},
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
    server_populated: Any = None
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


def read(text: str, lines: Lines | None = None) -> Reading:
    """Read one document.

    Args:
        text: what stands in the text block of a result.
        lines: its lines, for a caller who goes on to show what stands at a place.

    Returns:
        The reading; `document` is `None` where a fault made the content unreliable.
    """
    seen: _Seen = {}
    document = None
    with suppress(_Stop):
        document = _read(Source(text, lines or Lines(text), _ELEMENTS_READ), seen)
    return Reading(document, list(seen.values()))


def _read(source: Source, seen: _Seen) -> Document:
    if source.elements > _ELEMENTS_READ or source.depth > _DEPTH_READ:
        _note(seen, next(o for o in _sizes(source) if not o.ok))
        raise _Stop
    for step in (_prologue(source), _characters(source), _content(source)):
        for observation in step:
            _note(seen, observation)
            if not observation.ok and observation.requirement not in _SURVIVABLE:
                raise _Stop
    root = _parse(source, seen)
    document = Document()
    for step in (
        _sizes(source),
        _attribute_values(source),
        _structure(root, document, source),
        _validity(root, source, seen),
        _values(root, document, source, seen),
    ):
        for observation in step:
            _note(seen, observation)
    return document


# After these the rest of the document still means what it says.
_SURVIVABLE = frozenset(
    {"XMCP-RSP-003", "XMCP-RSP-004", "XMCP-RSP-024", "XMCP-RSP-027", "XMCP-RSP-028", "XMCP-RSP-081"}
)


def _prologue(source: Source) -> Iterator[Observation]:
    text, pieces = source.text, source.pieces
    opening = "a byte order mark" if text.startswith("\ufeff") else ""
    if any(piece.kind is Kind.DECLARATION for piece in pieces):
        opening = "an XML declaration"
    yield either(
        "XMCP-RSP-004",
        not opening,
        f"the document begins with {opening}",
        "nothing before the root element",
        where=source.place(0),
    )
    doctype = next((piece for piece in pieces if piece.kind is Kind.DOCTYPE and not piece.inside), None)
    yield either(
        "XMCP-RSP-002",
        doctype is None,
        f"`{quoted(text[doctype.offset : doctype.offset + 80]) if doctype else ''}`",
        "no document type declaration",
        where=_at(source, doctype),
    )
    odd = next(
        (p for p in pieces if p.kind in (Kind.COMMENT, Kind.INSTRUCTION) and p.inside not in _JSON_ELEMENTS), None
    )
    yield either(
        "XMCP-RSP-003",
        odd is None,
        f"the {odd.kind if odd else ''} `{quoted(odd.text) if odd else ''}`",
        "no comment and no processing instruction",
        where=_at(source, odd),
    )


def _at(source: Source, piece: Token | None) -> Place | None:
    return source.place(piece.offset) if piece else None


def _characters(source: Source) -> Iterator[Observation]:
    """Code points that XML 1.0 does not allow, raw or as references."""
    expected = 'U+FFFD in its place and lossy="true"'
    if match := _ILLEGAL.search(source.text):
        seen = f"U+{ord(match.group()):04X} raw, in `{quoted(source.text, match.start())}`"
        yield broken("XMCP-RSP-025", seen, expected, where=source.place(match.start()))
    for piece in source.pieces:
        if piece.kind in (Kind.TEXT, Kind.START, Kind.EMPTY):
            for match in REFERENCE.finditer(piece.text):
                if not _is_legal(match):
                    place = source.place(piece.offset + match.start())
                    yield broken("XMCP-RSP-025", f"the reference `{quoted(match.group())}`", expected, where=place)
    yield obeyed("XMCP-RSP-025")


def _is_legal(reference: re.Match[str]) -> bool:
    """True unless it is a character reference to a code point that XML does not allow."""
    number = code_point(reference)
    return number is None or (number <= 0x10FFFF and not _ILLEGAL.match(chr(number)))


def _content(source: Source) -> Iterator[Observation]:
    """How text was written: the faults that make a document unreadable, or read differently by different readers."""
    for piece in source.pieces:
        if piece.inside in _JSON_ELEMENTS:
            yield from _raw_json(piece, source)
            continue
        if piece.inside == "llm_output" and piece.kind in (Kind.START, Kind.EMPTY):
            seen = f"`{quoted(piece.text)}` inside `llm_output`"
            yield broken("XMCP-RSP-021", seen, "character data only", where=source.place(piece.offset))
        if piece.inside in _TEXT_ELEMENTS and piece.kind in (Kind.STRAY, Kind.DOCTYPE):
            seen = f"a raw `<`, in `{quoted(source.text, piece.offset)}`"
            yield broken("XMCP-RSP-022", seen, "`&lt;` or a CDATA section", where=source.place(piece.offset))
        if piece.inside in _TEXT_ELEMENTS and piece.kind is Kind.TEXT:
            yield from _text(piece, source)
        if piece.kind is Kind.END and piece.name == "llm_output":
            yield obeyed("XMCP-RSP-021")
    yield from _cdata(source)


def _raw_json(piece: Token, source: Source) -> Iterator[Observation]:
    """Markup inside JSON: JSON that was not made inert, whether or not it happens to parse."""
    at = None
    if piece.kind is Kind.TEXT:
        at = _first(piece.text.find("]]>"), *islice(_bare(piece.text), 1))
    elif not (piece.kind is Kind.CDATA or (piece.kind is Kind.END and piece.name == piece.inside)):
        at = 0
    if at is not None:
        seen = f"in `{piece.inside}`: `{quoted(piece.text, at)}`"
        yield broken("XMCP-RSP-042", seen, _INERT, where=source.place(piece.offset + at))


def _bare(text: str) -> Iterator[int]:
    """Every `&` that begins no reference XML knows."""
    return (match.start() for match in REFERENCE.finditer(text) if match.group() == "&")


def _first(*indexes: int) -> int | None:
    return min((index for index in indexes if index >= 0), default=None)


def _text(piece: Token, source: Source) -> Iterator[Observation]:
    if (at := piece.text.find("]]>")) >= 0:
        seen = f"`]]>` raw in `{quoted(piece.text, at)}`"
        yield broken("XMCP-RSP-023", seen, "`]]&gt;`", where=source.place(piece.offset + at))
    if (amp := _first(*islice(_bare(piece.text), 1))) is not None:
        seen = f"an `&` that begins no reference XML knows, in `{quoted(piece.text, amp)}`"
        yield broken("XMCP-RSP-022", seen, "`&amp;`", where=source.place(piece.offset + amp))
    if re.search("&(?:lt|amp);", piece.text):
        yield obeyed("XMCP-RSP-022")
    if re.search("&#(?:13|x0?[dD]);", piece.text):
        yield obeyed("XMCP-RSP-024")
    if "]]&gt;" in piece.text:
        yield obeyed("XMCP-RSP-023")
    # White space at the ends of an error's message is none of its text (section 4.1).
    begin = len(piece.text) - len(piece.text.lstrip(_SPACE)) if piece.inside == "error" else 0
    end = len(piece.text.rstrip(_SPACE)) if piece.inside == "error" else len(piece.text)
    if (at := piece.text.find("\r", begin, end)) >= 0:
        seen = f"a raw carriage return in `{quoted(piece.text, at)}`"
        yield broken("XMCP-RSP-024", seen, "`&#13;`", where=source.place(piece.offset + at))


def _cdata(source: Source) -> Iterator[Observation]:
    """Once for all the sections that are not JSON: the first that is wrong."""
    sections = [piece for piece in source.pieces if piece.kind is Kind.CDATA and piece.inside not in _JSON_ELEMENTS]
    for piece in sections:
        body = cdata(piece)
        tag = _PROTOCOL_TAG.search(body)
        at = tag.start() if tag else body.find("\r")
        if at >= 0:
            seen = f"`{quoted(tag.group())}`" if tag else "a carriage return"
            place = source.place(piece.offset + piece.text.index(body) + at)
            expected = "that text written with references"
            yield broken("XMCP-RSP-027", f"{seen} inside a CDATA section", expected, where=place)
            return
    if sections:
        yield obeyed("XMCP-RSP-027")


def _parse(source: Source, seen: _Seen) -> etree._Element:
    try:
        root = _root(source)
    except etree.XMLSyntaxError as error:
        offset = first_fault(source.pieces)
        place = source.place(offset) if offset is not None else Place(*error.position)
        message = re.sub(r", line \d+, column \d+$", "", error.msg or "")
        where = f"line {place.line}, column {place.column}: {quoted(message)}"
        _note(seen, broken("XMCP-RSP-001", where, "well-formed XML 1.0", where=place))
        raise _Stop from error
    source.bind(root)
    _note(seen, obeyed("XMCP-RSP-001"))
    named = root.tag == "tool_response"
    _note(
        seen,
        either(
            "XMCP-RSP-005",
            named,
            f"the root element `{quoted(str(root.tag))}`",
            "`tool_response`, in no namespace",
            where=source.of(root),
        ),
    )
    if not named:
        raise _Stop
    return root


def _root(source: Source) -> etree._Element:
    """What the parser makes of the text.

    Raises:
        etree.XMLSyntaxError: it is not well-formed, or its namespaces are not.
    """
    try:
        return _parsed(source.text)
    except etree.XMLSyntaxError as error:
        # The parser also wants each namespace name to be a URI by the letter, which well-formed names need not be.
        entries = iter(error.error_log)  # type: ignore[call-overload] # the stubs do not know that it can be iterated
        if all(entry.type != etree.ErrorTypes.WAR_NS_URI for entry in entries):
            raise
        return _parsed(_with_uris(source))


def _parsed(text: str) -> etree._Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
    # Without the declaration, so that what it says is no matter; the rest keeps its lines and columns.
    body = re.sub(r"^\s*<\?xml[^>]*\?>", _blank, text.removeprefix("\ufeff"))
    return etree.fromstring(body.encode("utf-8", "surrogatepass"), parser)


def _with_uris(source: Source) -> str:
    """The text with a URI in place of each namespace name, equal where the names are; faults stay as they are."""
    parts, end = [], 0
    for attribute in (found for piece in source.pieces if piece.kind in _TAGS for found in attributes(piece)):
        name = re.sub("[\t\r\n]", " ", re.sub("\r\n", "\n", attribute.raw))
        declares = attribute.name == "xmlns" or attribute.name.startswith("xmlns:")
        if declares and "<" not in name and next(_bare(name), None) is None:
            name = REFERENCE.sub(character, name)
            if name not in _NAMESPACES_WITH_A_MEANING:
                begin = source.text.index(attribute.raw, attribute.offset + len(attribute.name))
                parts += [source.text[end:begin], "urn:x:", name.encode("utf-8", "surrogatepass").hex()]
                end = begin + len(attribute.raw)
    return "".join([*parts, source.text[end:]])


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\r\n]", " ", match.group())


def _sizes(source: Source) -> Iterator[Observation]:
    """What section 2.6 says of the document itself; the JSON in it is measured where it is read."""
    expected = "a document within the sizes of section 2.6"
    if source.size > MOST_BYTES:
        offset = len(source.text.encode("utf-8", "surrogatepass")[:MOST_BYTES].decode("utf-8", "ignore"))
        seen = f"a document of {source.size:,} bytes"
        yield broken("XMCP-RSP-081", seen, f"at most {MOST_BYTES:,}", where=source.place(offset))
    count = depth = written = 0
    for piece in source.pieces:
        if piece.kind is Kind.END:
            depth -= 1
        if piece.kind not in (Kind.START, Kind.EMPTY):
            continue
        count += 1
        if count > MOST_ELEMENTS:
            seen = f"an element more than {MOST_ELEMENTS}"
            yield broken("XMCP-RSP-081", seen, expected, where=source.place(piece.offset))
        if depth + 1 > DEEPEST_ELEMENT:
            seen = f"elements nested {depth + 1} deep"
            yield broken("XMCP-RSP-081", seen, f"at most {DEEPEST_ELEMENT}", where=source.place(piece.offset))
        depth += piece.kind is Kind.START
        if (size := len(piece.text.encode("utf-8", "surrogatepass"))) > LONGEST_TAG:
            seen = f"a tag of {size:,} bytes"
            yield broken("XMCP-RSP-081", seen, f"at most {LONGEST_TAG:,}", where=source.place(piece.offset))
        for attribute in attributes(piece):
            written += 1
            if written > MOST_ATTRIBUTES:
                seen, place = f"an attribute more than {MOST_ATTRIBUTES}", source.place(attribute.offset)
                yield broken("XMCP-RSP-081", seen, expected, where=place)
            if (size := len(attribute.value.encode("utf-8", "surrogatepass"))) > LONGEST_ATTRIBUTE:
                seen = f"the attribute `{quoted(attribute.name)}` with {size:,} bytes"
                place = source.place(attribute.offset)
                yield broken("XMCP-RSP-081", seen, f"at most {LONGEST_ATTRIBUTE:,}", where=place)
    yield obeyed("XMCP-RSP-081")


def _attribute_values(source: Source) -> Iterator[Observation]:
    """White space that a parser would change."""
    for piece in source.pieces:
        if piece.kind not in (Kind.START, Kind.EMPTY):
            continue
        for attribute in attributes(piece):
            if raw := re.search("[\t\n\r]", attribute.raw):
                seen = f"the attribute `{quoted(attribute.name)}` has {raw.group()!r} as it is"
                yield broken("XMCP-RSP-028", seen, f"`&#{ord(raw.group())};`", where=source.place(attribute.offset))
            elif any(code_point(match) in (9, 10, 13) for match in REFERENCE.finditer(attribute.raw)):
                yield obeyed("XMCP-RSP-028")


def _own(element: etree._Element) -> list[etree._Element]:
    """The child elements without a namespace; comments and instructions left out."""
    return [child for child in element if isinstance(child.tag, str) and not child.tag.startswith("{")]


def _attributes(element: etree._Element) -> dict[str, str]:
    return {str(name): str(value) for name, value in element.attrib.items()}


def _structure(root: etree._Element, document: Document, source: Source) -> Iterator[Observation]:
    """Attributes, order of children, text between them; fills in what the attributes say."""
    children = _own(root)
    names = tuple(str(child.tag) for child in children)
    odd = next((i for i in range(len(names)) if not any(form[: i + 1] == names[: i + 1] for form in _FORMS)), None)
    yield either(
        "XMCP-RSP-009",
        names in _FORMS,
        f"the children {quoted(', '.join(names)) or '(none)'}",
        f"{' | '.join(' '.join(form) for form in _CHANNELS)}, then at most `server_populated`",
        where=source.of(root if odd is None else children[odd]),
    )
    between = "".join([root.text or "", *[child.tail or "" for child in root]])
    stray = between.lstrip(_SPACE)
    yield either(
        "XMCP-RSP-010",
        not stray,
        f"the text `{quoted(stray.rstrip(_SPACE))}`",
        "white space only",
        where=source.place(source.content(root).offset(len(between) - len(stray))) if stray else None,
    )
    for element in (root, *children, *[meta for child in children for meta in _own(child)]):
        known = _ATTRIBUTES.get(str(element.tag), set())
        unknown = [str(name) for name in element.attrib if not str(name).startswith("{") and name not in known]
        yield either(
            "XMCP-RSP-011",
            not unknown,
            f"`{element.tag}` has the attribute `{quoted(unknown[0]) if unknown else ''}`",
            f"only {', '.join(sorted(known))}, or names in a namespace",
            where=source.of_attribute(element, unknown[0]) if unknown else None,
        )
    document.tool_name = root.get("tool_name", "")
    if not document.tool_name:
        yield broken(
            "XMCP-RSP-007",
            "no `tool_name`, or an empty one",
            "the name by which the tool was called",
            where=source.of_attribute(root, "tool_name"),
        )
    if (version := root.get("version")) is not None:
        document.version = version if _VERSION.fullmatch(version) else None
        yield either(
            "XMCP-RSP-008",
            document.version is not None,
            f"`{quoted(version)}`",
            "such as `1.0`",
            where=source.of_attribute(root, "version"),
        )
    document.lossy = frozenset(str(e.tag) for e in root.iter("*") if (e.get("lossy") or "").strip() in ("true", "1"))
    for child in children:
        if child.tag == "error":
            for observation in errors.attributes(_attributes(child)):
                yield replace(observation, where=_of_error(observation.path, child, source))
            for meta in _own(child):
                after = (meta.tail or "").strip(_SPACE)
                content = source.content(child)
                yield either(
                    "XMCP-ERR-008",
                    not after,
                    f"`{quoted(after)}` after `meta`",
                    "the message before it",
                    where=source.place(content.offset(content.text.rfind(after))),
                )


@cache
def _schema() -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(str(DATA / "tool_response.xsd")))


def _validity(root: etree._Element, source: Source, seen: _Seen) -> Iterator[Observation]:
    """The schema, for the faults that no more particular sentence covers."""
    if not all(ok for requirement, ok in seen if requirement not in _SURVIVABLE):
        return
    schema = _schema()
    if schema.validate(root):
        yield obeyed("XMCP-RSP-006")
        return
    fault = next(iter(schema.error_log))  # type: ignore[call-overload] # the stubs do not know that it can be iterated
    path_of = root.getroottree().getpath
    element = next((item for item in root.iter() if path_of(item) == fault.path), root)
    attribute = re.search(r"attribute '([^']+)'", fault.message)
    place = source.of_attribute(element, attribute[1]) if attribute else source.of(element)
    yield broken("XMCP-RSP-006", quoted(fault.message), "a document that the XSD accepts", where=place)


def _text_of(element: etree._Element) -> str:
    """The character data of an element itself, whatever comments split it."""
    return "".join([element.text or "", *[child.tail or "" for child in element if not isinstance(child.tag, str)]])


def _values(root: etree._Element, document: Document, source: Source, seen: _Seen) -> Iterator[Observation]:
    """What the leaves hold, and the JSON in them."""
    for child in _own(root):
        if child.tag == "llm_output" and document.llm_output is None:
            document.llm_output = _text_of(child)
        elif child.tag == "display" and not document.has_display:
            document.has_display = True
            document.display = yield from _judged(child, source, seen, envelope.observations)
        elif child.tag == "server_populated" and document.server_populated is None:
            document.server_populated = yield from _judged(child, source, seen, populated.observations)
        elif child.tag == "error" and document.error is None:
            yield from _error(child, document, source, seen)


def _judged(
    element: etree._Element, source: Source, seen: _Seen, check: Callable[[Any], Iterator[Observation]]
) -> Generator[Observation, None, Any]:
    """The JSON value in an element, once its writing and then the value itself were observed."""
    value, observations = _json(element, source)
    yield from observations
    if _all_read(observations):
        yield from _placed(check(value), seen, lambda path: _in_json(path, element, source))
    return value


def _error(child: etree._Element, document: Document, source: Source, seen: _Seen) -> Iterator[Observation]:
    meta = next((inner for inner in _own(child) if inner.tag == "meta"), None)
    value: Any = None
    observations: list[Observation] = []
    if meta is not None:
        value, observations = _json(meta, source)
        yield from observations
    error = document.error = errors.ErrorElement.of(
        _attributes(child),
        child.text or "",
        value,
        has_meta=meta is not None,
        meta_reads=_all_read(observations),
    )
    if error.meta_reads:
        yield from _placed(errors.observations(error), seen, lambda path: _of_error(path, child, source))


def _placed(observations: Iterable[Observation], seen: _Seen, place: Callable[[Path], Place]) -> Iterator[Observation]:
    """The observations with a place for each fault that was not seen before: to find one reads the JSON again."""
    for observation in observations:
        if observation.ok or (observation.requirement, False) in seen:
            yield observation
        else:
            yield replace(observation, where=place(observation.path or ()))


def _of_error(path: Path | None, element: etree._Element, source: Source) -> Place:
    """The place of what `errors` names by a path."""
    head, *rest = path or ("",)
    meta = next((inner for inner in _own(element) if inner.tag == "meta"), None)
    if head == "meta" and meta is not None:
        return _in_json(tuple(rest), meta, source)
    if head == "message":
        text = element.text or ""
        return source.place(source.content(element).offset(len(text) - len(text.lstrip(_SPACE)) + int(rest[0])))
    return source.of_attribute(element, str(head))


def _in_json(path: Path, element: etree._Element, source: Source) -> Place:
    """The place of a value inside the JSON of an element."""
    content = source.content(element)
    return source.place(content.offset(locate(content.text, path)))


def _all_read(observations: list[Observation]) -> bool:
    """True when the JSON means what it says, however it was written."""
    return all(observation.ok or observation.requirement in _READABLE for observation in observations)


_READABLE = frozenset({"XMCP-RSP-042", "XMCP-RSP-081"})


def _json(element: etree._Element, source: Source) -> tuple[Any, list[Observation]]:
    """The JSON value in an element, with what its writing shows."""
    name, text, content = str(element.tag), _text_of(element), source.content(element)
    try:
        json = parse(text)
    except JsonFault as fault:
        place = source.place(content.offset(fault.at))
        return None, [broken(fault.requirement, f"in `{name}`: {fault.seen}", fault.expected, where=place)]
    observations = [obeyed("XMCP-RSP-040"), *[obeyed(requirement) for requirement in json.met]]
    if json.too_deep is not None:
        place = source.place(content.offset(json.too_deep))
        seen = f"in `{name}`: JSON nested more than {DEEPEST} deep"
        observations.append(broken("XMCP-RSP-081", seen, f"at most {DEEPEST}", where=place))
    if bare := re.search(r"[<>&]", text):
        place = source.place(content.offset(bare.start()))
        seen = f"in `{name}`: `{quoted(text, bare.start())}`"
        observations.append(broken("XMCP-RSP-042", seen, _INERT, where=place))
    elif re.search(r"\\u00(?:3[cCeE]|26)", text):
        observations.append(obeyed("XMCP-RSP-042"))
    return json.value, observations
