"""`SyncAIClient`: an `AIClient` for scripts and notebooks, in a background thread with an event loop of its own."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Generator, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, wait
from contextlib import ExitStack, aclosing, contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import IO, Any, Concatenate, Final, ParamSpec, Self, TypeVar

from anyio.from_thread import start_blocking_portal

from xmcp.chat.events import ChatChunk, ChatResult
from xmcp.chat.messages import Message
from xmcp.chat.records import Trace
from xmcp.chat.usage import ChatUsage
from xmcp.client.ai_client import AIClient
from xmcp.client.conversation import Conversation, ConversationReply
from xmcp.client.servers.pool import ToolChanges
from xmcp.client.servers.pool_member import ServerStatus

LEAVE_SECONDS: Final = 15.0
"""How long a chat that is left may take to let go."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


def _takes(init: Callable[Concatenate[Any, _P], None]) -> Callable[[Any], Callable[Concatenate[Any, _P], None]]:
    """Give a constructor the parameters of another, for type checkers, editors and `help()`."""
    return functools.wraps(init)


@dataclass(slots=True)
class _Open:
    """What there is between `__enter__` and `close`. What runs can be cancelled by calling what stands beside it."""

    loop: asyncio.AbstractEventLoop
    thread: int
    ai: AIClient
    exits: ExitStack
    running: dict[Future[Any], Callable[[], object]] = field(default_factory=dict)

    def cancel(self, futures: Collection[Future[Any]]) -> None:
        """Cancel these, and wait in bounded time until nothing of them is left."""
        for future in futures:
            if (cancel := self.running.get(future)) is not None:
                self.loop.call_soon_threadsafe(cancel)
        # The garbage collector may close a forgotten stream in any thread, the background one included.
        if self.thread != threading.get_ident():
            wait(futures, LEAVE_SECONDS)


