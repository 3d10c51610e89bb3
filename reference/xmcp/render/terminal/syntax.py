"""Source text with colours, drawn by rich."""

from __future__ import annotations

from typing import Final

from rich.console import RenderableType
from rich.syntax import Syntax
from rich.text import Text

from xmcp.render.view.languages import language_of
from xmcp.render.view.untrusted import visible

_MAX_COLOURED: Final = 20_000
"""Characters; longer text is shown without colours, because lexers are slow."""


def source(text: str, language: str | None = None) -> RenderableType:
    """Return untrusted source `text` as a renderable, coloured if `language` is a known one."""
    lexer = language_of(language) if language else None
    code = visible(text).rstrip("\n")
    if lexer is None or len(code) > _MAX_COLOURED:
        return Text(code)
    return Syntax(code, lexer, theme="ansi_dark", background_color="default", word_wrap=True)
