"""Everything that the server uses of FastMCP and the MCP SDK beyond their public interface.

One function for each private name or undocumented behaviour; for each, `tests/server/test_fastmcp_hooks.py` has a test
that fails when an upgrade changes it.
"""

from __future__ import annotations

import json
import logging
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

from fastmcp import FastMCP
from fastmcp.server.auth.middleware import RequireAuthMiddleware
from fastmcp.server.http import StarletteWithLifespan, StreamableHTTPASGIApp
from fastmcp.server.low_level import LowLevelServer
from fastmcp.server.providers import FastMCPProvider, LocalProvider, Provider
from fastmcp.server.providers.fastmcp_provider import FastMCPProviderTool
from fastmcp.server.providers.wrapped_provider import _WrappedProvider
from fastmcp.server.telemetry import _active_seam_span
from fastmcp.server.transforms import Namespace, Visibility
from fastmcp.tools import Tool
from fastmcp.tools.function_tool import _ToolBodyError
from fastmcp.tools.tool_transform import TransformedTool
from fastmcp.utilities.components import FastMCPComponent
from mcp import MCPError
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.sse import SseServerTransport
from mcp.shared.inbound import X_MCP_HEADER_KEY
from mcp_types import SubscriptionsListenRequestParams
from opentelemetry.trace import Span
from starlette.types import ASGIApp

from xmcp.server._session_hooks import guard_sessions

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import RequestHandler

_TIMEOUT_CODE: Final = -32000

MessageRewrite = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""From the method of a message and its parameters to the parameters to send."""


def raised_by_fastmcp(error: BaseException, module: str = "fastmcp") -> bool:
    """Tell whether `error` was raised by FastMCP's own code, and not by a tool or a middleware.

    FastMCP wraps any exception of a tool in a `ToolError`, the class that authors raise themselves; only the place
    where it was raised distinguishes the two. An error without a traceback counts as FastMCP's, so that its text is
    not shown.
    """
    trace = error.__traceback__
    if trace is None:
        return True
    while trace.tb_next is not None:
        trace = trace.tb_next
    name = str(trace.tb_frame.f_globals.get("__name__", ""))
    return name == module or name.startswith(f"{module}.")


def is_body_error(error: BaseException) -> bool:
    """Tell whether `error` is FastMCP's mark around a pydantic error of a tool's body, as opposed to its arguments."""
    return isinstance(error, _ToolBodyError) and error.__cause__ is not None


def modules_through(error: BaseException) -> Iterator[str]:
    """Yield the name of the module of each frame that `error` passed, outermost first."""
    trace = error.__traceback__
    while trace is not None:
        yield str(trace.tb_frame.f_globals.get("__name__", ""))
        trace = trace.tb_next


def runs_a_tool_of_fastmcp(modules: Sequence[str]) -> bool:
    """Tell whether the innermost tool in the frames of a failure is one that FastMCP made.

    Such tools take names of tools, resources, prompts or files from the caller. Names in an author's tool are the
    author's.
    """
    depth = max((at for at, name in enumerate(modules) if name == "fastmcp.tools.function_tool"), default=None)
    return depth is not None and any(name.startswith(_MAKERS_OF_TOOLS) for name in modules[depth:])


_MAKERS_OF_TOOLS: Final = (
    "fastmcp.apps.",
    "fastmcp.experimental.transforms.",
    "fastmcp.server.middleware.tool_injection",
    "fastmcp.server.transforms.",
)


def lacks_access_token(error: BaseException) -> bool:
    """Tell whether FastMCP could not fill in a parameter from the access token, because there is none."""
    return isinstance(error, RuntimeError) and raised_by_fastmcp(error, _DEPENDENCIES) and _says_no_token(error)


def _says_no_token(error: BaseException) -> bool:
    cause = error.__cause__ or error
    return raised_by_fastmcp(cause, _DEPENDENCIES) and str(cause).startswith("No access token")


_DEPENDENCIES: Final = "fastmcp.server.dependencies"


def active_request_span() -> Span | None:
    """Return the span that FastMCP opened for the request that is being answered, None outside a request."""
    return _active_seam_span.get()


def handlers_that_draw() -> list[logging.Handler]:
    """Return the log handlers that FastMCP made, which draw tracebacks in a terminal with the library rich."""
    return [one for one in logging.getLogger("fastmcp").handlers if type(one).__module__.startswith("rich.")]


def is_tool_timeout(error: BaseException) -> bool:
    """Tell whether `error` is FastMCP's report that a tool exceeded its `timeout=`."""
    return (
        isinstance(error, MCPError)
        and error.error.code == _TIMEOUT_CODE
        and raised_by_fastmcp(error, "fastmcp.tools.function_tool")
    )


