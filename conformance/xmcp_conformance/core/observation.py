"""An observation: a requirement applied once, and was obeyed or broken. The judge counts observations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from .requirements import registry
from .untrusted_text import printable

Path: TypeAlias = tuple[str | int, ...]
"""Member names and indexes that lead from a JSON value to a value inside it."""


class Place(NamedTuple):
    """A character of a text. Both numbers count from 1; the column counts characters, not bytes."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


Where: TypeAlias = Place | Path | int
"""The place in a text, the path in a JSON value, or the index of the record in a trace."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A requirement applied, and was obeyed (`ok`) or broken.

    `seen` and `expected` are written for the reader of a report; both are empty where the requirement was obeyed.
    """

    requirement: str
    ok: bool
    seen: str = ""
    expected: str = ""
    where: Where | None = None

    @property
    def place(self) -> Place | None:
        """The place in the text, if that is where the observation was made."""
        return self.where if isinstance(self.where, Place) else None

    @property
    def path(self) -> Path:
        """The path in the JSON value, if that is where the observation was made; else the path of the whole value."""
        return self.where if isinstance(self.where, tuple) and not isinstance(self.where, Place) else ()

    def __str__(self) -> str:
        known = registry().requirements.get(self.requirement)
        found = "obeyed" if self.ok else f"{self.seen}; expected {self.expected}."
        return f"{self.requirement}{_at(self.where)}: {found} {known.quote if known else ''}".rstrip()


def _at(where: Where | None) -> str:
    """Return where an observation was made, in words that follow the id."""
    if where is None or isinstance(where, Place):
        return f", {where}" if where else ""
    return f", record {where}" if isinstance(where, int) else f", at {list(where)}"


def obeyed(requirement: str, *, where: Where | None = None) -> Observation:
    """Return the observation that a requirement applied and was obeyed."""
    return Observation(requirement, True, where=where)


def broken(requirement: str, seen: str, expected: str, *, where: Where | None = None) -> Observation:
    """Return the observation that a requirement applied and was broken."""
    return Observation(requirement, False, printable(seen), printable(expected), where)


def either(requirement: str, ok: bool, seen: str, expected: str, *, where: Where | None = None) -> Observation:
    """Return `obeyed` where `ok` is true, else `broken`."""
    return obeyed(requirement, where=where) if ok else broken(requirement, seen, expected, where=where)
