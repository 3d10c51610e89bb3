"""The one stream of events of a run: plain JSON data with a place in the stream, from which every view is encoded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from xmcp.gateway.ids import uuid7
from xmcp.gateway.workers.place import WorkerPlace

EventType: TypeAlias = Literal[
    "run.started",
    "step.started",
    "step.finished",
    "text.delta",
    "reasoning.delta",
    "tool.started",
    "tool.progress",
    "tool.finished",
    "display",
    "approval.required",
    "approval.answered",
    "notice",
    "usage",
    "stream.reset",
    "stream.gap",
    "snapshot",
    "run.finished",
    "run.error",
    "run.cancelled",
    "run.interrupted",
]

LAST: Final = frozenset({"run.finished", "run.error", "run.cancelled", "run.interrupted"})
"""The types of the last event of a run. Each run has exactly one of them."""

TEXT: Final[frozenset[EventType]] = frozenset({"text.delta", "reasoning.delta"})
"""The types of the events that are pieces of text: their data is a `step` and a `text`."""

ENVELOPE_BYTES: Final = 128
"""What an event takes on the wire beside its data, in bytes, rounded up: its type, its id, what frames it."""


class RunEvent(NamedTuple):
    """One event. `attempt` and `seq` are counted from 1; within an attempt no `seq` is missing.

    Attributes:
        run_id: The run.
        attempt: A run that is executed again, after its process died, has a further attempt.
        seq: Place in the stream of the attempt.
        type: What happened.
        data: The facts, as a JSON object; its members are those of the native stream.
        json: `data`, encoded.
    """

    run_id: str
    attempt: int
    seq: int
    type: EventType
    data: Mapping[str, Any]
    json: bytes

    @property
    def id(self) -> str:
        """The place of the event as one word, which `Last-Event-ID` brings back."""
        return f"{self.run_id}:{self.attempt}:{self.seq}"

    @property
    def is_last(self) -> bool:
        """Whether nothing follows."""
        return self.type in LAST

    @property
    def size(self) -> int:
        """About how many bytes the event takes on the wire."""
        return len(self.json) + ENVELOPE_BYTES


_ID: Final = re.compile(r"(run_[0-9a-f]{32}):(\d{1,9}):(\d{1,9})")


def place_of(event_id: str) -> tuple[str, int, int] | None:
    """Return run, attempt and seq of an id; `None` if it is not the id of an event."""
    found = _ID.fullmatch(event_id)
    return None if found is None else (found[1], int(found[2]), int(found[3]))


def new_run_id() -> str:
    """Return an id that nobody can guess, in the order of time."""
    return f"run_{uuid7().replace('-', '')}"


def new_run_id_at(place: WorkerPlace) -> str:
    """Return such an id whose home is this process: it is drawn as often as there are processes, on average."""
    while not place.is_home_of(run_id := new_run_id()):
        pass
    return run_id
