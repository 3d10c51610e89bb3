"""A logger for fuzzers, which keeps what the client reports of code that failed as nobody foresaw."""

from __future__ import annotations

import traceback
from typing import Any


class Silence:
    """A logger like structlog's. `crashes` has the events that came with an exception, and its traceback."""

    def __init__(self) -> None:
        self.crashes: list[str] = []

    def exception(self, event: str, **fields: Any) -> None:
        """Keep the event."""
        self.crashes.append(f"{event} {fields}: {traceback.format_exc()}")

    def info(self, event: str, **fields: Any) -> None:
        """Take no notice."""

    debug = warning = info
