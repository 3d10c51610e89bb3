"""Reports of progress (`notifications/progress`) on their way from a server to the SDK: not all of many. No I/O.

The SDK starts two tasks for each message, so that a tool which reports each of 10,000 rows would cost seconds of the
event loop. Nobody sees the difference: the application is told a few reports in a second (XMCP-REC-008).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Final

from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification

from xmcp.chat.json_values import finite_number

REPORT_SECONDS: Final = 0.05
"""Seconds in which at most one report of each call is handed on."""

MAX_HELD: Final = 1000
"""Calls of a connection of which a report is kept."""

_METHOD: Final = "notifications/progress"


class NewestReports:
    """Of the reports of each call the newest in each `REPORT_SECONDS`, and the last before the next other message.

    Args:
        clock: Returns seconds; by default as the event loop's clock does.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._free_at = -math.inf
        self._held: dict[Any, Any] = {}

    @property
    def due(self) -> float | None:
        """When to call `held`; `None` while nothing is kept."""
        return self._free_at if self._held else None

    def held(self) -> list[Any]:
        """Return the reports that are kept, which are then to be handed on."""
        held, self._held = list(self._held.values()), {}
        if held:
            self._free_at = self._clock() + REPORT_SECONDS
        return held

    def passing(self, message: Any) -> list[Any]:
        """Return what is to be handed on now that `message` has come; `message` is the last in it, or is kept.

        A report without a token, or whose progress is no number, is dropped: it says nothing of any call, and the SDK
        would end the connection over some.
        """
        if not is_report(message):
            return [*self.held(), message]
        params = message.message.params or {}
        token, total = params.get("progressToken"), params.get("total")
        if not isinstance(token, str | int) or finite_number(params.get("progress")) is None:
            return []
        if total is not None and finite_number(total) is None:
            del params["total"]
        self._held[token] = message
        waits = self._clock() < self._free_at and len(self._held) <= MAX_HELD
        return [] if waits else self.held()


def is_report(message: Any) -> bool:
    """Return whether a message of a server is a report of progress."""
    sent = message.message if isinstance(message, SessionMessage) else None
    return isinstance(sent, JSONRPCNotification) and sent.method == _METHOD
