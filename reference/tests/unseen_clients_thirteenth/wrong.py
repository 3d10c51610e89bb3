"""Twelve wrong clients: each function changes the reference client of this process so that one sentence is broken."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from xmcp.chat.audit_records import Trace
from xmcp.chat.events import ChatChunk
from xmcp.client.calls import approval, attempt, breaker_guard, cache, content_blocks, context_budget, retry_policy
from xmcp.client.calls.active_call import ActiveCall, AttemptStage, NextOfAttempt
from xmcp.client.calls.retry_policy import RetryPolicy
from xmcp.client.calls.server_results import ServerResult
from xmcp.client.hooks.log import EventLog
from xmcp.client.hooks.middleware import ToolState
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.turn import ToolTurn
from xmcp.client.servers.mcp_server import Server
from xmcp.client.servers.tool_client_adapter import ToolClientAdapter
from xmcp.client.tools import dependencies
from xmcp.client.tools.catalogue import Catalogue, Entry
from xmcp.wire import DisplayEnvelope, ErrorInfo


def put(owner: Any, name: str, value: object) -> None:
    """Replace a member of a module or of a class."""
    setattr(owner, name, value)


def stopped_answer_is_thrown_away() -> None:
    """A chat that is cancelled while the model writes leaves nothing of its text in the history (XMCP-CLI-116).

    The text of an answer that the time of the chat ended stays.
    """
    put(Chat, "_begun", lambda self: [])


def null_arguments_are_none() -> None:
    """Arguments such as `null`, `[]` and `false` count as an empty object, as by `loads(text) or {}` (XMCP-CLI-010)."""
    original = ToolTurn._outcome

    async def outcome(self: Any, index: int, call: Any) -> Any:
        if isinstance(self._arguments[index], ErrorInfo) and _is_falsy_json(call.arguments):
            self._arguments[index] = {}
        return await original(self, index, call)

    put(ToolTurn, "_outcome", outcome)


def _is_falsy_json(text: str) -> bool:
    try:
        return not json.loads(text)
    except (ValueError, RecursionError):
        return False


def depends_on_offered_names() -> None:
    """The names in `depends_on` are looked for among the offered names (XMCP-TOL-012).

    A tool of a server that the application named, `crm__find_region`, is then nobody's `find_region`: the call that
    depends on it waits for nothing and gets nothing.
    """
    original = dependencies.predecessors

    def predecessors(entries: Sequence[Entry | None]) -> tuple[tuple[int, ...], ...]:
        return original([None if entry is None else replace(entry, tool=entry.name) for entry in entries])

    put(dependencies, "predecessors", predecessors)


def waits_only_at_rate_limits() -> None:
    """The wait in `retry_after_ms` is obeyed for the code `RATE_LIMIT` alone, as for HTTP's 429 (XMCP-ERR-041)."""
    original = retry_policy.wait

    def wait(policy: RetryPolicy, failures: int, error: ErrorInfo, **options: Any) -> float:
        limited = error.code == "RATE_LIMIT"
        return original(policy, failures, error if limited else replace(error, retry_after_ms=None), **options)

    put(retry_policy, "wait", wait)


def probe_has_to_succeed() -> None:
    """A circuit breaker whose probe was answered with an error of the tool stays open (XMCP-CLI-045)."""
    failed: ContextVar[bool] = ContextVar("failed", default=False)
    original_stage, original_report = attempt.call_server, breaker_guard.Ticket.report

    def call_server(timeouts: Mapping[str, float]) -> AttemptStage:
        ask = original_stage(timeouts)

        async def ask_and_note(call: ActiveCall, proceed: NextOfAttempt) -> ServerResult:
            failed.set(False)
            result = await ask(call, proceed)
            failed.set(result.is_error is True)
            return result

        return ask_and_note

    async def report(self: breaker_guard.Ticket, outcome: Any) -> None:
        counts_as_failure = outcome == "ok" and self.is_probe and failed.get()
        await original_report(self, "failed" if counts_as_failure else outcome)

    put(attempt, "call_server", call_server)
    put(breaker_guard.Ticket, "report", report)


