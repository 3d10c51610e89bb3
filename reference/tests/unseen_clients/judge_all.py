"""How easily the suite is fooled by clients: each unseen wrong one is caught, and no unseen odd one is blamed.

`nox -s matrix` runs this file; it takes an hour, in which the clients mostly wait. On the first run of the first
set, six of the twelve wrong clients were caught, and one of the four odd ones was not judged, because it told each
character of a long answer by itself. Of the second set, two of twelve were caught, of the third one three, and of the
fourth one six; no odd one of them was blamed. What escaped is a scenario each.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Final

import pytest
import unseen_clients_fourth.entries
import unseen_clients_second.entries
import unseen_clients_third.entries

import unseen_clients.entries
from unseen_clients.entries import Entry
from xmcp_conformance.profiles.client.command.check_command import Driving, check_command
from xmcp_conformance.profiles.client.scenarios import SCENARIOS
from xmcp_conformance.reports.case_report import SCENARIOS as BY_SCENARIOS
from xmcp_conformance.reports.case_report import CaseReport

SETS: Final = {
    "unseen_clients": unseen_clients.entries.ENTRIES,
    "unseen_clients_second": unseen_clients_second.entries.ENTRIES,
    "unseen_clients_third": unseen_clients_third.entries.ENTRIES,
    "unseen_clients_fourth": unseen_clients_fourth.entries.ENTRIES,
}
ALL = [(package, entry) for package, entries in SETS.items() for entry in entries]
WRONG = [(package, entry) for package, entry in ALL if entry.expected]
ODD = [(package, entry) for package, entry in ALL if not entry.expected]

NOT_FOUND: Final[dict[str, str]] = {
    "doubts-lost-connections-alone": "no act refuses credentials after a connection was lost (XMCP-CLI-132)",
    "asks-the-cache-before-the-application": "an application gives the same values in a whole scenario (XMCP-CLI-051)",
}
"""Wrong clients that escape, by their names, each with the reason."""


@pytest.fixture(autouse=True)
def _found_by_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[1]))


def broken(package: str, entry: Entry) -> set[str]:
    """Return the ids that `xmcp check client` reports broken, those of a SHOULD included."""
    report = CaseReport(BY_SCENARIOS)
    command = [sys.executable, "-m", package, entry.name]
    asyncio.run(check_command(command, SCENARIOS, report.add, driving=Driving(jobs=4)))
    assert report.not_judged == []
    return {judgement.requirement.id for judgement in report.judgements if judgement.broken}


def named(one: object) -> str | None:
    return one.name if isinstance(one, Entry) else None


def test_there_are_twelve_wrong_clients_and_four_odd_ones_in_each_set() -> None:
    assert (len(WRONG), len(ODD)) == (12 * len(SETS), 4 * len(SETS))


@pytest.mark.parametrize(("package", "entry"), WRONG, ids=named)
def test_a_wrong_client_is_caught(package: str, entry: Entry) -> None:
    found = broken(package, entry)
    assert bool(found & set(entry.expected)) is (entry.name not in NOT_FOUND), found


@pytest.mark.parametrize(("package", "entry"), ODD, ids=named)
def test_an_odd_client_is_not_blamed(package: str, entry: Entry) -> None:
    assert broken(package, entry) == set()
