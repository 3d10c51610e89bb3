"""The errors of a store that cannot be used. A client continues without the store."""

from __future__ import annotations


class StoreError(Exception):
    """A store could not be used: unreachable, too slow, or refusing. The message contains no credentials."""


class CacheError(StoreError):
    """A cache could not be used. A client treats it as a miss."""
