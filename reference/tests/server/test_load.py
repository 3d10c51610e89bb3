"""64 calls at once, every tenth of which fails, and the server is told to end in the middle: no call is lost."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest

pytestmark = pytest.mark.slow

SERVER = """
import asyncio, sys
from contextlib import asynccontextmanager
from xmcp import XMCP

begun = 0

@asynccontextmanager
async def lifespan(_):
    yield {}
    print("begun", begun, file=sys.stderr, flush=True)

mcp = XMCP("shop", lifespan=lifespan)

@mcp.tool
async def work(number: int) -> int:
    global begun
    begun += 1
    await asyncio.sleep(0.02 * (number % 7))
    if number % 10 == 0:
        raise RuntimeError("s3cr3t")
    return 2 * number
"""
AT_ONCE = 64
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
VERSION = "2026-07-28"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": "first",
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}


@contextmanager
def running(code: str) -> Iterator[subprocess.Popen[str]]:
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
    # The log of the failures, each with a traceback.
    silent = "import logging\nlogging.getLogger('xmcp.server').setLevel('CRITICAL')\n"
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER + silent + code], stderr=subprocess.PIPE, text=True, **pipes
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def call(number: int, era: str) -> dict[str, Any]:
    params: dict[str, Any] = {"name": "work", "arguments": {"number": number}}
    if era == "auto":
        params["_meta"] = ENVELOPE
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def is_right(answer: dict[str, Any]) -> bool:
    """Tell whether an answer is that of its own call: twice its number, or a failure without its text."""
    result = answer["result"]
    if answer["id"] % 10 == 0:
        return result["isError"] is True and "INTERNAL" in str(result) and "s3cr3t" not in str(result)
    return result["structuredContent"] == {"result": 2 * answer["id"]}


@pytest.mark.parametrize("options", ["", ", stateless_http=False"], ids=["stateless", "stateful"])
async def test_a_call_that_was_sent_before_sigterm_is_answered(era: str, options: str) -> None:
    outcomes: Counter[str] = Counter()
    lost: list[str] = []
    ended_at = float("inf")

    async def client(url: str, first: int) -> None:
        headers = dict(HEADERS)
        async with httpx2.AsyncClient(timeout=300) as http:
            if era == "auto":
                headers |= {"MCP-Protocol-Version": VERSION, "Mcp-Method": "tools/call", "Mcp-Name": "work"}
            else:
                session = (await http.post(url, json=INITIALIZE, headers=headers)).headers.get("mcp-session-id")
                headers |= {} if session is None else {"Mcp-Session-Id": session}
            for number in range(first, 1_000_000, AT_ONCE):
                sent_at = time.monotonic()
                try:
                    text = (await http.post(url, json=call(number, era), headers=headers)).text
                    answer = json.loads(re.sub(r"(?s).*?data: ", "", text, count=1) if "data: " in text else text)
                except (httpx2.HTTPError, ValueError) as error:
                    outcomes["refused"] += 1
                    if sent_at < ended_at:
                        lost.append(f"call {number}, sent {ended_at - sent_at:.3f} s before SIGTERM: {error!r}")
                    return
                outcomes["right" if is_right(answer) else "wrong"] += 1

    with running(f"mcp.serve(port=0, grace=60{options})") as process:
        assert process.stderr is not None
        url = process.stderr.readline().split()[-1]
        clients = [asyncio.create_task(client(url, first)) for first in range(1, AT_ONCE + 1)]
        while outcomes["right"] < 4 * AT_ONCE:
            assert not any(one.done() for one in clients)
            await asyncio.sleep(0.02)
        ended_at = time.monotonic()
        process.send_signal(signal.SIGTERM)
        await asyncio.gather(*clients)
        _, err = await asyncio.to_thread(process.communicate, timeout=300)
    assert lost == []
    assert outcomes == {"right": outcomes["right"], "refused": AT_ONCE}
    assert err == f"begun {outcomes['right']}\n"
    assert process.returncode == 0


async def test_a_call_that_was_written_before_the_end_of_the_input_is_answered(era: str) -> None:
    with running("mcp.serve('stdio', grace=60)") as process:
        lines = [json.dumps(call(number, era)) for number in range(1, AT_ONCE + 1)]
        if era == "legacy":
            lines.insert(0, json.dumps(INITIALIZE))
        out, err = await asyncio.to_thread(process.communicate, "\n".join(lines) + "\n", timeout=300)
    answers = [json.loads(line) for line in out.splitlines()]
    answers = [answer for answer in answers if answer["id"] != "first"]
    assert sorted(answer["id"] for answer in answers) == list(range(1, AT_ONCE + 1))
    assert all(is_right(answer) for answer in answers)
    assert (process.returncode, err) == (0, f"begun {AT_ONCE}\n")
