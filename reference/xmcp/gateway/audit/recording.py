"""What is recorded: records, which are cheap to make on the event loop, and the rows that the writer makes of them.

A record holds what cannot change any more: texts, encoded JSON, frozen events. Redacting, hashing and decoding are left
to the thread. The records themselves are not frozen, only because that would make them take three times as long.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

from xmcp.chat.completions import Completion
from xmcp.chat.json_values import as_json, as_text, encode_json
from xmcp.chat.messages import message_to_json
from xmcp.chat.usage import UsageRecord
from xmcp.gateway.audit.redaction import Redactor
from xmcp.gateway.audit.statements import Row, row
from xmcp.gateway.ids import conversation_of, now_ms
from xmcp.wire import ErrorInfo, ToolResponse

if TYPE_CHECKING:
    from xmcp.gateway.runs.events import RunEvent

Status: TypeAlias = Literal["finished", "error", "cancelled", "interrupted"]

TEXT_TYPES: Final = frozenset({"text.delta", "reasoning.delta"})
"""Events of which many small ones in a row are recorded as one."""

ID_CHARACTERS: Final = 200
"""Maximum length of an id that comes from outside; a longer one is recorded as its hash."""

MESSAGE_CHARACTERS: Final = 2_000
"""How much of the message of an error is recorded."""

RECORD_BYTES: Final = 400
"""About how many bytes a record takes beside its contents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStart:
    """A run that was accepted.

    Attributes:
        id: Unique among all runs of the database, such as a `uuid7()`.
        conversation_id: Unique likewise; by default one made of tenant and session, else the id of the run.
        tenant: Whose run it is.
        session: The caller's own id of the conversation.
        api_key: The id or name of the key with which it was asked for, never the key.
        surface: The format in which it was asked for.
        model: The model as it was asked for.
        attempt: A run that is executed again after its process died has a further attempt.
        started_at: Milliseconds since 1970 in UTC.
        secrets: Values that may not be recorded, such as the parameters that the application fills in for this run.
    """

    id: str
    conversation_id: str | None = None
    tenant: str | None = None
    session: str | None = None
    api_key: str | None = None
    surface: str | None = None
    model: str | None = None
    idempotency_key: str | None = None
    request_hash: str | None = None
    catalog_hash: str | None = None
    config_hash: str | None = None
    trace_id: str | None = None
    attempt: int = 1
    started_at: int = field(default_factory=now_ms)
    secrets: Sequence[Any] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended; an error has the code of the registry."""

    status: Status
    finish_reason: str | None = None
    error_code: str | None = None
    error_message: str | None = None


@dataclass(slots=True)
class OpenRun:
    """What is known of a run while it goes on.

    Fields of the event loop: `requests` to `first_event_at`. The ids and `chain` are for the writer's thread.
    """

    start: RunStart
    owner: str
    redactor: Redactor
    requests: int = 0
    sent: list[Mapping[str, Any]] = field(default_factory=list)
    """The messages of the last request."""
    encoded: list[bytes] = field(default_factory=list)
    """The JSON of each; the same object for as long as a message stays what and where it is."""
    calls: dict[str, CallIntended] = field(default_factory=dict)
    first_event_at: int | None = None
    chain: list[Link] = field(default_factory=list)
    _ids: tuple[str, str] | None = None

    @property
    def id(self) -> str:
        """The id of the run as it is stored."""
        return self._stored_ids()[0]

    @property
    def conversation_id(self) -> str:
        """The id of the conversation as it is stored."""
        return self._stored_ids()[1]

    def _stored_ids(self) -> tuple[str, str]:
        if self._ids is None:
            given = self.start.conversation_id
            start = self.start
            named = None
            if given is None and start.session is not None:
                named = conversation_of(start.tenant, start.session)
            self._ids = self.short(self.start.id), named or self.short(given or self.start.id)
        return self._ids

    def short(self, text: str) -> str:
        """Return an id or a name as it is stored, without what may not be recorded."""
        return short(self.redactor.out_of_text(text))

    def optional(self, text: object) -> str | None:
        """Return the same of what may be missing."""
        return None if text is None else self.short(str(text))

    def encode(self, messages: Sequence[Mapping[str, Any]]) -> tuple[tuple[bytes, ...], int, bool]:
        """Return the JSON of each message, the size of what is new, and whether something had no JSON form.

        A message whose members are the same objects as in the last request is not encoded again.
        """
        new, altered = 0, False
        encoded: list[bytes] = []
        for place, message in enumerate(messages):
            if place < len(self.sent) and _same(self.sent[place], message):
                encoded.append(self.encoded[place])
                continue
            try:
                data = encode_json(dict(message))
            except (TypeError, ValueError, RecursionError):
                data, altered = encode_json(message_to_json(message)), True
            if place < len(self.encoded) and self.encoded[place] == data:
                data = self.encoded[place]
            else:
                new += len(data)
            encoded.append(data)
        self.sent, self.encoded = list(messages), encoded
        return tuple(encoded), new, altered


@dataclass(slots=True)
class Link:
    """One message of a request after all those before it."""

    data: bytes
    hash: str
    content_hash: str
    content: str
    altered: bool


def short(text: str) -> str:
    """Return an id that every database can hold and index."""
    clean = stored(text)
    if len(clean) <= ID_CHARACTERS:
        return clean
    return f"sha256:{hashlib.sha256(clean.encode()).hexdigest()}"


def stored(text: str) -> str:
    """Return a text without what PostgreSQL cannot hold: NUL, and halves of surrogate pairs."""
    return as_text(text).replace("\0", "\ufffd")


class Known(Protocol):
    """Which messages and lists of tools the database has, as far as the writer remembers."""

    def __contains__(self, key: str) -> bool: ...

    def note(self, key: str) -> None:
        """Take note that the rows of a key are a part of this batch."""


class Record(Protocol):
    """One record in the queue."""

    def rows(self, known: Known) -> tuple[Row, ...]:
        """Return the rows that it means; for the writer's thread."""


