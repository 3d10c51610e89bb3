"""What a trace consists of: chats, their turns, the calls in them, and the attempts at servers. Facts only."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xmcp_conformance.reader import Document

from .messages import Message, document_of
from .trace import (
    Answered,
    Approved,
    Asked,
    Called,
    CalledBack,
    Cancelled,
    ChatBegan,
    ChatEnded,
    Said,
    Told,
    Tool,
)

NEVER = sys.maxsize
"""The index of a record that is not there; its time is infinite."""
INSTANT = 0.001
"""Seconds; what lies no further apart is taken to be at the same time."""


@dataclass(eq=False, slots=True)
class Attempt:
    """A call as it went to a server, or would have if the server could be reached: then `called` is `None`."""

    at: int
    begun: float
    server: int
    called: Called | None
    call: Call | None = None
    ended_at: int = NEVER
    ended: float = math.inf
    answered: Answered | None = None

    @property
    def tool(self) -> str:
        """The name in the request; empty where there was none."""
        return self.called.tool if self.called else ""

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments in the request."""
        return self.called.arguments if self.called else {}

    @property
    def error(self) -> Mapping[str, Any]:
        """The error that a server answered with; empty where it did not."""
        return (self.answered.error if self.answered else None) or {}

    @property
    def outcome(self) -> str | None:
        """As in `Answered`, or `unreachable`; `None` while it runs."""
        if self.called is None:
            return "unreachable"
        return self.answered.outcome if self.answered else None

    @property
    def was_answered(self) -> bool:
        """Whether the server answered, be it with an error."""
        return self.outcome in ("ok", "error")

    @property
    def way_failed(self) -> bool:
        """Whether it failed on the way to the server, or by its time."""
        return self.outcome in ("unreachable", "lost", "late")


@dataclass(eq=False, slots=True)
class Call:
    """A call that a model asked for. `tool`: what its name means; `reply`: what the model was told it answered."""

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
    """Where no attempt was made: whose answer it was given, as far as the text tells."""
    unclear: bool = False
    """Whether its attempts cannot be told from those of equal calls."""

    @property
    def reply(self) -> Document | None:
        """The document that the model was given, where it is one."""
        return document_of(self.content) if self.content is not None else None

    @property
    def code(self) -> str | None:
        """The code of the error that the model was given; `None` where that was none, or nothing."""
        return self.reply.error.code if self.reply is not None and self.reply.error is not None else None

    @property
    def succeeded(self) -> bool:
        """Whether the model was given a result."""
        return self.reply is not None and self.reply.error is None

    @property
    def is_unfinished(self) -> bool:
        """Whether it was attempted in vain, and another attempt may help."""
        last = self.attempts[-1] if self.attempts else None
        return last is not None and (last.way_failed or last.error.get("retryable") is True)

    @property
    def sent(self) -> list[Attempt]:
        """The attempts that reached the server."""
        return [attempt for attempt in self.attempts if attempt.called is not None]

    @property
    def answer(self) -> Answered | None:
        """The answer of the server that counts: to the last attempt, or to the call whose answer this one shares."""
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
    """An answer of the model that came to its end. `next_at`: the request or the end of the chat that followed."""

    chat: Chat
    number: int
    asked_at: int
    asked: Asked
    said_at: int
    said: Said
    calls: list[Call] = field(default_factory=list)
    next_at: int = NEVER
    next: Asked | ChatEnded | None = None
    messages: Sequence[Message] = ()
    """Of what followed."""
    at: int | None = None
    """Where in `messages` the assistant message with the calls stands."""

    @property
    def cut(self) -> bool:
        """Whether the chat may have been cut off in it."""
        return self.chat.cut and not self.went_on

    @property
    def is_open(self) -> bool:
        """Whether it is not known which tool one of its calls means: then nobody can say what depends on what."""
        return any(call.offered and not call.meta and call.tool is None for call in self.calls)

    @property
    def went_on(self) -> bool:
        """Whether the model was asked again."""
        return isinstance(self.next, Asked)


@dataclass(eq=False, slots=True)
class Chat:
    """One chat. `failed`: the model's answers that broke off."""

    name: str
    began_at: int
    began: ChatBegan
    asks: list[tuple[int, Asked]] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    failed: list[tuple[int, Said]] = field(default_factory=list)
    told: list[tuple[int, Told]] = field(default_factory=list)
    approvals: list[tuple[int, Approved]] = field(default_factory=list)
    callbacks: list[tuple[int, CalledBack]] = field(default_factory=list)
    cancelled_at: int = NEVER
    cancelled: Cancelled | None = None
    ended_at: int = NEVER
    ended: ChatEnded | None = None

    @property
    def stop_reason(self) -> str | None:
        """Why it ended, as it says itself."""
        result = self.ended.result if self.ended else None
        return str(result.get("stop_reason")) if result else None

    @property
    def cut(self) -> bool:
        """Whether something other than its calls and the model ended it: then calls can be without a result."""
        stopped = self.ended is not None and self.ended.failure == "quota"
        return self.cancelled is not None or stopped or self.stop_reason == "timeout"

    @property
    def over(self) -> float:
        """When it was cancelled, or else ended, in seconds."""
        marks = [mark.time for mark in (self.cancelled, self.ended) if mark is not None]
        return min(marks, default=math.inf)

    def events(self, call: Call) -> list[tuple[int, Mapping[str, Any]]]:
        """The events of one call."""
        return [(at, told.event) for at, told in self.told if call.id and told.event.get("call_id") == call.id]

    @property
    def histories(self) -> Iterator[tuple[int, str, Sequence[Message]]]:
        """Each history that the client gave away: the index of the record, to whom, and the messages."""
        for at, asked in self.asks:
            yield at, "the model", asked.messages
        for at, back in self.callbacks:
            yield at, "a callback", back.history
        if self.ended is not None:
            yield self.ended_at, "the application", self.ended.history
        for at, told in self.told:
            result = told.event.get("result")
            if isinstance(result, Mapping) and isinstance(result.get("history"), Sequence):
                yield at, "the application, in `done`", result["history"]
