"""One attempt to call a server: a slot, the call within its time-out; then, without a slot, reading the result."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial

from xmcp.chat import client_made_errors
from xmcp.chat.errors import CallFailed
from xmcp.client.calls import server_results
from xmcp.client.calls.active_call import ActiveCall, AttemptStage, NextOfAttempt
from xmcp.client.calls.server_results import Reading, ServerResult
from xmcp.client.calls.worker_threads import in_worker_if_large


async def read_result(call: ActiveCall, proceed: NextOfAttempt) -> Reading:
    """Read what the server returned.

    The slot is free by then: a large document that is decoded must hold up no other call. The breaker has its
    report: a result that cannot be read says nothing against the connection.
    """
    result = await proceed(call)
    read = partial(server_results.read, speaks_xmcp=call.entry.server.speaks_xmcp)
    return await in_worker_if_large(server_results.rough_length(result), read, result, call.name)


def take_slot(slots: asyncio.Semaphore) -> AttemptStage:
    """Return the stage that bounds how many calls run at once. Calls that wait get their slots in order."""

    async def in_a_slot(call: ActiveCall, proceed: NextOfAttempt) -> ServerResult:
        async with slots:
            return await proceed(call)

    return in_a_slot


def call_server(timeouts: Mapping[str, float]) -> AttemptStage:
    """Return the last stage, which asks the server. `timeouts`: seconds, by the tool's name for the model, or `*`."""

    async def ask_the_server(call: ActiveCall, _: NextOfAttempt) -> ServerResult:
        entry, state = call.entry, call.state
        state.attempts += 1
        if state.attempts == 1:
            call.emit(call.request.call)
        seconds = timeouts.get(call.name, timeouts["*"])
        try:
            async with asyncio.timeout(seconds):
                # A copy for each attempt: a tool in this process may change what it is given.
                return await entry.server.execute_tool_call(entry.tool, dict(call.arguments))
        except TimeoutError as exc:
            raise CallFailed(client_made_errors.timed_out(seconds), transport=True) from exc

    return ask_the_server
