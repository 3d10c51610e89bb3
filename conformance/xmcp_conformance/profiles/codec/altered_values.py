"""JSON values that are altered in one place, and JSON that is not JSON."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any, Final

from xmcp_conformance.reader.schemas import validator

BAD_JSON: Final = (
    (
        *("[1,]", '{"a":1,}', "[,1]", "[1,,2]", "[1 2]", '{"a" 1}', '{"a"}', "{a:1}", "{1:2}", "{'a':1}", "[1}"),
        *("[1]]", "{}}", '"a" "b"', "\u00a01", "1\u2028", "\ufeff1", "[...]", "/*c*/1", "1//c\n", "#c\n1"),
    ),
    (
        *("NaN", "Infinity", "-Infinity", "nan", "True", "None", "nul", "undefined", "TRUE", ",", "-", "+1", "01"),
        *("-01", "00", ".5", "1.", "-.5", "1.e3", "1e", "1e+", "0x10", "1_000", "--1", "1a", "\u0663"),
    ),
    (
        *("'a'", '"a', '"a\\"', '"\\x41"', '"\\u12"', '"\\u{41}"', '"\\U00000041"', '"\\a"', '"\\0"', '"a\tb"'),
        *('"a\nb"', "`a`", "\u201ca\u201d", "b''", '"a"+"b"'),
    ),
    (
        *('"\\ud800"', '"a\\udc00"', '"\\ud800\\u0041"', '"\\udc00\\ud800"', '{"\\ud800":1}', '["\\ud83d","\\ude00"]'),
        *(
            '{"a":1,"a":1}',
            '{"a":1,"\\u0061":2}',
            '{"b":{"a":1,"a":null}}',
            '{"":1,"":2}',
            '[{"\u00e9":1,"\\u00e9":1}]',
        ),
    ),
)
"""What RFC 8259 or section 2.4 does not allow where a value is expected: what is around values, words and numbers,
strings, and what only section 2.4 forbids."""
_OTHERS: Final[tuple[Any, ...]] = (
    None,
    True,
    0,
    -1,
    1.5,
    "",
    " ",
    "x",
    "x" * 65,
    "x" * 201,
    "x" * 4001,
    [],
    [None],
    {},
    {"a": None},
)
_RAW: Final = "\u0001raw\u0001"


def with_raw(value: Any, path: tuple[str | int, ...], raw: str) -> str:
    """Return a value as JSON in which `raw` stands in the place of what is at `path`."""
    changed = copy.deepcopy(value)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = _RAW
    return json.dumps(changed).replace(json.dumps(_RAW), raw)


def altered_value(value: Any, random: Random) -> Any:
    """Return a copy of an object with another value in one place, without one member, or with one more item.

    Places near the root are as likely as all those deeper.
    """
    changed = copy.deepcopy(value)
    inner = changed
    while True:
        keys: list[Any] = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
        if not keys:
            break
        key = random.choice(keys)
        below = inner[key]
        if not isinstance(below, dict | list) or random.random() < 0.4:
            _alter(inner, key, random)
            return changed
        inner = below
    _add(inner, random)
    return changed


def _add(inner: Any, random: Random) -> None:
    """Add a member to an object, or an item to an array."""
    if isinstance(inner, dict):
        inner[random.choice(("type", "later", "acme/later", "Later", "", "a b"))] = copy.deepcopy(
            random.choice(_OTHERS)
        )
    else:
        inner.append(copy.deepcopy(random.choice(_OTHERS)))


def _alter(inner: Any, key: Any, random: Random) -> None:
    """Change what an object or an array has under a key."""
    kind = random.random()
    if kind < 0.1:
        _add(inner, random)
    elif kind < 0.2:
        del inner[key]
    elif kind < 0.3 and isinstance(inner, list):
        inner.append(copy.deepcopy(inner[key]))
    elif kind < 0.4:
        inner[key] = [inner[key]]
    elif kind < 0.5 and isinstance(inner[key], str):
        inner[key] = random.choice((inner[key].upper(), f"{inner[key]} ", f"9{inner[key]}", f"x-{inner[key]}"))
    else:
        inner[key] = copy.deepcopy(random.choice(_OTHERS))


def envelope_is_valid(value: Any) -> bool:
    """Return whether a reader accepts a value as a display envelope (XMCP-DSP-008)."""
    return bool(validator("display_envelope").is_valid(value))
