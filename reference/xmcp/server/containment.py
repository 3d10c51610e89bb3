"""Exceptions that would end more than the request in which they are raised.

Some exceptions have a meaning for the code that runs a request. `GeneratorExit`, `CancelledError`, `SystemExit` and
`KeyboardInterrupt` end a task, a task group of the SDK or the event loop, and with it all other requests of the
session or of the server. If a tool, a resource or a middleware raises one, it is a failure of that request only.

A Ctrl-C is no exception of a request: asyncio and uvicorn handle the signal, and stop the server. A second one can
arrive as a `KeyboardInterrupt` in whatever runs at that moment; it ends that, and the server goes on to stop.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio import CancelledError
from typing import Any, Final

from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types import INTERNAL_ERROR

logger: Final = logging.getLogger("xmcp.server")


def ends_its_task(failure: BaseException, task: asyncio.Task[Any] | None) -> bool:
    """Tell whether `failure` is what ends `task`, the one that runs a request, and must leave it.

    That is its own cancellation, and the `GeneratorExit` by which a coroutine is closed, which no task runs any more.
    """
    match failure:
        case CancelledError():
            return task is not None and task.cancelling() > 0
        case GeneratorExit():
            return task is None or _running_task() is not task
        case _:
            return False


async def contain(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Answer a message; middleware of the SDK for every method.

    Raises:
        MCPError: The handler raised what is not an `Exception`. Its details are in the log only.
        Exception: Any exception of the handler.
    """
    task = _running_task()
    try:
        return await call_next(ctx)
    except Exception:
        raise
    except BaseException as failure:
        if ends_its_task(failure, task):
            raise
        logger.exception("The handler of %r raised %s.", ctx.method, type(failure).__name__)
        text = "The request failed unexpectedly. The server's log has the details."
        raise MCPError(code=INTERNAL_ERROR, message=text) from None


def _running_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs: the coroutine is closed after its loop
        return None
