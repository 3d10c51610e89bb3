"""The events of a run of the suite, in the order in which they happen.

A profile writes them, a report is a fold over them. Each event has a JSON form, so that a run can be kept as one JSON
object a line (NDJSON) and reported later, or elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, TypeAlias

from xmcp_conformance import suite_version

from .observation import Observation, Place

NotJudged: TypeAlias = Literal["unknown kind", "unreadable"]
Ending: TypeAlias = Literal["succeeded", "failed", "refusal", "unread", "unanswered"]
"""How a call ended: with right arguments it `succeeded` or `failed`, by what the document or plain result says; it is a
`refusal` where the call had to be refused, whatever the answer; `unread` where the answer could not be read; and
`unanswered` where none came in time."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a run of the suite."""

    kind: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        """Return the event as JSON values, with its kind as the member `event`."""
        return {"event": self.kind, **{item.name: _json(getattr(self, item.name)) for item in fields(self)}}


@dataclass(frozen=True, slots=True)
class SuiteStarted(Event):
    """The suite begins. `specification` is the version it judges by, `suite` its own; `options` are the profile's."""

    kind: ClassVar[str] = "suite_started"
    profile: str
    specification: str
    options: Mapping[str, Any] = field(default_factory=dict)
    suite: str = field(default_factory=suite_version)


@dataclass(frozen=True, slots=True)
class Connecting(Event):
    """The suite begins to wait for a peer to start, to answer and to list its tools. A `RunStarted` ends it, if any."""

    kind: ClassVar[str] = "connecting"
    peer: str
    transport: str


@dataclass(frozen=True, slots=True)
class NotReached(Event):
    """One of several peers cannot be reached, so nothing of it is judged. `reason` is a sentence for a person."""

    kind: ClassVar[str] = "not_reached"
    peer: str
    transport: str
    reason: str


@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    """A run begins: one peer in one protocol era, one file, one codec, or one trace. `run` is its name.

    The other members describe a peer: `client` is the kind of client that the suite is to it, see `ClientKind`;
    `tools` is the number of tools that it lists.
    """

    kind: ClassVar[str] = "run_started"
    run: str
    peer: str = ""
    transport: str = ""
    protocol_version: str = ""
    client: str = ""
    tools: int = 0


@dataclass(frozen=True, slots=True)
class ToolListed(Event):
    """The peer lists a tool. `called`: the suite may call it. `displays`: it says that it can show a display.

    `left_out`: the user does not want it to be called.
    """

    kind: ClassVar[str] = "tool_listed"
    run: str
    tool: str
    called: bool
    displays: bool
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class OtherVersions(Event):
    """The peer announces `versions` of the specification, and that by which the suite judges is not one of them."""

    kind: ClassVar[str] = "other_versions"
    run: str
    versions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CallLasts(Event):
    """A call of a tool has had no answer for some seconds, and is waited for up to `limit` seconds."""

    kind: ClassVar[str] = "call_lasts"
    run: str
    tool: str
    limit: float


@dataclass(frozen=True, slots=True)
class CallMade(Event):
    """The suite called a tool of the peer, or listed its tools where `tool` is empty.

    `code` is that of the error of a call that failed, `error_id` its id in the server's log, `display` the type of the
    display that the answer had, and `asked_to_show` whether the call asked for one.
    """

    kind: ClassVar[str] = "call_made"
    run: str
    call: str
    tool: str
    ending: Ending
    code: str = ""
    display: str = ""
    asked_to_show: bool = False
    error_id: str = ""

    @property
    def answered(self) -> bool:
        """True where a tool of the peer gave a document or a plain result of section 6.3 to right arguments."""
        return self.ending in ("succeeded", "failed")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The text before and after the place of an observation, in its line, safe to print."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Observed(Event):
    """A requirement applied.

    `call` is the call or the vector, if the run has any, and `tool` the tool that was called, if the peer lists it.
    `request` is, for a fault that one call showed, the name and the arguments of the call, unless they are long.
    `unread`: because of this fault the rest of the document was not judged; its requirement can be empty, where no
    sentence forbids what stopped the suite.
    """

    kind: ClassVar[str] = "observation"
    observation: Observation
    run: str = ""
    call: str = ""
    excerpt: Excerpt | None = None
    unread: bool = False
    tool: str = ""
    request: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Noted(Event):
    """Something that a person should know of a run, such as what was not judged and why."""

    kind: ClassVar[str] = "note"
    run: str
    text: str


@dataclass(frozen=True, slots=True)
class Shortcoming(Event):
    """What was not seen, and has to be before anybody can say that the peer conforms; `text` is for a person."""

    kind: ClassVar[str] = "shortcoming"
    run: str
    text: str


@dataclass(frozen=True, slots=True)
class TimeOver(Event):
    """The time that a check can take was over before all calls were made: so many `seconds`."""

    kind: ClassVar[str] = "time_over"
    seconds: float


@dataclass(frozen=True, slots=True)
class RunEnded(Event):
    """A run ends."""

    kind: ClassVar[str] = "run_ended"
    run: str


@dataclass(frozen=True, slots=True)
class FileEnded(RunEnded):
    """The run of a file ends.

    `documents` is how many documents the file holds: one, or one for each line of JSON Lines. `more`: the file has
    faults that were not reported. `not_judged` and `reason` say why there is no verdict.
    """

    kind: ClassVar[str] = "file_ended"
    document_kind: str | None = None
    documents: int = 0
    more: bool = False
    not_judged: NotJudged | None = None
    reason: str = ""


Emit: TypeAlias = Callable[[Event], None]
"""Takes each event as it happens; `list.append` is one."""


def _json(value: Any) -> Any:
    """Return the JSON form of a member of an event."""
    if isinstance(value, Observation):
        return {**{item.name: getattr(value, item.name) for item in fields(value)}, "where": _where(value)}
    if isinstance(value, Excerpt):
        return {"before": value.before, "after": value.after}
    return dict(value) if isinstance(value, Mapping) else value


def _where(observation: Observation) -> Any:
    """Return where an observation was made as an object with one or two members, or `None`."""
    where = observation.where
    if where is None:
        return None
    if isinstance(where, Place):
        return {"line": where.line, "column": where.column}
    return {"record": where} if isinstance(where, int) else {"path": list(where)}
