"""`SyncAIClient`: an `AIClient` without `await`, on an event loop in a background thread."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Generator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, wait
from contextlib import ExitStack, aclosing
from dataclasses import dataclass, field
from types import TracebackType
from typing import IO, Any, Concatenate, Final, Generic, ParamSpec, Self, TypeVar, Unpack

from anyio.from_thread import start_blocking_portal

from xmcp.chat.audit_records import Trace
from xmcp.chat.events import ChatChunk, ChatResult
from xmcp.chat.messages import Message
from xmcp.chat.usage import ChatUsage
from xmcp.chat.user_input import UserInput
from xmcp.client.ai_client import AIClient
from xmcp.client.chat_options import ChatOptions
from xmcp.client.chat_stream import EventStream
from xmcp.client.conversation import Conversation, ConversationReply
from xmcp.client.hooks.middleware import IdLike
from xmcp.client.server_sent_events import KEEP_ALIVE_SECONDS
from xmcp.client.servers.pool import ToolChanges
from xmcp.client.servers.pool_member import ServerStatus
from xmcp.option_names import checking_options, refuse_unknown
from xmcp.storage import BreakerState
from xmcp.wire import ToolResponse

LEAVE_SECONDS: Final = 15.0
"""Maximum time that a cancelled chat may take to end."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


def _takes(init: Callable[Concatenate[Any, _P], None]) -> Callable[[Any], Callable[Concatenate[Any, _P], None]]:
    """Return a decorator that gives a constructor the parameters of `init`, for type checkers, editors and `help()`."""
    return functools.wraps(init)


@dataclass(slots=True)
class _Open:
    """The state between `__enter__` and `close`. `running` maps what runs to the function that cancels it."""

    loop: asyncio.AbstractEventLoop
    thread: int
    ai: AIClient
    exits: ExitStack
    running: dict[Future[Any], Callable[[], object]] = field(default_factory=dict)

    def cancel(self, futures: Collection[Future[Any]]) -> None:
        """Cancel these, and wait until they have ended, at most `LEAVE_SECONDS`."""
        for future in futures:
            if (cancel := self.running.get(future)) is not None:
                self.loop.call_soon_threadsafe(cancel)
        # The garbage collector may close a forgotten stream in any thread, the background one included.
        if self.thread != threading.get_ident():
            wait(futures, LEAVE_SECONDS)


