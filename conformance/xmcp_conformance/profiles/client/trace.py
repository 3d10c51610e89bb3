"""A trace: what was observed of a client, as records in the order in which things happened; and how JSON becomes one.

A trace is taken at the three places where a client can be seen (spec chapter 11): at the model that it
asks, at the servers that it calls, and at the application that uses it. The checks judge a trace without knowing who
recorded it or how the client was driven. A trace is JSON, which `Trace.of` reads and `schema` describes.

A call that a server gets is matched to a call of the model by its tag: every tool of a driven client has the parameter
`tag`, and the scripted model writes a new text into it for each call. Calls of the model that have to be equal, for a
cache, have the same tag.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from xmcp_conformance.core.untrusted_text import quoted

T = TypeVar("T")

INVALID_PARAMS: Final = -32602
"""The code with which JSON-RPC refuses the parameters of a request."""
INSTANT: Final = 0.001
"""The precision, in seconds, of a trace that names none."""
_Precision: TypeAlias = Annotated[
    float,
    Field(
        ge=0,
        le=5,
        strict=True,
        description="Seconds between records that count as simultaneous; more than the default for a real clock.",
    ),
]
LONGEST_NAME: Final = 128
"""Maximum number of characters of a name in `depends_on`."""
FORM: Final = ConfigDict(extra="forbid", use_attribute_docstrings=True)
"""How JSON becomes one of these classes: a member that nobody knows is refused, because it is a misspelt one."""


class NoTrace(ValueError):
    """JSON values are no trace. The message says where, and what was expected there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as its server describes it. `server` is the index of the server in `Setup.servers`."""

    __pydantic_config__: ClassVar[ConfigDict] = FORM

    server: int
    name: str
    description: str | None = None
    """A description that no other tool has. Where the client offers it, the tool is known by it under any name."""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    output_schema: Mapping[str, Any] | None = None
    depends_on: Sequence[str] = ()
    provides: str | None = None
    cacheable: bool = False
    read_only: bool = False
    idempotent: bool = False
    annotations: Mapping[str, Any] | None = None
    """What it has under `annotations`, where that is not the two hints above; empty: it does not have that member."""
    wrapped_in: str | None = None
    """The member that holds the tool's value, where its metadata name one. `output_schema` has FastMCP's own mark."""
    unknown: Mapping[str, Any] = field(default_factory=dict)
    """Members of its metadata that the specification does not define."""

    def __post_init__(self) -> None:
        names = self.depends_on
        if not all(isinstance(name, str) and 0 < len(name) <= LONGEST_NAME for name in names) or len(set(names)) < len(
            names
        ):
            object.__setattr__(self, "depends_on", ())  # not as the schema says: ignored (section 5.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server. `given_name` is the name that the application gave it, if any; `xmcp`: it announces the extension."""

    __pydantic_config__: ClassVar[ConfigDict] = FORM

    given_name: str | None = None
    xmcp: bool = True
    plain: bool = False
    """Whether it announces the extension, and its results are plain ones (section 6.3)."""
    reachable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The options that the application gave the client, and what the servers have. Times are in seconds.

    The client has listed `tools` before the first record.
    """

    __pydantic_config__: ClassVar[ConfigDict] = FORM

    servers: Sequence[Server]
    tools: Sequence[Tool]
    level: Literal[1, 2] = 2
    """The level of section 1.6 that the client claims: with 1 it reads plain results alone, and no documents."""
    display: Literal["exit", "continue"] = "exit"
    max_turns: int = 10
    max_calls_per_turn: int | None = None
    """The limit of calls in one turn; `None` where none is known."""
    max_tools_per_server: int | None = None
    """The limit of tools of one server: the first of its list are offered; `None` where none is known."""
    max_concurrency: int = 16
    max_attempts: int = 3
    tool_timeout: float = 60.0
    chat_timeout: float | None = None
    """The time limit of each chat; `None` where none is known."""
    breaker_threshold: int | None = None
    breaker_reset_after: float = 30.0
    display_budget: int = 4096
    max_answer_bytes: int | None = None
    """The limit of the size of an answer; `None` where none is known."""
    cache: bool = False
    cache_read_only: bool = False
    meta_tools: Sequence[str] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    """The parameters that the application fills in, with their values; `None`: it has none for the parameter."""
    approval: bool = False
    """Whether a call needs the approval of the application."""
    quota_tokens: Mapping[str, int] = field(default_factory=dict)
    """The quota of tokens of each tenant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Something that happened. `time` is in seconds of a monotonic clock."""

    __pydantic_config__: ClassVar[ConfigDict] = FORM
    kind: ClassVar[str]
    time: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatBegan(Record):
    """The application began a chat."""

    kind: ClassVar[str] = "chat_began"
    chat: str
    history: Sequence[Mapping[str, Any]]
    query: str
    tenant: str | None = None
    events: bool = False
    """Whether the application asked for the events of the chat. Otherwise a chat without any is no fault."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """The values that the application gives in this chat for parameters of `Setup.params`, where they are others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Record):
    """The client sent a request to the model. `ask` is a new number for each request.

    `messages` and `tools` are in the format of OpenAI's chat completions: a tool has a `function` with its `name`, its
    `description` and its `parameters`.
    """

    kind: ClassVar[str] = "asked"
    chat: str
    ask: int
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said(Record):
    """The model answered the request `ask`.

    `calls` have the members `id`, `name` and `arguments` (JSON text). `failed`: after `text` the answer broke off, an
    error followed, or nothing more came; `stalls`: the last of these, so that the request is still under way.
    """

    kind: ClassVar[str] = "said"
    chat: str
    ask: int
    text: str = ""
    calls: Sequence[Mapping[str, str]] = ()
    failed: bool = False
    stalls: bool = False
    tokens: int | None = None
    """The tokens used, input and output together, as the vendor counted them."""
    counts: Mapping[str, int] | None = None
    """What the vendor counted: `input`, `output` and `cached` tokens, as far as it said; `None` where nobody knows."""
    finish: Literal["length", "content_filter", "stop"] | None = None
    """Why the vendor cut or withheld the answer, if it did; `stop`: it said so beside calls, which count all the same.
    """
    failure: Literal["auth", "content", "context", "network", "rate_limit"] | None = None
    """What became of a request that failed, where it is known."""
    begun: str = ""
    """What had come of the arguments of a call when the answer broke off or stalled."""
    reasoning: str = ""
    """What came as the model's reasoning, before the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approved(Record):
    """The client asked the application to approve a call, and got an answer."""

    kind: ClassVar[str] = "approved"
    chat: str
    call_id: str
    answer: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Called(Record):
    """A server got a call. `call` is a new number for each; `tool` is the name in the request."""

    kind: ClassVar[str] = "called"
    call: int
    server: int
    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported(Record):
    """A server sent a report of the progress of a call, for which the client had given a token."""

    kind: ClassVar[str] = "reported"
    call: int
    progress: float
    total: float | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(Record):
    """A server's call ended.

    The outcome is `ok` or `error` where the server answered; `lost` where the connection broke; `late` where there was
    no answer within the time-out, and the client cancelled the call; `cancelled` where the client cancelled it earlier;
    `too_large` where the answer was above `Setup.max_answer_bytes`, and the client did not read it; `outside` where the
    server was there and what came is outside the protocol, such as an HTTP status below 500 (section 6.5).
    `error` is the error of the document or of the plain result, or the one as which section 6.4 reads a failed result
    without either (XMCP-MCP-040), or section 11.4 a protocol error or an answer outside the protocol. It is `None`, and
    the outcome `error`, where a document has no error and the result's `isError` is true. A document that cannot be
    read is `ok`, unless the result's `isError` is true.
    """

    kind: ClassVar[str] = "answered"
    call: int
    outcome: Literal["ok", "error", "lost", "late", "cancelled", "too_large", "outside"]
    text: str | None = None
    """The text for the model, of a document or of the blocks; of a failure, the text beside the error, if any.

    Where the client has words of its own for a block, such as a picture, they are part of it.
    `None` where there is none: no document has a text, and no block has, or only empty ones (section 6.4).
    """
    own_words: bool = False
    """Whether the client has words of its own for a block, such as a sound, that are not known, and so not in `text`.
    """
    structured: Any = None
    """`structuredContent` as the server sent it, with the wrapper around the tool's value, if there is one."""
    format: str | None = None
    """The media type of the text of a plain result, where the server named it."""
    display: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None
    """`code`, `message` and `retryable`; `retry_after_ms` and `side_effects` where the server sent them."""
    protocol_error: int | None = None
    """The code of the JSON-RPC error with which the server answered, if it did."""
    readable: bool = True
    """False where a server that announces the extension sent an unreadable document; then `text` is all of it.

    A document for a client of Level 1 is recorded as it is: that such a client cannot read it is the judge's matter.
    """
    why_unreadable: str | None = None
    """Why that document cannot be read, where it is known; a person reads it. It can be flawless in the wrong block."""
    bad_display: bool = False
    """True where the only faults of the document are in `display`, which is then not recorded here.

    It is also true where the display of a plain result is no envelope.
    """
    plain: bool = False
    """Whether the result of a server that announces the extension says that its form is `plain`."""
    for_user: str | None = None
    """The text of a further block of the result, whose audience is the user alone.

    It can also stand in `text`, or in the message of `error`: then the server gave the model these words itself.
    """
    link_for_user: bool = False
    """Whether that block is a link to a resource, which has the text as its name."""
    filled_in: Mapping[str, Any] | None = None
    """What a plain result says that the server filled in, as it has it in `_meta` (section 6.3)."""
    lossy: bool = False
    """Whether the document is marked as `lossy`."""
    document: str | None = None
    """The document as the server wrote it, where all that a client keeps of it is to be judged."""
    exception: str | None = None
    """The text of the exception that the client's MCP library raised for a lost call, where it is known."""
    connection: str | None = None
    """A name for the connection that was lost, where several calls were on one; over HTTP each call has its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreachable(Record):
    """The client could not reach a server to make a call, and sent no request. It stands where the client tried."""

    kind: ClassVar[str] = "unreachable"
    server: int
    tag: str | None = None
    exception: str | None = None
    """The text of the exception that the client's MCP library raised, where it is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared(Record):
    """A server learnt what the client declares, or that it declares something else than before.

    `extensions` and `experimental` are what the client's capabilities have there under the id of XMCP's extension, in
    `initialize` or, in the stateless era, with each request. `None` where there is nothing.
    """

    kind: ClassVar[str] = "declared"
    server: int
    stateless: bool
    """Whether the client speaks MCP 2026-07-28 or later, without a handshake."""
    extensions: Any = None
    experimental: Any = None
    accept_encoding: str | None = None
    """The header of that name in the client's request, over HTTP; `None` where there is none."""


