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
        self._begun: list[bytes] = []
        self._begun_size = 0
        self._after_cr = False
        self._name = ""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[Event]:
        """Take bytes, and return the events that they completed, in order.

        Raises:
            EventTooLarge: one event grew above the limit.
        """
        events: list[Event] = []
        if not piece:
            return events
        if self._after_cr:
            # A CR ends its line at once; an LF that follows it belongs to it.
            piece = piece.removeprefix(b"\n")
        self._after_cr = piece.endswith(b"\r")
        *ended, begun = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for end in ended:
            if not self._begun and self._size + len(end) <= MAX_EVENT_BYTES:
                self._take(end, events)  # nearly every line comes in one piece
                continue
            self._begin(end)
            line = b"".join(self._begun)
            self._begun, self._begun_size = [], 0
            self._take(line, events)
        if begun:
            self._begin(begun)
        return events

    def close(self) -> list[Event]:
        """Return the last event if the stream ended without its blank line, which some vendors leave out."""
        events: list[Event] = []
        self._take(b"".join(self._begun), events)
        self._take(b"", events)
        self._begun, self._begun_size = [], 0
        return events

    def _begin(self, part: bytes) -> None:
        """Add to the line that has begun. The parts are joined once, when it ends: an event takes linear time."""
        if self._size + self._begun_size + len(part) > MAX_EVENT_BYTES:
            raise EventTooLarge(f"one event of it has more than {MAX_EVENT_BYTES:,} bytes")
        self._begun.append(part)
        self._begun_size += len(part)

    def _take(self, line: bytes, events: list[Event]) -> None:
        if not line:
            if self._data:
                events.append(Event(self._name or "message", b"\n".join(self._data)))
            self._name, self._data, self._size = "", [], 0
            return
        if line.startswith(b"data:"):  # without a copy of the field before the value is cut out of it
            self._data.append(line[6 if line[5:6] == b" " else 5 :])
            self._size += len(line)
            return
        field, _, value = line.partition(b":")
        if field == b"event":
            self._name = value.removeprefix(b" ").decode("utf-8", "replace")
        elif line == b"data":  # a field without a colon has an empty value
            self._data.append(b"")
