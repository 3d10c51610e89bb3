"""What is told of each call to the people who run the server: one line in the log, and the span that is open.

Arguments and results are never told: they are the caller's. Cheap where nobody listens.
"""

from __future__ import annotations

import logging
from typing import Final

from opentelemetry import trace

from xmcp.server.call import Call
from xmcp.server.responses.failures import safe_tool_name
from xmcp.wire import ErrorInfo

logger: Final = logging.getLogger("xmcp.server")

CANCELLED: Final = "cancelled"
INPUT_REQUIRED: Final = "input_required"
OK: Final = "ok"
ERROR: Final = "error"


_PLUMBING: Final = ("fastmcp.", "anyio.", "pydantic.", "mcp.", "xmcp.server.")


def tell_failure(call: Call, failure: BaseException) -> None:
    """Log what the client is not told of `failure`, under the id that it is told (XMCP-ERR-030).

    The traceback begins where the author's code does; how the call came there is the same for every tool.
    """
    trace = failure.__traceback__
    while trace is not None and str(trace.tb_frame.f_globals.get("__name__")).startswith(_PLUMBING):
        trace = trace.tb_next
    logger.error(
        "The tool %r failed. error_id=%s",
        safe_tool_name(call.tool_name),
        call.error_id,
        exc_info=(type(failure), failure, trace or failure.__traceback__),
        extra={"tool": safe_tool_name(call.tool_name), "error_id": call.error_id},
    )


def tell(call: Call, outcome: str, seconds: float, request_id: str | None, error: ErrorInfo | None = None) -> None:
    """Log how `call` ended after `seconds`, and write it into the span that FastMCP opened for the request.

    The record of the log `xmcp.server` (level INFO) has as attributes `tool`, `outcome` (`ok`, `error`,
    `cancelled` or `input_required`), `duration_ms` and, where there is one, `request_id`, `error_code` and
    `error_id`.
    """
    code = error.code if error is not None else None
    error_id = (error.meta or {}).get("error_id") if error is not None else None
    if logger.isEnabledFor(logging.INFO):
        tool = safe_tool_name(call.tool_name)
        told = {
            "tool": tool,
            "outcome": outcome,
            "duration_ms": round(seconds * 1000, 3),
            "request_id": request_id,
            "error_code": code,
            "error_id": error_id,
        }
        fields = {name: value for name, value in told.items() if value is not None}
        logger.info("%s %s %.1f ms", tool, code or outcome, seconds * 1000, extra=fields)
    span = trace.get_current_span()
    if span.is_recording():
        span.set_attribute("xmcp.outcome", outcome)
        if code is not None:
            span.set_attribute("error.type", code)
        if error_id is not None:
            span.set_attribute("xmcp.error_id", str(error_id))
