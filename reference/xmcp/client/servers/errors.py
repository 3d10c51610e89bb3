"""How a server fails before there is a call."""

from __future__ import annotations


class ConnectFailed(Exception):
    """A server could not be reached; the message says why, for people, and holds no credential."""
