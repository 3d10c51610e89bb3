"""How easily the suite is fooled by clients: each unseen wrong one is caught, and no unseen odd one is blamed.

`nox -s matrix` runs this file. A wrong client is judged in virtual time, and over HTTP where that does not catch it; an
odd one in both ways. On the first run of the first set, six of the twelve wrong clients were caught, and one of the
four odd ones was not judged, because it told each character of a long answer by itself. Of the second set, two of
twelve were caught, of the third one three, of the fourth one six, and of the fifth and the sixth, which have thirty
each, twelve together; of the 24 of the seventh seven, and of the 20 of the eighth three, whose authors were to repeat
no idea. The authors of the later sets, of twelve each, knew none of the others: of the ninth and of the tenth seven
were caught; then peers learnt to write in other words, and pairs of themes were drawn: of the eleventh all twelve, of
the twelfth ten, and one under another sentence, of the thirteenth nine, of the fourteenth six, of the fifteenth nine,
and of the sixteenth and of the seventeenth, with three times as many drawn, ten each, and of the eighteenth, which came
after a search by people who knew the checks, ten again; of the nineteenth, after another search, eleven, and the
twelfth under another sentence that says the same. Of the odd ones of the fifth and later sets two were blamed, in
the fifteenth and the sixteenth, for names that they had made themselves.
What escaped is a scenario each.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
import unseen_clients_eighteenth.entries
import unseen_clients_eighth.entries
import unseen_clients_eleventh.entries
import unseen_clients_fifteenth.entries
import unseen_clients_fifth.entries
import unseen_clients_fourteenth.entries
import unseen_clients_fourth.entries
import unseen_clients_nineteenth.entries
import unseen_clients_ninth.entries
import unseen_clients_second.entries
import unseen_clients_seventeenth.entries
import unseen_clients_seventh.entries
import unseen_clients_sixteenth.entries
import unseen_clients_sixth.entries
import unseen_clients_tenth.entries
import unseen_clients_third.entries
import unseen_clients_thirteenth.entries
import unseen_clients_twelfth.entries

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
    "unseen_clients_ninth": unseen_clients_ninth.entries.ENTRIES,
    "unseen_clients_tenth": unseen_clients_tenth.entries.ENTRIES,
    "unseen_clients_eleventh": unseen_clients_eleventh.entries.ENTRIES,
    "unseen_clients_twelfth": unseen_clients_twelfth.entries.ENTRIES,
    "unseen_clients_thirteenth": unseen_clients_thirteenth.entries.ENTRIES,
    "unseen_clients_fourteenth": unseen_clients_fourteenth.entries.ENTRIES,
    "unseen_clients_fifteenth": unseen_clients_fifteenth.entries.ENTRIES,
    "unseen_clients_sixteenth": unseen_clients_sixteenth.entries.ENTRIES,
    "unseen_clients_seventeenth": unseen_clients_seventeenth.entries.ENTRIES,
    "unseen_clients_eighteenth": unseen_clients_eighteenth.entries.ENTRIES,
    "unseen_clients_nineteenth": unseen_clients_nineteenth.entries.ENTRIES,
}
ALL = [(package, entry) for package, entries in SETS.items() for entry in entries]
WRONG = [(package, entry) for package, entry in ALL if entry.expected]
ODD = [(package, entry) for package, entry in ALL if not entry.expected]

NOT_FOUND: Final[dict[str, str]] = {
    "audit-of-new-messages-only": "no client under test gives audit records: `xmcp check document` judges them",
}
"""Wrong clients that escape, by their names, each with the reason."""
ALSO_FAIR: Final[dict[str, str]] = {
    "a-second-try-makes-it-good": "XMCP-CLI-013",
    "a-refused-question-is-asked": "XMCP-CLI-013",
    "earlier-call-fills-the-gap": "XMCP-CLI-012",
    "shown-is-answered": "XMCP-CLI-013",
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
