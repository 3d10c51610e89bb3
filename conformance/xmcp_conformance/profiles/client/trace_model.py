"""The parts of a trace: chats, their turns, the calls in them, and the attempts at servers. Facts only."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from xmcp_conformance.core.histories import Message, calls_of
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.reader import Document

from .messages import arguments_of, document_of, same
from .trace import (
    Answered,
    Approved,
    Asked,
    Called,
    CalledBack,
    Cancelled,
    ChatBegan,
    ChatEnded,
    Reported,
    Said,
    Told,
    Tool,
)

NEVER = sys.maxsize
"""The index that stands for a record that does not exist; its time is infinite."""
NO_DATA: Final = object()
"""What `data_of` returns for an answer without structured content."""


def gives_text(answer: Answered, taken: str | None) -> bool:
    """Return whether a text for the model is that of an answer. Beside a display, none and an empty one are alike.

    Beside what is for the user alone, it can have references to that, in brackets (section 6.4). Whether it has that
    itself is judged elsewhere.
    """
    if taken is None and answer.text == "" and answer.display is None and answer.for_user is None:
        return False
    taken, text = taken or "", answer.text or ""
    if answer.own_words:
        return text in taken
    if taken == text or answer.for_user is None:
        return taken == text
    if text:
        return text in taken
    return _REFERENCES.fullmatch(taken.replace(answer.for_user, "")) is not None


def data_of(answer: Answered, tool: Tool) -> Any:
    """Return the structured content of an answer, without its wrapper; a plain result can have it as its text (6.4).

    `NO_DATA` where there is none: `None` is the value `null` in a wrapper. A bare `null` counts as absent.
    """
    data = answer.structured
    if data is None and answer.format == "application/json":
        data = arguments_of(answer.text) if answer.text else None
    if data is None:
        return NO_DATA
    member = wrapper_of(tool)
    return data[member] if member is not None and isinstance(data, Mapping) and data.keys() == {member} else data


def wrapper_of(tool: Tool) -> str | None:
    """Return the member that holds a tool's value, by its metadata or by FastMCP's mark; `None` where there is none."""
    marked = (tool.output_schema or {}).get("x-fastmcp-wrap-result") is True
    return tool.wrapped_in or ("result" if marked else None)


_REFERENCES = re.compile(r"\s*(?:\[[^\[\]]*\]\s*)*")


def is_error_by_flag_alone(answer: Answered) -> bool:
    """Return whether `isError` alone says that a call failed: the document has no error."""
    return answer.outcome == "error" and answer.error is None


def error_of(answer: Answered) -> Mapping[str, Any]:
    """Return the error of an answer as a client has to read it; empty where there is none."""
    if is_error_by_flag_alone(answer):
        return {"code": "TOOL_ERROR", "message": answer.text or ""}  # XMCP-MCP-052
    return answer.error or {}


@dataclass(eq=False, slots=True)
class Attempt:
    """One attempt to make a call at a server. `called` is `None` where the server could not be reached."""

    at: int
    begun: float
    server: int
    called: Called | None
    call: ModelCall | None = None
    ended_at: int = NEVER
    ended: float = math.inf
    answered: Answered | None = None
    reports: list[tuple[int, Reported]] = field(default_factory=list)
    """The reports of progress that the server sent, with the indexes of their records."""

    @property
    def tool(self) -> str:
        """The name in the request; empty where no request was sent."""
        return self.called.tool if self.called else ""

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments in the request."""
        return self.called.arguments if self.called else {}

    @property
    def error(self) -> Mapping[str, Any]:
        """The error in the server's answer; empty where there is none."""
        return error_of(self.answered) if self.answered else {}

    @property
    def outcome(self) -> str | None:
        """The outcome as in `Answered`, or `unreachable`; `None` where the attempt never ended."""
        if self.called is None:
            return "unreachable"
        return self.answered.outcome if self.answered else None

    @property
    def was_answered(self) -> bool:
        """Whether the server answered, with a result or an error."""
        return self.outcome in ("ok", "error")

    @property
    def transport_failed(self) -> bool:
        """Whether the server was unreachable, the connection broke, or the time-out passed."""
        return self.outcome in ("unreachable", "lost", "late")


