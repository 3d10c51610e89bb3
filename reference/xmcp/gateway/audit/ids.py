"""Ids that sort by the time at which they were made, and the clock of the store."""

from __future__ import annotations

import os
import time
from uuid import UUID


def uuid7() -> str:
    """Return a new UUID of version 7 (RFC 9562): 48 bits of milliseconds, then 74 random bits."""
    random = int.from_bytes(os.urandom(10))
    value = (time.time_ns() // 1_000_000) << 80 | random
    value = value & ~(0xF << 76) | 0x7 << 76
    return str(UUID(int=value & ~(0b11 << 62) | 0b10 << 62))


def now_ms() -> int:
    """Return the milliseconds since 1970 in UTC, by the clock of this machine."""
    return time.time_ns() // 1_000_000
