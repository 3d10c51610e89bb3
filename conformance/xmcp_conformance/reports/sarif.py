"""A report as SARIF 2.1.0, which code scanning reads: a result for each broken requirement and tool, case or place.

What is judged is mostly no file: the place of a result is then the file that the author of it looks for, and its
logical location the tool or the case.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

from xmcp_conformance.core.events import Observed
from xmcp_conformance.core.judge import ExitCode, Judgement, Status

from .summary import Summary, place, where

_LEVELS: Final = {Status.FAIL: "error", Status.KNOWN: "error", Status.WARN: "warning"}
_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def to_sarif(summary: Summary) -> str:
    """Return the JSON of a log with one run. Faults that a baseline knows are in it, and suppressed."""
    broken = summary.of(*_LEVELS)
    run = {
        "tool": {"driver": {"name": "xmcp check", "version": summary.suite, "rules": [_rule(one) for one in broken]}},
        "properties": {"specification": summary.specification, "judged": summary.judged, "verdict": summary.verdict},
        "invocations": [
            {
                "executionSuccessful": summary.exit_code is not ExitCode.SUITE_FAILED,
                "exitCode": int(summary.exit_code),
                "toolExecutionNotifications": [
                    {"level": "note", "message": {"text": _plain(text)}} for text in _told(summary)
                ],
            }
        ],
        "results": [result for number, one in enumerate(broken) for result in _results(number, one, summary)],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


_MARKUP: Final = str.maketrans({"\\": "\\\\", "[": "\\[", "]": "\\]", "{": "{{", "}": "}}"})


def _plain(text: str) -> str:
    """Return a text as SARIF has it, so that nothing in it is a link or stands for an argument (section 3.11)."""
    return text.translate(_MARKUP)


def _told(summary: Summary) -> list[str]:
    return [*summary.why, *summary.notes]


def _rule(judgement: Judgement) -> dict[str, Any]:
    requirement = judgement.requirement
    return {
        "id": requirement.id,
        "shortDescription": {"text": _plain(requirement.quote)},
        "defaultConfiguration": {"level": "error" if requirement.mandatory and not judgement.only_warns else "warning"},
        "properties": {"section": requirement.section, "level": requirement.level},
    }


def _results(number: int, judgement: Judgement, summary: Summary) -> Iterator[dict[str, Any]]:
    requirement = judgement.requirement
    for fault in judgement.faults:
        seen, expected = fault.observation.seen, fault.observation.expected
        of = where(fault)
        told = f"{requirement.quote} Seen: {seen}. Expected: {expected}. In {place(fault)}."
        if judgement.only_warns:
            told += f" It counts as a warning: {judgement.only_warns}."
        key = f"{requirement.id}\n{of}\n{fault.observation.where if fault.observation.place else ''}"
        yield {
            "ruleId": requirement.id,
            "ruleIndex": number,
            "level": _LEVELS[judgement.status],
            "message": {"text": _plain(told)},
            "locations": [{"physicalLocation": _file(fault, summary), "logicalLocations": [{"name": of}]}],
            "partialFingerprints": {"xmcp/v1": hashlib.sha256(key.encode()).hexdigest()},
            **({"suppressions": [{"kind": "external"}]} if judgement.status is Status.KNOWN else {}),
        }


def _file(fault: Observed, summary: Summary) -> dict[str, Any]:
    name = fault.run if summary.source is None else summary.source
    at = fault.observation.place
    # Of a server, the place is one in the document that it sent, and not in its source.
    is_there = at is not None and summary.source is None
    region = {"region": {"startLine": at.line, "startColumn": at.column}} if at is not None and is_there else {}
    return {"artifactLocation": {"uri": quote(os.fsencode(name.replace("\\", "/")))}, **region}
