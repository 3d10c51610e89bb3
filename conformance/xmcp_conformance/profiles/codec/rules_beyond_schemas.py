"""Vectors of responses that a schema allows and a sentence for emitters does not: each is refused."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from random import Random
from typing import Any, Final

from xmcp_conformance.core.error_categories import CATEGORY_OF
from xmcp_models.registry import DISPLAY_TYPES, ENVELOPE_RULES

from .document_tree import Response
from .tagged_values import tagged
from .vectors import Vector

_Row = tuple[str, Response]
_Value = dict[str, Any]


def rules_beyond_schemas(seed: int) -> Iterator[Vector]:
    """Yield vectors of the direction encode without end, the same for the same seed."""
    rows = [*_displays(), *_populated(), *_categories()]
    Random(f"rules {seed}").shuffle(rows)  # noqa: S311 - no secret
    for number, (requirement, response) in enumerate(cycle(rows), 1):
        case = {"response": tagged({"tool_name": "t"} | response), "expect": {"refused": True}}
        yield Vector(f"rule-{number}", 0, "encode", (requirement,), case)


_TEXT: Final[_Value] = {"type": "text", "payload": "a"}


def _displays() -> Iterator[_Row]:
    for requirement, envelope in _envelopes():
        yield requirement, {"llm_output": "a", "display": envelope}
    for requirement, envelope in _envelopes():
        for within in (
            {"type": "group", "payload": [_TEXT, envelope]},
            {**_TEXT, "fallback": envelope},
            {**_TEXT, "fallback": {"type": "group", "payload": [_TEXT, _TEXT, {**_TEXT, "fallback": envelope}]}},
        ):
            yield requirement, {"error": {"code": "X", "message": "m", "retryable": False}, "display": within}


def _envelopes() -> Iterator[tuple[str, _Value]]:
    for name in ("later", "Transient", "acme", "acme/", "/a", "truncated "):
        yield "XMCP-DSP-006", {**_TEXT, "meta": {"source": "a", name: "b"}}
    for name, row in DISPLAY_TYPES.items():
        if row["status"] == "reserved":
            yield "XMCP-DSP-010", {"type": name, "payload": {}}
    group = fallback = _TEXT
    for _ in range(ENVELOPE_RULES["deepest_group"] + 1):
        group = {"type": "group", "payload": [_TEXT, group]}
    for _ in range(ENVELOPE_RULES["deepest_fallback"] + 1):
        fallback = {**_TEXT, "fallback": fallback}
    yield "XMCP-DSP-011", group
    yield "XMCP-DSP-015", fallback
    for chart in _charts():
        yield "XMCP-DSP-014", {"type": "chart", "alt": "a", "payload": chart}


def _charts() -> Iterator[_Value]:
    """Yield specifications of charts with one member that they cannot have, in places of several kinds."""
    inert = DISPLAY_TYPES["chart"]["inert"]
    bar = {"mark": "bar", "data": {"values": [{"url": "a"}]}}
    active: list[_Value] = [{name: "a"} for name in inert["members"]]
    active += [{"mark": mark} for mark in inert["marks"]] + [{"mark": {"type": mark}} for mark in inert["marks"]]
    for at, part in enumerate(active):
        yield bar | part
        yield bar | {"layer": [bar, bar | part]}
        yield (
            bar | {"encoding": {"x": {"field": "a", "axis": part}}},
            bar | {"data": {"datasets": {"a": []}, "format": part}},
            {"hconcat": [{"vconcat": [bar, {"spec": part}]}]},
            {"data": {"values": {"a": [part]}}, "mark": "bar"} | part,
        )[at % 4]


def _populated() -> Iterator[_Row]:
    for values, redacted in (
        ({"a": 1}, ["a"]),
        ({"b": 1, "a": None}, ["c", "a"]),
        ({"a": 1, "b": 2, "\u00e9": 3}, ["c", "d", "\u00e9"]),
    ):
        yield "XMCP-RSP-096", {"llm_output": "a", "server_populated": {"values": values, "redacted": redacted}}


def _categories() -> Iterator[_Row]:
    every = sorted({*CATEGORY_OF.values()})
    for at, (code, category) in enumerate(sorted(CATEGORY_OF.items())):
        others = [*(other for other in every if other != category), "later_category"]
        error = {"code": code, "message": "m", "retryable": True, "category": others[at % len(others)]}
        yield "XMCP-ERR-010", {"error": error}
