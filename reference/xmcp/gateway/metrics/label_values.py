"""Values of labels, never more than so many: each new one is a series that is kept for ever. Pure."""

from __future__ import annotations

from typing import Final

OTHER: Final = "other"
"""What stands for all values that there is no room for, or that are not known."""


class LabelValues:
    """The first `most` values that are seen; each later one is `other`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: set[str] = set()

    def of(self, value: str) -> str:
        """Return the value, or `other` if it is a new one for which there is no room."""
        if value not in self._seen:
            if len(self._seen) >= self._most:
                return OTHER
            self._seen.add(value)
        return value
