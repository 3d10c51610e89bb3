"""The JSON of values of numpy, pandas and attrs, and of libraries with the same methods; none of them is imported."""

from __future__ import annotations

import array
import collections
import datetime as dt
import fractions
import ipaddress
import math
import subprocess
import sys
import types
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import attrs
import numpy as np
import pandas as pd
import pytest

from xmcp import DisplayEnvelope, ToolResponse
from xmcp.wire import dump_json, in_json_types


@attrs.define
class Point:
    x: int
    label: str = "p"


class Pair(NamedTuple):
    a: int
    b: str


class PolarsFrame:
    """The methods of a polars frame by which it is recognised."""

    columns = ("a",)

    def to_dicts(self) -> list[dict[str, int]]:
        return [{"a": 1}]


class ArrowTable:
    """The method of a pyarrow table or array by which it is recognised."""

    def to_pylist(self) -> list[dict[str, int]]:
        return [{"a": 1}]


class ArrowScalar:
    def as_py(self) -> int:
        return 1


FRAME = pd.DataFrame({"city": ["Bern", "Rome"], "n": [1, 2]})
DATES = pd.to_datetime(["2026-01-01", None])

VALUES: dict[str, tuple[Any, Any]] = {
    "integer": (np.int64(3), 3),
    "float": (np.float32(1.5), 1.5),
    "longest float": (np.longdouble(1.5), 1.5),
    "bool": (np.bool_(True), True),
    "text": (np.str_("s"), "s"),
    "not a number": (np.float32("nan"), None),
    "day": (np.datetime64("2026-01-02"), "2026-01-02"),
    "instant in nanoseconds": (np.datetime64("2026-01-02T03:04:05", "ns"), "2026-01-02T03:04:05"),
    "no instant": (np.datetime64("NaT"), None),
    "hours": (np.timedelta64(2, "h"), "PT2H"),
    "hours in nanoseconds": (np.timedelta64(7_200_000_000_000, "ns"), "PT2H"),
    "array": (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    "array without dimensions": (np.array(5), 5),
    "array with gaps": (np.array([1.0, np.nan, np.inf]), [1.0, None, None]),
    "array of objects": (np.array([{"a": np.int8(1)}], dtype=object), [{"a": 1}]),
    "array of records": (np.array([(1, "a")], dtype=[("x", "i4"), ("y", "U1")]), [[1, "a"]]),
    "array of instants": (np.array(["2026-01-02"], dtype="datetime64[ns]"), ["2026-01-02T00:00:00"]),
    "masked array": (np.ma.array([1, 2], mask=[False, True]), [1, None]),
    "key": ({np.int64(1): "a"}, {"1": "a"}),
    "frame": (FRAME, [{"city": "Bern", "n": 1}, {"city": "Rome", "n": 2}]),
    "frame without rows": (FRAME[FRAME.n > 2], []),
    "filtered frame": (FRAME[FRAME.n > 1], [{"city": "Rome", "n": 2}]),
    "grouped frame": (FRAME.groupby("city").sum(), [{"city": "Bern", "n": 1}, {"city": "Rome", "n": 2}]),
    "described frame": (pd.DataFrame({"n": [1]}, index=["mean"]), [{"index": "mean", "n": 1}]),
    "frame of two levels": (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("n", "sum")])), [{"n, sum": 1}]),
    "frame with gaps": (
        pd.DataFrame({"f": [1.5, np.nan], "s": ["a", None], "t": DATES, "i": pd.array([1, None], dtype="Int64")}),
        [{"f": 1.5, "s": "a", "t": "2026-01-01T00:00:00", "i": 1}, {"f": None, "s": None, "t": None, "i": None}],
    ),
    "frame with integers beyond 2^53": (pd.DataFrame({"n": [2**60]}), [{"n": str(2**60)}]),
    "frame with lists": (pd.DataFrame({"l": [[1, np.int64(2)]]}), [{"l": [1, 2]}]),
    "series": (FRAME.n, [1, 2]),
    "series with labels": (FRAME.city.value_counts(), {"Bern": 1, "Rome": 1}),
    "series with equal labels": (
        pd.Series([1, 2], index=["a", "a"]),
        [{"index": "a", "value": 1}, {"index": "a", "value": 2}],
    ),
    "series with gaps": (pd.Series([1.0, np.nan]), [1.0, None]),
    "index": (pd.Index(["a", "b"]), ["a", "b"]),
    "index of instants": (pd.DatetimeIndex(["2026-01-02"]), ["2026-01-02T00:00:00"]),
    "categories": (pd.Categorical(["a", "b"]), ["a", "b"]),
    "timestamp": (pd.Timestamp("2026-01-02", tz="UTC"), "2026-01-02T00:00:00Z"),
    "missing": (pd.NA, None),
    "missing instant": (pd.NaT, None),
    "period": (pd.Period("2026-01"), "2026-01"),
    "attrs": (Point(1), {"x": 1, "label": "p"}),
    "frame of polars": (PolarsFrame(), [{"a": 1}]),
    "table of pyarrow": (ArrowTable(), [{"a": 1}]),
    "scalar of pyarrow": (ArrowScalar(), 1),
    "array of Python": (array.array("i", [1, 2]), [1, 2]),
    "set": ({1}, [1]),
    "frozen set": (frozenset({"a"}), ["a"]),
    "keys": ({"a": 1}.keys(), ["a"]),
    "values": ({"a": 1}.values(), [1]),
    "queue": (collections.deque([1]), [1]),
    "range": (range(2), [0, 1]),
    "named tuple": (Pair(1, "b"), [1, "b"]),
    "mapping": (types.MappingProxyType({"a": 1}), {"a": 1}),
    "path": (PurePosixPath("/a/b"), "/a/b"),
    "duration": (dt.timedelta(hours=2), "PT2H"),
    "fraction": (fractions.Fraction(1, 2), "1/2"),
    "address": (ipaddress.ip_address("::1"), "::1"),
    "infinity": (math.inf, None),
}