def is_without_documents(extensions: Any, experimental: Any) -> bool:
    """Return whether a client declares, in either place, that it reads no documents (section 6.1)."""
    declared = (extensions, experimental)
    return any(isinstance(one, Mapping) and one.get("documents") is False for one in declared)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed(Record):
    """A server sent the client a list of tools that differs from `Setup.tools`, or from its last list."""

    kind: ClassVar[str] = "listed"
    server: int
    tools: Sequence[Tool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Redeployed(Record):
    """A server has other tools from now on, and announced nothing: the client has not listed them yet (`Listed`).

    For a server that was not reachable at first, it is the moment from which it is.
    """

    kind: ClassVar[str] = "redeployed"
    server: int
    tools: Sequence[Tool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told(Record):
    """The application got an event (section 10.2), as JSON."""

    kind: ClassVar[str] = "told"
    chat: str
    event: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CalledBack(Record):
    """A callback of the application ran. `fails`: it raised an exception."""

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
    """A chat ended. `result` is that of the event `done`; `None` where the chat failed: then `failure` says how.

    `provider`: no model could be asked; `refused`: the client did not begin the chat, or did not start at all;
    `crashed`: it ended with any other exception.
    `history` is the history that the application can continue with; `given` is the list that it had passed in, as it is
    now, or `None` where nobody saw it.
    """

    kind: ClassVar[str] = "chat_ended"
    chat: str
    result: Mapping[str, Any] | None
    history: Sequence[Mapping[str, Any]]
    given: Sequence[Mapping[str, Any]] | None
    failure: Literal["provider", "quota", "cancelled", "refused", "crashed"] | None = None
    why: str | None = None
    """What the client says of a failure, such as the text of the exception, where it is known; a person reads it."""


RECORDS: dict[str, type[Record]] = {record.kind: record for record in Record.__subclasses__()}
"""The class of each kind of record."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A setup, and what happened."""

    setup: Setup
    records: Sequence[Record]
    precision: float = INSTANT
    """How far apart, in seconds, records can be that count as simultaneous; more where a real clock was read."""

    def to_json(self) -> dict[str, Any]:
        """Return the trace as JSON values."""
        return {
            "setup": asdict(self.setup),
            "records": [{"kind": record.kind, **asdict(record)} for record in self.records],
            "precision": self.precision,
        }

    @classmethod
    def of(cls, raw: Any) -> Trace:
        """Return the trace in JSON values.

        Raises:
            NoTrace: they are none.
        """
        if not isinstance(raw, dict) or raw.keys() - {"precision"} != {"setup", "records"}:
            raise NoTrace(
                "a trace is an object with the members `setup` and `records`, and `precision` if need be, and no other"
            )
        if not isinstance(raw["records"], list):
            raise NoTrace("`records`: a list was expected")
        precision = _read(_Precision, raw.get("precision", INSTANT), "precision")
        trace = cls(_read(Setup, raw["setup"], "setup"), [*_records(raw["records"])], precision)
        _check_numbers(trace)
        return trace


def _records(rows: list[Any]) -> Iterator[Record]:
    for number, row in enumerate(rows):
        where = f"records[{number}]"
        kind = row.get("kind") if isinstance(row, dict) else None
        if not isinstance(kind, str):
            raise NoTrace(f"`{where}`: an object with a text in `kind` was expected")
        if kind not in RECORDS:
            near = get_close_matches(kind, RECORDS, n=1)
            known = f"is it `{near[0]}`?" if near else f"there are {', '.join(f'`{name}`' for name in RECORDS)}"
            raise NoTrace(f"`{where}`: there is no kind `{quoted(kind)}`; {known}")
        yield _read(RECORDS[kind], {name: value for name, value in row.items() if name != "kind"}, where)


_BEGUN_BY: Final[dict[str, type[Record]]] = {"chat": ChatBegan, "ask": Asked, "call": Called}
"""The record that begins what has a number or a name, by the member that has it: it stands before all others of it."""


def _check_numbers(trace: Trace) -> None:
    """Check that what a record names was there before it.

    Raises:
        NoTrace: it was not, or it began twice.
    """
    servers = len(trace.setup.servers)
    for number, tool in enumerate(trace.setup.tools):
        _check_server(tool.server, servers, f"setup.tools[{number}]")
    begun: dict[str, set[Any]] = {name: set() for name in _BEGUN_BY}
    for number, record in enumerate(trace.records):
        where = f"records[{number}]"
        if (server := getattr(record, "server", None)) is not None:
            _check_server(server, servers, where)
        for name, first in _BEGUN_BY.items():
            value = getattr(record, name, None)
            if value is None:
                continue
            if isinstance(record, first) == (value in begun[name]):
                fault = "began before" if isinstance(record, first) else f"no record `{first.kind}` before it has it"
                raise NoTrace(f"`{where}.{name}`: {fault}: `{quoted(str(value))}`")
            begun[name].add(value)
        for index, offered in enumerate(record.tools if isinstance(record, Asked) else ()):
            function = offered.get("function")
            if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
                raise NoTrace(f"`{where}.tools[{index}]`: an object with a `function` that has a `name` was expected")


def _check_server(number: int, servers: int, where: str) -> None:
    if not 0 <= number < servers:
        raise NoTrace(f"`{where}.server`: {number} is no index in `setup.servers`, which has {servers}")


def _read(what: type[T], value: Any, where: str) -> T:
    try:
        read: T = _reader(what).validate_python(value)  # type: ignore[arg-type]  # mypy takes a class for unhashable
    except ValidationError as error:
        at, says = first_fault(error)
        raise NoTrace(f"`{where}{quoted(at)}`: {says}") from error
    return read


@cache
def _reader(what: Any) -> TypeAdapter[Any]:
    """Return the reader of a class, which takes a hundred times as long to make as to use."""
    return TypeAdapter(what)


def first_fault(error: ValidationError) -> tuple[str, str]:
    """Return where JSON values are not as a class says, such as `.tools[0].name`, and what is wrong there."""
    first = error.errors(include_url=False)[0]
    at = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
    unknown = first["type"] == "unexpected_keyword_argument"
    return at, "no such member" if unknown else first["msg"][0].lower() + first["msg"][1:]


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a trace."""
    described: list[type[Any]] = [Setup, *RECORDS.values()]
    setup, *records = (_reader(what).json_schema() for what in described)  # type: ignore[arg-type]
    definitions: dict[str, Any] = {}
    for one in (setup, *records):
        definitions |= one.pop("$defs", {})
    for kind, one in zip(RECORDS, records, strict=True):
        one["properties"] = {"kind": {"const": kind}, **one["properties"]}
        one["required"] = ["kind", *one.get("required", [])]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Trace",
        "description": " ".join((__doc__ or "").split()),
        "type": "object",
        "required": ["setup", "records"],
        "properties": {
            "setup": setup,
            "precision": _reader(_Precision).json_schema(),
            "records": {"type": "array", "items": {"oneOf": records}},
        },
        "additionalProperties": False,
        "$defs": definitions,
    }
