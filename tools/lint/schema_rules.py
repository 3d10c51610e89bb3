"""Every rule of our schemas, altered one at a time: a mutation that no example notices is a rule that nobody checks.

    python tools/schema_rules.py    say which mutations survive

A JSON Schema is walked keyword by keyword, the XSD element by element; a keyword that is not known here raises, so
that no rule goes unseen. A mutation that leaves no schema at all, because it does not compile, is no mutation.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
from lxml import etree

SCHEMAS = Path(__file__).resolve().parent.parent / "schemas"
EXAMPLES = SCHEMAS / "examples"
JSON_KINDS = tuple(sorted(path.name.removesuffix(".schema.json") for path in SCHEMAS.glob("*.schema.json")))
XML_KIND = "tool_response"
ANNOTATIONS = frozenset({"$schema", "$id", "$comment", "title", "description", "default"})
"""Keywords that say something to people and generators; no verdict depends on them."""

Judge = Callable[[Any], bool]
"""Whether a parsed example is valid."""
Path_ = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Mutation:
    """A schema with one rule altered: `judge` builds what validates by it."""

    name: str
    judge: Callable[[], Judge]


# ------------------------------------------------------------------------------------------------- patterns

_TOKEN = re.compile(
    r"""(?P<class>\[(?:\\.|[^\]\\])*\]) | (?P<open>\((?:\?:)?) | (?P<close>\)) | (?P<or>\|)
      | (?P<anchor>[\^$]) | (?P<times>[*+?]|\{[0-9]+(?:,[0-9]*)?\}) | (?P<literal>\\.|.)""",
    re.VERBOSE | re.DOTALL,
)
_ITEM = re.compile(r"\\.-\\.|[^\\]-[^\\]|\\.|.", re.DOTALL)
_ANYTHING = r"[\s\S]"


@dataclass(slots=True)
class _Token:
    kind: str
    text: str


def patterns(pattern: str) -> list[str]:
    """The pattern with one part removed or changed, in the subset of regular expressions that our schemas use.

    Anchors and alternatives removed; members of a class removed, and any character in place of a class; each
    quantifier moved by one; literal text removed.
    """
    parts = [_Token(str(match.lastgroup), match[0]) for match in _TOKEN.finditer(pattern)]
    found: dict[str, None] = {}
    for index, part in enumerate(parts):
        for changed in _PARTS[part.kind](part.text) if part.kind in _PARTS else ():
            found["".join(p.text if i != index else changed for i, p in enumerate(parts))] = None
    for start, end in (*_alternatives(parts), *_literals(parts)):
        found["".join(p.text for i, p in enumerate(parts) if not start <= i < end)] = None
    found.pop(pattern, None)
    return list(found)


def _class(text: str) -> Iterator[str]:
    negated = "^" if text.startswith("[^") else ""
    items = _ITEM.findall(text[1 + len(negated) : -1])
    yield _ANYTHING
    for index in range(len(items) if len(items) > 1 else 0):
        yield f"[{negated}{''.join(items[:index] + items[index + 1 :])}]"


def _times(text: str) -> Iterator[str]:
    if text[0] != "{":
        yield ""
        yield "*" if text == "+" else "+"
        return
    least, _, most = text[1:-1].partition(",")
    low, high = int(least), int(most or least)
    for bounds in ((low - 1, high), (low + 1, high), (low, high - 1), (low, high + 1)):
        if 0 <= bounds[0] <= bounds[1]:
            yield f"{{{bounds[0]},{bounds[1]}}}"


_PARTS: dict[str, Callable[[str], Iterable[str]]] = {
    "class": _class,
    "times": _times,
    "anchor": lambda _: ("",),
    "literal": lambda text: (_ANYTHING,) if len(text) > 1 else (),
}


def _alternatives(parts: list[_Token]) -> Iterator[tuple[int, int]]:
    """Where each alternative stands, with one of the bars around it."""
    open_at: list[list[int]] = [[-1]]
    for index, part in enumerate([*parts, _Token("close", "")]):
        if part.kind == "open":
            open_at.append([index])
        elif part.kind == "or":
            open_at[-1].append(index)
        elif part.kind == "close":
            bars = [*open_at.pop(), index]
            for number in range(len(bars) - 1 if len(bars) > 2 else 0):
                last = number == len(bars) - 2
                yield (bars[number], index) if last else (bars[number] + 1, bars[number + 1] + 1)


def _literals(parts: list[_Token]) -> Iterator[tuple[int, int]]:
    """Runs of literal characters; one with a quantifier is a run of its own, quantifier included."""
    start = 0
    for index, part in enumerate([*parts, _Token("end", "")]):
        if part.kind == "times" and index and parts[index - 1].kind == "literal":
            if start < index - 1:
                yield start, index - 1
            yield index - 1, index + 1
        elif part.kind == "literal":
            continue
        elif start < index:
            yield start, index
        start = index + 1


# ------------------------------------------------------------------------------------------------ JSON Schema

_REMOVED: Any = object()


@dataclass(frozen=True, slots=True)
class _Edit:
    """What to put at a place of a schema. `says` is the end of the mutation's name, `at` its place in words."""

    path: Path_
    value: Any
    says: str = "removed"
    at: str = ""

    @property
    def name(self) -> str:
        return f"#/{self.at or '/'.join(map(str, self.path))} {self.says}"

    def applied(self, schema: Any) -> Any:
        """A copy of the schema with the edit made."""
        copy = deepcopy(schema)
        *way, last = self.path
        node = copy
        for step in way:
            node = node[step]
        if self.value is _REMOVED:
            del node[last]
        else:
            node[last] = self.value
        return copy