def local_tools(server: FastMCP[Any]) -> list[Tool]:
    """Return the tools registered on this server itself, all versions, enabled or not."""
    return [part for part in server.local_provider._components.values() if isinstance(part, Tool)]


async def tool_that_runs(tool: Tool) -> Tool | None:
    """Return the tool that a mounted server's tool, or a transformed one, stands for; None if it is gone."""
    inner: Tool | None = tool
    while isinstance(inner, FastMCPProviderTool | TransformedTool):
        if isinstance(inner, TransformedTool):
            inner = inner.parent_tool
        else:
            inner = await inner._server.get_tool(inner._original_name)
    return inner


class _ServerWithoutListing(LowLevelServer[Any]):
    """FastMCP's low-level server, with a decision of its own whether the SDK needs the tools' schemas for a call."""

    @property
    def get_tool_input_schema(self) -> Callable[[str], None] | None:
        """A look-up that finds no schema, or None: then the SDK runs tools/list and checks against the result."""
        return None if may_mirror_into_headers(self.fastmcp) else _no_schema

    @get_tool_input_schema.setter
    def get_tool_input_schema(self, _: object) -> None:
        """Ignore the look-up that the SDK's constructor sets."""


def skip_listing_before_calls(server: FastMCP[Any]) -> None:
    """Make the SDK list tools before a call only if some tool may mirror a parameter into an HTTP header.

    Otherwise the SDK runs the whole tools/list, including middleware, before every call over HTTP of protocol version
    2026-07-28, to find out that no tool does.
    """
    server._mcp_server.__class__ = _ServerWithoutListing


def may_mirror_into_headers(server: FastMCP[Any]) -> bool:
    """Tell whether a tool of `server`, or of a server mounted in it, may declare `x-mcp-header`.

    Computed for each call, in time that grows with the number of mounts, not of tools. True for everything that cannot
    be inspected: a proxy, and any other class of provider or transform.
    """
    return any(type(transform) not in _KEEP_SCHEMAS for transform in server.transforms) or any(
        map(_provider_may_mirror, server.providers)
    )


_KEEP_SCHEMAS: Final = frozenset({Namespace, Visibility})


def _provider_may_mirror(provider: Provider) -> bool:
    if any(type(transform) not in _KEEP_SCHEMAS for transform in provider.transforms):
        return True
    # Only these classes: a subclass may list other tools.
    if type(provider) is LocalProvider:
        return _watched(provider).mirrors
    if type(provider) is FastMCPProvider:
        return may_mirror_into_headers(provider.server)
    return type(provider) is not _WrappedProvider or _provider_may_mirror(provider._inner)


def unwrapped(provider: Provider) -> Provider:
    """Return `provider` without namespaces and other wrappers; for a mounted server, the server, itself a provider."""
    if isinstance(provider, _WrappedProvider):
        return unwrapped(provider._inner)
    return provider.server if isinstance(provider, FastMCPProvider) else provider


class ComponentObserver(Protocol):
    """Observer of changes in a local provider."""

    def component_changed(self, component: FastMCPComponent | None) -> None:
        """Called when `component`, or any component if None, was added, removed, shown or hidden."""


def watch_components(provider: LocalProvider, observer: ComponentObserver) -> None:
    """Call `observer`, which is held weakly, at each change in `provider` from now on."""
    _watched(provider).observers.add(observer)


