"""How easily the suite is fooled by clients: each unseen wrong one is caught, and no unseen odd one is blamed.

`nox -s matrix` runs this file; it takes twenty minutes, in which the clients mostly wait. On the first run, six of the
twelve wrong clients were caught, and one of the four odd ones was not judged, because it told each character of a long
answer by itself.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Final

import pytest

from unseen_clients.entries import ENTRIES, Entry
from xmcp_conformance.profiles.client.command.check_command import Driving, check_command
from xmcp_conformance.profiles.client.scenarios import SCENARIOS
from xmcp_conformance.reports.case_report import SCENARIOS as BY_SCENARIOS
from xmcp_conformance.reports.case_report import CaseReport

WRONG = [entry for entry in ENTRIES if entry.expected]
ODD = [entry for entry in ENTRIES if not entry.expected]

NOT_FOUND: Final[dict[str, str]] = {}
"""Wrong clients that escape, by their names, each with the reason."""


@pytest.fixture(autouse=True)
def _found_by_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[1]))


def broken(entry: Entry) -> set[str]:
    """Return the ids that `xmcp check client` reports broken, those of a SHOULD included."""
    report = CaseReport(BY_SCENARIOS)
    command = [sys.executable, "-m", "unseen_clients", entry.name]
    asyncio.run(check_command(command, SCENARIOS, report.add, driving=Driving(jobs=4)))
    assert report.not_judged == []
    return {judgement.requirement.id for judgement in report.judgements if judgement.broken}


def test_there_are_twelve_wrong_clients_and_four_odd_ones() -> None:
    assert (len(WRONG), len(ODD)) == (12, 4)


@pytest.mark.parametrize("entry", WRONG, ids=lambda entry: str(entry.name))
def test_a_wrong_client_is_caught(entry: Entry) -> None:
    found = broken(entry)
    assert bool(found & set(entry.expected)) is (entry.name not in NOT_FOUND), found


@pytest.mark.parametrize("entry", ODD, ids=lambda entry: str(entry.name))
def test_an_odd_client_is_not_blamed(entry: Entry) -> None:
    assert broken(entry) == set()
