"""Copies of arguments share nothing with the original, and change no value that is not JSON's."""

from __future__ import annotations

from datetime import date
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


@pytest.mark.parametrize(
    "other", [bytearray(b"ab"), np.arange(3), date(2026, 1, 2), {"c"}, ("d", ["e"]), 2**80, "\ud800"]
)
def test_a_value_that_is_not_jsons_keeps_its_type(other: Any) -> None:
    made = copied_arguments({"a": other, "b": [1]})
    assert type(made["a"]) is type(other)
    assert repr(made["a"]) == repr(other)
