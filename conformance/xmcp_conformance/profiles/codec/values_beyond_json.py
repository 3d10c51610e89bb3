"""Vectors of values that JSON does not have, such as bytes and dates: each is written alone, or refused.

What a codec has to write follows from section 2.4 alone, and from the parts that a value is put together from here. A
vector names the sentence that is about its value.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, count, zip_longest
from random import Random
from typing import Any, Final

from .vectors import Vector

_SAFE: Final = 2**53 - 1


@dataclass(frozen=True, slots=True)
class _Value:
    """A value with tags, and what a reader gets of it."""

    kind: str
    requirement: str
    given: Any
    delivered: Any = None
    lossy: bool = False
    refused: bool = False


def values_beyond_json(seed: int) -> Iterator[Vector]:
    """Yield vectors of the direction encode without end, the same for the same seed: fixed values, then drawn ones."""
    random = Random(f"{seed} values")  # noqa: S311 - no secret
    # One of each kind at a time, so that a short run has all kinds.
    fixed = ((value, _PLACES[0]) for values in zip_longest(*_FIXED) for value in values if value)
    drawn = ((random.choice(_DRAWN)(random), random.choice(_PLACES)) for _ in count())
    # Each element has some of each kind, although the kinds come in turn, too.
    return (
        _vector(number, value, place, _ELEMENTS[(number + number // len(_FIXED)) % len(_ELEMENTS)])
        for number, (value, place) in enumerate(chain(fixed, drawn), 1)
    )


def _vector(number: int, value: _Value, place: tuple[_Place, _Place], shown: Callable[[Any], Any]) -> Vector:
    within, read = place
    delivered = {**shown(read(value.delivered)), "lossy": value.lossy}
    expect = {"refused": True} if value.refused else {"response": delivered}
    case = {"response": shown(within(value.given)), "expect": expect}
    return Vector(f"drawn-{value.kind}-{number}", 0, "encode", (value.requirement,), case)


_ERROR: Final = {"code": "X", "message": "m", "retryable": False, "category": "internal"}
_ELEMENTS: Final[tuple[Callable[[Any], dict[str, Any]], ...]] = (
    lambda value: {"tool_name": "t", "display": {"type": "json", "payload": value}},
    lambda value: {"tool_name": "t", "error": {**_ERROR, "meta": {"params": {"a": value}}}},
    lambda value: {"tool_name": "t", "llm_output": "a", "server_populated": {"values": {"a": value}}},
    lambda value: {"tool_name": "t", "display": {"type": "text", "payload": "p", "meta": {"acme/a": value}}},
)
"""Where a response holds JSON whose values can be of any kind."""


_Place = Callable[[Any], Any]
_PLACES: Final[tuple[tuple[_Place, _Place], ...]] = (
    *(
        (same, same)
        for same in (
            lambda value: {"v": value},
            lambda value: [value],
            lambda value: {"a": [{"b": value, "c": 1}, None]},
            lambda value: [[], [0, value, "<&>"]],
        )
    ),
    (lambda value: {"$pairs": [[7, value], ["a", 1]]}, lambda value: {"7": value, "a": 1}),
)
"""How a value stands in a larger one that is given, and how what a reader gets of it stands in what it gets of that."""


def _bytes(content: bytes) -> _Value:
    text = base64.b64encode(content).decode("ascii")
    return _Value("bytes", "XMCP-RSP-047", {"$bytes": text}, text)


def _date(day: str) -> _Value:
    return _Value("date", "XMCP-RSP-048", {"$date": day}, day)


def _instant(day: str, time: str, offset: int | None) -> _Value:
    """Return a date with a time.

    Args:
        day: the date.
        time: the time. A fraction does not end in a zero: RFC 3339 has the same time without it.
        offset: minutes; none for a time without one.
    """
    given = written = ""
    if offset is not None:
        given = f"{'-' if offset < 0 else '+'}{abs(offset) // 60:02}:{abs(offset) % 60:02}"
        written = given if offset else "Z"
    moment = f"{day}T{time}"
    return _Value("datetime", "XMCP-RSP-048", {"$datetime": moment + given}, moment + written)


def _decimal(number: str) -> _Value:
    # The judge takes every notation of JSON that has all these digits.
    return _Value("decimal", "XMCP-RSP-046", {"$decimal": number}, {"$decimal": number})


def _integer(number: int) -> _Value:
    return _Value("integer", "XMCP-RSP-043", {"$integer": str(number)}, str(number))


def _double(number: float) -> _Value:
    # A language in which every number is a double can write it as the string of its digits.
    return _Value("double", "XMCP-RSP-043", number, number)


def _no_number(name: str) -> _Value:
    return _Value("float", "XMCP-RSP-045", {"$float": name})


def _no_decimal(name: str) -> _Value:
    return _Value("decimal", "XMCP-RSP-045", {"$decimal": name})


def _tuple(items: list[Any]) -> _Value:
    return _Value("tuple", "XMCP-RSP-049", {"$tuple": items}, items)


def _numbered(*names: int | str) -> _Value:
    """Return an object with these member names, which stay different as digits."""
    return _Value("names", "XMCP-RSP-051", _pairs(names), {str(name): place for place, name in enumerate(names)})


def _replaced(*names: str) -> _Value:
    """Return an object with an unpaired surrogate in some of its names, which stay different without it."""
    delivered = {name.translate(_REPLACED): place for place, name in enumerate(names)}
    return _Value("names", "XMCP-RSP-053", _members(names), delivered, lossy=True)


def _equal(*names: int | str) -> _Value:
    """Return an object of whose member names two would be written the same."""
    texts = [name for name in names if isinstance(name, str)]
    given = _members(texts) if len(texts) == len(names) else _pairs(names)
    return _Value("names", "XMCP-RSP-052", given, refused=True)


def _misnamed(name: Any) -> _Value:
    return _Value("names", "XMCP-RSP-052", {"$pairs": [["a", 1], [name, 2]]}, refused=True)


def _opaque() -> _Value:
    return _Value("opaque", "XMCP-RSP-049", {"$opaque": True}, refused=True)


def _members(names: tuple[str, ...] | list[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(names)}


def _pairs(names: tuple[int | str, ...]) -> dict[str, Any]:
    tagged = [name if isinstance(name, str) or abs(name) <= _SAFE else {"$integer": str(name)} for name in names]
    return {"$pairs": [[name, place] for place, name in enumerate(tagged)]}


_REPLACED: Final = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
_OFFSETS: Final = (None, 0, 330, -210, -30, 840, 60, -720, 345, -570, 30)
_BEYOND: Final = (2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64, 10**21, 10**30, 2**128 + 1)

_IN_TUPLES: Final = (
    _Value("tuple", "XMCP-RSP-045", {"$tuple": [{"$float": "NaN"}]}, [None]),
    _Value("tuple", "XMCP-RSP-047", {"$tuple": [{"$bytes": "YQ=="}, 1]}, ["YQ==", 1]),
    _Value("tuple", "XMCP-RSP-048", {"$tuple": ["a", {"b": {"$date": "2026-01-02"}}]}, ["a", {"b": "2026-01-02"}]),
    _Value("tuple", "XMCP-RSP-043", {"$tuple": [{"$integer": "9007199254740993"}]}, ["9007199254740993"]),
    _Value("tuple", "XMCP-RSP-049", {"$tuple": [1, {"$opaque": True}]}, refused=True),
)
"""Values inside a tuple are written as they are elsewhere."""

_FIXED: Final = (
    [_bytes(bytes(reversed(range(256)))[:length]) for length in (3, 58, 0, 1, 2, 57, 76, 77, 200, 256)],
    [
        *(_instant("2026-01-02", "03:04:05", offset) for offset in _OFFSETS),
        *(_instant("2026-12-31", "23:59:59.000001", offset) for offset in _OFFSETS),
        _instant("0001-01-01", "00:00:00", None),
        _instant("9999-12-31", "00:00:00.999999", 0),
        _instant("0001-01-01", "00:00:00", 330),
        _instant("9999-12-31", "23:59:59", -210),
        _instant("2024-02-29", "01:02:03", None),
        _instant("2024-02-03", "00:00:00", 0),
        _instant("2024-02-03", "00:00:00", 60),
        _instant("2024-02-03", "01:01:01.5", 0),
    ],
    [_date(day) for day in ("2024-02-29", "0001-01-01", "9999-12-31", "1969-12-31")],
    [
        _decimal(number)
        for number in (
            *("1.10", "1E+3", "-0.5", "1E-7", "100", "-1.50E+20", "0", "0.00", "-7.5E-12", "1E+30"),
            *("1E+400", "-1E-400"),
            *("12345678901234567890.12345678901234567890", "0.1000000000000000055511151231257827", "9007199254740993"),
        )
    ],
    [_integer(number) for beyond in _BEYOND for number in (beyond, -beyond)],
    [_double(sign * number) for number in (2.0**53, 1e16, 1e20, 1e21, 2.0**60, 1e300) for sign in (1, -1)],
    [
        *(_no_number(name) for name in ("NaN", "Infinity", "-Infinity")),
        *(_no_decimal(name) for name in ("NaN", "Infinity", "-Infinity")),
    ],
    [*(_tuple(items) for items in ([1, "a"], [], [None], [[True], {"a": 1.5}])), *_IN_TUPLES],
    [
        _numbered(1),
        _numbered(0),
        _numbered(0, 1, 2),
        _Value("names", "XMCP-RSP-051", _members(["0", "1"]), _members(["0", "1"])),
        _numbered(0, -1, "a"),
        _numbered(1, "01", "1.0", "+1", " 1", "-1"),
        _numbered(_SAFE, 2**53, 2**64, -(10**21)),
    ],
    [
        _equal("a\ud800", "a\ufffd"),
        _equal(1, "1"),
        _equal("\ufffd", "b", "\udfff"),
        _equal("-5", "b", -5),
        _equal("a\ud800", "a\udc00"),
        _equal(2**64, str(2**64)),
    ],
    [_replaced("a\ud800"), _replaced("a\ud800", "b\ud800", "a"), _replaced("\udc00", "\udc00\udc00")],
    [
        _misnamed(name)
        for name in (
            None,
            1.5,
            True,
            {"$bytes": "YQ=="},
            {"$date": "2026-01-02"},
            {"$decimal": "1.5"},
            {"$float": "NaN"},
        )
    ],
    [_opaque()],
)
"""The values that are the first vectors, by kind. Each is small, because a report shows the first that fails."""


def _any_bytes(random: Random) -> _Value:
    return _bytes(random.randbytes(random.choice((0, 1, 57, 58, 76, 114, 115, 200, random.randrange(1_000)))))


def _any_day(random: Random) -> str:
    year = random.choice((random.randrange(1, 10_000), random.randrange(1_900, 2_100)))
    return f"{year:04}-{random.randrange(1, 13):02}-{random.randrange(1, 29):02}"


def _any_instant(random: Random) -> _Value:
    time = f"{random.randrange(24):02}:{random.randrange(60):02}:{random.choice((0, random.randrange(60))):02}"
    if random.random() < 0.5:
        time += f".{random.randrange(100_000):05}{random.randrange(1, 10)}"
    offset = random.choice((*_OFFSETS, random.randrange(-12 * 60, 14 * 60 + 1)))
    return _instant(_any_day(random), time, offset)


def _any_decimal(random: Random) -> _Value:
    sign = random.choice(("", "-"))
    digits = str(random.randrange(1, 10 ** random.randrange(1, 40)))
    form = random.randrange(3)
    if form == 0:
        return _decimal(f"{sign}{random.randrange(1_000)}.{digits}{random.choice(('', '0', '00'))}")
    if form == 1:
        return _decimal(f"{sign}{digits}")
    return _decimal(f"{sign}{digits[0]}.{digits}E{random.choice('+-')}{random.randrange(1, 60)}")


def _any_integer(random: Random) -> _Value:
    beyond = random.choice((random.choice(_BEYOND), _SAFE + 1 + random.getrandbits(random.randrange(1, 130))))
    return _integer(random.choice((1, -1)) * beyond)


def _any_tuple(random: Random) -> _Value:
    return _tuple([random.choice((None, True, 0, 1.5, "<&>", [], {"a": 1})) for _ in range(random.randrange(6))])


def _any_names(random: Random) -> _Value:
    number: int | str = random.choice((random.randrange(-20, 200), random.choice(_BEYOND)))
    half, other = (chr(random.randrange(0xD800, 0xE000)) for _ in range(2))
    name = random.choice(("", "a", "é", "<"))
    form = random.randrange(5)
    if form == 0:
        return _numbered(number, f"0{number}", -1_000)
    if form == 1:
        return _equal(*random.sample((number, str(number), "b"), 3))
    if form == 2:
        return _replaced(*random.sample((f"{name}{half}", f"{name}{half}c", name or "b"), 3))
    if form == 3:
        return _equal(*random.sample((f"{name}{half}", f"{name}\ufffd", "b"), 3))
    return _equal(f"{name}{half}", f"{name}{other}") if half != other else _equal(half, "\ufffd")


_DRAWN: Final[tuple[Callable[[Random], _Value], ...]] = (
    _any_bytes,
    _any_instant,
    lambda random: _date(_any_day(random)),
    _any_decimal,
    _any_integer,
    lambda random: _no_number(random.choice(("NaN", "Infinity", "-Infinity"))),
    _any_tuple,
    _any_names,
    lambda random: _misnamed(random.choice((None, random.random(), random.random() < 0.5, {"$tuple": [1]}))),
    lambda _: _opaque(),
)
