"""The codec in TypeScript, which was written from the specification alone, conforms."""

from __future__ import annotations

import pytest

from tools import ROOT
from tools.node_packages import NODE_FOLDER, Packages
from xmcp_conformance.profiles.codec.check_command import check_command
from xmcp_conformance.profiles.codec.vectors import load, shipped
from xmcp_conformance.reports.case_report import VECTORS, CaseReport

FOLDER = ROOT / "conformance" / "adapters" / "typescript"


@pytest.mark.slow
def test_the_codec_in_typescript_conforms() -> None:
    Packages(FOLDER, "The codec in TypeScript is judged by the suite.").install()
    report = CaseReport(VECTORS)
    command = [str(NODE_FOLDER / "node"), str(FOLDER / "adapter.ts")]
    check_command(command, load(shipped()), report.add, examples=100, start_timeout=120, answer_timeout=60)
    faults = [f"{name}: {fault.observation}" for name, case in report.seen.items() for fault in case.faults]
    assert (faults, report.not_judged) == ([], [])
    assert len(report.seen) > 600
    assert not any("the direction" in note for note in report.notes)
