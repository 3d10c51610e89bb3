"""Read the error that a failed result of any server describes in `structuredContent` (XMCP-MCP-040). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from xmcp_models.registry import ERROR_CODES

_NOT_IN_CODES: Final = re.compile(r"[^A-Z0-9]")
_CODE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,62}")


class DescribedError(NamedTuple):
    """The members of an error; `described` says that data did describe one."""

    code: str = "TOOL_ERROR"
    message: str = ""
    retryable: bool = False
    category: str = "internal"
    described: bool = False


def error_in(data: Any) -> DescribedError:
    """Return the error that data describe, in itself or in its member `error`; else that of a tool which failed."""
    outer = data if isinstance(data, Mapping) else {}
    inner = outer.get("error")
    members = inner if isinstance(inner, Mapping) and "code" in inner else outer
    given, message, retryable = (members.get(name) for name in ("code", "message", "retryable"))
    if not isinstance(given, str):
        return DescribedError()
    code = _NOT_IN_CODES.sub("_", given[:64].upper())
    code = code if _CODE.fullmatch(code) else "TOOL_ERROR"
    registered = ERROR_CODES.get(code, {})
    return DescribedError(
        code,
        message if isinstance(message, str) else "",
        retryable if isinstance(retryable, bool) else registered.get("retryable", False),
        registered.get("category", "internal"),
        described=True,
    )
