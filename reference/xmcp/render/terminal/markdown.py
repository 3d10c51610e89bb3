"""Markdown drawn by rich: the target of every link is written out, and a picture becomes its words.

Parsing and the check of addresses are in `view/markdown.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.padding import Padding
from rich.text import Text
from rich.theme import Theme

from xmcp.render.terminal.as_written import Written, writing
from xmcp.render.terminal.syntax import MOST_COLOURED, source
from xmcp.render.view.markdown import DEEPEST, parse, written_target
from xmcp.render.view.untrusted import visible

# Rich's own have a black ground behind code, and a blue that cannot be read on black.
_STYLES: Final = Theme(
    {
        "markdown.code": "bold cyan",
        "markdown.h2": "bold underline",
        "markdown.h3": "bold",
        "markdown.h4": "bold italic",
        "markdown.link_url": "underline",
        "markdown.list": "none",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
    },
    inherit=False,
)


class _LeftHeading(Heading):
    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = {}


class _Code(CodeBlock):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Padding(source(str(self.text).rstrip(), self.lexer_name), (0, 0, 0, 2))


class SafeMarkdown(Markdown):
    """A rich renderable for untrusted CommonMark with GFM tables.

    The source is shown as it is where drawing would lose words: when nothing would be drawn, when it is nested too
    deep, or when its tables are wider than the terminal.
    """

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _LeftHeading,
        "fence": _Code,
        "code_block": _Code,
    }

    def __init__(self, source: str) -> None:
        super().__init__("", hyperlinks=True)
        self._source = visible(source)
        self.parsed = list(_with_targets(_less_coloured(parse(self._source))))
        self._least = _least_width(self.parsed)
        self._blank = not any(t.type == "hr" or t.content.strip() for t in self._flatten_tokens(self.parsed))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        written = writing(console)
        if self._blank or self._least > options.max_width:
            yield Text(written(self._source))
        else:
            _write(self.parsed, written)
            with console.use_theme(_STYLES):
                yield from super().__rich_console__(console, options)


def _write(tokens: Sequence[Token], written: Written) -> None:
    """Have the words of tokens as the file of a console writes them; of those that are, nothing changes."""
    for token in tokens:
        if token.type != "inline":
            token.content = written(token.content)
        _write(token.children or [], written)


def _least_width(tokens: Sequence[Token]) -> float:
    """Return the number of cells these block tokens need so that no word is lost."""
    deepest = max((token.level for token in tokens), default=0)
    cells_of_row = most_cells = 0
    for token in tokens:
        cells_of_row = 0 if token.type == "tr_open" else cells_of_row + (token.type in ("th_open", "td_open"))
        most_cells = max(most_cells, cells_of_row)
    return math.inf if deepest >= DEEPEST - 1 else 12 + 4 * deepest + 6 * most_cells


def _less_coloured(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return the tokens; code after the first `MOST_COLOURED` characters of code has no language any more."""
    left = MOST_COLOURED
    for token in tokens:
        if token.type == "fence":
            left -= len(token.content)
            token.info = token.info if left >= 0 else "text"
    return tokens


def _with_targets(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield the tokens with the target of each link after its words, unless the words are the target."""
    open_links: list[tuple[str, str]] = []
    words = ""
    for token in tokens:
        if token.type == "inline":
            token.children = list(_with_targets(token.children or []))
        elif token.type == "image":
            yield _text(f"[image: {token.content or 'no description'}{_target(str(token.attrs['src']))}]")
            continue
        elif token.type == "link_open":
            open_links.append((written_target(token), str(token.attrs["href"])))
            token.attrs["href"] = ""  # otherwise rich would make a hidden link of the words
            words = ""
        elif token.type in ("text", "code_inline"):
            token.content = visible(token.content)  # the parser has put characters in the place of entities
            words += token.content
        yield token
        if token.type == "link_close" and open_links:
            written, target = open_links.pop()
            if words not in (written, written.removeprefix("mailto:")):
                yield _text(_target(target))


def _text(text: str) -> Token:
    return Token("text", "", 0, content=visible(text))


def _target(uri: str) -> str:
    return f" ({uri or 'link not shown'})"
