"""The view layer of the web component decides what that of Python decides: rung, notices, and every visible word."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.hostile_envelopes import SAMPLES, charts, envelopes, number_of_json
from support.visible_words import as_json, visible_words
from support.web_view import WebView, web_view

from xmcp.render.view import content, plan
from xmcp.render.view.errors import error_view
from xmcp.render.view.links import link
from xmcp.render.view.numerals import as_sent, byte_size, quantity
from xmcp.render.view.untrusted import is_blank, label, revealed, visible


@pytest.fixture(scope="module")
def web() -> Iterator[WebView]:
    with web_view() as running:
        yield running


def as_the_web_has_it(view: content.View) -> Any:
    return json.loads(json.dumps({"view": as_json(view), "words": visible_words(view)}), parse_int=float)


def as_every_reader_gets_it(value: Any) -> Any:
    """Return a value after JSON, with its members in the order of JavaScript, which puts whole numbers first."""
    match json.loads(json.dumps(value)):
        case dict() as members:
            numbers = sorted((name for name in members if is_index(name)), key=int)
            names = [*numbers, *(name for name in members if not is_index(name))]
            return {name: as_every_reader_gets_it(members[name]) for name in names}
        case list() as items:
            return [as_every_reader_gets_it(item) for item in items]
        case scalar:
            return scalar


def is_index(name: str) -> bool:
    return name.isascii() and name.isdecimal() and (name == "0" or name[0] != "0") and int(name) < 2**32 - 1


@settings(max_examples=300, deadline=None)
@given(envelopes(number_of_json))
def test_both_views_show_the_same_of_any_envelope(web: WebView, envelope: Any) -> None:
    envelope = as_every_reader_gets_it(envelope)
    assert web.ask(envelope=envelope) == as_the_web_has_it(plan(envelope))


@settings(max_examples=300, deadline=None)
@given(charts(number_of_json))
def test_both_views_show_the_same_of_any_chart(web: WebView, envelope: Any) -> None:
    envelope = as_every_reader_gets_it(envelope)
    assert web.ask(envelope=envelope) == as_the_web_has_it(plan(envelope))


MOMENTS = [
    *("2024-05-01T10:00", "2024-05-01T10:00:01", "2024-05-01T10:00:02.50+02:00", "2024-05-02", "2024-05", "2023", "x"),
    *(1714557600001, 1714557600001.5, -1, 0, 253402300799999.9, -62135596800001, 1e17, 1e18, "0001-01-01T00:00+01:00"),
]


@pytest.mark.parametrize("mark", ["line", "bar", "rect"])
@pytest.mark.parametrize(
    "moments", [MOMENTS, MOMENTS[:6], ["2024-02-01", "2024-01-01"], [1704067200000, 1706745600000]]
)
def test_both_views_name_the_moments_of_a_chart_alike(web: WebView, mark: str, moments: list[Any]) -> None:
    rows = as_every_reader_gets_it([{"t": moment, "n": nth} for nth, moment in enumerate(moments)])
    encoding = {"x": {"field": "t", "type": "temporal"}, "y": {"field": "n", "type": "quantitative"}}
    if mark == "rect":
        encoding = {"x": encoding["x"], "y": {"field": "t", "type": "temporal"}, "color": encoding["y"]}
    rule = {"mark": "rule", "encoding": {"x": {"datum": "2024-05-01T00:00:00+02:00"}}}
    layers = [{"mark": mark, "encoding": encoding}, *([rule] if mark == "line" else [])]
    envelope = {"type": "chart", "payload": {"data": {"values": rows}, "layer": layers}}
    assert web.ask(envelope=envelope) == as_the_web_has_it(plan(envelope))


def test_both_views_have_every_point_in_the_table_of_a_plot(web: WebView) -> None:
    rows = [{"x": x, "y": y, "s": s} for x, y, s in ((1, 5, "a"), (1, 6, "a"), (2, 7, "a"), (1, 8, "b"), (1, 6, "a"))]
    encoding = {name: {"field": name} for name in "xy"} | {"color": {"field": "s"}}
    payload = {"mark": "point", "data": {"values": rows}, "encoding": encoding}
    envelope = as_every_reader_gets_it({"type": "chart", "payload": payload})
    assert web.ask(envelope=envelope) == as_the_web_has_it(plan(envelope))


@pytest.mark.parametrize("numbers", [999, 1000])
def test_both_views_align_a_long_column_alike(web: WebView, numbers: int) -> None:
    envelope = as_every_reader_gets_it({"type": "table", "payload": [{"n": 1}] * numbers + [{"n": "x"}]})
    assert web.ask(envelope=envelope) == as_the_web_has_it(plan(envelope))


LONG = "line *of*\u2028text\U0001f600\n" * 9_000
CELLS = [[1] * 64] * 1000
NAMES = [f"c{n}" for n in range(64)]
LINE = {
    "mark": "line",
    "data": {"values": [{"x": n, "y": n} for n in range(5000)]},
    "encoding": {name: {"field": name, "type": "quantitative"} for name in "xy"},
}
CROWDED = {
    "texts": [("text", LONG), ("code", LONG), ("html", LONG), ("notification", LONG), ("x-a-b", LONG)],
    "markdown": [
        ("markdown", LONG),
        ("markdown", "\r\n- a" * 9_000),
        ("markdown", "|a|b|\r\n|-|-|\r\n" + "|c\r\n" * 90),
    ],
    "values": [
        ("table", {"columns": NAMES, "rows": CELLS}),
        ("table", {"columns": NAMES, "rows": CELLS}),
        ("table", [{"a": n} for n in range(200)]),
        ("facts", {f"k{n}": n for n in range(501)}),
        ("metric", [{"label": "a", "value": 1}] * 501),
        ("json", {"a": [*range(500)], "b": {"c": ["x" * 3000] * 9}}),
        ("json", [1, [2]]),
    ],
    "json": [*[("json", [*range(9_000)])] * 12, ("table", {"columns": NAMES, "rows": CELLS})],
    "messages": [("notification", LONG), ("image", {"src": "https://example.com/a.png", "alt": LONG})],
    "charts": [("chart", LINE)] * 9,
    "parts": [("group", [{"type": "text", "payload": "x"}] * 32)] * 9,
}


@pytest.mark.parametrize("name", CROWDED)
def test_both_views_deal_out_the_room_of_a_display_alike(web: WebView, name: str) -> None:
    parts = [{"type": kind, "payload": payload, "alt": LONG} for kind, payload in CROWDED[name]]
    envelope = as_every_reader_gets_it({"type": "group", "payload": parts})
    answer, expected = web.ask(envelope=envelope), as_the_web_has_it(plan(envelope))
    assert answer["words"] == expected["words"]
    assert answer["view"] == expected["view"]


@settings(max_examples=30, deadline=None)
@given(st.lists(number_of_json | st.integers(-4000, 4000).map(lambda n: n / 32), max_size=50))
def test_both_views_write_numbers_alike(web: WebView, numbers: list[float]) -> None:
    expected = [[as_sent(float(n)), quantity(float(n)), byte_size(abs(int(n)))] for n in numbers]
    assert web.ask(numbers=numbers) == expected


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(st.characters(codec=None) | st.sampled_from(SAMPLES), max_size=60), max_size=20))
def test_both_views_make_text_safe_alike(web: WebView, strings: list[str]) -> None:
    strings = as_every_reader_gets_it(strings)
    assert web.ask(strings=strings) == [[visible(s), revealed(s), label(s, 20), is_blank(s)] for s in strings]


def test_both_views_know_every_character_alike(web: WebView) -> None:
    strings = [chr(code) + "x" for code in range(0x30000) if not 0xD800 <= code < 0xE000]
    strings += [chr(plane + code) for plane in range(0x30000, 0x110000, 0x10000) for code in (0xFFFD, 0xFFFE, 0xFFFF)]
    strings += [chr(code) for code in (*range(0x250), *range(0x2000, 0x3200), *range(0xE0000, 0xE1010))]
    assert web.ask(strings=strings) == [[visible(s), revealed(s), label(s, 20), is_blank(s)] for s in strings]


hosts = st.text(
    st.sampled_from("abcXYZ019-_.:@/?#[]%\\ äßÅеа。．İΣς漢😀\u200d\u202e\u2100") | st.characters(), max_size=20
)
uris = st.tuples(
    st.sampled_from(
        ["https://", "http://", "HTTPS://", "mailto:", "https:/", "//", "javascript:", "http\u017f://", ""]
    ),
    hosts,
    st.sampled_from(["", "/x?y#z", ":80", ":99999", "/\u202e", "?q=ü", "@evil.example", ".1", ".0x7f"]),
).map("".join)


@settings(max_examples=100, deadline=None)
@given(st.lists(uris, max_size=30))
def test_both_views_open_the_same_links(web: WebView, links: list[str]) -> None:
    assert web.ask(links=links) == [link(uri) for uri in links]


LOCALIZED = [
    {"locale": "de-AT", "message": "Servus"},
    {"locale": "EN", "message": "Hello"},
    {"locale": "fr", "message": " "},
    {"locale": 7, "message": "x"},
    "x",
]


@pytest.mark.parametrize(
    ("languages", "words"),
    [
        (["en"], "Hello"),
        (["en-GB-oxendict"], "Hello"),
        (["de"], "Servus"),
        (["fr", "de-CH"], "Servus"),
        (["ja"], "the message"),
        ([], "the message"),
    ],
)
def test_both_views_show_an_error_in_the_language_of_the_person(web: WebView, languages: list[str], words: str) -> None:
    view = error_view("the message", {"localized": LOCALIZED}, languages)
    assert view.content == content.Notification(words, "error")
    assert web.ask(error=["the message", {"localized": LOCALIZED}, languages]) == as_the_web_has_it(view)


@pytest.mark.parametrize("meta", [None, [], {"localized": None}, {"localized": {"locale": "en"}}, {"localized": [1]}])
def test_both_views_ignore_a_meta_that_is_not_as_the_schema_says(web: WebView, meta: Any) -> None:
    view = error_view("the message", meta, ["en"])
    assert view.content == content.Notification("the message", "error")
    assert web.ask(error=["the message", meta, ["en"]]) == as_the_web_has_it(view)