@dataclass(eq=False, slots=True)
class ModelCall:
    """A call that the model asked for. `tool` is the tool of that name; `content` is the result for the model."""

    turn: Turn
    place: int
    raw_id: str
    name: str
    written: str
    arguments: dict[str, Any] | None
    tag: str | None
    offered: bool
    meta: bool
    tool: Tool | None = None
    id: str | None = None
    content: str | None = None
    attempts: list[Attempt] = field(default_factory=list)
    source: Answered | None = None
    """The answer that a call without an attempt shares, if its text shows which one."""
    unclear: bool = False
    """Whether its attempts cannot be distinguished from those of equal calls."""

    @property
    def reply(self) -> Document | None:
        """The result that the model got, where it is a document."""
        return document_of(self.content) if self.content is not None else None

    @property
    def code(self) -> str | None:
        """The code of the error that the model got; `None` where it got a result, or nothing."""
        return self.reply.error.code if self.reply is not None and self.reply.error is not None else None

    @property
    def came_to(self) -> str:
        """What the model got, for a person: the code of an error, or what else it is."""
        if self.content is None:
            return "nothing"
        return self.code or ("a result" if self.reply is not None else "what is no document")

    @property
    def succeeded(self) -> bool:
        """Whether the model got a result without an error."""
        return self.reply is not None and self.reply.error is None

    @property
    def is_unfinished(self) -> bool:
        """Whether the last attempt failed in a way for which another attempt may help."""
        last = self.attempts[-1] if self.attempts else None
        return last is not None and (last.transport_failed or last.error.get("retryable") is True)

    @property
    def ended_with_its_chat(self) -> bool:
        """Whether the end of its chat surely ended the call, so that its code is no failure of its tool."""
        if not self.turn.cut or self.code not in ("CANCELLED", "TIMEOUT"):
            return False
        last = self.attempts[-1] if self.attempts else None
        if last is not None and last.outcome == "cancelled":
            return last.ended >= self.turn.chat.over - self.turn.chat.instant
        return last is None or (last.outcome != "late" and self.is_unfinished)

    @property
    def was_held_back(self) -> bool:
        """Whether an open circuit breaker, and not the server, gave the error after an attempt that can be repeated."""
        last = self.attempts[-1] if self.attempts else None
        own = last is not None and last.error.get("code") == "CIRCUIT_OPEN"
        return self.code == "CIRCUIT_OPEN" and self.is_unfinished and not own

    @property
    def sent(self) -> list[Attempt]:
        """The attempts for which a request reached the server."""
        return [attempt for attempt in self.attempts if attempt.called is not None]

    @property
    def answer(self) -> Answered | None:
        """The server's answer to the last attempt, or to the call whose answer this one shares."""
        if self.unclear:
            return None
        if self.attempts:
            last = self.attempts[-1]
            return last.answered if last.was_answered else None
        return self.source

    def __str__(self) -> str:
        return f"the call `{self.tag or self.id or self.raw_id}` of `{self.name}`"


