"""What is known of a run: who asked for what, and what has come of it. Observers and views read it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from opentelemetry import trace

from xmcp.chat.messages import Message
from xmcp.chat.vendor_state import without_vendor_state
from xmcp.gateway.runs.events import new_run_id
from xmcp.gateway.runs.request import Caller, ChatRequest
from xmcp.gateway.runs.state import RunState

LEFT_OUT: Final = "This call has ended. What came of it is left out: the vendor of the model refused it."
"""In the place of a result that a vendor refused."""

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
    def remembered(self) -> Sequence[Message]:
        """The conversation from which its session goes on; empty: the session stays as it was.

        What a model's vendor refused would be refused in each turn. Where tools have run it is their last results: what
        was before them it had taken, and that they ran the model must know, which would call them again.
        """
        if self.request.session_id is None or self.request.recall is None:
            return ()
        error = self.state.error or {}
        refused = error.get("code") in _REFUSALS or error.get("meta", {}).get("upstream_status") in _REFUSED
        if not refused:
            return self.history
        return _without_last_results(self.history) if self.state.tools else ()


def _without_last_results(history: Sequence[Message]) -> Sequence[Message]:
    """Return a history up to the last results of tools, of which it says that they are left out.

    Nothing in it is for a vendor alone, which may have refused that.
    """
    kept = [without_vendor_state(message) for message in history]
    while kept and kept[-1]["role"] != "tool":
        kept.pop()
    for message in reversed(kept):
        if message["role"] != "tool":
            break
        message["content"] = LEFT_OUT
    return kept
