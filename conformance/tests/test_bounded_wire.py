"""What a server under test may send is bounded, over both wires; the report, or one sentence, says what it did."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import mcp_types
import pytest
from rich.console import Console
from server_reports import report_on
from support import flooding_program
from support.http_host import listening

from xmcp_conformance.hosts import tokens
from xmcp_conformance.hosts.picture import picture
from xmcp_conformance.hosts.rules import hosts
from xmcp_conformance.profiles.server import server_under_test
from xmcp_conformance.profiles.server.bounded_wire import MAX_MESSAGE_BYTES, retry_after
from xmcp_conformance.profiles.server.options import Options
from xmcp_conformance.profiles.server.peers import HttpPeer, PeerUnavailable, StdioPeer
from xmcp_conformance.profiles.server.server_under_test import Session
from xmcp_conformance.profiles.server.visit import VisitOptions, visit
from xmcp_conformance.reports.see_terminal import show
from xmcp_conformance.reports.server_report import ServerReport
from xmcp_models.registry import EXTENSION_ID

OPTIONS = Options(examples=1, eras=("handshake",), connect_timeout=60, call_timeout=60)
TOOL = {"name": "pour", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
CAN = {"tools": {}, "experimental": {EXTENSION_ID: {"versions": ["1.0"], "wire": "always"}}}
INFO = {"protocolVersion": "2025-06-18", "capabilities": CAN, "serverInfo": {"name": "s", "version": "1"}}


def http(body: bytes, *fields: str, status: str = "200 OK") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *fields, "connection: close", "", ""]).encode() + body


def compressed(answer: bytes) -> bytes:
    return http(gzip.compress(answer), "content-type: application/json", "content-encoding: gzip")


def a_large_body(answer: bytes) -> bytes:
    return http(answer[:-1] + b" " * MAX_MESSAGE_BYTES, "content-type: application/json")


def a_large_event(answer: bytes) -> bytes:
    return http(b"data: " + answer[:-1] + b" " * MAX_MESSAGE_BYTES, "content-type: text/event-stream")


def a_flood(_: bytes) -> bytes:
    one = b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n\n'
    return http(one * 20_000, "content-type: text/event-stream")


def serving(at: str, fault: Callable[[bytes], bytes], encodings: set[str]):
    """A server of the handshake era over HTTP, whose answers to the method `at` are what `fault` makes of them."""
    results = {"initialize": INFO, "tools/list": {"tools": [TOOL]}, "tools/call": {"content": []}}

    async def serve(reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        encodings.update(re.findall(r"accept-encoding: *(.*)\r", head))
        length = re.search(r"content-length: *(\d+)", head)
        message = json.loads(await reader.readexactly(int(length[1]))) if length else {}
        method = message.get("method")
        if method in results:
            answer = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": results[method]}).encode()
            data = fault(answer) if method == at else http(answer, "content-type: application/json")
        elif "id" in message:
            error = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}}
            data = http(json.dumps(error).encode(), "content-type: application/json", status="404 Not Found")
        else:
            data = http(b"", "content-length: 0", status="405 No" if head.startswith("get") else "202 Accepted")
        writer.write(data)
        await writer.drain()

    return serve


FAULTS = [
    (compressed, "compresses its answers (gzip)"),
    (a_large_body, "a message of more than 32 MiB"),
    (a_large_event, "a message of more than 32 MiB"),
    (a_flood, "floods the connection"),
]


@pytest.mark.parametrize(("fault", "words"), FAULTS)
async def test_an_answer_over_http_that_crosses_a_bound_is_no_answer_and_the_report_says_why(fault, words):
    encodings: set[str] = set()
    async with listening(serving("tools/call", fault, encodings)) as port:
        report = await report_on(HttpPeer(f"http://127.0.0.1:{port}/mcp"), OPTIONS)
    seen = [evidence.observation.seen for evidence in report.observed if not evidence.observation.ok]
    assert any(words in each for each in seen), seen
    assert encodings == {"identity"}


@pytest.mark.parametrize("at", ["initialize", "tools/list"])
@pytest.mark.parametrize(("fault", "words"), FAULTS)
async def test_a_server_whose_beginning_crosses_a_bound_is_not_judged_and_one_sentence_says_why(at, fault, words):
    async with listening(serving(at, fault, set())) as port:
        with pytest.raises(PeerUnavailable) as caught:
            await report_on(HttpPeer(f"http://127.0.0.1:{port}/mcp"), OPTIONS)
    assert words in str(caught.value)


def limited(times: int, after: str) -> Callable[[bytes], bytes]:
    """Answers so many requests with status 429, as a proxy before the server does, and then as the server would."""
    left = [times]

    def answer(right: bytes) -> bytes:
        left[0] -= 1
        if left[0] >= 0:
            return http(b"slow down", f"retry-after: {after}", status="429 Too Many Requests")
        return http(right, "content-type: application/json")

    return answer


async def report_while(at: str, fault: Callable[[bytes], bytes]) -> ServerReport:
    async with listening(serving(at, fault, set())) as port:
        return await report_on(HttpPeer(f"http://127.0.0.1:{port}/mcp"), OPTIONS)


def broken(report: ServerReport) -> set[str]:
    return {judgement.requirement.id for judgement in report.judgements if judgement.broken}


@pytest.mark.parametrize("at", ["initialize", "tools/list", "tools/call"])
async def test_an_endpoint_that_limits_the_rate_is_asked_again_when_it_says(at):
    report = await report_while(at, limited(3, "0"))
    assert broken(report) == broken(await report_while(at, limited(0, "0")))
    notes = [note for run in report.runs for note in run.notes if "429" in note]
    assert notes == [
        "The endpoint limited the rate (HTTP 429) 3 times, so the suite waited; --rate N makes fewer calls."
    ]


@pytest.mark.parametrize("after", ["0", "3600"])
async def test_a_call_that_is_never_let_through_is_not_answered_and_no_fault_of_the_server(after):
    report = await report_while("tools/call", limited(10**9, after))
    assert broken(report) <= broken(await report_while("tools/call", limited(0, "0")))
    assert not report.conforms
    assert any("no answer but HTTP 429" in note for run in report.runs for note in run.notes)


async def test_a_call_that_was_not_let_through_excuses_no_other_one():
    refuse = limited(1, "3600")

    def answer(right: bytes) -> bytes:
        error = {"jsonrpc": "2.0", "id": json.loads(right)["id"], "error": {"code": -32603, "message": "no"}}
        return refuse(json.dumps(error).encode())

    report = await report_while("tools/call", answer)
    assert report.runs[0].calls > report.runs[0].unanswered == 1  # over the connection on which it happened


async def test_an_endpoint_that_lets_nobody_in_is_not_judged_and_one_sentence_says_why():
    with pytest.raises(PeerUnavailable, match=r"no answer but HTTP 429.*--rate 1"):
        await report_while("initialize", limited(10**9, "0"))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        *[("", 1), ("2", 2), ("0", 0), ("-5", 1), ("soon", 1)],
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("9" * 400, 999_999_999),
    ],
)
def test_what_a_header_says_of_the_wait(value, seconds):
    assert retry_after(value) == seconds


def test_a_date_in_the_future_is_waited_for():
    assert 50 < retry_after(format_datetime(datetime.now(UTC) + timedelta(seconds=60))) <= 60


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("line", "a message of more than 32 MiB"),
        ("pings", "floods the connection"),
        ("notifications", "floods the connection"),
        ("garbage", "floods the connection"),
        ("answers", "floods the connection"),
    ],
)
async def test_a_command_that_pours_is_killed_and_the_report_says_why(kind, words):
    report = await report_on(StdioPeer(tuple(flooding_program.command(kind, EXTENSION_ID))), OPTIONS)
    seen = [evidence.observation.seen for evidence in report.observed if not evidence.observation.ok]
    assert any(words in each for each in seen), seen


class _Lists:
    """The MCP client of a server that lists these tools on every page."""

    def __init__(self, *tools: mcp_types.Tool) -> None:
        self._page = mcp_types.ListToolsResult(tools=list(tools), next_cursor="more")

    async def list_tools(self, *, cursor):
        return self._page


@pytest.mark.parametrize("bound", ["_MAX_TOOLS", "_MAX_CATALOGUE_BYTES"])
async def test_a_list_of_tools_that_is_too_large_is_not_judged(bound, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server_under_test, bound, 10)
    tools = [mcp_types.Tool(name=f"t{n}", input_schema={"type": "object"}) for n in range(11)]
    with pytest.raises(PeerUnavailable, match=r"too large to be judged: 11 tools .* Check it with fewer tools"):
        await Session(_Lists(*tools), 1.0).catalogue()


def printing(words: str) -> StdioPeer:
    """A miniature that conforms, as a command that first prints to the standard output that carries MCP."""
    run = (
        f"print({words!r}, flush=True); import runpy; runpy.run_module('xmcp_conformance.mutants', run_name='__main__')"
    )
    return StdioPeer((sys.executable, "-c", run))


async def test_lines_on_stdout_that_are_not_mcp_are_one_note_of_the_report():
    report = await report_on(printing("hi\x1b[2J"), OPTIONS)
    notes = [note for run in report.runs for note in run.notes if "stdout" in note]
    times = len(report.runs)
    assert notes == [f"The server wrote {times} lines to stdout that are not MCP, first `hi\\x1b[2J`; print to stderr."]
    assert report.conforms


async def test_lines_on_stdout_that_are_not_mcp_are_a_note_of_what_is_seen():
    seen = await visit(printing("x" * 5_000), VisitOptions(tools=("echo",), era="handshake"))
    assert re.fullmatch(r"The server wrote . lines? to stdout .*`x{300}…`; print to stderr.", seen.note)
    written = io.StringIO()
    show([picture(seen, hosts(), tokens.tokenizer())], Console(file=written, width=1000))
    assert f"note: {seen.note}" in written.getvalue()


async def test_a_command_that_prints_nothing_else_has_no_such_note():
    assert (await visit(printing(""), VisitOptions(tools=("echo",), era="handshake"))).note == ""
