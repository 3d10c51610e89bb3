"""Which ended runs are kept, and whose are given up first."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from support.gateways import served
from support.recorded_gateways import recorded
from support.scripted_model import ScriptedModel, asks

from xmcp.gateway.http import routes
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


@pytest.mark.parametrize("path", ["/sessions/s", "/conversations/{}"])
async def test_what_was_forgotten_is_shown_by_no_run_and_no_mark(path: str, tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "ask_page", "parameters": {"type": "object"}}}
    asked = {"input": "my secret", "session_id": "s", "client_tools": [tool]}
    model = ScriptedModel("it is safe", asks(("add", {"a": 1, "b": 2}), "ask_page"), then="new")
    async with recorded(model, tmp_path / "audit.db") as up, up.http() as http:
        key = {"idempotency-key": "k"}
        first = await http.post("/chat", json=asked, headers=key)
        await http.post("/chat", json={**asked, "input": "another"})
        other = await http.post("/chat", json={"input": "hi", "session_id": "t"})
        if "{}" in path:
            up.gateway.memory.sessions.drop((None, "s"))  # it is in the archive alone
        assert len(up.gateway.runs._rounds._rounds) == 1
        conversation = up.gateway.archive.conversation_of(None, "s")
        assert (await http.delete(path.format(conversation))).status_code == 204
        assert (await http.get(f"/runs/{first.json()['run_id']}")).status_code == 404
        assert (await http.get(f"/runs/{other.json()['run_id']}")).status_code == 200
        again = await http.post("/chat", json=asked, headers=key)
        assert (again.json()["answer"], again.headers["xmcp-history"]) == ("new", "new")
        assert up.gateway.runs._rounds._rounds == {}


async def test_a_run_without_a_session_is_forgotten_with_its_conversation(tmp_path: Path) -> None:
    async with recorded(ScriptedModel(then="ok"), tmp_path / "audit.db") as up, up.http() as http:
        run = (await http.post("/chat", json={"input": "hi"})).json()["run_id"]
        assert (await http.delete(f"/conversations/{run}")).status_code == 204
        assert (await http.get(f"/runs/{run}")).status_code == 404


async def test_a_large_run_is_written_in_a_thread_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []
    encode = routes.encode_json

    def noted(value: object) -> bytes:
        threads.append(threading.current_thread())
        return encode(value)

    monkeypatch.setattr(routes, "encode_json", noted)
    async with served(ScriptedModel("x" * 1_000_000)) as up, up.http() as http:
        run = (await http.post("/chat", json={"input": "hi"})).json()["run_id"]
        for ask in (http.get(f"/runs/{run}"), http.post(f"/runs/{run}/cancel")):
            assert (await ask).json()["answer"] == "x" * 1_000_000
    assert len(threads) == 2
    assert threading.main_thread() not in threads


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
