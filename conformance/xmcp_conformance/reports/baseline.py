"""The faults of a server that are known: a file of them keeps CI green until they are mended, and red for new ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import jsonschema_rs

from xmcp_conformance.core.schema_faults import fault_in_words

from .tool_coverage import Coverage

SCHEMA: Final = Path(__file__).with_name("baseline.schema.json")
FORMAT: Final = 1
_LARGEST: Final = 5_000_000
"""Maximum size of a baseline, in bytes."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """Known faults: for each sentence, by its id, the tools that break it; the empty text is the server itself."""

    faults: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def covers(self, requirement: str, tools: set[str]) -> bool:
        """Return whether a sentence is known to be broken by all of these tools."""
        return tools <= self.faults.get(requirement, frozenset())

    def stale(self, broken: Mapping[str, set[str]], judged: set[str], coverage: Coverage) -> Iterator[str]:
        """Yield a sentence for each entry that is no longer true, as far as a run shows it.

        Args:
            broken: the tools that break each sentence now.
            judged: the ids of the sentences that the run judged.
            coverage: the tools of the run.
        """
        for requirement, tools in self.faults.items():
            for tool in sorted(tools - broken.get(requirement, set())):
                entry = f"{requirement} of {f'`{tool}`' if tool else 'the server'}"
                if tool and tool not in coverage.tools:
                    yield f"stale in the baseline: {entry}; no such tool is listed"
                elif requirement in judged and (not tool or coverage.tools[tool].called):
                    yield f"stale in the baseline: {entry}; it is not broken any more"


def read_baseline(path: Path) -> Baseline:
    """Read a baseline.

    Raises:
        ValueError: the file is none; the message says what is wrong.
        OSError: it cannot be read.
    """
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"`{path}` has more than {_LARGEST:,} bytes: it is no baseline")
    try:
        raw = json.loads(path.read_text(encoding="utf-8-sig"))
        fault = next(_form().iter_errors(raw), None)
    except (ValueError, RecursionError):  # not UTF-8, not JSON, or nested too deeply
        raise ValueError(f"`{path}` is not JSON, as --update-baseline writes it") from None
    if fault is not None:
        raise ValueError(f"`{path}` is no baseline ({fault_in_words(fault)}); --update-baseline writes one")
    return Baseline({one: frozenset(tools) for one, tools in raw["faults"].items()})


def to_baseline(broken: Mapping[str, set[str]]) -> dict[str, Any]:
    """Return the content of a baseline, for a file: the tools that break each sentence."""
    return {"format": FORMAT, "faults": {one: sorted(broken[one]) for one in sorted(broken)}}


@cache
def _form() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")), mask="this")
