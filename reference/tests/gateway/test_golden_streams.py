"""Every view of the same recorded runs, byte for byte (golden/). XMCP_WRITE_GOLDEN=1 writes the views again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Event as AGUIEvent
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter
from support.gateways import events_in

from xmcp.chat.json_values import encode_json
from xmcp.gateway.encoders import native, openai_chat, openai_responses
from xmcp.gateway.encoders.ag_ui import AGUIEncoder
from xmcp.gateway.encoders.ai_sdk import UIMessageEncoder
from xmcp.gateway.encoders.framing import Encoder
from xmcp.gateway.encoders.openai_chat import ChunkEncoder
from xmcp.gateway.encoders.openai_responses import ResponseEncoder
from xmcp.gateway.runs.events import RunEvent
from xmcp.gateway.runs.state import RunState

GOLDEN = Path(__file__).parent / "golden"
RUN_ID = f"run_{7:032x}"
ECHO = {"temperature": 0.5}
STREAMS: Mapping[str, Callable[[], Encoder]] = {
    "native": native.NativeEncoder,
    "openai-none": lambda: ChunkEncoder(usage=False, profile="none"),
    "openai-xmcp": lambda: ChunkEncoder(usage=True, profile="xmcp"),
    "openai-openwebui": lambda: ChunkEncoder(usage=True, profile="openwebui"),
    "responses-none": lambda: ResponseEncoder(ECHO, profile="none"),
    "responses-xmcp": lambda: ResponseEncoder(ECHO, profile="xmcp"),
    "responses-openwebui": lambda: ResponseEncoder(ECHO, profile="openwebui"),
    "ai-sdk": UIMessageEncoder,
    "ag-ui": lambda: AGUIEncoder("thread-1", "run-1"),
}
RUNS = sorted(path.stem.removesuffix(".events") for path in GOLDEN.glob("*.events.jsonl"))


def recorded(run: str) -> Sequence[RunEvent]:
    """Return the events of a recorded run; each line of its file has a type and data."""
    lines = [json.loads(line) for line in (GOLDEN / f"{run}.events.jsonl").read_text().splitlines()]
    return [
        RunEvent(RUN_ID, 1, seq, one["type"], one["data"], encode_json(one["data"]))
        for seq, one in enumerate(lines, start=1)
    ]


def state_of(run: str) -> RunState:
    """Return what a recorded run has come to."""
    state = RunState()
    for event in recorded(run):
        state.apply(event)
    return state


def compare(name: str, written: str) -> None:
    """Compare a view with its golden file."""
    path = GOLDEN / name
    if os.environ.get("XMCP_WRITE_GOLDEN"):
        path.write_text(written)
    assert written == path.read_text()


def test_there_are_recorded_runs() -> None:
    assert RUNS == ["approvals", "cancelled", "client-tools", "display-and-retry", "failed", "resumed-late", "tools"]


@pytest.mark.parametrize("view", STREAMS)
@pytest.mark.parametrize("run", RUNS)
def test_a_view_of_a_run_is_the_recorded_one(run: str, view: str) -> None:
    encoder = STREAMS[view]()
    compare(f"{run}.{view}.txt", b"".join(map(encoder.encode, recorded(run))).decode())


@pytest.mark.parametrize("run", ["tools", "display-and-retry", "client-tools"])
def test_an_answer_in_one_piece_is_the_recorded_one(run: str) -> None:
    state = state_of(run)
    values: dict[str, Any] = {
        "chat": json.loads(native.whole(RUN_ID, "assistant", state, 12.5)),
        **{f"openai-{name}": openai_chat.whole(RUN_ID, state, name) for name in ("none", "xmcp")},
        **{f"responses-{name}": openai_responses.whole(RUN_ID, state, ECHO, name) for name in ("none", "xmcp")},
    }
    for name, value in values.items():
        compare(f"{run}.{name}.json", json.dumps(value, indent=1, ensure_ascii=False) + "\n")


@pytest.mark.parametrize("run", RUNS)
def test_every_event_of_ag_ui_is_one_of_its_protocol(run: str) -> None:
    read = TypeAdapter[Any](AGUIEvent).validate_python
    values = [value for _, _, value in events_in((GOLDEN / f"{run}.ag-ui.txt").read_text())]
    assert [read(value).type.value for value in values] == [value["type"] for value in values]
    assert values[0]["type"] == "RUN_STARTED"
    assert values[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")


@pytest.mark.parametrize("profile", ["none", "xmcp", "openwebui"])
@pytest.mark.parametrize("run", RUNS)
def test_every_event_of_a_response_is_one_of_openais_and_the_last_has_what_was_streamed(run: str, profile: str) -> None:
    read = TypeAdapter[Any](ResponseStreamEvent).validate_python
    values = [value for _, _, value in events_in((GOLDEN / f"{run}.responses-{profile}.txt").read_text())]
    assert [value["sequence_number"] for value in values] == [*range(len(values))]
    if error := values[-1]["response"]["error"]:
        error["code"] = "server_error"  # the types have few codes; OpenAI itself sends others, and so does this
    events = [read(value) for value in values if value["type"] != "keepalive"]
    assert events[0].type == "response.created"
    lasts = [
        event for event in events if event.type in ("response.completed", "response.incomplete", "response.failed")
    ]
    assert lasts == [events[-1]]
    texts = ["" for _ in events[-1].response.output]
    for event in events:
        if event.type in ("response.output_text.delta", "response.reasoning_summary_text.delta"):
            texts[event.output_index] += event.delta
    shown = [
        (item.content or item.summary)[0].text for item in events[-1].response.output if item.type != "function_call"
    ]
    assert shown == [text for text in texts if text]


@pytest.mark.parametrize("run", ["tools", "display-and-retry", "client-tools"])
def test_a_response_in_one_piece_is_one_of_openais(run: str) -> None:
    value = json.loads((GOLDEN / f"{run}.responses-none.json").read_text())
    assert Response.model_validate(value).status == "completed"