@dataclass(slots=True)
class Accepted:
    """A run was accepted."""

    run: OpenRun

    def rows(self, known: Known) -> tuple[Row, ...]:  # noqa: ARG002
        """Return the rows of the conversation and of the run."""
        run, start = self.run, self.run.start
        conversation = row(
            "conversation",
            id=run.conversation_id,
            tenant=run.optional(start.tenant),
            session=run.optional(start.session),
            created_at=start.started_at,
            last_run_at=start.started_at,
        )
        return conversation, row("run_accepted", **_run_columns(run), status="running")


@dataclass(slots=True)
class Ended:
    """A run has ended. `messages`: the conversation after it; empty if that is not known."""

    run: OpenRun
    outcome: RunOutcome
    messages: tuple[bytes, ...]
    at: int

    def rows(self, known: Known) -> tuple[Row, ...]:
        """Return the whole row of the run, and the messages that the database does not have; forget them."""
        outcome = self.outcome
        rows = _new_messages(self.run, self.messages, known)
        last = self.run.chain[-1].hash if self.messages else None
        self.run.chain.clear()
        return (
            *rows,
            row(
                "run_ended",
                **_run_columns(self.run),
                status=outcome.status,
                finish_reason=self.run.optional(outcome.finish_reason),
                error_code=self.run.optional(outcome.error_code),
                error_message=_message(outcome.error_message, self.run.redactor),
                first_event_at=self.run.first_event_at,
                finished_at=self.at,
                history_hash=last,
                history_count=len(self.messages) or None,
            ),
        )


@dataclass(slots=True)
class RequestSent:
    """A model is about to be asked."""

    run: OpenRun
    number: int
    turn: int
    provider: str
    model: str | None
    messages: tuple[bytes, ...]
    tools: bytes
    altered: bool
    at: int

    def rows(self, known: Known) -> tuple[Row, ...]:
        """Return the request, and the messages and tools that the database does not have yet."""
        run = self.run
        rows = _new_messages(run, self.messages, known)
        altered = self.altered or any(link.altered for link in run.chain)
        tools = run.redactor.out_of_json(self.tools.decode())
        tools_hash = _hash(tools)
        if tools_hash not in known:
            known.note(tools_hash)
            rows.append(row("tool_list", hash=tools_hash, tools=tools, last_used_at=self.at))
        request = row(
            "request_sent",
            **_request_columns(run, self.number, self.turn, self.provider, self.model),
            messages_hash=run.chain[-1].hash if run.chain else None,
            message_count=len(self.messages),
            tools_hash=tools_hash,
            altered=int(altered),
            started_at=self.at,
        )
        return (*rows, request)


