"""Combine values of the parameters of a tool: what a server does to one value often depends on another.

Each parameter has a few values of interest; the members of an object are parameters of their own. First come a few
calls that have each pair of values at least once, then the pairs one at a time, with all other parameters as in
arguments that succeeded.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations, islice, product
from typing import Any, Final, TypeAlias

from .hostile_arguments import Hostile
from .hostile_texts import ALL, SHORT, UNMARKED, marked
from .input_schema import Arguments, Path, Schema, fitting, removed, replaced, resolve, sendable, types
from .refusals import UNBOUNDED_ITEMS
from .schema_strategies import MANY

Pair: TypeAlias = tuple[tuple[Path, int], tuple[Path, int]]
"""Two parameters, each with the number of one of its values."""
Row: TypeAlias = dict[Path, Any]
"""Values of some parameters; `_ABSENT` for one that is left out."""

_MOST_VALUES: Final = 9
_MOST_PARAMETERS: Final = 8
_MOST_DRAWN: Final = 2
_ABSENT: Final = object()
_NUMBERS: Final = (0, 1, 2, 11, -1, 1_000, 0.1, -2.5, 9_999.678)
_DATES: Final = {
    "date": ("2024-02-29", "1999-12-31"),
    "date-time": ("2024-02-29T23:59:59.5Z", "1999-12-31T00:00:00-11:30"),
    "time": ("23:59:59.5Z", "00:00:00-11:30"),
}
"""Values that are right and unusual, by their `format`."""


class Values:
    """The values of interest of each parameter of a tool."""

    def __init__(self, schema: Schema, base: Callable[[], Arguments], others: Sequence[Arguments] = ()) -> None:
        """Combine values.

        Args:
            schema: the input schema.
            base: returns arguments that fit it, for what is not combined.
            others: more of them, for values that the schema does not name.
        """
        self._schema, self._base, self._others = schema, base, others

    def pairs(self) -> Iterator[Hostile]:
        """Yield right arguments in which each two values of different parameters stand together at least once."""
        yield from self._made(lambda known: chain(_rows(known), _pairs(known)))

    def each(self) -> Iterator[Hostile]:
        """Yield right arguments in which each value stands at least once, of all parameters at the same time."""
        yield from self._made(_each)

    def _made(self, combine: Callable[[dict[Path, list[Any]]], Iterator[Row]]) -> Iterator[Hostile]:
        fits = fitting(self._schema)
        if fits is None:
            return
        base = self._base()
        paths = list(self._parameters(base))
        values = ((path, list(self._of(path, number, base, fits))) for number, path in enumerate(paths))
        known = dict(islice(((path, found) for path, found in values if found), _MOST_PARAMETERS))
        for row in combine(known):
            arguments = base
            for path, value in row.items():
                arguments = removed(arguments, path) if value is _ABSENT else replaced(arguments, path, value)
            if sendable(arguments) and fits(arguments):
                traps = (value for value in row.values() if isinstance(value, str) and value in _TRAPS)
                yield Hostile(arguments, tuple(dict.fromkeys(traps)))

    def _parameters(self, base: Arguments) -> Iterator[Path]:
        """Yield the parameters, and in the place of one with an object its members, unless there are examples of it."""
        for name in self._schema.get("properties", {}):
            own = self._own((name,))
            members = own.get("properties") if isinstance(base.get(name), dict) and "examples" not in own else None
            if isinstance(members, dict) and members:
                yield from ((name, member) for member in members)
            else:
                yield (name,)

    def _own(self, path: Path) -> Schema:
        """Return the schema of a parameter; empty where it cannot be found."""
        own: Any = self._schema
        try:
            for name in path:
                own = resolve(own["properties"][name], self._schema)
        except (ValueError, LookupError, TypeError):
            return {}
        return own if isinstance(own, dict) else {}

    def _of(self, path: Path, number: int, base: Arguments, fits: Callable[[Any], bool]) -> Iterator[Any]:
        """Yield the values of interest of a parameter: those that fit where all others are as in the base."""
        drawn = [value for one in (base, *self._others) if (value := _at(one, path)) is not _ABSENT]
        seen: set[str] = set()
        kept = 0
        for candidate in chain(drawn[:1], _candidates(self._own(path), drawn, min(number, _MOST_PARAMETERS))):
            key = json.dumps(candidate)
            if kept < _MOST_VALUES and key not in seen and fits(replaced(base, path, candidate)):
                seen.add(key)
                kept += 1
                yield candidate
        if _at(base, path) is not _ABSENT and fits(removed(base, path)):
            yield _ABSENT


def _at(arguments: Arguments, path: Path) -> Any:
    """Return the value of a parameter in arguments; `_ABSENT` where they have none."""
    value: Any = arguments
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return _ABSENT
        value = value[name]
    return value


_TRAPS: Final = frozenset((UNMARKED, *SHORT, *(marked(ALL, number) for number in range(_MOST_PARAMETERS + 1))))


def _candidates(own: Schema, drawn: list[Any], place: int) -> Iterator[Any]:
    """Yield values that may fit a parameter: those that its schema names, borders, texts, others that were drawn."""
    # In another dialect, `examples` can be anything.
    named = [own[word] for word in ("enum", "examples") if isinstance(own.get(word), list)]
    yield from (item for items in named for item in items)
    numbers = [own[word] for word in ("minimum", "maximum") if isinstance(own.get(word), int | float)]
    yield from (number for number in numbers if abs(number) <= MANY)
    if "enum" in own:
        return
    lists = [value for value in drawn if isinstance(value, list)]
    if any(lists):
        longest: list[Any] = max(lists, key=len)
        most = own["maxItems"] if isinstance(own.get("maxItems"), int) else UNBOUNDED_ITEMS
        yield from (longest, (longest * UNBOUNDED_ITEMS)[: max(0, min(most, UNBOUNDED_ITEMS))])
    each = own.get("items")
    if isinstance(each, dict) and isinstance(each.get("enum"), list):
        yield each["enum"][: own["maxItems"] if isinstance(own.get("maxItems"), int) else None]
    is_text = not types(own) or "string" in types(own)
    dates = _DATES.get(own.get("format", ""), ()) if isinstance(own.get("format", ""), str) else ()
    yield from dates
    yield from (UNMARKED, marked(ALL, place), "") if is_text and not dates else ()
    yield from drawn[1 : _MOST_DRAWN + 1]
    yield from (None, [], True, False)
    yield from _NUMBERS
    yield from SHORT if is_text and not dates and own.keys() & {"maxLength", "pattern", "format"} else ()


def _rows(values: dict[Path, list[Any]]) -> Iterator[Row]:
    """Yield rows that have each pair of values at least once, begun so that each value comes early.

    A parameter that adds no pair is left as it is. Of a single parameter, each value is a row.
    """
    names = list(values)
    left: dict[Pair, None] = {
        ((one, first), (other, second)): None
        for one, other in combinations(names, 2)
        for first, second in product(range(len(values[one])), range(len(values[other])))
    }
    if len(names) == 1:
        yield from ({names[0]: value} for value in values[names[0]])
    used: Counter[tuple[Path, int]] = Counter()
    while left:
        seldom: Pair = min(left, key=lambda pair: used[pair[0]] + used[pair[1]])
        row: dict[Path, int] = dict(seldom)
        for name in names:
            if name not in row:
                gains = [(_gain(left, row, (name, number)), -used[name, number]) for number in range(len(values[name]))]
                if max(gains)[0]:
                    row[name] = gains.index(max(gains))
        used.update(row.items())
        in_order = [(name, row[name]) for name in names if name in row]
        for pair in combinations(in_order, 2):
            left.pop(pair, None)
        yield {name: values[name][number] for name, number in in_order}


def _gain(left: dict[Pair, None], row: dict[Path, int], choice: tuple[Path, int]) -> int:
    return sum(((name, number), choice) in left or (choice, (name, number)) in left for name, number in row.items())


def _pairs(values: dict[Path, list[Any]]) -> Iterator[Row]:
    """Yield each pair of values alone."""
    for one, other in combinations(values, 2):
        for first, second in product(values[one], values[other]):
            yield {one: first, other: second}


def _each(values: dict[Path, list[Any]]) -> Iterator[Row]:
    """Yield so many rows as a parameter has values, in which each value of each parameter stands at least once."""
    for number in range(max(map(len, values.values()), default=0)):
        yield {name: known[number % len(known)] for name, known in values.items()}


class Surroundings:
    """Puts a change of arguments among others with which the tool succeeded: what goes wrong can need both."""

    def __init__(self, schema: Schema, succeeded: Callable[[], Sequence[Arguments]]) -> None:
        """Put changes among arguments that `succeeded` returns, and that fit `schema` with the change."""
        self._fits, self._succeeded, self._number = fitting(schema), succeeded, 0

    def __call__(self, base: Arguments, changed: Arguments) -> Arguments:
        """Return `changed`, a change of `base`, with the other arguments as in the next call that succeeded."""
        known = self._succeeded()
        if not known or self._fits is None:
            return changed
        self._number += 1
        other = dict(known[self._number % len(known)])
        for name in {*base, *changed}:
            if name in base and name in changed and base[name] == changed[name]:
                continue
            other.pop(name, None)
            if name in changed:
                other[name] = changed[name]
        return other if self._fits(other) else changed
