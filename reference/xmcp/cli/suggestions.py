"""What a person meant who misspelled a name on the command line."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question, with a space before it, that names the nearest of the known names; empty if none is near."""
    names = list(known)
    said = word.lower()
    near = get_close_matches(said, names, n=1) or [name for name in names if _shortens(said, name)]
    near = near or [name for name in names if said.startswith(name)]  # golang
    return f" Did you mean {near[0]!r}?" if near else ""


def likely(option: str, known: Iterable[str]) -> list[str]:
    """Return the options that a person can have meant by an unknown one.

    Click compares the dashes too, which all options share, and so suggests `--era` for `--header`.
    """
    names = {name.lstrip("-"): name for name in known}
    return [names[near] for near in get_close_matches(option.lstrip("-"), names)]


def _shortens(word: str, name: str) -> bool:
    """Return whether a word is a short form of a name, as `ts` is of `typescript`: its letters, in their order."""
    letters = iter(name)
    return len(word) > 1 and name.startswith(word[0]) and all(letter in letters for letter in word)
