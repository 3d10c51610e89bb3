"""Decide what the outcomes of FastMCP's tests say about XMCP. Pure functions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

NOT_COUNTED: Final = frozenset({"error_text", "stored_tasks"})
"""Classes without a limit: one is about words, and what the other sees never reaches a client."""
MOST_OTHERS: Final = 100
"""Maximum number of expected failures of all the other classes together."""

Outcomes = Mapping[str, str]
"""The outcome of each test that ran, by its id: `passed`, `failed` or `skipped`."""


@dataclass(frozen=True)
class Expected:
    """A class of failures: tests that say something about FastMCP that XMCP does otherwise on purpose."""

    name: str
    reason: str
    tests: frozenset[str]


def expected_failures(text: str) -> list[Expected]:
    """Return the classes in the text of expected_failures.json.

    Raises:
        ValueError: A class has no reason, a test is listed twice or out of order, or the list is too long.
    """
    found: list[Expected] = []
    for name, entry in json.loads(text).items():
        if not entry["reason"].strip():
            raise ValueError(f"The class {name} of expected failures needs a reason.")
        if entry["tests"] != sorted(set(entry["tests"])):
            raise ValueError(f"The tests of the class {name} must be sorted, each once.")
        found.append(Expected(name, entry["reason"], frozenset(entry["tests"])))
    listed = [test for entry in found for test in entry.tests]
    if twice := sorted({test for test in listed if listed.count(test) > 1}):
        raise ValueError(f"Listed in two classes: {', '.join(twice)}")
    others = sum(len(entry.tests) for entry in found if entry.name not in NOT_COUNTED)
    if others > MOST_OTHERS:
        raise ValueError(
            f"{others} failures besides {', '.join(sorted(NOT_COUNTED))} are expected; at most {MOST_OTHERS} may be."
        )
    return found


def failed(outcomes: Outcomes) -> set[str]:
    """Return the ids of the tests that failed."""
    return {test for test, outcome in outcomes.items() if outcome == "failed"}


def unexpected(outcomes: Outcomes, expected: Iterable[Expected]) -> set[str]:
    """Return the tests that failed and are in no class."""
    return failed(outcomes).difference(*(entry.tests for entry in expected))


def outdated(outcomes: Outcomes, expected: Iterable[Expected], *, complete: bool) -> list[str]:
    """Return a message for each listed test that does not fail any more, or that a complete run did not have."""
    messages = []
    for entry in expected:
        for test in sorted(entry.tests):
            outcome = outcomes.get(test, "not there" if complete else "failed")
            if outcome != "failed":
                messages.append(f"{test} is listed under {entry.name}, and it is {outcome}. Remove it from the list.")
    return messages


def table(outcomes: Outcomes, expected: Iterable[Expected]) -> str:
    """Return how many tests passed, and how many failed for which reason, a line each."""
    rows = {"passed": sum(outcome == "passed" for outcome in outcomes.values())}
    rows["skipped"] = sum(outcome == "skipped" for outcome in outcomes.values())
    rows["failed"] = len(failed(outcomes))
    rows |= {f"  {entry.name}": len(entry.tests & failed(outcomes)) for entry in expected}
    rows["  unexpected"] = len(unexpected(outcomes, expected))
    return "\n".join(f"{name:24}{number:>6}" for name, number in rows.items())
