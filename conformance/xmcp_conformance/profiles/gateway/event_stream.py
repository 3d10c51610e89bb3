"""Read server-sent events (HTML standard of WHATWG, section 9.2) as they arrive. Pure; nothing of it is trusted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from xmcp_conformance.core.untrusted_text import quoted

_LINE_END: Final = re.compile(rb"\r\n|\n|\r(?!\Z)")
"""A carriage return at the end of what came can be half of a line end."""
_ENDS: Final = re.compile(rb"[\r\n]")
_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class SentEvent:
    """One server-sent event. `name` and `id` are empty where it has none."""

    name: str
    id: str
    data: str


class EventStreamReader:
    """Takes the bytes of a stream, and gives its events."""

    def __init__(self) -> None:
        self.fault = ""
        """What is wrong with the bytes; empty while they are UTF-8."""
        self._parts: list[bytes] = []
        """The line that has not ended, in the pieces in which it came."""
        self._begun = False
        self._name = self._id = ""
        self._data: list[str] = []

    @property
    def waiting(self) -> int:
        """How many bytes belong to a line that has not ended."""
        return sum(map(len, self._parts))

    @property
    def is_cut(self) -> bool:
        """Whether an event has begun and not ended."""
        return bool(self._data or b"".join(self._parts).strip())

    def feed(self, piece: bytes) -> list[SentEvent]:
        """Return the events that end in the next bytes."""
        self._parts.append(piece)
        if not (_ENDS.search(piece) or (len(self._parts) > 1 and self._parts[-2].endswith(b"\r"))):
            return []  # so that a long line costs no more for coming in many pieces
        *lines, rest = _LINE_END.split(b"".join(self._parts))
        self._parts = [rest] if rest else []
        return [event for line in lines if (event := self._line(line)) is not None]

    def _line(self, line: bytes) -> SentEvent | None:
        if not self._begun:
            line, self._begun = line.removeprefix(_MARK), True
        if not line:
            return self._ended()
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            around = line[max(0, error.start - 20) : error.start + 20]
            self.fault = (
                self.fault or f"bytes that are no UTF-8, in `{quoted(around.decode(errors='backslashreplace'))}`"
            )
            text = line.decode(errors="replace")
        field, _, value = text.partition(":")
        value = value.removeprefix(" ")
        match field:
            case "event":
                self._name = value
            case "id":
                self._id = value
            case "data":
                self._data.append(value)
        return None

    def _ended(self) -> SentEvent | None:
        event = SentEvent(self._name, self._id, "\n".join(self._data)) if self._data else None
        self._name, self._id, self._data = "", "", []
        return event
