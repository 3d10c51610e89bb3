"""The languages whose source text is coloured.

The list is short on purpose: an untrusted name must not choose among some hundred lexers, some of which take very long
for text that is made to slow them down.
"""

from __future__ import annotations

from typing import Final

_NAMES: Final = (
    *("python", "json", "yaml", "toml", "sql", "bash", "html", "xml", "css", "diff", "ini"),
    *("javascript", "typescript", "java", "go", "rust", "c", "cpp", "csharp"),
)
_ALIASES: Final = {"py": "python", "sh": "bash", "shell": "bash", "js": "javascript", "ts": "typescript", "yml": "yaml"}
LANGUAGES: Final = {name: name for name in _NAMES} | _ALIASES
"""The language that each name stands for."""


def language_of(name: str) -> str | None:
    """Return the coloured language that `name` stands for, None if it is not coloured."""
    return LANGUAGES.get(name.lower())
