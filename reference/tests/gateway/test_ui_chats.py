"""What browsers send by the two UI protocols: messages in parts, of which what was said reaches the model."""

from __future__ import annotations

from typing import Any

import pytest
from support.gateways import events_in, served
from support.scripted_model import ScriptedModel

PIXEL = "data:image/png;base64,iVBORw0KGgo="
TURNS = [
    {"id": "1", "role": "user", "parts": [{"type": "text", "text": "first"}]},
    {
        "id": "2",
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            {"type": "reasoning", "text": "hm"},
            {"type": "dynamic-tool", "toolName": "add", "toolCallId": "c", "state": "output-available", "output": "5"},
            {"type": "text", "text": "I look."},
            {"type": "data-xmcp-display", "data": {}},
            {"type": "text", "text": "It is 5."},
        ],
    },
    {"id": "3", "role": "assistant", "parts": [{"type": "step-start"}]},
    {
        "id": "4",
        "role": "user",
        "parts": [{"type": "text", "text": "and this?"}, {"type": "file", "mediaType": "image/png", "url": PIXEL}],
    },
]
RUN: dict[str, Any] = {"threadId": "t", "runId": "r", "state": {}, "context": [], "tools": [], "forwardedProps": {}}


async def test_what_was_said_on_a_page_of_the_ai_sdk_reaches_the_model() -> None:
    model = ScriptedModel("hi")
    async with served(model) as gateway, gateway.http() as http:
        answer = await http.post("/ui/ai-sdk", json={"id": "chat-1", "messages": TURNS, "trigger": "submit-message"})
    assert answer.headers["x-vercel-ai-ui-message-stream"] == "v1"
    assert [value if value == "[DONE]" else value["type"] for _, _, value in events_in(answer.text)] == [
        "start",
        "start-step",
        "text-start",
        "text-delta",
        "text-end",
        "finish-step",
        "finish",
        "[DONE]",
    ]
    sent = list(model.requests[0].messages)
    assert [(one["role"], one["content"]) for one in sent[:2]] == [
        ("user", [{"type": "text", "text": "first"}]),
        ("assistant", "I look.\n\nIt is 5."),
    ]
    assert [part["type"] for part in sent[2]["content"]] == ["text", "image_url"]
    assert len(sent) == 3


async def test_what_was_said_to_an_ag_ui_client_reaches_the_model() -> None:
    model = ScriptedModel("hi")
    messages = [
        {"id": "1", "role": "user", "content": "first"},
        {"id": "2", "role": "assistant", "content": None, "toolCalls": [{"id": "c", "type": "function"}]},
        {"id": "3", "role": "tool", "toolCallId": "c", "content": "5"},
        {"id": "4", "role": "activity", "activityType": "xmcp.display", "content": {}},
        {"id": "5", "role": "assistant", "content": "It is 5."},
        {
            "id": "6",
            "role": "user",
            "content": [
                {"type": "text", "text": "and this?"},
                {
                    "type": "image",
                    "source": {"type": "data", "value": PIXEL.partition(",")[2], "mimeType": "image/png"},
                },
            ],
        },
    ]
    async with served(model) as gateway, gateway.http() as http:
        answer = await http.post("/ui/ag-ui", json={**RUN, "messages": messages})
    values = [value for _, _, value in events_in(answer.text)]
    assert [value["type"] for value in values if value["type"].startswith("RUN_")] == ["RUN_STARTED", "RUN_FINISHED"]
    assert (values[0]["threadId"], values[0]["runId"]) == ("t", "r")
    sent = list(model.requests[0].messages)
    assert [one["role"] for one in sent] == ["user", "assistant", "user"]
    assert [part["type"] for part in sent[2]["content"]] == ["text", "image_url"]


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/ui/ai-sdk", {}, "messages"),
        ("/ui/ai-sdk", {"messages": [{"role": "user", "content": "x"}]}, "messages[0].parts"),
        ("/ui/ai-sdk", {"messages": [{"role": "user", "parts": []}]}, "messages[0].content"),
        ("/ui/ai-sdk", {"messages": TURNS, "model": "gone"}, "model"),
        ("/ui/ag-ui", {**RUN, "messages": []}, "messages"),
        ("/ui/ag-ui", {"messages": []}, "threadId"),
        ("/ui/ag-ui", {**RUN, "messages": ["x"]}, "messages[0]"),
        ("/ui/ag-ui", {**RUN, "messages": [{"role": "user", "content": [{"type": "audio"}]}]}, "messages[0]"),
        ("/ui/ai-sdk", {"messages": [{"role": "user", "parts": [{"type": "file"}]}]}, "messages[0]"),
        ("/ui/ag-ui", {**RUN, "messages": [{"role": "user", "content": "x"}], "tools": ["x"]}, "tools"),
        ("/ui/ai-sdk", {"messages": TURNS, "tools": {"a b": {}}}, "tools"),
    ],
)
async def test_a_body_that_is_wrong_is_refused_with_the_place(path: str, body: Any, param: str) -> None:
    model = ScriptedModel("hi")
    async with served(model) as gateway, gateway.http() as http:
        answer = await http.post(path, json=body)
    assert answer.status_code in (400, 404)
    assert answer.json()["error"]["param"] == param
    assert model.requests == []
