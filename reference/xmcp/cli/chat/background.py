"""The chat in a thread of its own, so that a person who types holds up nothing, and Ctrl-C reaches the right one.

All that the main thread is told comes through one queue: events of the chat, questions of the client, Ctrl-C, the end.
"""

from __future__ import annotations

import asyncio
import queue
import signal
from collections.abc import Awaitable, Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, ExitStack, aclosing, contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self, TypeAlias, TypeVar, cast

from anyio.from_thread import BlockingPortal, start_blocking_portal

from xmcp.client import ChatChunk, Conversation, ToolState
from xmcp.client.chat_options import ChatOptions

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ask:
    """A call that a person has to approve; the call waits for `answer`: `True`, `False`, or why not."""

    call: ToolState
    answer: Future[bool | str] = field(default_factory=Future)


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Ctrl-C."""


@dataclass(frozen=True, slots=True)
class Over:
    """The chat has ended, and nothing of it runs any more; `error` is what it raised, if it was not cancelled."""

    error: BaseException | None = None


Message: TypeAlias = ChatChunk | Ask | Interrupt | Over

TICK: Final = 0.1
"""Seconds after which the main thread is woken to draw, if nothing has happened."""


class Background:
    """Runs a client and its chats in a thread, from `with` to its end."""

    def __init__(self) -> None:
        self._exits = ExitStack()
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._portal: BlockingPortal

    def __enter__(self) -> Self:
        self._portal = self._exits.enter_context(start_blocking_portal(name="xmcp chat"))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._exits.__exit__(kind, error, at)

    def enter(self, context: AbstractAsyncContextManager[T]) -> T:
        """Enter a context manager in the thread; it is left with the thread."""
        return self._exits.enter_context(self._portal.wrap_async_context_manager(context))

    def run(self, function: Callable[..., Awaitable[T] | T], *arguments: Any) -> T:
        """Run a function in the thread, and wait for it."""
        return cast("T", self._portal.call(function, *arguments))

    async def approve(self, call: ToolState) -> bool | str:
        """Have the person asked, who sits before the main thread. For `AIClient(approve=...)`."""
        asked = Ask(call)
        self._messages.put(asked)
        return await asyncio.wrap_future(asked.answer)

    def ask(self, conversation: Conversation, query: str, options: ChatOptions) -> Chat:
        """Begin a chat."""
        while not self._messages.empty():
            self._messages.get()
        chat = Chat(self._portal, self._messages)
        self._portal.start_task_soon(chat.run, conversation, query, options)
        return chat


class Chat:
    """A chat that runs in the background."""

    def __init__(self, portal: BlockingPortal, messages: queue.SimpleQueue[Message]) -> None:
        self._portal = portal
        self._messages = messages
        self._task: asyncio.Task[None] | None = None

    async def run(self, conversation: Conversation, query: str, options: ChatOptions) -> None:
        """Run the chat; in the thread. It has ended when `Over` is told."""
        # A task of its own: cancelling it is told once, so that what has to end in order can do so.
        self._task = asyncio.create_task(self._answer(conversation, query, options), name="xmcp chat answer")
        try:
            await asyncio.wait({self._task})
        finally:
            if not self._task.done():  # the thread ends
                self._task.cancel()
                await asyncio.wait({self._task})
            self._messages.put(Over(None if self._task.cancelled() else self._task.exception()))

    async def _answer(self, conversation: Conversation, query: str, options: ChatOptions) -> None:
        async with aclosing(conversation.stream_chat(query, **options)) as chunks:
            async for chunk in chunks:
                self._messages.put(chunk)

    def messages(self) -> Generator[Message | None, None, None]:
        """Yield what happens, up to and with `Over`; `None` where nothing has happened for a moment.

        Ctrl-C is a message meanwhile, and raises nothing. Leaving the iteration early cancels the chat.
        """
        over = False
        try:
            with interrupts_to(self._messages):
                while not over:
                    message = self._next()
                    over = isinstance(message, Over)
                    yield message
        finally:
            if not over:
                self.cancel()

    def cancel(self) -> None:
        """End the chat early; `Over` says when it has ended."""
        self._portal.start_task_soon(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _next(self) -> Message | None:
        try:
            return self._messages.get(timeout=TICK)
        except queue.Empty:
            return None


@contextmanager
def interrupts_raised() -> Iterator[None]:
    """Have Ctrl-C raise `KeyboardInterrupt`: while the person is asked something, or a display is drawn."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def interrupts_to(messages: queue.SimpleQueue[Message]) -> Iterator[None]:
    """Have Ctrl-C put `Interrupt` into the queue, in place of raising `KeyboardInterrupt` anywhere."""
    before = signal.signal(signal.SIGINT, lambda *_: messages.put(Interrupt()))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
