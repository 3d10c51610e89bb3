"""The UI message stream of the AI SDK, as `useChat` reads it (`x-vercel-ai-ui-message-stream: v1`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from xmcp.gateway.encoders.framing import DONE, data_line
from xmcp.gateway.runs.events import RunEvent

HEADERS: Final[Mapping[str, str]] = {"x-vercel-ai-ui-message-stream": "v1"}

_FINISH: Final[Mapping[str, str]] = {
    "max_turns": "length",
    "timeout": "length",
    "length": "length",
    "content_filter": "content-filter",
    "tool_calls": "tool-calls",
}

PAUSE: Final = data_line({"type": "finish", "finishReason": "tool-calls"}) + DONE
"""The end of a stream whose run waits for a person: the page sends the answer in a request of its own."""

_ON_SERVER: Final = {"providerExecuted": True, "dynamic": True}
"""Tools ran already, so that the browser does not look for them, and it need not know their schemas."""


class UIMessageEncoder:
    """Encodes one run as one message of the assistant: text, reasoning, calls of tools, displays.

    Args:
        message_id: The id of the message, if the run continues one; `None`: it is that of the run.
    """

    def __init__(self, message_id: str | None = None) -> None:
        self._message_id = message_id
        self._open: tuple[Literal["text", "reasoning"], str] | None = None
        """The part that is being written."""
        self._parts = 0
        self._asked: dict[str, bool] = {}
        """The calls that the page was asked for, and whether they are refused: it has those as parts already."""

    def encode(self, event: RunEvent) -> bytes:
        """Return the chunks for an event, each as a server-sent event."""
        return b"".join(map(data_line, self._chunks(event))) + (DONE if event.is_last else b"")

    def _chunks(self, event: RunEvent) -> Iterator[dict[str, Any]]:
        data = event.data
        if event.type not in ("text.delta", "reasoning.delta", "usage", "notice"):
            yield from self._close()
        match event.type:
            case "run.started":
                yield self._start(event)
            case "snapshot":
                yield self._start(event)
                yield {"type": "start-step"}
                for place, one in enumerate(data["segments"]):
                    if "display" in one:
                        shown = {"envelope": one["display"]}
                        yield {"type": "data-xmcp-display", "id": f"display-{place}", "data": shown}
                    else:
                        yield from self._write("text", one["text"])
                    yield from self._close()
                for asked in data.get("approvals", ()):
                    yield from self._ask(event.run_id, asked)
                for call in data["tools_used"]:
                    if call["status"] == "running":  # its result is yet to come, and needs a call
                        begun = {"toolCallId": call["call_id"], "toolName": call["tool"], "input": {}}
                        yield {"type": "tool-input-available", **begun, **_ON_SERVER}
            case "step.started":
                yield {"type": "start-step"}
            case "step.finished":
                yield {"type": "finish-step"}
            case "text.delta":
                yield from self._write("text", data["text"])
            case "reasoning.delta":
                yield from self._write("reasoning", data["text"])
            case "approval.required":
                yield from self._ask(event.run_id, data)
            case "approval.answered":
                self._asked[data["call_id"]] = not data["approved"]
                if not data["approved"]:
                    yield {"type": "tool-output-denied", "toolCallId": data["call_id"]}
            case "tool.started" if data["call_id"] in self._asked:
                pass
            case "tool.finished" if self._asked.get(data["call_id"]):
                pass
            case "tool.started":
                given = data["text"] if data["arguments"] is None else data["arguments"]
                asked = {"toolCallId": data["call_id"], "toolName": data["tool"], "input": given}
                yield {"type": "tool-input-available", **asked, **_ON_SERVER}
            case "tool.progress":
                yield {"type": "data-xmcp-progress", "id": data["call_id"], "data": data, "transient": True}
            case "tool.finished" if data["status"] == "ok":
                output = {"toolCallId": data["call_id"], "output": data["text"]}
                yield {"type": "tool-output-available", **output, **_ON_SERVER}
            case "tool.finished":
                failed = {"toolCallId": data["call_id"], "errorText": data["error"]["message"]}
                yield {"type": "tool-output-error", **failed, **_ON_SERVER}
            case "display":
                shown = {"callId": data["call_id"], "envelope": data["envelope"]}
                yield {"type": "data-xmcp-display", "id": f"display-{event.seq}", "data": shown}
            case "notice":
                yield {"type": "data-xmcp-notice", "data": data, "transient": True}
            case "stream.reset":
                yield {"type": "data-xmcp-reset", "data": data, "transient": True}
            case "run.finished":
                for call in data.get("tool_calls", ()):
                    asked = {"toolCallId": call["call_id"], "toolName": call["tool"], "input": call["arguments"]}
                    yield {"type": "tool-input-available", **asked}
                reason = _FINISH.get(data["stop_reason"], "stop")
                told = {"usage": data["usage"], "stopReason": data["stop_reason"]}
                yield {"type": "finish", "finishReason": reason, "messageMetadata": told}
            case "run.cancelled":
                yield {"type": "abort", "reason": data["message"]}
            case "run.error" | "run.interrupted":
                yield {"type": "error", "errorText": data["message"]}
            case _:
                pass

    def _start(self, event: RunEvent) -> dict[str, Any]:
        about = {"runId": event.run_id, "model": event.data["model"]}
        return {"type": "start", "messageId": self._message_id or event.run_id, "messageMetadata": about}

    def _ask(self, run_id: str, call: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        self._asked[call["call_id"]] = False
        about = {"toolCallId": call["call_id"]}
        yield {
            "type": "tool-input-available",
            **about,
            "toolName": call["tool"],
            "input": call["arguments"],
            **_ON_SERVER,
        }
        yield {"type": "tool-approval-request", "approvalId": f"{run_id}:{call['call_id']}", **about}

    def _write(self, kind: Literal["text", "reasoning"], text: str) -> Iterator[dict[str, Any]]:
        if not text:
            return
        if self._open is None or self._open[0] != kind:
            yield from self._close()
            self._parts += 1
            self._open = kind, f"{kind}-{self._parts}"
            yield {"type": f"{kind}-start", "id": self._open[1]}
        yield {"type": f"{kind}-delta", "id": self._open[1], "delta": text}

    def _close(self) -> Iterator[dict[str, Any]]:
        if self._open is not None:
            kind, name = self._open
            self._open = None
            yield {"type": f"{kind}-end", "id": name}
