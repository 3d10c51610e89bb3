"""What a check saw: one requirement, one occasion, obeyed or not. Aggregation is in verdict.py."""

from __future__ import annotations

from dataclasses import dataclass

SHOWN = 300  # characters of the peer's text that a report quotes


@dataclass(frozen=True, slots=True)
class Observation:
    """A requirement met an occasion. `seen` and `expected` are for the reader of a report, in words."""

    requirement: str
    ok: bool
    seen: str = ""
    expected: str = ""


def obeyed(requirement: str) -> Observation:
    """The sentence applied to what was seen, and was obeyed."""
    return Observation(requirement, True)


def broken(requirement: str, seen: str, expected: str) -> Observation:
    """The sentence applied to what was seen, and was broken."""
    return Observation(requirement, False, printable(seen), printable(expected))


def either(requirement: str, ok: bool, seen: str, expected: str) -> Observation:
    """`obeyed` or `broken`, by `ok`."""
    return obeyed(requirement) if ok else broken(requirement, seen, expected)


def quoted(text: str, around: int | None = None) -> str:
    """Untrusted text for a report: escaped, so that it cannot act on a terminal, and cut to `SHOWN` characters.

    `around` is an index that the cut keeps in view.
    """
    if around is not None and around > SHOWN // 2:
        text = "…" + text[around - SHOWN // 2 :]
    return printable(text if len(text) <= SHOWN else text[:SHOWN] + "…")


def printable(text: str) -> str:
    """Text in which nothing can act on a terminal; what is printable stays as it is."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "backslashreplace").decode("ascii")
        for char in text
    )
