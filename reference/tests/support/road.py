"""A TCP relay to a server, which a test can hold up or cut."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class Road:
    """A TCP relay; a handler for `HttpHost.accept`. While `open` is not set nothing passes; `cut` breaks connections.

    With `lose_answer` it breaks the connection in the place of the next answer.
    """

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self.open = asyncio.Event()
        self.open.set()
        self.lose_answer = False
        self.url = ""
        self.connections = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        far_reader, far_writer = await asyncio.open_connection(*self._target)
        self._writers |= {writer, far_writer}
        both_ways = ((reader, far_writer, False), (far_reader, writer, True))
        tasks = {asyncio.create_task(self._relay(source, sink, answers)) for source, sink, answers in both_ways}
        self._tasks |= tasks
        await asyncio.wait(tasks)

    async def _relay(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, answers: bool) -> None:
        with suppress(ConnectionError):
            while data := await source.read(65536):
                await self.open.wait()
                if answers and self.lose_answer:
                    self.lose_answer = False
                    break
                sink.write(data)
                await sink.drain()
        sink.close()

    def cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def close(self) -> None:
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
