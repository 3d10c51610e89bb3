"""What the suite saw of a gateway: one class for each kind of thing that it tries. The checks judge these."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from .event_stream import SentEvent
from .exchange import Answer
from .json_objects import object_in
from .told import Place, Told, told


@dataclass(frozen=True)
class Streamed:
    """A chat that was answered with its events, from the first one. `wrote` is what the model wrote as arguments."""

    answer: Answer
    wrote: Sequence[Any] | None = None

    @cached_property
    def events(self) -> list[Told]:
        """The events of the run."""
        return [told(event) for event in self.answer.events]


@dataclass(frozen=True)
class Cancelled(Streamed):
    """A chat that was cancelled while it was streamed. `waited` are the seconds from then to the end of the stream."""

    waited: float = 0.0
    grace: float = 0.0
    """Seconds within which a run can end by itself, although it was cancelled."""

    @property
    def was_left(self) -> bool:
        """Whether it did not end in time, and the suite waited no longer."""
        return self.waited == math.inf


@dataclass(frozen=True)
class Resumed:
    """The events of a run after one of them. `whole` are all of its events, as they were sent first."""

    whole: Sequence[Told]
    after: Place
    answer: Answer

    @cached_property
    def events(self) -> list[Told]:
        """The events that followed."""
        return [told(event) for event in self.answer.events]


@dataclass(frozen=True)
class Misplaced:
    """The events of a run were asked for after an id that none of them has; `why` says what is wrong with it."""

    id: str
    why: str
    answer: Answer


@dataclass(frozen=True)
class Whole:
    """A chat that was answered with one JSON object, and the events of the same run."""

    answer: Answer
    events: Sequence[Told]

    @cached_property
    def value(self) -> Mapping[str, Any]:
        """The object; empty if it is none."""
        return self.answer.json


@dataclass(frozen=True)
class Chunk:
    """One event of a stream of chunks: its value, or why it is no JSON object. `[DONE]` has neither."""

    event: SentEvent
    value: Mapping[str, Any] = field(default_factory=dict)
    fault: str = ""

    @property
    def is_done(self) -> bool:
        """Whether it is the end of the stream."""
        return self.event.data == "[DONE]"

    @property
    def choices(self) -> list[Any] | None:
        """The choices of a chunk; `None` where they are no list."""
        found = self.value.get("choices")
        return found if isinstance(found, list) else None

    @property
    def deltas(self) -> list[Mapping[str, Any]]:
        """What the choices add."""
        found = [one.get("delta") for one in self.choices or () if isinstance(one, dict)]
        return [one for one in found if isinstance(one, dict)]

    @property
    def finishes(self) -> bool:
        """Whether a choice says why the message ended."""
        return any(isinstance(one, dict) and one.get("finish_reason") is not None for one in self.choices or ())

    @property
    def is_error(self) -> bool:
        """Whether it says that the run failed."""
        return "error" in self.value


@dataclass(frozen=True)
class Chunked:
    """A chat that was answered with chunks.

    `usage`: whether that was asked for. `model_counts`: what the model counted, sent and written tokens; `wrote`: what
    it wrote as arguments.
    """

    answer: Answer
    usage: bool
    model_counts: tuple[int, int] | None = None
    wrote: Sequence[Any] | None = None

    @cached_property
    def chunks(self) -> list[Chunk]:
        """The events of the stream."""
        return [
            Chunk(event) if event.data == "[DONE]" else Chunk(event, *object_in(event.data))
            for event in self.answer.events
        ]

    @cached_property
    def told(self) -> list[Told]:
        """The events of the run beside the chunks."""
        return [_beside(chunk.value["xmcp"]) for chunk in self.chunks if "xmcp" in chunk.value]


@dataclass(frozen=True)
class Completed:
    """A chat, or a wrong request, that was answered over the API of OpenAI in one piece."""

    answer: Answer
    wrong: str = ""
    """What was wrong with the request; empty for a chat."""
    model_counts: tuple[int, int] | None = None

    @cached_property
    def value(self) -> Mapping[str, Any]:
        """The answer; empty if it is no JSON object."""
        return self.answer.json


@dataclass(frozen=True)
class Answered:
    """Any answer, with the credentials that the suite knows: they are in none."""

    answer: Answer
    credentials: tuple[str, ...] = field(repr=False, default=())


Seen: TypeAlias = Streamed | Cancelled | Resumed | Misplaced | Whole | Chunked | Completed | Answered


def _beside(value: Any) -> Told:
    """Return the member `xmcp` of a chunk as an event of a run."""
    if not isinstance(value, dict):
        return Told("", fault="no object")
    data, type_, seq = value.get("data"), value.get("type"), value.get("seq")
    whole = isinstance(data, dict) and isinstance(type_, str) and isinstance(seq, int)
    fault = "" if whole else "no object with `type`, `seq` and `data`"
    return Told(
        type_ if isinstance(type_, str) else "", data=data if isinstance(data, dict) else {}, fault=fault, seq=seq
    )
