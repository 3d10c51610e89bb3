"""The events of a run as a gateway told them, and what they come to. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from .event_stream import SentEvent
from .json_objects import object_in

LAST: Final = ("run.finished", "run.error", "run.cancelled", "run.interrupted")
"""The types of the last event of a run."""
GAP: Final = "stream.gap"
SNAPSHOT: Final = "snapshot"
_ID: Final = re.compile(r"(?P<run>[A-Za-z0-9_-]{1,128}):(?P<attempt>[1-9][0-9]{0,8}):(?P<seq>[1-9][0-9]{0,8})")
Kind: TypeAlias = type[int] | type[str]


@dataclass(frozen=True, slots=True)
class Place:
    """What the `id` of an event says."""

    run: str
    attempt: int
    seq: int

    def __str__(self) -> str:
        return f"{self.run}:{self.attempt}:{self.seq}"


@dataclass(frozen=True, slots=True)
class Told:
    """One event of a run.

    `fault` says why its data are no JSON object; `place` is `None` where the id has another form.
    """

    type: str
    id: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    fault: str = ""
    place: Place | None = None
    seq: int | None = None

    @property
    def is_last(self) -> bool:
        """Whether nothing may follow."""
        return self.type in LAST

    def to_json(self) -> dict[str, Any]:
        """Return the event in the form of its schema."""
        return {"type": self.type, **({} if self.seq is None else {"seq": self.seq}), "data": self.data}

    def member(self, name: str, kind: Kind) -> Any:
        """Return a member of the data if it is of that type, else `None`."""
        value = self.data.get(name)
        return value if isinstance(value, kind) and not (kind is int and isinstance(value, bool)) else None


def told(event: SentEvent) -> Told:
    """Return a server-sent event as an event of a run."""
    data, fault = object_in(event.data)
    found = _ID.fullmatch(event.id)
    place = None if found is None else Place(found["run"], int(found["attempt"]), int(found["seq"]))
    return Told(event.name, event.id, data, fault, place, None if place is None else place.seq)


@dataclass(slots=True)
class Sum:
    """What events come to. `complete` is false where some of them are missing."""

    complete: bool = True
    status: str = "running"
    run_id: str = ""
    end: Mapping[str, Any] = field(default_factory=dict)
    """The data of the last event."""
    texts: dict[int, str] = field(default_factory=dict)
    """By step, in the order in which the steps were first told of."""
    displays: list[Any] = field(default_factory=list)
    tools: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By call: `call_id`, `tool`, `status`."""
    usages: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text of the last step."""
        return list(self.texts.values())[-1] if self.texts else ""


def sum_of(events: Iterable[Told]) -> Sum:
    """Return what events come to. What has not the form of its type is left out: other checks say that."""
    found = Sum()
    for event in events:
        _add(found, event)
    return found


def _add(found: Sum, event: Told) -> None:
    step, call = event.member("step", int), event.member("call_id", str)
    if step:
        found.texts.setdefault(step, "")
    match event.type:
        case "run.started":
            found.run_id = event.member("run_id", str) or ""
        case "text.delta" if step is not None:
            found.texts[step] = found.texts.get(step, "") + (event.member("text", str) or "")
        case "stream.reset" if step is not None:
            found.texts[step] = ""
        case "tool.started" if call is not None:
            found.tools[call] = {"call_id": call, "tool": event.data.get("tool"), "status": "running"}
        case "tool.finished" if call in found.tools:
            found.tools[call]["status"] = event.data.get("status")
        case "display":
            found.displays.append(event.data.get("envelope"))
        case "usage":
            found.usages.append(event.data)
        case "stream.gap" | "snapshot":
            found.complete = False
        case _ if event.is_last:
            found.status, found.end = event.type.removeprefix("run."), event.data


FIGURES: Final = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cost_usd")


def total(usages: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Return the sums of usage records: each figure is the sum of those that are known, `None` if none is."""
    sums: dict[str, float | None] = {}
    for name in FIGURES:
        known = [one[name] for one in usages if isinstance(one.get(name), int | float)]
        sums[name] = sum(known) if known else None
    return sums
