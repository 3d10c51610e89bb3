"""The last events of a run, in memory: at most so many, and so many bytes.

A model writes hundreds of pieces of text, and a reader takes each at once. What a piece needs in order to be an event
again is kept: its text, which the chat keeps as well. The event with its data, as object and as JSON, is three times as
large.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Final, TypeAlias

from xmcp.chat.json_values import encode_json
from xmcp.gateway.runs.events import TEXT, EventType, RunEvent

MAX_EVENTS: Final = 2_048
MAX_BYTES: Final = 1024 * 1024
"""Maximum size of the events together; the newest one is always kept, however large it is."""

WHOLE_EVENTS: Final = 16
"""So many of the newest events are kept as they are, for readers that are a little behind."""

_Kept: TypeAlias = RunEvent | tuple[EventType, int, str]
"""An event, or type, step and text of a piece of text."""

_PIECE: Final = frozenset({"step", "text"})


class EventRing:
    """Keeps the newest events of an attempt of a run, whose `seq` have no gaps."""

    def __init__(self, max_events: int = MAX_EVENTS, max_bytes: int = MAX_BYTES) -> None:
        self._older: deque[_Kept] = deque()
        self._newest: deque[RunEvent] = deque()
        self._max_events = max_events
        self._max_bytes = max_bytes
        self.size = 0
        """Bytes of all events that are kept."""

    @property
    def oldest(self) -> int:
        """The `seq` of the first event that is kept; 1 if there was none yet."""
        return self.newest - len(self) + 1

    @property
    def newest(self) -> int:
        """The `seq` of the last event; 0 if there was none yet."""
        return self._newest[-1].seq if self._newest else 0

    def __len__(self) -> int:
        return len(self._older) + len(self._newest)

    def append(self, event: RunEvent) -> None:
        """Keep one more event, and as few less as the limits demand."""
        self._newest.append(event)
        self.size += event.size
        if len(self._newest) > WHOLE_EVENTS:
            self._older.append(_reduced(self._newest.popleft()))
        while len(self) > 1 and (len(self) > self._max_events or self.size > self._max_bytes):
            self.size -= (self._whole(0) if self._older else self._newest[0]).size
            (self._older or self._newest).popleft()

    def after(self, seq: int) -> Sequence[RunEvent] | None:
        """Return the events that follow `seq`; `None` if some of them are not kept any more."""
        first = seq + 1 - self.oldest
        if first < 0:
            return None
        older = len(self._older)
        return [*map(self._whole, range(first, older)), *islice(self._newest, max(0, first - older), None)]

    def _whole(self, place: int) -> RunEvent:
        """Return one of the older events, by its place among them."""
        kept = self._older[place]
        if isinstance(kept, RunEvent):
            return kept
        kind, step, text = kept
        data, of = {"step": step, "text": text}, self._newest[-1]
        return RunEvent(of.run_id, of.attempt, self.oldest + place, kind, data, encode_json(data))


def _reduced(event: RunEvent) -> _Kept:
    if event.type in TEXT and event.data.keys() == _PIECE:
        return event.type, event.data["step"], event.data["text"]
    return event
