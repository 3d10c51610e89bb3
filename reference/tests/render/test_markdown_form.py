"""Displays as Markdown: a reader of Markdown that allows everything finds no HTML, no picture and no hidden link."""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token
from support.growth import is_linear
from support.hostile_displays import NAMES, envelope

from xmcp.render import to_markdown
from xmcp.render.markdown import displays
from xmcp.render.markdown.writing import escaped
from xmcp.render.view import content

READER = MarkdownIt("commonmark", {"html": True, "maxNesting": 100}).enable(["table", "strikethrough"])
READER.validateLink = lambda url: True  # type: ignore[method-assign]
EXAMPLES = sorted(Path("schemas/examples/valid/display_envelope").glob("*.json"))


def tokens(markdown: str) -> Iterator[Token]:
    for token in READER.parse(markdown):
        yield token
        yield from token.children or ()


def words(markdown: str) -> str:
    """Return the text that a reader of Markdown shows, with all its white space as single spaces."""
    shown = (
        " " if token.type in ("softbreak", "hardbreak") or token.type.endswith("_close") else token.content
        for token in tokens(markdown)
        if token.type not in ("inline", "em_close", "strong_close", "s_close", "link_close")
    )
    return " ".join("".join(shown).split())


def written(kind: str, payload: Any, **members: Any) -> str:
    return to_markdown({"type": kind, "payload": payload, **members})


def assert_inert(markdown: str) -> None:
    for token in tokens(markdown):
        assert token.type not in ("html_inline", "html_block", "image")
        if token.type == "link_open":
            assert token.info == "auto"
            assert str(token.attrs["href"]).startswith(("https://", "http://", "mailto:"))


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_a_hostile_display_has_a_meaning_as_markdown(name: str) -> None:
    markdown = to_markdown(envelope(name))
    assert_inert(markdown)
    assert words(markdown)
    assert len(markdown) < 3_000_000


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_of_the_specification_is_inert(path: Path) -> None:
    assert_inert(to_markdown(json.loads(path.read_bytes())))


def test_there_is_a_drawer_for_every_kind_of_content() -> None:
    assert set(displays._DRAWERS) == set(typing.get_args(content.Content))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "# no heading",
            "- no list",
            "+ none",
            "1. none",
            "2) none",
            "> none",
            "a\n===",
            "a\n---",
            "* * *",
            "    code",
        ),
        *(
            "*a* _b_ **c** `d` ~~e~~",
            "[a](https://example.com)",
            "![a](b)",
            "<b>",
            "&amp; &#65;",
            "a\\*b",
            "| a |\n|---|",
        ),
        *(
            "https://example.com",
            "<https://example.com>",
            "a  \nb",
            "C #",
            "```\nx\n```",
            "~~~",
            "[a]: b",
            "$x$",
            "www.a.example b@c.example",
        ),
    ],
)
def test_text_stands_as_written(text: str) -> None:
    assert words(written("text", text)) == " ".join(text.split())
    assert not {token.type for token in tokens(written("text", text))} & {
        "heading_open",
        "link_open",
        "em_open",
        "fence",
    }
    assert words(written("table", [{"k": text}])) == f"k {' '.join(text.split())}"
    assert words(written("text", "x", title=text)) == f"{' '.join(text.split())} x"


def test_nothing_that_gfm_makes_a_link_of_stands_in_a_text_as_it_is() -> None:
    assert escaped("www.evil.example/pay") == "www\\.evil.example/pay"
    assert escaped("(WWW.evil.example) awww. ww.a") == "(WWW\\.evil.example) awww\\. ww.a"
    assert escaped("boss@evil.example") == "boss\\@evil.example"
    assert escaped("https://evil.example") == "https\\://evil.example"


def test_numbers_and_plain_words_are_not_escaped() -> None:
    assert escaped("2026-05 12.5 % of A-1001, (a + b)!") == "2026-05 12.5 % of A-1001, (a + b)!"


def test_a_text_keeps_its_lines_and_its_indentation() -> None:
    assert written("text", "a\n  b\n\nc") == "a\\\n\u00a0\u00a0b\n\nc\n"


def test_markdown_keeps_its_structure_and_writes_out_its_links() -> None:
    source = "# One\n\n*a* **b** `c|d` [words](https://example.com/a)\n\n- x\n  1. y\n- z\n\n> q\n\n```py\n`f`\n```\n"
    assert written("markdown", source, title="T").splitlines() == [
        *("### T", "", "#### One", "", "*a* **b** `c|d` words (<https://example.com/a>)", ""),
        *("- x", "  1. y", "- z", "", "> q", "", "```python", "`f`", "```"),
    ]


def test_markdown_shows_raw_html_as_text_and_loads_no_picture() -> None:
    shown = written("markdown", "<b>raw</b> ![pic](https://example.com/p.png) [x](javascript:y)")
    assert words(shown) == "<b>raw</b> [image: pic] (https://example.com/p.png) x (link not shown)"


def test_a_line_feed_written_as_an_entity_is_a_space_and_begins_no_block() -> None:
    shown = written("markdown", "a&#10;&#10;# b &#x2028;- c ![d&#10;\ne](https://example.com)")
    assert [token.type for token in tokens(shown) if token.type.endswith("_open")] == ["paragraph_open", "link_open"]
    assert words(shown).startswith("a # b - c [image: d&#10; e]")


def test_white_space_costs_no_more_than_its_length() -> None:
    assert is_linear(lambda times: lambda: escaped("a" + "\n" * 4000 * times + "b"))


def test_a_code_span_in_a_table_keeps_its_bar() -> None:
    assert words(written("markdown", "| a |\n|---|\n| `x\\|y` |")) == "a x|y"


def test_a_table_is_a_table_with_its_notices() -> None:
    payload = {
        "columns": ["name", {"key": "n", "type": "number"}],
        "rows": [["a|b", 1000], ["c\nd", None]],
        "total_rows": 9,
    }
    assert written("table", payload).splitlines() == [
        *("| name | n |", "| --- | --: |", "| a\\|b | 1,000 |", "| c d | – |", "", "*note: 2 of 9 rows shown*"),
    ]


def test_a_chart_is_its_description_and_its_data() -> None:
    payload = {
        "mark": "bar",
        "data": {"values": [{"d": "Mon", "n": 3}]},
        "encoding": {"x": {"field": "d"}, "y": {"field": "n"}},
    }
    assert written("chart", payload, alt="Orders rose.").splitlines() == [
        *("Orders rose.", "", "| d | n |", "| --- | --: |", "| Mon | 3 |"),
    ]


def test_code_stands_in_a_fence_that_it_cannot_close() -> None:
    assert written("code", {"code": "````\nx", "language": "py", "filename": "a.md"}).splitlines() == [
        *("a.md · py", "", "`````python", "````", "x", "`````"),
    ]


def test_a_heading_level_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="heading_level must be 1 to 6"):
        to_markdown({"type": "text", "payload": "x"}, heading_level=7)
