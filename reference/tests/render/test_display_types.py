"""What a person sees of each display type (spec section 3.2)."""

from __future__ import annotations

from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console
from support.growth import is_linear

from xmcp.render import plan, render, to_text
from xmcp_models.display_envelope import DisplayEnvelope


def shown(kind: str, payload: Any, width: int = 80, **keys: Any) -> str:
    return to_text({"type": kind, "payload": payload, **keys}, width)


def lines(kind: str, payload: Any, width: int = 80, **keys: Any) -> list[str]:
    return shown(kind, payload, width, **keys).splitlines()


def test_text_stands_as_written_under_its_title() -> None:
    assert lines("text", "two\nlines", title="Heading") == ["Heading", "two", "lines"]


def test_an_envelope_object_is_shown_like_its_mapping() -> None:
    envelope = DisplayEnvelope(type="table", payload=[{"a": 1, "b": None}], title="T")
    assert to_text(envelope) == shown("table", [{"a": 1, "b": None}], title="T")


def test_markdown_is_drawn_without_its_signs() -> None:
    drawn = shown("markdown", "# Hello *Ada*\n\n- one\n- two\n\n| a | b |\n|---|--:|\n| x | 1 |")
    assert "Hello Ada" in drawn
    assert "• one" in drawn
    assert "#" not in drawn
    assert "|" not in drawn


def test_markdown_shows_raw_html_as_text() -> None:
    assert "<b>raw</b> <img src=x>" in shown("markdown", "<b>raw</b> <img src=x>")


def test_markdown_writes_the_target_of_a_link_beside_its_words() -> None:
    assert "our docs (https://example.com/a)" in shown("markdown", "[our docs](https://example.com/a)")


def test_markdown_does_not_repeat_a_target_that_is_its_own_words() -> None:
    assert shown("markdown", "<https://example.com/a>").strip() == "https://example.com/a"


@pytest.mark.parametrize("target", ["javascript:alert(1)", "//evil.example", "file:///etc/passwd", "data:text/html,x"])
def test_markdown_shows_no_target_but_web_and_mail(target: str) -> None:
    drawn = shown("markdown", f"[click]({target}) ![pic]({target})")
    assert target not in drawn
    assert drawn.count("link not shown") == 2


@pytest.mark.parametrize("depth", [1, 6, 12, 19, 20, 40])
def test_markdown_however_deep_loses_no_words(depth: int) -> None:
    quoted = shown("markdown", ">" * depth + " deep water", width=24)
    assert "deep" in quoted
    assert "water" in quoted
    nested = "\n".join("  " * level + f"- item{level}" for level in range(depth))
    assert all(f"item{level}" in shown("markdown", nested, width=24) for level in range(depth))


def test_markdown_that_comes_to_nothing_stands_as_source() -> None:
    assert shown("markdown", "[a]: https://example.com").strip() == "[a]: https://example.com"


# ---- tables ----


def test_a_table_of_objects_has_the_keys_in_first_seen_order() -> None:
    head, _, first, second = lines("table", [{"b": "x", "a": 1}, {"a": 2, "c": True}])
    assert head.split() == ["b", "a", "c"]
    assert first.split() == ["x", "1", "–"]
    assert second.split() == ["–", "2", "true"]


def test_a_table_with_columns_takes_rows_of_both_kinds() -> None:
    payload = {"columns": ["name", {"key": "n", "title": "Count"}], "rows": [["a", 1], {"n": 2, "name": "b", "z": 9}]}
    head, _, first, second = lines("table", payload)
    assert head.split() == ["name", "Count"]
    assert (first.split(), second.split()) == (["a", "1"], ["b", "2"])


def test_decimal_points_of_a_column_stand_below_each_other() -> None:
    rows = lines("table", [{"n": value} for value in (1, 22.5, -333.25, None, 4444)])[2:]
    points = [row.find(".") if "." in row else len(row) for row in rows if "–" not in row]
    assert len(set(points)) == 1


