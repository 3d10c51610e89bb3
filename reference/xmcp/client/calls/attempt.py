"""One attempt to call a server: a slot, then the call within its time-out, then reading what came back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from xmcp.chat import error_table
from xmcp.chat.errors import CallFailed
from xmcp.client.calls import server_results
from xmcp.client.calls.active_call import ActiveCall, Next, Stage
from xmcp.client.calls.server_results import Reading


def take_slot(slots: asyncio.Semaphore) -> Stage:
    """Return the stage that limits how many calls run at the same time. Waiting calls get their slots in order."""

    async def in_a_slot(call: ActiveCall, proceed: Next) -> Reading:
        async with slots:
            return await proceed(call)

    return in_a_slot


def call_server(timeouts: Mapping[str, float]) -> Stage:
    """Return the last stage, which asks the server. `timeouts`: seconds, by the tool's name for the model, or `*`."""

    async def ask_the_server(call: ActiveCall, _: Next) -> Reading:
        entry, state = call.entry, call.state
        state.attempts += 1
        if state.attempts == 1:
            call.emit(call.request.call)
        seconds = timeouts.get(call.name, timeouts["*"])
        try:
            async with asyncio.timeout(seconds):
                # Each attempt gets a copy, because a tool in this process may change its arguments.
                result = await entry.server.execute_tool_call(entry.tool, dict(call.arguments))
        except TimeoutError as exc:
            raise CallFailed(error_table.timed_out(seconds), transport=True) from exc
        return server_results.read(result, call.name, speaks_xmcp=entry.server.speaks_xmcp)

    return ask_the_server
