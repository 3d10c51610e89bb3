"""Which links of untrusted Markdown can be followed: the same ones in HTML, in Markdown and in a terminal."""

from __future__ import annotations

import re

import pytest
from rich.console import Console

from xmcp.render import render, to_html, to_markdown

FOLLOWED = {
    # A picture or an address in a link is words: a link in a link would lead to two places.
    "[![Build](https://img.example/x.svg)](https://a.example/r)": ["https://a.example/r"],
    "[![](https://img.example/x.svg) *b*](https://a.example)": ["https://a.example"],
    "[a <https://evil.example> b](https://a.example)": ["https://a.example"],
    "[![Build](https://img.example/x.svg)](javascript:x)": [],
    "![pic](https://img.example/x.svg)": ["https://img.example/x.svg"],
    "[a](https://a.example) ![b](https://img.example) [c](https://c.example)": [
        "https://a.example",
        "https://img.example",
        "https://c.example",
    ],
    "[a][1] ![b][1]\n\n[1]: https://a.example/r": ["https://a.example/r", "https://a.example/r"],
    # An address is judged as it is written, and never repaired.
    "[x](https://a.example/ü?q=%20)": ["https://a.example/ü?q=%20"],
    "[x](<https://a.example/b c>)": [],
    "[x](https://a.example/a\u200bb)": [],
    "[x](https://a.example/&#x202e;x)": [],
    # What stands in the place of a character that cannot be shown is no part of an address.
    "[x](https://a.example/\u202ex)": [],
    "[x](https://a.example/\x01x)": [],
    "[x](https://a.example/\x7fx)": [],
    "[x](https://a.example/\x9bx)": [],
    "[x](https://a.example/\ud800x)": [],
}
"""Sources, and the addresses that a reader can follow in them."""


@pytest.mark.parametrize("source", FOLLOWED)
def test_html_follows_these_links_and_none_is_inside_another(source: str) -> None:
    html = to_html({"type": "markdown", "payload": source})
    assert re.findall(r'<a href="([^"]*)"', html) == FOLLOWED[source]
    assert not re.search("<a [^>]*>(?:(?!</a>).)*<a ", html)


@pytest.mark.parametrize("source", FOLLOWED)
def test_markdown_and_the_terminal_write_these_addresses(source: str) -> None:
    markdown = to_markdown({"type": "markdown", "payload": source})
    assert re.findall(r"<([a-z]+:[^>]*)>", markdown) == FOLLOWED[source]
    assert re.findall(r"\(([a-z]+:[^)]*)\)", in_terminal(source)) == FOLLOWED[source]


def test_a_picture_in_a_link_is_its_words() -> None:
    source = "[![Build](https://img.example/x.svg)](https://a.example/r) [![](b)](c)"
    assert in_terminal(source) == "[image: Build] (https://a.example/r) [image: no description] (link not shown)"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("<https://a.example/%1B[31mx>", "https://a.example/%1B[31mx"),
        ("<https://a.example/%E2%80%AEx%20y>", "https://a.example/%E2%80%AEx%20y"),
        ("<https://xn--80ak6aa92e.example>", "https://xn--80ak6aa92e.example"),  # not in its Cyrillic letters
        ("a &#x202e; b", "a <U+202E> b"),
        ("[&#x202e;](https://a.example)", "<U+202E> (https://a.example)"),
    ],
)
def test_what_is_encoded_in_a_text_or_an_address_does_not_reach_the_terminal_decoded(source: str, shown: str) -> None:
    assert in_terminal(source) == shown


def in_terminal(source: str) -> str:
    console = Console(width=200, force_terminal=True, color_system=None, legacy_windows=False)
    with console.capture() as capture:
        console.print(render({"type": "markdown", "payload": source}))
    return capture.get().strip()