def test_a_column_declared_as_numbers_is_grouped_and_another_is_as_sent() -> None:
    columns = [{"key": "id"}, {"key": "amount", "type": "number"}]
    row = lines("table", {"columns": columns, "rows": [[1234567, 1234567.5]]})[2]
    assert row.split() == ["1234567", "1,234,567.5"]


def test_alignment_asked_for_is_followed() -> None:
    payload = {"columns": [{"key": "a", "align": "right"}, "b"], "rows": [["x", "y"], ["longer", "y"]]}
    assert lines("table", payload)[2].startswith("     x")


def test_a_cell_that_does_not_fit_is_wrapped_not_cut() -> None:
    words = " ".join(f"word{i}" for i in range(40))
    drawn = shown("table", [{"id": 1, "text": words}], width=40)
    assert all(f"word{i}" in drawn for i in range(40))


def test_rows_the_server_kept_back_are_counted() -> None:
    drawn = shown("table", {"columns": ["a"], "rows": [[1], [2]], "total_rows": 1240})
    assert "note: 2 of 1,240 rows shown" in drawn


def test_a_cut_without_a_count_is_said() -> None:
    assert "there are more rows" in shown("table", {"columns": ["a"], "rows": [[1]], "truncated": True})


def test_rows_beyond_the_screen_are_counted() -> None:
    assert "note: first 200 of 1,000 rows shown" in shown("table", [{"n": i} for i in range(1000)])


def test_columns_for_which_there_is_no_room_are_named() -> None:
    grid, note = shown("table", [{f"column{i}": "some words" for i in range(10)}], width=60).split("no room for")
    shown_columns = grid.splitlines()[0].split()
    assert shown_columns == [f"column{i}" for i in range(len(shown_columns))]
    assert "column9" in note


def test_the_caption_stands_below_the_table() -> None:
    assert lines("table", {"columns": ["a"], "rows": [[1]], "caption": "in k€"})[-1] == "in k€"


def test_an_empty_table_says_so() -> None:
    assert "(no rows)" in shown("table", {"columns": ["a", "b"], "rows": []})
    assert "(nothing to show)" in shown("table", [{}])


# ---- the others ----


@pytest.mark.parametrize("level", ["info", "success", "warning", "error"])
def test_a_notification_says_its_level_in_words(level: str) -> None:
    assert f"{level.capitalize()}  stale data" in shown("notification", {"message": "stale data", "level": level})


def test_a_notification_may_be_a_string() -> None:
    assert "Info  done" in shown("notification", "done")


def test_code_keeps_its_indentation_and_names_its_file() -> None:
    assert lines("code", {"code": "def f():\n    return 1\n", "language": "python", "filename": "f.py"}) == [
        "f.py · python",
        "  def f():",
        "      return 1",
    ]


def colours_of(kind: str, payload: Any) -> int:
    """Return how many changes of colour a terminal gets."""
    console = Console(width=80, force_terminal=True, color_system="standard", legacy_windows=False, no_color=False)
    with console.capture() as capture:
        console.print(render({"type": kind, "payload": payload}))
    return capture.get().count("\x1b[3")


