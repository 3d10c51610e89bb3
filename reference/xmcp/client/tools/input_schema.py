"""The parameters of an input schema, including those in the schemas that it applies to the same object. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import unquote

_NAMING: Final = ("properties", "required", "dependentRequired", "dependentSchemas", "dependencies")
"""Keywords whose members, or whose strings, are names of parameters."""

_CONDITIONAL: Final = {"if": ("if", "then", "else"), "not": ("not",)}
"""Keywords that go as a whole where they name a parameter that goes, with those that have no effect without them."""

_APPLYING: Final[Mapping[str, Literal["reference", "list", "choice", "schema", "mapping"]]] = {
    **dict.fromkeys(("$ref", "$dynamicRef"), "reference"),
    "allOf": "list",
    **dict.fromkeys(("anyOf", "oneOf"), "choice"),
    **dict.fromkeys(("if", "then", "else", "not"), "schema"),
    **dict.fromkeys(("dependentSchemas", "dependencies"), "mapping"),
}
"""Keywords that apply schemas to the same object; the last three kinds do so under conditions."""

Refer: TypeAlias = Callable[[Any], Any]
"""Returns the target of a reference within one schema; `None` for other references."""


def declared(schema: Mapping[str, Any]) -> set[str]:
    """Return the names of all parameters that the schema knows, under whatever condition."""
    return {name for part in _parts(schema, _referrer(schema)) for name in _named(part)}


def number_of_parts(schema: Mapping[str, Any], limit: int) -> int:
    """Return how many schemas it applies to the same object, itself included; above `limit` it does not count on."""
    return len(_parts(schema, _referrer(schema), limit=limit))


def needed(schema: Mapping[str, Any]) -> set[str]:
    """Return the names under `required` in the schema and in what it is composed of, whatever the other parameters."""
    parts = _parts(schema, _referrer(schema), conditional=False)
    listed = (part.get("required") for part in parts)
    return {name for names in listed if isinstance(names, list) for name in names if isinstance(name, str)}


def without(schema: Mapping[str, Any], names: Collection[str]) -> Mapping[str, Any]:
    """Return the schema without these parameters in any part; the schema itself if it has none of them."""
    if not names:
        return schema
    refer = _referrer(schema)
    parts = _parts(schema, refer)
    having = _having(parts, refer, names)
    if not having:
        return schema
    stripped: Mapping[str, Any] = _without(schema, {id(part) for part in parts}, having, names)
    return stripped


def _named(part: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of parameters that a schema has itself, some of them twice."""
    for keyword in _NAMING:
        names = part.get(keyword)
        if isinstance(names, dict | list):
            yield from (name for name in names if isinstance(name, str))
        if isinstance(names, dict) and keyword in ("dependentRequired", "dependencies"):
            for others in names.values():
                yield from (name for name in (others if isinstance(others, list) else ()) if isinstance(name, str))


def _parts(schema: Any, refer: Refer, *, conditional: bool = True, limit: float = math.inf) -> list[Mapping[str, Any]]:
    """Return a schema and all that it applies to the same object, each once; one more than `limit` at most."""
    parts: list[Mapping[str, Any]] = []
    seen: set[int] = set()
    waiting: list[Any] = [schema]
    for one in waiting:
        if isinstance(one, dict) and id(one) not in seen:
            seen.add(id(one))
            parts.append(one)
            if len(parts) > limit:
                break
            waiting.extend(_applied(one, refer, conditional=conditional))
    return parts


def _applied(part: Mapping[str, Any], refer: Refer, *, conditional: bool) -> list[Any]:
    """Return what a schema itself applies to the same object, which may be no schema."""
    applied: list[Any] = []
    for keyword, value in part.items():
        match _APPLYING.get(keyword):
            case "reference":
                applied.append(refer(value))
            case "list" if isinstance(value, list):
                applied += value
            case "choice" if conditional and isinstance(value, list):
                applied += value
            case "schema" if conditional:
                applied.append(value)
            case "mapping" if conditional and isinstance(value, dict):
                applied += value.values()
    return applied


