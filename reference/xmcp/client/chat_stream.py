"""The stream of a chat's events, and the chat's current history."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from xmcp.chat.events import ChatChunk, LLMUsage

if TYPE_CHECKING:
    from xmcp.chat.messages import Message
    from xmcp.client.loop.chat import Chat


class ChatStream(AsyncGenerator[ChatChunk, None]):
    """The events of a chat, as `stream_chat()` returns them: an async generator. `aclose()` ends the chat early."""

    def __init__(self, history: Sequence[Message], chat_id: str) -> None:
        self._given = history
        self.chat_id: str = chat_id
        """The id of the chat, as in the log."""
        self._events: AsyncGenerator[ChatChunk, None]
        self.chat: Chat | None = None
        """The running chat; not for applications."""

    @property
    def history(self) -> list[dict[str, Any]]:
        """The conversation so far, valid for every vendor at any time, even after `aclose()` or a failure.

        It includes a turn that was cancelled: each call without a result is answered with the error `CANCELLED`. The
        text of an answer that was cut off is an assistant message.
        """
        return [dict(message) for message in self._given] if self.chat is None else self.chat.history

    def unreported(self) -> list[LLMUsage]:
        """Return, once, the usage of requests that were cut off when the chat ended, which no event reported."""
        return [] if self.chat is None else self.chat.take_unreported()

    def attach(self, events: AsyncGenerator[ChatChunk, None]) -> None:
        """Set the generator that the events come from."""
        self._events = events

    # Not `async`: these return the awaitables of the generator itself, so that a piece of text costs no extra step.
    def __anext__(self) -> Coroutine[Any, Any, ChatChunk]:
        return self._events.__anext__()

    def asend(self, value: None) -> Coroutine[Any, Any, ChatChunk]:
        """As for any asynchronous generator."""
        return self._events.asend(value)

    def athrow(self, *error: Any) -> Coroutine[Any, Any, ChatChunk]:
        """As for any asynchronous generator."""
        return self._events.athrow(*error)

    def aclose(self) -> Coroutine[Any, Any, None]:
        """End the chat: running calls are cancelled at their servers, and nothing stays behind."""
        return self._events.aclose()
