"""Whatever a program writes on its standard output, a call is answered with a reason, and the program ends."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fuzzing import SECONDS, as_bytes, damaged, damaged_bytes, fuzzing
from support.raw_peer import hello
from support.scripted_model import ScriptedModel, asks
from support.silence import Silence

from xmcp import AIClient
from xmcp.wire import ToolResponse
from xmcp_models.registry import ERROR_CODES

ANSWER = {"jsonrpc": "2.0", "id": 0, "result": {"content": [{"type": "text", "text": "seen"}]}}
NOTE = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
RESULTS = {"initialize": hello(), "tools/list": {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}}

PROGRAM = f"""
import json, sys
results = json.loads({json.dumps(RESULTS)!r})
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    number = json.dumps(message["id"])
    if message["method"] == "tools/call":
        written = open(sys.argv[1], "rb").read().replace(b'"id": 0', b'"id": ' + number.encode())
        sys.stdout.buffer.write(written)
    elif message["method"] in results:
        print('{{"jsonrpc": "2.0", "id": %s, "result": %s}}' % (number, json.dumps(results[message["method"]])))
    else:
        print('{{"jsonrpc": "2.0", "id": %s, "error": {{"code": -32601, "message": "unknown"}}}}' % number)
    sys.stdout.flush()
"""
"""Answers as a server must, but for a call, where it writes what is in a file."""


def lines(damaged_list: Any) -> bytes:
    """Return what has become of a list of messages, each as a line; if it is no list any more, as one line."""
    messages = damaged_list if isinstance(damaged_list, list) else [damaged_list]
    return b"".join(as_bytes(message) + b"\n" for message in messages)


LINES = st.one_of(
    damaged(st.just([NOTE, ANSWER])).map(lines),
    damaged_bytes(st.just(as_bytes(NOTE) + b"\n" + as_bytes(ANSWER) + b"\n")),
)


async def outcome(written: bytes) -> ToolResponse:
    """Return what the model gets of a call that is answered by these bytes."""
    silence = Silence()
    with TemporaryDirectory() as directory:
        answer = Path(directory, "answer")
        await asyncio.to_thread(answer.write_bytes, written)
        program: Any = [sys.executable, "-I", "-S", "-c", PROGRAM, str(answer)]
        async with (
            asyncio.timeout(SECONDS),
            AIClient(
                [program],
                llm_provider=ScriptedModel(asks("look"), "end"),
                retry_policy={"max_attempts": 1},
                tool_timeout=1,
                connect_timeout=30,
                logger=silence,
            ) as ai,
        ):
            result = await ai.chat("q", [])
    assert not silence.crashes, silence.crashes[0]
    (answered_with,) = [message["content"] for message in result["history"] if message["role"] == "tool"]
    return ToolResponse.from_xml(answered_with)


@pytest.mark.slow
@given(LINES)
@fuzzing(10)
def test_whatever_a_program_writes_the_call_is_answered(written: bytes) -> None:
    error = asyncio.run(outcome(written)).error
    assert error is None or (error.code in ERROR_CODES and error.code not in ("INTERNAL", "UNKNOWN_TOOL"))