def _having(parts: Collection[Mapping[str, Any]], refer: Refer, names: Collection[str]) -> set[int]:
    """Return the parts (their `id`) that have one of the names, or apply a part that has one."""
    applied_by: dict[int, list[int]] = {}
    for part in parts:
        for applied in _applied(part, refer, conditional=True):
            applied_by.setdefault(id(applied), []).append(id(part))
    waiting = [id(part) for part in parts if any(name in names for name in _named(part))]
    having = set(waiting)
    for one in waiting:
        new = [above for above in applied_by.get(one, ()) if above not in having]
        having.update(new)
        waiting.extend(new)
    return having


def _without(node: Any, parts: Collection[int], having: Collection[int], names: Collection[str]) -> Any:
    """Return a copy of a schema without the names in any part. References stay: their targets are copied too."""
    if isinstance(node, list):
        return [_without(one, parts, having, names) for one in node]
    if not isinstance(node, dict):
        return node
    made = {key: _without(value, parts, having, names) for key, value in node.items()}
    if id(node) not in parts:
        return made
    for keyword in _NAMING:
        if isinstance(known := made.get(keyword), dict):
            made[keyword] = {name: listed_without(part, names) for name, part in known.items() if name not in names}
        elif isinstance(known, list):
            made[keyword] = listed_without(known, names)
    if made.get("required") == []:
        del made["required"]
    # Without the names a condition would hold always, and its denial never; nobody can say which way it goes.
    for keyword, gone in _CONDITIONAL.items():
        if id(node.get(keyword)) in having:
            for name in gone:
                made.pop(name, None)
    # Alternatives that differed only in the removed names now all fit, which `oneOf` forbids.
    if "oneOf" in made and "anyOf" not in made:
        made["anyOf"] = made.pop("oneOf")
    # Whole objects as a default or an example have the names as well.
    if isinstance(default := made.get("default"), dict):
        made["default"] = {name: value for name, value in default.items() if name not in names}
    if isinstance(examples := made.get("examples"), list):
        made["examples"] = [_example(example, names) for example in examples]
    return made


def listed_without(value: Any, names: Collection[str]) -> Any:
    """Return a list without the names; any other value as it is.

    A server may list what is no name, which stays: a set cannot be asked for it.
    """
    if not isinstance(value, list):
        return value
    return [name for name in value if not (isinstance(name, str) and name in names)]


def _example(value: Any, names: Collection[str]) -> Any:
    return {name: part for name, part in value.items() if name not in names} if isinstance(value, dict) else value


def _referrer(root: Mapping[str, Any]) -> Refer:
    """Return the function for references within `root`. It looks for named parts once, when the first is needed."""
    own = root.get("$id")
    anchors: dict[str, Any] | None = None

    def refer(reference: Any) -> Any:
        nonlocal anchors
        if not isinstance(reference, str):
            return None
        if isinstance(own, str) and own and reference.startswith(own):
            reference = reference.removeprefix(own) or "#"
        if reference == "#":
            return root
        if reference.startswith("#/"):
            return _at(root, unquote(reference[2:]))
        if anchors is None:
            anchors = dict(_anchors(root))
        return anchors.get(reference)

    return refer


def _at(root: Any, pointer: str) -> Any:
    """Return what a JSON pointer (without its first slash) points to; `None` if there is nothing."""
    target = root
    for step in pointer.split("/"):
        if isinstance(target, dict):
            target = target.get(step.replace("~1", "/").replace("~0", "~"))
        elif isinstance(target, list) and step.isdecimal() and int(step) < len(target):
            target = target[int(step)]
        else:
            return None
    return target


def _anchors(root: Any) -> Iterable[tuple[str, Any]]:
    """Yield the schemas in `root` that have a name of their own, by the reference to them."""
    waiting: list[Any] = [root]
    for node in waiting:
        if isinstance(node, dict):
            for keyword, before in (("$anchor", "#"), ("$dynamicAnchor", "#"), ("$id", "")):
                if isinstance(name := node.get(keyword), str):
                    yield before + name, node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
