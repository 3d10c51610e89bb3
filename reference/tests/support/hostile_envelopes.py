"""Envelopes that a hostile server could send: broken, nested, with controls, and with payloads that nearly fit."""

from __future__ import annotations

from typing import Any, TypeAlias

from hypothesis import strategies as st

from xmcp_models import registry

Strategy: TypeAlias = st.SearchStrategy[Any]

SAMPLES = "\x00\x07\x1b\x9b\r\n\t\x7f[]:|#*`->_<>(){}\u202e\u2066\u200b\xa0\u3000\ufeff\ud800\ufffe\U0003ffff😀 ab1"
MEMBERS = (
    *("label", "value", "message", "level", "code", "language", "uri", "size", "src", "alt", "columns", "rows", "key"),
    *("unit", "delta", "title", "align", "bytes", "note", "type", "caption", "total_rows", "truncated", "width"),
)
WORDS = (
    *("https://example.com/a.png", "data:image/png,AA", "http://аpple.com", "info", "error", "right", "number", "a"),
    *("2026-01", "2026-02-01", "2026-03-01T12:00:00Z", "1999-12-31 23:59:59+02:00", "10000-01-01", "mailto:a@b"),
)

text = st.text(st.characters(codec=None) | st.sampled_from(SAMPLES), max_size=40)
any_number = st.integers() | st.floats() | st.integers(-(10**400), 10**400)
number_of_json = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 99)
"""Numbers that every program reads alike: JavaScript has no others."""


def envelopes(number: Strategy) -> Strategy:
    """Return envelopes whose numbers are drawn from `number`."""
    scalar = st.none() | st.booleans() | number | text | st.sampled_from(WORDS)
    hostile = st.recursive(
        scalar, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4), max_leaves=10
    )
    nearly = st.recursive(
        scalar,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=5),
        max_leaves=8,
    )
    kinds = st.sampled_from(sorted(registry.DISPLAY_TYPES))
    payloads = [
        st.tuples(st.just("chart"), _charts(number, hostile)),
        st.tuples(st.just("table"), _tables(hostile)),
        st.tuples(st.just("markdown"), text),
        st.tuples(kinds, nearly),
        st.tuples(kinds | hostile, hostile),
    ]

    def around(inner: Strategy) -> Strategy:
        groups = st.tuples(st.just("group"), st.lists(inner, max_size=3))
        words = {"title": hostile, "alt": hostile, "fallback": inner | hostile, "meta": hostile}
        whole = st.one_of(*payloads, groups).flatmap(
            lambda drawn: st.fixed_dictionaries(
                {"type": st.just(drawn[0]), "payload": st.just(drawn[1])}, optional=words
            )
        )
        return whole | st.fixed_dictionaries({}, optional={"type": kinds, "payload": hostile, **words})

    return st.recursive(around(st.none()), around, max_leaves=4)


def _tables(hostile: Strategy) -> Strategy:
    column = st.fixed_dictionaries({"key": text}, optional={"type": st.just("number"), "title": text})
    row = st.lists(hostile, max_size=4) | st.dictionaries(text, hostile, max_size=3)
    return st.fixed_dictionaries(
        {"columns": st.lists(text | column, max_size=4), "rows": st.lists(row, max_size=4)},
        optional={"caption": text, "total_rows": st.integers(0, 2**53), "row_header": text},
    )


def _charts(number: Strategy, hostile: Strategy) -> Strategy:
    """Return specifications that are drawn, or nearly are."""
    fields = st.sampled_from(["a", "b", "c"])
    channel = st.fixed_dictionaries(
        {"field": fields},
        optional={
            "type": st.sampled_from(["quantitative", "temporal", "ordinal", "nominal"]),
            "aggregate": st.sampled_from(["sum", "count", "mean", "min", "max", "median", "stdev"]),
            "sort": st.none() | st.sampled_from(["ascending", "descending", "-y", "x"]) | st.lists(number, max_size=3),
            "title": text | st.none(),
            "scale": st.just({"zero": False}) | st.none(),
            "stack": st.sampled_from([True, None, "zero", "normalize"]),
        },
    )
    datum = st.fixed_dictionaries({"datum": number | st.sampled_from(WORDS)}, optional={"title": text})
    encoding = st.fixed_dictionaries(
        {"x": channel, "y": channel},
        optional={"color": _without(channel, "stack") | datum, "xOffset": _without(channel, "stack"), "theta": channel},
    )
    only_color = st.fixed_dictionaries({"theta": channel, "color": _without(channel, "stack")})
    value = number | st.sampled_from(WORDS) | hostile
    data = st.fixed_dictionaries({"values": st.lists(st.dictionaries(fields, value), max_size=6)})
    mark = st.sampled_from(["bar", "line", "area", "point", "circle", "rect"])
    rule = st.fixed_dictionaries({"mark": st.just("rule"), "encoding": st.fixed_dictionaries({"y": datum | channel})})
    vertical = st.fixed_dictionaries({"mark": st.just("rule"), "encoding": st.fixed_dictionaries({"x": datum})})
    layer = st.fixed_dictionaries({"mark": mark}, optional={"encoding": encoding})
    return st.one_of(
        st.fixed_dictionaries({"mark": mark, "data": data, "encoding": encoding}),
        st.fixed_dictionaries({"mark": st.just("arc"), "data": data, "encoding": only_color}),
        st.fixed_dictionaries(
            {"layer": st.lists(layer | rule | vertical, max_size=3), "data": data, "encoding": encoding}
        ),
    )


