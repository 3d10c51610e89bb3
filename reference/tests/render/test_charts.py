"""Charts as text: what is drawn means what Vega-Lite means, and what is not understood is left to the ladder."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from xmcp.render import plan, render, to_text
from xmcp.render.terminal.plot import spread, x_labels
from xmcp.render.view.content import Bars, CategorySeries, Plot
from xmcp.render.view.numerals import ticks
from xmcp.render.view.timestamps import name_of, seconds_of

SALES = [{"product": "Atlas", "n": 60}, {"product": "Beacon", "n": 30}, {"product": "Comet", "n": 7.5}]
BARS = {"x": {"field": "product", "type": "nominal"}, "y": {"field": "n", "type": "quantitative", "title": "Revenue"}}


def chart(values: list[dict[str, Any]], mark: Any = "bar", **encoding: Any) -> dict[str, Any]:
    return {"type": "chart", "payload": {"mark": mark, "data": {"values": values}, "encoding": encoding or BARS}}


def bars(envelope: dict[str, Any]) -> Bars:
    content = plan(envelope).content
    assert isinstance(content, Bars)
    return content


def plot(envelope: dict[str, Any]) -> Plot:
    content = plan(envelope).content
    assert isinstance(content, Plot)
    return content


def bar_lengths(drawn: str) -> list[int]:
    return [line.count("█") for line in drawn.splitlines()[1:]]


def test_each_bar_has_its_category_and_its_value() -> None:
    head, *rows = to_text(chart(SALES)).splitlines()
    assert head.split() == ["product", "Revenue"]
    assert [row.split()[:2] for row in rows] == [["Atlas", "60"], ["Beacon", "30"], ["Comet", "7.5"]]


def test_bars_are_as_long_as_their_values() -> None:
    longest, half, eighth = bar_lengths(to_text(chart(SALES)))
    assert half == longest // 2
    assert eighth == longest // 8


def test_bars_use_the_width_there_is() -> None:
    for width in (40, 80, 120):
        assert max(map(len, to_text(chart(SALES), width).splitlines())) == width


def test_a_bar_chart_may_lie_on_its_side() -> None:
    assert bars(chart(SALES, x=BARS["y"], y=BARS["x"])) == replace(bars(chart(SALES)), horizontal=True)


def test_negative_bars_grow_to_the_left_of_zero() -> None:
    below, above = to_text(chart([{"product": "a", "n": -4}, {"product": "b", "n": 8}])).splitlines()[1:]
    assert below.rindex("█") < above.index("█")


def test_bars_of_one_place_stack_up() -> None:
    twice = [{"product": "a", "n": 1}, {"product": "a", "n": 2}]
    assert bars(chart(twice)).series == (CategorySeries(None, (3.0,)),)


@pytest.mark.parametrize(("aggregate", "value"), [("sum", 9), ("mean", 3), ("min", 1), ("max", 6), ("median", 2)])
def test_an_aggregate_is_computed(aggregate: str, value: float) -> None:
    values = [{"product": "a", "n": n} for n in (1, 2, 6)]
    y = {"field": "n", "aggregate": aggregate}
    assert bars(chart(values, x=BARS["x"], y=y)).series == (CategorySeries(None, (value,)),)


def test_a_count_needs_no_field() -> None:
    assert bars(chart([*SALES, SALES[0]], x=BARS["x"], y={"aggregate": "count"})).series == (
        CategorySeries(None, (2, 1, 1)),
    )


def test_each_bar_of_several_series_is_named() -> None:
    values = [{"product": p, "n": n, "q": q} for p, q, n in (("a", "Q1", 1), ("a", "Q2", 2), ("b", "Q2", 3))]
    rows = to_text(chart(values, **BARS, color={"field": "q"})).splitlines()[1:]
    assert [row.split()[:-1] for row in rows] == [["a", "Q1", "1"], ["Q2", "2"], ["b", "Q2", "3"]]


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ({}, "abc"),
        ({"sort": "descending"}, "cba"),
        ({"sort": None}, "bca"),
        ({"sort": ["c", "a"]}, "cab"),
        ({"sort": "-y"}, "cab"),
    ],
)
def test_categories_are_in_the_order_of_vega_lite(sort: dict[str, Any], order: str) -> None:
    values = [{"product": p, "n": n} for p, n in (("b", 1), ("c", 3), ("a", 2))]
    assert "".join(bars(chart(values, x={**BARS["x"], **sort}, y=BARS["y"])).categories) == order


def test_bars_beyond_the_screen_are_counted() -> None:
    values = [{"product": f"p{i:03}", "n": i} for i in range(100)]
    assert "40 more bars not shown" in to_text(chart(values))


def test_bars_over_moments_are_in_their_order_under_their_names() -> None:
    time = {"x": {"field": "t", "type": "temporal"}, "y": {"field": "n", "type": "quantitative"}}
    days = [1714694400000, "2024-05-02T12:00:00+14:00", "2024-05-02T00:00:00Z", 1714521600000, "soon"]
    drawn = bars(chart([{"t": day, "n": 1} for day in days], **time))
    assert drawn.categories == ("2024-05-01", "2024-05-02 12:00", "2024-05-02", "2024-05-03", "soon")
    assert bars(chart([{"t": 1706745600000, "n": 1}, {"t": 1704067200000, "n": 2}], **time)).categories == (
        "2024-01",
        "2024-02",
    )


# ---- lines, areas, points ----


def test_a_rule_on_an_axis_of_time_has_the_clock_in_which_its_moment_is_written() -> None:
    rows = [{"t": f"2024-05-0{day}T12:00:00+02:00", "n": day} for day in (1, 2, 3)]
    rule = {"mark": "rule", "encoding": {"x": {"datum": "2024-05-02T00:00:00+02:00", "title": "release"}}}
    line = {"mark": "line", "encoding": {"x": {"field": "t", "type": "temporal"}, "y": {"field": "n"}}}
    envelope = {"type": "chart", "payload": {"data": {"values": rows}, "layer": [line, rule]}}
    assert "rule: release 2024-05-02\n" in to_text(envelope)
    assert plot(envelope).rules[0].value == seconds_of("2024-05-01T22:00Z")


@pytest.mark.parametrize(
    ("value", "name"),
    [
        *(("2026", "2026"), ("2026-05", "2026-05"), ("2026-05-01", "2026-05-01"), ("2026-05-01T00:00Z", "2026-05-01")),
        *(("2026-05-01 10:00:00+02:00", "2026-05-01 10:00"), ("2026-05-01T10:00:07", "2026-05-01 10:00:07")),
        *(("2026-05-01T00:00:00.120Z", "2026-05-01 00:00:00.12"), ("2026-05-01T10:00:00,0004", "2026-05-01 10:00")),
        *((1_777_629_600_000, "2026-05-01 10:00"), (1_777_629_600_001, "2026-05-01 10:00:00.001"), (-1, None)),
        *((253_402_300_799_999.9, "253,402,300,800"), (1e17, "100,000,000,000,000")),
    ],
)
def test_a_moment_is_named_as_exactly_as_it_is_written(value: str | float, name: str | None) -> None:
    seconds = seconds_of(value)
    assert seconds is not None
    assert name_of(value, seconds) == (name or "1969-12-31 23:59:59.999")


LINES = {"x": {"field": "m", "type": "temporal"}, "y": {"field": "n", "type": "quantitative", "title": "Revenue"}}
MONTHS = [{"m": f"2026-0{i}-01", "n": 100 * i, "region": r} for r in ("EMEA", "APAC") for i in range(1, 7)]


def test_a_line_chart_has_round_ticks_around_its_values() -> None:
    drawn = to_text(chart([{"m": "2026-01", "n": 3}, {"m": "2026-02", "n": 97}], "line", **LINES))
    ticks_shown = [line.split("┤")[0].strip() for line in drawn.splitlines() if "┤" in line]
    assert ticks_shown == ["100", "80", "60", "40", "20", "0"]


@pytest.mark.parametrize(("lines", "dots"), [("braille", "[⠁-⣿]"), ("blocks", "[▀▄█]")])
def test_a_rising_line_rises(lines: Any, dots: str) -> None:
    rows = to_text(chart(MONTHS[:6], "line", **LINES), lines=lines).splitlines()
    firsts = [found.start() for row in rows if (found := re.search(dots, row))]
    assert len(firsts) > 6
    assert firsts == sorted(firsts, reverse=True)
    assert firsts[0] > firsts[-1]


def test_every_line_of_several_is_named_with_its_last_value_without_colour() -> None:
    drawn = to_text(chart(MONTHS, "line", **LINES, color={"field": "region"}))
    assert "EMEA 600" in drawn
    assert "APAC 600" in drawn


def test_months_are_written_as_months() -> None:
    labels = to_text(chart(MONTHS, "line", **LINES)).splitlines()[-2].split()
    assert labels[0] == "2026-01"
    assert all(len(label) == 7 for label in labels)


def test_time_runs_evenly_even_where_points_are_missing() -> None:
    values = [{"m": m, "n": 1} for m in ("2026-01-01", "2026-01-02", "2026-01-11")]
    (series,) = plot(chart(values, "line", **LINES)).series
    first, second, third = (x for x, _ in series.points)
    assert third - first == 10 * (second - first)


@pytest.mark.parametrize(("scale", "has_zero"), [({}, True), ({"zero": True}, True), ({"zero": False}, False)])
def test_the_scale_of_values_begins_at_zero_unless_it_must_not(scale: dict[str, Any], has_zero: bool) -> None:
    values = [{"m": "2026-01", "n": 1000}, {"m": "2026-02", "n": 1010}]
    drawn = to_text(chart(values, "line", x=LINES["x"], y={**LINES["y"], "scale": scale}))
    assert any(line.split("┤")[0].strip() == "0" for line in drawn.splitlines()) == has_zero


@pytest.mark.parametrize(("lines", "full"), [("braille", "⣿"), ("blocks", "█")])
def test_an_area_is_filled_down_to_zero(lines: Any, full: str) -> None:
    drawn = to_text(chart(MONTHS[:6], "area", **LINES), lines=lines)
    above_zero = [row for row in drawn.splitlines() if "│" in row][-1]
    assert above_zero.count(full) > 60


def on_terminal(envelope: dict[str, Any], legacy_windows: bool = False) -> str:
    console = Console(width=80, force_terminal=True, color_system="truecolor", legacy_windows=legacy_windows)
    with console.capture() as capture:
        console.print(render(envelope))
    return Text.from_ansi(capture.get()).plain


def test_lines_are_braille_on_a_terminal_and_blocks_where_nobody_knows_the_font() -> None:
    def braille(drawn: str) -> bool:
        return re.search("[⠁-⣿]", drawn) is not None

    line = chart(MONTHS, "line", **LINES, color={"field": "region"})
    assert braille(on_terminal(line))
    assert not braille(on_terminal(line, legacy_windows=True))
    assert not braille(to_text(line))
    assert not braille(to_text({"type": "group", "payload": [line]}))
    assert braille(to_text({"type": "group", "payload": [line]}, lines="braille"))


def test_points_of_several_series_have_marks_of_their_own() -> None:
    values = [{"a": i, "b": i % 3, "k": "even" if i % 2 == 0 else "odd"} for i in range(9)]
    head = to_text(chart(values, "point", x={"field": "a"}, y={"field": "b"}, color={"field": "k"})).splitlines()[0]
    assert head.split() == ["b", "●", "even", "▲", "odd"]


def test_a_terminal_that_knows_only_ascii_gets_ascii() -> None:
    for mark in ("bar", "line", "area", "point"):
        page = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict")
        values, encoding = (SALES, BARS) if mark == "bar" else (MONTHS, LINES)
        Console(file=page, width=60, color_system=None).print(render(chart(values, mark, **encoding)))
        page.flush()


def test_colour_adds_nothing_that_the_words_do_not_say() -> None:
    envelope = chart(MONTHS, "line", **LINES, color={"field": "region"})
    coloured = [line.rstrip() for line in on_terminal(envelope).splitlines()]
    assert coloured == to_text(envelope, lines="braille").splitlines()


# ---- what is not understood ----


@pytest.mark.parametrize(
    "change",
    [
        {"transform": [{"filter": "datum.n > 1"}]},
        {"params": []},
        {"config": {}},
        {"usermeta": {}},
        {"layer": []},
        {"mark": "arc"},
        {"mark": {"type": "image", "url": "https://example.com/x.png"}},
        {"data": {"url": "https://example.com/data.json"}},
        {"data": {"values": "a,b"}},
        {"data": {"values": []}},
        {"encoding": {"x": BARS["x"]}},
        {"encoding": {**BARS, "href": {"field": "product"}}},
        {"encoding": {"x": {**BARS["x"], "bin": True}, "y": BARS["y"]}},
        {"encoding": {"x": {**BARS["x"], "field": {"repeat": "row"}}, "y": BARS["y"]}},
        {"encoding": {"x": BARS["x"], "y": {"field": "product", "type": "nominal"}}},
        {"encoding": {"x": BARS["x"], "y": {**BARS["y"], "aggregate": "stdev"}}},
    ],
)
def test_a_chart_that_is_not_understood_shows_its_fallback_and_says_why(change: dict[str, Any]) -> None:
    envelope = chart(SALES)
    assert plan(envelope).rendered_as == "chart"
    envelope["payload"] |= change
    envelope["fallback"] = {"type": "table", "payload": SALES}
    view = plan(envelope)
    assert view.rendered_as == "table"
    assert 'unsupported display type "chart": ' in view.notices[0]


def test_the_title_of_the_specification_is_used_where_the_envelope_has_none() -> None:
    envelope = chart(SALES)
    envelope["payload"]["title"] = {"text": "Inside"}
    assert plan(envelope).title == "Inside"
    assert plan({**envelope, "title": "Outside"}).title == "Outside"


# ---- the arithmetic ----

numbers = st.floats(-1e299, 1e299)


@given(numbers, numbers, st.integers(1, 10))
def test_ticks_enclose_the_values_in_equal_round_steps(a: float, b: float, wanted: int) -> None:
    low, high = min(a, b), max(a, b)
    found = ticks(low, high, wanted)
    slack = max(abs(low), abs(high)) * 1e-6
    assert found[0] <= low + slack
    assert found[-1] >= high - slack
    assert found == sorted(set(found))
    assert 2 <= len(found) <= wanted + 3


@given(st.lists(st.integers(0, 12), min_size=1, max_size=8))
def test_names_at_the_end_of_lines_never_share_a_row(wanted: list[int]) -> None:
    rows = spread(wanted, 12)
    assert len(set(rows)) == len(rows)
    assert all(0 <= row <= 12 for row in rows)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.text("abc漢", max_size=12)), min_size=1, max_size=60), st.integers(8, 120)
)
def test_labels_of_an_axis_stand_apart_and_inside(places: list[tuple[float, str]], columns: int) -> None:
    notches, text = x_labels(sorted(places), columns)
    assert notches <= set(range(columns))
    assert cell_len(text) <= max(columns, 24)
