"""A gateway that hangs, floods, or answers with something else is judged, or said not to be, in bounded time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from unittest.mock import patch

import pytest
from support.http_host import listening

from xmcp_conformance.core.events import Event, NotReached, Observed
from xmcp_conformance.core.judge import ExitCode
from xmcp_conformance.profiles.gateway import exchange
from xmcp_conformance.profiles.gateway.options import Options, Paths, Prompts
from xmcp_conformance.profiles.gateway.visit import check
from xmcp_conformance.reports.case_report import CHATS, CaseReport

SSE = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
STARTED = b'id: run_1:1:1\nevent: run.started\ndata: {"run_id":"run_1","model":"m"}\n\n'


@asynccontextmanager
async def answering(answer: Callable[[asyncio.StreamWriter], AsyncIterator[bytes]]) -> AsyncIterator[str]:
    """Provide the address of a server that answers each request with bytes, and then closes the connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            async for piece in answer(writer):
                writer.write(piece)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async with listening(serve) as port:
        yield f"http://127.0.0.1:{port}"


async def judged(url: str, seconds: float = 20.0) -> tuple[CaseReport, list[Event]]:
    report, events = CaseReport(CHATS), list[Event]()

    def add(event: Event) -> None:
        events.append(event)
        report.add(event)

    options = Options(url, Prompts(("hi", "again")), paths=Paths(openai=""), seconds=seconds)
    async with asyncio.timeout(60):
        await check(options, add, "hostile")
    return report, events


def of(*pieces: bytes) -> Callable[[asyncio.StreamWriter], AsyncIterator[bytes]]:
    async def answer(_: asyncio.StreamWriter) -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    return answer


@pytest.mark.parametrize(
    ("answer", "requirement", "words"),
    [
        (of(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<html>hello"), "XMCP-STR-020", "<html>hello"),
        (of(SSE, b"\r\n", STARTED, b'event: notice\ndata: {"kind":"\xff"}\n\n'), "XMCP-STR-020", "no UTF-8"),
        (of(SSE, b"\r\n", STARTED, b"event: notice\ndata: {"), "XMCP-STR-020", "half an event"),
        (of(SSE, b"content-length: 9000\r\n\r\n", STARTED), "XMCP-STR-022", "end of the stream after `run.started`"),
        (of(SSE, b"transfer-encoding: chunked\r\n\r\n1\r\n:\r\n"), "XMCP-STR-022", "a stream without events"),
        (of(SSE, b"\r\n", b"id: a\x00b\nevent: \x1b[31m\ndata: [1]\n\n"), "XMCP-STR-021", "\\x1b"),
        (of(SSE, b"\r\n", b"event: notice\ndata: " + b"[" * 100_000 + b"\n\n"), "XMCP-STR-020", "no JSON"),
    ],
    ids=["html", "utf-8", "half", "cut", "cut chunk", "controls", "deep"],
)
async def test_what_is_no_stream_of_events_breaks_a_sentence(answer, requirement, words):
    async with answering(answer) as url:
        _, events = await judged(url)
    found = [event.observation for event in events if isinstance(event, Observed) and not event.observation.ok]
    assert any(one.requirement == requirement and words in one.seen for one in found), found


async def _nothing(_: asyncio.StreamWriter) -> AsyncIterator[bytes]:
    await asyncio.Event().wait()
    yield b""


async def _begins(_: asyncio.StreamWriter) -> AsyncIterator[bytes]:
    yield SSE + b"\r\n" + STARTED
    await asyncio.Event().wait()


async def _floods(_: asyncio.StreamWriter) -> AsyncIterator[bytes]:
    yield SSE + b"\r\n"
    while True:
        yield b"event: notice\ndata: {}\n\n" * 1000


async def _one_line(_: asyncio.StreamWriter) -> AsyncIterator[bytes]:
    yield SSE + b"\r\ndata: "
    while True:
        yield b"x" * 65536


async def _comments(_: asyncio.StreamWriter) -> AsyncIterator[bytes]:
    yield SSE + b"\r\n"
    while True:
        yield b": x\n" * 16384


@pytest.mark.parametrize(
    ("answer", "seconds", "words"),
    [
        (_nothing, 0.3, "has not begun to answer after 0.3 s"),
        (_begins, 0.3, "has not ended its answer after 0.3 s, 1 events"),
        (_floods, 20, "sends more than 2,000 events"),
        (_one_line, 20, "sends a line of more than 1 MiB"),
        (_comments, 20, "sends more than 4 MiB in one answer"),
        (of(b"hello\r\n"), 20, "gives no HTTP answer"),
        (of(b"HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n"), 20, "refuses the caller"),
        (of(b"HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n"), 20, "has nothing at /chat"),
        (of(b"HTTP/1.1 302 No\r\nlocation: /chat\r\ncontent-length: 0\r\n\r\n"), 20, "answers with status 302"),
        (of(SSE, b"content-encoding: gzip\r\n\r\nx"), 20, "compresses its answers"),
    ],
    ids=["silent", "hangs", "floods", "one line", "comments", "no http", "401", "404", "redirect", "gzip"],
)
async def test_what_cannot_be_judged_is_said(answer, seconds, words):
    limits = {"MOST_EVENTS": 2000, "MOST_OF_A_LINE": 2**20, "MOST_BYTES": 2**22}
    with patch.multiple(exchange, **limits):
        async with answering(answer) as url:
            report, events = await judged(url, seconds)
    reasons = [event.reason for event in events if isinstance(event, NotReached)]
    assert any(words in reason for reason in reasons), reasons
    assert report.exit_code is ExitCode.SUITE_FAILED


async def test_a_gateway_that_is_not_there_is_said_once():
    async with answering(of(b"")) as url:
        pass
    report, events = await judged(url)
    assert [event.reason for event in events if isinstance(event, NotReached)] == [
        "The gateway cannot be reached: nothing accepts connections there."
    ]
    assert report.exit_code is ExitCode.SUITE_FAILED


async def test_a_gateway_that_hangs_again_and_again_is_left():
    async with answering(_nothing) as url:
        report, events = await judged(url, 0.2)
    assert len([event for event in events if isinstance(event, NotReached)]) <= 3
    assert report.exit_code is ExitCode.SUITE_FAILED
