"""The parts of one display share its room: a group costs no more than one long part, and none of it is empty."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from xmcp.render import plan, to_html
from xmcp.render.view import View, content
from xmcp.render.view.limits import CHARACTERS, LEAST, MARKDOWN_PIECES, PARTS, ROOM
from xmcp.render.view.wording import items_missing

LONG = CHARACTERS * 3 // 4
LEFT = CHARACTERS - LONG
Q = {"type": "quantitative"}


def group(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "group", "payload": [*parts]}


def part(kind: str, payload: Any, **members: Any) -> dict[str, Any]:
    return {"type": kind, "payload": payload, **members}


def views(*parts: dict[str, Any]) -> tuple[View, ...]:
    shown = plan(group(*parts)).content
    assert isinstance(shown, content.Group)
    return shown.views


def line(points: int) -> dict[str, Any]:
    values = [{"x": n, "y": n} for n in range(points)]
    return part("chart", {"mark": "line", "data": {"values": values}, "encoding": {c: {"field": c, **Q} for c in "xy"}})


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        ("text", "text", "text"),
        ("code", "markdown", "source"),
        ("html", "code", "source"),
        ("markdown", "html", "source"),
    ],
)
def test_a_text_has_the_room_that_the_one_before_it_leaves(first: str, second: str, name: str) -> None:
    before, shown, last = views(part(first, "x" * LONG), part(second, "y" * LONG), part(second, "z" * LONG))
    assert before == plan(part(first, "x" * LONG))
    assert getattr(shown.content, name) == "y" * LEFT
    assert shown.notices == (f"first {LEFT:,} of {LONG:,} characters shown",)
    assert getattr(last.content, name) == "z" * LEAST["characters"]


def test_a_short_text_behind_a_giant_is_whole() -> None:
    shown = views(part("text", "x" * 5_000_000), part("markdown", "**42** units"), part("text", "y" * 1_000))
    assert shown[0].content == content.Text("x" * 5_000_000)
    assert [one.notices for one in shown] == [(), (), ()]


def test_a_message_has_room_as_well() -> None:
    _, shown = views(part("text", "x" * CHARACTERS), part("notification", "y" * LONG))
    assert shown.content == content.Notification("y" * LEAST["characters"])
    assert shown.notices == (f"first {LEAST['characters']:,} of {LONG:,} characters shown",)


@pytest.mark.parametrize("kind", ["image", "chart"])
def test_the_description_of_a_picture_is_a_text_as_well(kind: str) -> None:
    picture = line(3) if kind == "chart" else part("image", "https://example.com/a.png")
    _, shown = views(part("text", "x" * CHARACTERS), picture | {"alt": "a" * LONG})
    alt = shown.content.alt if isinstance(shown.content, content.Image) else shown.alt
    assert alt == "a" * LEAST["characters"]
    assert shown.notices == (f"first {LEAST['characters']:,} of {LONG:,} characters shown",)


def test_what_the_ladder_ends_with_shares_the_room_too() -> None:
    _, alt, words, value = views(
        part("text", "x" * CHARACTERS),
        {"type": "x-a-b", "alt": "a" * LONG},
        part("x-a-b", "b" * LONG),
        part("x-a-b", 7),
    )
    for one in (alt, words):
        assert isinstance(one.content, content.Text)
        assert len(one.content.text) == LEAST["characters"]
        assert one.notices[1:] == (f"first {LEAST['characters']:,} of {LONG:,} characters shown",)
    assert value.content == content.Json(7)


def test_rows_and_facts_and_metrics_share_their_values() -> None:
    full = part("table", {"columns": [str(n) for n in range(64)], "rows": [[1] * 64] * 1000})
    rows = part("table", [{"a": n, "b": n} for n in range(1000)])
    facts, metrics = part("facts", {f"k{n}": n for n in range(80)}), part("metric", [{"label": "a", "value": 1}] * 80)
    first, table, some, tiles = views(full, rows, facts, metrics)
    assert isinstance(first.content, content.Table)
    assert (len(first.content.rows), first.content.total_rows) == (1000, None)
    assert isinstance(table.content, content.Table)
    assert (len(table.content.rows), table.content.total_rows) == (LEAST["values"] // 2, 1000)
    assert isinstance(some.content, content.Facts)
    assert (len(some.content.items), items_missing(some.content)) == (50, "first 50 of 80 facts shown")
    assert isinstance(tiles.content, content.Metrics)
    assert (len(tiles.content.items), items_missing(tiles.content)) == (25, "first 25 of 80 metrics shown")


def test_a_table_of_any_length_alone_is_whole() -> None:
    shown = plan(part("table", [{"a": n, "b": n} for n in range(100_000)])).content
    assert isinstance(shown, content.Table)
    assert len(shown.rows) == 100_000


def test_a_json_value_without_room_is_its_beginning() -> None:
    full = part("table", {"columns": [str(n) for n in range(64)], "rows": [[1] * 64] * 1000})
    _, small, large = views(full, part("json", {"a": [1, 2]}), part("json", list(range(1000))))
    assert small.content == content.Json({"a": [1, 2]})
    assert isinstance(large.content, content.Code)
    assert large.content.source.endswith('"… 900 more"\n]')
    assert large.notices == ("the value is long; not all of it is shown",)


def test_a_chart_without_room_goes_down_the_ladder() -> None:
    many = [line(5000)] * 10
    *_, last, small = views(*many, line(5000) | {"alt": "Rising."}, line(3))
    assert last.content == content.Text("Rising.")
    assert last.notices == (
        'unsupported display type "chart": what stands before it leaves no room for its 5,000 values',
    )
    assert small.rendered_as == "chart"


def test_lines_of_markdown_are_shared_and_end_with_a_line() -> None:
    rows = "- a\n" * (MARKDOWN_PIECES - 10)
    _, shown, table = views(
        part("markdown", rows), part("markdown", "- b\n" * 50), part("markdown", "|a|b|\n|-|-|\n" + "|c|d|\n" * 50)
    )
    assert shown.content == content.Markdown("- b\n" * LEAST["pieces"])
    assert shown.notices == ("first 80 of 200 characters shown",)
    assert table.content == content.Markdown("|a|b|\n|-|-|\n" + "|c|d|\n" * 8)


def test_of_one_line_of_markdown_without_room_the_beginning_is_shown() -> None:
    line = "[a](https://example.com) " * 3000
    *_, shown = views(part("markdown", "- a\n" * MARKDOWN_PIECES), part("markdown", line))
    assert shown.content == content.Markdown(line[: LEAST["pieces"]])


def test_a_display_has_so_many_parts_in_all() -> None:
    inner = group(*[part("text", "x")] * 32)
    view = plan(group(*[inner] * 32))
    assert isinstance(view.content, content.Group)
    assert len([*leaves(view)]) == PARTS - 4
    assert view.notices == ("first 4 of 32 displays shown",)
    assert view.content.views[-1].notices == ("first 28 of 32 displays shown",)


def leaves(view: View) -> Iterator[View]:
    if isinstance(view.content, content.Group):
        for inner in view.content.views:
            yield from leaves(inner)
    else:
        yield view


def dense(piece: str) -> dict[str, Any]:
    return part("markdown", (piece * 150_000)[:150_000])


GIANTS = {
    "paragraphs": group(*[dense("*a*\n\n")] * 32),
    "lists": group(*[dense("- a\n")] * 32),
    "pictures": group(*[dense("![[]()")] * 32),
    "brackets": group(*[dense("[a](")] * 32),
    "rows without a cell": part("table", [{} for _ in range(1_660_000)]),
    "columns without a name": part("table", {"columns": [""] * 1_660_000, "rows": []}),
    "small charts": group(*[group(*[group(*[line(2)] * 32)] * 32)] * 28),
    "long charts": group(*[line(5000)] * 32),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", GIANTS)
def test_five_megabytes_are_drawn_in_two_seconds(name: str) -> None:
    began = time.process_time()
    html = to_html(GIANTS[name])
    assert time.process_time() - began < 2
    assert len(html) < 5_000_000


def test_the_room_is_that_of_the_longest_part_alone() -> None:
    assert ROOM == {"characters": 200_000, "values": 64_000, "pieces": 10_000}
