"""The report as JSON; its shape is `report.schema.json` beside this file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xmcp_conformance.core.judge import ExitCode, Judgement, Status
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.profiles.server.blackbox import Report

SCHEMA = Path(__file__).with_name("report.schema.json")
FORMAT = 1


def to_dict(report: Report) -> dict[str, Any]:
    """The report as JSON values."""
    judgements = report.judgements
    return {
        "format": FORMAT,
        "profile": "server-blackbox",
        "specification": registry().version,
        "conforms": report.exit_code is ExitCode.CONFORMS,
        "exit_code": int(report.exit_code),
        "options": {
            "examples": report.options.examples,
            "seed": report.options.seed,
            "allow_writes": report.options.allow_writes,
            "strict": report.options.strict,
        },
        "runs": [
            {
                "peer": run.peer,
                "transport": run.transport,
                "protocol_version": run.era,
                "client": "plain" if run.plain else "declared",
                "tools": run.tools,
                "calls": run.calls,
                "answers": run.answers,
                "notes": run.notes,
            }
            for run in report.runs
        ],
        "counts": {status.value: sum(j.status is status for j in judgements) for status in Status},
        "requirements": [_requirement(judgement) for judgement in judgements],
    }


def _requirement(judgement: Judgement) -> dict[str, Any]:
    requirement = judgement.requirement
    entry: dict[str, Any] = {
        "id": requirement.id,
        "level": requirement.level,
        "section": requirement.section,
        "sentence": requirement.quote,
        "status": judgement.status.value,
        "occasions": judgement.occasions,
        "broken": judgement.broken,
    }
    if judgement.first is not None:
        entry["first"] = {
            "run": judgement.first.run,
            "call": judgement.first.call,
            "seen": judgement.first.observation.seen,
            "expected": judgement.first.observation.expected,
        }
    return entry
