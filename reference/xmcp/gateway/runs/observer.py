"""Who is told of every run: the audit, metrics. The seam between the runs and whatever remembers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from xmcp.gateway.runs.events import RunEvent
    from xmcp.gateway.runs.run import Run


class RunObserver(Protocol):
    """Told of each run, on the event loop. It must neither block nor await; what it raises is logged and ignored."""

    def accepted(self, run: Run) -> None:
        """Take note of a run before its first event: `run.id`, `run.request`, `run.caller`."""

    def event(self, run: Run, event: RunEvent) -> None:
        """Take note of an event; the last one included."""

    def ended(self, run: Run) -> None:
        """Take note that a run has ended: `run.state`, and `run.history` with what the model saw and wrote."""


class NoObserver:
    """Takes no note."""

    def accepted(self, run: Run) -> None:
        """Do nothing."""

    def event(self, run: Run, event: RunEvent) -> None:
        """Do nothing."""

    def ended(self, run: Run) -> None:
        """Do nothing."""
