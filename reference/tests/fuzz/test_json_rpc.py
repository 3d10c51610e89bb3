"""Whatever messages a server sends beside the answers, and however it introduces itself, honest calls are answered."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.fuzzing import ANY_JSON, SECONDS, TEXTS, damaged, fuzzing
from support.raw_peer import RawPeer, hello
from support.scripted_model import ScriptedModel, asks
from support.silence import Silence

from xmcp import AIClient
from xmcp.wire import ToolResponse

TOOLS = {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}
SEEN = {"content": [{"type": "text", "text": "seen"}]}
NOTIFICATIONS = [
    ("notifications/message", {"level": "info", "logger": "db", "data": {"a": 1}}),
    ("notifications/tools/list_changed", {}),
    ("notifications/progress", {"progressToken": 1, "progress": 0.5, "message": "half"}),
    ("notifications/cancelled", {"requestId": 7, "reason": "no"}),
    ("notifications/resources/updated", {"uri": "file:///a"}),
]


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


OBJECTS = st.dictionaries(TEXTS, ANY_JSON, max_size=3)
SENT = st.one_of(
    st.tuples(
        st.sampled_from([method for method, _ in NOTIFICATIONS]) | TEXTS,
        damaged(st.sampled_from([params for _, params in NOTIFICATIONS])).filter(
            lambda params: isinstance(params, dict)
        )
        | OBJECTS,
    )
)
MESSAGES = st.tuples(
    st.lists(SENT, max_size=3),
    damaged(st.just(hello(xmcp=True))) | ANY_JSON | st.just(hello()),
    st.one_of(st.just(SEEN), st.just(SEEN), TEXTS.map(RuntimeError)),
)
"""Notifications before each answer, the answer to `initialize`, and the result of a call or the text of an error."""


async def outcome(messages: Any) -> ToolResponse | None:
    """Return what the model gets of the calls of two servers: one that sends all this, and one that does not."""
    notifications, introduction, answer = copy.deepcopy(messages)
    silence = Silence()
    odd = RawPeer({"initialize": introduction, "tools/list": TOOLS, "tools/call": answer}, lambda: notifications)
    honest = RawPeer({"tools/list": TOOLS, "tools/call": SEEN})
    async with (
        asyncio.timeout(SECONDS),
        AIClient(
            {"odd": odd, "honest": honest},
            llm_provider=ScriptedModel(asks("odd__look", "honest__look"), "end"),
            retry_policy={"max_attempts": 1},
            tool_timeout=20,
            connect_timeout=20,
            logger=silence,
        ) as ai,
    ):
        result = await ai.chat("q", [])
    assert not silence.crashes, silence.crashes[0]
    answers = [message["content"] for message in result["history"] if message["role"] == "tool"]
    assert ToolResponse.from_xml(answers[1]).llm_output == "seen"
    return ToolResponse.from_xml(answers[0])


@given(MESSAGES)
@fuzzing(40)
def test_whatever_messages_a_server_sends_another_one_is_called_and_nothing_crashes(messages: Any) -> None:
    asyncio.run(outcome(messages))
