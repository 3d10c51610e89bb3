"""Untrusted text moves no cursor, hides nothing and is never read as markup (spec section 8.4)."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console
from support import hostile_displays

from xmcp.render import render, to_html, to_markdown, to_svg, to_text
from xmcp.render.view.links import host_of, link
from xmcp.render.view.untrusted import label, revealed, visible

ESCAPES = "\x1b[31mred\x1b[0m \x1b]8;;https://evil.example\x1b\\x\x1b]8;;\x1b\\ \x9b2J \x07\x08\x00"
CHART = {
    "mark": "bar",
    "data": {"values": [{"a": ESCAPES, "n": 1}]},
    "encoding": {"x": {"field": "a", "title": ESCAPES}, "y": {"field": "n", "title": ESCAPES}},
}
FORBIDDEN = {
    chr(code) for code in (*range(10), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
EVERYWHERE: list[dict[str, Any]] = [
    {"type": "text", "payload": ESCAPES, "title": ESCAPES},
    {"type": "markdown", "payload": f"# {ESCAPES}\n\n`{ESCAPES}`\n\n```{ESCAPES}\n{ESCAPES}\n```"},
    {"type": "markdown", "payload": f"[{ESCAPES}](http://{ESCAPES}) ![{ESCAPES}](<https://{ESCAPES}>)"},
    {"type": "table", "payload": {"columns": [ESCAPES], "rows": [[ESCAPES]], "caption": ESCAPES}},
    {"type": "chart", "payload": CHART},
    {"type": "image", "payload": {"src": "https://example.com/\x1b[31m.png", "alt": ESCAPES, "mime": ESCAPES}},
    {"type": "notification", "payload": ESCAPES},
    {"type": "code", "payload": {"code": ESCAPES, "language": "python", "filename": ESCAPES}},
    {"type": "code", "payload": {"code": ESCAPES, "language": ESCAPES}},
    {"type": "json", "payload": {ESCAPES: [ESCAPES]}},
    {"type": "facts", "payload": {ESCAPES: ESCAPES}},
    {"type": "metric", "payload": {"label": ESCAPES, "value": ESCAPES, "unit": ESCAPES, "delta": ESCAPES}},
    {"type": "file", "payload": {"uri": f"https://{ESCAPES}", "name": ESCAPES, "mime": ESCAPES}},
    {"type": "html", "payload": ESCAPES},
    {"type": f"x-{ESCAPES}", "payload": {}, "title": ESCAPES, "alt": ESCAPES},
]


@pytest.mark.parametrize("envelope", EVERYWHERE, ids=lambda envelope: envelope["type"][:12].strip("\x1b"))
def test_no_escape_sequence_of_a_display_reaches_the_terminal(envelope: dict[str, Any]) -> None:
    # Without colours the renderer writes no escape sequence of its own, so one that is there came from the display.
    console = Console(width=80, force_terminal=True, color_system=None, legacy_windows=False)
    with console.capture() as capture:
        console.print(render(envelope))
    assert not set("\x1b\x9b\x07\x08\x00") & set(capture.get())


@pytest.mark.parametrize("name", hostile_displays.NAMES)
def test_nothing_of_a_hostile_display_reaches_the_terminal_but_its_words(name: str) -> None:
    console = Console(width=80, force_terminal=True, color_system=None, legacy_windows=False)
    with console.capture() as capture:
        console.print(render(hostile_displays.envelope(name)))
    shown = capture.get()
    assert not [sign for sign in shown if sign in FORBIDDEN]
    assert shown.strip()
    assert len(shown) < 5_000_000


@pytest.mark.parametrize(
    "envelope",
    [
        {"type": "text", "payload": "[bold red]x[/] :smile:"},
        {"type": "text", "payload": "x", "title": "[bold red]x[/] :smile:"},
        {"type": "table", "payload": [{"[bold red]x[/]": ":smile:"}]},
        {"type": "notification", "payload": "[bold red]x[/] :smile:"},
        {"type": "facts", "payload": {"[bold red]x[/]": ":smile:"}},
    ],
)
def test_rich_markup_and_emoji_codes_stand_as_written(envelope: dict[str, Any]) -> None:
    assert "[bold red]x[/]" in to_text(envelope)
    assert ":smile:" in to_text(envelope) or "smile" not in str(envelope)


@pytest.mark.parametrize("kind", ["text", "notification"])
def test_bidi_controls_in_a_title_are_revealed(kind: str) -> None:
    assert "invoice<U+202E>fdp.exe" in to_text({"type": kind, "payload": "x", "title": "invoice\u202efdp.exe"})


@pytest.mark.parametrize(("kind", "payload"), [("text", "a\u202eb\u2066c"), ("table", [{"x": "a\u202eb\u2066c"}])])
def test_bidi_controls_that_would_reorder_the_screen_are_revealed_anywhere(kind: str, payload: Any) -> None:
    assert "a<U+202E>b<U+2066>c" in to_text({"type": kind, "payload": payload})


@pytest.mark.parametrize("draws", [to_text, to_html, to_markdown])
def test_bidi_controls_that_markdown_writes_as_entities_are_revealed(draws: Callable[[Any], str]) -> None:
    source = (
        "a &#x202E;evil [b &#8294;](https://example.com) ![c &#x202E;](https://example.com)\n\n`d &#x202E;`\n\n# e&#27;"
    )
    drawn = draws({"type": "markdown", "payload": source})
    assert not set("\u202e\u2066\x1b") & set(drawn)
    assert "U+202E" in drawn


def test_invisible_characters_in_a_notification_are_revealed() -> None:
    assert "pay<U+200B>pal<U+E0041>" in to_text({"type": "notification", "payload": "pay\u200bpal\U000e0041"})


@pytest.mark.parametrize("code", [0xFFFE, 0xFFFF, 0xFDD0, 0x1FFFF, 0x10FFFE, 0xD800])
def test_what_unicode_has_no_character_for_is_the_sign_of_that(code: int) -> None:
    chart = {**CHART, "data": {"values": [{"a": chr(code), "n": 1}]}}
    for envelope in ({"type": "text", "payload": f"a{chr(code)}"}, {"type": "chart", "payload": chart}):
        drawn = to_svg(envelope) if envelope["type"] == "chart" else to_html(envelope, styles="none")
        assert "\ufffd" in drawn
        assert chr(code) not in drawn
        ElementTree.fromstring(drawn.strip())


def test_joiners_of_scripts_and_emoji_survive_in_a_text() -> None:
    assert visible("👨\u200d👩\u200d👧 \u0645\u06cc\u200c") == "👨\u200d👩\u200d👧 \u0645\u06cc\u200c"


def test_an_escape_character_is_shown_as_its_sign() -> None:
    assert visible("\x1b[2J") == "␛[2J"
    assert visible("a\r\nb\rc\ud800") == "a\nb␍c\ufffd"


def test_a_label_is_one_line_of_bounded_length() -> None:
    assert label("a\n b\t\u202ec") == "a b <U+202E>c"
    assert len(label("x" * 10_000, 50)) == 50
    assert len(label("\u202e" * 10_000, 50)) <= 50


def test_revealing_twice_changes_nothing() -> None:
    assert revealed(revealed(ESCAPES)) == revealed(ESCAPES)


@pytest.mark.parametrize(
    "uri",
    [
        "https://example.com/a?b=c#d",
        "http://[::1]:80/x",
        "https://127.0.0.1:8080/x@y",
        "mailto:a@example.com",
        "https://xn--bcher-kva.example/ü",
    ],
)
def test_a_web_or_mail_address_is_a_link(uri: str) -> None:
    assert link(uri) == uri


@pytest.mark.parametrize(
    ("uri", "address", "host"),
    [
        ("HTTPS://X", "https://x", "x"),
        ("https://Bücher.Example:80/Ü", "https://xn--bcher-kva.example:80/Ü", "xn--bcher-kva.example:80"),
        ("https://аpple.com", "https://xn--pple-43d.com", "xn--pple-43d.com"),  # the first letter is Cyrillic
        ("https://ⓖoogle。com?q", "https://google.com?q", "google.com"),
        ("MAILTO:a@b.example?subject=x", "mailto:a@b.example?subject=x", "a@b.example"),
    ],
)
def test_the_host_of_a_link_is_shown_as_it_is_opened(uri: str, address: str, host: str) -> None:
    assert link(uri) == address
    assert host_of(address) == host


@pytest.mark.parametrize(
    "uri",
    [
        "javascript:alert(1)",
        "vbscript:x",
        "data:text/html,x",
        "file:///etc/passwd",
        "//evil.example",
        "..//evil.example",
        "https:\\\\evil.example",
        "https:///x",
        "https://exa\nmple.com",
        "https://example.com/\u202egpj.exe",
        " https://example.com",
        "mailto://x",
        "https://user:password@example.com",
        "https://bank.example@evil.example",
        "http\u017f://evil.example",
        "https://0x7f.1",
        "https://2130706433",
        "https://127.0.0.1.",
        "https://a..b",
        "https://\u2100.com",
        "https://exa%6dple.com",
        "https://example.com:99999",
        "https:example.com",
        "https:/example.com",
        "",
    ],
)
def test_anything_else_is_no_link(uri: str) -> None:
    assert link(uri) is None


def test_a_file_of_another_scheme_is_shown_without_its_address() -> None:
    drawn = to_text({"type": "file", "payload": {"uri": "javascript:alert(1)", "name": "report"}})
    assert "report" in drawn
    assert "javascript" not in drawn
    assert "(link not shown)" in drawn
