"""The report on documents as JSON; its shape is `document_report.schema.json` beside this file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from xmcp_conformance import suite_version
from xmcp_conformance.core.events import Observed
from xmcp_conformance.core.judge import ExitCode, Status
from xmcp_conformance.core.requirements import registry

from .document_report import DocumentReport, FileOutcome, FileReport

SCHEMA = Path(__file__).with_name("document_report.schema.json")
FORMAT = 1


def to_dict(report: DocumentReport) -> dict[str, Any]:
    """Return the report as JSON values."""
    return {
        "format": FORMAT,
        "profile": "document",
        "specification": report.specification,
        "suite": suite_version(),
        "conforms": report.exit_code is ExitCode.CONFORMS,
        "exit_code": int(report.exit_code),
        "options": {"kind": report.kind, "strict": report.strict},
        "counts": {outcome.value: sum(file.outcome is outcome for file in report.files) for outcome in FileOutcome},
        "files": [_file(file) for file in report.files],
    }


def _file(file: FileReport) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "path": os.fsencode(file.path).decode("utf-8", "backslashreplace"),
        "outcome": file.outcome.value,
        "kind": file.kind,
        "documents": file.documents,
        "faults": [_fault(fault, file) for fault in file.faults],
        "more": file.more,
    }
    if file.reason:
        entry["reason"] = file.reason
    return entry


def _fault(fault: Observed, file: FileReport) -> dict[str, Any]:
    observation = fault.observation
    entry: dict[str, Any] = {
        "status": file.status(fault).value,
        "seen": observation.seen,
        "expected": observation.expected,
    }
    if (requirement := registry().requirements.get(observation.requirement)) is not None:
        entry |= {
            "id": requirement.id,
            "level": requirement.level,
            "section": requirement.section,
            "sentence": requirement.quote,
        }
        if requirement.only_warns and entry["status"] == Status.WARN:
            entry["only_warns"] = requirement.only_warns
    if (place := observation.place) is not None:
        entry |= {"line": place.line, "column": place.column}
    return entry
