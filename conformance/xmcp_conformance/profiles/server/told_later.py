"""Keep the events of runs that happen at the same time as others, to tell them after those."""

from __future__ import annotations

from xmcp_conformance.core.events import Emit, Event


class ToldLater:
    """Takes events, and tells none until `tell` is called; from then on it tells each at once."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._kept: list[Event] | None = []

    def __call__(self, event: Event) -> None:
        """Take an event."""
        if self._kept is None:
            self._emit(event)
        else:
            self._kept.append(event)

    def tell(self) -> None:
        """Tell what was kept, in its order."""
        kept, self._kept = self._kept or (), None
        for event in kept:
            self._emit(event)
