"""The strict reader of the suite: from text to a document, with an observation of each requirement that applied.

It stops at the first fault after which nothing more can be said, so that one fault breaks one requirement. It is built
on lxml; the reference implementation reads with expat, so that the two check each other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

from lxml import etree

from xmcp_conformance.core.checks import OF_DOCUMENTS, Observations, check
from xmcp_conformance.core.observation import Observation, Path, Place, broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_models import DATA

from . import envelope, errors, server_populated
from .document import Document, Reading
from .json_content import character_data, is_readable, json_of, place_in_json
from .markup_checks import attribute_space, code_points, content, prologue, sizes
from .source import Source
from .source_positions import Lines
from .wellformed import first_fault
from .xml_parser import root_of

# How far this reader reads a document that exceeds the sizes of section 2.6; beyond, that is all it reports.
_ELEMENTS_READ = 10_000
_DEPTH_READ = 1_000

_VERSION = re.compile(r"(?:0|[1-9][0-9]{0,3})\.(?:0|[1-9][0-9]{0,3})")
_SPACE = " \t\r\n"
_CHANNELS = (("llm_output",), ("llm_output", "display"), ("display",), ("error",), ("error", "display"))
_FORMS = (*_CHANNELS, *((*form, "server_populated") for form in _CHANNELS))
_ATTRIBUTES = {
    "tool_response": {"tool_name", "version", "call_id", "lossy"},
    "llm_output": {"format", "truncated", "lossy"},
    "display": {"lossy"},
    "error": {"code", "retryable", "retry_after_ms", "category", "lossy"},
    "meta": {"lossy"},
    "server_populated": {"lossy"},
}
# After these faults the rest of the document still means what it says.
_SURVIVABLE = frozenset(
    {"XMCP-RSP-003", "XMCP-RSP-004", "XMCP-RSP-024", "XMCP-RSP-027", "XMCP-RSP-028", "XMCP-RSP-081"}
)

_Seen = dict[tuple[str, bool], Observation]


def _note(seen: _Seen, observation: Observation) -> None:
    """Keep the first observation of each requirement, and the first fault."""
    seen.setdefault((observation.requirement, observation.ok), observation)


class _Stop(Exception):
    """Nothing more can be said of this document."""


def looks_like_a_document(text: str) -> bool:
    """Return whether a text is an attempt at XML: then its faults are faults of a document, and not of the answer."""
    return text.lstrip("\ufeff \t\r\n").startswith("<") and bool(re.search(r"<[A-Za-z_][^<>]*>", text))


def read(text: str, lines: Lines | None = None) -> Reading:
    """Read one document.

    Args:
        text: the text, such as that of the text block of a result.
        lines: its lines, for a caller that will show what is at a place.

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
        _note(seen, next(o for o in sizes(source) if not o.ok))
        raise _Stop
    for step in (prologue(source), code_points(source), content(source)):
        for observation in step:
            _note(seen, observation)
            if not observation.ok and observation.requirement not in _SURVIVABLE:
                raise _Stop
    root = _parse(source, seen)
    document = Document()
    for step in (
        sizes(source),
        attribute_space(source),
        _structure(root, document, source),
        _validity(root, source, seen),
        _values(root, document, source, seen),
    ):
        for observation in step:
            _note(seen, observation)
    return document


def _parse(source: Source, seen: _Seen) -> etree._Element:
    try:
        root = root_of(source)
    except etree.XMLSyntaxError as error:
        _note(seen, next(_well_formed(source, error)))
        raise _Stop from error
    source.bind(root)
    _note(seen, next(_well_formed(source, None)))
    named = next(_root_name(root, source))
    _note(seen, named)
    if not named.ok:
        raise _Stop
    return root


