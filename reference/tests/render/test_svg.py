"""Charts as pictures: what is drawn, that a file is well-formed and loads nothing, and how large it can become."""

from __future__ import annotations

import sys
import typing
from itertools import pairwise
from typing import Any

import pytest
from lxml import etree
from support.hostile_displays import HOSTILE, NO_JSON, envelope

from xmcp.render import NoChart, plan, to_png, to_svg
from xmcp.render.svg import charts
from xmcp.render.svg.drawing import PALETTE, fitted, width_of
from xmcp.render.svg.plot import spread
from xmcp.render.view import content

DAYS = [{"day": day, "n": n} for day, n in zip(("Mon", "Tue", "Wed"), (3, -1, 9), strict=True)]


def chart(mark: Any, values: list[dict[str, Any]], **encoding: Any) -> dict[str, Any]:
    return {"type": "chart", "payload": {"mark": mark, "data": {"values": values}, "encoding": encoding}}


def parts(envelope: dict[str, Any], tag: str) -> list[Any]:
    root = etree.fromstring(to_svg(envelope).encode())
    return list(root.iter(f"{{http://www.w3.org/2000/svg}}{tag}"))


def texts(envelope: dict[str, Any]) -> list[str]:
    return [one.text or "" for one in parts(envelope, "text")]


BARS = chart("bar", DAYS, x={"field": "day", "sort": None, "title": "Day"}, y={"field": "n", "title": "Orders"})


def test_there_is_a_drawing_for_every_chart() -> None:
    assert set(charts._DRAWERS) == set(typing.get_args(content.Chart))


def test_bars_stand_on_zero_with_their_values_and_their_names() -> None:
    bars = [(float(one.get("y")), float(one.get("height"))) for one in parts(BARS, "rect")]
    (zero,) = {round(y + height, 1) for y, height in (bars[0], bars[2])}
    assert round(bars[1][0], 1) == zero
    assert round(bars[2][1] / bars[0][1], 2) == 3
    assert {"Orders", "Day", "Mon", "Tue", "Wed", "3", "-1", "9"} <= set(texts(BARS))
    assert [one.text for one in parts(BARS, "title")] == ["Mon: 3", "Tue: -1", "Wed: 9"]


def test_bars_whose_names_are_long_run_to_the_right() -> None:
    rows = [{"a": f"a region with quite a long name, number {n}", "n": n} for n in range(20)]
    bars = parts(chart("bar", rows, x={"field": "a"}, y={"field": "n"}), "rect")
    assert len({one.get("x") for one in bars}) == 1
    assert len({one.get("y") for one in bars}) == 20


def test_bars_of_several_series_lie_on_each_other_or_beside_each_other() -> None:
    rows = [{"q": q, "s": s, "n": 2} for q in "ab" for s in "xy"]
    encoding: dict[str, Any] = {"x": {"field": "q"}, "y": {"field": "n"}, "color": {"field": "s"}}
    stacked = parts(chart("bar", rows, **encoding), "rect")
    grouped = parts(chart("bar", rows, **encoding, xOffset={"field": "s"}), "rect")
    key = 2  # the squares of the key come first
    assert len({one.get("x") for one in stacked[key:]}) == 2
    assert len({one.get("x") for one in grouped[key:]}) == 4
    assert {one.get("fill") for one in stacked} == set(PALETTE[:2])


def test_a_line_goes_through_its_points_and_its_name_stands_at_its_end() -> None:
    rows = [{"x": x, "y": x * x, "s": s} for x in range(5) for s in ("first", "second")]
    envelope = chart(
        "line",
        rows,
        x={"field": "x", "type": "quantitative"},
        y={"field": "y"},
        color={"field": "s", "type": "nominal"},
    )
    lines = [one for one in parts(envelope, "path") if one.get("stroke") in PALETTE and one.get("stroke-width") == "2"]
    assert [one.get("d").count("L") for one in lines] == [4, 4]
    assert {"first 16", "second 16"} <= set(texts(envelope))


def test_a_rule_crosses_the_chart_with_its_value() -> None:
    rule = {"mark": "rule", "encoding": {"y": {"datum": 4}}, "data": {"values": [{}]}}
    line = {
        "mark": "line",
        "data": {"values": [{"x": 1, "y": 2}, {"x": 2, "y": 7}]},
        "encoding": {"x": {"field": "x", "type": "quantitative"}, "y": {"field": "y", "type": "quantitative"}},
    }
    envelope = {"type": "chart", "payload": {"layer": [line, rule]}}
    assert len([one for one in parts(envelope, "path") if one.get("stroke-dasharray")]) == 1
    assert "4" in texts(envelope)


def test_a_circle_names_each_slice_with_its_share() -> None:
    rows = [{"k": "a", "v": 3}, {"k": "b", "v": 1}]
    envelope = chart("arc", rows, theta={"field": "v", "type": "quantitative"}, color={"field": "k", "type": "nominal"})
    assert {"a  3 · 75 %", "b  1 · 25 %"} <= set(texts(envelope))
    whole = chart(
        "arc", rows[:1], theta={"field": "v", "type": "quantitative"}, color={"field": "k", "type": "nominal"}
    )
    assert parts(whole, "path")[0].get("d").count("A") == 2


