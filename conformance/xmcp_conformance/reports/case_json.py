"""The report on a peer that is judged case by case, as JSON; its shape is in `case_report.schema.json` beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xmcp_conformance import suite_version
from xmcp_conformance.core.events import Observed
from xmcp_conformance.core.judge import ExitCode, Judgement
from xmcp_conformance.core.untrusted_text import printable

from .case_report import CaseReport

SCHEMA = Path(__file__).with_name("case_report.schema.json")
FORMAT = 1


def to_dict(report: CaseReport) -> dict[str, Any]:
    """Return the report as JSON values."""
    return {
        "format": FORMAT,
        "profile": report.cases.profile,
        "specification": report.specification,
        "suite": suite_version(),
        "conforms": report.exit_code is ExitCode.CONFORMS,
        "exit_code": int(report.exit_code),
        "options": {"strict": report.strict},
        **({"peer": printable(report.peer)} if report.peer else {}),
        "cases": [
            {"name": printable(one.name), "occasions": one.occasions, "faults": [_fault(fault) for fault in one.faults]}
            for one in report.seen.values()
        ],
        "notes": report.notes,
        "shortcomings": report.shortcomings,
        "not_judged": [{"name": printable(one.peer), "reason": one.reason} for one in report.not_judged],
        "requirements": [_requirement(judgement) for judgement in report.judgements],
    }


def _fault(fault: Observed) -> dict[str, Any]:
    one = fault.observation
    record = {"record": one.where} if isinstance(one.where, int) else {}
    return {"id": one.requirement, "seen": one.seen, "expected": one.expected, **record}


def _requirement(judgement: Judgement) -> dict[str, Any]:
    requirement = judgement.requirement
    return {
        "id": requirement.id,
        "level": requirement.level,
        "section": requirement.section,
        "sentence": requirement.quote,
        "status": judgement.status.value,
        "occasions": judgement.occasions,
        "broken": judgement.broken,
        **({"only_warns": judgement.only_warns} if judgement.only_warns else {}),
    }
