"""What was observed of a client: one list of records, in the order in which things happened. Data only.

A trace is taken at the three places where a client can be seen (spec chapter 11): at the model it asks, at the servers
it calls, and at the application that uses it. The checks of `client_checks` judge a trace; who took it, and how the
client was driven, is not known here. A trace is JSON: `Trace.to_json` and `Trace.of` are inverse.

How a server's call is told apart: every tool of a driven client takes the argument `tag`, and whoever plays the model
writes a new text into it for each call. A call that a server sees belongs to the call of the model with the same tag.
Calls of the model that are to be equal, for a cache, have the same tag.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as its server describes it. `server` is the place of the server in `Setup.servers`."""

    server: int
    name: str
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    output_schema: Mapping[str, Any] | None = None
    depends_on: Sequence[str] = ()
    provides: str | None = None
    cacheable: bool = False
    read_only: bool = False
    idempotent: bool = False
    unknown: Mapping[str, Any] = field(default_factory=dict)
    """Members of its metadata that the specification does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server. `given_name`: what the application calls it, if anything. `xmcp`: it announced the extension."""

    given_name: str | None = None
    xmcp: bool = True
    reachable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What the application told the client, and what the servers have. Times are seconds."""

    servers: Sequence[Server]
    tools: Sequence[Tool]
    display: Literal["exit", "continue"] = "exit"
    max_turns: int = 10
    max_concurrency: int = 16
    max_attempts: int = 3
    tool_timeout: float = 60.0
    chat_timeout: float | None = None
    """What each chat has; `None`: nothing is known of a limit."""
    breaker_threshold: int | None = None
    breaker_reset_after: float = 30.0
    display_budget: int = 4096
    cache: bool = False
    cache_read_only: bool = False
    meta_tools: Sequence[str] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that the application fills in, with their values."""
    approval: bool = False
    """Whether calls need an approval."""
    quota_tokens: Mapping[str, int] = field(default_factory=dict)
    """By tenant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Something that happened. `time`: seconds of a clock that only grows."""

    kind: ClassVar[str]
    time: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatBegan(Record):
    """The application asked something."""

    kind: ClassVar[str] = "chat_began"
    chat: str
    history: Sequence[Mapping[str, Any]]
    query: str
    tenant: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Record):
    """The client asked the model. `ask` is new for each request."""

    kind: ClassVar[str] = "asked"
    chat: str
    ask: int
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said(Record):
    """The model answered `ask`: text, and calls as {"id", "name", "arguments"} (a text). `failed`: it broke off, or
    answered with an error, after `text`."""

    kind: ClassVar[str] = "said"
    chat: str
    ask: int
    text: str = ""
    calls: Sequence[Mapping[str, str]] = ()
    failed: bool = False
    tokens: int | None = None
    """Used by this answer, as the vendor counted them: input and output together."""
    finish: Literal["length", "content_filter"] | None = None
    """Why the vendor cut or withheld the answer, where it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approved(Record):
    """The application was asked for an approval, and answered."""

    kind: ClassVar[str] = "approved"
    chat: str
    call_id: str
    answer: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Called(Record):
    """A server got a call. `call` is new for each. `tool`: the name in the request."""

    kind: ClassVar[str] = "called"
    call: int
    server: int
    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(Record):
    """A server's call ended.

    `ok`, `error`: with a result; `lost`: the connection broke; `late`: it was never answered, and the client cancelled
    it; `cancelled`: the client cancelled it before it was due. `error` is that of the document, or of a plain result.
    """

    kind: ClassVar[str] = "answered"
    call: int
    outcome: Literal["ok", "error", "lost", "late", "cancelled"]
    text: str | None = None
    structured: Any = None
    display: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None
    """`code`, `message`, `retryable`, and where they are given `retry_after_ms`, `side_effects`."""
    readable: bool = True
    """Whether a server that announced the extension sent a document that can be read. `text` is all of it if not."""
    bad_display: bool = False
    """The document's only faults are in `display`, which is not given here; the rest is, as if it had none."""
    exception: str | None = None
    """The text of the exception that the client's library raised for a call that was lost, where it is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreachable(Record):
    """The client tried to reach a server for a call and could not: the request never left."""

    kind: ClassVar[str] = "unreachable"
    server: int
    tag: str | None = None
    exception: str | None = None
    """The text of the exception that the client's library raised, where it is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed(Record):
    """A server told the client its tools, and they are not those of `Setup.tools` or of the list before."""

    kind: ClassVar[str] = "listed"
    server: int
    tools: Sequence[Tool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told(Record):
    """The application got an event (spec section 10.2), as JSON."""

    kind: ClassVar[str] = "told"
    chat: str
    event: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CalledBack(Record):
    """A callback of the application ran. `fails`: it raised."""

    kind: ClassVar[str] = "called_back"
    chat: str
    name: Literal["on_display", "on_error"]
    history: Sequence[Mapping[str, Any]]
    fails: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled(Record):
    """The application cancelled a chat."""

    kind: ClassVar[str] = "cancelled"
    chat: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatEnded(Record):
    """A chat is over. `result`: as in the event `done`; `None` where it failed or was cancelled: `failure` says how.

    `history`: what the application has to go on with; `given`: the list that it had given, as it is now.
    """

    kind: ClassVar[str] = "chat_ended"
    chat: str
    result: Mapping[str, Any] | None
    history: Sequence[Mapping[str, Any]]
    given: Sequence[Mapping[str, Any]]
    failure: Literal["provider", "quota", "cancelled", "refused", "crashed"] | None = None


RECORDS: dict[str, type[Record]] = {record.kind: record for record in Record.__subclasses__()}
"""Kind to its class."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A setup and what happened."""

    setup: Setup
    records: Sequence[Record]

    def to_json(self) -> dict[str, Any]:
        """The trace as JSON values."""
        return {
            "setup": asdict(self.setup),
            "records": [{"kind": record.kind, **asdict(record)} for record in self.records],
        }

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Trace:
        """The trace in JSON values.

        Raises:
            KeyError, TypeError: they are none.
        """
        setup = {**raw["setup"]}
        setup["servers"] = [Server(**server) for server in setup["servers"]]
        setup["tools"] = [Tool(**tool) for tool in setup["tools"]]
        records = []
        for row in raw["records"]:
            record = RECORDS[row["kind"]]
            known = {f.name for f in fields(record)}
            given = {name: value for name, value in row.items() if name in known}
            if record is Listed:
                given["tools"] = [Tool(**tool) for tool in given["tools"]]
            records.append(record(**given))
        return cls(Setup(**setup), records)
