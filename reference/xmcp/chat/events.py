"""The events of a chat: one class each, distinguished by `type`, and the JSON form of each (spec section 10.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal, TypeAlias, overload

from xmcp.chat.errors import error_to_json
from xmcp.chat.json_values import as_json, as_text, object_as_json
from xmcp.chat.messages import message_to_json, with_results
from xmcp.chat.usage import ChatUsage, UsageRecord
from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse

StopReason: TypeAlias = Literal[
    "stop", "tool_calls", "display", "clarify", "max_turns", "timeout", "length", "content_filter", "empty"
]
"""Why a chat ended (spec section 11.7).

`stop`: the model answered. `tool_calls`: it called tools that the application runs itself. `display`: the calls of a
turn showed the answer. `clarify`: the model asks the person.
`max_turns`, `timeout`: the limit was reached before any of these. `length`, `content_filter`: the vendor cut or
withheld the answer. `empty`: the model wrote nothing at all.
"""


class ChatResult(dict[str, Any]):
    """What `chat()` returns: a dict that `json.dumps` and the JSON responses of web frameworks take as it is.

    `answer` is the model's final text, `None` if there is none. `displays` has all displays by turn and in call order;
    `display` is the first that a tool gave as its answer (a block for the person is none). `history` is the whole
    conversation; pass it to the next chat.

    By their keys `display` and `displays` are `DisplayEnvelope`s. What reads the dict as a whole (`items()`,
    `json.dumps`, `dict(result)`) finds their JSON instead.
    """

    def __init__(
        self,
        *,
        answer: str | None,
        display: DisplayEnvelope | None,
        displays: list[DisplayEnvelope],
        history: list[dict[str, Any]],
        usage: ChatUsage,
        stop_reason: StopReason,
        value: Any = None,
        open_calls: Sequence[ToolRequested] = (),
    ) -> None:
        written = {
            "display": None if display is None else display.to_dict(),
            "displays": [envelope.to_dict() for envelope in displays],
        }
        super().__init__(answer=answer, **written, history=history, usage=usage, stop_reason=stop_reason)
        self.value = value
        """The answer as a value of the chat's `answer_type`. `None`: there is no type, or the chat ended without an
        answer. It is no member of the dict."""
        self.open_calls = list(open_calls)
        """The calls of `external_tools` that the application is to make, where `stop_reason` is `tool_calls`. Pass
        their results on with `answered`. It is no member of the dict."""
        self._envelopes = {"display": (written["display"], display), "displays": (written["displays"], displays)}

    def answered(self, results: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the history with the results of `open_calls`, texts by `call_id`, to continue with: `chat(None, ...)`.

        Until then the history says of each of these calls that there is no result, so that it can always be continued.

        Raises:
            ValueError: a call has no result, or a result no call.
        """
        if missing := next((call.call_id for call in self.open_calls if call.call_id not in results), None):
            raise ValueError(f"The call {missing!r} has no result: give a text for each of open_calls, by its call_id.")
        return with_results(self["history"], results)

    # As of a TypedDict: there is no overload for other keys, so type checkers find one that is misspelt.
    @overload  # type: ignore[override]
    def __getitem__(self, key: Literal["answer"]) -> str | None: ...
    @overload
    def __getitem__(self, key: Literal["display"]) -> DisplayEnvelope | None: ...
    @overload
    def __getitem__(self, key: Literal["displays"]) -> list[DisplayEnvelope]: ...
    @overload
    def __getitem__(self, key: Literal["history"]) -> list[dict[str, Any]]: ...
    @overload
    def __getitem__(self, key: Literal["usage"]) -> ChatUsage: ...
    @overload
    def __getitem__(self, key: Literal["stop_reason"]) -> StopReason: ...
    def __getitem__(self, key: str) -> Any:
        return self._member(key)

    def _member(self, key: str) -> Any:
        value = dict.__getitem__(self, key)
        written, envelopes = self._envelopes.get(key, (None, None))
        # If it is another value, the application has put it there.
        return envelopes if value is written else value

    def get(self, key: str, default: Any = None) -> Any:
        """Return the member `key`, or `default` if there is none."""
        try:
            return self._member(key)
        except KeyError:
            return default

    def to_dict(self, *, history: bool = True) -> dict[str, Any]:
        """Return the result as the JSON object of spec section 10.2, which shares no value with it.

        Args:
            history: False leaves the history out, which readers other than the application may not be meant to see.
        """
        first = self["display"]
        return {
            "answer": as_json(self["answer"]),
            "display": None if first is None else as_json(first.to_dict()),
            "displays": [as_json(display.to_dict()) for display in self["displays"]],
            **(_history_to_json(self["history"]) if history else {}),
            "usage": object_as_json(self["usage"]),
            "stop_reason": self["stop_reason"],
        }

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        """Return what a notebook shows of the result: the answer and the displays; notebooks call this."""
        # By its name, when a notebook asks: the vocabulary of a chat knows no renderer.
        return import_module("xmcp.render.notebook").bundle_of_result(self)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class CallReport:
    """How a tool call went: the server that has the tool (`None`: no server), its attempts, the total time."""

    server: str | None = None
    attempts: int = 0
    duration_ms: float = 0.0
    cached: bool = False
    """Whether the answer came from the cache, or from an equal call that was running."""
    handed_on: Mapping[str, str] | None = None
    """The parameters that got a value from a predecessor, with the predecessor's name (spec section 11.3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    turn: int
    """The model's answers are counted from 1; 0 is before the first."""

    def to_json(self) -> dict[str, Any]:
        """Return the event as the JSON object of spec section 10.2."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the same as `to_json`, by the name that results and displays have for it."""
        return self.to_json()