@dataclass(slots=True)
class RequestEnded:
    """A model has answered, or failed."""

    run: OpenRun
    number: int
    turn: int
    provider: str
    model: str | None
    completion: Completion | None
    usage: UsageRecord | None
    error: ErrorInfo | None
    at: int

    def rows(self, known: Known) -> tuple[Row, ...]:  # noqa: ARG002
        """Return the answer, and what it used."""
        run, redactor = self.run, self.run.redactor
        answer = None if self.completion is None else redactor.out_of_json(_answer(self.completion))
        ended = row(
            "request_ended",
            **_request_columns(run, self.number, self.turn, self.provider, self.model),
            finished_at=self.at,
            finish_reason=None if self.completion is None else run.short(self.completion.finish_reason),
            answer=answer,
            error_code=None if self.error is None else run.short(self.error.code),
            error_message=None if self.error is None else _message(self.error.message, redactor),
        )
        if self.usage is None:
            return (ended,)
        used, cost = self.usage, self.usage["cost_usd"]
        usage = row(
            "usage",
            run_id=run.id,
            attempt=run.start.attempt,
            number=self.number,
            turn=self.turn,
            provider=run.short(used["provider"]),
            model=run.short(used["model"]),
            input_tokens=_count(used["input_tokens"]),
            output_tokens=_count(used["output_tokens"]),
            cached_tokens=_count(used["cached_tokens"]),
            reasoning_tokens=_count(used.get("reasoning_tokens")),
            cost_micros=None if cost is None else _count(round(cost * 1_000_000)),
            estimated=int(used.get("estimated", False)),
            at=self.at,
        )
        return ended, usage


@dataclass(slots=True)
class CallIntended:
    """A tool is about to be called."""

    run: OpenRun
    call_id: str
    turn: int
    tool: str
    server: str | None
    arguments: bytes
    read_only: bool
    at: int

    def rows(self, known: Known) -> tuple[Row, ...]:  # noqa: ARG002
        """Return the call, whose outcome is open."""
        return (row("call_intended", **self.columns(), status="intent"),)

    def columns(self) -> dict[str, Any]:
        """Return the columns that are known before the call."""
        return {
            **_call_columns(self.run, self.call_id),
            "turn": self.turn,
            "tool": self.run.short(self.tool),
            "server": self.run.optional(self.server),
            "arguments": self.run.redactor.out_of_json(self.arguments.decode()),
            "read_only": int(self.read_only),
            "intent_at": self.at,
        }


@dataclass(slots=True)
class CallEnded:
    """A tool has answered, or its call was cancelled."""

    intent: CallIntended
    response: ToolResponse | None
    attempts: int
    cached: bool
    at: int

    def rows(self, known: Known) -> tuple[Row, ...]:  # noqa: ARG002
        """Return the whole row of the call."""
        response = self.response
        error = None if response is None else response.error
        status = (
            "cancelled" if response is None or (error and error.code == "CANCELLED") else "error" if error else "ok"
        )
        return (
            row(
                "call_ended",
                **self.intent.columns(),
                status=status,
                error_code=None if error is None else self.intent.run.short(error.code),
                error_message=None if error is None else _message(error.message, self.intent.run.redactor),
                attempts=self.attempts,
                cached=int(self.cached),
                result_size=None if response is None else len(response.llm_output or ""),
                displays=None if response is None else len(response.displays),
                finished_at=self.at,
            ),
        )


