"""Make arguments at each constraint of an input schema and just past it. Those past it a server has to refuse.

Each change is made to one value of right arguments. A validator says on which side of the constraint the changed
arguments are, so that a mistake here costs calls, but never makes a wrong one.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from typing import Any, Final

from .hostile_arguments import Hostile, refused_texts
from .input_schema import Arguments, Node, Path, Schema, fitting, nodes, pointer, removed, replaced, sendable, types
from .schema_strategies import MANY

_MOST_CHARACTERS: Final = 100_000
_MOST_ITEMS: Final = 1_000
_MANY_ITEMS: Final = 100
_MOST_AT_ONCE: Final = 1_000_000
"""Maximum size, in characters of JSON, of arguments of which all are at a border: many servers read no more at once."""
_MOST_IN_ORDER: Final = 400
"""Maximum number of refusals that are made to find one of each kind."""
_MOST_VALUES: Final = 12
"""Maximum number of the values of an `enum` that are tried."""
_SAFE: Final = 2**53
_MILLION: Final = 1_000_000
"""What a tool is asked for before anything larger: one that makes so many rows takes long, or answers at length."""
_WITH_FRACTIONS: Final = (0, 0.1, MANY, _MILLION, -_SAFE, 1e21, -1e-9, _SAFE + 1)
UNBOUNDED_ITEMS: Final = 40
_UNBOUNDED_CHARACTERS: Final = 700
"""Enough for the limits of the specification: 32 displays in a group, 500 characters of an `alt`."""
_TWO_BYTES: Final = "\u00e9"
_ASTRAL: Final = "\U0001f600"
"""One character for JSON Schema, two units in UTF-16, four bytes in UTF-8."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Arguments that the schema does not allow.

    `pointers` name those at fault; empty where that can be told in several ways. `fault` says what is wrong.
    """

    arguments: Arguments
    pointers: tuple[str, ...]
    fault: str
    traps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Change:
    """A change of arguments: what they become, the path of what is at fault then, and the fault in words."""

    arguments: Any
    at: Path | None
    fault: str


def at_borders(schema: Schema, base: Arguments) -> Iterator[Arguments]:
    """Yield right arguments at the borders of the constraints: the least and the most, the shortest and the longest."""
    fits = fitting(schema)
    if fits is not None:
        for change in _changes(schema, base):
            if fits(change.arguments) and sendable(change.arguments):
                yield change.arguments


def extremes(schema: Schema, base: Arguments) -> Iterator[Arguments]:
    """Yield right arguments of which each value is at a border at the same time: the most, and the least.

    A number beyond `MANY` is in no other than the last ones.
    """
    fits = fitting(schema)
    if fits is None:
        return
    try:
        found = list(nodes(base, schema))
    except (ValueError, LookupError, TypeError):  # the schema is wrong, or refers to nothing
        return
    made: list[Arguments] = [base]
    for pick, limit in ((_most, MANY), (_least, MANY), (_plenty, MANY), (_most, math.inf), (_least, math.inf)):
        arguments: Any = base
        for node in reversed(found):  # what is inside of a list first
            now = reduce(lambda whole, part: whole[part], node.path, arguments)
            tries = (replaced(arguments, node.path, one) for one in pick(node.schema, now, limit) if node.path)
            arguments = next(filter(fits, tries), arguments)
        if arguments not in made and sendable(arguments) and len(json.dumps(arguments)) <= _MOST_AT_ONCE:
            made.append(arguments)
            yield arguments


def alone_at_the_most(
    schema: Schema, base: Callable[[], Arguments], fewest: Callable[[], Arguments]
) -> Iterator[Hostile]:
    """Yield right arguments with the fewest members, and one of `base` at its most."""
    fits = fitting(schema)
    for most in islice(extremes(schema, base()), 1):
        for name, value in most.items():
            arguments = {**fewest(), name: value}
            if fits is not None and fits(arguments):
                yield Hostile(arguments, ())


def _most(schema: Schema, value: Any, limit: float) -> Iterator[Any]:
    if isinstance(value, list) and value and isinstance(most := schema.get("maxItems"), int):
        fewer = max(0, min(most, _MANY_ITEMS))
        yield (value * fewer)[:fewer]
    if isinstance(value, str) and isinstance(longest := schema.get("maxLength"), int) and longest <= _MOST_CHARACTERS:
        yield _of_length(value, longest)
    yield from _bound(schema.get("maximum"), value, limit)


def _plenty(schema: Schema, value: Any, limit: float) -> Iterator[Any]:
    """Yield what is long where nothing bounds it, and otherwise the most, of characters that have two bytes."""
    if isinstance(value, list) and value and "maxItems" not in schema:
        yield (value * UNBOUNDED_ITEMS)[:UNBOUNDED_ITEMS]
    elif isinstance(value, str) and not schema.keys() & {"format", "pattern", "enum", "const"}:
        longest = schema.get("maxLength", _UNBOUNDED_CHARACTERS)
        if isinstance(longest, int) and longest <= _MOST_CHARACTERS:
            yield _of_length(value, longest, _TWO_BYTES)
    else:
        yield from _most(schema, value, limit)


def _least(schema: Schema, value: Any, limit: float) -> Iterator[Any]:
    least = schema.get("minItems" if isinstance(value, list) else "minLength", 0)
    if isinstance(value, list | str) and isinstance(least, int) and least >= 0:
        yield value[:least]
    yield from _bound(schema.get("minimum"), value, limit)


def _bound(bound: Any, value: Any, limit: float) -> Iterator[Any]:
    both_numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (bound, value))
    if both_numbers and abs(bound) <= limit:
        yield bound


def refusals(schema: Schema, base: Arguments) -> Iterator[Refusal]:
    """Yield arguments with one fault, which a server has to refuse; at last with all required ones missing.

    Nothing for a schema that cannot be used, or that refers to another document: what it refuses is not known.

    Args:
        schema: the input schema.
        base: arguments that fit it.
    """
    # Equal items lose nothing where a server keeps each once.
    fits = fitting(_without_unique_items(schema))
    if fits is None:
        return
    yield from _all_at_once(schema, base)
    for change in _changes(schema, base):
        yield from _refused(fits, change)
    for name in schema.get("properties", {}):
        for text in refused_texts(name):
            arguments = {**base, **text.arguments}
            if not fits(arguments) and not fits({**base, name: [arguments[name]]}):
                yield Refusal(arguments, (pointer((name,)),), f"`{name}` with a text", text.traps)
    needed: list[str] = list(schema.get("required", ()))
    if len(needed) > 1:
        arguments = {key: value for key, value in base.items() if key not in needed}
        if not fits(arguments):
            names = ", ".join(f"`{name}`" for name in needed)
            yield Refusal(arguments, tuple(pointer((name,)) for name in needed), f"{names} missing")


def of_each_kind(refused: Iterable[Refusal]) -> Iterator[Refusal]:
    """Yield refusals in another order: one for each kind of fault, such as "too long", then the next of each.

    The kinds that come late in the usual order come first.
    """
    kinds: dict[str, deque[Refusal]] = {}
    for one in islice(refused, _MOST_IN_ORDER):
        kinds.setdefault(one.fault.rpartition("`")[2], deque()).append(one)
    waiting = deque(reversed(kinds.values()))
    while waiting:
        kind = waiting.popleft()
        yield kind.popleft()
        if kind:
            waiting.append(kind)


def _all_at_once(schema: Schema, base: Arguments) -> Iterator[Refusal]:
    """Yield arguments of which each is of a wrong type, those that a server converts or drops left out."""
    wrong: dict[str, Any] = {}
    for name in schema.get("properties", {}):
        value: Any = {"not": "a scalar"}
        alone = fitting({"properties": {name: schema["properties"][name]}, **_beside(schema)})
        if name in base and name != "show_user" and alone is not None:
            value = "not-an-object" if isinstance(base[name], dict | list) else value
            if not alone({name: value}) and not alone({name: [value]}):
                wrong[name] = value
    fits = fitting(schema)
    if len(wrong) > 1 and fits is not None and not fits({**base, **wrong}):
        names = ", ".join(f"`{name}`" for name in wrong)
        yield Refusal({**base, **wrong}, tuple(pointer((name,)) for name in wrong), f"{names} of the wrong type")


def _without_unique_items(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {name: _without_unique_items(part) for name, part in schema.items() if name != "uniqueItems"}
    return [_without_unique_items(part) for part in schema] if isinstance(schema, list) else schema


def _refused(fits: Callable[[Any], bool], change: _Change) -> Iterator[Refusal]:
    if not fits(change.arguments) and sendable(change.arguments) and not _loses_nothing(fits, change):
        pointers = () if change.at is None else (pointer(change.at),)
        yield Refusal(change.arguments, pointers, change.fault)


def _loses_nothing(fits: Callable[[Any], bool], change: _Change) -> bool:
    """Return whether a lenient server can take the value for the only item of a list (section 4.3)."""
    if not change.at:
        return False
    value = change.arguments
    for part in change.at:
        if isinstance(value, dict) and part not in value:
            return False
        value = value[part]
    return fits(replaced(change.arguments, change.at, [value]))


def _changes(schema: Schema, base: Arguments) -> Iterator[_Change]:
    """Yield a change at every value of the arguments in turn, at those of the tool's own parameters first.

    Of a list, the items after the first one come last: they have the same schema.
    """
    try:
        in_order = sorted(nodes(base, schema), key=_is_of_a_later_item)
        waiting = deque(_changes_at(node, base, schema) for node in in_order)
        while waiting:
            changes = waiting.popleft()
            for change in islice(changes, 1):
                yield change
                waiting.append(changes)
    except (ValueError, LookupError, TypeError, OverflowError):  # the schema is wrong, or refers to nothing
        return


def _is_of_a_later_item(node: Node) -> bool:
    return any(isinstance(part, int) and part > 0 for part in node.path)


def _changes_at(node: Node, base: Arguments, schema: Schema) -> Iterator[_Change]:
    alone = _fits_alone(node.schema, schema)
    for replacement, fault in _replacements(node) if node.path else ():
        # A value that its own schema allows is wrong beside another one: either can be told.
        at = None if alone(replacement) else node.path
        yield _Change(replaced(base, node.path, replacement), at, f"{_named(node.path)} {fault}")
    yield from _members(node, base)


def _fits_alone(schema: Schema, root: Schema) -> Callable[[Any], bool]:
    """Return whether a value fits the schema of its own place, whatever stands beside it."""
    return fitting({**schema, **_beside(root)}) or (lambda _: False)


def _beside(root: Schema) -> Schema:
    """Return what a part of a schema needs of the whole: its dialect, and what its references lead to."""
    return {word: root[word] for word in ("$schema", "$defs", "definitions") if word in root}


def _named(path: Path) -> str:
    return f"`{path[0] if len(path) == 1 else pointer(path)}`"


def _replacements(node: Node) -> Iterator[tuple[Any, str]]:
    """Yield values for a place, each with what is wrong with it if the schema does not allow it."""
    schema, value = node.schema, node.value
    kinds = types(schema)
    # An object for a scalar, a text for anything else; what a lenient server takes of these, `_loses_nothing` knows.
    yield ("not-an-object" if kinds & {"object", "array"} else {"not": "a scalar"}), "of the wrong type"
    if "null" in kinds:
        yield None, "null"
    yield from ((item, "not one of the values") for item in schema.get("enum", [])[:_MOST_VALUES])
    if "enum" in schema or "const" in schema:
        named = schema.get("enum", [schema.get("const")])
        yield from ((near, "not one of the values") for item in named[:2] for near in _neighbours(item))
        return
    if isinstance(value, bool):
        yield not value, "of the wrong value"
    elif isinstance(value, int | float):
        yield from _numbers(schema, is_integer="integer" in kinds and "number" not in kinds)
    elif isinstance(value, str):
        yield from _texts(schema, value)
    elif isinstance(value, list):
        yield from _lists(schema, value)


def _neighbours(item: Any) -> Iterator[Any]:
    """Yield values near one of an `enum`, none of which a lenient server can take for it."""
    if isinstance(item, str):
        yield f"{item}_x"
        if len(item) > 1:
            yield item[:-1]
    elif isinstance(item, int | float) and not isinstance(item, bool):
        yield item + 1_000_003


def _numbers(schema: Schema, *, is_integer: bool) -> Iterator[tuple[int | float, str]]:
    step: int | float = 1 if is_integer else 0.5
    bounds = (("minimum", -1, "below"), ("exclusiveMinimum", 1, "below"), ("maximum", 1, "above"))
    for word, direction, side in (*bounds, ("exclusiveMaximum", -1, "above")):
        bound = schema.get(word)
        if isinstance(bound, int | float) and abs(bound) < _SAFE:
            yield bound, f"{side} the allowed values"
            yield bound + direction * step, f"{side} the allowed values"
    multiple = schema.get("multipleOf")
    if isinstance(multiple, int) and multiple > 1:
        yield multiple * 2, "of the wrong value"
        yield multiple * 2 + 1, "not a multiple"
    if is_integer:
        yield from (
            (number, "out of range")
            for number in (0, MANY, _MILLION, -_SAFE, _SAFE + 1, _SAFE, -_SAFE - 1, 1 - _SAFE, _SAFE - 1)
        )
        yield 1.5, "not an integer"
    else:
        yield from ((number, "out of range") for number in _WITH_FRACTIONS)


def _texts(schema: Schema, value: str) -> Iterator[tuple[str, str]]:
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength")
    yield "", "empty"
    if shortest:
        yield _of_length(value, shortest), "too short"
        yield _of_length(value, shortest - 1), "too short"
    if isinstance(longest, int) and longest <= _MOST_CHARACTERS:
        yield from ((fill * longest, "too long") for fill in ("x", _ASTRAL))
        yield _of_length(value, longest), "too long"
        yield _of_length(value, longest + 1), "too long"
    if "pattern" in schema:
        yield from ((near, "not of the form that is required") for near in (f"{value}~", f"~{value}", "\u00a7"))


def _of_length(text: str, length: int, fill: str = "x") -> str:
    return (text + fill * length)[:length]


def _lists(schema: Schema, value: list[Any]) -> Iterator[tuple[list[Any], str]]:
    fewest, most = schema.get("minItems", 0), schema.get("maxItems")
    yield [], "empty"
    if fewest and value:
        yield (value * fewest)[:fewest], "too short"
        yield (value * fewest)[: fewest - 1], "too short"
    if isinstance(most, int) and most <= _MOST_ITEMS and value:
        yield (value * (most + 1))[:most], "too long"
        yield (value * (most + 1))[: most + 1], "too long"


def _members(node: Node, base: Arguments) -> Iterator[_Change]:
    """Yield changes in which members are missing or too many."""
    if not isinstance(node.value, dict):
        return
    for name in node.schema.get("required", ()):
        if name in node.value:
            path = (*node.path, name)
            yield _Change(removed(base, path), path, f"{_named(path)} missing")
    for name in node.value:
        if name not in node.schema.get("required", ()):  # right, unless another constraint needs it
            yield _Change(removed(base, (*node.path, name)), None, f"{_named((*node.path, name))} missing")
    if node.path and isinstance(extra := node.schema.get("additionalProperties"), dict) and types(extra):
        value: Any = "not-an-object" if types(extra) & {"object", "array"} else {"not": "a scalar"}
        path = (*node.path, "a/b~c")  # a name that a JSON Pointer has to escape
        yield _Change(replaced(base, path, value), path, f"{_named(path)} of the wrong type")
    if node.schema.get("additionalProperties") is False:
        path = (*node.path, "xmcp_no_such_argument")
        yield _Change(replaced(base, path, 1), path, f"{_named(path)} unknown")
