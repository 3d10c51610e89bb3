"""The server: `XMCP`, `use_xmcp`, the error a tool raises, the request to a parameter provider, and `ServeError`."""

from xmcp.server.errors import ServeError, XMCPError
from xmcp.server.parameters.providers import ParamRequest
from xmcp.server.server import XMCP
from xmcp.server.use_xmcp import UsedXMCP, use_xmcp

__all__ = ["XMCP", "ParamRequest", "ServeError", "UsedXMCP", "XMCPError", "use_xmcp"]