@check("XMCP-RSP-001", profile=OF_DOCUMENTS)
def _well_formed(source: Source, error: etree.XMLSyntaxError | None) -> Observations:
    if error is None:
        yield obeyed("XMCP-RSP-001")
        return
    offset = first_fault(source.tokens)
    place = source.place(offset) if offset is not None else Place(*error.position)
    message = re.sub(r", line \d+, column \d+$", "", error.msg or "")
    seen = f"line {place.line}, column {place.column}: {quoted(message)}"
    yield broken("XMCP-RSP-001", seen, "well-formed XML 1.0", where=place)


@check("XMCP-RSP-005", profile=OF_DOCUMENTS)
def _root_name(root: etree._Element, source: Source) -> Observations:
    seen = f"the root element `{quoted(str(root.tag))}`"
    named = root.tag == "tool_response"
    yield either("XMCP-RSP-005", named, seen, "`tool_response`, in no namespace", where=source.of(root))


def _own(element: etree._Element) -> list[etree._Element]:
    """Return the child elements without a namespace; comments and processing instructions are left out."""
    return [child for child in element if isinstance(child.tag, str) and not child.tag.startswith("{")]


def _attributes(element: etree._Element) -> dict[str, str]:
    return {str(name): str(value) for name, value in element.attrib.items()}


def _structure(root: etree._Element, document: Document, source: Source) -> Iterator[Observation]:
    """Judge the elements and attributes, and set in the document what the attributes say."""
    children = _own(root)
    yield from _children(root, children, source)
    yield from _text_between(root, source)
    for element in (root, *children, *[meta for child in children for meta in _own(child)]):
        yield from _known_attributes(element, source)
    document.tool_name = root.get("tool_name", "")
    yield from _tool_name(document.tool_name, root, source)
    if (version := root.get("version")) is not None:
        document.version = version if _VERSION.fullmatch(version) else None
        yield from _version(version, root, source)
    document.lossy = frozenset(str(e.tag) for e in root.iter("*") if (e.get("lossy") or "").strip() in ("true", "1"))
    for child in children:
        if child.tag == "error":
            for observation in errors.attributes(_attributes(child)):
                yield replace(observation, where=_place_in_error(observation.path, child, source))
            yield from _text_after_meta(child, source)


@check("XMCP-RSP-009", profile=OF_DOCUMENTS)
def _children(root: etree._Element, children: list[etree._Element], source: Source) -> Observations:
    names = tuple(str(child.tag) for child in children)
    odd = next((i for i in range(len(names)) if not any(form[: i + 1] == names[: i + 1] for form in _FORMS)), None)
    yield either(
        "XMCP-RSP-009",
        names in _FORMS,
        f"the children {quoted(', '.join(names)) or '(none)'}",
        f"{' | '.join(' '.join(form) for form in _CHANNELS)}, then at most `server_populated`",
        where=source.of(root if odd is None else children[odd]),
    )


@check("XMCP-RSP-010", profile=OF_DOCUMENTS)
def _text_between(root: etree._Element, source: Source) -> Observations:
    between = "".join([root.text or "", *[child.tail or "" for child in root]])
    stray = between.lstrip(_SPACE)
    yield either(
        "XMCP-RSP-010",
        not stray,
        f"the text `{quoted(stray.rstrip(_SPACE))}`",
        "white space only",
        where=source.place(source.content(root).offset(len(between) - len(stray))) if stray else None,
    )


@check("XMCP-RSP-011", profile=OF_DOCUMENTS)
def _known_attributes(element: etree._Element, source: Source) -> Observations:
    known = _ATTRIBUTES.get(str(element.tag), set())
    unknown = [str(name) for name in element.attrib if not str(name).startswith("{") and name not in known]
    yield either(
        "XMCP-RSP-011",
        not unknown,
        f"`{element.tag}` has the attribute `{quoted(unknown[0]) if unknown else ''}`",
        f"only {', '.join(sorted(known))}, or names in a namespace",
        where=source.of_attribute(element, unknown[0]) if unknown else None,
    )


@check("XMCP-RSP-007", profile=OF_DOCUMENTS)
def _tool_name(name: str, root: etree._Element, source: Source) -> Observations:
    if not name:
        seen, expected = "no `tool_name`, or an empty one", "the name by which the tool was called"
        yield broken("XMCP-RSP-007", seen, expected, where=source.of_attribute(root, "tool_name"))


