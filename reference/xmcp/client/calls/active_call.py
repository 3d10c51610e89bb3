"""A tool call in flight, its request and events, and the protocol of the pipeline's stages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from xmcp.chat.completions import ToolCall
from xmcp.client.calls.progress import AttemptProgress
from xmcp.client.calls.server_results import Reading, ServerResult
from xmcp.client.hooks.log import EventLog
from xmcp.client.hooks.middleware import ChatContext, ToolState
from xmcp.client.hooks.telemetry import ChatTelemetry
from xmcp.client.tools.catalogue import Entry
from xmcp.wire import ErrorInfo


@dataclass(frozen=True, slots=True)
class Request:
    """One call that a model asked for."""

    call: ToolCall
    name: str
    """The tool's name for the model, which is legal for every vendor."""
    entry: Entry
    arguments: dict[str, Any] | ErrorInfo
    """The model's arguments, with the values from predecessors; an error if they cannot be used."""
    handed_on: Mapping[str, str] = field(default_factory=dict)
    """For each argument that a predecessor's result filled, the tool name of that predecessor."""


@dataclass(frozen=True, slots=True)
class Retrying:
    """An attempt failed, and another one follows."""

    call: ToolCall
    attempt: int
    wait_ms: int
    error: ErrorInfo


@dataclass(frozen=True, slots=True)
class Warned:
    """Something about a call that the application should know."""

    call: ToolCall
    text: str


Event: TypeAlias = ToolCall | AttemptProgress | Retrying | Warned
"""What a call reports while it runs. A bare `ToolCall` means that it got its slot and its request is sent now."""


@dataclass(frozen=True, slots=True)
class ChatScope:
    """What a call needs to know of its chat. `deadline` is a time of the event loop's clock."""

    context: ChatContext
    telemetry: ChatTelemetry
    deadline: float | None

    @property
    def log(self) -> EventLog:
        """The log of the chat."""
        return self.telemetry.log


@dataclass(slots=True)
class ActiveCall:
    """One call in flight.

    Stages read it. A stage that sets a member of it says so in its docstring; of `state` the last stage counts
    `attempts`, the cache sets `cached`, the stage of the hooks sets `response`, and the hooks may set anything.
    """

    request: Request
    state: ToolState
    """The call as the application's hooks see it, and may change it."""
    scope: ChatScope
    emit: Callable[[Event], None]
    deadline: Callable[[], float | None]
    """Returns the current deadline of this call, by the event loop's clock; it may change while the call runs."""
    settled: dict[str, Any] | None = None
    """The arguments that later stages send; `None` until a stage has set them. Hooks do not see this dict."""
    loss_reported: bool = False
    """Whether the breaker was told of a lost connection by this call."""

    @property
    def name(self) -> str:
        """The tool's name for the model."""
        return self.request.name

    @property
    def entry(self) -> Entry:
        """The tool and its server."""
        return self.request.entry

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments for the server: `settled`, or those that the hooks see until it is set."""
        return self.state.arguments if self.settled is None else self.settled

    @property
    def log(self) -> EventLog:
        """The log of the chat."""
        return self.scope.log


Next: TypeAlias = Callable[[ActiveCall], Awaitable[Reading]]
"""The stages that follow."""

NextOfAttempt: TypeAlias = Callable[[ActiveCall], Awaitable[ServerResult]]
"""The stages that follow within one attempt, before the result is read."""


class Stage(Protocol):
    """One step of the pipeline: it answers the call itself, or awaits `proceed(call)` and may change the answer."""

    def __call__(self, call: ActiveCall, proceed: Next, /) -> Awaitable[Reading]:
        """Return the reading of the call."""
        ...


class ReadingStage(Protocol):
    """The outermost stage of one attempt: it reads what the others return."""

    def __call__(self, call: ActiveCall, proceed: NextOfAttempt, /) -> Awaitable[Reading]:
        """Return the reading of the attempt.

        Raises:
            CallFailed: the attempt got no result.
        """
        ...


class AttemptStage(Protocol):
    """One step on the way to a server, within one attempt."""

    def __call__(self, call: ActiveCall, proceed: NextOfAttempt, /) -> Awaitable[ServerResult]:
        """Return what the server returned.

        Raises:
            CallFailed: the attempt got no result.
        """
        ...


AnyStage: TypeAlias = Stage | ReadingStage | AttemptStage
