"""Joins pieces of text that come soon after each other, so that fast models cost the readers of a run less."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from xmcp.gateway.runs.events import TEXT, EventType


class JoinedText:
    """Publishes the first piece at once; what follows within `seconds` comes together, when they are over.

    Every other event is published at once, behind the text that came before it.
    """

    def __init__(self, seconds: float, publish: Callable[[EventType, Mapping[str, Any]], None]) -> None:
        self._seconds = seconds
        self._publish = publish
        self._loop = asyncio.get_running_loop()
        self._published_at = -seconds
        self._place: tuple[EventType, int] = ("text.delta", 0)
        self._texts: list[str] = []
        self._timer: asyncio.TimerHandle | None = None

    def takes(self, kind: EventType, data: Mapping[str, Any]) -> bool:
        """Return whether the event is text that is published later, with what follows; publish what came before it."""
        if kind not in TEXT:
            self.flush()
            return False
        if (place := (kind, data["step"])) != self._place:
            self.flush()
            self._place = place
        if not self._texts and self._loop.time() >= self._published_at + self._seconds:
            self._published_at = self._loop.time()
            return False
        self._texts.append(data["text"])
        if self._timer is None:
            self._timer = self._loop.call_at(self._published_at + self._seconds, self.flush)
        return True

    def flush(self) -> None:
        """Publish the text that waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._texts:
            text, self._texts = "".join(self._texts), []
            self._published_at = self._loop.time()
            kind, step = self._place
            self._publish(kind, {"step": step, "text": text})
