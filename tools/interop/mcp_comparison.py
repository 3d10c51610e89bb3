"""Decide which differences between two servers are chance, expected, or wrong. Pure functions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, NamedTuple


class Place(NamedTuple):
    """Where a value was observed: the revision of MCP, the scenario, the check, and the part of its report."""

    version: str
    scenario: str
    check: str
    part: str


Run = dict[Place, Any]
"""Everything observed of one server: the value at each place. The part `status` is the verdict of the package."""


class Difference(NamedTuple):
    """A place where the value of a server differs from that of bare FastMCP."""

    place: Place
    before: Any
    after: Any

    def __str__(self) -> str:
        version, scenario, check, part = self.place
        return f"{version} {scenario}: {check}: {part}\n    FastMCP: {self.before}\n    XMCP:    {self.after}"


@dataclass(frozen=True)
class Expected:
    """A difference that is right, and the reason."""

    reason: str
    part: list[str]  # patterns of fnmatch
    where: list[str] = field(default_factory=lambda: ["*"])  # patterns for `scenario/check`
    after: str = ".*"  # regular expression for the value of XMCP; {before} in it stands for the value of FastMCP

    def explains(self, difference: Difference) -> bool:
        """Return True if the difference is this one."""
        place, before, after = difference
        pattern = self.after.replace("{before}", re.escape(str(before)))
        return (
            any(fnmatchcase(place.part, pattern) for pattern in self.part)
            and any(fnmatchcase(f"{place.scenario}/{place.check}", pattern) for pattern in self.where)
            and re.fullmatch(pattern, str(after), re.DOTALL) is not None
        )


def differences(plain: Run, again: Run, other: Run) -> list[Difference]:
    """Return the differences between `plain` and `other`, without chance: what `plain` and `again` differ in."""
    chance = {place for place in plain.keys() | again.keys() if plain.get(place, ...) != again.get(place, ...)}
    places = sorted((plain.keys() | other.keys()) - chance)
    found = (Difference(place, plain.get(place), other.get(place)) for place in places)
    return [difference for difference in found if difference.before != difference.after]


def regressions(found: list[Difference]) -> list[Difference]:
    """Return the checks that pass on FastMCP but not on the other server."""
    return [one for one in found if one.place.part == "status" and one.before == "SUCCESS"]


def failures(run: Run) -> list[Difference]:
    """Return the checks that a server fails, as differences from passing."""
    failed = [(place, status) for place, status in run.items() if status in ("FAILURE", "WARNING")]
    return [Difference(place, "SUCCESS", status) for place, status in failed if place.part == "status"]


def complaints(found: list[Difference], expected: list[Expected]) -> list[str]:
    """Return a message for each unexpected difference, and for each expected one that did not occur."""
    unexpected = [one for one in found if not any(entry.explains(one) for entry in expected)]
    idle = [entry for entry in expected if not any(entry.explains(one) for one in found)]
    return [
        *(f"unexpected difference: {one}" for one in unexpected),
        *(f"expected difference that did not occur: {entry}" for entry in idle),
    ]


def flattened(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and value of every leaf. A JSON message in an event of a stream is flattened too."""
    if path.endswith("data") and isinstance(value, str) and value.startswith("{"):
        value = json.loads(value)
    if not value or not isinstance(value, dict | list):
        yield path, value
        return
    for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
        yield from flattened(entry, f"{path}.{key}" if path else str(key))


def expected_differences(text: str) -> dict[str, list[Expected]]:
    """Return the expected differences in the text of the file, by server. `XMCP` stands for both wires."""
    return {name: [Expected(**entry) for entry in entries] for name, entries in json.loads(text).items()}
