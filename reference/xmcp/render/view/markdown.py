"""Untrusted Markdown, parsed: CommonMark with GFM tables, raw HTML off, every address checked.

The tokens are those of markdown-it; there is neither a link nor a picture inside a link. What a renderer may follow or
load stands in `href` and `src`: an `http`, `https` or `mailto` link, else the empty string. The address as the author
wrote it is `written_target` of the token.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from xmcp.render.view.languages import language_of
from xmcp.render.view.limits import MARKDOWN_PIECES
from xmcp.render.view.links import link
from xmcp.render.view.markdown_size import measured

DEEPEST: Final = 20
"""Levels of nesting below which the parser drops words."""
_PARSER: Final = MarkdownIt("commonmark", {"html": False, "maxNesting": DEEPEST}).enable(["table", "strikethrough"])
# Every address becomes a token, because `_check_addresses` replaces the unsafe ones.
_PARSER.validateLink = lambda url: True  # type: ignore[method-assign]  # noqa: ARG005
# It stands there as it is written: encoded, it would hide what `link` looks for, and decoded, bring it onto the screen.
_PARSER.normalizeLink = lambda url: url  # type: ignore[method-assign]
_PARSER.normalizeLinkText = lambda link: link  # type: ignore[method-assign]
_ADDRESSES: Final = {"link_open": "href", "image": "src"}
_WRITTEN: Final = "xmcp_written_target"


def parse(source: str) -> list[Token]:
    """Return the tokens of `source`, with safe addresses and only known languages of code.

    From the line on at which the text has more than `MARKDOWN_PIECES` pieces, it is a block of code.
    """
    drawn = measured(source, MARKDOWN_PIECES)[0]
    tokens = _PARSER.parse(source[:drawn])
    _check_addresses(tokens)
    if drawn < len(source):
        tokens.append(Token("fence", "code", 0, info="text", content=source[drawn:]))
    return tokens


def loses_words(tokens: Sequence[Token]) -> bool:
    """Tell whether drawing these tokens would lose words: nothing would be drawn, or the parser has dropped some."""
    if any(token.level >= DEEPEST - 1 for token in tokens):
        return True
    return not any(token.type == "hr" or token.content.strip() for token in tokens)


def written_target(token: Token) -> str:
    """Return the address of a link or picture as its author wrote it: to compare with, not to follow."""
    return str(token.meta[_WRITTEN])


def picture_words(token: Token | SyntaxTreeNode) -> str:
    """Return the words that stand in the place of a picture."""
    return f"[image: {token.content or 'no description'}]"


def _outermost_links(tokens: Iterable[Token]) -> Iterator[Token]:
    """Yield these tokens with the words of each picture and link that is inside a link, which leads to one place."""
    open_links = 0
    for token in tokens:
        open_links += token.type == "link_open"
        if token.type == "image" and open_links:
            yield Token("text", "", 0, content=picture_words(token))
        elif open_links < 2 or token.type not in ("link_open", "link_close"):
            yield token
        open_links -= token.type == "link_close"


def _check_addresses(tokens: Iterable[Token]) -> None:
    for token in tokens:
        if token.type == "inline":
            token.children = list(_outermost_links(token.children or []))
            _check_addresses(token.children)
        elif token.type == "fence":
            token.info = language_of(token.info.partition(" ")[0]) or "text"
        elif attribute := _ADDRESSES.get(token.type):
            written = str(token.attrs.get(attribute, ""))
            token.meta[_WRITTEN] = written
            token.attrs[attribute] = link(written) or ""