@dataclass(frozen=True, slots=True, kw_only=True)
class _CallEvent(_Event):
    call_id: str
    tool_name: str
    """The tool as the model knows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMDelta(_Event):
    """The model wrote a piece of text."""

    type: Literal["llm_delta"] = field(default="llm_delta", init=False)
    text: str
    """The piece."""

    def to_json(self) -> dict[str, Any]:
        """Return the event as the JSON object of spec section 10.2."""
        return {"type": self.type, "turn": self.turn, "text": as_text(self.text)}


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMReasoning(_Event):
    """The model wrote a piece of its reasoning, for the person alone: it is no part of the answer or the history."""

    type: Literal["llm_reasoning"] = field(default="llm_reasoning", init=False)
    text: str
    """The piece."""

    def to_json(self) -> dict[str, Any]:
        """Return the event as the JSON object of spec section 10.2."""
        return {"type": self.type, "turn": self.turn, "text": as_text(self.text)}


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMRetry(_Event):
    """A request to the model failed, and a model is asked again. Discard the text and reasoning of this turn so far."""

    type: Literal["retry"] = field(default="retry", init=False)
    attempt: int
    """Number of attempts that have failed."""
    wait_ms: int
    """Milliseconds until the next attempt."""
    error: ErrorInfo
    ui_message: str = ""
    """The same for the person at the screen, without internals; it is no part of the JSON."""

    def to_json(self) -> dict[str, Any]:
        """Return the event as the JSON object of spec section 10.2, without a `call_id`."""
        return {
            "type": self.type,
            "turn": self.turn,
            "attempt": self.attempt,
            "wait_ms": self.wait_ms,
            "error": error_to_json(self.error),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMUsage(_Event):
    """A request to the model ended."""

    type: Literal["usage"] = field(default="usage", init=False)
    usage: UsageRecord

    def to_json(self) -> dict[str, Any]:
        """Return the event as the JSON object of spec section 10.2."""
        return {"type": self.type, "turn": self.turn, "usage": object_as_json(self.usage)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequested(_CallEvent):
    """The model asked for a call."""

    type: Literal["tool_call"] = field(default="tool_call", init=False)
    arguments: dict[str, Any] | None
    """The arguments; `None` if what the model wrote is not a JSON object."""
    text: str
    """The arguments as the model wrote them."""

    def to_json(self) -> dict[str, Any]:
        """Return the event as the JSON object of spec section 10.2."""
        return {**_call_to_json(self), "arguments": as_json(self.arguments), "text": as_text(self.text)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted(_CallEvent):
    """The call has its slot and is on its way to a server."""

    type: Literal["tool_started"] = field(default="tool_started", init=False)
    report: CallReport

    def to_json(self) -> dict[str, Any]:
        """Return the event as the JSON object of spec section 10.2, with the members of its report."""
        return {**_call_to_json(self), **_report_to_json(self.report)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgress(_CallEvent):
    """The server reported how far an attempt of the call is. After a `ToolRetry` it begins anew."""

    type: Literal["tool_progress"] = field(default="tool_progress", init=False)
    progress: float
    """In units of the server's own; finite."""
    total: float | None = None
    """What `progress` will be at the end; `None` if the server does not say. Finite."""
    text: str = ""
    """What the server says of it: one line without control characters, of at most 1,000 characters."""

    def to_json(self) -> dict[str, Any]:
        """Return the event as the JSON object of spec section 10.2, without a `total` or `text` that is not known."""
        total = {} if self.total is None else {"total": self.total}
        text = {"text": as_text(self.text)} if self.text else {}
        return {**_call_to_json(self), "progress": self.progress, **total, **text}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRetry(_CallEvent):
    """An attempt of the call failed, and there will be another."""

    type: Literal["retry"] = field(default="retry", init=False)
    attempt: int
    """Number of attempts that have failed."""
    wait_ms: int
    """Milliseconds until the next attempt."""
    error: ErrorInfo

    def to_json(self) -> dict[str, Any]:
        """Return the event as the JSON object of spec section 10.2."""
        retry = {"attempt": self.attempt, "wait_ms": self.wait_ms, "error": error_to_json(self.error)}
        return {**_call_to_json(self), **retry}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult(_CallEvent):
    """The call succeeded."""

    type: Literal["tool_result"] = field(default="tool_result", init=False)
    response: ToolResponse
    text: str
    """Its `llm_output`; empty if it has none."""
    report: CallReport

    def to_json(self) -> dict[str, Any]:
        """Return the event as the JSON object of spec section 10.2, with the members of its report."""
        return {**_call_to_json(self), "text": as_text(self.text), **_report_to_json(self.report)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolError(_CallEvent):
    """The call failed."""

    type: Literal["tool_error"] = field(default="tool_error", init=False)
    response: ToolResponse
    error: ErrorInfo
    report: CallReport

    def to_json(self) -> dict[str, Any]:
        """Return the event as the JSON object of spec section 10.2, with the members of its report."""
        return {**_call_to_json(self), "error": error_to_json(self.error), **_report_to_json(self.report)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDisplay(_CallEvent):
    """A display that the person is to be shown now."""

    type: Literal["tool_display"] = field(default="tool_display", init=False)
    envelope: DisplayEnvelope

    def to_json(self) -> dict[str, Any]:
        """Return the event as the JSON object of spec section 10.2."""
        return {**_call_to_json(self), "envelope": as_json(self.envelope.to_dict())}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolWarning(_CallEvent):
    """A warning about a call."""

    type: Literal["warning"] = field(default="warning", init=False)
    text: str

    def to_json(self) -> dict[str, Any]:
        """Return the event as the JSON object of spec section 10.2."""
        return {**_call_to_json(self), "text": as_text(self.text)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatWarning(_Event):
    """A warning about the chat as a whole."""

    type: Literal["warning"] = field(default="warning", init=False)
    text: str

    def to_json(self) -> dict[str, Any]:
        """Return the event as the JSON object of spec section 10.2, without a `call_id`."""
        return {"type": self.type, "turn": self.turn, "text": as_text(self.text)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Done(_Event):
    """The chat ended; nothing follows."""

    type: Literal["done"] = field(default="done", init=False)
    result: ChatResult
    """What `chat()` returns."""

    def to_json(self, *, history: bool = True) -> dict[str, Any]:
        """Return the event as the JSON object of spec section 10.2; `history=False` leaves the history out."""
        return {"type": self.type, "turn": self.turn, "result": self.result.to_dict(history=history)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatFailed(_Event):
    """The chat cannot continue; nothing follows but the exception that says so to the program (XMCP-REC-005)."""

    type: Literal["failed"] = field(default="failed", init=False)
    error: ErrorInfo
    """Why, with a code of the registry; of an exception that nobody foresaw only its class."""
    history: list[dict[str, Any]]
    """The conversation up to there; it can be passed to the next chat."""
    ui_message: str = ""
    """What happened and what to do, for the person at the screen, if a model failed; it is no part of the JSON."""

    def to_json(self, *, history: bool = True) -> dict[str, Any]:
        """Return the event as the JSON object of spec section 10.2; `history=False` leaves the history out."""
        told = _history_to_json(self.history) if history else {}
        return {"type": self.type, "turn": self.turn, "error": error_to_json(self.error), **told}


ToolEvent: TypeAlias = (
    ToolRequested | ToolStarted | ToolProgress | ToolRetry | ToolResult | ToolError | ToolDisplay | ToolWarning
)
"""An event of one call of a tool: it has `call_id` and `tool_name`."""

ChatChunk: TypeAlias = LLMDelta | LLMReasoning | LLMRetry | LLMUsage | ToolEvent | ChatWarning | Done | ChatFailed
"""One event of a chat, distinguished by its class or by its `type`.

```python
match chunk:
    case LLMDelta(text=text):
        print(text, end="", flush=True)
    case ToolDisplay(envelope=envelope):
        show(envelope)
    case Done(result=result):
        history = result["history"]
```

Calls of one turn run at the same time, so their events are interleaved. The events of one call come in this order:
`ToolRequested`, `ToolStarted`, any number of `ToolRetry` and `ToolProgress`, either `ToolResult` or `ToolError`, any
number of `ToolDisplay`. The last event of a chat is `Done`, or `ChatFailed` and then the exception.
"""


def _call_to_json(event: ToolEvent) -> dict[str, Any]:
    return {
        "type": event.type,
        "turn": event.turn,
        "call_id": as_text(event.call_id),
        "tool_name": as_text(event.tool_name),
    }


def _history_to_json(history: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"history": [message_to_json(message) for message in history]}


def _report_to_json(report: CallReport) -> dict[str, Any]:
    written: dict[str, Any] = {
        "attempts": report.attempts,
        "duration_ms": report.duration_ms,
        "cached": report.cached,
    }
    if report.server is not None:
        written["server"] = as_text(report.server)
    if report.handed_on:
        written["handed_on"] = object_as_json(report.handed_on)
    return written
