"""Copies of arguments share nothing with the original, and change no value that is not JSON's."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import date
from enum import Enum, StrEnum
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmcp.chat.json_values import copied_arguments, copied_json, copied_value

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.dictionaries(st.text(), JSON))
def test_the_three_copies_are_equal_to_the_original(value: dict[str, Any]) -> None:
    for copy in (copied_arguments, copied_json, copied_value):
        made = copy(value)
        assert made == value
        assert repr(made) == repr(value)  # true is not 1, and 1.0 is not 1


@pytest.mark.parametrize("copy", [copied_arguments, copied_json, copied_value])
def test_a_list_that_occurs_twice_is_copied_twice(copy: Any) -> None:
    twice = [1]
    made = copy({"a": twice, "b": twice})
    made["a"].append(2)
    assert (twice, made["b"]) == ([1], [1])


class Text(str):
    __slots__ = ()


class Whole(int):
    pass


class Number(float):
    pass


class Names(list[str]):
    pass


class Region(StrEnum):
    EMEA = "emea"


class Column(np.str_, Enum):  # type: ignore[misc]
    NAME = "name"


@dataclass
class Point:
    x: int


@pytest.mark.parametrize("within", [lambda value: value, lambda value: [[value]], lambda value: {"b": value}])
@pytest.mark.parametrize(
    "other",
    [
        *(np.str_("EMEA"), np.float64(2.5), np.int64(3), np.bool_(True)),
        *(Text("s"), Whole(3), Number(2.5), Names(["n"]), OrderedDict(a=1), Region.EMEA, Column.NAME, Point(1)),
    ],
)
def test_a_value_of_a_subclass_keeps_its_type(other: Any, within: Any) -> None:
    given_value = {"a": within(other), "c": [1]}
    made = copied_arguments(given_value)
    assert repr(made) == repr(given_value)
    assert made["c"] is not given_value["c"]


@pytest.mark.parametrize("name", [np.str_("EMEA"), Text("s")])
def test_a_name_of_a_subclass_keeps_its_type(name: str) -> None:
    assert [*map(type, copied_arguments({"a": {name: 1}})["a"])] == [type(name)]


@pytest.mark.parametrize(
    "other", [bytearray(b"ab"), np.arange(3), date(2026, 1, 2), {"c"}, ("d", ["e"]), 2**80, "\ud800"]
)
def test_a_value_that_is_not_jsons_keeps_its_type(other: Any) -> None:
    made = copied_arguments({"a": other, "b": [1]})
    assert type(made["a"]) is type(other)
    assert repr(made["a"]) == repr(other)
