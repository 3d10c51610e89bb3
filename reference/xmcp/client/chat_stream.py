"""The stream of a chat's events, and the chat's current history."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from xmcp.chat.events import ChatChunk, LLMUsage
from xmcp.chat.messages import copied
from xmcp.client.server_sent_events import KEEP_ALIVE_SECONDS, server_sent_events
from xmcp.option_names import checking_options

if TYPE_CHECKING:
    from xmcp.chat.messages import Message
    from xmcp.client.loop.chat import Chat

T = TypeVar("T")


class _Generator(AsyncGenerator[T, None], Generic[T]):
    """An async generator that can have methods, and whose own code does not keep it from being collected."""

    _events: AsyncGenerator[T, None]

    # Not `async`: these return the awaitables of the generator itself, so that a piece of text costs no extra step.
    def __anext__(self) -> Coroutine[Any, Any, T]:
        return self._events.__anext__()

    def asend(self, value: None) -> Coroutine[Any, Any, T]:
        """As for any asynchronous generator."""
        return self._events.asend(value)

    def athrow(self, *error: Any) -> Coroutine[Any, Any, T]:
        """As for any asynchronous generator."""
        return self._events.athrow(*error)

    def aclose(self) -> Coroutine[Any, Any, None]:
        """End the chat: running calls are cancelled at their servers, and nothing stays behind."""
        return self._events.aclose()


class EventStream(_Generator[ChatChunk]):
    """The events of a chat: an async generator. `aclose()` ends the chat early."""

    def attach(self, events: AsyncGenerator[ChatChunk, None]) -> None:
        """Set the generator that the events come from."""
        self._events = events

    @checking_options("sse()")
    def sse(
        self,
        *,
        types: Collection[str] | None = None,
        keep_alive: float | None = KEEP_ALIVE_SECONDS,
        history: bool = False,
    ) -> AsyncGenerator[str, None]:
        """Yield the events as server-sent events, for the response of a web server; `SSE_HEADERS` are its headers.

        Each text is one message, whole: `event:` is the type, `data:` is the event as JSON (spec section 10.2). They
        replace the events: iterate over one of the two. `aclose()` ends the chat, and so does dropping the generator,
        as web frameworks do when the browser has left.

        The reader is told of a failure by the event `failed`, so after it `ProviderError` and `QuotaExceeded` are not
        raised. They are if `types` leaves `failed` out, and so is what nobody foresaw, for the log of the web server.

        Without `types`, a reader gets all that events say, such as the arguments that the model wrote and the results
        that it read. Name the types that your page shows.

        Args:
            types: The types of the events that are sent, such as `llm_delta`; default all.
            keep_alive: Seconds after which, if nothing was sent, a comment is sent, so that no proxy ends the
                connection; `None` sends none.
            history: Whether `done` and `failed` have the history. It holds the system message and everything that the
                model read, so by default it stays here.

        Raises:
            ValueError: a type that no event has, or `keep_alive` is not above 0.
        """
        return _Messages(self, server_sent_events(self._events, types=types, keep_alive=keep_alive, history=history))


class _Messages(_Generator[str]):
    """The messages of a stream. They keep it alive, and do not run any more when the last reference to them is gone."""

    def __init__(self, stream: EventStream, events: AsyncGenerator[str, None]) -> None:
        self._stream = stream
        self._events = events


class ChatStream(EventStream):
    """The events of a chat, as `stream_chat()` returns them: an async generator. `aclose()` ends the chat early."""

    def __init__(self, history: Sequence[Message], chat_id: str) -> None:
        self._given = history
        self.chat_id: str = chat_id
        """The id of the chat, as in the log."""
        self.chat: Chat | None = None
        """The running chat; not for applications."""

    @property
    def history(self) -> list[dict[str, Any]]:
        """The conversation so far, valid for every vendor at any time, even after `aclose()` or a failure.

        It includes a turn that was cancelled: each call without a result is answered with the error `CANCELLED`. The
        text of an answer that was cut off is an assistant message.
        """
        return copied(self._given) if self.chat is None else self.chat.history

    def unreported(self) -> list[LLMUsage]:
        """Return, once, the usage of requests that were cut off when the chat ended, which no event reported."""
        return [] if self.chat is None else self.chat.take_unreported()
