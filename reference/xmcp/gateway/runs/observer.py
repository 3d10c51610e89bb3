"""Who is told of every run: the audit, metrics. The seam between the runs and whatever remembers them."""

from __future__ import annotations

from typing import Protocol

from xmcp.gateway.runs.events import RunEvent
from xmcp.gateway.runs.record import RunRecord


class RunObserver(Protocol):
    """Told of each run, on the event loop. It must neither block nor await; what it raises is logged and ignored."""

    def accepted(self, run: RunRecord) -> None:
        """Take note of a run before its first event."""

    def event(self, run: RunRecord, event: RunEvent) -> None:
        """Take note of an event, the last one included; `run.state` has it already."""

    def ended(self, run: RunRecord) -> None:
        """Take note that a run has ended: `run.state` and `run.history` are complete."""
