"""Which ended runs are kept, and whose are given up first."""

from __future__ import annotations

import json

import pytest
from support.gateways import served
from support.scripted_model import ScriptedModel, asks

from xmcp.gateway.runs import kept
from xmcp.gateway.runs.kept import Keeping, Kept


def test_a_run_is_kept_for_its_time() -> None:
    runs = Kept[str](Keeping(10, 1_000))
    runs.add("a", "t", 1, 100)
    assert (runs.used_ago("a", 104), runs.used_ago("b", 104)) == (4, None)
    assert [*runs.forget(110)] == []
    assert [*runs.forget(110.1)] == ["a"]
    assert runs.used_ago("a", 111) is None


def test_the_tenant_that_keeps_most_loses_its_oldest() -> None:
    runs = Kept[str](Keeping(1_000, 100))
    runs.add("small", "a", 10, 0)
    for number in range(12):
        runs.add(f"large {number}", "b", 20, number)
    assert [*runs.forget(12)] == [f"large {number}" for number in range(8)]
    assert runs.used_ago("small", 12) == 12


def test_one_run_that_is_too_large_is_not_kept() -> None:
    runs = Kept[str](Keeping(1_000, 100))
    runs.add("huge", "a", 101, 0)
    assert [*runs.forget(0)] == ["huge"]
    assert [*runs.forget(2_000)] == []


def test_not_too_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MAX_KEPT", 3)
    runs = Kept[str](Keeping(1_000, 1_000))
    for number in range(5):
        runs.add(str(number), None, 1, number)
    assert [*runs.forget(5)] == ["0", "1"]


def test_a_tenant_that_keeps_too_many_loses_its_oldest_and_nobody_else_does() -> None:
    runs = Kept[str](Keeping(1_000, 1_000, per_tenant=2))
    runs.add("other", "b", 1, 0)
    for number in range(5):
        runs.add(str(number), "a", 1, number)
    assert [*runs.forget(5)] == ["0", "1", "2"]
    assert runs.of("a") == ["4", "3"]
    assert runs.of("b") == ["other"]
    runs.remove("4")
    runs.add("4", "a", 1, 6)
    assert [*runs.forget(6)] == []
    assert (runs.of("a"), runs.of("nobody")) == (["4", "3"], [])


async def test_what_a_caller_sent_counts() -> None:
    body = {"messages": [{"role": "user", "content": "u" * 200_000}]}
    async with served(ScriptedModel(then="ok"), {"runs": {"keep_bytes": 300_000}}) as up, up.http() as http:
        answer = await http.post("/chat", content=json.dumps(body), headers={"content-type": "application/json"})
        assert (await http.get(f"/runs/{answer.json()['run_id']}")).status_code == 404
        small = await http.post("/chat", json={"input": "hi"})
        assert (await http.get(f"/runs/{small.json()['run_id']}")).status_code == 200


async def test_what_the_model_read_of_tools_counts() -> None:
    model = ScriptedModel(asks("long"), "ok")
    async with served(model, {"runs": {"keep_bytes": 100_000}}) as gateway, gateway.http() as http:

        @gateway.shop.mcp.tool
        def long() -> str:
            return "x" * 200_000

        await gateway.gateway.ai.refresh_tools()
        run = (await http.post("/chat", json={"input": "go"})).json()["run_id"]
        assert len(model.requests[1].messages[2]["content"]) > 200_000
        assert (await http.get(f"/runs/{run}")).status_code == 404