class SyncAIClient:
    """`AIClient` without `await`, for scripts and notebooks; it takes the same arguments.

    ```python
    with SyncAIClient(["http://localhost:3333"], openai_api_key="sk-...") as ai:
        result = ai.chat("Show me sales for EMEA", history=[])
    ```

    Its connections and chats live on an event loop in a background thread, so it also works where a loop already runs,
    as in a notebook. Any number of threads may use it at once. Ctrl-C in a thread that waits for a chat cancels that
    chat. Hooks (`on_display`, `middleware`, ...) run in the background thread: they must not wait for this client.

    Raises:
        TypeError: an option that `AIClient` does not have. Everything else is checked by `__enter__`.
    """

    @_takes(AIClient.__init__)
    def __init__(self, *args: Any, **options: Any) -> None:
        signature = inspect.signature(AIClient)
        refuse_unknown("SyncAIClient", options, signature.parameters)
        signature.bind(*args, **options)
        self._make = functools.partial(AIClient, *args, **options)
        self._lock = threading.Lock()
        self._entered = False
        self._open: _Open | None = None

    def __enter__(self) -> Self:
        """Connect to all servers; raises what creating and entering an `AIClient` raise."""
        with self._lock:
            if self._entered:
                raise RuntimeError(
                    "This SyncAIClient is already in use: enter it once and share it, or create another."
                )
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
        """Cancel running chats, disconnect from every server and end the thread. Closing it again does nothing."""
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
        """The tools that the model is offered at the moment, in the OpenAI format."""
        return self._call(lambda ai: ai.tools)

    @property
    def servers(self) -> list[ServerStatus]:
        """The status of each server, in the order given."""
        return self._call(lambda ai: ai.servers)

    @property
    def breaker_states(self) -> Mapping[str, BreakerState]:
        """The state of each server's circuit breaker; see `AIClient.breaker_states`."""
        return self._call(lambda ai: ai.breaker_states)

    def estimate_tokens(
        self, user_query: UserInput | None, history: Sequence[Message] = (), **options: Unpack[ChatOptions]
    ) -> int:
        """Return about how many input tokens a chat would begin with; see `AIClient.estimate_tokens`."""
        return self._call(lambda ai: ai.estimate_tokens(user_query, history, **options))

    def refresh_tools(self) -> ToolChanges:
        """Ask every server for its tools again; see `AIClient.refresh_tools`."""
        return self._await(lambda ai: ai.refresh_tools())

    def clear_cache(self, tenant_id: IdLike | None = None, *, every_tenant: bool = False) -> None:
        """Delete cached answers; see `AIClient.clear_cache`."""
        self._await(lambda ai: ai.clear_cache(tenant_id, every_tenant=every_tenant))

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        tenant_id: IdLike | None = None,
        session_id: IdLike | None = None,
    ) -> ToolResponse:
        """Call one tool without asking a model; see `AIClient.call_tool`."""
        return self._await(lambda ai: ai.call_tool(name, arguments, tenant_id=tenant_id, session_id=session_id))

    def chat(
        self,
        user_query: UserInput | None,
        history: Sequence[Message] | None = None,
        *,
        tenant_id: IdLike | None = None,
        session_id: IdLike | None = None,
        **options: Unpack[ChatOptions],
    ) -> ChatResult:
        """Answer one query; arguments, result and exceptions are those of `AIClient.chat`."""
        return self._await(
            lambda ai: ai.chat(user_query, history, tenant_id=tenant_id, session_id=session_id, **options)
        )

    def stream_chat(
        self,
        user_query: UserInput | None,
        history: Sequence[Message] | None = None,
        *,
        tenant_id: IdLike | None = None,
        session_id: IdLike | None = None,
        **options: Unpack[ChatOptions],
    ) -> SyncEventStream:
        """Answer one query and yield its events as they happen; see `AIClient.stream_chat`.

        The chat advances as the loop asks for events. Leaving the loop cancels the chat and waits for its end.
        """
        ai = self._opened().ai
        chat = ai.stream_chat(user_query, history, tenant_id=tenant_id, session_id=session_id, **options)
        return SyncEventStream(self, chat)

    def conversation(self, **options: Any) -> SyncConversation:
        """Return a conversation that keeps its history; the options are those of `Conversation`."""
        return SyncConversation(self, Conversation(self._opened().ai, **options))

    def resume(self, snapshot: Mapping[str, Any] | str | bytes) -> SyncConversation:
        """Return the conversation in a snapshot; see `Conversation.resume`."""
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
        running = self._registered(function)
        try:
            running.start()
            return running.future.result()
        except CancelledError:
            raise _closed() from None
        finally:
            running.leave()

    def _iterate(self, stream: AsyncGenerator[_T, None]) -> Generator[_T, None, None]:
        """Yield from the stream. One task takes its steps, each on request, as an `async for` would."""
        loop = self._opened().loop
        requested = asyncio.Semaphore(0)
        received: queue.SimpleQueue[_T | None] = queue.SimpleQueue()

        async def steps(_: AIClient) -> None:
            async with aclosing(stream) as chunks:
                await requested.acquire()
                async for chunk in chunks:
                    received.put(chunk)
                    await requested.acquire()

        running = self._registered(steps)
        try:
            running.start()
            running.future.add_done_callback(lambda _: received.put(None))
            while not running.future.done():
                loop.call_soon_threadsafe(requested.release)
                if (chunk := received.get()) is not None:
                    yield chunk
            running.future.result()
        except CancelledError:
            raise _closed() from None
        finally:
            running.leave()

    def _registered(self, function: Callable[[AIClient], Coroutine[Any, Any, _T]]) -> _Running[_T]:
        """Return what will run `function` in the background; nothing runs yet."""
        # Under the lock, so that `close` either sees it in `running` or has already closed the client.
        with self._lock:
            opened = self._opened()
            running = _Running(opened, function)
            opened.running[running.future] = running.cancel
        return running


