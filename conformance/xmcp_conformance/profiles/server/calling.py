"""Make the calls of a run, each while the answer before is judged; a busy server is asked again, a silent one not."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

import anyio

from xmcp_conformance.core.untrusted_text import quoted
from xmcp_models.registry import ERROR_META_KEY

from .call_plan import Batch, Learned
from .exchange import Exchange, Intent, ToolCall, has_huge_number
from .pace import Pace
from .server_under_test import Session

_LONGEST_WAIT: Final = 2.0
"""Maximum time, in seconds, that a busy server is given before it is asked again."""
_MOST_WAITS: Final = 3
"""Maximum number of waits for each tool."""
_MOST_SILENT: Final = 5
"""Number of calls in a row without an answer after which no other call is made in a run: each takes the time-out."""
_MOST_STEPS: Final = 50
"""Maximum number of steps of the event loop in which a request leaves, while an answer waits to be judged."""
_HEAD: Final = 10_000
"""Number of characters in which the start tag of an error is looked for; and the longest wait that is told apart."""
_RETRYABLE: Final = re.compile(r"\bretryable\s{0,9}=\s{0,9}[\"']\s{0,9}(?:true|1)")
_AFTER: Final = re.compile(r"\bretry_after_ms\s{0,9}=\s{0,9}[\"'](\d{1,9})")


class Caller:
    """Makes calls over one session, and notes what is not judged."""

    def __init__(
        self,
        session: Session,
        note: Callable[[str], None],
        learned: Learned,
        silent: set[str] | None = None,
        pace: Pace | None = None,
    ) -> None:
        """Make calls over `session`, and take their times into account in `learned`.

        Args:
            session: an open connection.
            note: gets what is not judged.
            learned: gets the times of the calls.
            silent: the names of tools that did not answer in time, in this run and in those before it.
            pace: says when no other call is made.
        """
        self._session = session
        self._silent = silent if silent is not None else set()
        self._note = note
        self._pace = pace or Pace()
        self._learned = learned
        self._in_a_row: list[ToolCall] = []
        self._waits: Counter[str] = Counter()
        self._free = anyio.Lock()

    async def exchanges(self, batches: Iterable[Batch]) -> AsyncGenerator[Exchange, None]:
        """Make the calls, a batch after the other; stop when the connection is lost, or the time is over.

        While the caller judges an answer, the server is at the next batch, unless the answer tells against going on. So
        what the caller learns of an answer changes the batch after the next.

        A call without an answer in time is yielded too, and its tool is not called again.
        """
        waiting = iter(batches)
        begun = self._begun(waiting)
        try:
            while begun is not None:
                made, begun = await begun, None
                if not any(exchange.lost for exchange in made):
                    begun = self._begun(waiting)
                    await self._leaves(begun)
                for exchange in made:
                    if exchange.timed_out or exchange.asked_for_too_much:
                        self._note_silence(exchange)
                        yield exchange
                        if exchange.timed_out:
                            continue
                        return
                    self._in_a_row.clear()
                    if (exchange.result or {}).get("resultType") == "input_required":
                        self._note(f"{exchange.call}: the server asks the client for input; not judged.")
                        continue
                    yield exchange
                    if exchange.lost:
                        self._note(f"The connection ended during {exchange.call}; the calls after it were not made.")
                        return
                if len(self._in_a_row) >= _MOST_SILENT:
                    self._note(
                        f"After {self._in_a_row[0]} the server answered no other call in time, and the others were not "
                        "made: does that tool block its event loop?"
                    )
                    return
                begun = begun or self._begun(waiting)
        finally:
            if begun is not None:
                begun.cancel()
                with anyio.CancelScope(shield=True):
                    await asyncio.wait({begun})

    def _begun(self, batches: Iterator[Batch]) -> asyncio.Task[list[Exchange]] | None:
        """Begin the calls of the next batch, if there is one."""
        batch = next(batches, None)
        return None if batch is None or self._pace.holds_back() else asyncio.create_task(self._made(batch))

    async def _leaves(self, begun: asyncio.Task[list[Exchange]] | None) -> None:
        """Wait until the request of a batch has left; who judges an answer lets nothing else run."""
        before = self._session.sent
        for _ in range(_MOST_STEPS):
            if begun is None or begun.done() or self._session.sent > before:
                break
            await anyio.lowlevel.checkpoint()

    async def again(self, call: ToolCall) -> Exchange:
        """Make one call more, without regard to what came before."""
        async with self._free:
            return await self._session.call(call)

    async def _call(self, call: ToolCall) -> Exchange:
        exchange = await self._session.call(call)
        self._learned.add_time(call.name, exchange.seconds)
        if not call.traps:
            self._learned.add_size(call.name, exchange.size)
        return exchange

    async def _made(self, batch: Batch) -> list[Exchange]:
        calls = [call for call in batch if call.name not in self._silent]  # each of these would cost the time-out
        async with self._free:
            if len(calls) == 1:
                return [exchange async for exchange in self._patiently(calls[0])]
            return await self._at_the_same_time(calls)

    async def _at_the_same_time(self, calls: list[ToolCall]) -> list[Exchange]:
        ended: dict[int, Exchange] = {}

        async def make(number: int, call: ToolCall) -> None:
            exchange = await self._call(call)
            ended[number] = replace(exchange, is_busy=asks_to_wait(exchange) is not None)

        async with anyio.create_task_group() as group:
            for number, call in enumerate(calls):
                group.start_soon(make, number, call)
        return [ended[number] for number in range(len(calls))]

    async def _patiently(self, call: ToolCall) -> AsyncGenerator[Exchange, None]:
        """Make a call, and one that has to fail again where the answer is that the server is busy; yield each answer.

        A right call is not repeated: an answer that the server is busy breaks nothing, and others follow.
        """
        for left in reversed(range(1 if call.intent is Intent.VALID else _MOST_WAITS)):
            exchange = await self._call(call)
            wait = asks_to_wait(exchange)
            if wait is None or (left == 0 and call.intent is not Intent.VALID):  # was asked as often as it wished
                yield exchange
                return
            yield replace(exchange, is_busy=True)
            if left == 0 or wait > _LONGEST_WAIT or self._waits[call.name] >= _MOST_WAITS or self._pace.is_over:
                return
            self._waits[call.name] += 1
            await anyio.sleep(wait)

    def _note_silence(self, exchange: Exchange) -> None:
        call = exchange.call
        self._silent.add(call.name)
        self._in_a_row.append(call)
        huge = has_huge_number(call.arguments)
        bounded = " A `maximum` in its input schema would keep such numbers away." if huge else ""
        self._note(f"{call}: {exchange.lost}; `{quoted(call.name)}` was not called again.{bounded}")


def asks_to_wait(exchange: Exchange) -> float | None:
    """Return the seconds after which a failed call can be made again, by its error; `None` where that does not help."""
    result: dict[str, Any] = exchange.result or {}
    meta = result.get("_meta")
    error = meta.get(ERROR_META_KEY) if isinstance(meta, dict) else None
    if isinstance(error, dict):
        after = error.get("retry_after_ms", 0)
        known = isinstance(after, int) and not isinstance(after, bool)
        return min(max(after, 0), _HEAD) / 1000 if error.get("retryable") is True and known else None
    begins = (exchange.text or "")[:_HEAD]
    start = begins.find("<error")
    tag = begins[start : begins.find(">", start)] if start >= 0 and "<llm_output" not in begins[:start] else ""
    if not _RETRYABLE.search(tag):
        return None
    named = _AFTER.search(tag)
    return int(named[1]) / 1000 if named else 0.0