class SyncAIClient:
    """`AIClient` without `await`; the arguments are its own.

    ```python
    with SyncAIClient(["http://localhost:3333"], openai_api_key="sk-...") as ai:
        result = ai.chat("Show me sales for EMEA", history=[])
    ```

    Its connections and chats live on an event loop in a background thread, so it also works where a loop runs already,
    as in a notebook. Any number of threads may use it at once. Ctrl-C in a thread that waits for a chat cancels that
    chat. Hooks (`on_display`, `middleware`, ...) run in the background thread: they must not wait for this client.

    Raises:
        TypeError: an option that `AIClient` does not have. Everything else is checked on entering it.
    """

    @_takes(AIClient.__init__)
    def __init__(self, *args: Any, **options: Any) -> None:
        inspect.signature(AIClient).bind(*args, **options)
        self._make = functools.partial(AIClient, *args, **options)
        self._lock = threading.Lock()
        self._entered = False
        self._open: _Open | None = None

    def __enter__(self) -> Self:
        """Connect to all servers. Raises what `AIClient` and entering it raise."""
        with self._lock:
            if self._entered:
                raise RuntimeError("This SyncAIClient is in use: enter it once and share it, or make another one.")
            self._entered = True
        try:
            with ExitStack() as exits:
                portal = exits.enter_context(start_blocking_portal(name="xmcp client"))
                loop, thread = portal.call(lambda: (asyncio.get_running_loop(), threading.get_ident()))
                ai = portal.call(self._make)
                exits.enter_context(portal.wrap_async_context_manager(ai))
                self._open = _Open(loop, thread, ai, exits.pop_all())
        except BaseException:
            self._entered = False
            raise
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Cancel the chats that run, leave every server and end the thread. Closing it again does nothing."""
        with self._lock:
            if self._open is None:
                return
            opened = self._opened()
            self._open = None
        opened.cancel(list(opened.running))
        opened.exits.close()
        self._entered = False

    @property
    def tools(self) -> list[Mapping[str, Any]]:
        """The tools that the model is offered now, in the OpenAI format."""
        return self._call(lambda ai: ai.tools)

    @property
    def servers(self) -> list[ServerStatus]:
        """How each server is, in the order given."""
        return self._call(lambda ai: ai.servers)

    def refresh_tools(self) -> ToolChanges:
        """Ask every server for its tools again: see `AIClient.refresh_tools`."""
        return self._await(lambda ai: ai.refresh_tools())

    def clear_cache(self, tenant_id: str | None = None, *, every_tenant: bool = False) -> None:
        """Forget cached answers: see `AIClient.clear_cache`."""
        self._await(lambda ai: ai.clear_cache(tenant_id, every_tenant=every_tenant))

    def chat(
        self,
        user_query: str,
        history: Sequence[Message] | None = None,
        *,
        tenant_id: str | None = None,
        session_id: str | None = None,
    ) -> ChatResult:
        """Answer one query: arguments, result and exceptions are those of `AIClient.chat`."""
        return self._await(lambda ai: ai.chat(user_query, history, tenant_id=tenant_id, session_id=session_id))

    def stream_chat(
        self,
        user_query: str,
        history: Sequence[Message] | None = None,
        *,
        tenant_id: str | None = None,
        session_id: str | None = None,
    ) -> Generator[ChatChunk, None, None]:
        """The same as `chat`, told while it happens: see `AIClient.stream_chat`.

        The chat goes on as the loop asks for more. Breaking out of the loop cancels it and waits until nothing of it
        is left.
        """
        ai = self._opened().ai
        return self._iterate(ai.stream_chat(user_query, history, tenant_id=tenant_id, session_id=session_id))

    def conversation(self, **options: Any) -> SyncConversation:
        """A conversation that keeps its history; the options are those of `Conversation`."""
        return SyncConversation(self, Conversation(self._opened().ai, **options))

    def resume(self, snapshot: Mapping[str, Any] | str | bytes) -> SyncConversation:
        """The conversation that a snapshot is: see `Conversation.resume`."""
        return SyncConversation(self, Conversation.resume(self._opened().ai, snapshot))

    def _opened(self) -> _Open:
        if self._open is None:
            raise RuntimeError("The SyncAIClient is not connected: use it inside `with SyncAIClient(...) as ai:`.")
        if self._open.thread == threading.get_ident():
            raise RuntimeError(
                "A hook of a SyncAIClient runs in its background thread and cannot wait for it: do that in a thread of "
                "yours, or use AIClient, whose hooks can be async."
            )
        return self._open

    def _call(self, function: Callable[[AIClient], _T]) -> _T:
        async def called(ai: AIClient) -> _T:
            return function(ai)

        return self._await(called)

    def _await(self, function: Callable[[AIClient], Coroutine[Any, Any, _T]]) -> _T:
        with self._running(function) as future:
            return future.result()

    def _iterate(self, stream: AsyncGenerator[ChatChunk, None]) -> Generator[ChatChunk, None, None]:
        """One task steps through the stream, each step when it is asked for, as an `async for` would."""
        loop = self._opened().loop
        asked = asyncio.Semaphore(0)
        told: queue.SimpleQueue[ChatChunk | None] = queue.SimpleQueue()

        async def steps(_: AIClient) -> None:
            async with aclosing(stream) as chunks:
                await asked.acquire()
                async for chunk in chunks:
                    told.put(chunk)
                    await asked.acquire()

        with self._running(steps) as future:
            future.add_done_callback(lambda _: told.put(None))
            while not future.done():
                loop.call_soon_threadsafe(asked.release)
                if (chunk := told.get()) is not None:
                    yield chunk
            future.result()

    @contextmanager
    def _running(self, function: Callable[[AIClient], Coroutine[Any, Any, _T]]) -> Iterator[Future[_T]]:
        """Run it in the background for the length of the block; after the block nothing of it is left."""
        future: Future[_T] = Future()
        tasks: list[asyncio.Task[_T]] = []

        def start() -> None:
            tasks.append(asyncio.create_task(function(opened.ai)))
            tasks[0].add_done_callback(end)

        def end(task: asyncio.Task[_T]) -> None:
            if task.cancelled():
                future.set_exception(CancelledError())
            elif (exc := task.exception()) is not None:
                future.set_exception(exc)
            else:
                future.set_result(task.result())

        # With the lock, so that `close` either finds it running or comes first.
        with self._lock:
            opened = self._opened()
            opened.running[future] = lambda: tasks[0].cancel()
            opened.loop.call_soon_threadsafe(start)
        try:
            yield future
        except CancelledError:
            raise RuntimeError("The SyncAIClient was closed while this was running.") from None
        finally:
            if not future.done():
                opened.cancel([future])
            del opened.running[future]


class SyncConversation:
    """`Conversation` without `await`: `SyncAIClient.conversation()` makes one. What it has is explained there."""

    def __init__(self, client: SyncAIClient, conversation: Conversation) -> None:
        self._client = client
        self._conversation = conversation

    def chat(self, query: str) -> ConversationReply:
        """Ask, and wait for the answer."""
        return self._client._await(lambda _: self._conversation.chat(query))

    def stream_chat(self, query: str) -> Generator[ChatChunk, None, None]:
        """The same, told while it happens. Breaking out of the loop cancels the chat; its history is kept."""
        return self._client._iterate(self._conversation.stream_chat(query))

    def snapshot(self) -> dict[str, Any]:
        """The conversation as JSON values."""
        return self._client._call(lambda _: self._conversation.snapshot())

    def clear(self) -> None:
        """Begin anew."""
        self._client._call(lambda _: self._conversation.clear())

    @property
    def history(self) -> list[dict[str, Any]]:
        """The messages so far, a copy."""
        return self._client._call(lambda _: self._conversation.history)

    @property
    def usage(self) -> ChatUsage:
        """What all chats have used so far."""
        return self._client._call(lambda _: self._conversation.usage)

    @property
    def traces(self) -> list[Trace]:
        """The records of the latest chats."""
        return self._client._call(lambda _: self._conversation.traces)

    def export_traces(self, target: str | os.PathLike[str] | IO[str]) -> None:
        """Write the records of the latest chats as JSON Lines."""
        self._conversation.export_traces(target)
