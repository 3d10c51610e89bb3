"""The hooks of a client that tell the audit log what a model receives and answers, and which tools are called."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Final

from xmcp.chat.errors import error_of_chat
from xmcp.chat.json_values import encode_json, object_as_json
from xmcp.chat.vendor_state import for_vendor
from xmcp.gateway.audit.recording import CallEnded, CallIntended, RequestEnded, RequestSent
from xmcp.gateway.ids import now_ms
from xmcp.wire import ErrorInfo

if TYPE_CHECKING:
    from xmcp.client.hooks.middleware import LLMState, ToolState
    from xmcp.gateway.audit.log import AuditLog
    from xmcp.gateway.audit.recording import OpenRun

OUTBOX_SECONDS: Final = 5.0
"""How long a call waits for its record in the mode `outbox`."""


class AuditMiddleware:
    """Hooks for `AIClient(middleware=[..., AuditMiddleware(log)])`: the last, so that it sees what the model gets.

    Args:
        log: Where it is recorded. A chat belongs to the run that was begun in its context, or in that of the task from
            which its task was made; without a run it is not recorded.
        outbox: Whether a call that may change something waits until its record is committed, and is refused if that
            does not come about. Otherwise it does not wait: a process that dies can lose the records of the last 50 ms.
    """

    def __init__(self, log: AuditLog, *, outbox: bool = False) -> None:
        self._log = log
        self._outbox = outbox

    def before_llm(self, state: LLMState) -> None:
        """Record what the model is about to receive."""
        try:
            if (run := self._log.current_run()) is not None:
                self._sent(run, state)
        except Exception:
            _log.exception(_FAILED, "before_llm")

    def after_llm(self, state: LLMState) -> None:
        """Record what it answered, and what that used."""
        try:
            number = state.chat.state.pop(_NUMBER, None)
            if number is not None and (run := self._log.current_run()) is not None:
                self._answered(run, number, state)
        except Exception:
            _log.exception(_FAILED, "after_llm")

    # Not `async`: the client waits only for what is there to be awaited.
    def before_tool(self, state: ToolState) -> Awaitable[ErrorInfo | None] | None:
        """Record that a tool is about to be called; in the mode `outbox`, refuse a call that cannot be recorded."""
        recorded = False
        try:
            run = self._log.current_run()
            if run is None:
                return None
            recorded = self._intended(run, state)
        except Exception:
            _log.exception(_FAILED, "before_tool")
        return self._committed(recorded) if self._outbox and not state.read_only else None

    def after_tool(self, state: ToolState) -> None:
        """Record how the call ended."""
        try:
            run = self._log.current_run()
            intent = None if run is None else run.calls.get(state.call_id)
            if intent is not None:
                self._log.put(CallEnded(intent, state.response, state.attempts, state.cached, now_ms()), 0)
        except Exception:
            _log.exception(_FAILED, "after_tool")

    async def _committed(self, recorded: bool) -> ErrorInfo | None:
        """Wait until the database has all records so far; return why the call is not made if it does not get them."""
        if recorded and await self._log.flush(OUTBOX_SECONDS) == "committed":
            return None
        return ErrorInfo(
            "UPSTREAM_UNAVAILABLE",
            "The call was not made: it may change something, and its record could not be stored. Try again later.",
            retryable=True,
        )

    def _sent(self, run: OpenRun, state: LLMState) -> None:
        # An iterator can be read only once.
        state.messages = tuple(state.messages)
        # As the provider gets them: a state of its own vendor, and of no other.
        encoded, size, altered = run.encode(for_vendor(state.messages, state.provider))
        run.requests += 1
        state.chat.state[_NUMBER] = run.requests
        sent = RequestSent(
            run, run.requests, state.turn, state.provider, state.model, encoded, state.tools.json, altered, now_ms()
        )
        self._log.put(sent, size + 8 * len(encoded))

    def _answered(self, run: OpenRun, number: int, state: LLMState) -> None:
        answer = state.completion
        error = error_of_chat(state.error) if answer is None else None
        size = 0 if answer is None else len(answer.text) + sum(len(call.arguments) for call in answer.tool_calls)
        ended = RequestEnded(run, number, state.turn, state.provider, state.model, answer, state.usage, error, now_ms())
        self._log.put(ended, size)

    def _intended(self, run: OpenRun, state: ToolState) -> bool:
        """Put the record of a call into the queue; return False if it has no room."""
        intent = CallIntended(
            run,
            state.call_id,
            state.turn,
            state.tool_name,
            state.server,
            _encoded(state.arguments),
            state.read_only,
            now_ms(),
        )
        run.calls[state.call_id] = intent
        return self._log.put(intent, len(intent.arguments))


def _encoded(arguments: dict[str, Any]) -> bytes:
    try:
        return encode_json(arguments)
    except (TypeError, ValueError, RecursionError):
        return encode_json(object_as_json(arguments))


_NUMBER: Final = "xmcp.audit.request"
_FAILED: Final = "the audit failed in %s"
_log: Final = logging.getLogger("xmcp.gateway")
