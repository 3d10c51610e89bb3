"""The stream of a chat's events, with the history as it is at any moment."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Any

from xmcp.chat.events import ChatChunk

if TYPE_CHECKING:
    from xmcp.chat.messages import Message
    from xmcp.client.loop.chat import Chat


class ChatStream(AsyncGenerator[ChatChunk, None]):
    """What `stream_chat()` returns: iterate over it, or leave it with `aclose()`."""

    def __init__(self, history: Sequence[Message], chat_id: str) -> None:
        self._given = history
        self.chat_id = chat_id
        """The chat's own, as in the log."""
        self._events: Any = None
        self.chat: Chat | None = None
        """The running chat; of no use to an application."""

    @property
    def history(self) -> list[dict[str, Any]]:
        """The conversation so far, valid for every vendor at every moment: also after `aclose()` or a failure.

        A turn whose calls were cut short is in it, each call without a result answered as cancelled.
        """
        return [dict(message) for message in self._given] if self.chat is None else self.chat.history

    def attach(self, events: AsyncGenerator[ChatChunk, None]) -> None:
        """Give it the events it is to hand on."""
        self._events = events

    # Not `async`: the generator's own awaitables are handed on, so that a piece of text costs no task step more.
    def __anext__(self) -> Any:
        return self._events.__anext__()

    def asend(self, value: None) -> Any:
        """As for any asynchronous generator."""
        return self._events.asend(value)

    def athrow(self, *error: Any) -> Any:
        """As for any asynchronous generator."""
        return self._events.athrow(*error)

    def aclose(self) -> Any:
        """End the chat: running calls are cancelled at their servers, and nothing stays behind."""
        return self._events.aclose()
