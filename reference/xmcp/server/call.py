"""One call of a tool, as the server knows it while it runs.

Only what has to be known in more than one place of the call lives here; nothing is decided.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

SHOW_USER: Final = "show_user"
"""The argument by which a caller asks for a display (XMCP-DSP-020)."""
_BOOLEAN: Final = TypeAdapter(bool)


@dataclass(slots=True, eq=False)
class Call:
    """A `tools/call` from its arrival to its answer.

    `tool_name` and `arguments` are as the caller sent them. `request` is the MCP request it came with, `None`
    for a call made in the process. A tool that fails after the server filled in parameters for it leaves in
    `failed_with` its exception and what is told of them (spec section 2.7). `sensitive` has the values that are
    not to be told.
    """

    tool_name: str
    arguments: Mapping[str, Any]
    request: object | None = None
    failed_with: tuple[BaseException, Mapping[str, Any]] | None = None
    sensitive: list[Any] = field(default_factory=list)
    error_id: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def wants_display(self) -> bool:
        """Whether the caller asked for a display, in any form that a boolean can have."""
        try:
            return _BOOLEAN.validate_python(self.arguments.get(SHOW_USER, False))
        except ValidationError:
            return False


current_call: Final[ContextVar[Call | None]] = ContextVar("xmcp_current_call", default=None)
"""The call that the outermost XMCP server of this process answers."""
