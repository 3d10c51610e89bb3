"""What a check of a client found, and the list of all checks. A sentence met an occasion: obeyed or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xmcp_conformance.observation import printable
from xmcp_conformance.requirements import registry

from .story import Story


@dataclass(frozen=True, slots=True)
class Violation:
    """A sentence that was broken: where in `Trace.records`, what was seen there, and what was expected."""

    id: str
    index: int
    seen: str
    expected: str

    def __str__(self) -> str:
        quote = registry().requirements[self.id].quote
        return f"{self.id}, record {self.index}: {self.seen}; expected {self.expected}. {quote}"


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence met an occasion; the fields are those of a `Violation`, empty where it was obeyed."""

    id: str
    index: int
    ok: bool
    seen: str = ""
    expected: str = ""


Findings = Iterator[Finding]
Check = Callable[[Story], Findings]

CHECKS: dict[str, Check] = {}
"""The checks by the sentence that they judge; one check can judge several."""


def check(*ids: str) -> Callable[[Check], Check]:
    """Registers a check under the sentences that it judges.

    Raises:
        ValueError: a sentence has a check already.
    """

    def register(function: Check) -> Check:
        for id_ in ids:
            if id_ in CHECKS:
                raise ValueError(f"{id_} has a check already: {CHECKS[id_].__name__}")
            CHECKS[id_] = function
        return function

    return register


def obeyed(id_: str, index: int) -> Finding:
    """The sentence applied, and was obeyed."""
    return Finding(id_, index, True)


def broken(id_: str, index: int, seen: str, expected: str) -> Finding:
    """The sentence applied, and was broken."""
    return Finding(id_, index, False, printable(seen), printable(expected))


def either(id_: str, index: int, ok: bool, seen: str, expected: str) -> Finding:
    """`obeyed` or `broken`, by `ok`."""
    return obeyed(id_, index) if ok else broken(id_, index, seen, expected)
