"""Source text with colours.

What may live here: which languages are coloured, and how. The list is short on purpose: a name from a stranger must
not choose among some hundred lexers, of which some take very long for text made for that.
"""

from __future__ import annotations

from rich.console import RenderableType
from rich.syntax import Syntax
from rich.text import Text

from xmcp.render.view.untrusted import visible

_LEXERS = {
    **{name: name for name in ("python", "json", "yaml", "toml", "sql", "bash", "html", "xml", "css", "diff", "ini")},
    **{name: name for name in ("javascript", "typescript", "java", "go", "rust", "c", "cpp", "csharp")},
} | {"py": "python", "sh": "bash", "shell": "bash", "js": "javascript", "ts": "typescript", "yml": "yaml"}
_MAX_COLOURED = 20_000


def lexer_for(language: str) -> str | None:
    """Return the lexer for a language's name, None if it is not coloured."""
    return _LEXERS.get(language.lower())


def source(text: str, language: str | None = None) -> RenderableType:
    """Return untrusted source `text` as a renderable, coloured if `language` is a known one."""
    lexer = lexer_for(language) if language else None
    code = visible(text).rstrip("\n")
    if lexer is None or len(code) > _MAX_COLOURED:
        return Text(code)
    return Syntax(code, lexer, theme="ansi_dark", background_color="default", word_wrap=True)
