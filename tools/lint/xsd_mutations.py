"""Mutations of the XSD of the tool response: every rule altered in each way that makes sense for its element.

An XSD element that this module does not know raises an error, so that no rule is left out by accident.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import cache

from lxml import etree

from tools.generate.sources import SCHEMAS
from tools.lint.pattern_mutations import mutated_patterns
from tools.lint.schema_mutation import Judge, Mutation

KIND = "tool_response"
"""Name of the XSD, which is also the name of the folder of its examples."""

_XS = "{http://www.w3.org/2001/XMLSchema}"
_Change = tuple[str, Callable[[etree._Element], None]]


def _set(name: str, value: str) -> Callable[[etree._Element], None]:
    return lambda node: node.set(name, value)


def _drop(node: etree._Element) -> None:
    parent = node.getparent()
    assert parent is not None
    parent.remove(node)


def _unset(name: str) -> Callable[[etree._Element], None]:
    def change(node: etree._Element) -> None:
        del node.attrib[name]

    return change


def _occurrence(node: etree._Element) -> Iterator[_Change]:
    yield (
        "optional" if node.get("minOccurs") != "0" else "required",
        _set("minOccurs", "0" if node.get("minOccurs") != "0" else "1"),
    )
    most = "1" if node.get("maxOccurs") == "unbounded" else "2"
    yield f"maxOccurs is {most}", _set("maxOccurs", most)


def _particle(node: etree._Element) -> Iterator[_Change]:
    parent = node.getparent()
    assert parent is not None
    if parent.tag == f"{_XS}schema":
        return
    if len(parent) > 1 or parent.tag == f"{_XS}choice":
        yield "removed", _drop
    if parent.tag == f"{_XS}sequence" and node.getnext() is not None:
        yield "after its successor", lambda node: node.getnext().addnext(node)  # type: ignore[union-attr]
    if parent.tag not in (f"{_XS}complexType", f"{_XS}extension"):
        yield from _occurrence(node)
    if node.get("type"):
        yield "of any type", _set("type", "xs:anyType")


def _any(node: etree._Element) -> Iterator[_Change]:
    yield "removed", _drop
    yield "namespace is ##any", _set("namespace", "##any")
    yield "processContents is strict", _set("processContents", "strict")
    if node.tag == f"{_XS}any":
        yield from _occurrence(node)


def _require(node: etree._Element) -> None:
    node.set("use", "required")
    if "default" in node.attrib:  # a default and `required` exclude each other
        del node.attrib["default"]


def _attribute(node: etree._Element) -> Iterator[_Change]:
    yield "removed", _drop
    if node.get("use") == "required":
        yield "optional", _set("use", "optional")
    else:
        yield "required", _require
    yield "of type xs:string", _set("type", "xs:string")


def _facet(node: etree._Element) -> Iterator[_Change]:
    yield "removed", _drop
    value = node.get("value") or ""
    for moved in (int(value) - 1, int(value) + 1):
        if moved >= 0:
            yield f"is {moved}", _set("value", str(moved))


def _xsd_pattern(node: etree._Element) -> Iterator[_Change]:
    yield "removed", _drop
    for changed in mutated_patterns(node.get("value") or ""):
        yield f"is {changed}", _set("value", changed)


_LOOSER_BASE = {"xs:nonNegativeInteger": "xs:integer"}


def _base(node: etree._Element) -> Iterator[_Change]:
    if looser := _LOOSER_BASE.get(node.get("base") or ""):
        yield f"base is {looser}", _set("base", looser)


def _content(node: etree._Element) -> Iterator[_Change]:
    if node.get("mixed"):
        yield "not mixed", _unset("mixed")


def _nothing(_node: etree._Element) -> Iterator[_Change]:
    return iter(())


_NODES: Mapping[str, Callable[[etree._Element], Iterator[_Change]]] = {
    **dict.fromkeys(("element", "sequence", "choice"), _particle),
    **dict.fromkeys(("any", "anyAttribute"), _any),
    "attribute": _attribute,
    **dict.fromkeys(("minLength", "maxLength", "maxInclusive"), _facet),
    "pattern": _xsd_pattern,
    "restriction": _base,
    "complexType": _content,
    **dict.fromkeys(("schema", "annotation", "documentation", "simpleType", "simpleContent", "extension"), _nothing),
}


def _place(node: etree._Element) -> str:
    """Return the place of a node of the XSD: the names of its ancestors; for those without one, tag and number."""
    steps = []
    while (parent := node.getparent()) is not None:
        tag = etree.QName(node).localname
        name = node.get("name")
        if tag == "attribute":
            steps.append(f"@{name}")
        elif name or tag not in ("complexType", "restriction", "simpleContent", "extension"):
            alike = [other for other in parent if other.tag == node.tag]
            steps.append(name or (tag if len(alike) == 1 else f"{tag}[{alike.index(node) + 1}]"))
        node = parent
    return "/".join(reversed(steps))


def judge_by(schema: etree._ElementTree | etree._Element) -> Judge:
    """Return the function that validates a parsed document by an XSD.

    Raises:
        etree.XMLSchemaParseError: `schema` is not a valid XSD.
    """
    return etree.XMLSchema(schema).validate


@cache
def xsd() -> etree._ElementTree:
    """Return the XSD of a tool response, without its comments."""
    return etree.parse(SCHEMAS / f"{KIND}.xsd", etree.XMLParser(remove_comments=True, remove_blank_text=True))


def mutations() -> list[Mutation]:
    """Return every mutation of the XSD that is still a valid XSD."""
    found = []
    for index, node in enumerate(xsd().iter()):
        for says, change in _NODES[etree.QName(node).localname](node):
            copy = deepcopy(xsd().getroot())
            change(list(copy.iter())[index])
            try:
                judge = judge_by(copy)
            except etree.XMLSchemaParseError:
                continue
            found.append(Mutation(f"{KIND}#{_place(node)} {says}", lambda judge=judge: judge))  # type: ignore[misc]
    return found
