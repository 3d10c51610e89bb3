"""The chat that chapter 11 shows step by step is one that this client has: event by event, and its history."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from xmcp import XMCP, AIClient, DisplayEnvelope, ToolResponse, XMCPError
from xmcp.providers import ScriptedProvider, Turn
from xmcp_conformance.reader.schemas import validator

ROOT = Path(__file__).resolve().parents[3]
WHOLE = ROOT / "spec" / "examples" / "one-chat.jsonl"
SHORT = ROOT / "spec" / "examples" / "one-chat.short.jsonl"
READ_ONLY = {"readOnlyHint": True}
OF_THIS_CLIENT = ("attempts", "duration_ms", "cached", "server", "handed_on")
"""Members of events that the specification does not define."""


def sales() -> XMCP:
    """Return the server of the example, whose table comes at the second attempt."""
    mcp, attempts = XMCP("sales"), []

    @mcp.tool(annotations=READ_ONLY)
    def find_region(name: str) -> dict[str, int]:
        """Find a region by its name."""
        return {"region_id": 7}

    @mcp.display_tool(annotations=READ_ONLY, depends_on=["find_region"])
    def monthly_sales(month: str, region_id: int = 0, show_user: bool = False) -> ToolResponse:
        """Sales of a region in a month."""
        attempts.append(region_id)
        if len(attempts) == 1:
            raise XMCPError("UPSTREAM_UNAVAILABLE", "The database is starting.", retryable=True, retry_after_ms=250)
        shown = DisplayEnvelope(type="table", payload=[{"region": "EMEA", "sales": 42}], alt="EMEA: 42 units")
        return ToolResponse("monthly_sales", f"Region {region_id} sold 42 units.", display=shown)

    @mcp.tool(annotations=READ_ONLY)
    def forecast(region: str) -> str:
        """Sales that are expected."""
        raise XMCPError("NOT_FOUND", "There is no forecast for this region.")

    return mcp


SCRIPT = [
    Turn(
        "Let me look.",
        [
            ("find_region", {"name": "EMEA"}),
            ("monthly_sales", {"month": "May", "show_user": True}),
            ("forecast", {"region": "EMEA"}),
        ],
    ),
    "EMEA sold 42 units in May. There is no forecast.",
]


async def told() -> list[dict[str, Any]]:
    """Return the events of the chat as JSON, with the ids of the calls as the chapter has them."""
    events = []
    policy = {"backoff_base": 0.01}
    async with AIClient([sales()], llm_provider=ScriptedProvider(SCRIPT), retry_policy=policy) as ai:
        async for chunk in ai.stream_chat("How did EMEA do in May?", []):
            event = chunk.to_json()
            if event["type"] == "llm_delta" and events and events[-1]["type"] == "llm_delta":
                events[-1]["text"] += event["text"]  # a client can cut the text into pieces as it likes
            elif event["type"] != "usage":
                if event["type"] == "done":
                    event["result"]["usage"].pop("reasoning_tokens")  # optional in the schema
                events.append({name: value for name, value in event.items() if name not in OF_THIS_CLIENT})
    text = json.dumps(events)
    for number in range(3):
        text = text.replace(f"call_0_{number}", f"c{number + 1}")
    return list(json.loads(text))


def by_call(events: list[dict[str, Any]]) -> dict[str | None, list[dict[str, Any]]]:
    """Return the events of each call, and under `None` those of the chat: the order among calls is free."""
    calls = dict.fromkeys(event.get("call_id") for event in events)
    return {call: [event for event in events if event.get("call_id") == call] for call in calls}


def shown(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def test_the_chat_of_chapter_11_is_one_that_this_client_has() -> None:
    events = await told()
    assert by_call(events) == by_call(shown(WHOLE))
    assert events[-1]["type"] == "done"


def test_its_events_are_valid() -> None:
    for event in shown(WHOLE):
        validator("chat_event").validate(event)


def test_what_the_page_shows_is_that_chat_with_members_left_out() -> None:
    for event, whole in zip(shown(SHORT), shown(WHOLE), strict=True):
        result = event.pop("result", {})
        assert event.items() <= whole.items()
        assert result.items() <= whole.get("result", {}).items()
