"""The report on documents as JSON; its shape is `document_report.schema.json` beside this file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from xmcp_conformance.core.judge import ExitCode
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.profiles.document.checks import Fault, Judged, Outcome, Report

SCHEMA = Path(__file__).with_name("document_report.schema.json")
FORMAT = 1


def to_dict(report: Report) -> dict[str, Any]:
    """The report as JSON values."""
    return {
        "format": FORMAT,
        "profile": "document",
        "specification": registry().version,
        "conforms": report.exit_code is ExitCode.CONFORMS,
        "exit_code": int(report.exit_code),
        "options": {"kind": report.kind, "strict": report.strict},
        "counts": {outcome.value: sum(file.outcome is outcome for file in report.files) for outcome in Outcome},
        "files": [_file(judged) for judged in report.files],
    }


def _file(judged: Judged) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "path": os.fsencode(judged.path).decode("utf-8", "backslashreplace"),
        "outcome": judged.outcome.value,
        "kind": judged.kind,
        "documents": judged.documents,
        "faults": [_fault(fault) for fault in judged.faults],
        "more": judged.more,
    }
    if judged.reason:
        entry["reason"] = judged.reason
    return entry


def _fault(fault: Fault) -> dict[str, Any]:
    entry: dict[str, Any] = {"status": fault.status.value, "seen": fault.seen, "expected": fault.expected}
    if (requirement := fault.requirement) is not None:
        entry |= {
            "id": requirement.id,
            "level": requirement.level,
            "section": requirement.section,
            "sentence": requirement.quote,
        }
    if fault.place is not None:
        entry |= {"line": fault.place.line, "column": fault.place.column}
    return entry
