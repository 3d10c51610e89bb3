"""An event loop whose clock jumps to the next timer, so that minutes of waiting take no time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

T = TypeVar("T")

MAX_SECONDS: Final = 30 * 86_400.0
"""Virtual time after which nothing will happen any more, though timers come again and again."""


class Stuck(BaseException):
    """The waiting tasks would wait forever: no timer is set, or none but those that come again and again."""


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop for code without I/O. It runs at once what it is asked to run in a thread."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0

    def time(self) -> float:
        """Return the seconds of the virtual clock."""
        return self._now

    def run_in_executor(  # type: ignore[override]
        self,
        executor: Any,  # noqa: ARG002 - the name is asyncio's
        func: Callable[..., Any],
        *args: Any,
    ) -> Any:
        """Run a function at once: a thread would need real time."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as exc:
            future.set_exception(exc)
        return future

    def _run_once(self) -> None:
        timers = [timer for timer in self._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]
        if not self._ready:  # type: ignore[attr-defined]
            if not timers or self._now > MAX_SECONDS:
                raise Stuck
            self._now = max(self._now, min(timer.when() for timer in timers))
        super()._run_once()  # type: ignore[misc]


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine as `asyncio.run` does, in virtual time.

    Raises:
        Stuck: a task would wait forever.
        AssertionError: a task was left behind.
    """
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:

        async def watched() -> T:
            result = await main
            left = asyncio.all_tasks() - {asyncio.current_task()}
            if left:
                raise AssertionError(f"left behind: {left}")
            return result

        return runner.run(watched())
