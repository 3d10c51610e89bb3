"""The messages of one stdio connection, read and written so that no request is lost when the input ends.

The SDK takes the end of the input as the end of the connection, and cancels what it is answering. A client that closes
its side may still read: the end of the input is passed on only when every request has its answer, or the grace is over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self

import anyio
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

_NEVER_ANSWERED: Final = "subscriptions/listen"


class Unanswered:
    """The requests of a client that are not answered yet, by id; for the SDK, 7 equals "7"."""

    def __init__(self) -> None:
        self._ids: Counter[str] = Counter()  # an id in use is refused, so one id may get two answers
        self._changed = anyio.Event()

    def read(self, item: SessionMessage | Exception) -> None:
        """Take note of a message of the client; a request that it cancels gets no answer."""
        match item.message if isinstance(item, SessionMessage) else None:
            case JSONRPCRequest(id=request_id, method=method) if method != _NEVER_ANSWERED:
                self._ids[str(request_id)] += 1
            case JSONRPCNotification(
                method="notifications/cancelled", params={"requestId": str() | int() as request_id}
            ):
                self._settle(request_id)

    def written(self, item: SessionMessage) -> None:
        """Take note of a message to the client; the server's own requests have ids of their own."""
        match item.message:
            case JSONRPCResponse(id=request_id) | JSONRPCError(id=request_id) if request_id is not None:
                self._settle(request_id)

    def _settle(self, request_id: str | int) -> None:
        if self._ids[str(request_id)] > 1:
            self._ids[str(request_id)] -= 1
        else:
            self._ids.pop(str(request_id), None)
        self._changed.set()

    async def wait_for_answers(self) -> None:
        """Wait until no request is left without an answer."""
        while self._ids:
            self._changed = anyio.Event()
            await self._changed.wait()


class _Stream:
    """What both directions share: an inner stream that is closed with this one."""

    def __init__(self, inner: Any, unanswered: Unanswered) -> None:
        self._inner = inner
        self._unanswered = unanswered

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class ReadUntilAnswered(_Stream):
    """A stream of messages that ends when its source has ended and every request is answered, or `grace` is over.

    `ended` is called when the source has ended.
    """

    def __init__(
        self,
        inner: ReadStream[SessionMessage | Exception],
        unanswered: Unanswered,
        grace: float,
        ended: Callable[[], None],
    ) -> None:
        super().__init__(inner, unanswered)
        self._grace = grace
        self._ended = ended

    @property
    def last_context(self) -> Any:
        """The context of the sender of the last message, which the SDK hands on to its handler."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message.

        Raises:
            anyio.EndOfStream: There is none, and nothing is left to answer.
        """
        try:
            item: SessionMessage | Exception = await self._inner.receive()
        except anyio.EndOfStream:
            self._ended()
            with anyio.move_on_after(self._grace):
                await self._unanswered.wait_for_answers()
            raise
        self._unanswered.read(item)
        return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class WriteAnswers(_Stream):
    """A stream of messages that takes note of the answers among them."""

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message; it counts as answered when the inner stream has taken it."""
        await self._inner.send(item)
        self._unanswered.written(item)


def watched(
    read: ReadStream[SessionMessage | Exception],
    write: WriteStream[SessionMessage],
    grace: float,
    ended: Callable[[], None],
) -> tuple[ReadUntilAnswered, WriteAnswers]:
    """Return both directions of a connection, such that the end of the input waits for the answers."""
    unanswered = Unanswered()
    return ReadUntilAnswered(read, unanswered, grace, ended), WriteAnswers(write, unanswered)
