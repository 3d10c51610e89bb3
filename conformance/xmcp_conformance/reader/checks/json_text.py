"""The JSON in an element of a document: its value, and checks of how it is written (section 2.4)."""

from __future__ import annotations

import re
from typing import Any

from lxml import etree

from xmcp_conformance.core.checks import OF_DOCUMENTS, Observations, check
from xmcp_conformance.core.observation import Observation, Path, Place, broken, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.reader.source import Source
from xmcp_conformance.reader.strict_json import DEEPEST, Json, JsonFault, locate, parse

from .escaping import INERT_JSON

# After these faults the JSON still means what it says.
_READABLE = frozenset({"XMCP-RSP-042", "XMCP-RSP-081"})


def json_of(element: etree._Element, source: Source) -> tuple[Any, list[Observation]]:
    """Return the JSON value in an element, `None` where it is not JSON, and what its text shows."""
    try:
        json = parse(character_data(element))
    except JsonFault as fault:
        return None, list(_not_json(fault, element, source))
    found = [*_obeyed(json), *_depth(json, element, source), *_inert(element, source)]
    return json.value, found


def is_readable(observations: list[Observation]) -> bool:
    """Return whether JSON that showed this has the value that its author meant."""
    return all(observation.ok or observation.requirement in _READABLE for observation in observations)


def place_in_json(path: Path, element: etree._Element, source: Source) -> Place:
    """Return the place of a value inside the JSON of an element."""
    content = source.content(element)
    return source.place(content.offset(locate(content.text, path)))


def character_data(element: etree._Element) -> str:
    """Return the character data of an element itself, also where comments divide it."""
    return "".join([element.text or "", *[child.tail or "" for child in element if not isinstance(child.tag, str)]])


@check("XMCP-RSP-040", "XMCP-RSP-041", "XMCP-RSP-043", "XMCP-RSP-044", profile=OF_DOCUMENTS)
def _not_json(fault: JsonFault, element: etree._Element, source: Source) -> Observations:
    place = source.place(source.content(element).offset(fault.at))
    yield broken(fault.requirement, f"in `{element.tag}`: {fault.seen}", fault.expected, where=place)


@check("XMCP-RSP-040", "XMCP-RSP-041", "XMCP-RSP-043", "XMCP-RSP-044", profile=OF_DOCUMENTS)
def _obeyed(json: Json) -> Observations:
    yield obeyed("XMCP-RSP-040")
    yield from (obeyed(requirement) for requirement in json.met)


@check("XMCP-RSP-081", profile=OF_DOCUMENTS)
def _depth(json: Json, element: etree._Element, source: Source) -> Observations:
    if json.too_deep is not None:
        place = source.place(source.content(element).offset(json.too_deep))
        seen = f"in `{element.tag}`: JSON nested more than {DEEPEST} deep"
        yield broken("XMCP-RSP-081", seen, f"at most {DEEPEST}", where=place)


@check("XMCP-RSP-042", profile=OF_DOCUMENTS)
def _inert(element: etree._Element, source: Source) -> Observations:
    text = character_data(element)
    if bare := re.search(r"[<>&]", text):
        place = source.place(source.content(element).offset(bare.start()))
        seen = f"in `{element.tag}`: `{quoted(text, bare.start())}`"
        yield broken("XMCP-RSP-042", seen, INERT_JSON, where=place)
    elif re.search(r"\\u00(?:3[cCeE]|26)", text):
        yield obeyed("XMCP-RSP-042")
