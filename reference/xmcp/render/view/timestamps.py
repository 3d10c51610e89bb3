"""Moments on a time axis: from the values of a temporal field to seconds and short names."""

from __future__ import annotations

from datetime import UTC, datetime

from xmcp.render.view.numerals import quantity
from xmcp.render.view.payloads import is_number

_LATEST = 1e18
"""Milliseconds since 1970; far beyond any calendar."""


def seconds_of(value: object) -> float | None:
    """Return seconds since 1970 for an ISO 8601 date or time (UTC if it has no zone) or for milliseconds since 1970.

    None for any other value.
    """
    if is_number(value):
        return value / 1000 if abs(value) < _LATEST else None
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value + {4: "-01-01", 7: "-01"}.get(len(value), ""))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def name_of(value: object, seconds: float) -> str:
    """Return a short name of a moment: the date, and the time of day unless it is midnight."""
    if isinstance(value, str):
        return value[:10] if value[10:19] in ("", "T00:00", "T00:00:00", " 00:00:00") else value[:16].replace("T", " ")
    try:
        return name_of(datetime.fromtimestamp(seconds, UTC).isoformat(), seconds)
    except (ValueError, OverflowError, OSError):
        return quantity(seconds)
