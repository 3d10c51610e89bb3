"""What a person meant who misspelled a name on the command line."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question, with a space before it, that names the nearest of the known names; empty if none is near."""
    near = get_close_matches(word.lower(), list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
