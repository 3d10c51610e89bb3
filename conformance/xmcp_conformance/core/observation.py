"""What a check saw: one requirement, one occasion, obeyed or not. Aggregation is in verdict.py."""

from __future__ import annotations

from dataclasses import dataclass

from .places import Place

SHOWN = 300  # characters of the peer's text that a report quotes

Path = tuple[str | int, ...]
"""Member names and indexes, from the value that was judged down to a value in it."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A requirement met an occasion. `seen` and `expected` are for the reader of a report, in words.

    `place` is where in the text of a document; a check that has only a value says `path`, where in the value.
    """

    requirement: str
    ok: bool
    seen: str = ""
    expected: str = ""
    place: Place | None = None
    path: Path | None = None


def obeyed(requirement: str) -> Observation:
    """The sentence applied to what was seen, and was obeyed."""
    return Observation(requirement, True)


def broken(
    requirement: str, seen: str, expected: str, *, place: Place | None = None, path: Path | None = None
) -> Observation:
    """The sentence applied to what was seen, and was broken."""
    return Observation(requirement, False, printable(seen), printable(expected), place, path)


def either(
    requirement: str, ok: bool, seen: str, expected: str, *, place: Place | None = None, path: Path | None = None
) -> Observation:
    """`obeyed` or `broken`, by `ok`."""
    if ok:
        return Observation(requirement, True, place=place, path=path)
    return broken(requirement, seen, expected, place=place, path=path)


def quoted(text: str, around: int | None = None) -> str:
    """Untrusted text for a report: escaped, so that it cannot act on a terminal, and cut to `SHOWN` characters.

    `around` is an index that the cut keeps in view.
    """
    if around is not None and around > SHOWN // 2:
        text = "…" + text[around - SHOWN // 2 : around + SHOWN]
    return printable(text if len(text) <= SHOWN else text[:SHOWN] + "…")


def printable(text: str) -> str:
    """Text in which nothing can act on a terminal; what is printable stays as it is."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "backslashreplace").decode("ascii")
        for char in text
    )
