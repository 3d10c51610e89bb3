"""Markdown from strangers, drawn by rich.

What may live here: the parse, with raw HTML off, and the changes to its tokens that make it safe and readable in a
terminal: the target of every link is written out, a target that is no http(s) or mailto link is left out, and a
picture becomes its words. Source: wire.md 7.3 (`markdown`) and 7.6.4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement
from rich.text import Text

from xmcp.render.terminal.syntax import lexer_for
from xmcp.render.view.untrusted import link, visible

_DEEPEST = 20
_PARSER = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST}).enable(["table", "strikethrough"])
_PARSER.validateLink = lambda url: True  # type: ignore[method-assign]  # noqa: ARG005  # judged by _target


class _LeftHeading(Heading):
    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = {}


class SafeMarkdown(Markdown):
    """A rich renderable for untrusted CommonMark with GFM tables.

    Where drawing would lose words (nothing is left of the source, it is nested too deep or its tables are too wide for
    the room there is), the source stands instead.
    """

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "heading_open": _LeftHeading}

    def __init__(self, source: str) -> None:
        super().__init__("", code_theme="ansi_dark", hyperlinks=True)
        self._source = visible(source)
        self.parsed = list(_safe(_PARSER.parse(self._source)))
        self._least = _least_width(self.parsed)
        self._blank = not any(t.type == "hr" or t.content.strip() for t in self._flatten_tokens(self.parsed))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._blank or self._least > options.max_width:
            yield Text(self._source)
        else:
            yield from super().__rich_console__(console, options)


def _least_width(tokens: Sequence[Token]) -> float:
    """Return the cells these block tokens need so that every word gets some."""
    deepest = max((token.level for token in tokens), default=0)
    cells_of_row = most_cells = 0
    for token in tokens:
        cells_of_row = 0 if token.type == "tr_open" else cells_of_row + (token.type in ("th_open", "td_open"))
        most_cells = max(most_cells, cells_of_row)
    return math.inf if deepest >= _DEEPEST - 1 else 12 + 4 * deepest + 6 * most_cells


def _safe(tokens: Sequence[Token]) -> Iterator[Token]:
    targets: list[str] = []
    said = ""
    for token in tokens:
        if token.type == "inline":
            token.children = list(_safe(token.children or []))
        elif token.type == "fence":
            token.info = lexer_for(token.info.partition(" ")[0]) or "text"
        elif token.type == "image":
            yield _said(f"[image: {token.content or 'no description'}{_target(str(token.attrs.get('src', '')))}]")
            continue
        elif token.type == "link_open":
            targets.append(str(token.attrs.get("href", "")))
            token.attrs["href"] = ""  # rich then styles the words and makes no hidden link of them
            said = ""
        elif token.type in ("text", "code_inline"):
            said += token.content
        yield token
        if token.type == "link_close" and targets:
            target = targets.pop()
            if said not in (target, target.removeprefix("mailto:")):
                yield _said(_target(target))


def _said(text: str) -> Token:
    return Token("text", "", 0, content=visible(text))


def _target(uri: str) -> str:
    return f" ({link(uri) or 'link not shown'})"
