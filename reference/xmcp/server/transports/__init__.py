"""How a server is run: over HTTP with safe defaults, over stdio, and `serve()`."""

from xmcp.http_listening import served_on
from xmcp.server.transports.ending import CLEANUP, GRACE
from xmcp.server.transports.http import HTTPTransport, http_app
from xmcp.server.transports.http_server import ReadyServer, listen, run, uvicorn_settings
from xmcp.server.transports.serving import Serving, refuse_contradictions
from xmcp.server.transports.stdio import serve_stdio, stdout_diverted

__all__ = [
    "CLEANUP",
    "GRACE",
    "HTTPTransport",
    "ReadyServer",
    "Serving",
    "http_app",
    "listen",
    "refuse_contradictions",
    "run",
    "serve_stdio",
    "served_on",
    "stdout_diverted",
    "uvicorn_settings",
]
