"""Calling the application's functions, sync or async, in bounded time."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

from xmcp.chat.usage import UsageRecord
from xmcp.client.hooks.log import EventLog
from xmcp.wire import DisplayEnvelope, ErrorInfo

DisplayCallback: TypeAlias = Callable[[DisplayEnvelope, list[dict[str, Any]]], Awaitable[object] | object]
ErrorCallback: TypeAlias = Callable[[ErrorInfo, list[dict[str, Any]]], Awaitable[object] | object]
UsageSink: TypeAlias = Callable[[UsageRecord], Awaitable[object] | object]

CALLBACK_SECONDS: Final = 60.0
"""How long a chat waits for an async callback that only observes."""


async def call(hook: Callable[..., Any], *args: Any, seconds: float | None, deadline: float | None = None) -> Any:
    """Call a hook, await it if it is async, and return its result.

    It may take `seconds` (`None`: any time), and not longer than until `deadline`, a time of the event loop's clock.
    What the hook raises is raised. A `CancelledError` that does not come from a cancellation of this task becomes a
    `RuntimeError`.

    Raises:
        TimeoutError: the hook did not end in time.
    """
    task = asyncio.current_task()
    limit = None if seconds is None else asyncio.get_running_loop().time() + seconds
    until = min((time for time in (limit, deadline) if time is not None), default=None)
    cancelling = task.cancelling() if task else 0
    try:
        answer = hook(*args)
        if not inspect.isawaitable(answer):
            return answer
        async with asyncio.timeout_at(until):
            return await answer
    except asyncio.CancelledError as exc:
        if task is not None and task.cancelling() > cancelling:
            raise
        raise RuntimeError("The hook was cancelled.") from exc


async def notify(
    name: str, hook: Callable[..., Any] | None, log: EventLog, *args: Any, deadline: float | None = None
) -> None:
    """Call a hook that only observes; an exception is logged and changes nothing (XMCP-CLI-064)."""
    if hook is None:
        return
    try:
        await call(hook, *args, seconds=CALLBACK_SECONDS, deadline=deadline)
    except Exception:
        log.exception("callback_failed", callback=name)