class _Running(Generic[_T]):
    """One function that runs in the background.

    Ctrl-C can raise in the waiting thread after any call. So the caller has its own `try` around `start` and all that
    follows, and no context manager, which could be left between its start and its block.
    """

    def __init__(self, opened: _Open, function: Callable[[AIClient], Coroutine[Any, Any, _T]]) -> None:
        self.future: Future[_T] = Future()
        self._opened = opened
        self._function = function
        self._task: asyncio.Task[_T] | None = None

    def start(self) -> None:
        """Begin, soon."""
        self._opened.loop.call_soon_threadsafe(self._start)

    def leave(self) -> None:
        """Cancel it if it has not ended, and wait for its end; for a `finally`."""
        if not self.future.done():
            self._opened.cancel([self.future])
        self._opened.running.pop(self.future, None)

    def cancel(self) -> None:
        """Cancel it, in the background thread; one that has not begun does not begin."""
        if self._task is not None:
            self._task.cancel()
        elif not self.future.done():
            self.future.set_exception(CancelledError())

    def _start(self) -> None:
        if not self.future.done():
            self._task = asyncio.create_task(self._function(self._opened.ai))
            self._task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[_T]) -> None:
        if task.cancelled():
            self.future.set_exception(CancelledError())
        elif (exc := task.exception()) is not None:
            self.future.set_exception(exc)
        else:
            self.future.set_result(task.result())


def _closed() -> RuntimeError:
    return RuntimeError("The SyncAIClient was closed while this was running.")


class SyncEventStream(Generator[ChatChunk, None, None]):
    """The events of a chat: a generator. `close()` ends the chat early, and so does leaving a loop over it."""

    def __init__(self, client: SyncAIClient, stream: EventStream) -> None:
        self._client = client
        self._stream = stream
        self._events = client._iterate(stream)

    def send(self, value: None) -> ChatChunk:
        """As for any generator."""
        return self._events.send(value)

    def throw(self, *error: Any) -> ChatChunk:
        """As for any generator."""
        return self._events.throw(*error)

    def close(self) -> None:
        """End the chat, and wait for its end."""
        self._events.close()

    @checking_options("sse()")
    def sse(
        self,
        *,
        types: Collection[str] | None = None,
        keep_alive: float | None = KEEP_ALIVE_SECONDS,
        history: bool = False,
    ) -> Generator[str, None, None]:
        """Yield the events as server-sent events, for a web framework without `await`; see `EventStream.sse`."""
        return self._client._iterate(self._stream.sse(types=types, keep_alive=keep_alive, history=history))


class SyncConversation:
    """`Conversation` without `await`; `SyncAIClient.conversation()` creates it. See `Conversation`."""

    def __init__(self, client: SyncAIClient, conversation: Conversation) -> None:
        self._client = client
        self._conversation = conversation

    def answer_calls(self, results: Mapping[str, str]) -> None:
        """Put the results of the last reply's `open_calls` into the history; see `Conversation.answer_calls`."""
        self._client._call(lambda _: self._conversation.answer_calls(results))

    def chat(self, query: UserInput | None, **options: Unpack[ChatOptions]) -> ConversationReply:
        """Ask, and wait for the answer; see `Conversation.chat`."""
        return self._client._await(lambda _: self._conversation.chat(query, **options))

    def stream_chat(self, query: UserInput | None, **options: Unpack[ChatOptions]) -> SyncEventStream:
        """Ask, and yield the events as they happen. Leaving the loop cancels the chat; its history is kept."""
        return SyncEventStream(self._client, self._conversation.stream_chat(query, **options))

    def snapshot(self) -> dict[str, Any]:
        """Return the conversation as JSON values."""
        return self._client._call(lambda _: self._conversation.snapshot())

    def clear(self) -> None:
        """Start again with an empty history."""
        self._client._call(lambda _: self._conversation.clear())

    @property
    def busy(self) -> bool:
        """Whether a chat runs; see `Conversation.busy`."""
        return self._client._call(lambda _: self._conversation.busy)

    @property
    def history(self) -> list[dict[str, Any]]:
        """A copy of the messages so far."""
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
