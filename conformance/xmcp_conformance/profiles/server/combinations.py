"""Combine values of the parameters of a tool: what a server does to one value often depends on another.

Each parameter has a few values of interest. First come a few calls that have each pair of values at least once, then
the pairs one at a time, with all other parameters as in arguments that succeeded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations, islice, product
from typing import Any, Final, TypeAlias

from .hostile_arguments import Hostile
from .hostile_texts import ALL, UNMARKED, marked
from .input_schema import Arguments, Schema, fitting, resolve, sendable
from .schema_strategies import MANY

Pair: TypeAlias = tuple[tuple[str, int], tuple[str, int]]
"""Two parameters, each with the number of one of its values."""

_MOST_VALUES: Final = 8
_MOST_PARAMETERS: Final = 8
_ABSENT: Final = object()


def combined(schema: Schema, base: Arguments, others: Sequence[Arguments] = ()) -> Iterator[Hostile]:
    """Yield right arguments that combine values of interest.

    Args:
        schema: the input schema.
        base: arguments that fit it.
        others: more of them, for values that the schema does not name.
    """
    fits = fitting(schema)
    if fits is None:
        return
    values = ((name, list(_values(name, schema, base, others, fits))) for name in schema.get("properties", {}))
    of_interest = dict(islice(((name, known) for name, known in values if known), _MOST_PARAMETERS))
    names = list(of_interest)
    seen: set[str] = set()
    for row in chain(_rows(names, of_interest), _pairs(names, of_interest)):
        arguments = dict(base)
        for name, value in row.items():
            if value is _ABSENT:
                arguments.pop(name, None)
            else:
                arguments[name] = value
        key = json.dumps(arguments, sort_keys=True)
        if key not in seen and sendable(arguments) and fits(arguments):
            seen.add(key)
            traps = (value for value in row.values() if isinstance(value, str) and value in _MARKED)
            yield Hostile(arguments, tuple(dict.fromkeys(traps)))


_MARKED: Final = frozenset(marked(ALL, number) for number in range(_MOST_PARAMETERS + 1))


def _values(
    name: str, schema: Schema, base: Arguments, others: Sequence[Arguments], fits: Callable[[Any], bool]
) -> Iterator[Any]:
    """Yield the values of interest of a parameter: those that fit where all others are as in the base."""
    try:
        own = resolve(schema["properties"][name], schema)
    except (ValueError, LookupError, TypeError):
        return
    place = min(list(schema["properties"]).index(name), _MOST_PARAMETERS)
    # In another dialect, `examples` can be anything.
    named = [own[word] for word in ("enum", "examples") if isinstance(own.get(word), list)]
    candidates: list[Any] = [*([base[name]] if name in base else []), *(item for items in named for item in items)]
    numbers = [own[word] for word in ("minimum", "maximum") if isinstance(own.get(word), int | float)]
    candidates += [number for number in numbers if abs(number) <= MANY]
    if "enum" not in own:
        candidates += [True, False, 0, UNMARKED, marked(ALL, place), "", None, []]
    lists = [one[name] for one in (base, *others) if isinstance(one.get(name), list)]
    if any(lists):
        longest: list[Any] = max(lists, key=len)
        candidates += [longest, longest * 3]
    seen: set[str] = set()
    kept = 0
    for candidate in candidates:
        key = json.dumps(candidate)
        if kept < _MOST_VALUES and key not in seen and fits({**base, name: candidate}):
            seen.add(key)
            kept += 1
            yield candidate
    if name in base and fits({other: value for other, value in base.items() if other != name}):
        yield _ABSENT


def _rows(names: list[str], values: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Yield rows that have each pair of values at least once; a parameter that adds no pair is left as it is.

    Of a single parameter, each value is a row.
    """
    left: set[Pair] = {
        ((one, first), (other, second))
        for one, other in combinations(names, 2)
        for first, second in product(range(len(values[one])), range(len(values[other])))
    }
    if len(names) == 1:
        yield from ({names[0]: value} for value in values[names[0]])
    while left:
        row = dict(min(left, key=lambda pair: [(names.index(name), number) for name, number in pair]))
        for name in names:
            if name not in row:
                gains = [_gain(left, row, (name, number)) for number in range(len(values[name]))]
                if max(gains):
                    row[name] = gains.index(max(gains))
        left -= {pair for pair in left if all(row.get(name) == number for name, number in pair)}
        yield {name: values[name][number] for name, number in row.items()}


def _gain(left: set[Pair], row: dict[str, int], choice: tuple[str, int]) -> int:
    return sum(((name, number), choice) in left or (choice, (name, number)) in left for name, number in row.items())


def _pairs(names: list[str], values: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Yield each pair of values alone."""
    for one, other in combinations(names, 2):
        for first, second in product(values[one], values[other]):
            yield {one: first, other: second}
