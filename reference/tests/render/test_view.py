"""`xmcp.render.view` decides what is shown, as data that any renderer can draw."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from typing import Any

import pytest

from xmcp.render.view import content, plan, wording
from xmcp.render.view.charts import Bar, bars_of, chart_table, x_axis, y_ticks
from xmcp.render.view.markdown import parse, written_target
from xmcp.render.view.tables import ColumnView, columns_of, rows_missing
from xmcp.render.view.untrusted import visible


def read(kind: str, payload: Any) -> Any:
    return plan({"type": kind, "payload": payload}).content


def test_deciding_what_is_shown_loads_no_drawing_library() -> None:
    code = "import sys, xmcp.render, xmcp.render.view.tables, xmcp.render.view.charts, xmcp.render.view.markdown\n"
    code += "assert not [name for name in sys.modules if name.partition('.')[0] in ('rich', 'pygments')]"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_names_of_the_terminal_are_loaded_when_they_are_used() -> None:
    import xmcp.render

    assert xmcp.render.to_text({"type": "text", "payload": "x"}) == "x\n"
    with pytest.raises(AttributeError, match="no attribute 'paint'"):
        _ = xmcp.render.paint


def test_a_column_of_numbers_is_numeric_and_has_no_text_where_there_is_no_value() -> None:
    payload = {"columns": ["name", {"key": "n", "type": "number"}], "rows": [["a", 1000], ["b", None]]}
    assert columns_of(read("table", payload)) == (
        ColumnView("name", "left", header=False, numeric=False, cells=("a", "b")),
        ColumnView("n", "right", header=False, numeric=True, cells=("1,000", None)),
    )


def test_the_rows_of_a_table_are_bounded_and_counted() -> None:
    table = read("table", [{"n": i} for i in range(1000)])
    assert len(columns_of(table)[0].cells) == 200
    assert rows_missing(table) == "first 200 of 1,000 rows shown"


def test_a_table_costs_no_more_than_its_rows_have_cells_and_those_that_are_shown() -> None:
    tracemalloc.start()
    try:
        table = read("table", {"columns": [f"c{n}" for n in range(64)], "rows": [{}] * 20_000})
        assert len(columns_of(table)[63].cells) == 200
        assert rows_missing(table) == "first 200 of 20,000 rows shown"
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_a_column_is_one_of_numbers_by_its_first_thousand_rows() -> None:
    rows = [{"n": 1}] * 1000 + [{"n": "x"}]
    assert [read("table", some).columns[0].align for some in (rows, rows[1:])] == ["right", "left"]
    assert not columns_of(read("table", rows), 1001)[0].numeric


def test_the_bars_of_a_chart_are_bounded_and_name_their_category_once() -> None:
    series = (content.CategorySeries("s", (1.0,) * 40), content.CategorySeries("t", (None,) + (2.0,) * 39))
    shown, left_out = bars_of(content.Bars(tuple("abcdefghij" * 4), series, "c", "v"))
    assert shown[:3] == [Bar("a", "s", 0, 1.0), Bar("b", "s", 0, 1.0), Bar("", "t", 1, 2.0)]
    assert (len(shown), left_out) == (60, 19)


def test_the_table_of_a_plot_has_every_point_also_where_several_have_one_place() -> None:
    series = (
        content.Series("a", ((1.0, 5.0), (1.0, 6.0), (2.0, 7.0)), "point"),
        content.Series("b", ((1.0, 8.0), (3.0, 9.0), (3.0, 9.0)), "point"),
    )
    rows = chart_table(content.Plot(series, (), "x", "y")).rows
    assert rows == ((1, 5, 8), (1, 6, None), (2, 7, None), (3, None, 9), (3, None, 9))


def test_the_axes_of_a_plot_have_round_ticks() -> None:
    plot = content.Plot((content.Series(None, ((0.0, 3.0), (10.0, 17.0))),), (), "x", "y")
    axis, places = x_axis(plot)
    assert y_ticks(plot) == [0, 5, 10, 15, 20]
    assert (axis.low, axis.high) == (0, 10)
    assert places[0] == (0, "0")
    assert axis.share(5) == 0.5


def test_the_change_of_a_metric_has_a_sign_and_a_direction() -> None:
    (up, down, none) = read(
        "metric", [{"label": "a", "value": 1, "delta": delta} for delta in (4.2, "-3 %", "same")]
    ).items
    assert [wording.change(metric) for metric in (up, down, none)] == [("+4.2", "up"), ("-3 %", "down"), ("same", None)]


def test_an_address_in_markdown_that_may_not_be_followed_is_empty_and_can_be_compared() -> None:
    (_, inline, _) = parse("[a](javascript:x) ![b](https://example.com/b)")
    assert inline.children is not None
    link, image = (token for token in inline.children if token.type in ("link_open", "image"))
    assert (link.attrs["href"], written_target(link)) == ("", "javascript:x")
    assert image.attrs["src"] == "https://example.com/b"


def table_of_empty_cells(columns: int, rows: int) -> str:
    return "|a" * columns + "|\n" + "|-" * columns + "|\n" + "|\n" * rows


@pytest.mark.parametrize(
    "source",
    [
        "\n".join([table_of_empty_cells(180, 364)] * 4),
        "> " + table_of_empty_cells(180, 364).replace("\n", "\n> "),
        table_of_empty_cells(100, 3) + "|-|\n" * 3000,
        "# a\n\n" + table_of_empty_cells(2, 9000) + "\n# b",
    ],
)
def test_the_cells_of_tables_in_markdown_are_bounded_and_the_rest_stands_as_written(source: str) -> None:
    *tokens, last = parse(source)
    assert 8_000 <= len([token for token in tokens if token.type in ("th_open", "td_open")]) <= 10_000
    assert last.type == "fence"
    assert source.endswith(last.content)
    assert len(last.content) > 1_000


@pytest.mark.parametrize("separator", ["\n", "\r\n", "\u2028"])
def test_the_lines_of_markdown_are_bounded_and_the_rest_stands_as_written(separator: str) -> None:
    *tokens, last = parse(visible(f"- a{separator}" * 12_000))
    assert len([token for token in tokens if token.type == "list_item_open"]) == 10_000
    assert (last.type, last.content) == ("fence", "- a\n" * 2_000)


def test_markdown_with_a_table_of_ordinary_size_is_drawn_as_a_whole() -> None:
    tokens = parse("| a | b |\n|---|---|\n" + "| x | y |\n" * 1000 + "\n" + "a\n---\n" * 3_500)
    assert [token for token in tokens if token.type == "fence"] == []
