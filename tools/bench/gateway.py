"""Measure the gateway: what HTTP, runs and their events cost beside the `AIClient` that they serve.

floor   the same chats with the same `AIClient`, in the same process, without a gateway. The model answers at once.

Streams are read by this process, on the other processor, and each piece of text has the time at which the model wrote
it, so that its delay is that of the client and the gateway together.
"""

from __future__ import annotations

import asyncio
import json
import re
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from tools.bench.figure import Figure
from tools.bench.processes import START_SECONDS, Process

RATE: Final = 50
SECONDS: Final = 6
"""Each stream has so many pieces a second, for so long."""

JOIN: Final = 0.1
"""Seconds over which text is joined in the last figures."""

_WRITTEN: Final = re.compile(rb"<(\d+\.\d+)> of piece")
_PIECE: Final = b"event: text.delta"
_ROOM: Final = {"runs": {"max_running": 5_000, "max_running_per_tenant": 5_000}}


class Followed(NamedTuple):
    """One stream: its events with text, the delays of the last piece of text of each packet, whether it ended well."""

    events: int
    delays: Sequence[float]
    finished: bool


class Gateway(Process):
    """A gateway with a model that answers at the rate that a question asks for."""

    def __init__(self, config: Any) -> None:
        super().__init__("tools.bench.gateway_process", json.dumps(config), cpu=0)
        self.port = int(self.line(START_SECONDS))

    def ask(self, question: str = "", chats: int = 0) -> dict[str, Any]:
        """Return CPU seconds and bytes of the process, after some chats without the gateway at the same time."""
        self.send([question, chats])
        told: dict[str, Any] = json.loads(self.line(START_SECONDS))
        return told


def figures(rounds: int) -> Iterator[Figure]:
    """Yield what a chat costs, then what many streams do, one piece at a time and with their text joined."""
    with Gateway(_ROOM) as gateway:
        yield from asyncio.run(_chats(gateway, rounds))
    with Gateway(_ROOM) as gateway:
        yield from asyncio.run(_streams(gateway, 400))
    with Gateway({"runs": {**_ROOM["runs"], "join_text_seconds": JOIN}}) as gateway:
        yield from asyncio.run(_streams(gateway, 1_000, JOIN))


async def _chats(gateway: Gateway, rounds: int) -> list[Figure]:
    """Compare chats one after the other, whole and streamed, with the floor; the first round warms up."""
    whole, first, floor_whole, floor_first = [], [], [], []
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    for number in range(40 * rounds):
        question = "20 at 0"
        floor = gateway.ask(question, 1)["chats"][0]
        taken = await _whole(reader, writer, question)
        begun = time.perf_counter()
        streamed = await _first_piece(gateway.port, question)
        if number >= 40:
            whole.append(taken * 1e3)
            floor_first.append(floor[0] * 1e3)
            floor_whole.append(floor[1] * 1e3)
            first.append((streamed - begun) * 1e3)
    writer.close()
    p50, p99 = _quantiles(whole)
    floor50, floor99 = _quantiles(floor_whole)
    first50, _ = _quantiles(first)
    floor_first50, _ = _quantiles(floor_first)
    rest = f"{p50:.2f} ms, floor {floor50:.2f}; p99 {p99:.2f}, floor {floor99:.2f}"
    return [
        Figure("gateway: a whole chat, ms more (p50)", p50 - floor50, 2, rest),
        Figure(
            "gateway: the first event, ms more (p50)",
            first50 - floor_first50,
            5,
            f"{first50:.2f} ms with a new connection, floor {floor_first50:.2f}",
        ),
    ]


async def _streams(gateway: Gateway, streams: int, joined: float = 0.0) -> list[Figure]:
    """Follow many streams at the same time. They begin within the first second."""
    question = f"{RATE * SECONDS} at {RATE}"
    await asyncio.gather(*(_follow(gateway.port, "5 at 50") for _ in range(20)))  # warms up
    before = gateway.ask()
    gateway.ask(question, streams)
    floor = gateway.ask()
    following = asyncio.gather(*(_follow(gateway.port, question, number / streams) for number in range(streams)))
    await asyncio.sleep(SECONDS - 0.5)
    full = await asyncio.to_thread(gateway.ask)
    followed = await following
    after = gateway.ask()
    if broken := sum(not one.finished for one in followed):
        raise AssertionError(f"{broken} of {streams} streams did not end well")
    pieces = streams * RATE * SECONDS
    whole, client = ((b["cpu"] - a["cpu"]) * 1e6 / pieces for a, b in ((floor, after), (before, floor)))
    _, p99 = _quantiles([delay for one in followed for delay in one.delays])
    of = f"{streams} streams of {RATE} pieces a second, {sum(one.events for one in followed) / pieces:.2f} events each"
    name = "gateway, text joined" if joined else "gateway"
    memory = (full["memory"] - before["memory"]) / streams / 1e3
    return [
        Figure(
            f"{name}: µs of a piece of text", whole - client, 30 if joined else 60, f"client {client:.0f} more; {of}"
        ),
        Figure(f"{name}: kB of a stream", memory, 100, ""),
        Figure(f"{name}: delay, p99, % of the stream", p99 / SECONDS * 100, 10, f"{p99 * 1e3:.0f} ms"),
    ]


def _request(question: str, accept: str) -> bytes:
    body = json.dumps({"input": question}).encode()
    head = f"POST /chat HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: {accept}\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


async def _whole(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, question: str) -> float:
    begun = time.perf_counter()
    writer.write(_request(question, "application/json"))
    head = await reader.readuntil(b"\r\n\r\n")
    body = await reader.readexactly(int(re.findall(rb"content-length: (\d+)", head)[0]))
    taken = time.perf_counter() - begun
    if json.loads(body)["status"] != "finished":
        raise AssertionError(body[:200])
    return taken


async def _first_piece(port: int, question: str) -> float:
    """Return when the first piece of text of a stream arrived; the stream is read to its end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(_request(question, "text/event-stream"))
    seen, data = 0.0, b""
    while b"run.finished" not in data:
        data += await reader.read(65_536)
        if not seen and _PIECE in data:
            seen = time.perf_counter()
    writer.close()
    return seen


async def _follow(port: int, question: str, wait: float = 0.0) -> Followed:
    await asyncio.sleep(wait)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(_request(question, "text/event-stream"))
    events, delays, finished = 0, [], False
    while data := await reader.read(65_536):
        events += data.count(_PIECE)
        if times := _WRITTEN.findall(data):
            delays.append(time.monotonic() - float(times[-1]))
        if b"event: run.finished" in data:
            finished = True
            break
    writer.close()
    return Followed(events, delays, finished)


def _quantiles(values: Sequence[float]) -> tuple[float, float]:
    """Return p50 and p99."""
    cuts = statistics.quantiles(values, n=100)
    return cuts[49], cuts[98]
