"""Why a sentence for servers was not judged in a run, in words for who wants it judged."""

from __future__ import annotations

from typing import Final

from xmcp_conformance.core.judge import Status
from xmcp_conformance.core.requirements import Requirement

from .server_report import ServerReport

_OCCASIONS: Final[dict[str, tuple[str, ...]]] = {
    "a CDATA section": ("RSP-027",),
    "an attribute with a tab or a line end": ("RSP-028",),
    "the attribute `version`, and the entry `versions` of the announcement": ("RSP-008", "CNF-003"),
    "an answer with JSON: a display, `server_populated` or `meta`": ("RSP-042", "RSP-043", "RSP-044"),
    "a tool that repeats a text that it is given": ("RSP-020", "RSP-022", "RSP-023", "RSP-024", "RSP-025", "RSP-026"),
    "a tool that repeats a long text that it is given": ("RSP-082", "MCP-014", "MCP-051"),
    "a tool with `server_populated` in its metadata": (
        *("RSP-095", "RSP-096", "TOL-020", "TOL-021", "TOL-023", "TOL-024", "MCP-025", "MCP-048"),
    ),
    "a display": ("DSP-001", "DSP-002", "DSP-003", "DSP-004", "DSP-005", "DSP-010", "DSP-043", "TOL-002"),
    "a display of its own with `meta`": ("DSP-006",),
    "a display that is a group": ("DSP-011",),
    "a display with a fallback": ("DSP-015",),
    "a display that is a chart or an image": ("DSP-012",),
    "a display that is an image": ("DSP-013",),
    "a display that is a chart": ("DSP-014",),
    "a tool with `display: true` in its metadata": ("DSP-020", "DSP-021", "DSP-022", "DSP-024"),
    "a plain result for a call that shows a display": ("DSP-025", "MCP-021"),
    "an `alt` that says more than the text for the model": ("MCP-047",),
    "an error that can be retried, or says that it cannot": ("ERR-003",),
    "an error with `retry_after_ms`": ("ERR-004", "ERR-005"),
    "an error with `category` and a code of the specification": ("ERR-010",),
    "an error with a code of the server's own": ("ERR-011",),
    "a failure that nobody foresaw": ("ERR-030",),
    "a tool with `depends_on` in its metadata": ("TOL-010", "TOL-011"),
    "a tool with `cacheable` in its metadata": ("TOL-030",),
    "a tool that returns a value which is no object, with an output schema": ("MCP-053",),
    "a block whose audience is the user alone": ("MCP-044",),
    "the wire `negotiated`, and a client that declares the extension": ("MCP-005", "MCP-015", "MCP-050"),
    "the wire `negotiated`, and a server that can know what a client declared": ("VER-001", "VER-002"),
    "a plain result: the wire `negotiated` or `plain`": ("MCP-020", "MCP-022", "MCP-023", "MCP-024"),
    "a tool that names a view for MCP Apps": ("MCP-061", "MCP-062", "MCP-063"),
}
"""What gives occasion to judge sentences, where not every server does; the ids are without `XMCP-`."""
_NEEDS: Final = {f"XMCP-{name}": words for words, names in _OCCASIONS.items() for name in names}
_FIXTURE: Final = "the tool `xmcp_conformance_emit` (section 1.7), which the suite can give any text"


def unjudged(report: ServerReport) -> list[Requirement]:
    """Return the sentences for servers that this run did not judge: those without occasion, then those beyond it."""
    without = [one.requirement for one in report.judgements if one.status is Status.NOT_OBSERVED]
    return [*without, *report.beyond]


def why_not(requirement: Requirement) -> str:
    """Return why a run did not judge a sentence."""
    if requirement.excluded:
        return requirement.excluded
    if "server" in requirement.verified_by:
        return f"it needs {_NEEDS.get(requirement.id, 'an answer that gives occasion')}"
    if "fixture" in requirement.verified_by:
        return f"it needs {_FIXTURE}"
    return "no answer shows it; the vectors of the suite verify it for a library that writes documents"
