"""Source text with colours that can be read on a dark and on a light background, drawn by rich."""

from __future__ import annotations

from typing import Final

from rich.console import RenderableType
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax
from rich.text import Text

from xmcp.render.view.languages import language_of
from xmcp.render.view.untrusted import visible

THEME: Final = ANSISyntaxTheme(
    {
        ("Comment",): Style(dim=True),
        ("Keyword",): Style(color="magenta"),
        ("Operator", "Word"): Style(color="magenta"),
        ("Name", "Builtin"): Style(color="cyan"),
        ("Name", "Function"): Style(color="cyan"),
        ("Name", "Class"): Style(color="cyan"),
        ("Name", "Decorator"): Style(color="cyan"),
        ("Name", "Tag"): Style(color="magenta"),
        ("Name", "Attribute"): Style(color="cyan"),
        ("Literal", "String"): Style(color="green"),
        ("Literal", "Number"): Style(color="cyan"),
        ("Generic", "Deleted"): Style(color="red"),
        ("Generic", "Inserted"): Style(color="green"),
        ("Generic", "Heading"): Style(bold=True),
        ("Error",): Style(underline=True),
    }
)
"""Neither of rich's own: one is for dark terminals, the other for light ones, and a program cannot know which it has.
No white, no yellow, no blue."""

MOST_COLOURED: Final = 20_000
"""Characters; longer text is shown without colours, because lexers are slow."""
_MOST_OF_OTHERS: Final = 2_000
_IN_PROPORTION: Final = frozenset({"bash", "c", "cpp", "diff", "json", "python", "rust", "sql", "toml"})
"""The languages whose lexer takes twice as long for twice the text. The others take four times as long for some texts:
minutes for 20,000 characters."""
_NEVER: Final = frozenset({"csharp"})
"""Takes half a second for 2,000 characters."""


def source(text: str, language: str | None = None) -> RenderableType:
    """Return untrusted source `text` as a renderable, coloured if `language` is a known one."""
    lexer = language_of(language) if language else None
    code = visible(text).rstrip("\n")
    most = MOST_COLOURED if lexer in _IN_PROPORTION else _MOST_OF_OTHERS
    if lexer is None or lexer in _NEVER or len(code) > most:
        return Text(code)
    return Syntax(code, lexer, theme=THEME, background_color="default", word_wrap=True)
