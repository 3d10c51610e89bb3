"""The strict reader of the suite: from text to a document, with an observation of each requirement that applied.

It stops at the first fault after which nothing more can be said, so that one fault breaks one requirement. It is built
on lxml; the reference implementation reads with expat, so that the two check each other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Any

from lxml import etree

from xmcp_conformance.core.observation import Observation, Path, Place

from .checks import display_envelope, elements_and_attributes, error_element, server_populated
from .checks.code_points import code_points
from .checks.declarations_and_comments import prologue
from .checks.elements_and_attributes import SPACE, VERSION, attribute_space, attributes_of, own_children
from .checks.escaping import content
from .checks.json_text import character_data, is_readable, json_of, place_in_json
from .checks.sizes import sizes
from .checks.well_formedness import well_formedness
from .checks.xsd_validation import validity
from .reading import Document, Reading
from .source import Source
from .source_positions import Lines
from .xml_parser import root_of

# How far this reader reads a document that exceeds the sizes of section 2.6; beyond, that is all it reports.
_ELEMENTS_READ = 10_000
_DEPTH_READ = 1_000

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


def read(text: str, lines: Lines | None = None, *, by_server: bool = True) -> Reading:
    """Read one document.

    Args:
        text: the text, such as that of the text block of a result.
        lines: its lines, for a caller that will show what is at a place.
        by_server: whether a server wrote it: what a client writes for its model can have a display that only clients
            create.

    Returns:
        The reading; `document` is `None` where a fault made the content unreliable.
    """
    seen: _Seen = {}
    document = None
    with suppress(_Stop):
        document = _read(Source(text, lines or Lines(text), _ELEMENTS_READ), seen, by_server)
    return Reading(document, list(seen.values()))


def _read(source: Source, seen: _Seen, by_server: bool) -> Document:
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
        _values(root, document, source, seen, by_server),
    ):
        for observation in step:
            _note(seen, observation)
    return document


def _parse(source: Source, seen: _Seen) -> etree._Element:
    try:
        root = root_of(source)
    except etree.XMLSyntaxError as error:
        _note(seen, next(well_formedness(source, error)))
        raise _Stop from error
    source.bind(root)
    _note(seen, next(well_formedness(source, None)))
    named = next(elements_and_attributes.root_name(root, source))
    _note(seen, named)
    if not named.ok:
        raise _Stop
    return root


def _structure(root: etree._Element, document: Document, source: Source) -> Iterator[Observation]:
    """Judge the elements and attributes, and set in the document what the attributes say."""
    children = own_children(root)
    yield from elements_and_attributes.children_of_root(root, children, source)
    yield from elements_and_attributes.text_between(root, source)
    own = (root, *children, *(meta for child in children for meta in own_children(child)))
    for element in own:
        yield from elements_and_attributes.known_attributes(element, source)
    document.tool_name = root.get("tool_name", "")
    yield from elements_and_attributes.tool_name(document.tool_name, root, source)
    if (version := root.get("version")) is not None:
        document.version = version if VERSION.fullmatch(version) else None
        yield from elements_and_attributes.version(version, root, source)
    document.call_id = root.get("call_id")
    document.format = next((child.get("format") for child in children if child.tag == "llm_output"), None)
    document.lossy = frozenset(str(element.tag) for element in own if _is_marked(element, "lossy"))
    document.truncated = any(child.tag == "llm_output" and _is_marked(child, "truncated") for child in children)
    for child in children:
        if child.tag == "error":
            for observation in error_element.attributes(attributes_of(child)):
                yield replace(observation, where=_place_in_error(observation.path, child, source))
            yield from elements_and_attributes.text_after_meta(child, source)


def _is_marked(element: etree._Element, name: str) -> bool:
    """Return whether a boolean attribute is true, in either of the two ways in which XML Schema writes it."""
    return (element.get(name) or "").strip() in ("true", "1")


def _validity(root: etree._Element, source: Source, seen: _Seen) -> Iterator[Observation]:
    if all(ok for requirement, ok in seen if requirement not in _SURVIVABLE):
        yield from validity(root, source)


def _values(
    root: etree._Element, document: Document, source: Source, seen: _Seen, by_server: bool
) -> Iterator[Observation]:
    """Judge the text and the JSON in the elements, and set both in the document."""
    for child in own_children(root):
        if child.tag == "llm_output" and document.llm_output is None:
            document.llm_output = character_data(child)
        elif child.tag == "display" and not document.has_display:
            document.has_display = True
            judge_envelope = partial(display_envelope.observations, by_server=by_server)
            document.display = yield from _json_value(child, source, seen, judge_envelope)
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
    meta = next((inner for inner in own_children(child) if inner.tag == "meta"), None)
    value: Any = None
    observations: list[Observation] = []
    if meta is not None:
        value, observations = json_of(meta, source)
        yield from observations
    error = document.error = error_element.ErrorElement.of(
        attributes_of(child),
        _before_meta(child),
        value,
        has_meta=meta is not None,
        meta_reads=is_readable(observations),
    )
    if error.meta_reads:
        yield from _placed(error_element.observations(error), seen, lambda path: _place_in_error(path, child, source))


def _before_meta(error: etree._Element) -> str:
    """Return the character data of an error before its `meta`; comments and processing instructions do not end it."""
    before = takewhile(lambda inner: not isinstance(inner.tag, str), error)
    return "".join([error.text or "", *(inner.tail or "" for inner in before)])


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
    meta = next((inner for inner in own_children(element) if inner.tag == "meta"), None)
    if head == "meta" and meta is not None:
        return place_in_json(tuple(rest), meta, source)
    if head == "message":
        text = element.text or ""
        return source.place(source.content(element).offset(len(text) - len(text.lstrip(SPACE)) + int(rest[0])))
    return source.of_attribute(element, str(head))
