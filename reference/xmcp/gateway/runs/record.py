"""What is known of a run: who asked for what, and what has come of it. Observers and views read it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Final

from opentelemetry import trace

from xmcp.gateway.runs.events import new_run_id
from xmcp.gateway.runs.request import Caller, ChatRequest
from xmcp.gateway.runs.state import RunState

_REFUSALS: Final = frozenset({"CONTENT_POLICY", "CONTEXT_TOO_LARGE"})
_REFUSED: Final = frozenset({400, 413, 422})
"""Statuses with which a vendor refuses what was sent, whatever it says of it."""


def _current_trace_id() -> str | None:
    context = trace.get_current_span().get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else None


@dataclass(eq=False)
class RunRecord:
    """The facts of one run.

    Attributes:
        request: What was asked.
        caller: By whom.
        id: `run_` and 32 hexadecimal digits, in the order of time.
        attempt: Counted from 1; a run that is executed again has a further one.
        created: When it began, in seconds since 1970.
        state: What it has come to so far.
        history: The whole conversation, once the run has ended; calls of the client's own tools have no answer in it.
        trace_id: That of the caller's or the gateway's trace, 32 hexadecimal digits; `None` if it is not traced.
        latency_ms: Milliseconds from the start to the end; `None` before.
    """

    request: ChatRequest
    caller: Caller
    id: str = field(default_factory=new_run_id)
    attempt: int = 1
    created: float = field(default_factory=time.time)
    state: RunState = field(default_factory=RunState)
    history: list[dict[str, Any]] = field(default_factory=list)
    latency_ms: float | None = None
    trace_id: str | None = field(default_factory=_current_trace_id)

    @property
    def is_remembered(self) -> bool:
        """Whether its session goes on from its history. What a model's vendor refused would be refused in each turn."""
        error = self.state.error or {}
        refused = error.get("code") in _REFUSALS or error.get("meta", {}).get("upstream_status") in _REFUSED
        return self.request.session_id is not None and self.request.recall is not None and not refused
