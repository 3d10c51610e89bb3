"""A pytest plugin: the tests that are collected after it find `XMCP` where they import `FastMCP`.

Only the names that tests import are replaced. FastMCP's own modules keep the class that they have, so a proxy or a
server that FastMCP makes itself stays one of FastMCP.
"""

from __future__ import annotations

from typing import Any

import fastmcp
import fastmcp.server
import fastmcp.server.server
from mcp.server.lowlevel.server import LifespanResultT

from xmcp import XMCP

_FastMCP = fastmcp.FastMCP


class _AnyServer(type(XMCP)):  # type: ignore[misc] # mypy wants the name of a class, and this is FastMCP's to choose
    """`isinstance(proxy, FastMCP)` holds in FastMCP, and holds with this class in its place."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _FastMCP)


class NegotiatedXMCP(XMCP[LifespanResultT], metaclass=_AnyServer):
    """`XMCP` as somebody uses it whose clients know nothing of XMCP."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"wire": "negotiated", **options})


for module in (fastmcp, fastmcp.server, fastmcp.server.server):
    vars(module)["FastMCP"] = NegotiatedXMCP
