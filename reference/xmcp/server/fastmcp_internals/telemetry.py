"""The span of a request, and FastMCP's own log."""

from __future__ import annotations

import logging

from fastmcp.server.telemetry import _active_seam_span
from opentelemetry.trace import Span


def active_request_span() -> Span | None:
    """Return the span that FastMCP opened for the request that is being answered, None outside a request."""
    return _active_seam_span.get()


def handlers_that_draw() -> list[logging.Handler]:
    """Return the log handlers that FastMCP made, which draw tracebacks in a terminal with the library rich."""
    return [one for one in logging.getLogger("fastmcp").handlers if type(one).__module__.startswith("rich.")]