@pytest.mark.parametrize(
    ("language", "words", "most"),
    [
        *(("python", "x = 'y'\n", 20_000), ("json", "[1]\n", 20_000), ("javascript", "x = 'y';\n", 2_000)),
        *(("html", "<a href='b'>\n", 2_000), ("csharp", "x = 'y';\n", 0), ("brainfuck", "x\n", 0)),
    ],
)
def test_code_is_coloured_up_to_the_length_that_its_lexer_reads_at_once(language: str, words: str, most: int) -> None:
    fits = words * (most // len(words) or 1)
    for shown_so in (
        lambda code: colours_of("code", {"code": code, "language": language}),
        lambda code: colours_of("markdown", f"```{language}\n{code}```"),
    ):
        assert bool(shown_so(fits)) == bool(most)
        assert shown_so(fits + words * 2) == 0


def test_the_code_that_one_markdown_text_colours_is_bounded() -> None:
    fence = "```python\n" + "x = 'y'\n" * 1000 + "```\n\n"
    assert 0 < colours_of("markdown", fence * 2) == colours_of("markdown", fence * 4)


@pytest.mark.parametrize(
    ("language", "piece"),
    [
        *(("csharp", "a \n"), ("java", "a b "), ("go", '"\\'), ("html", "&"), ("ini", " :"), ("xml", "&")),
        *(("javascript", "'\\"), ("typescript", "a?"), ("css", "'\\"), ("yaml", "*"), ("python", "@@"), ("c", "{")),
    ],
)
def test_colouring_costs_no_more_than_the_length_of_the_code(language: str, piece: str) -> None:
    def drawn(times: int) -> Any:
        return lambda: shown("markdown", f"```{language}\n{piece * (1500 * times // len(piece))}\n```")

    assert is_linear(drawn)


def test_json_is_indented() -> None:
    assert '  "a": [' in shown("json", {"a": [1]})


def test_json_of_any_size_stays_on_a_few_screens() -> None:
    drawn = lines("json", {"rows": [{"n": i, "text": "x" * 10_000} for i in range(1000)]})
    assert len(drawn) < 2000
    assert "not all of it is shown" in drawn[-1]


def test_facts_put_labels_before_values() -> None:
    drawn = lines("facts", {"Paid": True, "Items": 3, "Note": None})
    assert [line.split() for line in drawn] == [["Paid", "true"], ["Items", "3"], ["Note", "–"]]
    assert lines("facts", [{"label": "Paid", "value": True}]) == ["Paid  true"]


def test_a_metric_has_value_unit_and_direction() -> None:
    drawn = shown("metric", [{"label": "Revenue", "value": 1284500, "unit": "EUR", "delta": 4.2}])
    assert drawn.split() == ["Revenue", "1,284,500", "EUR", "▲", "+4.2"]
    assert "▼ -3 %" in shown("metric", {"label": "Orders", "value": "12", "delta": "-3 %"})


def test_an_image_is_its_words_and_its_address() -> None:
    drawn = shown("image", {"src": "https://example.com/duck.png", "width": 640, "height": 480}, alt="A duck")
    assert "A duck" in drawn
    assert "640 × 480 px" in drawn
    assert "https://example.com/duck.png" in drawn


def test_an_image_inside_the_message_is_not_printed() -> None:
    drawn = shown("image", {"src": "data:image/png;base64," + "QUJD" * 1000, "alt": "Logo"})
    assert "Logo" in drawn
    assert "image/png · 2.9 KiB" in drawn
    assert "QUJD" not in drawn


def test_a_file_has_name_size_and_address() -> None:
    drawn = shown("file", {"uri": "https://example.com/r.csv", "name": "r.csv", "mime": "text/csv", "size": 12345})
    assert drawn.split() == ["file", "r.csv", "text/csv", "·", "12.1", "KiB", "https://example.com/r.csv"]


def test_html_stands_as_source_and_says_so() -> None:
    drawn = shown("html", "<script>alert(1)</script>")
    assert "<script>alert(1)</script>" in drawn
    assert "not interpreted" in drawn


def test_a_group_shows_its_displays_in_order() -> None:
    drawn = shown("group", [{"type": "text", "payload": "first"}, {"type": "facts", "payload": {"k": "second"}}])
    assert drawn.index("first") < drawn.index("second")


@pytest.mark.parametrize("kind", ["text", "markdown", "code", "html", "notification"])
def test_an_empty_payload_is_said_to_be_empty(kind: str) -> None:
    assert "(nothing to show)" in shown(kind, "")


@pytest.mark.parametrize("width", [24, 40, 80, 133])
def test_no_line_is_wider_than_the_width_asked_for(width: int) -> None:
    payload = [{"name": "漢字" * 30, "text": "word " * 60, "n": 123456}]
    assert max(map(cell_len, lines("table", payload, width, title="t" * 190))) <= width


def test_the_decision_is_separate_from_the_drawing() -> None:
    view = plan({"type": "table", "payload": [{"a": 1}], "title": "T"})
    assert (view.rendered_as, view.title, view.notices) == ("table", "T", ())
