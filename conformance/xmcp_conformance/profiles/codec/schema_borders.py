"""Values on both sides of the border of each keyword of a schema: found by a walk over the schema, not by chance."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

from xmcp_conformance.reader.schemas import schema, validator

Node = dict[str, Any]
Around = Callable[[Any], Any]
"""Puts a value into the whole one, at the place that a node of the schema is about."""
OfNode = Callable[[Node, Node], Iterator[Any]]
"""Yields the values of a node, which is a part of the whole schema, without what is below it."""

_OF_TYPES: Final = {"null": None, "string": "x", "number": 1.5, "boolean": True, "array": [0], "object": {"a": 0}}
_STRINGS: Final = ("x", "https://a", "A", "", "text")
_NO_MATCHES: Final = ("", " ", "é", "a\n", "A-", "http:/a", "~2", "HTTPS://a", "x" * 64)


_MATCHES: Final = (
    *("https://a", "data:image/png;base64,AA", "data:image/jpeg,", "data:image/gif;a,", "data:image/webp,a%20b"),
    *("data:image/avif;base64,", "a" * 64, "a_1_", "x-a-b", "x-0.a-b", "http://a", "/a~0b~1/", "", "A" * 63, "A_0"),
)
"""Texts that the patterns of the schemas allow."""


@cache
def broken(name: str) -> tuple[Any, ...]:
    """Return values that the schema of that name does not allow, each of which breaks one keyword of it."""
    return _found(name, _beyond, valid=False)


@cache
def allowed(name: str) -> tuple[Any, ...]:
    """Return values that the schema of that name allows, each of which is at the border of one keyword of it."""
    return _found(name, _within, valid=True)


def _found(name: str, of_node: OfNode, *, valid: bool) -> tuple[Any, ...]:
    whole = schema(name)
    some = _walked(whole, whole, lambda value: value, of_node, depth=0)
    found = {json.dumps(value, sort_keys=True): value for value in some if validator(name).is_valid(value) is valid}
    return tuple(found.values())


def _walked(node: Node, whole: Node, around: Around, of_node: OfNode, depth: int) -> Iterator[Any]:
    """Yield the values for a node and all below it; a schema within itself is walked once."""
    if "$ref" in node:
        depth += node["$ref"] == "#"
        if depth < 2:
            yield from _walked(_resolved(node, whole), whole, around, of_node, depth)
        return
    yield from (around(value) for value in of_node(node, whole))
    right = _right(node, whole)
    for member in node.get("properties", ()):
        inside = _with(right, member, around)
        if member in node.get("required", ()):
            yield around({key: value for key, value in right.items() if key != member})
        yield from _walked(node["properties"][member], whole, inside, of_node, depth)
    if isinstance(more := node.get("additionalProperties"), dict):
        yield from _walked(more, whole, lambda value: around({"a": value}), of_node, depth)
    if "items" in node:
        yield from _walked(node["items"], whole, lambda value: around([value]), of_node, depth)
        # A program that looks at the first item alone takes what is wrong with another one.
        second = [_right(node["items"], whole)]
        yield from (around([*second, value]) for value in of_node(_resolved(node["items"], whole), whole))
    for choice in node.get("oneOf", ()):
        yield from _walked(choice, whole, around, of_node, depth)
    for rule in () if depth else node.get("allOf", ()):
        kinds = rule["if"]["properties"]["type"]
        for kind in kinds.get("enum", [kinds.get("const")]):
            payload = _with({"type": kind}, "payload", around)
            yield from _walked(rule["then"]["properties"]["payload"], whole, payload, of_node, depth)
    if "propertyNames" in node:
        yield from (around({member: "x"}) for member in ("later", "Error_id", "acme/", "/a", "a b/c", ""))


def _beyond(node: Node, whole: Node) -> Iterator[Any]:
    """Yield values that the node itself does not allow."""
    if "type" in node:
        allowed = {node["type"]} if isinstance(node["type"], str) else {*node["type"]}
        yield from (value for kind, value in _OF_TYPES.items() if kind not in allowed)
    if "enum" in node:
        yield from ("x", node["enum"][0].upper(), 0)
    if "maxLength" in node:
        yield "x" * (node["maxLength"] + 1)
    if "minLength" in node:
        yield ""
    if "pattern" in node:
        yield from (text for text in _NO_MATCHES if not re.search(node["pattern"].replace("$", r"\Z"), text))
    if "maximum" in node:
        yield node["maximum"] + 1
    if "minimum" in node:
        yield node["minimum"] - 1
    if "exclusiveMinimum" in node:
        yield node["exclusiveMinimum"]
    if "maxItems" in node:
        yield [_right(node["items"], whole)] * (node["maxItems"] + 1)
    if node.get("uniqueItems"):
        yield [_right(node["items"], whole)] * 2


def _within(node: Node, whole: Node) -> Iterator[Any]:
    """Yield values that the node itself allows, as far as no other node forbids them."""
    kinds = node.get("type", ())
    yield from (_OF_TYPES[kind] for kind in ((kinds,) if isinstance(kinds, str) else kinds) if kind in _OF_TYPES)
    yield from node.get("enum", ())
    if "boolean" in kinds:
        yield False
    for length in {node.get("minLength", 0), node.get("maxLength", 1)}:
        yield from (letter * length for letter in ("x", "\U0001f600"))
    if "pattern" in node:
        yield from (text for text in _MATCHES if re.search(node["pattern"].replace("$", r"\Z"), text))
    yield from (node[word] for word in ("minimum", "maximum") if word in node)
    if "exclusiveMinimum" in node:
        yield from (0.5, node["maximum"])
    if "items" in node:
        most = node.get("maxItems", 2)
        yield from ([], [_right(node["items"], whole)] * most)
    if "properties" in node:
        yield {name: _right(rule, whole) for name, rule in node["properties"].items() if "$ref" not in rule}


def _with(right: Node, member: str, around: Around) -> Around:
    return lambda value: around({**right, member: value})


def _resolved(node: Node, whole: Node) -> Node:
    found: Any = whole
    for step in node.get("$ref", "#").split("/")[1:]:
        found = found[step]
    return found if "$ref" in node else node


def _right(node: Node, whole: Node) -> Any:
    """Return a small value that a node allows."""
    node = _resolved(node, whole)
    if "oneOf" in node:
        return _right(node["oneOf"][0], whole)
    if "enum" in node:
        return node["enum"][0]
    kind = node.get("type", "object")
    kind = kind if isinstance(kind, str) else "string" if "string" in kind else kind[0]
    if kind == "string":
        return next(text for text in _STRINGS if re.search(node.get("pattern", ""), text))
    if kind == "object":
        return {member: _right(node["properties"][member], whole) for member in node.get("required", ())}
    return {"array": [], "boolean": True}.get(kind, 100)
