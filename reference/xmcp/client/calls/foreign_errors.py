"""The errors of servers that do not know XMCP: what they say in `structuredContent` (XMCP-MCP-040). Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from xmcp.wire import ErrorInfo

_CODE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,62}")
_WAITS: Final = (("retry_after_ms", 1), ("retry_after_seconds", 1000), ("retry_after", 1000))
"""The members that say how long to wait, and their unit in milliseconds."""
_LONGEST: Final = 2**53 - 1  # milliseconds; larger integers are not exact in JSON


def error_in(structured: object) -> ErrorInfo | None:
    """Return the error that the structured content of a failed result describes; None if it describes none.

    Its message is empty where there is none beside the code.
    """
    if not isinstance(structured, Mapping):
        return None
    inner = structured.get("error")
    described = inner if isinstance(inner, Mapping) and isinstance(inner.get("code"), str) else structured
    given, message, retryable = (described.get(name) for name in ("code", "message", "retryable"))
    if not isinstance(given, str):
        return None
    code = re.sub(r"[^A-Z0-9]", "_", re.sub("[a-z]+", lambda letters: letters[0].upper(), given[:64]))
    error = ErrorInfo(
        code=code if _CODE.fullmatch(code) else "TOOL_ERROR",
        message=message if isinstance(message, str) else "",
        retryable=retryable if isinstance(retryable, bool) else None,
    )
    return replace(error, retry_after_ms=_wait(described)) if error.retryable else error


def _wait(described: Mapping[str, Any]) -> int | None:
    for name, unit in _WAITS:
        value = described.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf:
            return min(math.ceil(min(value, _LONGEST) * unit), _LONGEST)
    return None
