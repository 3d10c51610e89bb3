"""The server runtime: `XMCP`, the errors a tool answers with, and the error of a server that cannot start."""

from xmcp.server.errors import ServeError, XMCPError
from xmcp.server.server import XMCP

__all__ = ["XMCP", "ServeError", "XMCPError"]
