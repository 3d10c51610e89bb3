"""The words for calls of tools and their errors: one line each, of untrusted text made safe to show. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from xmcp.render.view.untrusted import label
from xmcp.wire import ErrorInfo


def call_line(tool_name: str, arguments: Mapping[str, Any] | None) -> str:
    """Return a call as a line of text: `sales_summary(region="EMEA", months=3)`."""
    if arguments is None:
        return f"{label(tool_name, 100)}(arguments that are not a JSON object)"
    given = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    return label(f"{tool_name}({given})", 300)


def error_line(error: ErrorInfo) -> str:
    """Return an error as a line of text: its code, whether a retry can help, its message, its id in the log."""
    wait = f" after {error.retry_after_ms / 1000:g} s" if error.retry_after_ms is not None else ""
    retry = f"retry{wait}" if error.retryable else "no retry"
    error_id = (error.meta or {}).get("error_id")
    reference = f" (error id {label(error_id, 64)})" if isinstance(error_id, str) else ""
    return f"{label(error.code, 64)} ({retry}): {label(error.message, 400)}{reference}"


def seconds(milliseconds: float) -> str:
    """Return a duration as a person reads it: `42 ms`, `0.3 s`, `12 s`, `2 min 5 s`."""
    if milliseconds < 95:
        return f"{max(milliseconds, 0):.0f} ms"
    total = milliseconds / 1000
    if total < 9.95:
        return f"{total:.1f} s"
    if total < 100:
        return f"{total:.0f} s"
    return f"{int(total) // 60} min {int(total) % 60} s"


def share(progress: float, total: float | None) -> str:
    """Return how far a call is: `40 %` of a known total, else the number itself."""
    if total is None or not total > 0:
        return f"{progress:g}"
    return f"{max(0, min(round(100 * progress / total), 100))} %"
