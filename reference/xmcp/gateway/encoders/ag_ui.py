"""AG-UI 1.0: the events that its clients verify and apply, one `data:` line each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from xmcp.gateway.encoders.framing import data_line
from xmcp.gateway.runs.events import RunEvent


class AGUIEncoder:
    """Encodes one run. `thread_id` and `run_id` are those of the caller, which it compares.

    Displays are activities of the type `xmcp.display`, whose content is the envelope.
    """

    def __init__(self, thread_id: str, run_id: str) -> None:
        self._ids = {"threadId": thread_id, "runId": run_id}
        self._open: tuple[Literal["text", "reasoning"], str] | None = None
        """The message that is being written."""
        self._messages = 0
        self._in_step = False

    def encode(self, event: RunEvent) -> bytes:
        """Return the events for an event of the run; there is no mark after the last one."""
        return b"".join(map(data_line, self._events(event)))

    def _events(self, event: RunEvent) -> Iterator[dict[str, Any]]:
        data = event.data
        if event.type not in ("text.delta", "reasoning.delta", "usage", "notice"):
            yield from self._close()
        match event.type:
            case "run.started":
                yield {"type": "RUN_STARTED", **self._ids, "metadata": {"xmcpRunId": event.run_id}}
            case "snapshot":
                yield {"type": "RUN_STARTED", **self._ids, "metadata": {"xmcpRunId": event.run_id}}
                for place, one in enumerate(data["segments"]):
                    if "display" in one:
                        yield _activity(f"{event.run_id}-display-{place}", "xmcp.display", one["display"])
                    else:
                        yield from self._write(event, "text", one["text"])
                    yield from self._close()
                for asked in data.get("approvals", ()):
                    yield {"type": "CUSTOM", "name": "xmcp.approval.required", "value": asked}
                for call in data["tools_used"]:
                    if call["status"] == "running":  # its result is yet to come, and needs a call
                        yield from _call(call["call_id"], call["tool"], "{}")
            case "step.started":
                self._in_step = True
                yield {"type": "STEP_STARTED", "stepName": f"step-{data['step']}"}
            case "step.finished" if self._in_step:
                self._in_step = False
                yield {"type": "STEP_FINISHED", "stepName": f"step-{data['step']}"}
            case "text.delta":
                yield from self._write(event, "text", data["text"])
            case "reasoning.delta":
                yield from self._write(event, "reasoning", data["text"])
            case "tool.started":
                yield from _call(data["call_id"], data["tool"], data["text"] or "{}")
            case "tool.progress":
                yield _activity(f"{data['call_id']}-progress", "xmcp.progress", dict(data))
            case "tool.finished":
                content = data["text"] if data["status"] == "ok" else data["error"]["message"]
                result = {"messageId": f"{data['call_id']}-result", "toolCallId": data["call_id"]}
                yield {"type": "TOOL_CALL_RESULT", **result, "content": content, "role": "tool"}
            case "display":
                yield _activity(f"{event.run_id}-display-{event.seq}", "xmcp.display", data["envelope"])
            case "notice" | "usage" | "stream.reset" | "approval.required" | "approval.answered":
                name = f"xmcp.{event.type.removeprefix('stream.')}"
                yield {"type": "CUSTOM", "name": name, "value": dict(data)}
            case "run.finished":
                for call in data.get("tool_calls", ()):  # of one message, so that the client keeps them together
                    yield from _call(call["call_id"], call["tool"], call["text"], f"{event.run_id}-calls")
                yield {"type": "RUN_FINISHED", **self._ids, "result": {"stopReason": data["stop_reason"]}}
            case "run.error" | "run.cancelled" | "run.interrupted":
                yield {"type": "RUN_ERROR", "message": data["message"], "code": data["code"]}
            case _:
                pass

    def _write(self, event: RunEvent, kind: Literal["text", "reasoning"], text: str) -> Iterator[dict[str, Any]]:
        if not text:
            return
        if self._open is None or self._open[0] != kind:
            yield from self._close()
            self._messages += 1
            self._open = kind, f"{event.run_id}-{self._messages}"
            message = {"messageId": self._open[1]}
            if kind == "text":
                yield {"type": "TEXT_MESSAGE_START", **message, "role": "assistant"}
            else:
                yield {"type": "REASONING_START", **message}
                yield {"type": "REASONING_MESSAGE_START", **message, "role": "reasoning"}
        written = "TEXT_MESSAGE_CONTENT" if kind == "text" else "REASONING_MESSAGE_CONTENT"
        yield {"type": written, "messageId": self._open[1], "delta": text}

    def _close(self) -> Iterator[dict[str, Any]]:
        if self._open is None:
            return
        kind, name = self._open
        self._open = None
        if kind == "text":
            yield {"type": "TEXT_MESSAGE_END", "messageId": name}
        else:
            yield {"type": "REASONING_MESSAGE_END", "messageId": name}
            yield {"type": "REASONING_END", "messageId": name}


def _call(call_id: str, tool: str, arguments: str, message_id: str | None = None) -> Iterator[dict[str, Any]]:
    call = {"toolCallId": call_id}
    within = {} if message_id is None else {"parentMessageId": message_id}
    yield {"type": "TOOL_CALL_START", **call, "toolCallName": tool, **within}
    yield {"type": "TOOL_CALL_ARGS", **call, "delta": arguments}
    yield {"type": "TOOL_CALL_END", **call}


def _activity(message_id: str, kind: str, content: Any) -> dict[str, Any]:
    return {
        "type": "ACTIVITY_SNAPSHOT",
        "messageId": message_id,
        "activityType": kind,
        "content": content,
        "replace": True,
    }
