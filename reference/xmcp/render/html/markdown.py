"""Markdown drawn as HTML: an element for each token, and nothing of the source but text.

Parsing and the check of addresses are in `view/markdown.py` and `view/links.py`. No picture is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markdown_it.token import Token

from xmcp.render.markup import Markup, element, joined, text
from xmcp.render.view.links import host_of, link
from xmcp.render.view.markdown import loses_words, parse, picture_words
from xmcp.render.view.untrusted import visible
from xmcp.render.view.wording import NO_LINK

# The element of a token that holds others; None is its own name.
_HOLDS: Final = {
    **dict.fromkeys(("blockquote", "thead", "tbody", "tr", "th", "td", "em", "strong", "s")),
    "paragraph": "p",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
}
_ALIGNED: Final = {"text-align:right": "r", "text-align:center": "c"}


def markdown(source: str, heading_level: int) -> Markup:
    """Return untrusted CommonMark with GFM tables as HTML; its headings are below `heading_level`.

    The source stands as it is where drawing would lose words.
    """
    tokens = parse(visible(source))
    if loses_words(tokens):
        return element("p", source, class_="plain")
    return _Drawing(tokens, heading_level).all()


class _Drawing:
    """Draws a list of tokens: each opening token takes those up to its closing one as its children."""

    def __init__(self, tokens: Sequence[Token], heading_level: int) -> None:
        self._tokens = iter(tokens)
        self._heading_level = heading_level

    def all(self) -> Markup:
        """Return what the tokens draw, up to the token that closes this element."""
        parts: list[Markup] = []
        for token in self._tokens:
            if token.nesting < 0:
                break
            parts.append(self._one(token))
        return joined(parts)

    def _one(self, token: Token) -> Markup:
        if token.nesting > 0:
            return self._holder(token, self.all())
        if token.type == "inline":
            return _Drawing(token.children or [], self._heading_level).all()
        if token.type in ("fence", "code_block"):
            return element("pre", element("code", token.content.rstrip("\n")), tabindex=0)
        if token.type == "code_inline":
            return element("code", token.content, class_="snippet")
        if token.type == "image":
            return _image(token)
        if token.type == "hr":
            return element("hr")
        if token.type in ("softbreak", "hardbreak"):
            return Markup("\n") if token.type == "softbreak" else element("br")
        return joined([token.content])

    def _holder(self, token: Token, inside: Markup) -> Markup:
        kind = token.type.removesuffix("_open")
        if kind == "link":
            return _link(token, inside)
        if kind == "heading":
            return element(f"h{min(self._heading_level + int(token.tag[1:]), 6)}", inside, class_="h")
        if kind == "paragraph" and token.hidden:  # of a list whose items are not set apart
            return inside
        if kind == "table":
            return element("div", element("table", inside), class_="scroll", tabindex=0)
        name = _HOLDS[kind] or kind
        start = token.attrs.get("start")
        return element(
            name,
            inside,
            class_=_ALIGNED.get(str(token.attrs.get("style", "")).replace(" ", "")),
            scope="col" if name == "th" else None,
            start=start if isinstance(start, int) else None,
        )


def _link(token: Token, words: Markup) -> Markup:
    """Return a link with the host it goes to, or its words where it may not be followed."""
    return linked(str(token.attrs["href"]), words)


def linked(uri: str, words: Markup) -> Markup:
    """Return `words` as a link to `uri`, followed by the host that it goes to, unless the words are the address."""
    address = link(uri)
    if address is None:
        return Markup(words + element("span", f" {NO_LINK}", class_="faint"))
    host = host_of(address)
    drawn = element("a", words or host, href=address, rel="noopener noreferrer nofollow")
    if words in {joined([own]) for own in (address, address.removeprefix("mailto:"))}:
        return drawn
    return Markup(drawn + element("span", f" ({host})", class_="faint"))


def _image(token: Token) -> Markup:
    words = text(picture_words(token))
    return linked(str(token.attrs["src"]), words) if token.attrs["src"] else words
