"""The server runtime: `XMCP`, the errors a tool answers with, what a provider of parameters is asked, and the error
of a server that cannot start.
"""

from xmcp.server.errors import ServeError, XMCPError
from xmcp.server.parameters.server_parameters import ParamRequest
from xmcp.server.server import XMCP

__all__ = ["XMCP", "ParamRequest", "ServeError", "XMCPError"]
