"""From the events of a chat to those of a run. No I/O: what comes out depends only on what came in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from xmcp.chat.errors import error_to_json
from xmcp.chat.events import (
    ChatChunk,
    ChatFailed,
    ChatWarning,
    Done,
    LLMDelta,
    LLMReasoning,
    LLMRetry,
    LLMUsage,
    ToolDisplay,
    ToolError,
    ToolProgress,
    ToolRequested,
    ToolResult,
    ToolRetry,
    ToolStarted,
    ToolWarning,
)
from xmcp.chat.json_values import as_json, object_as_json
from xmcp.gateway.runs.events import EventType
from xmcp.gateway.runs.rounds import open_call_id
from xmcp.gateway.runs.state import BETWEEN_STEPS
from xmcp.wire import ErrorInfo

Draft: TypeAlias = tuple[EventType, dict[str, Any]]
"""Type and data of an event that has no place in a stream yet."""

PREVIEW_CHARACTERS: Final = 2_000
"""How much of the text of a tool's result `tool.finished` has; the model gets all of it."""


class Translation:
    """Translates one chat. A step is one answer of the model with the calls of tools that it asks for.

    Args:
        run_id: The run.
        one_call: Whether the client gets one call of its own tools at most; the others are left without a result.
    """

    def __init__(self, run_id: str, *, one_call: bool = False) -> None:
        self._run_id = run_id
        self._one_call = one_call
        self.open_ids: dict[str, str] = {}
        """The ids of the calls that the client gets, by those that the model gave them."""
        self._step = 0
        self._written: set[EventType] = set()
        """What the model wrote in this step: text, reasoning."""
        self._asked: dict[str, dict[str, Any]] = {}
        """Calls that the model asked for and that have not begun, by their id."""
        self.failure: dict[str, Any] | None = None
        """Why the chat failed: the data of a `run.error`."""

    def events_of(self, chunk: ChatChunk) -> Iterator[Draft]:
        """Yield the events that one event of the chat means; a chat's last one, if it failed, only sets `failure`."""
        if chunk.turn > self._step and not isinstance(chunk, Done | ChatFailed):
            yield from self._end_step()
            self._step = chunk.turn
            self._written.clear()
            yield "step.started", {"step": chunk.turn}
        match chunk:
            case LLMDelta() | LLMReasoning():
                kind: EventType = "text.delta" if isinstance(chunk, LLMDelta) else "reasoning.delta"
                self._written.add(kind)
                yield kind, {"step": chunk.turn, "text": chunk.to_json()["text"]}
            case LLMRetry():
                yield from self._model_asked_again(chunk)
            case LLMUsage():
                yield "usage", {"step": chunk.turn, **chunk.to_json()["usage"]}
            case ToolRequested():
                told = chunk.to_json()
                self._asked[chunk.call_id] = {**_call(told), "arguments": told["arguments"], "text": told["text"]}
            case ToolStarted():
                yield from self._begin_call(chunk.to_json())
            case ToolProgress():
                told = chunk.to_json()
                known: dict[str, Any] = {name: told[name] for name in ("progress", "total", "text") if name in told}
                yield "tool.progress", {**_call(told), **known}
            case ToolResult() | ToolError():
                told = chunk.to_json()
                yield from self._begin_call(told)
                yield "tool.finished", _outcome(told)
            case ToolDisplay():
                told = chunk.to_json()
                yield "display", {**_call(told), "envelope": told["envelope"]}
            case ToolRetry():
                told = chunk.to_json()
                retry = {name: told[name] for name in ("attempt", "wait_ms", "error")}
                yield "notice", {"kind": "tool_retry", **_call(told), **retry}
            case ToolWarning() | ChatWarning():
                told = chunk.to_json()
                call = _call(told) if isinstance(chunk, ToolWarning) else {"step": chunk.turn}
                yield "notice", {"kind": "warning", **call, "text": told["text"]}
            case Done():
                yield from self._done(chunk)
            case ChatFailed():
                yield from self._end_step()
                self.failure = error_data(chunk.error, chunk.ui_message)

    def _end_step(self) -> Iterator[Draft]:
        if self._step:
            yield "step.finished", {"step": self._step}

    def _begin_call(self, told: Mapping[str, Any]) -> Iterator[Draft]:
        """Yield `tool.started` for a call that has not begun; one that was refused ends without that."""
        asked = self._asked.pop(told["call_id"], None)
        if asked is not None:
            server = {"server": told["server"]} if "server" in told else {}
            yield "tool.started", {**asked, **server}

    def _model_asked_again(self, chunk: LLMRetry) -> Iterator[Draft]:
        told = chunk.to_json()
        error = {**told["error"], **({"message": chunk.ui_message} if chunk.ui_message else {})}
        yield (
            "notice",
            {"kind": "model_retry", "step": chunk.turn, "attempt": told["attempt"], "wait_ms": told["wait_ms"]}
            | {"error": error},
        )
        if self._written:
            self._written.clear()
            yield "stream.reset", {"step": chunk.turn}

    def _done(self, chunk: Done) -> Iterator[Draft]:
        result = chunk.result
        answer = as_json(result["answer"])
        told = "text.delta" in self._written
        if answer and (not told or result["stop_reason"] == "clarify"):
            # An answer that was not streamed: XMCP-REC-043. The question of `clarify` can come after other text.
            apart = BETWEEN_STEPS if told else ""
            yield "text.delta", {"step": max(self._step, 1), "text": apart + answer}
        yield from self._end_step()
        usage = object_as_json(result["usage"])
        calls = result.open_calls[: 1 if self._one_call else None]
        self.open_ids = {call.call_id: open_call_id(self._run_id, place) for place, call in enumerate(calls)}
        left = {"tool_calls": [self._left_to_client(call) for call in calls]} if calls else {}
        yield "run.finished", {"stop_reason": result["stop_reason"], "answer": answer, "usage": usage, **left}

    def _left_to_client(self, call: ToolRequested) -> dict[str, Any]:
        told = call.to_json()
        return {
            "call_id": self.open_ids[call.call_id],
            "tool": told["tool_name"],
            "arguments": told["arguments"],
            "text": told["text"].strip() or "{}",
        }