@dataclass(slots=True)
class Event:
    """An event of a run; of text, only the joined pieces (`TextSegment`) become rows."""

    run: OpenRun
    event: RunEvent
    hooked: bool
    """Whether the hooks told of the call that the event is about."""
    at: int

    def rows(self, known: Known) -> tuple[Row, ...]:  # noqa: ARG002
        """Return the event; and the call, if it ended without having been made."""
        event = self.event
        written = event.json
        if event.type == "tool.finished" and event.data.get("truncated"):
            # A cut text can end in a part of a secret, which nothing finds. The model's next request has all of it.
            written = encode_json({name: value for name, value in event.data.items() if name != "text"})
        payload = self.run.redactor.out_of_json(written.decode())
        told = event_row(self.run.id, event.attempt, event.seq, event.seq, self.at, event.type, payload)
        if event.type != "tool.finished" or self.hooked:
            return (told,)
        data = event.data
        error = data.get("error") or {}
        seen = row(
            "call_seen",
            **_call_columns(self.run, str(data.get("call_id"))),
            turn=int(data.get("step") or 0),
            tool=self.run.short(str(data.get("tool"))),
            server=self.run.optional(data.get("server")),
            read_only=0,
            status="ok" if data.get("status") == "ok" else "error",
            error_code=self.run.optional(error.get("code")),
            error_message=_message(error.get("message"), self.run.redactor),
            attempts=data.get("attempts"),
            cached=int(bool(data.get("cached"))),
            finished_at=self.at,
        )
        return told, seen


def event_row(run_id: str, attempt: int, first: int, last: int, at: int, kind: str, payload: str) -> Row:
    """Return the row of an event. Written out, not through `row`: there are many."""
    return Row("event", (run_id, attempt, first, last, at, kind, payload))


def _same(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Return whether two messages have the same objects as members, none of which can have changed."""
    return len(before) == len(after) and all(
        name == other and value is also and isinstance(value, str | None)
        for (name, value), (other, also) in zip(before.items(), after.items(), strict=True)
    )


def _new_messages(run: OpenRun, messages: Sequence[bytes], known: Known) -> list[Row]:
    """Return the messages that the database does not have yet; `run.chain` is all of them then."""
    chain = run.chain
    rows: list[Row] = []
    parent = ""
    for place, data in enumerate(messages):
        if place >= len(chain) or chain[place].data is not data:
            del chain[place:]
            chain.append(_link(run, parent, data))
        link = chain[place]
        if link.hash not in known:
            known.note(link.hash)
            key = {"conversation_id": run.conversation_id}
            rows.append(row("content", **key, hash=link.content_hash, content=link.content))
            after = {"parent": parent or None, "place": place}
            rows.append(row("message", **key, hash=link.hash, **after, content_hash=link.content_hash))
        parent = link.hash
    del chain[len(messages) :]
    return rows


def _link(run: OpenRun, parent: str, data: bytes) -> Link:
    written = data.decode()
    content = run.redactor.out_of_json(written)
    content_hash = _hash(content)
    return Link(
        data, _hash(f"{run.conversation_id}\n{parent}\n{content_hash}"), content_hash, content, content is not written
    )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _run_columns(run: OpenRun) -> dict[str, Any]:
    start = run.start
    return {
        "id": run.id,
        "conversation_id": run.conversation_id,
        "tenant": run.optional(start.tenant),
        "session": run.optional(start.session),
        "api_key": run.optional(start.api_key),
        "surface": run.optional(start.surface),
        "model": run.optional(start.model),
        "idempotency_key": run.optional(start.idempotency_key),
        "request_hash": run.optional(start.request_hash),
        "catalog_hash": run.optional(start.catalog_hash),
        "config_hash": run.optional(start.config_hash),
        "trace_id": run.optional(start.trace_id),
        "owner": run.owner,
        "started_at": start.started_at,
    }


def _request_columns(run: OpenRun, number: int, turn: int, provider: str, model: str | None) -> dict[str, Any]:
    return {
        "run_id": run.id,
        "attempt": run.start.attempt,
        "number": number,
        "conversation_id": run.conversation_id,
        "turn": turn,
        "provider": run.short(provider),
        "model": run.optional(model),
    }


def _call_columns(run: OpenRun, call_id: str) -> dict[str, Any]:
    return {"run_id": run.id, "attempt": run.start.attempt, "call_id": run.short(call_id)}


def _answer(completion: Completion) -> str:
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in completion.tool_calls]
    return encode_json(as_json({"text": completion.text, "tool_calls": calls})).decode()


def _message(text: object, redactor: Redactor) -> str | None:
    return None if text is None else redactor.out_of_text(stored(str(text)))[:MESSAGE_CHARACTERS]


def _count(number: int | None) -> int | None:
    """Return a number that a column holds."""
    return None if number is None else max(min(number, 2**63 - 1), -(2**63))
