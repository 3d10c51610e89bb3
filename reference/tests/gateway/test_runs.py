"""Runs: their observer, the ring of their events, what is kept of them, and that nothing keeps one from its end."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.gateways import events_in, served, until
from support.scripted_model import ScriptedModel, asks

from xmcp.chat.json_values import encode_json
from xmcp.gateway.runs import run as running
from xmcp.gateway.runs.events import TEXT, EventType, RunEvent, new_run_id, place_of
from xmcp.gateway.runs.patience import RunLimits
from xmcp.gateway.runs.record import RunRecord
from xmcp.gateway.runs.request import Caller, ChatRequest
from xmcp.gateway.runs.ring import EventRing

SSE = {"accept": "text/event-stream"}


class Notes:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def accepted(self, run: RunRecord) -> None:
        """Keep it."""
        self.told.append(("accepted", run.request.surface, run.caller.key_name, run.state.seq))

    def event(self, run: RunRecord, event: RunEvent) -> None:
        """Keep it."""
        self.told.append((event.type, run.state.seq))

    def ended(self, run: RunRecord) -> None:
        """Keep it."""
        self.told.append(("ended", run.state.status, len(run.history), run.latency_ms is not None))


class Broken:
    """An observer that fails each time."""

    def accepted(self, run: RunRecord) -> None:
        """Fail."""
        raise RuntimeError("accepted")

    def event(self, run: RunRecord, event: RunEvent) -> None:
        """Fail."""
        raise RuntimeError("event")

    def ended(self, run: RunRecord) -> None:
        """Fail."""
        raise RuntimeError("ended")


async def test_an_observer_is_told_of_every_event_between_the_beginning_and_the_end() -> None:
    notes = Notes()
    model = ScriptedModel(asks(("add", {"a": 1, "b": 2})), "3")
    async with served(model, observer=notes) as gateway, gateway.http() as http:
        answer = await http.post("/chat", json={"input": "1+2"}, headers=SSE)
    events = events_in(answer.text)
    assert notes.told[0] == ("accepted", "chat", "local", 0)
    assert notes.told[1:-1] == [(name, seq) for seq, (name, _, _) in enumerate(events, start=1)]
    assert notes.told[-1] == ("ended", "finished", 4, True)


async def test_an_observer_that_fails_disturbs_no_chat() -> None:
    async with served(ScriptedModel("hi"), observer=Broken()) as gateway, gateway.http() as http:
        assert (await http.post("/chat", json={"input": "x"})).json()["answer"] == "hi"


async def test_a_model_that_does_not_let_itself_be_stopped_keeps_no_run_from_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running, "CLEANUP_SECONDS", 0.2)
    freed = asyncio.Event()

    async def stubborn() -> None:
        while not freed.is_set():
            try:
                await freed.wait()
            except asyncio.CancelledError:
                continue

    config = {"runs": {"join_text_seconds": 5.0}}
    async with served(ScriptedModel(["a", "b", stubborn]), config) as gateway, gateway.http() as http:
        asking = asyncio.create_task(http.post("/chat", json={"input": "x"}, headers=SSE))
        await until(lambda: any(run.state.text for run in gateway.gateway.runs.running))
        (run,) = gateway.gateway.runs.running
        state = await http.post(f"/runs/{run.id}/cancel")
        answer = await asking
        assert gateway.gateway.runs.places.running == 0
        freed.set()
    assert state.json()["status"] == "cancelled"
    events = events_in(answer.text)
    assert events[-1][0] == "run.cancelled"
    assert [data["text"] for name, _, data in events if name == "text.delta"] == ["a", "b"]


async def test_runs_are_kept_for_a_time_and_a_number_of_bytes() -> None:
    few = {"runs": {"keep_bytes": 10_000}}
    async with served(ScriptedModel(then="x" * 1_000), few) as gateway, gateway.http() as http:
        ids = [(await http.post("/chat", json={"input": "x"})).json()["run_id"] for _ in range(10)]
        found = [(await http.get(f"/runs/{run_id}")).status_code for run_id in ids]
    assert found[0] == 404
    assert found[-1] == 200
    assert found == sorted(found, reverse=True)
    async with served(ScriptedModel(then="x"), {"runs": {"keep_seconds": 0}}) as gateway, gateway.http() as http:
        run_id = (await http.post("/chat", json={"input": "x"})).json()["run_id"]
        assert (await http.get(f"/runs/{run_id}")).status_code == 404


async def test_fifty_chats_at_the_same_time_keep_apart() -> None:
    async def echo(request: Any) -> list[Any]:
        await asyncio.sleep(0.01)
        said = request.messages[-1]["content"]
        return [f"{said} ", said]

    async with served(ScriptedModel(then=echo)) as gateway, gateway.http() as http:
        answers = await asyncio.gather(
            *(http.post("/chat", json={"input": f"n{number}"}, headers=SSE) for number in range(50))
        )
        assert gateway.gateway.runs.places.running == 0
    for number, answer in enumerate(answers):
        texts = [data["text"] for name, _, data in events_in(answer.text) if name == "text.delta"]
        assert set("".join(texts).split()) == {f"n{number}"}
    assert len({answer.headers["xmcp-run-id"] for answer in answers}) == 50


async def test_a_run_that_is_cancelled_before_its_first_step_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "CLEANUP_SECONDS", 3_600)
    ended: list[RunRecord] = []
    limits = RunLimits(deadline=30, first_event=30, idle=30, grace=30)
    asked = ChatRequest(surface="chat", model="m", query="hi")
    run = running.Run(new_run_id(), asked, Caller("k"), never_opened, limits, [], ended.append)
    run.start()
    run.cancel("caller")
    async with asyncio.timeout(30):
        await run.over()
    assert run.state.status == "cancelled"
    await asyncio.sleep(0)
    assert ended == [run]


async def test_whatever_fails_at_the_end_of_a_run_leaves_its_session_and_its_place_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with served(ScriptedModel(then="ok"), {"runs": {"keep_seconds": 0}}) as up, up.http() as http:

        def fails(*_: object) -> None:
            raise ValueError("of a test")

        with monkeypatch.context() as broken:
            broken.setattr(up.gateway.runs._rounds, "keep", fails)
            await http.post("/chat", json={"input": "hi", "session_id": "s"})
        assert (await http.post("/chat", json={"input": "hi", "session_id": "s"})).status_code == 200
        assert up.gateway.runs.places.running == 0
        await until(lambda: up.gateway.runs.get("", Caller("k")) is None and not up.gateway.runs._runs)


def never_opened(_: Caller) -> Any:
    raise AssertionError("opened")


def event(seq: int, kind: EventType, data: Mapping[str, Any]) -> RunEvent:
    return RunEvent("run", 1, seq, kind, data, encode_json(data))


_texts = st.builds(lambda step, text: {"step": step, "text": text}, st.integers(1, 3), st.text(max_size=600))
_told = st.one_of(
    st.tuples(st.sampled_from(sorted(TEXT)), _texts),
    st.tuples(st.sampled_from(["notice", "text.delta"]), st.dictionaries(st.text(max_size=5), st.integers())),
)


@given(st.lists(_told, max_size=70), st.integers(1, 40), st.integers(128, 9_000), st.integers(0, 80))
@example([("text.delta", {"step": 1, "text": "\ud800"})] * 60, 50, 2**20, 20)
def test_a_ring_has_the_newest_events_within_its_limits_and_says_what_is_missing(
    told: list[tuple[EventType, Mapping[str, Any]]], most: int, most_bytes: int, after: int
) -> None:
    events = [event(seq, kind, data) for seq, (kind, data) in enumerate(told, start=1)]
    ring = EventRing(most, most_bytes)
    for one in events:
        ring.append(one)
    kept = ring.after(ring.oldest - 1)
    assert kept is not None
    assert kept == events[ring.oldest - 1 :]
    assert ring.newest == len(events)
    assert ring.size == sum(one.size for one in kept)
    assert len(kept) <= most
    assert ring.size <= most_bytes or len(kept) == 1
    if len(kept) < len(events):  # no more was dropped than had to be
        assert len(kept) == most or ring.size + events[ring.oldest - 2].size > most_bytes
    found = ring.after(after)
    if after + 1 < ring.oldest:
        assert found is None
    else:
        assert found == events[after:]


def test_a_piece_of_text_that_is_kept_takes_little_memory_beside_the_text_itself() -> None:
    texts = [f"<{number}> of piece " for number in range(1_000)]
    ring = EventRing()
    tracemalloc.start()
    try:
        for seq, text in enumerate(texts, start=1):
            ring.append(event(seq, "text.delta", {"step": 1, "text": text}))
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken / len(texts) < 150


def test_an_event_that_is_kept_takes_little_more_memory_than_its_bytes() -> None:
    ring = EventRing()
    data = {"step": 1, "text": "x"}
    tracemalloc.start()
    try:
        for seq in range(1, 1001):
            ring.append(RunEvent("run", 1, seq, "text.delta", data, encode_json(data)))
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 3 * ring.size


def test_ids_of_runs_are_in_the_order_of_time_and_those_of_events_are_read_again() -> None:
    ids = [new_run_id() for _ in range(1_000)]
    assert len(set(ids)) == 1_000
    assert [one[4:16] for one in ids] == sorted(one[4:16] for one in ids)
    assert {(one[16], one[20] in "89ab") for one in ids} == {("7", True)}
    assert place_of(f"{ids[0]}:1:42") == (ids[0], 1, 42)
    for wrong in ("", ids[0], f"{ids[0]}:1", f"{ids[0]}:1:x", f"{ids[0]}:1:42\n", f"{ids[0]}:1:1234567890"):
        assert place_of(wrong) is None
