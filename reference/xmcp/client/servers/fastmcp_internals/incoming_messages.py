"""The messages of a server on their way from a transport into the session of the SDK."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from typing import Any, Final

from anyio import EndOfStream
from mcp.shared._context_streams import ContextReceiveStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest

from xmcp.client.servers.messages import read_message
from xmcp.client.servers.peer_limits import REQUEST_COUNTS_AS, Allowance, Flood
from xmcp.client.servers.progress_reports import NewestReports
from xmcp.client.servers.server_protocols import NotificationHandler
from xmcp_models.registry import PREFIX


class BoundedMessages(ContextReceiveStream[Any]):
    """The messages of a server, with no more requests than an `Allowance`; those that were read beside in their places.

    Over HTTP each answer to a request of the server is a request of ours. Of many reports of progress, some are left
    out (`NewestReports`).
    """

    __slots__ = ("_allowance", "_coming", "_on_fault", "_passing", "_read_beside", "_reports")

    def __init__(self, given: Any, on_fault: NotificationHandler | None, read_beside: ReadBeside | None = None) -> None:
        super().__init__(given._inner)
        self._read_beside = read_beside
        self._allowance = Allowance()
        self._on_fault = on_fault
        self._reports = NewestReports()
        self._passing: deque[Any] = deque()
        self._coming: asyncio.Task[Any] | None = None

    async def receive(self) -> Any:
        """Return the next message, or what the transport put in the place of one."""
        while not self._passing:
            if (due := self._reports.due) is None and self._coming is None:
                self._passing.extend(self._reports.passing(await self._next()))
            elif await self._comes_before(due):
                coming, self._coming = self._coming, None
                assert coming is not None  # noqa: S101 - it has come
                self._passing.extend(self._reports.passing(coming.result()))
            else:
                self._passing.extend(self._reports.held())
        return self._passing.popleft()

    async def _comes_before(self, due: float | None) -> bool:
        """Wait for the next message until a time of the event loop; return whether it has come.

        It is received in a task that goes on after that: a receive that is cancelled can lose what it was given.
        """
        loop = asyncio.get_running_loop()
        if self._coming is None:
            self._coming = loop.create_task(self._next(), name="xmcp next message")
        try:
            await asyncio.wait({self._coming}, timeout=None if due is None else max(0.0, due - loop.time()))
        except asyncio.CancelledError:
            self._coming.cancel()
            raise
        return self._coming.done()

    async def _next(self) -> Any:
        item = await super().receive()
        if isinstance(item, SessionMessage) and self._read_beside is not None:
            item = self._read_beside.take(item)
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCRequest):
            try:
                self._allowance.take(REQUEST_COUNTS_AS, 0)
            except Flood as exc:
                if self._on_fault is not None:
                    await self._on_fault(exc)
                raise EndOfStream from exc
        return item


class ReadBeside:
    """Messages of the older HTTP binding, read beside the SDK, which gets a short one with a number for each."""

    _METHOD: Final = f"{PREFIX}read"

    def __init__(self) -> None:
        self._read: dict[int, SessionMessage] = {}
        self._number = 0

    async def put(self, data: str) -> str:
        """Read the data of an event; return what the SDK is to read instead. All messages come by here."""
        try:
            read = await read_message(data)
        except ValueError as exc:
            return f"not a message: {exc}"[:200]  # it is not one either
        self._number += 1
        self._read[self._number] = read
        return json.dumps({"jsonrpc": "2.0", "method": self._METHOD, "params": {"number": self._number}})

    def take(self, message: SessionMessage) -> SessionMessage:
        """Return the message in whose place the SDK read `message`."""
        note = message.message
        if not isinstance(note, JSONRPCNotification) or note.method != self._METHOD:
            return message
        return self._read.pop((note.params or {})["number"])
