"""What a run has come to so far: a fold over its events. Whole answers, states and snapshots are read from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from xmcp.gateway.runs.events import RunEvent

Status: TypeAlias = Literal["running", "finished", "error", "cancelled", "interrupted"]

BETWEEN_STEPS: Final = "\n\n"
"""What stands between the texts of two steps, so that their words do not run together."""


@dataclass(slots=True)
class RunState:
    """The sum of the events of one run.

    Attributes:
        status: Whether the run goes on, or how it ended.
        answer: The final text, once the run is finished; `None` if it has none.
        tools: What was called, by call id: `call_id`, `tool`, `server`, `status` (`running`, `ok`, `error`), `ms`,
            `cached`.
        approvals: The calls for which a person is asked at the moment, by call id: `call_id`, `tool`, `server`,
            `arguments`, `reason`.
        usage: Of the whole run, once it is finished.
        stop_reason: As in a chat's result, once the run is finished.
        tool_calls: The calls that are left to the client, if `stop_reason` is `tool_calls`: `call_id`, `tool`,
            `arguments`, and `text`, which is the arguments as the model wrote them.
        error: Why it ended without a result: an object with at least `code`, `message` and `retryable`.
        seq: The place of the last event in it.
        model: The model that was asked for.
        created: When the run began, in whole seconds since 1970.
    """

    status: Status = "running"
    answer: str | None = None
    tools: dict[str, dict[str, Any]] = field(default_factory=dict)
    approvals: dict[str, dict[str, Any]] = field(default_factory=dict)
    usage: dict[str, Any] | None = None
    stop_reason: str | None = None
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    error: dict[str, Any] | None = None
    seq: int = 0
    model: str = ""
    created: int = 0
    _shown: list[tuple[int, list[str] | dict[str, Any]]] = field(default_factory=list)
    """What was shown, in its order, with its step: pieces of text, or an envelope."""

    @property
    def segments(self) -> list[str | dict[str, Any]]:
        """What was shown, in its order: the text of a step, or an envelope."""
        return ["".join(shown) if isinstance(shown, list) else shown for _, shown in self._shown]

    @property
    def text(self) -> str:
        """All text so far, of all steps."""
        return BETWEEN_STEPS.join(one for one in self.segments if isinstance(one, str))

    @property
    def displays(self) -> list[dict[str, Any]]:
        """The envelopes that were shown, in their order."""
        return [shown for _, shown in self._shown if isinstance(shown, dict)]

    @property
    def tools_used(self) -> list[dict[str, Any]]:
        """What was called, in the order in which the calls began."""
        return list(self.tools.values())

    @property
    def waits_for_person(self) -> bool:
        """Whether nothing goes on but the waiting for an answer."""
        return bool(self.approvals) and all(call["status"] != "running" for call in self.tools.values())

    def apply(self, event: RunEvent) -> None:
        """Add the next event."""
        self.seq = event.seq
        data = event.data
        match event.type:
            case "run.started":
                self.model, self.created = data["model"], data["created"]
            case "text.delta":
                self._write(data["step"], data["text"])
            case "stream.reset":
                self._shown = [
                    (step, one) for step, one in self._shown if step != data["step"] or isinstance(one, dict)
                ]
            case "tool.started":
                call = {name: data[name] for name in ("call_id", "tool", "server") if name in data}
                self.tools[data["call_id"]] = {**call, "status": "running"}
            case "tool.finished":
                outcome = {name: data[name] for name in ("status", "ms", "cached") if name in data}
                code = {"code": data["error"]["code"]} if "error" in data else {}
                self.tools[data["call_id"]] = {**self.tools.get(data["call_id"], {}), **outcome, **code}
            case "approval.required":
                asked = ("call_id", "tool", "server", "arguments", "reason")
                self.approvals[data["call_id"]] = {name: data[name] for name in asked if name in data}
            case "approval.answered":
                self.approvals.pop(data["call_id"], None)
            case "display":
                self._shown.append((data["step"], data["envelope"]))
            case "run.finished":
                self.status, self.answer = "finished", data["answer"]
                self.usage, self.stop_reason = data["usage"], data["stop_reason"]
                self.tool_calls = data.get("tool_calls", [])
            case "run.error" | "run.cancelled" | "run.interrupted":
                name: Any = event.type.removeprefix("run.")
                self.status, self.error = name, dict(data)
            case _:
                pass

    def _write(self, step: int, text: str) -> None:
        last_step, last = self._shown[-1] if self._shown else (0, None)
        if isinstance(last, list) and last_step == step:
            last.append(text)
        else:
            self._shown.append((step, [text]))

    def to_dict(self) -> dict[str, Any]:
        """Return the state as a JSON object: the data of a `snapshot`. `step` is that of the last segment."""
        return {
            "model": self.model,
            "created": self.created,
            "status": self.status,
            "step": self._shown[-1][0] if self._shown else 0,
            "segments": [{"text": one} if isinstance(one, str) else {"display": one} for one in self.segments],
            "answer": self.answer,
            "tools_used": self.tools_used,
            "approvals": list(self.approvals.values()),
            "usage": self.usage,
            "stop_reason": self.stop_reason,
            "tool_calls": self.tool_calls,
            "error": self.error,
        }
