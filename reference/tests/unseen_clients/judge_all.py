"""How easily the suite is fooled by clients: each unseen wrong one is caught, and no unseen odd one is blamed.

`nox -s matrix` runs this file. A wrong client is judged in virtual time, and over HTTP where that does not catch it;
an odd one in both ways. On the first run of the first set, six of the twelve wrong clients were caught, and one of the
four odd ones was not judged, because it told each character of a long answer by itself. Of the second set, two of
twelve were caught, of the third one three, of the fourth one six, and of the fifth and the sixth, which have thirty
each, twelve together; of the 24 of the seventh seven, and of the 20 of the eighth three, whose authors were to repeat
no idea; no odd one of them was blamed. What escaped of the first seven is a scenario each.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
import unseen_clients_eighth.entries
import unseen_clients_fifth.entries
import unseen_clients_fourth.entries
import unseen_clients_second.entries
import unseen_clients_seventh.entries
import unseen_clients_sixth.entries
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
    "unseen_clients_fifth": unseen_clients_fifth.entries.ENTRIES,
    "unseen_clients_sixth": unseen_clients_sixth.entries.ENTRIES,
    "unseen_clients_seventh": unseen_clients_seventh.entries.ENTRIES,
    "unseen_clients_eighth": unseen_clients_eighth.entries.ENTRIES,
}
ALL = [(package, entry) for package, entries in SETS.items() for entry in entries]
WRONG = [(package, entry) for package, entry in ALL if entry.expected]
ODD = [(package, entry) for package, entry in ALL if not entry.expected]

NOT_FOUND: Final[dict[str, str]] = {
    "a-text-that-stops-is-the-answer": "its occasion is not there yet",
    "asks-the-breaker-before-the-slot": "its occasion is not there yet",
    "blocks-come-last": "its occasion is not there yet",
    "a-reference-is-always-small": "its occasion is not there yet",
    "the-event-says-what-the-model-reads": "its occasion is not there yet",
    "an-error-is-warning-enough": "its occasion is not there yet",
    "mends-the-order-in-place": "its occasion is not there yet",
    "too-many-requests-is-a-failure": "no act answers with an HTTP status (XMCP-CLI-042)",
    "doubts-lost-connections-alone": "no act refuses credentials after a connection was lost (XMCP-CLI-132)",
    "nothing-said-is-nothing-cached": "a trace does not record which counts the vendor gave (XMCP-REC-010 is excluded)",
    "asks-the-cache-before-the-application": "an application gives the same values in a whole scenario (XMCP-CLI-051)",
}
"""Wrong clients that escape, by their names, each with the reason."""
ALSO_FAIR: Final[dict[str, str]] = {
    "a-second-try-makes-it-good": "XMCP-CLI-013",
    "a-refused-question-is-asked": "XMCP-CLI-013",
}
"""Sentences that such a client breaks as well, and that its author did not name."""


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


def broken_in_virtual_time(package: str, entry: Entry) -> set[str]:
    command = [sys.executable, "-m", "unseen_clients.in_virtual_time", package, entry.name]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return {*json.loads(done.stdout)}


def named(one: object) -> str | None:
    return one.name if isinstance(one, Entry) else None


@pytest.mark.parametrize(("package", "entry"), WRONG, ids=named)
def test_a_wrong_client_is_caught(package: str, entry: Entry) -> None:
    expected = {*entry.expected, ALSO_FAIR.get(entry.name, entry.expected[0])}
    found = broken_in_virtual_time(package, entry)
    if not found & expected:
        found |= broken(package, entry)
    assert bool(found & expected) is (entry.name not in NOT_FOUND), found


@pytest.mark.parametrize(("package", "entry"), ODD, ids=named)
def test_an_odd_client_is_not_blamed(package: str, entry: Entry) -> None:
    assert broken_in_virtual_time(package, entry) == set()
    assert broken(package, entry) == set()
