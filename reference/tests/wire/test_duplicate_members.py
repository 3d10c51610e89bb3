"""A duplicate member of an object is found, independent of the rest of the JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmcp.wire.jsontext import load_json

NAMES = st.sampled_from(["a", "b", "", ":", '":', 'a":', "a\\", "é", "\u2028", "a:b", '"', "<"])
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.just(10**400)
LEAVES = st.none() | st.booleans() | NUMBERS | NAMES


class Members(list[tuple[str, Any]]):
    """An object with its members in order, the same name as often as it likes."""


VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(NAMES, inner), max_size=4).map(Members),
    max_leaves=12,
)


def quoted(text: str, style: int) -> str:
    """A JSON string; the style says which characters are escaped although they need not be."""
    written = json.dumps(text, ensure_ascii=style != 1)
    return written.replace(":", "\\u003a" if style == 2 else "\\u003A") if style in (2, 3) else written


def written(value: Any, style: int, space: str) -> str:
    if isinstance(value, Members):
        members = (f"{quoted(name, style)}{space}:{space}{written(item, style, space)}" for name, item in value)
        return "{" + f",{space}".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(written(item, style, space) for item in value) + "]"
    return quoted(value, style) if isinstance(value, str) else json.dumps(value)


def has_twins(value: Any) -> bool:
    if isinstance(value, Members):
        names = [name for name, _ in value]
        return len(set(names)) < len(names) or any(has_twins(item) for _, item in value)
    return isinstance(value, list) and any(map(has_twins, value))


def plain(value: Any) -> Any:
    if isinstance(value, Members):
        return {name: plain(item) for name, item in value}
    return [plain(item) for item in value] if isinstance(value, list) else value


@pytest.mark.slow
@settings(max_examples=1000)
@given(VALUES, st.integers(0, 3), st.sampled_from(["", " ", "\n\t"]))
def test_it_is_refused_and_nothing_else_is(value: Any, style: int, space: str) -> None:
    text = written(value, style, space)
    if has_twins(value):
        with pytest.raises(ValueError, match="key"):
            load_json(text, 64)
    else:
        assert load_json(text, 64) == plain(value)


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":2}',
        '{"a":":","a":2}',
        '{"a":"\\u003a\\u003a","a":"::"}',
        '{"a":"\\u003A","b":{"c":1,"c":2}}',
        '{"a":1,"\\u0061":2}',
        '{"a" :1,"a":2}',
        '[123456789012345678901234567890,{"a":1,"a":2}]',
        "[" * 70 + '{"a":1,"a":2}' + "]" * 70,
    ],
)
def test_no_spelling_hides_it(text: str) -> None:
    with pytest.raises(ValueError, match="key"):
        load_json(text, 100)
