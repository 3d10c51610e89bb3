"""The outermost middleware: no result and no failure of a tool leaves the server but as a response.

The effects live here: catching, logging, answering. Which failure is which error is decided in
`failures`, and how a result is written in `lanes`.
"""

from __future__ import annotations

import logging
import secrets

import mcp_types
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools.base import InputRequiredToolResult, ToolResult

from xmcp.server.extension import ToolResponseExtension
from xmcp.server.failures import Call, error_for, internal, must_propagate, safe_tool_name
from xmcp.server.lanes import answer, answer_error
from xmcp_models.registry import EXTENSION_ID

logger = logging.getLogger("xmcp.server")


class ResponseMiddleware(Middleware):
    """Makes every tools/call end in a response document; must be the first middleware of its server."""

    async def on_initialize(
        self,
        context: MiddlewareContext[mcp_types.InitializeRequest],
        call_next: CallNext[mcp_types.InitializeRequest, mcp_types.InitializeResult | None],
    ) -> mcp_types.InitializeResult | None:
        """Announce the extension to clients of the handshake eras too."""
        result = await call_next(context)
        if result is not None:
            announced = {EXTENSION_ID: ToolResponseExtension().settings()}
            result.capabilities.extensions = {**(result.capabilities.extensions or {}), **announced}
        return result

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Answer the call with a document, whatever happens below.

        Raises:
            MCPError: the client lacks a capability the tool cannot do without (SEP-2575).
        """
        message = context.message
        tool_name = safe_tool_name(message.name)
        try:
            result = await call_next(context)
            # A question to the client, or what an extension (tasks) answers instead of a result.
            if isinstance(result, InputRequiredToolResult) or not isinstance(result, ToolResult):
                return result
            return answer(tool_name, result)
        except (Exception, SystemExit) as failure:  # a library that calls sys.exit() must not end the server
            if must_propagate(failure):
                raise
            return _answer_failure(failure, Call(message.name, message.arguments or {}, secrets.token_hex(8)))


def _answer_failure(failure: BaseException, call: Call) -> ToolResult:
    tool_name = safe_tool_name(call.tool_name)
    error = error_for(failure, call)
    try:
        result = answer_error(tool_name, error)
    except Exception as unwritable:  # the author's `meta` is no JSON
        failure, error = unwritable, internal(call)
        result = answer_error(tool_name, error)
    if (error.meta or {}).get("error_id") == call.error_id:
        logger.error("The tool %r failed. error_id=%s", call.tool_name, call.error_id, exc_info=failure)
    return result
