"""The outermost middleware: no result and no failure of a tool leaves the server but as a response.

The effects live here: catching, logging, answering. Which failure is which error is decided in
`failures`, who gets documents in `negotiation`, and what is sent in `outgoing`.
"""

from __future__ import annotations

import asyncio
import time
from asyncio import CancelledError
from collections.abc import Mapping, Sequence
from typing import Any, Final

import mcp_types
from fastmcp.server.context import Context
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool
from fastmcp.tools.base import InputRequiredToolResult, ToolResult
from mcp_types import CallToolResult

from xmcp.server import telemetry
from xmcp.server.call import Call, current_call
from xmcp.server.parameters.sensitive import Secrets
from xmcp.server.responses.capability import Reader, Wire, declared_by, reader_for
from xmcp.server.responses.delivery import answer, answer_error
from xmcp.server.responses.extension import announcement
from xmcp.server.responses.failures import cause_of, error_for, internal, must_propagate
from xmcp.server.tool_ordering import as_listed
from xmcp.wire import ErrorInfo
from xmcp_models.registry import EXTENSION_ID

_NOT_OURS: Final = (KeyboardInterrupt, GeneratorExit)
"""What is not the failure of a call; all else, such as the `sys.exit()` of a library, must not end the server."""


class ResponseMiddleware(Middleware):
    """Makes every tools/call end in a response; must be the first middleware of its server."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def on_initialize(
        self,
        context: MiddlewareContext[mcp_types.InitializeRequest],
        call_next: CallNext[mcp_types.InitializeRequest, mcp_types.InitializeResult | None],
    ) -> mcp_types.InitializeResult | None:
        """Announce the extension to clients of the handshake eras too."""
        result = await call_next(context)
        if result is not None:
            announced = {EXTENSION_ID: announcement(self._wire)}
            result.capabilities.extensions = {**(result.capabilities.extensions or {}), **announced}
        return result

    async def on_list_tools(
        self,
        context: MiddlewareContext[mcp_types.ListToolsRequest],
        call_next: CallNext[mcp_types.ListToolsRequest, Sequence[Tool]],
    ) -> Sequence[Tool]:
        """List the tools with metadata that is right in this very list (XMCP-TOL-010, XMCP-TOL-011)."""
        return as_listed(await call_next(context))

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Answer the call with a response, whatever happens below.

        A call that another XMCP server of this process hands on, or that a tool makes while it answers the same
        request, stays in the lanes and fails as in FastMCP: only what leaves the process is written.

        Raises:
            MCPError: the client lacks a capability the tool cannot do without (SEP-2575).
        """
        message = context.message
        request = context.fastmcp_context.request_context if context.fastmcp_context else None
        outer = current_call.get()
        if outer is not None and outer.request is request:
            return await call_next(context)
        call = Call(message.name, message.arguments or {}, request)
        token = current_call.set(call)
        try:
            return await self._answered(context, call_next, call)
        finally:
            current_call.reset(token)

    async def _answered(self, context: Any, call_next: Any, call: Call) -> ToolResult:
        reader = reader_for(self._wire, declared_by(context.fastmcp_context))
        request_id = _request_id(context.fastmcp_context)
        begun = time.perf_counter()
        error: ErrorInfo | None = None
        outcome = telemetry.ERROR
        try:
            try:
                result = await call_next(context)
                if isinstance(result, CallToolResult):  # of somebody's middleware
                    result = ToolResult.from_mcp_result(result)
                if _is_no_answer_yet(result):
                    outcome = telemetry.INPUT_REQUIRED
                    return result  # type: ignore[no-any-return]
                result, error = answer(call, result, reader)
            except _NOT_OURS:
                raise
            except BaseException as failure:
                if isinstance(failure, CancelledError) and _is_being_cancelled():
                    outcome = telemetry.CANCELLED
                    raise
                if must_propagate(failure):
                    raise
                result, error = _failed(failure, call, reader)
            if error is None:
                outcome = telemetry.OK
            return result
        finally:
            telemetry.tell(call, outcome, time.perf_counter() - begun, request_id, error)


def _is_no_answer_yet(result: object) -> bool:
    """Say whether it is a question to the client, or what an extension (tasks) answers instead of a result."""
    return isinstance(result, InputRequiredToolResult) or not isinstance(result, ToolResult)


def _is_being_cancelled() -> bool:
    """Say whether somebody cancels this call; else a tool let the cancellation of something else out."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _failed(failure: BaseException, call: Call, reader: Reader) -> tuple[ToolResult, ErrorInfo | None]:
    try:
        error = error_for(failure, call)
        if call.sensitive:
            error = Secrets(call.sensitive).out_of_error(error)
        answered = answer_error(call, error, _told_of(failure, call), reader)
    except Exception as unwritable:  # the author's `meta` is no JSON, or the exception cannot even say what it is
        failure, error = unwritable, internal(call)
        answered = answer_error(call, error, None, reader)
    _logged(failure, call, error)
    return answered


def _told_of(failure: BaseException, call: Call) -> Mapping[str, Any] | None:
    """Return what was filled in for the tool whose failure it is; not for one that failed inside and was forgiven."""
    if call.failed_with is None:
        return None
    raised, told = call.failed_with
    return told if cause_of(raised) is cause_of(failure) else None


def _logged(failure: BaseException, call: Call, error: ErrorInfo) -> ErrorInfo:
    """Write what the client is not told into the log, under the id that it is told."""
    if (error.meta or {}).get("error_id") == call.error_id:
        telemetry.tell_failure(call, cause_of(failure))
    return error


def _request_id(context: Context | None) -> str | None:
    request = context.request_context if context is not None else None
    return None if request is None or request.request_id is None else str(request.request_id)
