"""The call that the server is answering: the state that several modules need while it runs."""

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
class ServedCall:
    """A `tools/call` from its arrival to its answer.

    `tool_name` and `arguments` are as the caller sent them. `request` is the MCP request, None for a call made
    inside the process. `failed_with` is set by a tool that failed after the server filled in parameters: its
    exception, and the `server_populated` object about those parameters (spec section 2.7). `sensitive` holds the
    values that must not be disclosed. `mask_error_details` is the server's option of that name.
    """

    tool_name: str
    arguments: Mapping[str, Any]
    request: object | None = None
    raised: BaseException | None = None  # by a call that failed, as the program may see it
    failed_with: tuple[BaseException, Mapping[str, Any]] | None = None
    sensitive: list[Any] = field(default_factory=list)
    mask_error_details: bool | None = None
    error_id: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def wants_display(self) -> bool:
        """Whether the caller asked for a display, in any form that a boolean can have."""
        try:
            return _BOOLEAN.validate_python(self.arguments.get(SHOW_USER, False))
        except ValidationError:
            return False


current_call: Final[ContextVar[ServedCall | None]] = ContextVar("xmcp_current_call", default=None)
"""The call that the outermost XMCP server of this process answers."""
