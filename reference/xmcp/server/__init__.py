"""The server: `XMCP`, the error a tool raises, the request to a parameter provider, and `ServeError`."""

from xmcp.server.errors import ServeError, XMCPError
from xmcp.server.parameters.providers import ParamRequest
from xmcp.server.server import XMCP

__all__ = ["XMCP", "ParamRequest", "ServeError", "XMCPError"]
