"""What a server reports of the progress of an attempt, on its way to the application: the newest, a few a second.

However many reports a server sends, and however slowly the application reads, one of each attempt is kept.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from xmcp.chat.completions import ToolCall
from xmcp.chat.json_values import finite_number

INTERVAL: Final = 0.1
"""Seconds between two reports of an attempt that the application gets. XMCP-REC-008 allows twice as many."""

MAX_TEXT: Final = 1000
"""Maximum number of characters of a text (spec section 10.2)."""

_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


@dataclass(frozen=True, slots=True)
class Report:
    """One report, as the application gets it."""

    progress: float
    total: float | None
    text: str


class AttemptProgress:
    """The reports of one attempt; an event of its call, from which the turn takes the newest report.

    Args:
        call: The call that the model asked for.
        emit: Called with this object when there is a report to take. No report is told again before that is taken.
    """

    def __init__(self, call: ToolCall, emit: Callable[[AttemptProgress], None]) -> None:
        self.call = call
        self._emit = emit
        self._newest: tuple[float, float | None, Any] = (0.0, None, None)
        self._waits = False
        """Whether the newest report has been told and not taken."""
        self._next_at = -math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._ended = False

    def report(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Take a report of the server; what is none, or comes after the end, is left out. Never raises."""
        number = finite_number(progress)
        if self._ended or number is None:
            return
        self._newest = number, finite_number(total), message
        if self._waits or self._timer is not None:
            return
        loop = asyncio.get_running_loop()
        if loop.time() >= self._next_at:
            self._tell()
        else:
            self._timer = loop.call_at(self._next_at, self._tell)

    def take(self) -> Report:
        """Return the newest report."""
        self._waits = False
        progress, total, message = self._newest
        return Report(progress, total, _one_line(message) if isinstance(message, str) else "")

    def end(self) -> None:
        """Tell a report that has not been told yet, and take no more."""
        self._ended = True
        if self._timer is not None:
            self._timer.cancel()
            self._tell()

    def _tell(self) -> None:
        self._timer = None
        self._waits = True
        self._next_at = asyncio.get_running_loop().time() + INTERVAL
        self._emit(self)


def _one_line(text: str) -> str:
    """Return a text of a server for a person: one line of at most `MAX_TEXT` characters."""
    return _CONTROLS.sub(" ", text[:MAX_TEXT]).strip()
