"""Middleware around every message, and the streams that messages come by."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from fastmcp import FastMCP
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp_types import SubscriptionsListenRequestParams

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import RequestHandler


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
