"""Put hostile texts into arguments: into each place that takes any text, and into places that have to refuse them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from .hostile_texts import ALL, DENSE, HOSTILE, LONGEST_BUFFER, SHORT, WIDE, long_text, marked
from .input_schema import Arguments, Path, Schema, fitting, nodes, removed, replaced

_MOST_PLACES: Final = 24
_MOST_LONG: Final = 4
_FORMS: Final = (
    *("date-time", "date", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6"),
    *("uri", "uri-reference", "iri", "iri-reference", "uri-template", "uuid", "json-pointer", "regex"),
)
_WHERE_REFUSED: Final = ("markup", "cdata-end", "control", "forged-display")
"""The hostile texts that a place gets which has to refuse them: a message may quote what it refuses."""


@dataclass(frozen=True, slots=True)
class TextPlace:
    """A place in arguments: a value, or with `is_name` the name of a member."""

    path: Path
    is_name: bool = False
    has_form: bool = False
    """Whether the schema names a `format` that texts have to have: many servers refuse others, and some take them."""

    def put(self, arguments: Arguments, text: str) -> Arguments:
        """Return arguments with a text in this place."""
        if not self.is_name:
            return dict(replaced(arguments, self.path, text))
        value: Any = arguments
        for part in self.path:
            value = value[part]
        return dict(replaced(removed(arguments, self.path), (*self.path[:-1], text), value))


@dataclass(frozen=True, slots=True)
class Hostile:
    """Arguments with hostile texts. `traps` are these texts, each with its marks, as they are sent."""

    arguments: Arguments
    traps: tuple[str, ...]


def text_places(schema: Schema, base: Arguments, fits: Callable[[Any], bool]) -> list[TextPlace]:
    """Return the places of right arguments that take any text, of which some may have to be short."""
    found = []
    try:
        for node in nodes(base, schema):
            if isinstance(node.value, str) and node.path:
                found.append(TextPlace(node.path, has_form=node.schema.get("format") in _FORMS))
            if isinstance(node.value, dict):
                free = [name for name in node.value if name not in node.schema.get("properties", {})]
                found += [TextPlace((*node.path, name), is_name=True) for name in free]
    except (ValueError, LookupError, TypeError):  # the schema is wrong, or refers to nothing
        return []
    takes_text = (place for place in found if any(fits(place.put(base, text)) for text in (marked(""), *SHORT)))
    return list(islice(takes_text, _MOST_PLACES))


def hostile(schema: Schema, base: Arguments) -> Iterator[Hostile]:
    """Yield right arguments with hostile texts: a long one, each in all places at once, all in one place at a time.

    Args:
        schema: the input schema.
        base: arguments that fit it.
    """
    fits = fitting(schema)
    if fits is None:
        return
    every = text_places(schema, base, fits)
    places = [place for place in every if not place.has_form] or every
    long_ones = _long(base, places[:_MOST_LONG], fits)
    yield from islice(long_ones, 1)
    for text in (WIDE, DENSE):
        filled = (_alone(base, place, marked(text)) for place in places)
        yield from islice((one for one in filled if fits(one.arguments)), 1)
    # A budget that ends these early has some of both.
    together = (one for text in HOSTILE.values() for one in _together(base, places, text, fits))
    alone = _each_alone(base, every, fits)
    for number, one in enumerate(together):
        yield one
        yield from islice(alone, 1)
        yield from islice(long_ones, number % 2 == 0)
    yield from alone
    yield from long_ones


def hostile_everywhere(schema: Schema, base: Arguments) -> Iterator[Hostile]:
    """Yield right arguments with all hostile texts in all places at once, and in one place at a time."""
    if (fits := fitting(schema)) is not None:
        places = text_places(schema, base, fits)
        yield from _together(base, places, ALL, fits)
        yield from _each_alone(base, places, fits)


def _long(base: Arguments, places: list[TextPlace], fits: Callable[[Any], bool]) -> Iterator[Hostile]:
    """Yield arguments with a long text in each place, as long as the place takes one."""
    for number, place in enumerate(places):
        for length in (LONGEST_BUFFER, LONGEST_BUFFER // 4, LONGEST_BUFFER // 8, LONGEST_BUFFER // 16):
            if fits((one := _alone(base, place, long_text(number, length))).arguments):
                yield one
                break


def _each_alone(base: Arguments, places: list[TextPlace], fits: Callable[[Any], bool]) -> Iterator[Hostile]:
    for number, place in enumerate(places):
        alone = [_alone(base, place, marked(ALL, number))] if len(places) > 1 else []
        if not fits(place.put(base, marked(""))):
            alone = [_alone(base, place, text) for text in SHORT]
        yield from (one for one in alone if fits(one.arguments))


def _alone(base: Arguments, place: TextPlace, text: str) -> Hostile:
    return Hostile(place.put(base, text), (text,))


def _together(base: Arguments, places: list[TextPlace], text: str, fits: Callable[[Any], bool]) -> Iterator[Hostile]:
    arguments: Arguments = base
    traps: list[str] = []
    # Names last: the path of a place below a name holds only as long as the name does.
    for number, place in sorted(enumerate(places), key=lambda item: (item[1].is_name, -len(item[1].path))):
        sent = marked(text, number)
        changed = place.put(arguments, sent)
        if fits(changed):
            arguments, traps = changed, [*traps, sent]
    if traps:
        yield Hostile(arguments, tuple(traps))


def refused_texts(name: str) -> Iterator[Hostile]:
    """Yield a single argument `name` with each hostile text that a message about it may quote."""
    for text in (*(HOSTILE[known] for known in _WHERE_REFUSED), WIDE):
        sent = marked(text)
        yield Hostile({name: sent}, (sent,))
