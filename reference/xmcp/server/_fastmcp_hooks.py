"""What XMCP needs of FastMCP and the MCP SDK beyond their public interface.

Every reliance on a private name or on an unwritten fact stands here, one function each, and
`tests/server/test_fastmcp_hooks.py` has a test per function that fails when an upgrade changes it.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

from fastmcp.server.auth.middleware import RequireAuthMiddleware
from fastmcp.server.http import StarletteWithLifespan, StreamableHTTPASGIApp
from fastmcp.server.low_level import LowLevelServer
from fastmcp.server.providers import FastMCPProvider, LocalProvider, Provider
from fastmcp.server.providers.wrapped_provider import _WrappedProvider
from fastmcp.server.transforms import Namespace, Visibility
from fastmcp.tools import Tool
from fastmcp.utilities.components import FastMCPComponent
from mcp import MCPError
from mcp.server.connection import Connection
from mcp.server.context import ServerMiddleware
from mcp.server.session import ServerSession
from mcp.server.sse import SseServerTransport
from mcp.server.transport_security import RequestBodyLimitMiddleware
from mcp.shared.inbound import X_MCP_HEADER_KEY
from mcp_types import INVALID_REQUEST, SubscriptionsListenRequestParams
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

if TYPE_CHECKING:
    from fastmcp import FastMCP
    from mcp.server.lowlevel.server import RequestHandler

_TIMEOUT_CODE: Final = -32000


def raised_by_fastmcp(error: BaseException, module: str = "fastmcp") -> bool:
    """Say whether `error` was raised by FastMCP's own code, and not by a tool or a middleware.

    FastMCP wraps whatever a tool raises in a `ToolError` of the same class that authors raise
    themselves; only the place where it was raised tells the two apart. An error without a
    traceback counts as FastMCP's: then its text is not shown.
    """
    trace = error.__traceback__
    if trace is None:
        return True
    while trace.tb_next is not None:
        trace = trace.tb_next
    name = str(trace.tb_frame.f_globals.get("__name__", ""))
    return name == module or name.startswith(f"{module}.")


def is_tool_timeout(error: BaseException) -> bool:
    """Say whether `error` is how FastMCP reports that a tool overran its `timeout=`."""
    return (
        isinstance(error, MCPError)
        and error.error.code == _TIMEOUT_CODE
        and raised_by_fastmcp(error, "fastmcp.tools.function_tool")
    )


def local_tools(server: FastMCP[Any]) -> list[Tool]:
    """Return the tools that were registered on this very server, every version, enabled or not."""
    return [part for part in server.local_provider._components.values() if isinstance(part, Tool)]


class _SparingServer(LowLevelServer[Any]):
    """FastMCP's low-level server, which says itself whether calls have to be held against the tools' schemas."""

    @property
    def get_tool_input_schema(self) -> Callable[[str], None] | None:
        """A look-up that finds nothing to check; None has the SDK run tools/list and check what that returns."""
        return None if may_mirror_into_headers(self.fastmcp) else _no_schema

    @get_tool_input_schema.setter
    def get_tool_input_schema(self, _: object) -> None:
        """Forget what the SDK's constructor would store."""


def skip_listing_before_calls(server: FastMCP[Any]) -> None:
    """Have the SDK list tools before a call only when some tool may mirror a parameter into an HTTP header.

    Else it runs the whole tools/list, middleware included, before every modern call over HTTP, only
    to find that no tool does (toolchain.md 1.7).
    """
    server._mcp_server.__class__ = _SparingServer


def may_mirror_into_headers(server: FastMCP[Any]) -> bool:
    """Say whether a tool of `server`, or of one mounted in it, may declare `x-mcp-header`.

    Read anew for each call, in time that grows with the number of mounts, not of tools. What cannot be looked
    into (a proxy, a provider or a transform of other make) may.
    """
    return any(type(transform) not in _KEEP_SCHEMAS for transform in server.transforms) or any(
        map(_provider_may_mirror, server.providers)
    )


_KEEP_SCHEMAS: Final = frozenset({Namespace, Visibility})


def _provider_may_mirror(provider: Provider) -> bool:
    if any(type(transform) not in _KEEP_SCHEMAS for transform in provider.transforms):
        return True
    # Only these very classes: one derived from them may list something else.
    if type(provider) is LocalProvider:
        return _watched(provider).mirrors
    if type(provider) is FastMCPProvider:
        return may_mirror_into_headers(provider.server)
    return type(provider) is not _WrappedProvider or _provider_may_mirror(provider._inner)


def unwrapped(provider: Provider) -> Provider:
    """Return what `provider` stands for, without namespaces and other wrappings: a mounted server is itself one."""
    if isinstance(provider, _WrappedProvider):
        return unwrapped(provider._inner)
    return provider.server if isinstance(provider, FastMCPProvider) else provider


class ComponentObserver(Protocol):
    """Who wants to know of changes in a local provider."""

    def component_changed(self, component: FastMCPComponent | None) -> None:
        """Take note that `component`, or any if None, was added, removed, shown or hidden."""


