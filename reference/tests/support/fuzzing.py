"""What the fuzzers of `tests/fuzz` share: how many examples, and strategies that damage a valid value.

A value that is nearly right comes further into a program than a random one, so every fuzzer begins with a valid value.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("XMCP_FUZZ_EXAMPLES", "0"))
"""Number of examples of each fuzzer; 0: a few, for every run of the tests."""

SECONDS = 60.0
"""Maximum time for one example; far more than any needs, so that only a program that hangs exceeds it."""


def fuzzing(few: int) -> Callable[[Any], Any]:
    """Return the settings of a fuzzer: `few` examples, or as many as `XMCP_FUZZ_EXAMPLES` says."""
    return settings(
        max_examples=EXAMPLES or few,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
    )


TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["", "\x1b[2J", "\ud800", "x\udfff", "\x00", "é", "🙂", "a" * 5000, "]]>", "<display>", "null", "1"]
    ),
)
NUMBERS = st.one_of(st.integers(), st.sampled_from([0, -1, 2**63, 2**64, 10**400, 1e308, 0.1, 1 << 53, float("inf")]))
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
ANY_JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=8
)


def nested(depth: int) -> Any:
    """Return lists in each other."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


@st.composite
def damaged(draw: st.DrawFn, valid: st.SearchStrategy[Any]) -> Any:
    """Draw a valid JSON value in which some members are replaced, removed, added, doubled or wrapped."""
    value = copy.deepcopy(draw(valid))
    for _ in range(draw(st.integers(0, 3))):
        places = [*_places(value)]
        if not places:
            return draw(ANY_JSON)
        container, key = draw(st.sampled_from(places))
        match draw(st.sampled_from(["replace", "replace", "remove", "add", "double", "wrap", "nest"])):
            case "replace":
                container[key] = draw(ANY_JSON)
            case "remove":
                del container[key]
            case "add" if isinstance(container, dict):
                container[draw(TEXTS)] = draw(ANY_JSON)
            case "double" if isinstance(container, list):
                container.insert(key, copy.deepcopy(container[key]))
            case "nest":
                container[key] = nested(draw(st.sampled_from([5, 70, 150])))
            case _:
                container[key] = draw(st.sampled_from([[container[key]], {"": container[key]}]))
    return value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container in `value` with each of its keys."""
    for key in [*value] if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _places(value[key])


@st.composite
def damaged_bytes(draw: st.DrawFn, valid: st.SearchStrategy[bytes]) -> bytes:
    """Draw valid bytes of which some are replaced, removed, doubled or cut off."""
    data = draw(valid)
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        stop = min(len(data), start + draw(st.integers(0, 12)))
        match draw(st.sampled_from(["replace", "insert", "remove", "double", "cut"])):
            case "replace":
                data = data[:start] + draw(st.binary(max_size=6)) + data[stop:]
            case "insert":
                data = data[:start] + draw(st.sampled_from(_TOKENS)) + data[start:]
            case "remove":
                data = data[:start] + data[stop:]
            case "double":
                data = data[:stop] + data[start:]
            case _:
                data = data[:start]
    return data


_TOKENS = (
    b"\n\n",
    b"\r",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b'"',
    b"{",
    b"]",
    b"<",
    b"&#0;",
    b"]]>",
    b"&a;",
    b"1e999",
)


def as_bytes(value: Any) -> bytes:
    """Return the JSON of a value, lone surrogates as escapes."""
    return json.dumps(value).encode()
