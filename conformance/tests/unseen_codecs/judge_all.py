"""How easily the suite is fooled by codecs: each unseen wrong one is caught, and no unseen odd one is blamed.

`nox -s matrix` runs this file; it takes three minutes. On the first run of the second set, five of the twelve wrong
codecs were caught under their sentences, and one of the four odd ones was blamed, for a boolean with a space before it.
Of the third set, five of twelve were caught so, and one odd one was blamed, for an element of its own; of the fourth
nine, and one odd one was blamed, for a text in CDATA.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import pytest
import unseen_codecs_fourth.codecs
import unseen_codecs_second.codecs
import unseen_codecs_third.codecs

import unseen_codecs.codecs
from xmcp_conformance.profiles.codec.check_command import check_command
from xmcp_conformance.profiles.codec.vectors import load, shipped
from xmcp_conformance.reports.case_report import VECTORS, CaseReport

SETS: Final = {
    "unseen_codecs": unseen_codecs.codecs.EXPECTED,
    "unseen_codecs_second": unseen_codecs_second.codecs.EXPECTED,
    "unseen_codecs_third": unseen_codecs_third.codecs.EXPECTED,
    "unseen_codecs_fourth": unseen_codecs_fourth.codecs.EXPECTED,
}
EXPECTED: Final = {name: ids for expected in SETS.values() for name, ids in expected.items()}
PACKAGE: Final = {name: package for package, expected in SETS.items() for name in expected}
WRONG = [name for name, expected in EXPECTED.items() if expected]
ODD = [name for name, expected in EXPECTED.items() if not expected]

NOT_ODD: Final = {"OddGenerous": {"XMCP-RSP-068", "XMCP-RSP-073"}}
"""What odd codecs break all the same, by their names: the sizes of section 2.6 became exact after they were written."""
NOT_FOUND: Final[dict[str, str]] = {}
"""Wrong codecs that escape, by their names, each with the reason."""


@pytest.fixture(autouse=True)
def _found_by_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[1]))


def broken(name: str) -> set[str]:
    """Return the ids that `xmcp check codec` reports broken, those of a SHOULD included."""
    report = CaseReport(VECTORS)
    check_command([sys.executable, "-m", PACKAGE[name], name], load(shipped()), report.add, examples=500)
    assert report.not_judged == []
    return {judgement.requirement.id for judgement in report.judgements if judgement.broken}


def test_there_are_twelve_wrong_codecs_and_four_odd_ones_in_each_set() -> None:
    # One of the third set was wrong about a sentence that is for servers alone.
    assert (len(WRONG), len(ODD)) == (12 * len(SETS) - 1, 4 * len(SETS))


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_codec_is_caught(name: str) -> None:
    found = broken(name)
    assert bool(found & set(EXPECTED[name])) is (name not in NOT_FOUND), found


@pytest.mark.parametrize("name", ODD)
def test_an_odd_codec_is_not_blamed(name: str) -> None:
    assert broken(name) == NOT_ODD.get(name, set())
