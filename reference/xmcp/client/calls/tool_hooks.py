"""The application's middleware around a tool call, and whether a hook changed the response."""

from __future__ import annotations

from typing import Any, Final

import orjson

from xmcp.client.calls import server_results
from xmcp.client.calls.active_call import ActiveCall, Next, Stage
from xmcp.client.calls.server_results import Reading
from xmcp.client.hooks.middleware import Stack
from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse, encode

_JSON_ONLY: Final = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS


def stage(middleware: Stack) -> Stage | None:
    """Return the stage that runs the hooks. One may answer in the tool's place, and any may change the response."""
    if not middleware:
        return None

    async def run_hooks(call: ActiveCall, proceed: Next) -> Reading:
        state = call.state
        async with middleware.around("tool", state, call.log) as instead:
            if isinstance(instead, ErrorInfo):
                reading = server_results.failed(call.name, instead)
            elif isinstance(instead, ToolResponse):
                reading = Reading(instead)
            else:
                reading = await proceed(call)
            state.response = reading.response
            before = snapshot(reading.response)
        if state.response is None or snapshot(state.response) == before:
            return reading
        # What the server sent, its text and its data, no longer counts.
        return Reading(state.response)

    return run_hooks


def snapshot(response: ToolResponse) -> Any:
    """Return a value that is equal for two responses only if both are written as the same document.

    It holds copies of everything that a hook could change in place. For 1 MB, orjson takes 0.2 ms for texts and 2 ms
    for numbers; `encode`, which checks and escapes texts, takes 3 to 120 ms. It is used for what orjson cannot write.

    Raises:
        TypeError, ValueError: the response cannot be written.
    """
    error = response.error
    try:
        data = orjson.dumps([response.display, response.server_populated, error and error.meta], _plain, _JSON_ONLY)
    except TypeError:
        return encode(response, check=False)
    return (
        data,
        response.llm_output,
        error and (error.code, error.message, error.retryable, error.retry_after_ms, error.category),
        (response.tool_name, response.version, response.call_id),
        # The document has these two only as attributes of `llm_output`.
        None if response.llm_output is None else (response.format, response.truncated),
        response.lossy,
        # Not copied: no document has them, so that a change within one needs no other document.
        response.for_person,
    )


def _plain(value: object) -> Any:
    if isinstance(value, DisplayEnvelope):
        return value.to_dict()
    raise TypeError(f"{type(value).__name__} is not written by orjson")
