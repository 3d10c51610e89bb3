"""Whatever a server answers to a call, the model gets a result or an error with a registered code."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from support.fuzzing import ANY_JSON, SECONDS, TEXTS, damaged, damaged_bytes, fuzzing, nested
from support.raw_peer import RawPeer, hello
from support.scripted_model import ScriptedModel, asks
from support.silence import Silence

from xmcp import AIClient
from xmcp.chat.messages import begin
from xmcp.wire import ToolResponse
from xmcp_models.registry import DISPLAY_META_KEY, ERROR_CODES, ERROR_META_KEY, POPULATED_META_KEY, RESULT_META_KEY

TOOLS = {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}
DOCUMENT = (
    '<tool_response tool_name="look"><llm_output>seen</llm_output><display>{"type":"text","payload":"a"}</display>'
    '<server_populated>{"values":{"user":"u"}}</server_populated></tool_response>'
)
ERROR = {"code": "DB_TIMEOUT", "message": "late", "retryable": False, "retry_after_ms": 1, "meta": {"a": 1}}
DISPLAY = {"type": "table", "title": "t", "payload": [{"a": 1}], "alt": "x", "fallback": [], "id": "i", "meta": {}}
META = {
    RESULT_META_KEY: {"version": "1.0", "form": "plain"},
    DISPLAY_META_KEY: DISPLAY,
    ERROR_META_KEY: ERROR,
    POPULATED_META_KEY: {"values": {"user": "u"}},
}
ALONE = "Zq7-for-the-user-alone-Zq7"
FOR_USER = {"type": "text", "text": ALONE, "annotations": {"audience": ["user"]}}
RESOURCE = {"uri": "file:///a", "mimeType": "text/plain", "text": "t"}
BLOCKS = [
    {"type": "text", "text": DOCUMENT, "annotations": {"audience": ["user", "assistant"], "priority": 1}},
    FOR_USER,
    {"type": "image", "data": "AAAA", "mimeType": "image/png"},
    {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
    {"type": "resource", "resource": RESOURCE},
    {"type": "resource", "resource": {"uri": "file:///b", "blob": "AAAA"}},
    {"type": "resource_link", "uri": "file:///c", "name": "c"},
]


def as_text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def as_blocks(texts: tuple[str]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in texts]


VALID = st.sampled_from(
    [
        {"content": BLOCKS, "structuredContent": {"result": [1, 2]}, "isError": False},
        {"content": [{"type": "text", "text": "seen"}], "_meta": META, "structuredContent": {"a": 1}},
        {"content": [{"type": "text", "text": "late"}], "_meta": META, "isError": True},
        {"content": [], "structuredContent": {"a": None}},
        {"resultType": "input_required", "inputRequests": {}, "requestState": "x"},
    ]
)
OBJECTS = st.dictionaries(TEXTS, ANY_JSON, max_size=3)
NEARLY = st.fixed_dictionaries(
    {
        "content": st.lists(st.sampled_from(BLOCKS), max_size=3)
        | st.tuples(damaged(st.sampled_from(BLOCKS))).map(list)
        | st.tuples(TEXTS | damaged_bytes(st.just(DOCUMENT.encode())).map(as_text)).map(as_blocks)
    },
    optional={
        "structuredContent": OBJECTS,
        "isError": st.booleans(),
        "_meta": damaged(st.just(META)) | OBJECTS,
    },
)
"""Results that MCP allows, mostly."""

RESULTS = st.tuples(
    st.integers(0, 9).flatmap(lambda n: ANY_JSON if n == 9 else damaged(VALID) if n > 6 else NEARLY), st.booleans()
)
"""A result, and whether its server announces the extension."""


def is_for_user_alone(result: Any) -> bool:
    """Return whether a result has `ALONE` in blocks for the user alone, and nowhere else."""
    others = [block for block in result.get("content") or () if block != FOR_USER]
    return ALONE not in json.dumps([others, {**result, "content": None}])


async def outcome(given_result: tuple[Any, bool]) -> ToolResponse:
    """Return what the model gets of a result."""
    (result, xmcp), silence = given_result, Silence()
    peer = RawPeer({"initialize": hello(xmcp=xmcp), "tools/list": TOOLS, "tools/call": result})
    async with asyncio.timeout(SECONDS):
        async with AIClient(
            [peer], llm_provider=ScriptedModel(asks("look"), "end"), retry_policy={"max_attempts": 1}, logger=silence
        ) as ai:
            events = [event async for event in ai.stream_chat("q", [])]
    assert not silence.crashes, silence.crashes[0]
    for event in events:
        json.dumps(event.to_json())
    history = events[-1].result["history"]  # type: ignore[union-attr]
    begin(history, "go on")
    (answer,) = [message["content"] for message in history if message["role"] == "tool"]
    assert ALONE not in answer or not is_for_user_alone(result)
    return ToolResponse.from_xml(answer)


def plain(**members: Any) -> tuple[Any, bool]:
    """Return a plain result of an XMCP server with these members of `_meta`, one of which is nested too deeply."""
    return {"content": [{"type": "text", "text": "x"}], "_meta": {**META, **members}, "isError": True}, True


@given(RESULTS)
@example(plain(**{ERROR_META_KEY: {**ERROR, "meta": {"params": {"a": nested(70)}}}}))
@example(plain(**{POPULATED_META_KEY: {"values": {"user": nested(70)}}}))
@example(plain(**{DISPLAY_META_KEY: {"type": "json", "payload": nested(70)}}))
@example(({"content": [{"type": "text", "text": '<tool_response tool_name="look"><display>1</display>'}]}, True))
@fuzzing(60)
def test_whatever_a_server_answers_the_model_gets_a_result_or_an_error_with_a_registered_code(
    given_result: tuple[Any, bool],
) -> None:
    error = asyncio.run(outcome(given_result)).error
    assert error is None or error.code != "INTERNAL"
    own = any(mark in json.dumps(given_result[0]) for mark in (ERROR_META_KEY, "<error", '"code"'))
    assert error is None or error.code in ERROR_CODES or own