@check("XMCP-RSP-008", profile=OF_DOCUMENTS)
def _version(version: str, root: etree._Element, source: Source) -> Observations:
    legal = bool(_VERSION.fullmatch(version))
    place = source.of_attribute(root, "version")
    yield either("XMCP-RSP-008", legal, f"`{quoted(version)}`", "such as `1.0`", where=place)


@check("XMCP-ERR-008", profile=OF_DOCUMENTS)
def _text_after_meta(error: etree._Element, source: Source) -> Observations:
    for meta in _own(error):
        after = (meta.tail or "").strip(_SPACE)
        text = source.content(error)
        place = source.place(text.offset(text.text.rfind(after)))
        yield either("XMCP-ERR-008", not after, f"`{quoted(after)}` after `meta`", "the message before it", where=place)


@cache
def _schema() -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(str(DATA / "tool_response.xsd")))


@check("XMCP-RSP-006", profile=OF_DOCUMENTS)
def _validity(root: etree._Element, source: Source, seen: _Seen) -> Observations:
    """Judge by the XSD, for faults that no more specific requirement covers: only where there is no other fault."""
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


def _values(root: etree._Element, document: Document, source: Source, seen: _Seen) -> Iterator[Observation]:
    """Judge the text and the JSON in the elements, and set both in the document."""
    for child in _own(root):
        if child.tag == "llm_output" and document.llm_output is None:
            document.llm_output = character_data(child)
        elif child.tag == "display" and not document.has_display:
            document.has_display = True
            document.display = yield from _json_value(child, source, seen, envelope.observations)
        elif child.tag == "server_populated" and document.server_populated is None:
            document.server_populated = yield from _json_value(child, source, seen, server_populated.observations)
        elif child.tag == "error" and document.error is None:
            yield from _error(child, document, source, seen)


def _json_value(
    element: etree._Element, source: Source, seen: _Seen, judge_value: Callable[[Any], Iterator[Observation]]
) -> Generator[Observation, None, Any]:
    """Judge the JSON in an element, first its text and then its value; return the value."""
    value, observations = json_of(element, source)
    yield from observations
    if is_readable(observations):
        yield from _placed(judge_value(value), seen, lambda path: place_in_json(path, element, source))
    return value


def _error(child: etree._Element, document: Document, source: Source, seen: _Seen) -> Iterator[Observation]:
    meta = next((inner for inner in _own(child) if inner.tag == "meta"), None)
    value: Any = None
    observations: list[Observation] = []
    if meta is not None:
        value, observations = json_of(meta, source)
        yield from observations
    error = document.error = errors.ErrorElement.of(
        _attributes(child),
        child.text or "",
        value,
        has_meta=meta is not None,
        meta_reads=is_readable(observations),
    )
    if error.meta_reads:
        yield from _placed(errors.observations(error), seen, lambda path: _place_in_error(path, child, source))


def _placed(observations: Iterable[Observation], seen: _Seen, place: Callable[[Path], Place]) -> Iterator[Observation]:
    """Yield the observations, each fault that is the first of its requirement with a place: that costs another read."""
    for observation in observations:
        if observation.ok or (observation.requirement, False) in seen:
            yield observation
        else:
            yield replace(observation, where=place(observation.path))


def _place_in_error(path: Path, element: etree._Element, source: Source) -> Place:
    """Return the place of what the checks of `errors` name by a path."""
    head, *rest = path or ("",)
    meta = next((inner for inner in _own(element) if inner.tag == "meta"), None)
    if head == "meta" and meta is not None:
        return place_in_json(tuple(rest), meta, source)
    if head == "message":
        text = element.text or ""
        return source.place(source.content(element).offset(len(text) - len(text.lstrip(_SPACE)) + int(rest[0])))
    return source.of_attribute(element, str(head))
