"""Clients that break one sentence each. A function changes the reference client in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mcp.client.session import ClientSession
from mcp_types import ClientCapabilities
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from xmcp.chat import client_made_errors
from xmcp.chat.errors import CallFailed, CircuitOpenError
from xmcp.chat.events import ToolDisplay, ToolError, ToolEvent
from xmcp.chat.tool_schemas import legal_name
from xmcp.client.calls import attempt, breaker_guard, cache, retry_policy, server_results
from xmcp.client.calls.active_call import ActiveCall, AttemptStage, Next, NextOfAttempt, Retrying, Stage
from xmcp.client.calls.breaker_guard import BreakerGuard
from xmcp.client.calls.retry_policy import RetryPolicy
from xmcp.client.calls.server_results import Reading, ServerResult
from xmcp.client.loop.turn import ToolTurn
from xmcp.client.servers.mcp_server import Server
from xmcp.client.slots import Slots
from xmcp.client.tools import catalogue, dependencies, names
from xmcp.client.tools.catalogue import Entry
from xmcp.client.tools.names import Exposed, Listing, Names
from xmcp.storage.breakers import BreakerStore, Outcome
from xmcp.wire import ErrorInfo
from xmcp_models.registry import EXTENSION_ID

_LEFT_ALONE: set[asyncio.Task[Any]] = set()
"""Requests that go on although nobody waits for them."""


def _leave(asking: asyncio.Task[Any]) -> None:
    _LEFT_ALONE.add(asking)

    def ended(task: asyncio.Task[Any]) -> None:
        _LEFT_ALONE.discard(task)
        if not task.cancelled():
            task.exception()

    asking.add_done_callback(ended)


async def _stop(asking: asyncio.Task[Any]) -> None:
    asking.cancel()
    await asyncio.wait({asking}, timeout=2.0)


def _begin(call: ActiveCall) -> asyncio.Task[ServerResult]:
    call.state.attempts += 1
    if call.state.attempts == 1:
        call.emit(call.request.call)

    async def ask() -> ServerResult:
        return await call.entry.server.execute_tool_call(call.entry.tool, dict(call.arguments))

    return asyncio.create_task(ask())


def late_reads_run_on() -> None:
    """A call of a read-only tool that is out of time is given up here, and never cancelled at the server."""

    def call_server(timeouts: Mapping[str, float]) -> AttemptStage:
        async def ask_the_server(call: ActiveCall, _: NextOfAttempt) -> ServerResult:
            seconds = timeouts.get(call.name, timeouts["*"])
            asking = _begin(call)
            try:
                async with asyncio.timeout(seconds):
                    return await asyncio.shield(asking)
            except TimeoutError as exc:
                if call.entry.read_only:  # it changes nothing, so it can as well come to its end
                    _leave(asking)
                else:
                    await _stop(asking)
                raise CallFailed(client_made_errors.timed_out(seconds), cause="time_out") from exc
            except asyncio.CancelledError:
                await _stop(asking)
                raise

        return ask_the_server

    attempt.call_server = call_server


def idempotent_counts_as_read_only() -> None:
    """Where the application lets read-only tools be cached, idempotent ones are cached as well."""

    def can_be_cached(entry: Entry, *, read_only_too: bool) -> bool:
        safe = entry.read_only or entry.idempotent
        return entry.tool != "health_check" and (entry.cacheable or (read_only_too and safe))

    cache.can_be_cached = can_be_cached


def alone_without_prefix() -> None:
    """The only server of a client needs no prefix, although the application named it."""

    def expose_each(listings: Sequence[Listing], kept: Names | None = None) -> list[tuple[list[Exposed], list[str]]]:
        if len(listings) == 1:
            listings = [replace(listings[0], named=False)]
        return names.expose_each(listings, kept)

    catalogue.expose_each = expose_each  # type: ignore[attr-defined]


def shown_before_it_failed() -> None:
    """The display of a call that failed comes before its `tool_error`."""
    in_order = ToolTurn._outcome_events

    def events(self: ToolTurn, index: int) -> Sequence[ToolEvent]:
        made = in_order(self, index)
        if not any(isinstance(event, ToolError) for event in made):
            return made
        shown = [event for event in made if isinstance(event, ToolDisplay)]
        return [*shown, *(event for event in made if not isinstance(event, ToolDisplay))]

    ToolTurn._outcome_events = events  # type: ignore[method-assign]


def experimental_in_both_eras() -> None:
    """The declaration is under `experimental`, also where the protocol has `extensions`."""
    build = ClientSession._build_capabilities

    def capabilities(self: ClientSession, version: str) -> ClientCapabilities:
        made = build(self, version)
        extensions = dict(made.extensions or {})
        if version not in MODERN_PROTOCOL_VERSIONS or EXTENSION_ID not in extensions:
            return made
        experimental = {**(made.experimental or {}), EXTENSION_ID: extensions.pop(EXTENSION_ID)}
        return made.model_copy(update={"experimental": experimental, "extensions": extensions or None})

    ClientSession._build_capabilities = capabilities  # type: ignore[method-assign]


def probe_needs_a_result() -> None:
    """A probe that is answered with a protocol error leaves the breaker open for its whole time again."""

    outcomes: Mapping[str, Outcome] = {"answer": "ok", "connection": "lost", "time_out": "failed", "client": "unknown"}

    def stage(breakers: BreakerStore | None) -> AttemptStage | None:
        if breakers is None:
            return None
        guard = BreakerGuard(breakers)

        async def ask_the_breaker(call: ActiveCall, proceed: NextOfAttempt) -> ServerResult:
            try:
                ticket = await guard.admit(call.entry.server, call.log)
            except CircuitOpenError as exc:
                sent = call.state.attempts > 0
                raise CallFailed(client_made_errors.circuit_open(exc.server, exc.retry_after, sent=sent)) from exc
            outcome: Outcome = "unknown"
            try:
                result = await proceed(call)
                outcome = "ok"
                return result
            except CallFailed as exc:
                outcome = outcomes[exc.cause]
                if outcome == "ok" and ticket.is_probe:
                    outcome = "failed"
                if outcome == "lost":
                    if call.loss_reported and not ticket.is_probe:
                        outcome = "unknown"
                    call.loss_reported = True
                raise
            finally:
                await ticket.report(outcome)

        return ask_the_breaker

    breaker_guard.stage = stage


def called_as_the_model_can_write_it() -> None:
    """A tool whose own name no model can write is called by the name with other characters in it."""
    execute = Server.execute_tool_call

    async def execute_tool_call(self: Server, tool_name: str, *given: Any) -> ServerResult:
        return await execute(self, legal_name(tool_name), *given)

    Server.execute_tool_call = execute_tool_call  # type: ignore[method-assign]


def late_chats_leave_their_calls() -> None:
    """Calls of a chat whose time is over are answered here, and go on at the server."""

    def call_server(timeouts: Mapping[str, float]) -> AttemptStage:
        async def ask_the_server(call: ActiveCall, _: NextOfAttempt) -> ServerResult:
            seconds = timeouts.get(call.name, timeouts["*"])
            asking = _begin(call)
            try:
                async with asyncio.timeout(seconds):
                    return await asyncio.shield(asking)
            except TimeoutError as exc:
                await _stop(asking)
                raise CallFailed(client_made_errors.timed_out(seconds), cause="time_out") from exc
            except asyncio.CancelledError:
                deadline = call.scope.deadline
                if deadline is not None and asyncio.get_running_loop().time() >= deadline:
                    _leave(asking)
                else:
                    await _stop(asking)
                raise

        return ask_the_server

    attempt.call_server = call_server


def shown_is_answered() -> None:
    """A failed call that brought a display counts as one that answered with it, so that the chat can end."""

    def shows_all(self: ToolTurn) -> bool:
        ended = [outcome.response for outcome in self.outcomes if outcome is not None]
        return (
            len(ended) == len(self._calls)
            and all(response.error is None or response.display is not None for response in ended)
            and dependencies.shows_all(self._predecessors, [response.display is not None for response in ended])
        )

    ToolTurn.shows_all = property(shows_all)  # type: ignore[method-assign, assignment]


def each_chat_a_tenant() -> None:
    """Each chat without a tenant has a turn of its own among those that wait for a slot."""

    def take_slot(slots: Slots) -> AttemptStage:
        async def in_a_slot(call: ActiveCall, proceed: NextOfAttempt) -> ServerResult:
            context = call.scope.context
            who = f"chat {context.chat_id}" if context.tenant_id is None else f"tenant {context.tenant_id}"
            await slots.take(who)
            try:
                return await proceed(call)
            finally:
                slots.give_back(who)

        return in_a_slot

    attempt.take_slot = take_slot


def the_servers_last_word() -> None:
    """A call whose last attempt lost its connection is answered with what the server said to an earlier one."""

    def stage(policy: RetryPolicy, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> Stage:
        async def retry(call: ActiveCall, proceed: Next) -> Reading:
            now = asyncio.get_running_loop().time
            begun, failures, doubtful = now(), 0, False
            said: Reading | None = None
            while True:
                last = None
                try:
                    reading = await proceed(call)
                    said = reading
                except CallFailed as exc:
                    reading = server_results.failed(call.name, exc.error)
                    last = retry_policy._in_doubt(exc.error) if doubtful else None
                error = reading.response.error
                given_up = reading if last is None else server_results.failed(call.name, last)
                if error is not None and error.code == "CONNECTION_FAILED" and said is not None:
                    given_up = said
                if error is None or not retry_policy.allowed(error, call.entry):
                    return given_up
                doubtful |= (error.meta or {}).get("side_effects") != "none"
                failures += 1
                pause, until = retry_policy.wait(policy, failures, error), call.deadline()
                left = None if until is None else until - now()
                if retry_policy.ends(policy, failures, pause, now() - begun, left):
                    return given_up
                if call.state.attempts:
                    call.emit(Retrying(call.request.call, call.state.attempts, round(pause * 1000), error))
                await sleep(pause)

        return retry

    retry_policy.stage = stage


def refused_for_its_rate_is_safe() -> None:
    """A call that the server says is too frequent is made again, whatever its tool says of itself."""

    def allowed(error: ErrorInfo, entry: Entry) -> bool:
        if not error.retryable or error.code == "CIRCUIT_OPEN":
            return False
        if error.category == "rate_limited":  # the server has not even begun with it
            return True
        return entry.read_only or entry.idempotent or (error.meta or {}).get("side_effects") == "none"

    retry_policy.allowed = allowed
