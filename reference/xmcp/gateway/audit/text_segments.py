"""Pieces of one text, recorded as one event: a row for each piece would cost more than the text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from xmcp.chat.json_values import as_json, encode_json
from xmcp.gateway.audit.recording import Event, OpenRun, event_row
from xmcp.gateway.audit.statements import Row
from xmcp.gateway.ids import now_ms


@dataclass(slots=True)
class TextSegment:
    """Pieces of text in a row, which become one event."""

    run: OpenRun
    attempt: int
    type: str
    step: Any
    first: int
    last: int
    at: int
    pieces: list[str]
    size: int

    @classmethod
    def of(cls, record: Event) -> TextSegment:
        """Begin a segment with a piece."""
        event = record.event
        text = str(event.data.get("text", ""))
        return cls(
            record.run, event.attempt, event.type, event.data.get("step"), event.seq, event.seq, record.at, [text],
            len(text),
        )  # fmt: skip

    def take(self, record: Event) -> bool:
        """Add the next piece of the same text; False if it is of another."""
        event = record.event
        same = event.type == self.type and event.data.get("step") == self.step and event.attempt == self.attempt
        if not same or event.seq != self.last + 1:
            return False
        text = str(event.data.get("text", ""))
        self.pieces.append(text)
        self.size += len(text)
        self.last = event.seq
        return True

    def row(self) -> Row:
        """Return the one event."""
        payload = encode_json(as_json({"step": self.step, "text": "".join(self.pieces)})).decode()
        payload = self.run.redactor.out_of_json(payload)
        return event_row(self.run.id, self.attempt, self.first, self.last, self.at, self.type, payload)

    def cut(self) -> tuple[Row | None, TextSegment | None]:
        """Return the event of what can be told now, and a segment of what goes on.

        The text can end in the beginning of a value that may not be recorded; what comes next shows whether it does.
        """
        text = "".join(self.pieces)
        end = self.run.redactor.settled(text)
        if end == len(text):
            return self.row(), None
        if not end or self.first == self.last:  # an event of its own needs a place of its own
            return None, self
        left = replace(self, first=self.last, at=now_ms(), pieces=[text[end:]], size=len(text) - end)
        return replace(self, last=self.last - 1, pieces=[text[:end]]).row(), left
