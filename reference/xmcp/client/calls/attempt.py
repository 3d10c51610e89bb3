"""One attempt to call a server: a slot, the call within its time-out; then, without a slot, reading the result."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from functools import partial
from typing import Final

from xmcp.chat import client_made_errors
from xmcp.chat.errors import CallFailed
from xmcp.client.calls import server_results
from xmcp.client.calls.active_call import ActiveCall, AttemptStage, NextOfAttempt
from xmcp.client.calls.progress import AttemptProgress
from xmcp.client.calls.server_results import Reading, ServerResult
from xmcp.client.calls.worker_threads import in_worker_if_large
from xmcp.client.slots import Slots
from xmcp.wire import ErrorInfo

_MISSING_TOOL: Final = re.compile(
    r"(?i)\b(?:unknown|no such) tool\b|\btool\b.{0,150}?\b(?:not found|not exist|unknown)\b", re.DOTALL
)
"""How plain servers say that they do not have a tool. The SDKs of MCP: `Unknown tool: x`, `Tool x not found`."""
MAX_MISSING_TOOL_TEXT: Final = 300
"""Number of characters at the beginning of a plain server's error in which such words are looked for."""


async def read_result(call: ActiveCall, proceed: NextOfAttempt) -> Reading:
    """Read what the server returned.

    The slot is free by then: a large document that is decoded must hold up no other call. The breaker has its
    report: a result that cannot be read says nothing against the connection.
    """
    server = call.entry.server
    try:
        result = await proceed(call)
    except CallFailed as exc:
        if says_that_the_tool_is_missing(exc.error):
            server.report_missing_tool()
        raise
    read = partial(server_results.read, speaks_xmcp=server.speaks_xmcp)
    reading = await in_worker_if_large(server_results.rough_length(result), read, result, call.name)
    if reading.response.error is not None and says_that_the_tool_is_missing(reading.response.error):
        server.report_missing_tool()
    return reading


def says_that_the_tool_is_missing(error: ErrorInfo) -> bool:
    """Return whether a server's error says that it does not have the tool of the call (XMCP-CLI-121)."""
    if error.code in ("TOOL_ERROR", "VALIDATION_FAIL"):  # a protocol error about an unknown tool has either code
        return _MISSING_TOOL.search(error.message[:MAX_MISSING_TOOL_TEXT]) is not None
    return error.code == "UNKNOWN_TOOL"


def take_slot(slots: Slots) -> AttemptStage:
    """Return the stage that bounds how many calls run at once, fairly by tenant."""

    async def in_a_slot(call: ActiveCall, proceed: NextOfAttempt) -> ServerResult:
        await slots.take(call.scope.context.tenant_id)
        try:
            return await proceed(call)
        finally:
            slots.give_back(call.scope.context.tenant_id)

    return in_a_slot


def call_server(timeouts: Mapping[str, float]) -> AttemptStage:
    """Return the last stage, which asks the server. `timeouts`: seconds, by the tool's name for the model, or `*`."""

    async def ask_the_server(call: ActiveCall, _: NextOfAttempt) -> ServerResult:
        entry, state = call.entry, call.state
        state.attempts += 1
        if state.attempts == 1:
            call.emit(call.request.call)
        seconds = timeouts.get(call.name, timeouts["*"])
        # To the chat that was told of the attempt, also if an equal call inherits it.
        progress = AttemptProgress(call.request.call, call.emit)
        try:
            async with asyncio.timeout(seconds):
                # A copy for each attempt: a tool in this process may change what it is given.
                return await entry.server.execute_tool_call(entry.tool, dict(call.arguments), progress.report)
        except TimeoutError as exc:
            raise CallFailed(client_made_errors.timed_out(seconds), cause="time_out") from exc
        finally:
            progress.end()

    return ask_the_server
