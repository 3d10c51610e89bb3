"""The outermost middleware: every result and every failure of a tool leaves the server as a tool response.

It catches, logs and answers. The decisions are in `responses`: which failure is which error in `failures`, what the
client reads in `capability`, what is sent in `delivery`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import mcp_types
from fastmcp.exceptions import ToolError
from fastmcp.server.context import Context
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool
from fastmcp.tools.base import InputRequiredToolResult, ToolResult
from mcp_types import CallToolResult

from xmcp.server import telemetry
from xmcp.server.call_state import ServedCall, current_call
from xmcp.server.containment import ends_its_task
from xmcp.server.errors import XMCPError
from xmcp.server.fastmcp_internals.failures import raised_by_fastmcp
from xmcp.server.parameters.sensitive import Secrets
from xmcp.server.relayed_calls import with_checked_arguments
from xmcp.server.responses.capability import Reader, Wire, announcement, declared_by, reader_for
from xmcp.server.responses.delivery import deliver, deliver_error
from xmcp.server.responses.failures import cause_of, error_for, internal, must_propagate
from xmcp.server.responses.listed_data import as_listed_to, is_unlisted, lists_schema, unmark
from xmcp.server.tool_metadata import saying_where_its_value_is
from xmcp.server.tool_ordering import as_listed
from xmcp.wire import ErrorInfo
from xmcp_models.registry import (
    DISPLAY_META_KEY,
    EXTENSION_ID,
    POPULATED_META_KEY,
    RESULT_META_KEY,
)


class ResponseMiddleware(Middleware):
    """Answers every `tools/call` with a response; must be the first middleware of its server."""

    def __init__(self, wire: Wire, mask_error_details: bool | None = None) -> None:
        self._wire = wire
        self._mask_error_details = mask_error_details

    async def on_initialize(
        self,
        context: MiddlewareContext[mcp_types.InitializeRequest],
        call_next: CallNext[mcp_types.InitializeRequest, mcp_types.InitializeResult | None],
    ) -> mcp_types.InitializeResult | None:
        """Announce the extension also in the answer of an `initialize` handshake."""
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
        """List the tools with dependencies that are valid in this list (XMCP-TOL-010, XMCP-TOL-011).

        A client that did not declare the extension is not promised data that a formatter hides from its model, and
        gets no metadata that FastMCP would not send.
        """
        tools = as_listed_to(
            as_listed(await call_next(context)), declared=self._reader(context.fastmcp_context).declared
        )
        is_told = reader_for(self._wire, declared_by(context.fastmcp_context)).declared
        return [saying_where_its_value_is(tool) for tool in tools] if is_told else tools

    def _reader(self, context: Context | None) -> Reader:
        """Return what the client reads that sent the message; a call of the program itself reads everything."""
        reader = reader_for(self._wire, declared_by(context))
        is_program = context is None or context.request_context is None
        return reader._replace(declared=True) if is_program else reader

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Answer the call with a response, even if anything in it fails.

        A call from another XMCP server of this process, or from a tool that is answering the same request, stays a
        plain MCP result and fails as in FastMCP: only what leaves the process becomes a document. A call that the
        program itself makes, with `await mcp.call_tool(…)` outside any request, raises its failure as in FastMCP.

        Raises:
            MCPError: The client lacks a capability that the tool needs (SEP-2575).
            Exception: The failure of a call that is no request. An unexpected one is an `XMCPError` with the code
                `INTERNAL`, whose cause it is.
        """
        message = context.message
        request = context.fastmcp_context.request_context if context.fastmcp_context else None
        outer = current_call.get()
        if outer is not None and outer.request is request:
            outer.hand_on(message.arguments or {})
            try:
                return await call_next(context)
            except ToolError as failure:
                if outer.mask_error_details is not False and raised_by_fastmcp(failure):
                    _mask(failure)
                raise
        call = ServedCall(message.name, message.arguments or {}, request)
        call.mask_error_details = self._mask_error_details
        reader = self._reader(context.fastmcp_context)
        call.shows_displays = reader.declared
        call.server = context.fastmcp_context.fastmcp if context.fastmcp_context else None

        async def run() -> ToolResult:
            result: ToolResult = await with_checked_arguments(call_next, context, call)
            if not reader.declared and is_unlisted(result) and await _lists_its_schema(context, call):
                unmark(result)
            return result

        answered = await answer(call, run, reader, _request_id(context.fastmcp_context))
        if request is None and call.raised is not None:
            raise call.raised
        return answered


async def _lists_its_schema(context: MiddlewareContext[mcp_types.CallToolRequestParams], call: ServedCall) -> bool:
    """Tell whether the tool lists an output schema to this client; a tool that transforms another has its own."""
    tool = call.tool  # a server that is asked for it again asks every server behind it
    if tool is None and context.fastmcp_context is not None:
        tool = await context.fastmcp_context.fastmcp.get_tool(call.tool_name)
    return tool is not None and lists_schema(tool)


