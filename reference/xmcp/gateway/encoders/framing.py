"""Server-sent events (the standard of WHATWG, section 9.2), and what all encoders of streams have in common."""

from __future__ import annotations

from typing import Any, Final, Protocol

from xmcp.chat.json_values import encode_json
from xmcp.gateway.runs.events import RunEvent

PING: Final = b": ping\n\n"
"""A comment, so that no proxy ends a connection on which nothing is sent. Every client leaves it out."""

DONE: Final = b"data: [DONE]\n\n"


class Encoder(Protocol):
    """Encodes the events of one stream, in their order; it is a fold, so each stream has its own."""

    def encode(self, event: RunEvent) -> bytes:
        """Return what is sent for an event; nothing if the format has no place for it."""


def data_line(value: Any) -> bytes:
    """Return an event without a name. JSON has no line breaks in its texts, so that it is one line."""
    return b"data: " + encode_json(value) + b"\n\n"


def named_event(name: str, value: Any) -> bytes:
    """Return an event with a name."""
    return b"event: " + name.encode() + b"\n" + data_line(value)