def watch_components(provider: LocalProvider, observer: ComponentObserver) -> None:
    """Tell `observer`, which is held weakly, of each change in `provider` from now on."""
    _watched(provider).observers.add(observer)


class _Watched:
    """A local provider that says when it changes: FastMCP has no such signal."""

    def __init__(self, provider: LocalProvider) -> None:
        self.observers: weakref.WeakSet[ComponentObserver] = weakref.WeakSet()
        self.mirrors = False
        """Whether a tool in it mirrors, or once did, a parameter into a header."""
        add, remove, get = provider._add_component, provider._remove_component, provider._get_component

        def added(component: Any) -> Any:
            self._note_mirroring(component)
            result = add(component)
            self._tell(component)
            return result

        def removed(key: str) -> None:
            component = get(key)
            remove(key)
            self._tell(component)

        def telling(change: Callable[..., Any]) -> Callable[..., Any]:
            def changed(*args: Any, **options: Any) -> Any:
                result = change(*args, **options)
                self._tell(None)
                return result

            return changed

        replaced = {"_add_component": added, "_remove_component": removed}
        replaced |= {name: telling(getattr(provider, name)) for name in ("enable", "disable", "add_transform")}
        vars(provider).update(replaced)
        for component in list(provider._components.values()):
            self._note_mirroring(component)

    def _note_mirroring(self, component: object) -> None:
        self.mirrors = self.mirrors or (isinstance(component, Tool) and mirrors_into_header(component.parameters))

    def _tell(self, component: FastMCPComponent | None) -> None:
        for observer in list(self.observers):
            observer.component_changed(component)


_WATCHED: Final[weakref.WeakKeyDictionary[LocalProvider, _Watched]] = weakref.WeakKeyDictionary()


def _watched(provider: LocalProvider) -> _Watched:
    watched = _WATCHED.get(provider)
    if watched is None:
        watched = _WATCHED[provider] = _Watched(provider)
    return watched


def connection_of(session: ServerSession) -> Connection:
    """Return the connection that a request came on; a session object is made anew for each request."""
    return session._connection


def join_dispatch(
    server: FastMCP[Any],
    middleware: ServerMiddleware[Any],
    listen: RequestHandler[Any, SubscriptionsListenRequestParams],
) -> None:
    """Put `middleware` innermost around the handling of every message, and have `listen` serve subscriptions."""
    server._mcp_server.middleware.append(middleware)
    server._mcp_server.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, listen)


def limit_request_bodies(app: StarletteWithLifespan, most: int) -> None:
    """Have `app` take request bodies of up to `most` bytes, and refuse longer ones with a 413 that says so.

    The SDK's own limit is 4 MiB, and FastMCP does not pass one on.

    Raises:
        RuntimeError: `app` is not made as this FastMCP makes it.
    """
    endpoints = [_unguarded(getattr(route, "endpoint", None) or getattr(route, "app", None)) for route in app.routes]
    for endpoint in endpoints:
        transport = getattr(endpoint, "__self__", None)
        if isinstance(transport, SseServerTransport):
            transport._post_message_app = _BodyLimit(transport._handle_post_message, most)
            return
        if isinstance(endpoint, StreamableHTTPASGIApp):
            _limit_when_it_starts(app, endpoint, most)
            return
    raise RuntimeError("FastMCP's application has no endpoint whose request bodies could be limited.")


def _limit_when_it_starts(app: StarletteWithLifespan, endpoint: StreamableHTTPASGIApp, most: int) -> None:
    inner = app.router.lifespan_context  # which makes a session manager each time it is entered

    @asynccontextmanager
    async def lifespan(scope_app: Any) -> AsyncIterator[Any]:
        async with inner(scope_app) as state:
            manager = endpoint.session_manager
            if manager is None:
                raise RuntimeError("FastMCP's application has no session manager while it runs.")
            manager.asgi_app = _BodyLimit(manager._handle_request, most)
            yield state

    app.router.lifespan_context = lifespan


def _unguarded(endpoint: Any) -> Any:
    return endpoint.app if isinstance(endpoint, RequireAuthMiddleware) else endpoint


class _BodyLimit(RequestBodyLimitMiddleware):
    """The SDK's limit, with a refusal that its client shows as it is: a JSON-RPC error."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request whose body is short enough."""
        refused = False

        async def answer(message: Message) -> None:
            nonlocal refused
            if message["type"] == "http.response.start" and message["status"] == 413:
                refused = True
                words = f"The request body is longer than the {self.max_body_size:,} bytes this server takes."
                error = {"code": INVALID_REQUEST, "message": words}
                await JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 413)(scope, receive, send)
            elif not refused:
                await send(message)

        await super().__call__(scope, receive, answer)


def mirrors_into_header(input_schema: Mapping[str, Any]) -> bool:
    """Say whether the schema declares `x-mcp-header` anywhere."""
    return f'"{X_MCP_HEADER_KEY}"' in json.dumps(input_schema, default=str)


def _no_schema(_name: str) -> None:
    return None
