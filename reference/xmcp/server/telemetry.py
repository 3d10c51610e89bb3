"""The log record and the span attributes of each call, for the people who run the server.

Arguments and results are never logged, because they belong to the caller. Cheap if nothing is logged or traced.
"""

from __future__ import annotations

import logging
from typing import Final

from opentelemetry.trace import Span, StatusCode

from xmcp.server.call_state import ServedCall, current_call
from xmcp.server.fastmcp_internals.telemetry import active_request_span, handlers_that_draw
from xmcp.server.responses.failures import safe_tool_name
from xmcp.wire import ErrorInfo

logger: Final = logging.getLogger("xmcp.server")

CANCELLED: Final = "cancelled"
INPUT_REQUIRED: Final = "input_required"
TASK: Final = "task"
OK: Final = "ok"
ERROR: Final = "error"


_LIBRARIES: Final = ("fastmcp.", "anyio.", "pydantic.", "mcp.", "xmcp.server.")
"""Modules whose frames say nothing about the author's code."""


def _is_drawn(record: logging.LogRecord) -> bool:
    """Tell whether a handler of FastMCP draws `record`: not the traceback of a failure that XMCP answers and logs."""
    ours = current_call.get() is not None and str(record.msg).startswith("Error calling tool")
    return not (ours and record.exc_info)


def _without_second_drawing(_record: logging.LogRecord) -> bool:
    """Let every record pass; FastMCP may have made its handlers anew. Drawing a traceback takes 20 ms."""
    for handler in handlers_that_draw():
        handler.addFilter(_is_drawn)
    return True


logging.getLogger("fastmcp.server.server").addFilter(_without_second_drawing)


def record_failure(call: ServedCall, failure: BaseException) -> None:
    """Log the details of `failure` under the error id that the client gets instead of them (XMCP-ERR-030).

    The traceback begins at the author's code; the frames above it are the same for every tool.
    """
    trace = failure.__traceback__
    while trace is not None and str(trace.tb_frame.f_globals.get("__name__")).startswith(_LIBRARIES):
        trace = trace.tb_next
    logger.error(
        "The tool %r failed. error_id=%s",
        safe_tool_name(call.tool_name),
        call.error_id,
        exc_info=(type(failure), failure, trace or failure.__traceback__),
        extra={"tool": safe_tool_name(call.tool_name), "error_id": call.error_id},
    )
    span = active_request_span()
    if span is not None and span.is_recording() and not _is_failed(span):
        span.record_exception(failure)


def record_call(
    call: ServedCall, outcome: str, seconds: float, request_id: str | None, error: ErrorInfo | None = None
) -> None:
    """Log how `call` ended after `seconds`, and add it to the span that FastMCP opened for the request.

    The span's attributes are those of OpenTelemetry's conventions for MCP, by which an error in a result has the type
    `tool_error`, and `xmcp.outcome`, `xmcp.error_code` and `xmcp.error_id`.

    The record goes to the logger `xmcp.server` at level INFO. Its attributes are `tool`, `outcome` (`ok`, `error`,
    `cancelled`, `input_required` or `task`), `duration_ms` and, if known, `request_id`, `error_code` and `error_id`.
    """
    code = error.code if error is not None else None
    error_id = (error.meta or {}).get("error_id") if error is not None else None
    if logger.isEnabledFor(logging.INFO):
        tool = safe_tool_name(call.tool_name)
        attributes = {
            "tool": tool,
            "outcome": outcome,
            "duration_ms": round(seconds * 1000, 3),
            "request_id": request_id,
            "error_code": code,
            "error_id": error_id,
        }
        fields = {name: value for name, value in attributes.items() if value is not None}
        logger.info("%s %s %.1f ms", tool, code or outcome, seconds * 1000, extra=fields)
    span = active_request_span()
    if span is None or not span.is_recording():
        return
    span.set_attributes({"xmcp.outcome": outcome, "gen_ai.operation.name": "execute_tool"})
    if request_id is not None:
        span.set_attribute("jsonrpc.request.id", request_id)
    if code is not None:
        span.set_attributes({"error.type": "tool_error", "xmcp.error_code": code})
        if not _is_failed(span):
            # FastMCP marks only the failure of its own call of a tool: not that of a middleware, before which it has
            # not named the span either, and no error that is a result.
            span.update_name(f"tools/call {safe_tool_name(call.tool_name)}")
            span.set_status(StatusCode.ERROR, code)
    if error_id is not None:
        span.set_attribute("xmcp.error_id", str(error_id))


def _is_failed(span: Span) -> bool:
    # The interface of OpenTelemetry has no status to read; the class of its SDK has.
    status = getattr(span, "status", None)
    return status is not None and status.status_code is StatusCode.ERROR