class _WatchedProvider:
    """The observers of one local provider; FastMCP has no notification of its own."""

    def __init__(self, provider: LocalProvider) -> None:
        self.observers: weakref.WeakSet[ComponentObserver] = weakref.WeakSet()
        self.mirrors = False
        """Whether a tool in the provider mirrors a parameter into a header, or did so earlier."""
        add, remove, get = provider._add_component, provider._remove_component, provider._get_component

        def added(component: Any) -> Any:
            self._note_mirroring(component)
            result = add(component)
            self._notify(component)
            return result

        def removed(key: str) -> None:
            component = get(key)
            remove(key)
            self._notify(component)

        def notifying(change: Callable[..., Any]) -> Callable[..., Any]:
            def changed(*args: Any, **options: Any) -> Any:
                result = change(*args, **options)
                self._notify(None)
                return result

            return changed

        replaced = {"_add_component": added, "_remove_component": removed}
        replaced |= {name: notifying(getattr(provider, name)) for name in ("enable", "disable", "add_transform")}
        vars(provider).update(replaced)
        for component in list(provider._components.values()):
            self._note_mirroring(component)

    def _note_mirroring(self, component: object) -> None:
        self.mirrors = self.mirrors or (isinstance(component, Tool) and mirrors_into_header(component.parameters))

    def _notify(self, component: FastMCPComponent | None) -> None:
        for observer in list(self.observers):
            observer.component_changed(component)


_WATCHED: Final[weakref.WeakKeyDictionary[LocalProvider, _WatchedProvider]] = weakref.WeakKeyDictionary()


def _watched(provider: LocalProvider) -> _WatchedProvider:
    watched = _WATCHED.get(provider)
    if watched is None:
        watched = _WATCHED[provider] = _WatchedProvider(provider)
    return watched


def connection_of(session: ServerSession) -> Connection:
    """Return the connection of a request; the SDK creates a new session object for each request."""
    return session._connection


def dispatcher_of(session: ServerSession) -> object | None:
    """Return what dispatches the messages of the session's stream; None where each request has a stream of its own."""
    outbound: object = session._request_outbound
    return getattr(getattr(outbound, "_inner", outbound), "_dispatcher", None)


