"""Whatever a model writes as arguments, the call is made with a JSON object or is answered with `VALIDATION_FAIL`."""

from __future__ import annotations

import asyncio
import json

from hypothesis import example, given
from hypothesis import strategies as st
from support.chats import answers_in, chat
from support.fuzzing import ANY_JSON, SECONDS, TEXTS, as_bytes, damaged, damaged_bytes, fuzzing
from support.scripted_model import ScriptedModel, asks
from support.scripted_server import ScriptedServer
from support.silence import Silence

from xmcp.chat.messages import begin
from xmcp.client.hooks.log import EventLog
from xmcp.wire import ToolResponse

VALID = st.just({"where": "here", "deep": {"list": [1, 2.5, None, True, {"é": "日本"}]}, "__proto__": {}})
WRITTEN = st.one_of(
    damaged(VALID).map(json.dumps),
    damaged_bytes(VALID.map(as_bytes)).map(lambda data: data.decode("utf-8", "surrogateescape")),
    ANY_JSON.map(json.dumps),
    TEXTS,
    st.text(),
)


async def outcome(text: str) -> ToolResponse:
    """Return what the model gets of a call with such arguments, and of the same call to a tool that depends on it."""
    silence = Silence()
    server = ScriptedServer(
        {"look": "seen", "show": "shown"},
        show={"metadata": {"depends_on": ["look"]}, "inputSchema": {"type": "object", "properties": {"where": {}}}},
    )
    model = ScriptedModel(asks(("look", text), ("show", text)), "end")
    running = chat(model, server, log=EventLog(silence), meta_tools=True)
    async with asyncio.timeout(SECONDS):
        events = [event async for event in running.run()]
    assert not silence.crashes, silence.crashes[0]
    for event in events:
        json.dumps(event.to_json())
    begin(json.loads(json.dumps(running.messages)), "go on")
    for _, arguments in server.calls:
        json.dumps(arguments, ensure_ascii=False).encode()
    return answers_in(running.messages)["c0"]


@given(WRITTEN)
@example("[" * 100_000)
@example('{"a":' * 100_000)
@example('{"a":' + "9" * 100_000 + "}")
@example('{"a":' + "9" * 400 + "}")
@fuzzing(100)
def test_whatever_a_model_writes_the_call_is_made_or_answered_with_the_reason(text: str) -> None:
    error = asyncio.run(outcome(text)).error
    assert error is None or error.code == "VALIDATION_FAIL"
