"""Text that is joined: nothing is lost, nothing moved behind what came after it, and the first piece does not wait."""

from __future__ import annotations

import asyncio
from itertools import groupby
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.gateways import events_in, served, until
from support.scripted_model import ScriptedModel

from xmcp.gateway.runs.events import TEXT
from xmcp.gateway.runs.joined_text import JoinedText
from xmcp.providers.scripted import ScriptedProvider

SSE = {"accept": "text/event-stream"}
HOUR = 3600.0

texts = st.tuples(
    st.sampled_from(sorted(TEXT)),
    st.builds(lambda step, text: {"step": step, "text": text}, st.integers(1, 3), st.text()),
)
others = st.tuples(st.sampled_from(["notice", "tool.started"]), st.just({"step": 1}))


async def published(offered: list[Any], seconds: float) -> list[Any]:
    told: list[Any] = []
    joined = JoinedText(seconds, lambda kind, data: told.append((kind, data)))
    for kind, data in offered:
        if not joined.takes(kind, data):
            told.append((kind, data))
    joined.flush()
    return told


def text_in_order(events: list[Any]) -> list[Any]:
    """Return the events with neighbouring text of one step put together."""
    groups = groupby(events, key=lambda event: (event[0], event[1]["step"] if event[0] in TEXT else None))
    found: list[Any] = []
    for (kind, step), group in groups:
        if step is None:
            found += group
        else:
            found.append((kind, step, "".join(data["text"] for _, data in group)))
    return found


@given(st.lists(texts | others))
def test_joined_text_is_the_same_text_in_the_same_order(offered: list[Any]) -> None:
    told = asyncio.run(published(offered, HOUR))
    assert text_in_order(told) == text_in_order(offered)
    assert len(told) <= len(offered)


async def test_the_first_piece_is_published_at_once_and_the_others_when_the_time_is_over() -> None:
    told: list[str] = []
    joined = JoinedText(0.05, lambda _, data: told.append(data["text"]))
    taken = [joined.takes("text.delta", {"step": 1, "text": text}) for text in "abc"]
    assert taken == [False, True, True]
    assert told == []
    await until(lambda: told)
    assert told == ["bc"]


async def test_text_waits_for_no_end_of_its_time_where_something_else_happens() -> None:
    told = await published([("text.delta", {"step": 1, "text": text}) for text in "abc"] + [("notice", {})], HOUR)
    assert told == [("text.delta", {"step": 1, "text": "a"}), ("text.delta", {"step": 1, "text": "bc"}), ("notice", {})]


async def test_a_chat_with_joined_text_says_the_same_in_fewer_events() -> None:
    words = " ".join(f"word{number}" for number in range(100))
    config = {"runs": {"join_text_seconds": 5.0}}
    async with served(ScriptedProvider([words]), config) as gateway, gateway.http() as http:
        events = events_in((await http.post("/chat", json={"input": "hi"}, headers=SSE)).text)
    pieces = [data["text"] for kind, _, data in events if kind == "text.delta"]
    assert "".join(pieces) == words
    assert len(pieces) == 2
    assert events[-1][0] == "run.finished"


async def test_a_chat_that_is_cancelled_has_the_text_that_waited() -> None:
    model = ScriptedModel(["I ", "wait ", "for it.", asyncio.Event().wait])
    config = {"runs": {"join_text_seconds": 5.0}}
    async with served(model, config) as gateway, gateway.http() as http:
        begun = asyncio.create_task(http.post("/chat", json={"input": "hi"}, headers=SSE))
        await until(lambda: any(run.state.text for run in gateway.gateway.runs.running))
        (run,) = gateway.gateway.runs.running
        await http.post(f"/runs/{run.id}/cancel")
        events = events_in((await begun).text)
    assert [data["text"] for kind, _, data in events if kind == "text.delta"] == ["I ", "wait for it."]
    assert events[-1][0] == "run.cancelled"