class _WithholdingSession(ServerSession):
    """A session that changes the parameters of each message to the client before it is sent."""

    _rewrites: tuple[MessageRewrite, ...]

    def _rewritten(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        for rewrite in self._rewrites:
            params = rewrite(method, params)
        return params

    async def send_request(self, request: Any, *args: Any, **options: Any) -> Any:
        """Send a question of the server: elicitation, sampling, roots."""
        return await super().send_request(self._rewritten_message(request), *args, **options)

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress of the request that the session belongs to."""
        text = self._rewritten("notifications/progress", {} if message is None else {"message": message})
        await super().report_progress(progress, total, text.get("message"))

    async def _notify(self, notification: Any, **options: Any) -> None:
        await super()._notify(self._rewritten_message(notification), **options)

    def _rewritten_message(self, message: Any) -> Any:
        members = message.model_dump(by_alias=True, mode="json", exclude_none=True)
        params = members.get("params")
        if params is None or (rewritten := self._rewritten(members["method"], params)) == params:
            return message
        return type(message).model_validate({**members, "params": rewritten})


def rewrite_messages(session: ServerSession, rewrite: MessageRewrite) -> None:
    """Apply `rewrite` to the method and the parameters of each message that is sent through `session` from now on.

    A session object belongs to one request; the SDK's own class only, because a program may bring another.
    """
    if type(session) is ServerSession:
        session.__class__ = _WithholdingSession
        session._rewrites = ()  # type: ignore[attr-defined]
    if isinstance(session, _WithholdingSession):
        session._rewrites = (*session._rewrites, rewrite)


def join_dispatch(
    server: FastMCP[Any],
    middleware: ServerMiddleware[Any],
    listen: RequestHandler[Any, SubscriptionsListenRequestParams],
) -> None:
    """Add `middleware` as the innermost one of every message, and `listen` as the handler of subscriptions."""
    add_dispatch_middleware(server, middleware)
    server._mcp_server.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, listen)


def add_dispatch_middleware(server: FastMCP[Any], middleware: ServerMiddleware[Any]) -> None:
    """Add `middleware` as the innermost one of every message; an answer that it sees is a JSON object."""
    server._mcp_server.middleware.append(middleware)


def wrap_dispatch(server: FastMCP[Any], middleware: ServerMiddleware[Any]) -> None:
    """Add `middleware` as the outermost one of every message, around FastMCP's own, which runs authors' middleware."""
    server._mcp_server.middleware.insert(0, middleware)


def guard_bodies(app: StarletteWithLifespan, guard: Callable[[ASGIApp], ASGIApp]) -> None:
    """Have the endpoint of `app` get its requests from `guard` of it, in the place of the SDK's limit of 4 MiB.

    FastMCP has no option for that limit.

    Raises:
        RuntimeError: `app` is not built as by the FastMCP version that this code knows.
    """
    endpoints = [_unguarded(getattr(route, "endpoint", None) or getattr(route, "app", None)) for route in app.routes]
    for endpoint in endpoints:
        transport = getattr(endpoint, "__self__", None)
        if isinstance(transport, SseServerTransport):
            transport._post_message_app = guard(transport._handle_post_message)  # type: ignore[assignment]
            return
        if isinstance(endpoint, StreamableHTTPASGIApp):
            _guard_when_it_starts(app, endpoint, guard)
            return
    raise RuntimeError("FastMCP's application has no endpoint whose request bodies could be limited.")


def _guard_when_it_starts(
    app: StarletteWithLifespan, endpoint: StreamableHTTPASGIApp, guard: Callable[[ASGIApp], ASGIApp]
) -> None:
    inner = app.router.lifespan_context  # which creates a session manager each time it is entered

    @asynccontextmanager
    async def lifespan(scope_app: Any) -> AsyncIterator[Any]:
        async with inner(scope_app) as state:
            manager = endpoint.session_manager
            if manager is None:
                raise RuntimeError("FastMCP's application has no session manager while it runs.")
            manager.asgi_app = guard(manager._handle_request)  # type: ignore[assignment]
            guard_sessions(manager)
            yield state

    app.router.lifespan_context = lifespan


def _unguarded(endpoint: Any) -> Any:
    return endpoint.app if isinstance(endpoint, RequireAuthMiddleware) else endpoint


class RequestCount:
    """The number of requests that a server is answering, whatever transport they came by."""

    def __init__(self) -> None:
        self.number = 0

    async def dispatch(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Count a request while it is answered; a subscription, which has no answer of its own, does not count."""
        if ctx.request_id is None or ctx.method == "subscriptions/listen":
            return await call_next(ctx)
        self.number += 1
        try:
            return await call_next(ctx)
        finally:
            self.number -= 1


_COUNTED: Final[weakref.WeakKeyDictionary[FastMCP[Any], RequestCount]] = weakref.WeakKeyDictionary()


def count_requests(server: FastMCP[Any]) -> RequestCount:
    """Return the number, from now on, of the requests that `server` is answering; one and the same for one server."""
    count = _COUNTED.get(server)
    if count is None:
        count = _COUNTED[server] = RequestCount()
        wrap_dispatch(server, count.dispatch)
    return count


@contextmanager
def streams_replaced(server: FastMCP[Any], replace: Callable[[Any, Any], tuple[Any, Any]]) -> Iterator[None]:
    """Have `server` serve its next connection over the streams that `replace` makes of those of its transport.

    Within another such context for the same server, nothing is replaced.
    """
    low_level, run = server._mcp_server, server._mcp_server.run
    if getattr(run, _REPLACED, False):
        yield
        return

    async def run_replaced(read: Any, write: Any, *args: Any, **options: Any) -> None:
        await run(*replace(read, write), *args, **options)

    setattr(run_replaced, _REPLACED, True)
    own = vars(low_level).get("run")
    vars(low_level)["run"] = run_replaced
    try:
        yield
    finally:
        del vars(low_level)["run"]
        if own is not None:
            vars(low_level)["run"] = own


_REPLACED: Final = "xmcp_streams_replaced"


def mirrors_into_header(input_schema: Mapping[str, Any]) -> bool:
    """Tell whether the schema declares `x-mcp-header` anywhere."""
    return f'"{X_MCP_HEADER_KEY}"' in json.dumps(input_schema, default=str)


def _no_schema(_name: str) -> None:
    return None