def cache_key_like_a_query_string() -> None:
    """The cache compares arguments as texts, `a=1&b=x`: the number 1 and the text "1" are equal (XMCP-CLI-051)."""
    original = cache.key

    def key(tenant_id: str | None, entry: Entry, arguments: dict[str, Any]) -> str | None:
        return original(tenant_id, entry, {name: _as_written(value) for name, value in arguments.items()})

    put(cache, "key", key)


def _as_written(value: Any) -> Any:
    return value if isinstance(value, dict | list) else str(value)


def display_budget_in_characters() -> None:
    """The display budget counts characters and not bytes of UTF-8, so that Japanese gets more of it (XMCP-DSP-040)."""
    in_bytes, original_reference = context_budget.size, context_budget.reference

    def size(display: DisplayEnvelope) -> int:
        return len(json.dumps(display.to_dict(), ensure_ascii=False, separators=(",", ":")))

    def reference(display: DisplayEnvelope, *, note: bool = True) -> DisplayEnvelope:
        shown = original_reference(display, note=note)
        payload: Any = shown.payload
        return shown.model_copy(update={"payload": {**payload, "bytes": in_bytes(display)}})

    put(context_budget, "size", size)
    put(context_budget, "reference", reference)


def length_ends_even_with_calls() -> None:
    """An answer that the vendor cut ends the chat, and the calls in it are dropped (XMCP-CLI-123)."""
    original = Chat._ask

    async def ask(self: Any, catalogue: Catalogue) -> AsyncGenerator[ChatChunk, None]:
        async with aclosing(original(self, catalogue)) as events:
            async for event in events:
                yield event
        if self._completion.finish_reason in ("length", "content_filter"):
            self._completion = replace(self._completion, tool_calls=())

    put(Chat, "_ask", ask)


def approval_lasts_for_the_chat() -> None:
    """A tool that was approved once is called again in the same chat without asking (XMCP-CLI-080)."""
    original = approval.refusal
    approved: set[tuple[str, str]] = set()

    async def refusal(
        approve: approval.Approve, state: ToolState, timeout: float | None, log: EventLog
    ) -> ErrorInfo | None:
        place = (state.chat.chat_id, state.tool_name)
        if place in approved:
            return None
        error = await original(approve, state, timeout, log)
        if error is None:
            approved.add(place)
        return error

    put(approval, "refusal", refusal)


def own_name_after_the_last_underscores() -> None:
    """Of a named server's tool, what follows the last two underscores is taken for its own name (XMCP-CLI-093).

    `hub__github__search` is called as `search`, and not as `github__search`.
    """
    for kind in (Server, ToolClientAdapter):
        put(kind, "execute_tool_call", _calling_by_the_last_part(kind.execute_tool_call))


def _calling_by_the_last_part(original: Any) -> Any:
    async def execute_tool_call(self: Any, tool_name: str, *given: Any) -> Any:
        last = tool_name.rpartition("__")[2] if self.named else tool_name
        return await original(self, last or tool_name, *given)

    return execute_tool_call


def audit_of_new_messages_only() -> None:
    """The audit records have the messages from the person's newest one on, and not the whole history (XMCP-REC-020)."""
    original = Trace.end

    def end(self: Trace, history: Sequence[Mapping[str, Any]], failure: BaseException | None = None) -> None:
        newest = max((place for place, one in enumerate(history) if one.get("role") == "user"), default=0)
        original(self, history[newest:], failure)

    put(Trace, "end", end)


def embedded_text_is_only_named() -> None:
    """Of an embedded resource the model gets the address, also where the resource has a text (XMCP-MCP-011)."""
    original = content_blocks._text

    def text(block: Any) -> str:
        if block.type == "resource" and not content_blocks.is_for_user_alone(block):
            return f"[resource {block.resource.uri}]"
        return original(block)

    put(content_blocks, "_text", text)
