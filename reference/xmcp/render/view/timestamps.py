"""Moments on a time axis: from the values of a temporal field to seconds and short names."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Final

from xmcp.render.view.numerals import is_number, quantity

_LATEST: Final = 1e18
"""Milliseconds since 1970; far beyond any calendar."""
_YEARS: Final = (-62_135_596_800, 253_402_300_800)
"""Seconds since 1970: from the year 1 to the end of the year 9999."""
_ISO: Final = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:(Z)|([+-])(\d\d):?(\d\d))?)?)?)?",
    re.ASCII,
)


def seconds_of(value: object) -> float | None:
    """Return seconds since 1970 for an ISO 8601 date or time (UTC if it has no zone) or for milliseconds since 1970.

    None for any other value.
    """
    if is_number(value):
        return value / 1000 if abs(value) < _LATEST else None
    parts = _ISO.fullmatch(value) if isinstance(value, str) else None
    if parts is None:
        return None
    year, month, day, hour, minute, second, zone_hours, zone_minutes = (
        int(parts[nth] or default)
        for nth, default in ((1, 0), (2, 1), (3, 1), (4, 0), (5, 0), (6, 0), (10, 0), (11, 0))
    )
    if max(minute, second, zone_minutes) > 59 or max(hour, zone_hours) > 23:
        return None
    try:
        date = datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None
    zone = (-60 if parts[9] == "-" else 60) * (zone_hours * 60 + zone_minutes)
    whole = (date - datetime(1970, 1, 1, tzinfo=UTC)).days * 86_400 + hour * 3600 + minute * 60 + second - zone
    return (whole * 1000 + int((parts[7] or "").ljust(3, "0")[:3])) / 1000


def name_of(value: object, seconds: float) -> str:
    """Return a short name of a moment: the date, and the time of day to the millisecond unless it is midnight.

    Args:
        value: How the moment is written: its name has the clock of the zone that stands there.
        seconds: The moment itself.
    """
    parts = _ISO.fullmatch(value) if isinstance(value, str) else None
    if parts is None:
        written = utc(seconds)
        return quantity(seconds) if written is None else name_of(written, seconds)
    fraction = (parts[7] or "")[:3].rstrip("0")
    second = f"{parts[6] or '00'}{'.' if fraction else ''}{fraction}"
    clock = f"{parts[4] or '00'}:{parts[5] or '00'}" + (f":{second}" if second != "00" else "")
    return parts[0][:10] if clock == "00:00" else f"{parts[0][:10]} {clock}"


def utc(seconds: float) -> str | None:
    """Return a moment as an ISO 8601 time in UTC; None if it is before the year 1 or after the year 9999."""
    milliseconds = math.floor(seconds * 1000 + 0.5)
    if not _YEARS[0] <= milliseconds / 1000 < _YEARS[1]:
        return None
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    return f"{moment.isoformat(timespec='milliseconds')[:23]}Z"
