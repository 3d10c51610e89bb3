"""The report on a server as JSON; its shape is `report.schema.json` beside this file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmcp_conformance import suite_version
from xmcp_conformance.core.events import NotReached, Observed, RunStarted
from xmcp_conformance.core.judge import LEVELS, Judgement, Status, level_status

from .server_report import PeerRun, ServerReport
from .unjudged import unjudged, why_not

FORMAT = 1


def to_dict(report: ServerReport) -> dict[str, Any]:
    """Return the report as JSON values."""
    judgements = report.judgements
    runs = {run.started.run: run.started for run in report.runs}
    return {
        "format": FORMAT,
        "profile": report.profile,
        "specification": report.specification,
        "suite": suite_version(),
        "conforms": report.conforms and not report.not_reached,
        "exit_code": int(report.exit_code),
        "options": dict(report.options),
        "runs": [_run(run) for run in report.runs],
        **({"not_reached": [_not_reached(event) for event in report.not_reached]} if report.not_reached else {}),
        "levels": {str(level): level_status(judgements, level).value for level in LEVELS} if report.answers else {},
        "shortcomings": report.shortcomings,
        "coverage": {
            "at_work": report.coverage.at_work,
            "listed": len(report.coverage.tools),
            "tools": {name: tool.to_json() for name, tool in report.coverage.tools.items()},
            "gaps": report.gaps,
        },
        "counts": {status.value: sum(j.status is status for j in judgements) for status in Status},
        "requirements": [_requirement(judgement, runs) for judgement in judgements],
        "not_judged": {one.id: why for one in unjudged(report) if (why := why_not(one))},
    }


def _run(run: PeerRun) -> dict[str, Any]:
    started = run.started
    return {
        "peer": started.peer,
        "transport": started.transport,
        "protocol_version": started.protocol_version,
        "client": started.client,
        "tools": started.tools,
        "calls": run.calls,
        "answers": run.answers,
        "unanswered": run.unanswered,
        "notes": run.notes,
    }


def _not_reached(event: NotReached) -> dict[str, str]:
    return {"peer": event.peer, "transport": event.transport, "reason": event.reason}


def _requirement(judgement: Judgement, runs: Mapping[str, RunStarted]) -> dict[str, Any]:
    requirement = judgement.requirement
    entry: dict[str, Any] = {
        "id": requirement.id,
        "level": requirement.level,
        "from_level": requirement.from_level,
        "section": requirement.section,
        "sentence": requirement.quote,
        "status": judgement.status.value,
        "occasions": judgement.occasions,
        "broken": judgement.broken,
        **({"only_warns": judgement.only_warns} if judgement.only_warns else {}),
    }
    if judgement.faults:
        entry["faults"] = [_fault(one, runs[one.run]) for one in judgement.faults]
    return entry


def _fault(fault: Observed, run: RunStarted) -> dict[str, Any]:
    return {
        "tool": fault.tool,
        "run": fault.run,
        "protocol_version": run.protocol_version,
        "client": run.client,
        "call": fault.call,
        "seen": fault.observation.seen,
        "expected": fault.observation.expected,
        **({"request": fault.request} if fault.request is not None else {}),
    }
