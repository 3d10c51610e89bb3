"""What an earlier run of the suite covered, read from its JSON report: what covers less later is named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import jsonschema_rs

from xmcp_conformance.core.schema_faults import fault_in_words

from .tool_coverage import Coverage, listed

SCHEMA: Final = Path(__file__).with_name("report.schema.json")
_LARGEST: Final = 50_000_000
"""Maximum size of a report, in bytes."""


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """The ids of the sentences that it judged, and the names of the tools that it saw at work."""

    judged: tuple[str, ...]
    at_work: tuple[str, ...]

    def lost(self, judged: set[str], coverage: Coverage) -> Iterator[str]:
        """Yield a sentence for each kind of thing that the earlier run covered, and this one did not.

        Args:
            judged: the ids of the sentences that this run judged.
            coverage: the tools of this run.
        """
        if ids := [name for name in self.judged if name not in judged]:
            yield f"Judged in the earlier run, and not now: {', '.join(ids)}."
        now = {name for name, tool in coverage.tools.items() if tool.at_work}
        if tools := [name for name in self.at_work if name not in now]:
            yield f"At work in the earlier run, and not now: {listed(tools)}."


def earlier_run(path: Path) -> EarlierRun:
    """Read what a run covered from the report that `xmcp check server --json` wrote.

    Raises:
        ValueError: the file is no such report; the message says what is wrong.
        OSError: it cannot be read.
    """
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"`{path}` has more than {_LARGEST:,} bytes: it is no report of `xmcp check server`")
    try:
        raw = json.loads(path.read_text(encoding="utf-8-sig"))
        fault = next(_reports().iter_errors(raw), None)
    except (ValueError, RecursionError):  # not UTF-8, not JSON, or nested too deeply
        raise ValueError(f"`{path}` is not JSON, as `xmcp check server --json` writes it") from None
    if fault is not None:
        raise ValueError(
            f"`{path}` is no report that `xmcp check server --json` of this version writes ({fault_in_words(fault)})"
        )
    judged = tuple(entry["id"] for entry in raw["requirements"] if entry["occasions"])
    return EarlierRun(judged, tuple(name for name, tool in raw["coverage"]["tools"].items() if tool["at_work"]))


@cache
def _reports() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")), mask="this")
