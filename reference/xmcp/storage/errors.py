"""What a store raises when it cannot do its work. A client goes on without the store; the message says what failed."""

from __future__ import annotations


class StoreError(Exception):
    """A store could not be used: out of reach, too slow, or refusing. No credential is in the message."""


class CacheError(StoreError):
    """A cache could not be used. A client takes it for a miss and goes on."""