def test_a_grid_is_darker_where_its_values_are_larger() -> None:
    rows = [{"x": x, "y": "r", "v": v} for x, v in (("a", 1), ("b", 9), ("c", -9))]
    axis = {"type": "ordinal"}
    envelope = chart(
        "rect", rows, x={"field": "x", **axis}, y={"field": "y", **axis}, color={"field": "v", "type": "quantitative"}
    )
    shades = [
        (one.get("fill"), float(one.get("fill-opacity"))) for one in parts(envelope, "path") if one.get("fill-opacity")
    ]
    assert len({fill for fill, _ in shades}) == 2
    assert max(shade for _, shade in shades) > 5 * min(shade for _, shade in shades)
    assert {"1", "9", "-9"} <= set(texts(envelope))


@pytest.mark.parametrize(("ground", "ink"), [("#ffffff", "#1f2328"), ("#0d1117", "#e6edf3")])
def test_a_value_can_be_read_on_every_shade_in_light_and_in_dark(ground: str, ink: str) -> None:
    rows = [{"x": str(n), "y": "a", "n": n} for n in (-0.1, *range(-7, 8))]
    grid = chart("rect", rows, x={"field": "x"}, y={"field": "y"}, color={"field": "n", "type": "quantitative"})
    shades = [(one.get("fill"), float(one.get("fill-opacity"))) for one in parts(grid, "path")]
    assert len(shades) == 16
    for fill, covers in shades:
        shade = [covers * above + (1 - covers) * below for above, below in zip(rgb(fill), rgb(ground), strict=True)]
        light, dark = sorted((luminance(shade), luminance(rgb(ink))), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (fill, covers)


def rgb(colour: str) -> list[float]:
    return [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]


def luminance(colour: list[float]) -> float:
    """Return the relative luminance of WCAG 2."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("count", [1, 2, 12])
def test_names_at_the_ends_of_lines_do_not_lie_on_each_other(count: int) -> None:
    heights = sorted(spread([100.0] * count, 0, 240))
    assert all(after - before >= 16 for before, after in pairwise(heights))
    assert heights[0] >= 0
    assert heights[-1] <= 240


def test_a_line_of_many_points_is_as_long_as_its_picture_is_wide() -> None:
    rows = [{"x": x, "y": x % 97} for x in range(5000)]
    axis = {"type": "quantitative"}
    svg = to_svg(chart("line", rows, x={"field": "x", **axis}, y={"field": "y", **axis}))
    assert len(svg) < 60_000


def test_a_word_that_is_too_long_is_cut() -> None:
    assert fitted("short", 100) == "short"
    cut = fitted("a name that is far too long", 60)
    assert cut.endswith("…")
    assert width_of(cut) <= 60


CHARTS = [name for name, case in HOSTILE.items() if isinstance(case, str) and '"type": "chart"' in case]
DRAWN = [
    name
    for name in (*CHARTS, *NO_JSON, "chart of 5,000 categories")
    if isinstance(plan(envelope(name)).content, content.Chart)
]


@pytest.mark.parametrize("name", DRAWN)
def test_a_file_is_well_formed_and_loads_nothing_whatever_the_display_holds(name: str) -> None:
    svg = to_svg(envelope(name))
    for one in etree.fromstring(svg.encode()).iter():
        assert etree.QName(one).localname in {"svg", "style", "g", "path", "rect", "text", "title"}
        assert not [key for key in one.attrib if key.startswith("on") or "href" in key]
        assert not [value for value in (*one.attrib.values(), one.text or "") if "url(" in value]
    assert len(svg) < 500_000


def test_hostile_charts_of_every_kind_are_drawn() -> None:
    assert {type(plan(envelope(name)).content) for name in DRAWN} == set(typing.get_args(content.Chart))


def test_what_is_no_chart_is_refused_with_the_reason() -> None:
    with pytest.raises(NoChart, match=r"this display is shown as table$"):
        to_svg({"type": "table", "payload": [{"a": 1}]})
    with pytest.raises(NoChart, match=r"shown as json \(unsupported display type \"chart\": "):
        to_svg({"type": "chart", "payload": {"mark": "geoshape"}})


def test_the_title_of_the_display_stands_in_the_file() -> None:
    assert "Orders per day" in texts({**BARS, "title": "Orders per day"})


def test_a_png_is_as_large_as_asked() -> None:
    for scale in (1, 2):
        picture = to_png(BARS, scale=scale)
        assert picture[:8] == b"\x89PNG\r\n\x1a\n"
        assert int.from_bytes(picture[16:20], "big") == 592 * scale


def test_a_png_of_impossible_size_is_refused() -> None:
    with pytest.raises(ValueError, match="scale must be"):
        to_png(BARS, scale=1000)


def test_without_its_package_a_png_says_which_installation_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'xmcp\[png\]'"):
        to_png(BARS)
