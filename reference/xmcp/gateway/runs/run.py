"""One run: a chat in a task of its own, which no request owns. It publishes events; any number of readers follow."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias

from xmcp.chat import client_made_errors
from xmcp.chat.errors import ProviderError, QuotaExceeded
from xmcp.chat.events import ChatChunk
from xmcp.chat.json_values import encode_json
from xmcp.chat.messages import size_of
from xmcp.client.calls.worker_threads import in_worker_if_large, rough_size_of
from xmcp.client.chat_stream import ChatStream
from xmcp.client.hooks.middleware import ToolState
from xmcp.gateway.runs.events import LAST, EventType, RunEvent
from xmcp.gateway.runs.joined_text import JoinedText
from xmcp.gateway.runs.observer import RunObserver
from xmcp.gateway.runs.patience import Patience, RunLimits
from xmcp.gateway.runs.questions import Answer, Questions
from xmcp.gateway.runs.reader import Reader
from xmcp.gateway.runs.record import RunRecord
from xmcp.gateway.runs.request import Caller, ChatRequest
from xmcp.gateway.runs.ring import EventRing
from xmcp.gateway.runs.rounds import with_open_calls
from xmcp.gateway.runs.translation import Draft, Translation, error_data, large_values
from xmcp.wire import ErrorInfo

CLEANUP_SECONDS: Final = 5.0
"""How long a chat that is cancelled may take to end its calls; then the run ends without it."""

YIELD_BYTES: Final = 32 * 1024
"""After so many bytes the readers get a turn, so that a fast model does not run ahead of them."""

EndedBy: TypeAlias = Literal["caller", "reader", "drain"]
"""Who cancels a run: somebody who asks for it; nobody reads it any more; the gateway is stopping."""

_log: Final = logging.getLogger("xmcp.gateway")


_current: Final[ContextVar[Run | None]] = ContextVar("xmcp_gateway_run", default=None)


def current_run() -> Run | None:
    """Return the run whose chat runs in this context, as far as hooks of the client are concerned."""
    return _current.get()


class Run(RunRecord):
    """One chat from the request to its last event.

    Args:
        run_id: Its id.
        request: What was asked.
        caller: By whom.
        open_chat: Begins the chat for the caller; what it raises ends the run as an error.
        limits: The time limits.
        observers: Are told of every event.
        on_end: Is called once, when the run has ended.
    """

    def __init__(
        self,
        run_id: str,
        request: ChatRequest,
        caller: Caller,
        open_chat: Callable[[Caller], ChatStream],
        limits: RunLimits,
        observers: Sequence[RunObserver],
        on_end: Callable[[Run], None],
    ) -> None:
        super().__init__(request, caller, run_id)
        self._open_chat = open_chat
        self._limits = limits
        self._observers = observers
        self._on_end = on_end
        self._ring = EventRing()
        self._joined = JoinedText(limits.join, self._publish_joined) if limits.join else None
        self._readers: set[Reader] = set()
        self._was_read = False
        self.was_shown = False
        """Whether a reader got all of it in a stream, its end included."""
        self._begun = asyncio.Event()
        self._over = asyncio.Event()
        self._ended_by: EndedBy | None = None
        self.questions = Questions(self._offer, self._questions_changed)
        self._patience: Patience | None = None
        self._unread = 0
        self._published_bytes = 0
        self._history_size = 0
        self._started_at = time.perf_counter()
        self._loop = asyncio.get_running_loop()
        self._left_alone: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def ended(self) -> bool:
        """Whether the last event was published."""
        return self._over.is_set()

    @property
    def size(self) -> int:
        """About how many bytes the run keeps in memory: its request, its events, and the history.

        The history has what the model read of tools, of which the events have only the beginning.
        """
        history = max(self.request.size, self._history_size)
        return self.request.size + history + self._ring.size + self._published_bytes

    def start(self) -> None:
        """Begin, in a task of its own."""
        self._tell("accepted", self)
        self._task = asyncio.create_task(self._run(), name=f"xmcp {self.id}")
        # One that is cancelled before its first step never runs.
        self._task.add_done_callback(lambda _: self._end(*_cancelled(self._ended_by or "drain")))

    async def begun(self, seconds: float) -> None:
        """Wait until there is more than `run.started`, or until the time is over."""
        try:
            async with asyncio.timeout(seconds):
                await self._begun.wait()
        except TimeoutError:
            return

    async def over(self) -> None:
        """Wait until the run has ended."""
        await self._over.wait()

    def read(self, after: int = 0) -> Reader:
        """Return a new reader of the events after the place `after`; it must be closed."""
        reader = Reader(self, after)
        self._readers.add(reader)
        self._was_read = True
        if self._left_alone is not None:
            self._left_alone.cancel()
            self._left_alone = None
        return reader

    @property
    def readers(self) -> int:
        """How many read it at the moment."""
        return len(self._readers)

    @property
    def is_alone(self) -> bool:
        """Whether nobody reads it any more; one that has just begun has its reader in a moment."""
        return self._was_read and not self._readers

    def left(self, reader: Reader) -> None:
        """Take note that a reader has left; for the reader."""
        self._readers.discard(reader)
        # A reader that was dropped may come back for the rest, and the caller did not leave.
        if not reader.dropped:
            self._end_if_left_alone()

    def _end_if_left_alone(self) -> None:
        """Give the run up after the grace if nobody reads it. One that waits for a person, or whose person has spoken,
        goes on: the answer is a wish that the call is made, and need not come from the one who read the question."""
        if not (self._readers or self.ended or self.questions.are_open or self.questions.were_answered):
            self._left_alone = self._loop.call_later(self._limits.grace, self.cancel, "reader")

    async def ask(self, call: ToolState, reason: str) -> Answer:
        """Ask a person whether a call may be made, and wait for the answer."""
        return await self.questions.ask(call, reason)

    def _questions_changed(self) -> None:
        if self._patience is None:
            return
        if self.questions.are_open:
            self._patience.stop()
            if self._left_alone is not None:
                self._left_alone.cancel()
        else:
            self._patience.go_on()
            self._end_if_left_alone()

    def events_after(self, seq: int) -> Sequence[RunEvent]:
        """Return the events after a place; `stream.gap` and `snapshot` if some are not kept any more."""
        kept = self._ring.after(seq)
        if kept is not None:
            return kept
        newest = self._ring.newest
        missing = {"after": seq, "until": newest}
        drafts: list[Draft] = [("stream.gap", missing), ("snapshot", self.state.to_dict())]
        events = [RunEvent(self.id, self.attempt, newest, kind, data, encode_json(data)) for kind, data in drafts]
        last = self._ring.after(newest - 1) if self.ended else None
        return [*events, *(last or ())]

    def cancel(self, by: EndedBy) -> None:
        """End the run: the model and running tools are stopped, and its last event says so. Returns at once."""
        if self.ended or self._ended_by is not None or self._task is None:
            return
        self._ended_by = by
        self._task.cancel()
        self._loop.call_later(CLEANUP_SECONDS, self._end, *_cancelled(by))

    async def _run(self) -> None:
        translation = Translation(self.id, one_call=self.request.one_call)
        last: Draft = ("run.error", error_data(client_made_errors.chat_crashed("Exception")))
        _current.set(self)  # of this task, and of those that the chat makes for its calls
        try:
            about = {"run_id": self.id, "model": self.request.model, "created": int(self.created)}
            self._publish("run.started", about, encode_json(about))
            last = await self._follow(translation)
        except asyncio.CancelledError:
            last = _cancelled(self._ended_by or "drain")
            if self._ended_by is None:
                raise
        except (ProviderError, QuotaExceeded) as error:
            _log.warning("run %s failed: %s", self.id, error)
            last = "run.error", translation.failure or error_data(error_of(error))
        except Exception as error:
            _log.exception("run %s failed", self.id)
            last = "run.error", translation.failure or error_data(error_of(error))
        finally:
            self._end(*last)

    async def _follow(self, translation: Translation) -> Draft:
        """Run the chat to its end and return the last event; it is published when all else is."""
        last: Draft | None = None
        stream = self._open_chat(self.caller)
        patience = self._patience = Patience(self._limits, self.request.deadline)
        try:
            async with aclosing(stream) as chunks:
                while True:
                    with patience.listening():
                        chunk = await anext(chunks, None)
                    if chunk is None:
                        break
                    size = rough_size_of(large) if (large := large_values(chunk)) else 0
                    for kind, data, json in await in_worker_if_large(size, _written, translation, chunk):
                        if kind in LAST:
                            last = kind, data
                        else:
                            self._offer(kind, data, json)
                            if self._unread > YIELD_BYTES:
                                await self._give_readers_a_turn()
                    patience.heard()
        except TimeoutError:
            if not patience.is_over:
                raise
            late = _too_late(patience.is_whole, begun=self._begun.is_set())
            _log.warning("run %s failed: %s", self.id, late["message"])
            last = "run.error", late
        finally:
            patience.close()
            self.history = with_open_calls(stream.history, translation.open_ids)
            self._history_size = sum(map(size_of, self.history))
            for usage in stream.unreported():
                for event in _written(translation, usage):
                    self._offer(*event)
        return last or ("run.error", translation.failure or error_data(client_made_errors.chat_crashed("no end")))

    async def _give_readers_a_turn(self) -> None:
        self._unread = 0
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    def _offer(self, kind: EventType, data: Mapping[str, Any], json: bytes) -> int:
        """Publish an event, or keep text for a moment, and return the place of the last event."""
        if self._joined is not None and self._joined.takes(kind, data):
            return self._ring.newest
        return self._publish(kind, data, json)

    def _publish_joined(self, kind: EventType, data: Mapping[str, Any]) -> None:
        self._publish(kind, data, encode_json(data))

    def _publish(self, kind: EventType, data: Mapping[str, Any], json: bytes) -> int:
        """Publish an event, unless the run has ended, and return its place."""
        if self.ended:
            return self._ring.newest
        event = RunEvent(self.id, self.attempt, self._ring.newest + 1, kind, data, json)
        self._unread += event.size
        self._published_bytes += event.size
        self._ring.append(event)
        self.state.apply(event)
        if kind != "run.started":
            self._begun.set()
        if event.is_last:
            self._over.set()
        self._tell("event", self, event)
        for reader in [*self._readers]:
            reader.published(event)
        return event.seq

    def _end(self, kind: EventType, data: Mapping[str, Any]) -> None:
        """Publish the last event, if there was none yet."""
        if self.ended:
            return
        if self._joined is not None:
            self._joined.flush()
        self.latency_ms = round((time.perf_counter() - self._started_at) * 1000, 1)
        data = {**data, "latency_ms": self.latency_ms}
        self._publish(kind, data, encode_json(data))
        if self._left_alone is not None:
            self._left_alone.cancel()
        self._tell("ended", self)
        self.caller = replace(self.caller, key=None)
        self._on_end(self)

    def _tell(self, method: str, *arguments: Any) -> None:
        for observer in self._observers:
            try:
                getattr(observer, method)(*arguments)
            except Exception:
                _log.exception("an observer of runs failed in %s", method)


def _written(translation: Translation, chunk: ChatChunk) -> list[tuple[EventType, dict[str, Any], bytes]]:
    return [(kind, data, encode_json(data)) for kind, data in translation.events_of(chunk)]


def error_of(error: Exception) -> ErrorInfo:
    """Return what a caller is told of an exception that no event announced: nothing of its text."""
    if isinstance(error, QuotaExceeded):
        return client_made_errors.chat_quota_used_up(str(error), error.reset)
    if isinstance(error, ProviderError):
        return ErrorInfo(error.to_error_info().code, error.ui_message())
    return ErrorInfo("INTERNAL", "The gateway could not run this chat. Its log says why, beside the id of the run.")


def _too_late(whole: bool, *, begun: bool) -> dict[str, Any]:
    what = "The run took longer than it may" if whole else "Nothing happened for too long"
    if not whole and not begun:
        what = "The model did not begin to answer in time"
    return error_data(ErrorInfo("TIMEOUT", f"{what}, and was ended. Try again, or ask for less at a time."))


def _cancelled(by: EndedBy) -> Draft:
    match by:
        case "caller":
            return "run.cancelled", error_data(ErrorInfo("CANCELLED", "The run was cancelled."))
        case "reader":
            return "run.cancelled", error_data(ErrorInfo("CANCELLED", "Nobody read the run any more."))
        case "drain":
            told = "The gateway is stopping, and ended the run before it was finished. Try again."
            return "run.interrupted", error_data(ErrorInfo("UPSTREAM_UNAVAILABLE", told))
