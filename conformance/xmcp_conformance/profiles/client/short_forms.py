"""Short forms in which scenarios are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from .scenario import Conversation, Says
from .trace import Server, Setup, Tool

LATE: Final[dict[str, Any]] = {"code": "DB_TIMEOUT", "retryable": True}
"""Members of an error after which a call can be made again, if its tool allows that."""


def setup(*tools: Tool, servers: Sequence[Server] = (Server(),), **options: Any) -> Setup:
    """Return a setup with these tools; `options` are its other members."""
    return Setup(servers=servers, tools=tools, **options)


def tool(name: str, server: int = 0, **fields: Any) -> Tool:
    """Return a tool of the server with an index."""
    return Tool(server=server, name=name, **fields)


def takes(*names: str, required: Sequence[str] = (), **schemas: Any) -> dict[str, Any]:
    """Return an input schema: the parameters `names` take anything, those of `schemas` what their schema says."""
    return {"properties": {**{name: {} for name in names}, **schemas}, "required": list(required)}


def chat(*turns: Says, **fields: Any) -> list[Conversation]:
    """Return the only chat of a scenario, by what the model says in its turns."""
    return [Conversation(turns, **fields)]