# What a type is confused with, beside null, by those who write JSON by hand or from a language without that type.
_CONFUSED = {
    "string": "number",
    "number": "string",
    "integer": "number",
    "boolean": "string",
    "object": "array",
    "array": "object",
}


def _types(value: str | list[str], path: Path_) -> Iterator[_Edit]:
    names = [value] if isinstance(value, str) else value
    yield _Edit(path, _REMOVED)
    for added in dict.fromkeys(["null", *[_CONFUSED[name] for name in names if name != "null"]]):
        if added not in names:
            yield _Edit(path, [*names, added], f"{added} accepted")
    for name in names if len(names) > 1 else ():
        yield _Edit(path, [other for other in names if other != name], f"{name} refused")


def _listed(value: list[str], path: Path_) -> Iterator[_Edit]:
    """Entries of `required` and members of `enum`."""
    for index, entry in enumerate(value):
        yield _Edit((*path, index), _REMOVED, at="/".join(map(str, (*path, entry))))


def _enum(value: list[str], path: Path_) -> Iterator[_Edit]:
    yield from _listed(value, path)
    yield _Edit(path, _REMOVED)
    yield _Edit(path, [*value, None], "null accepted")
    yield _Edit(path, [*value, value[0].upper()], f"{value[0].upper()} accepted")


def _bound(value: int, path: Path_) -> Iterator[_Edit]:
    yield _Edit(path, _REMOVED)
    for moved in (value - 1, value + 1):
        if moved >= 0 or "imum" in str(path[-1]):
            yield _Edit(path, moved, f"is {moved}")


def _gone(_value: Any, path: Path_) -> Iterator[_Edit]:
    yield _Edit(path, _REMOVED)


def _branches(value: list[Any], path: Path_) -> Iterator[_Edit]:
    for index in range(len(value)):
        yield _Edit((*path, index), _REMOVED)


def _schema_or_flag(value: Any, path: Path_) -> Iterator[_Edit]:
    yield _Edit(path, False, "closed") if value is True else _Edit(path, _REMOVED)


_EDITS: Mapping[str, Callable[[Any, Path_], Iterator[_Edit]]] = {
    "type": _types,
    "required": _listed,
    "enum": _enum,
    "const": lambda value, path: iter((_Edit(path, _REMOVED), _Edit(path, value.upper(), f"is {value.upper()}"))),
    "pattern": lambda value, path: iter(
        (_Edit(path, _REMOVED), *[_Edit(path, changed, f"is {changed}") for changed in patterns(value)])
    ),
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "minItems", "maxItems"), _bound
    ),
    **dict.fromkeys(("uniqueItems", "items", "propertyNames", "$ref", "then", "format"), _gone),
    "additionalProperties": _schema_or_flag,
    "allOf": _branches,
    **dict.fromkeys(("oneOf", "anyOf"), lambda value, path: iter((_Edit(path, _REMOVED), *_branches(value, path)))),
    "properties": lambda value, path: iter(_Edit((*path, name), _REMOVED) for name in value),
    "$defs": lambda *_: iter(()),
    "if": lambda *_: iter(()),  # without it `then` says nothing: that is the edit of `then`
}
_HOLD_SCHEMAS = {"properties", "$defs"}
_LIST_SCHEMAS = {"allOf", "oneOf", "anyOf"}
_ARE_SCHEMAS = {"items", "if", "then", "additionalProperties", "propertyNames"}