def large_values(chunk: ChatChunk) -> list[Any]:
    """Return the values of an event of a chat that can be large and take long to write; a text is not one of them."""
    match chunk:
        case ToolDisplay(envelope=envelope):
            return [envelope.to_dict()]
        case ToolRequested(arguments=arguments):
            return [arguments]
        case Done(result=result):
            return [call.arguments for call in result.open_calls]
        case _:
            return []


def error_data(error: ErrorInfo, ui_message: str = "") -> dict[str, Any]:
    """Return the data of a `run.error`: the error of the schemas, with words for the person where there are any."""
    # What an error says of a model is for whoever runs the gateway: addresses, variables, names.
    return error_to_json(error) | ({"message": ui_message} if ui_message else {})


def _call(told: Mapping[str, Any]) -> dict[str, Any]:
    return {"step": told["turn"], "call_id": told["call_id"], "tool": told["tool_name"]}


def _outcome(told: Mapping[str, Any]) -> dict[str, Any]:
    outcome: dict[str, Any] = {
        **_call(told),
        "status": "ok" if told["type"] == "tool_result" else "error",
        "ms": round(told["duration_ms"], 1),
        "attempts": told["attempts"],
        "cached": told["cached"],
    }
    if "server" in told:
        outcome["server"] = told["server"]
    if told["type"] == "tool_error":
        return {**outcome, "error": told["error"]}
    text = told["text"]
    cut = {"truncated": True} if len(text) > PREVIEW_CHARACTERS else {}
    return {**outcome, "text": text[:PREVIEW_CHARACTERS], **cut}
