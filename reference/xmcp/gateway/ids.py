"""Ids that sort by the time at which they were made, ids of conversations, and the clock of records."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from datetime import UTC, datetime
from uuid import UUID

_lock = threading.Lock()
_last = 0


def uuid7() -> str:
    """Return a new UUID of version 7 (RFC 9562): milliseconds, 12 bits of their fraction, and 62 random bits.

    Each sorts after all that this process has made before.
    """
    global _last
    milliseconds, rest = divmod(time.time_ns(), 1_000_000)
    place = milliseconds << 12 | (rest << 12) // 1_000_000
    with _lock:
        _last = place = max(place, _last + 1)
    random = int.from_bytes(os.urandom(8)) & ((1 << 62) - 1)
    return str(UUID(int=(place >> 12) << 80 | 0x7 << 76 | (place & 0xFFF) << 64 | 0b10 << 62 | random))


def time_text(at: int) -> str:
    """Return a time in milliseconds since 1970 by ISO 8601, in UTC."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")


def conversation_of(tenant: str | None, session: str) -> str:
    """Return the id of the conversation of a session. The same session of two tenants is two conversations."""
    named = json.dumps([tenant, session]).encode()
    return f"conv_{hashlib.sha256(named).hexdigest()[:32]}"


def now_ms() -> int:
    """Return the milliseconds since 1970 in UTC, by the clock of this machine."""
    return time.time_ns() // 1_000_000
