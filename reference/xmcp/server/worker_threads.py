"""Synchronous functions of authors in worker threads: what may leave a thread, and threads that nobody waits for.

A thread cannot be stopped. If a time-out or a cancellation ends a call whose thread still runs, the call is answered at
once and the thread is abandoned: it runs to its end, and its result is dropped. Each function has a limit of such
threads; above it, calls are refused until one ends.
"""

from __future__ import annotations

import enum
import functools
import inspect
import logging
import threading
from asyncio import CancelledError
from collections.abc import Callable
from typing import Any, Final

import anyio.to_thread

from xmcp.server.errors import XMCPError

logger: Final = logging.getLogger("xmcp.server")

MAX_ABANDONED: Final = 16
"""Maximum number of abandoned threads of one function; calls that run at the same time can add to it."""
KNOWN_FUNCTIONS: Final = 5000
"""Maximum number of functions that keep their wrapper, as in FastMCP: a tool is not always the same object."""


@functools.lru_cache(maxsize=KNOWN_FUNCTIONS)
def safe_in_thread(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the synchronous `fn` so that its failure can leave a worker thread; a generator is read to its end there.

    asyncio would throw a `GeneratorExit` of the thread into the task that waits for it, which closes the coroutines of
    that task instead of failing in them.
    """

    @functools.wraps(fn)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            value = fn(*args, **kwargs)
            return list(value) if inspect.isgenerator(value) else value
        except (GeneratorExit, StopIteration) as error:
            raise RuntimeError(f"{name_of(fn)} raised {type(error).__name__}") from error

    return guarded


@functools.lru_cache(maxsize=KNOWN_FUNCTIONS)
def bounded_in_thread(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return an async function that runs the synchronous `fn` in a worker thread, and leaves it when it is cancelled.

    It raises an `XMCPError` (`UPSTREAM_UNAVAILABLE`) while `MAX_ABANDONED` threads of `fn` are abandoned.
    """
    in_thread = safe_in_thread(fn)
    abandoned = _Abandoned(name_of(fn))

    @functools.wraps(fn)
    async def bounded(*args: Any, **kwargs: Any) -> Any:
        abandoned.refuse_above_limit()
        run = _Run(abandoned)
        try:
            value = await anyio.to_thread.run_sync(
                functools.partial(run.call, in_thread, args, kwargs), abandon_on_cancel=True
            )
        except CancelledError:
            run.abandon()
            raise
        return await value if inspect.isawaitable(value) else value

    return bounded


class _State(enum.Enum):
    WAITING = enum.auto()
    RUNNING = enum.auto()
    ENDED = enum.auto()
    ABANDONED = enum.auto()


class _Abandoned:
    """The abandoned threads of one function."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lock = threading.Lock()
        self.count = 0

    def refuse_above_limit(self) -> None:
        if self.count < MAX_ABANDONED:
            return
        raise XMCPError(
            "UPSTREAM_UNAVAILABLE",
            f"{self.count} earlier calls took longer than they were allowed to and still run. No further one is "
            "started until one of them ends.",
            meta={"side_effects": "none"},
        )


class _Run:
    """One run of a function in a thread."""

    def __init__(self, abandoned: _Abandoned) -> None:
        self._abandoned = abandoned
        self._state = _State.WAITING

    def call(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call `fn`, in the worker thread; not if it was abandoned before the thread got to it."""
        with self._abandoned.lock:
            if self._state is _State.ABANDONED:
                return None
            self._state = _State.RUNNING
        try:
            return fn(*args, **kwargs)
        finally:
            with self._abandoned.lock:
                if self._state is _State.ABANDONED:
                    self._abandoned.count -= 1
                self._state = _State.ENDED

    def abandon(self) -> None:
        """Stop waiting for the thread."""
        with self._abandoned.lock:
            if self._state is _State.RUNNING:
                self._abandoned.count += 1
                logger.warning(
                    "A thread of %s goes on after its call has ended; %d of at most %d such threads.",
                    self._abandoned.name,
                    self._abandoned.count,
                    MAX_ABANDONED,
                )
            if self._state is not _State.ENDED:
                self._state = _State.ABANDONED


def name_of(fn: Callable[..., Any]) -> str:
    """Return the name of a function for the log."""
    return getattr(fn, "__qualname__", repr(fn))
