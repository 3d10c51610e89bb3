"""Synchronous functions of authors in worker threads: what may leave a thread, and threads that nobody waits for.

A thread cannot be stopped. If a time-out or a cancellation ends a call whose thread still runs, the call is answered at
once, and the thread is left: it runs to its end, with its dependencies open, and its result is dropped. Each function
has a limit of such threads; above it, calls are refused until one ends.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
from asyncio import CancelledError
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, Final

import anyio.to_thread

from xmcp.server.errors import XMCPError

logger: Final = logging.getLogger("xmcp.server")

MAX_LEFT: Final = 16
"""Maximum number of threads of one function that were left; calls that run at the same time can add to it."""
KNOWN_FUNCTIONS: Final = 5000
"""Maximum number of tools' functions whose threads are remembered; FastMCP remembers as many."""


class OutOfTimeError(TimeoutError):
    """A call was left, because its time was over; the message says which one, and is for the caller."""


class _Run:
    """A call of a function that may be left. `has_begun` is set in its thread."""

    has_begun = False


_current_run: Final[ContextVar[_Run | None]] = ContextVar("xmcp_current_run", default=None)


def safe_in_thread(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the synchronous `fn` so that its failure can leave a worker thread; a generator is read to its end there.

    asyncio would throw a `GeneratorExit` of the thread into the task that waits for it, which closes the coroutines of
    that task instead of failing in them.
    """

    @functools.wraps(fn)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        if (run := _current_run.get()) is not None:
            run.has_begun = True
        try:
            value = fn(*args, **kwargs)
            return list(value) if inspect.isgenerator(value) else value
        except (GeneratorExit, StopIteration) as error:
            raise RuntimeError(f"{name_of(fn)} raised {type(error).__name__}") from error

    return guarded


class Threads:
    """The calls of one synchronous function, and those that were left while their threads still run.

    `what` names the function in messages.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._left: set[asyncio.Task[Any]] = set()

    async def run(self, call: Callable[[], Coroutine[Any, Any, Any]], seconds: float | None = None) -> Any:
        """Return the result of `call()`, which runs the function, made `safe_in_thread`, in a worker thread.

        Raises:
            OutOfTimeError: It takes longer than `seconds`.
            XMCPError: `UPSTREAM_UNAVAILABLE`: `MAX_LEFT` threads of the function were left and still run.
            BaseException: Any exception of `call()`.
        """
        if len(self._left) >= MAX_LEFT:
            raise XMCPError(
                "UPSTREAM_UNAVAILABLE",
                f"{len(self._left)} earlier calls took longer than they were allowed to and still run. No further one "
                "is started until one of them ends.",
                meta={"side_effects": "none"},
            )
        run = _Run()
        token = _current_run.set(run)
        try:
            task = asyncio.create_task(_outcome(call))
        finally:
            _current_run.reset(token)
        try:
            await asyncio.wait({task}, timeout=seconds)
        except CancelledError:
            self._leave(task, run)
            raise
        if not task.done():
            self._leave(task, run)
            raise OutOfTimeError(f"{self._what} execution timed out after {seconds}s")
        value, failure = task.result()
        if failure is not None:
            raise failure
        return value

    def _leave(self, task: asyncio.Task[Any], run: _Run) -> None:
        if task.done() or not run.has_begun:
            task.cancel()
            return
        self._left.add(task)
        # The thread keeps its token of the limiter until it ends. It shall not be missing for other calls.
        limiter = anyio.to_thread.current_default_thread_limiter()
        limiter.total_tokens += 1
        logger.warning(
            "%s: a thread goes on after its call has ended, %d of at most %d.", self._what, len(self._left), MAX_LEFT
        )

        def ended(task: asyncio.Task[Any]) -> None:
            self._left.discard(task)
            limiter.total_tokens -= 1

        task.add_done_callback(ended)


@functools.lru_cache(maxsize=KNOWN_FUNCTIONS)
def in_threads(fn: Callable[..., Any], what: str) -> tuple[Callable[..., Any], Threads]:
    """Return the synchronous `fn` of a tool, made `safe_in_thread`, and its threads.

    Both are the same for the same function, because the tool is not always the same object.
    """
    return safe_in_thread(fn), Threads(what)


async def _outcome(call: Callable[[], Coroutine[Any, Any, Any]]) -> tuple[Any, BaseException | None]:
    """Return the result of `call()`, or its failure: asyncio lets a `SystemExit` of a task end the whole loop."""
    try:
        return await call(), None
    except BaseException as failure:
        return None, failure


def name_of(fn: Callable[..., Any]) -> str:
    """Return the name of a function for the log."""
    return getattr(fn, "__qualname__", repr(fn))
