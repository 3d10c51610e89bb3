"""A long chat that is read by two readers and cancelled."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Final

from .asking import NOT_THERE, Gateway, result
from .exchange import EVENTS, Answer, Exchange
from .options import Options
from .seen import Cancelled, Resumed, Seen
from .told import Told, told

_CANCELLED_AFTER: Final = 3
"""Number of events after which the chat is cancelled."""
_STUCK_SECONDS: Final = 10.0
"""How long a run that was cancelled may go on, beyond the time of the options, before the suite leaves it."""


class NotCancelled(Exception):
    """The chat could not be cancelled. The message is a sentence for the person who runs the suite."""


class NothingThere(NotCancelled):
    """The gateway has nothing at the address at which runs are cancelled."""


async def cancelled(gateway: Gateway, prompt: str, options: Options) -> list[Seen]:
    """Return what was seen of the chat, and what its second reader saw.

    Raises:
        NotJudged: there is no answer, or none that can be judged.
        NotCancelled: the chat ended before, or the gateway does not cancel.
    """
    async with gateway.chat(prompt, EVENTS) as under_way, _second_reader(gateway) as reader:
        waited = await _read(gateway, under_way, reader, options)
        answer = result(under_way.answer, options.paths.chat, "--chat-path")
        if waited is None:
            raise NotCancelled("The long chat ended before it could be cancelled; --long-prompt names a longer one.")
        seen = Cancelled(answer, waited=waited, grace=options.cancel_seconds)
        again = None if seen.was_left else await reader.answer()
        if again is None or again.status in NOT_THERE or seen.events[0].place is None:
            return [seen]
        return [seen, Resumed(seen.events, seen.events[0].place, again)]


async def _read(gateway: Gateway, under_way: Exchange, reader: _SecondReader, options: Options) -> float | None:
    """Read the chat to its end, and cancel it meanwhile; return the seconds from then, `None` if it ended before."""
    loop, cancelled_at = asyncio.get_running_loop(), None
    count, run = 0, ""
    try:
        async with asyncio.timeout(None) as patience, aclosing(under_way.events()) as events:
            async for sent in events:
                event, count = told(sent), count + 1
                run = run or event.member("run_id", str) or (event.place.run if event.place is not None else "")
                if not run or event.is_last:
                    continue
                reader.begin(run, event)
                if count >= _CANCELLED_AFTER and cancelled_at is None:
                    answer = await gateway.cancel(run)
                    if answer.refused:
                        path = options.paths.cancel
                        raise NothingThere(f"no run could be cancelled at {path}; --cancel-path names the path")
                    cancelled_at = loop.time()
                    patience.reschedule(cancelled_at + options.cancel_seconds + _STUCK_SECONDS)
    except TimeoutError:
        return math.inf
    return None if cancelled_at is None else loop.time() - cancelled_at


class _SecondReader:
    """Reads the events after the first one while they happen."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self.task: asyncio.Task[Answer] | None = None

    def begin(self, run: str, first: Told) -> None:
        """Begin to read a run after an event, unless it does so already."""
        if self.task is None and first.place is not None:
            self.task = asyncio.create_task(self._gateway.events_of(run, str(first.place)))

    async def answer(self) -> Answer | None:
        """Return what it read."""
        return None if self.task is None else await self.task


@asynccontextmanager
async def _second_reader(gateway: Gateway) -> AsyncIterator[_SecondReader]:
    reader = _SecondReader(gateway)
    try:
        yield reader
    finally:
        if reader.task is not None:
            reader.task.cancel()
            await asyncio.gather(reader.task, return_exceptions=True)
