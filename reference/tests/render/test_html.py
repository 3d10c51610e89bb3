"""Displays as HTML: what a person sees of each type, and that nothing of it runs, loads or leaves its element."""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

import html5lib
import pytest
from support.browser import page
from support.hostile_displays import HOSTILE, NAMES, envelope

from xmcp import DisplayEnvelope
from xmcp.render import STYLE_SHEET, to_html
from xmcp.render.html import displays
from xmcp.render.view import content

EXAMPLES = sorted(Path("schemas/examples/valid/display_envelope").glob("*.json"))
WITHOUT_GIANTS = [name for name, case in HOSTILE.items() if isinstance(case, str)]
GROUPED = [name for name in WITHOUT_GIANTS if isinstance(envelope(name), dict)][:32]
SAFE = {
    *(
        "html",
        "head",
        "title",
        "meta",
        "style",
        "body",
        "main",
        "div",
        "p",
        "span",
        "strong",
        "em",
        "s",
        "a",
        "br",
        "hr",
    ),
    *("h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "img", "figure", "figcaption"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "details", "summary", "svg", "g", "path", "rect", "text"),
}
ATTRIBUTES = {
    *("class", "style", "lang", "charset", "name", "content", "http-equiv", "tabindex", "role", "aria-label", "scope"),
    *("href", "rel", "src", "alt", "width", "height", "start", "viewBox", "font-family", "font-size", "fill", "stroke"),
    *("fill-opacity", "stroke-opacity", "stroke-width", "stroke-linejoin", "stroke-linecap", "stroke-dasharray", "d"),
    *("x", "y", "rx", "text-anchor", "transform", "color", "xmlns"),
}


def elements(html: str) -> list[Element]:
    """Return the elements of HTML as a browser reads it; every fault of its syntax fails."""
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    tree = parser.parse(html) if html.startswith("<!doctype") else parser.parseFragment(html)
    found = [one for one in tree.iter() if isinstance(one.tag, str) and one.tag != "DOCUMENT_FRAGMENT"]
    for one in found:
        one.tag = one.tag.rpartition("}")[2]
    return found


def words(html: str) -> str:
    """Return the text that a person reads, without the style sheet."""
    return "".join(text for one in _roots(html) for text in _texts(one))


def _roots(html: str) -> Iterator[Element]:
    yield html5lib.parseFragment(html, namespaceHTMLElements=False)


def _texts(one: Element) -> Iterator[str]:
    if one.tag != "style":
        yield one.text or ""
        for child in one:
            yield from _texts(child)
    yield one.tail or ""


def shown(kind: str, payload: Any, **members: Any) -> str:
    return to_html({"type": kind, "payload": payload, **members}, styles="none")


def assert_inert(html: str) -> None:
    for one in elements(html):
        assert one.tag in SAFE, one.tag
        for name, value in one.attrib.items():
            assert name.rpartition("}")[2] in ATTRIBUTES, (one.tag, name)
            assert "url(" not in value
            if name == "href":
                assert urlsplit(value).scheme in ("http", "https", "mailto"), value
            if name == "src":
                assert value.startswith("data:image/"), value
    assert "@import" not in html
    assert "url(" not in STYLE_SHEET


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_a_hostile_display_is_more_than_text(name: str) -> None:
    html = to_html(envelope(name))
    assert_inert(html)
    assert words(html).strip()
    assert len(html) < 10_000_000


@pytest.mark.parametrize("name", WITHOUT_GIANTS)
def test_nothing_of_a_hostile_display_is_more_than_text_with_styles_in_the_elements(name: str) -> None:
    assert_inert(to_html(envelope(name), styles="inline"))


def test_a_whole_page_is_inert_as_well_and_forbids_what_it_does_not_need() -> None:
    html = to_html(
        {"type": "group", "payload": [envelope(name) for name in GROUPED], "title": "<b>"}, page=True, lang="de"
    )
    assert_inert(html)
    assert '<html lang="de">' in html
    assert "default-src &#39;none&#39;; img-src data:" in html
    assert "<title>&lt;b&gt;</title>" in html


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_of_the_specification_is_well_formed(path: Path) -> None:
    html = to_html(json.loads(path.read_bytes()), page=True)
    assert_inert(html)


def test_there_is_a_drawer_for_every_kind_of_content() -> None:
    assert set(displays._DRAWERS) == set(typing.get_args(content.Content))


async def test_a_browser_runs_and_loads_nothing_of_hostile_displays(tmp_path: Path) -> None:
    # Without the policy of a whole page: what is asked here is whether the HTML needs it.
    fragments = "".join(to_html(envelope(name), styles="none") for name in WITHOUT_GIANTS)
    file, control = tmp_path / "hostile.html", tmp_path / "control.html"
    file.write_text(f"<!doctype html><meta charset=utf-8>{fragments}", encoding="utf-8")
    control.write_text("<!doctype html><img src=https://evil.example/p.png>", encoding="utf-8")
    async with page() as browser:
        await browser.record_requests()
        await browser.show(control.as_uri())
        assert "https://evil.example/p.png" in browser.requested
        browser.forget()
        await browser.show(file.as_uri())
        await browser.value("document.querySelectorAll('*').forEach(e => e.dispatchEvent(new Event('mouseover')))")
        assert {one for one in browser.requested if not one.startswith("data:image/")} == {file.as_uri()}
        assert await browser.value("window.ran") is None
        assert await browser.value("document.querySelectorAll('script, iframe, object, embed, form').length") == 0
        assert await browser.value("document.querySelectorAll('.xmcp').length") == len(WITHOUT_GIANTS)


# ---- what is seen ----


def test_an_envelope_object_is_drawn_like_its_mapping() -> None:
    envelope = DisplayEnvelope(type="table", payload=[{"a": 1}], title="T")
    assert to_html(envelope) == to_html({"type": "table", "payload": [{"a": 1}], "title": "T"})


def test_a_group_of_envelope_objects_is_drawn() -> None:
    group = DisplayEnvelope(type="group", payload=[DisplayEnvelope(type="text", payload="inside")])
    assert "inside" in words(to_html(group))


def test_a_table_has_headings_a_caption_and_numbers_at_the_right() -> None:
    payload = {"columns": ["name", "n"], "rows": [["a", 1], ["b", None]], "row_header": "name", "caption": "c"}
    html = shown("table", payload, title="T")
    assert '<th scope="col">name</th><th class="n" scope="col">n</th>' in html
    assert '<th class="w name" scope="row">a</th><td class="n">1</td>' in html
    assert '<td class="n"><span class="faint">–</span></td>' in html
    assert "<caption>c</caption>" in html
    assert 'role="region" aria-label="T"' in html


def test_a_table_shows_a_thousand_rows_and_says_how_many_there_are() -> None:
    html = shown("table", [{"n": n} for n in range(1001)])
    assert html.count("<tr>") == 1001
    assert "first 1,000 of 1,001 rows shown" in words(html)


def test_a_message_and_a_caption_are_cut() -> None:
    table = {"columns": ["a"], "rows": [[1]], "caption": "x" * 10_001}
    assert f"{'x' * 10_000}…" in words(shown("table", table))
    assert "first 10,000 of 10,001 characters shown" in words(shown("notification", "x" * 10_001))


def test_a_chart_is_a_picture_with_its_words_and_its_numbers() -> None:
    payload = {
        "mark": "bar",
        "data": {"values": [{"d": "Mon", "n": 3}, {"d": "Tue", "n": 5}]},
        "encoding": {"x": {"field": "d"}, "y": {"field": "n"}},
    }
    html = shown("chart", payload, alt="Orders rose.")
    assert 'role="img" aria-label="Orders rose."' in html
    assert "<figcaption>Orders rose.</figcaption>" in html
    assert "<title>Mon: 3</title>" in html
    assert "<summary>Data</summary>" in html
    assert '<td class="n">5</td>' in html


def test_a_chart_without_alt_is_described() -> None:
    payload = {
        "mark": "line",
        "data": {"values": [{"d": 1, "n": 3}, {"d": 2, "n": 5}]},
        "encoding": {"x": {"field": "d", "type": "quantitative"}, "y": {"field": "n", "type": "quantitative"}},
    }
    assert 'aria-label="Line chart: 2 values, d, n"' in shown("chart", payload)


def test_markdown_is_drawn_with_its_headings_below_the_title() -> None:
    html = shown("markdown", "# One\n\n*a* **b** ~~c~~ `d`\n\n3. x\n4. y\n\n| a | b |\n|---|--:|\n| 1 | 2 |", title="T")
    assert '<h3 class="title">T</h3><h4 class="h">One</h4>' in html
    assert '<em>a</em> <strong>b</strong> <s>c</s> <code class="snippet">d</code>' in html
    assert '<ol start="3"><li>x</li><li>y</li></ol>' in html
    assert '<th class="r" scope="col">b</th>' in html


def test_a_link_says_where_it_goes() -> None:
    html = shown("markdown", "[https://bank.example](https://EVIL.example/a) <https://example.com/b>")
    assert 'href="https://evil.example/a"' in html
    assert "https://bank.example (evil.example) https://example.com/b" in words(html)


@pytest.mark.parametrize("depth", [1, 12, 19, 20, 40])
def test_markdown_however_deep_loses_no_words(depth: int) -> None:
    nested = "\n".join("  " * level + f"- item{level}" for level in range(depth))
    assert all(f"item{level}" in words(shown("markdown", nested)) for level in range(depth))
    assert "[a]: https://example.com" in words(shown("markdown", "[a]: https://example.com"))


def test_a_picture_is_shown_only_if_its_bytes_are_in_the_display() -> None:
    remote = shown("image", {"src": "https://example.com/duck.png", "alt": "A duck"})
    assert "<img" not in remote
    assert "A duck" in words(remote)
    assert 'href="https://example.com/duck.png"' in remote
    own = shown("image", {"src": "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=", "alt": "A dot"})
    assert '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=" alt="A dot">' in own


@pytest.mark.parametrize("level", ["info", "success", "warning", "error"])
def test_a_notification_says_its_level_in_words(level: str) -> None:
    assert f"{level.capitalize()}  stale\ndata" in words(
        shown("notification", {"message": "stale\ndata", "level": level})
    )


def test_a_type_that_is_not_known_says_so_and_shows_its_words() -> None:
    html = words(shown("x-acme-map", {"lat": 1}, alt="Ottawa."))
    assert "Ottawa." in html
    assert 'note: unsupported display type "x-acme-map"' in html


@pytest.mark.parametrize("kind", ["text", "markdown", "code", "html", "notification"])
def test_an_empty_payload_is_said_to_be_empty(kind: str) -> None:
    assert "(nothing to show)" in words(shown(kind, " "))


def test_titles_inside_a_group_are_below_its_own() -> None:
    inner = {"type": "group", "payload": [{"type": "text", "payload": "x", "title": "C"}], "title": "B"}
    html = to_html({"type": "group", "payload": [inner], "title": "A"}, heading_level=5)
    assert [one.tag for one in elements(html) if one.get("class") == "title"] == ["h5", "h6", "h6"]


# ---- styles ----


def test_styles_are_in_a_sheet_in_the_elements_or_left_to_the_page() -> None:
    display = {"type": "table", "payload": [{"a": 1}]}
    assert to_html(display).startswith(f"<style>\n{STYLE_SHEET}\n</style>")
    assert "<style" not in to_html(display, styles="none")
    inline = to_html(display, styles="inline", page=True)
    assert "<style" not in inline
    assert "class=" not in inline
    assert all(one.get("style") for one in elements(inline) if one.tag in ("table", "th", "td"))


def test_a_text_that_looks_like_an_element_gets_no_style() -> None:
    assert "&lt;td class=&quot;n&quot;&gt;" in to_html({"type": "text", "payload": '<td class="n">'}, styles="inline")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"styles": "css"}, "styles must be"),
        ({"heading_level": 0}, "heading_level must be"),
        ({"lang": "<b>"}, "lang must be"),
    ],
)
def test_an_option_that_is_none_is_refused(option: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        to_html({"type": "text", "payload": "x"}, **option)


async def test_displays_are_readable_in_light_and_in_dark(tmp_path: Path) -> None:
    """The colours of words are those of the page, and no wider than a phone, whatever the display holds."""
    wide = {"type": "table", "payload": [{f"column {n}": "words " * 8 for n in range(12)}]}
    source = {"type": "code", "payload": "x" * 400}
    chart = envelope("chart of 5,000 categories")
    file = tmp_path / "page.html"
    file.write_text(to_html({"type": "group", "payload": [wide, source, chart]}, page=True), encoding="utf-8")
    async with page() as browser:
        colours = []
        for dark in (False, True):
            await browser.show(file.as_uri(), width=380, dark=dark)
            assert await browser.value("document.documentElement.scrollWidth") == 380
            colours.append(await browser.value("getComputedStyle(document.querySelector('svg text')).fill"))
        assert colours[0] != colours[1]
