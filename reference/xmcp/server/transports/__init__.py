"""How a server is run: over HTTP with safe defaults, over stdio, and `serve()`."""

from xmcp.server.transports.http import (
    HTTPTransport,
    ReadyServer,
    http_app,
    listen,
    run,
    served_on,
    uvicorn_settings,
)
from xmcp.server.transports.serving import Serving, refuse_contradictions
from xmcp.server.transports.stdio import serve_stdio

__all__ = [
    "HTTPTransport",
    "ReadyServer",
    "Serving",
    "http_app",
    "listen",
    "refuse_contradictions",
    "run",
    "serve_stdio",
    "served_on",
    "uvicorn_settings",
]