@pytest.mark.parametrize(("value", "json"), VALUES.values(), ids=VALUES)
def test_the_value_is_written_as(value: Any, json: Any) -> None:
    for payload in ({"v": value}, {1: {"v": value}}):  # orjson, and our own walk, which big keys need
        read = ToolResponse.from_xml(ToolResponse("t", display=DisplayEnvelope(type="json", payload=payload)).to_xml())
        assert read.display is not None
        assert read.display.payload in ({"v": json}, {"1": {"v": json}})


@pytest.mark.parametrize(("value", "json"), VALUES.values(), ids=VALUES)
def test_a_value_in_the_types_of_json_is_written_the_same(value: Any, json: Any) -> None:
    assert dump_json(in_json_types({"v": value}, "v"), "v") == dump_json({"v": value}, "v")


def test_what_has_these_types_is_not_copied() -> None:
    value = {"rows": [[1, 2.5, "a", None, True]]}
    assert in_json_types(value, "v") is value


def test_lone_surrogates_are_left_to_the_encoder() -> None:
    assert in_json_types({"a": "\ud800", "b": {1}}, "v") == {"a": "\ud800", "b": [1]}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns of the same name"),
        (pd.DataFrame({"a": [1]}, index=pd.Index(["x"], name="a")), "rename the index or the column"),
        (iter([1]), "read only once"),
        (map(str, [1]), "read only once"),
        (object(), "object has no JSON form"),
        (Point, "type has no JSON form"),
        ({(1, 2): "a"}, "a key must be a string, not tuple"),
        ({1: "a", "1": "b"}, "two keys become '1'"),
    ],
)
def test_what_has_no_json_form_is_refused_with_the_reason(value: Any, reason: str) -> None:
    with pytest.raises(TypeError, match=reason):
        dump_json({"v": value}, "v")
    with pytest.raises(TypeError, match=reason):
        in_json_types({"v": value}, "v")


@pytest.mark.parametrize("payload", [FRAME, np.array([{"a": 1}], dtype=object), {"columns": ["a"], "rows": np.eye(2)}])
def test_a_table_can_be_made_of_it(payload: Any) -> None:
    assert ToolResponse.from_xml(ToolResponse("t", display=DisplayEnvelope(type="table", payload=payload)).to_xml())


def test_no_such_library_is_imported() -> None:
    code = "import sys, xmcp.wire; print(sorted({'numpy', 'pandas', 'attrs'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
