"""Parses server-sent events, without I/O: feed the bytes that arrived, get the events that are complete.

Follows the event stream format of the HTML standard (section 9.2.6) for the fields that model APIs use, and leaves the
meaning of the events to the caller.
"""

from __future__ import annotations

from typing import Final, NamedTuple

MAX_EVENT_BYTES: Final = 16 * 1024 * 1024
"""Maximum size of one event; a vendor that sends more is broken or hostile."""


class Event(NamedTuple):
    """One event: its name (`message` unless the stream has another) and its data."""

    name: str
    data: bytes


class EventTooLarge(ValueError):
    """The stream holds an event above `MAX_EVENT_BYTES`."""


class EventReader:
    """Reads a stream in pieces of any size; a piece may end anywhere, also between CR and LF."""

    def __init__(self) -> None:
        self._rest = b""
        self._name = ""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[Event]:
        """Take bytes, and return the events that they completed, in order.

        Raises:
            EventTooLarge: one event grew above the limit.
        """
        text = self._rest + piece
        # A CR at the end may be the first half of CRLF: keep it until the next piece.
        held = b"\r" if text.endswith(b"\r") else b""
        lines = text[: len(text) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = lines.pop() + held
        events: list[Event] = []
        for line in lines:
            self._take(line, events)
        if self._size + len(self._rest) > MAX_EVENT_BYTES:
            raise EventTooLarge(f"one server-sent event is larger than {MAX_EVENT_BYTES} bytes")
        return events

    def close(self) -> list[Event]:
        """Return the last event if the stream ended without its blank line, which some vendors leave out."""
        events: list[Event] = []
        self._take(self._rest.removesuffix(b"\r"), events)
        self._take(b"", events)
        self._rest = b""
        return events

    def _take(self, line: bytes, events: list[Event]) -> None:
        if not line:
            if self._data:
                events.append(Event(self._name or "message", b"\n".join(self._data)))
            self._name, self._data, self._size = "", [], 0
            return
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
            self._size += len(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