def edits(schema: Mapping[str, Any], path: Path_ = ()) -> Iterator[_Edit]:
    """Every rule of a schema and of the schemas in it, altered in each way that makes sense for its keyword.

    Raises:
        KeyError: a keyword that this module does not know.
    """
    for keyword, value in schema.items():
        if keyword in ANNOTATIONS:
            continue
        here = (*path, keyword)
        yield from _EDITS[keyword](value, here)
        inner: Iterable[tuple[Any, Any]] = ()
        if keyword in _HOLD_SCHEMAS:
            inner = value.items()
        elif keyword in _LIST_SCHEMAS:
            inner = enumerate(value)
        for name, inside in inner:
            yield from edits(inside, (*here, name))
        if keyword in _ARE_SCHEMAS and isinstance(value, dict):
            yield from edits(value, here)
    if "properties" in schema and "additionalProperties" not in schema and not {"if", "then"} & set(path):
        yield _Edit((*path, "additionalProperties"), False, "closed")


@cache
def _stored(name: str) -> Any:
    return json.loads((SCHEMAS / name).read_text("utf-8"))


def json_judge(schema: Any) -> Judge:
    """What validates by a JSON Schema of ours; its references lead into `schemas/`."""
    return jsonschema_rs.validator_for(
        schema, retriever=lambda uri: _stored(uri.rpartition("/")[2]), validate_formats=True
    ).is_valid


def json_schema(kind: str) -> Any:
    """The JSON Schema of a kind of example."""
    return _stored(f"{kind}.schema.json")


def json_mutations(kind: str) -> list[Mutation]:
    """Every mutation of one JSON Schema; what it refers to in other files stays as it is."""
    schema = json_schema(kind)
    return [
        Mutation(kind + edit.name, lambda edit=edit: json_judge(edit.applied(schema)))  # type: ignore[misc]
        for edit in edits(schema)
    ]


# -------------------------------------------------------------------------------------------------------- XSD

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
    for changed in patterns(node.get("value") or ""):
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
    """Where a part of the XSD stands: names where there are any, else what it is and the how-manieth."""
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


def xsd_judge(schema: etree._ElementTree | etree._Element) -> Judge:
    """What validates a parsed document by an XSD. Raises `etree.XMLSchemaParseError` where it is none."""
    return etree.XMLSchema(schema).validate


@cache
def xsd() -> etree._ElementTree:
    """The XSD of a tool response, without its comments."""
    return etree.parse(SCHEMAS / f"{XML_KIND}.xsd", etree.XMLParser(remove_comments=True, remove_blank_text=True))


def xsd_mutations() -> list[Mutation]:
    """Every mutation of the XSD that is an XSD still."""
    found = []
    for index, node in enumerate(xsd().iter()):
        for says, change in _NODES[etree.QName(node).localname](node):
            copy = deepcopy(xsd().getroot())
            change(list(copy.iter())[index])
            try:
                judge = xsd_judge(copy)
            except etree.XMLSchemaParseError:
                continue
            found.append(Mutation(f"{XML_KIND}#{_place(node)} {says}", lambda judge=judge: judge))  # type: ignore[misc]
    return found


# --------------------------------------------------------------------------------------------------- verdicts


def parsed_xml(path: Path) -> etree._Element | None:
    """A document as a schema sees it; None where it is not well-formed or declares entities: no schema has a say."""
    try:
        root = etree.fromstring(path.read_bytes(), etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError:
        return None
    return None if doctype(root) else root


def doctype(root: etree._Element) -> str:
    """The document type declaration of a parsed document; the empty text where it has none."""
    return str(root.getroottree().docinfo.doctype)  # type: ignore[attr-defined]


def examples(kind: str) -> dict[str, Any]:
    """The examples of a kind, parsed, by `valid/name` and `invalid/name`."""
    found = {}
    for verdict in ("valid", "invalid"):
        for path in sorted((EXAMPLES / verdict / kind).iterdir()):
            value = parsed_xml(path) if kind == XML_KIND else json.loads(path.read_bytes())
            if kind != XML_KIND or value is not None:
                found[f"{verdict}/{path.stem}"] = value
    return found


def mutations(kind: str) -> list[Mutation]:
    """Every mutation of the schema of a kind."""
    return xsd_mutations() if kind == XML_KIND else json_mutations(kind)


def kills(kind: str) -> dict[str, list[str]]:
    """Name of each mutation, with the examples on which it changes the verdict."""
    values = examples(kind)
    judge = xsd_judge(xsd()) if kind == XML_KIND else json_judge(json_schema(kind))
    verdicts = {name: judge(value) for name, value in values.items()}
    found = {}
    for mutation in mutations(kind):
        mutated = mutation.judge()
        found[mutation.name] = [name for name, value in values.items() if mutated(value) != verdicts[name]]
    return found


def main() -> None:
    """Command line."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    for kind in (XML_KIND, *JSON_KINDS):
        killed = kills(kind)
        print(f"{kind}: {len(killed)} mutations, {len(examples(kind))} examples")
        for name in (name for name, by in killed.items() if not by):
            print(f"  survives: {name}")


if __name__ == "__main__":
    main()
