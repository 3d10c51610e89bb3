"""The call that the server is answering: the state that several modules need while it runs."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter, ValidationError

if TYPE_CHECKING:
    from fastmcp.tools import Tool

SHOW_USER: Final = "show_user"
"""The argument by which a caller asks for a display (XMCP-DSP-020)."""
_BOOLEAN: Final = TypeAdapter(bool)


@dataclass(slots=True, eq=False)
class ServedCall:
    """A `tools/call` from its arrival to its answer.

    `tool_name` and `arguments` are as the caller sent them. `request` is the MCP request, None for a call made
    inside the process. `failed_with` is set by a tool that failed after the server filled in parameters: its
    exception, and the `server_populated` object about those parameters (spec section 2.7). `sensitive` holds the
    values that must not be disclosed. `mask_error_details` is the server's option of that name. `filled` is the
    `server_populated` object of the tool that succeeded last. `handed_on` names the argument with which the tool called
    another tool: tools that call any tool do so. `shows_displays` tells whether the client said that it shows displays.
    `server` answers the call, and `tool` is what it found under the name, if it has noted that.
    """

    tool_name: str
    arguments: Mapping[str, Any]
    request: object | None = None
    raised: BaseException | None = None  # by a call that failed, as the program may see it
    failed_with: tuple[BaseException, Mapping[str, Any]] | None = None
    sensitive: list[Any] = field(default_factory=list)
    mask_error_details: bool | None = None
    error_id: str = field(default_factory=lambda: secrets.token_hex(8))
    filled: Mapping[str, Any] | None = None
    handed_on: str | None = None
    shows_displays: bool = True
    server: object | None = None
    tool: Tool | None = None

    @property
    def wants_display(self) -> bool:
        """Whether the caller asked for a display, in any form that a boolean can have (XMCP-DSP-021)."""
        return _asks_for_display(self.arguments) or _asks_for_display(self.tool_arguments)

    @property
    def tool_arguments(self) -> Mapping[str, Any]:
        """The arguments of the tool that answers: those that were handed on, or the caller's."""
        return self.arguments if self.handed_on is None else self.arguments[self.handed_on]

    def hand_on(self, arguments: Mapping[str, Any]) -> None:
        """Note that the tool calls another one with `arguments`, if the caller wrote them for that."""
        for name, value in self.arguments.items():
            if isinstance(value, Mapping) and value == arguments:
                self.handed_on = name


def _asks_for_display(arguments: Mapping[str, Any]) -> bool:
    try:
        return _BOOLEAN.validate_python(arguments.get(SHOW_USER, False))
    except ValidationError:
        return False


current_call: Final[ContextVar[ServedCall | None]] = ContextVar("xmcp_current_call", default=None)
"""The call that the outermost XMCP server of this process answers."""