def _without(channel: Strategy, name: str) -> Strategy:
    return channel.map(lambda one: {key: value for key, value in one.items() if key != name})


def charts(number: Strategy) -> Strategy:
    """Return chart envelopes that are mostly drawn, with data that may have gaps."""
    key = st.sampled_from([*"abcdef", 1, 2, 2.5, True, "é", "😀", "\u202e"]) | number
    moment = st.sampled_from(["2026-01", "2026-02-01", "2025-12-31T23:00Z", "2026-03-01 01:02:03.5", 1.7e12, -1, "x"])
    numbers = {"n": number | st.none(), "m": number}
    row = st.fixed_dictionaries({"key": key, "time": moment, "k": key, **numbers}) | st.just({"n": 1})
    title = {"title": text | st.none(), "axis": st.just({"title": "T", "grid": False}) | st.none()}
    kind = st.sampled_from(["nominal", "ordinal"])
    sort = st.sampled_from(["ascending", "descending", None, ["b", 2, True, None, "a"]])
    by_value = sort | st.sampled_from(["y", "-y"])
    named = st.fixed_dictionaries({"field": st.just("key"), "type": kind}, optional={"sort": by_value, **title})
    placed = st.one_of(
        st.fixed_dictionaries({"field": st.just("key"), "type": kind}, optional={"sort": sort, **title}),
        st.fixed_dictionaries({"field": st.just("time"), "type": st.just("temporal")}, optional=title),
        st.fixed_dictionaries({"field": st.just("m"), "type": st.just("quantitative")}, optional=title),
    )
    aggregate = st.sampled_from([None, "sum", "mean", "average", "median", "min", "max", "count"])
    stack = st.sampled_from([True, "zero", None])
    scale = st.sampled_from([{"zero": False}, {"zero": True}, {}, None])
    options = {"aggregate": aggregate, "stack": stack, "scale": scale, **title}
    amount = st.fixed_dictionaries({"field": st.just("n"), "type": st.just("quantitative")}, optional=options)
    part = st.fixed_dictionaries({"field": st.just("k"), "type": kind}, optional={"sort": sort, "title": text})
    parts = {"color": part, "xOffset": part.map(lambda one: {"field": one["field"]})}
    series = {"color": part | st.fixed_dictionaries({"datum": key})}
    bars = _encoded(st.just("bar"), st.fixed_dictionaries({"x": named, "y": amount}, optional=parts))
    lying = _encoded(st.just("bar"), st.fixed_dictionaries({"x": amount, "y": named}, optional={"color": part}))
    lines = _encoded(
        st.sampled_from(["line", "area", "point"]), st.fixed_dictionaries({"x": placed, "y": amount}, optional=series)
    )
    ring = st.just({"type": "arc", "innerRadius": 40})
    pies = _encoded(ring | st.just("arc"), st.fixed_dictionaries({"theta": amount, "color": part}))
    grids = _encoded(st.just("rect"), st.fixed_dictionaries({"x": named, "y": part, "color": amount.map(_plain)}))
    rule = st.fixed_dictionaries({"datum": number | moment}, optional={"title": text})
    level = st.sampled_from([{"field": "m"}, {"field": "n", "aggregate": "mean"}, {"aggregate": "count"}])
    rules = _encoded(st.just("rule"), st.fixed_dictionaries({"y": rule | level}) | st.fixed_dictionaries({"x": rule}))
    units = st.one_of(bars, lying, lines, pies, grids)
    layers = st.tuples(units, st.lists(rules | lines, max_size=2)).map(lambda drawn: {"layer": [drawn[0], *drawn[1]]})
    data = st.lists(row, min_size=1, max_size=8).map(lambda rows: {"data": {"values": rows}})
    specs = st.tuples(units | layers, data).map(lambda drawn: {**drawn[0], **drawn[1]})
    return specs.map(lambda spec: {"type": "chart", "payload": spec, "alt": "words"})


def _encoded(mark: Strategy, encoding: Strategy) -> Strategy:
    return st.fixed_dictionaries({"mark": mark, "encoding": encoding})


def _plain(channel: dict[str, Any]) -> dict[str, Any]:
    """Return a channel of numbers as one of colours, which has no axis and no stack."""
    return {name: value for name, value in channel.items() if name not in ("axis", "stack")}
