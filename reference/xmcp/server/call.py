"""One call of a tool, as the server knows it while it runs.

Only what has to be known in more than one place of the call lives here; nothing is decided.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final


@dataclass(slots=True, eq=False)
class Call:
    """A `tools/call` from its arrival to its answer.

    `tool_name` and `arguments` are as the caller sent them. `request` is the MCP request it came with, `None`
    for a call made in the process. `filled` says which parameters the server filled in (spec section 2.7), as
    soon as it has; `sensitive` has the values that are not to be told.
    """

    tool_name: str
    arguments: Mapping[str, Any]
    request: object | None = None
    filled: Mapping[str, Any] | None = None
    sensitive: list[Any] = field(default_factory=list)
    error_id: str = field(default_factory=lambda: secrets.token_hex(8))


current_call: Final[ContextVar[Call | None]] = ContextVar("xmcp_current_call", default=None)
"""The call that the outermost XMCP server of this process answers."""
