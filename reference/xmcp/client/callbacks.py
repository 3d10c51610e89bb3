"""Calling the application's hooks: sync or async, and never to the harm of the chat."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from xmcp.client.log import EventLog
from xmcp.wire import DisplayEnvelope, ErrorInfo

DisplayCallback: TypeAlias = Callable[[DisplayEnvelope, list[dict[str, Any]]], Awaitable[object] | object]
ErrorCallback: TypeAlias = Callable[[ErrorInfo, list[dict[str, Any]]], Awaitable[object] | object]


async def notify(name: str, callback: Callable[..., Any] | None, log: EventLog, *args: Any) -> None:
    """Call a hook, wait for it if it is async; what it raises is logged and changes nothing (semantics 5)."""
    if callback is None:
        return
    try:
        answer = callback(*args)
        if inspect.isawaitable(answer):
            await answer
    except Exception:
        log.exception("callback_failed", callback=name)
