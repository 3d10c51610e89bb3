"""Whatever a server lists as its tools, the client offers what it can and answers calls; it never fails as a whole."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.fuzzing import ANY_JSON, SECONDS, damaged, fuzzing
from support.raw_peer import RawPeer, hello
from support.scripted_model import ScriptedModel, asks
from support.silence import Silence

from xmcp import AIClient
from xmcp.client import ServerTarget
from xmcp.wire import ToolResponse
from xmcp_models.registry import TOOL_META_KEY

SCHEMA = {
    "type": "object",
    "properties": {"where": {"type": "string"}, "user": {"$ref": "#/$defs/user"}, "show_user": {"type": "boolean"}},
    "required": ["where"],
    "allOf": [{"properties": {"more": {}}}],
    "dependentRequired": {"where": ["user"]},
    "dependentSchemas": {"user": {"properties": {"more": {}}}},
    "$defs": {"user": {"type": ["string", "null"], "pattern": "^a+$"}},
}
OWN = {"depends_on": ["find"], "provides": "where", "cacheable": True, "sensitive": ["user"], "wraps": "result"}
TOOLS = [
    {
        "name": "find",
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object", "properties": {"where": {}}},
    },
    {
        "name": "look",
        "title": "Look",
        "description": "Looks.",
        "inputSchema": SCHEMA,
        "outputSchema": {"type": "object", "x-fastmcp-wrap-result": True, "properties": {"result": {"type": "string"}}},
        "annotations": {"readOnlyHint": True, "idempotentHint": True},
        "_meta": {TOOL_META_KEY: OWN},
    },
]
LISTS = st.one_of(
    damaged(st.just({"tools": TOOLS, "nextCursor": None})),
    st.builds(lambda tool: {"tools": [TOOLS[0], tool]}, damaged(st.just(TOOLS[1]))),
    st.builds(lambda schema: {"tools": [{**TOOLS[1], "inputSchema": schema}]}, damaged(st.just(SCHEMA))),
    st.builds(lambda own: {"tools": [TOOLS[0], {**TOOLS[1], "_meta": {TOOL_META_KEY: own}}]}, damaged(st.just(OWN))),
    ANY_JSON,
)


async def outcome(listed: Any) -> list[Any]:
    """Return what the model gets of calls of a server that lists such tools, beside one whose list is in order."""
    silence = Silence()
    result = {"content": [{"type": "text", "text": "seen"}], "structuredContent": {"where": "here"}}
    odd = RawPeer({"initialize": hello(xmcp=True), "tools/list": listed, "tools/call": result})
    honest = RawPeer({"tools/list": {"tools": [TOOLS[0]]}, "tools/call": result})
    model = ScriptedModel(asks("odd__find", ("odd__look", {"where": 1}), "honest__find"), "end")
    async with (
        asyncio.timeout(SECONDS),
        AIClient(
            {"odd": ServerTarget(target=odd, xmcp=False), "honest": honest},
            llm_provider=model,
            params={"user": "u"},
            retry_policy={"max_attempts": 1},
            logger=silence,
        ) as ai,
    ):
        events = [event async for event in ai.stream_chat("q", [])]
        await ai.refresh_tools()
    assert not silence.crashes, silence.crashes[0]
    for event in events:
        json.dumps(event.to_json())
    json.loads(model.requests[0].tools.json)
    history = events[-1].result["history"]  # type: ignore[union-attr]
    answers = [message["content"] for message in history if message["role"] == "tool"]
    assert ToolResponse.from_xml(answers[2]).llm_output == "seen"
    return answers


@given(LISTS)
@fuzzing(60)
def test_whatever_a_server_lists_the_others_are_offered_and_called(listed: Any) -> None:
    asyncio.run(outcome(listed))