@dataclass(eq=False, slots=True)
class Turn:
    """A complete answer of the model. `next` is the request or the end of the chat after it, `next_at` its index."""

    chat: Chat
    number: int
    asked_at: int
    asked: Asked
    said_at: int
    said: Said
    calls: list[ModelCall] = field(default_factory=list)
    next_at: int = NEVER
    next: Asked | ChatEnded | None = None
    messages: Sequence[Message] = ()
    """The messages of `next`."""
    at: int | None = None
    """The index in `messages` of the assistant message with the calls."""

    def made_for(self, call: ModelCall) -> ModelCall | None:
        """Return an equal call of this turn that came to the same and was made: a cache makes equal ones once."""
        for other in self.calls:
            if other is call or not other.attempts or (other.tool, other.code) != (call.tool, call.code):
                continue
            if same(other.arguments, call.arguments):
                return other
        return None

    @property
    def cut(self) -> bool:
        """Whether the chat may have been cut off during this turn."""
        return self.chat.cut and not self.went_on

    @property
    def without_own_id(self) -> list[ModelCall]:
        """The calls that need an id of the client's own: they have none, or that of another call (XMCP-CLI-005)."""
        taken = {str(entry.get("id")) for message in self.asked.messages for entry in calls_of(message)}
        found = []
        for call in self.calls:
            if not call.raw_id or call.raw_id in taken:
                found.append(call)
            taken.add(call.raw_id)
        return found

    @property
    def is_open(self) -> bool:
        """Whether the tool of one of its calls is unknown, so that the dependencies are unknown too."""
        return any(call.offered and not call.meta and call.tool is None for call in self.calls)

    @property
    def went_on(self) -> bool:
        """Whether another request to the model followed."""
        return isinstance(self.next, Asked)


IN_DONE, IN_FAILED = "the application, in `done`", "the application, in `failed`"
"""Recipients of histories that stand in an event."""


@dataclass(eq=False, slots=True)
class Chat:
    """One chat. `failed` has the model's answers that broke off."""

    name: str
    began_at: int
    began: ChatBegan
    instant: float
    """How far apart, in seconds, records can be that count as simultaneous."""
    asks: list[tuple[int, Asked]] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    failed: list[tuple[int, Said]] = field(default_factory=list)
    received: list[tuple[int, Told]] = field(default_factory=list)
    """The events that the application got."""
    approvals: list[tuple[int, Approved]] = field(default_factory=list)
    callbacks: list[tuple[int, CalledBack]] = field(default_factory=list)
    cancelled_at: int = NEVER
    cancelled: Cancelled | None = None
    ended_at: int = NEVER
    ended: ChatEnded | None = None

    @property
    def stop_reason(self) -> str | None:
        """The stop reason in the result of the chat."""
        result = self.ended.result if self.ended else None
        return str(result.get("stop_reason")) if result else None

    @property
    def how_it_ended(self) -> str:
        """How it ended, for a person: the stop reason, or the failure with what the client says of it."""
        if self.ended is None:
            return "nobody saw how"
        if self.ended.result is not None:
            return str(self.stop_reason)
        why = f": `{quoted(self.ended.why)}`" if self.ended.why else ""
        return f"{self.ended.failure}{why}"

    @property
    def cut(self) -> bool:
        """Whether a cancellation, a quota or the time limit ended it: then calls can lack a result."""
        stopped = self.ended is not None and self.ended.failure == "quota"
        return self.cancelled is not None or stopped or self.stop_reason == "timeout"

    @property
    def over(self) -> float:
        """The time at which it was cancelled or ended, whichever was first, in seconds."""
        marks = [mark.time for mark in (self.cancelled, self.ended) if mark is not None]
        return min(marks, default=math.inf)

    def events(self, call: ModelCall) -> list[tuple[int, Mapping[str, Any]]]:
        """Return the events of one call, with the indexes of their records."""
        return [(at, one.event) for at, one in self.received if call.id and one.event.get("call_id") == call.id]

    @property
    def histories(self) -> Iterator[tuple[int, str, Sequence[Message]]]:
        """Each history that the client handed out: the index of the record, the recipient, and the messages.

        A chat that was refused has none: what comes back with it is what the application gave (section 11.7).
        """
        for at, asked in self.asks:
            yield at, "the model", asked.messages
        for at, back in self.callbacks:
            yield at, "a callback", back.history
        if self.ended is not None and self.ended.failure != "refused":
            yield self.ended_at, "the application", self.ended.history
        for at, received in self.received:
            for holder, to in ((received.event.get("result"), IN_DONE), (received.event, IN_FAILED)):
                if isinstance(holder, Mapping) and isinstance(holder.get("history"), Sequence):
                    yield at, to, holder["history"]