def _mask(failure: ToolError) -> None:
    """Remove an exception's text from FastMCP's report of it: its code mode shows that to code that a model wrote."""
    what, colon, _ = str(failure).partition(": ")
    if colon and what.startswith("Error calling tool "):
        failure.args = (what,)


async def answer(
    call: ServedCall, run: Callable[[], Awaitable[ToolResult]], reader: Reader, request_id: str | None = None
) -> ToolResult:
    """Return what the client is sent for `call`, which `run` makes; also for its failure.

    Raises:
        MCPError: The client lacks a capability that the tool needs (SEP-2575).
    """
    task = asyncio.current_task()
    begun = time.perf_counter()
    error: ErrorInfo | None = None
    outcome = telemetry.ERROR
    token = current_call.set(call)
    try:
        try:
            result = await run()
            if isinstance(result, CallToolResult):  # from a middleware
                result = ToolResult.from_mcp_result(result)
            if isinstance(result, InputRequiredToolResult):
                outcome = telemetry.INPUT_REQUIRED
                return result
            if not isinstance(result, ToolResult):  # what an extension answers with: a task
                outcome = telemetry.TASK
                return result
            if call.sensitive:
                result = _without_secrets(result, Secrets(call.sensitive))
            result, error = deliver(call, result, reader)
        except BaseException as failure:
            if ends_its_task(failure, task):
                outcome = telemetry.CANCELLED
                raise
            if must_propagate(failure):
                raise
            result, error = answer_failure(failure, call, reader)
        if error is None:
            outcome = telemetry.OK
        return result
    finally:
        current_call.reset(token)
        telemetry.record_call(call, outcome, time.perf_counter() - begun, request_id, error)


def _without_secrets(result: ToolResult, secrets: Secrets) -> ToolResult:
    """Return `result` without the secrets: a tool that called another one may have written down the other's failure.

    A word of the protocol stays, even if it is a secret too.
    """
    cleaned = secrets.out_of_result(result)
    meta = result.meta or {}
    if cleaned.meta is not None:
        cleaned.meta |= {key: meta[key] for key in _CLEAN_KEYS & meta.keys()}
        display, shown = cleaned.meta.get(DISPLAY_META_KEY), meta.get(DISPLAY_META_KEY)
        if isinstance(display, Mapping) and isinstance(shown, Mapping) and "type" in shown:
            cleaned.meta[DISPLAY_META_KEY] = {**display, "type": shown["type"]}
    return cleaned


_CLEAN_KEYS: Final = frozenset({POPULATED_META_KEY, RESULT_META_KEY})
"""Members of `_meta` that hold nothing of a tool's text."""


def answer_failure(failure: BaseException, call: ServedCall, reader: Reader) -> tuple[ToolResult, ErrorInfo | None]:
    """Log `failure`, and return what the client is sent for it and the error in that."""
    try:
        error = error_for(failure, call)
        if call.sensitive:
            error = Secrets(call.sensitive).out_of_error(error)
        answered = deliver_error(call, error, _server_populated(failure, call), reader)
    except Exception as unwritable:  # the author's `meta` is not JSON, or the exception's __str__ fails
        failure, error = unwritable, internal(call)
        answered = deliver_error(call, error, None, reader)
    _logged(failure, call, error)
    call.raised = _for_the_program(failure, call, error)
    return answered


def _for_the_program(failure: BaseException, call: ServedCall, error: ErrorInfo) -> BaseException:
    """Return the failure itself, or the error in its place where FastMCP masks it or only the log has its text."""
    withheld = _refers_to_the_log(error, call) or call.sensitive or cause_of(failure) is not failure
    if isinstance(failure, Exception) and not withheld:
        return failure
    raised = XMCPError.of(error)
    raised.__cause__ = cause_of(failure)
    return raised


def _server_populated(failure: BaseException, call: ServedCall) -> Mapping[str, Any] | None:
    """Return the parameters that were filled in for the tool that raised `failure`.

    None for a tool called by another one that caught its failure.
    """
    if call.failed_with is None:
        return None
    raised, server_populated = call.failed_with
    return server_populated if cause_of(raised) is cause_of(failure) else None


def _logged(failure: BaseException, call: ServedCall, error: ErrorInfo) -> ErrorInfo:
    """Log the failure if the error that the client gets refers to the log."""
    if _refers_to_the_log(error, call):
        telemetry.record_failure(call, cause_of(failure))
    return error


def _refers_to_the_log(error: ErrorInfo, call: ServedCall) -> bool:
    return (error.meta or {}).get("error_id") == call.error_id


def _request_id(context: Context | None) -> str | None:
    request = context.request_context if context is not None else None
    return None if request is None or request.request_id is None else str(request.request_id)
