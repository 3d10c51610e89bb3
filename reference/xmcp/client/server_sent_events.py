"""The events of a chat as server-sent events, as a web page reads them (the standard of WHATWG, section 9.2)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import aclosing
from types import MappingProxyType
from typing import Any, Final, get_args

from xmcp.chat.errors import ProviderError, QuotaExceeded
from xmcp.chat.events import ChatChunk, ChatFailed, Done, LLMRetry, ToolDisplay, ToolRequested
from xmcp.chat.json_values import encode_json
from xmcp.client.calls.worker_threads import in_worker_if_large, rough_size_of

SSE_HEADERS: Final[Mapping[str, str]] = MappingProxyType(
    {"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
)
"""The headers of a response with server-sent events. By the last one nginx hands each event on at once."""

KEEP_ALIVE_SECONDS: Final = 15.0
"""Default for how long nothing may be sent. Proxies end a connection on which nothing came for 30 to 60 seconds."""

_KEEP_ALIVE: Final = ": \n\n"
_TYPES: Final = frozenset(str(one.__dataclass_fields__["type"].default) for one in get_args(ChatChunk))

_running: Final[set[asyncio.Task[None]]] = set()
"""References, which the event loop does not keep: a chat also ends if its reader was cancelled while it waited."""


def server_sent_events(
    events: AsyncGenerator[ChatChunk, None],
    *,
    types: Collection[str] | None = None,
    keep_alive: float | None = KEEP_ALIVE_SECONDS,
    history: bool = False,
) -> AsyncGenerator[str, None]:
    """Return the messages for the events of a chat; see `EventStream.sse`.

    Raises:
        ValueError: as `EventStream.sse` does.
    """
    wanted = _TYPES if types is None else frozenset(types)
    if wanted - _TYPES:
        raise ValueError(f"types must be a collection of {', '.join(sorted(_TYPES))}, not {types!r}.")
    if keep_alive is not None and not keep_alive > 0:
        raise ValueError(f"keep_alive must be a number of seconds above 0, or None, not {keep_alive!r}.")
    return _messages(events, wanted, keep_alive, history)


def message(event: ChatChunk, history: bool) -> str:
    """Return the message for one event. JSON has no line breaks in its texts, so that it is one line."""
    value = event.to_json(history=history) if isinstance(event, Done | ChatFailed) else event.to_json()
    if isinstance(event, ChatFailed | LLMRetry) and event.ui_message:
        # What the error says of a model is for whoever runs the application: addresses, variables, names.
        value["error"]["message"] = event.ui_message
    return f"event: {event.type}\ndata: {encode_json(value).decode()}\n\n"


def _values(event: ChatChunk, history: bool) -> list[Any]:
    """Return the values of an event that can be large and are written one by one; a text is not."""
    match event:
        case ToolDisplay(envelope=envelope):
            return [envelope.to_dict()]
        case ToolRequested(arguments=arguments):
            return [arguments]
        case Done(result=result):
            return [*(envelope.to_dict() for envelope in result["displays"]), result["history"] if history else None]
        case ChatFailed() if history:
            return [event.history]
        case _:
            return []


async def _messages(
    events: AsyncGenerator[ChatChunk, None], types: frozenset[str], keep_alive: float | None, history: bool
) -> AsyncGenerator[str, None]:
    loop = asyncio.get_running_loop()
    requested = asyncio.Semaphore(0)
    received: asyncio.Queue[ChatChunk | None] = asyncio.Queue()

    # A wait that is over must not end the step of the chat, so another task takes the steps, each on request. One task
    # for all of them, as in an `async for`: time-outs and scopes that libraries hold open belong to a task.
    async def take_steps() -> None:
        async with aclosing(events):
            await requested.acquire()
            async for event in events:
                received.put_nowait(event)
                await requested.acquire()

    def end(task: asyncio.Task[None]) -> None:
        _running.discard(task)
        received.put_nowait(None)
        # asyncio need not say that nobody looked: whoever left early does not want to know how the chat ended.
        _ = task.cancelled() or task.exception()

    task = asyncio.create_task(take_steps(), name="xmcp server-sent events")
    _running.add(task)
    task.add_done_callback(end)
    told = False
    last_sent = loop.time()
    requested.release()
    try:
        while True:
            try:
                async with asyncio.timeout_at(None if keep_alive is None else last_sent + keep_alive):
                    event = await received.get()
            except TimeoutError:
                text = _KEEP_ALIVE
            else:
                if event is None:
                    break
                text = ""
                if event.type in types:
                    size = rough_size_of(_values(event, history))
                    text = await in_worker_if_large(size, message, event, history)
                    told |= isinstance(event, ChatFailed)
            if text:
                yield text
                last_sent = loop.time()
            if text != _KEEP_ALIVE:
                requested.release()
        try:
            task.result()
        except (ProviderError, QuotaExceeded):
            if not told:
                raise
    finally:
        task.cancel()
        await asyncio.wait({task})
