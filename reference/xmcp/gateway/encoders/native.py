"""The native stream: every event by its name, with its place as the id."""

from __future__ import annotations

from typing import Any

from xmcp.chat.json_values import encode_json
from xmcp.gateway.runs.events import RunEvent
from xmcp.gateway.runs.state import RunState


class NativeEncoder:
    """Encodes all events as they are; `id:` is what `Last-Event-ID` takes."""

    def encode(self, event: RunEvent) -> bytes:
        """Return one server-sent event."""
        # Two events that stand in for missing ones share their place, and only the second completes it.
        place = b"" if event.type == "stream.gap" else f"id: {event.id}\n".encode()
        return b"".join((place, f"event: {event.type}\ndata: ".encode(), event.json, b"\n\n"))


def whole(run_id: str, model: str, state: RunState, latency_ms: float | None, history: Any = None) -> bytes:
    """Return the answer in one piece; `history` is left out if it is `None`."""
    shown = [] if history is None else [("history", history)]
    value: dict[str, Any] = {
        "run_id": run_id,
        "model": model,
        "status": state.status,
        "answer": state.answer,
        "displays": state.displays,
        "tools_used": state.tools_used,
        "usage": state.usage,
        "stop_reason": state.stop_reason,
        "tool_calls": state.tool_calls,
        "latency_ms": latency_ms,
        **dict(shown),
    }
    return encode_json(value)
