"""Sessions that are not in memory any more go on from the audit store, after a restart and after an eviction."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from support.audited_runs import one, rows
from support.gateways import served, until
from support.recorded_gateways import TENANTS, ask, recorded
from support.scripted_model import ScriptedModel, asks

from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.messages import problem
from xmcp.gateway.audit import AuditLog, AuditMiddleware, archive, upkeep
from xmcp.gateway.audit.archive import Archive
from xmcp.gateway.audit.database import address_of
from xmcp.gateway.audit.drivers import driver_for
from xmcp.gateway.audit.errors import AuditError
from xmcp.gateway.runs.record import LEFT_OUT


def contents(model: ScriptedModel) -> list[Any]:
    """Return role and content of what a model received last."""
    return [(message["role"], message["content"]) for message in model.requests[-1].messages]


@pytest.mark.parametrize("display", ["exit", "continue"])
async def test_a_session_goes_on_after_a_restart_byte_for_byte(database: str, display: str) -> None:
    show = asks(("sales", {"region": "EMEA", "show_user": True}), text="Ünter \u2028")
    model = ScriptedModel(asks(("add", {"a": 1, "b": 2})), "It is 3.", show, then="ok")
    async with recorded(model, database, display=display) as up:
        await ask(up, "1 + 2?")
        await ask(up, "show")
        async with up.http() as http:
            before = (await http.get("/sessions/s")).json()["messages"]
    model = ScriptedModel(then="again")
    async with recorded(model, database) as up:
        async with up.http() as http:
            assert (await http.get("/sessions")).json()["sessions"] == []
            assert (await http.get("/sessions/s")).json()["messages"] == before
        answer = await ask(up, "and?")
    assert answer.headers["xmcp-history"] == "remembered"
    sent = [dict(message) for message in model.requests[0].messages]
    assert sent == [*before, {"role": "user", "content": "and?"}]
    assert sum(message["role"] == "tool" for message in sent) == 2


async def test_a_restored_session_has_no_turn_that_waits_for_its_client(database: str) -> None:
    tool = {"type": "function", "function": {"name": "ask_page", "parameters": {"type": "object"}}}
    async with recorded(ScriptedModel("hello", asks("ask_page")), database) as up, up.http() as http:
        await ask(up, "hi")
        body = {"input": "which colour?", "session_id": "s", "client_tools": [tool]}
        assert (await http.post("/chat", json=body)).json()["stop_reason"] == "tool_calls"
    model = ScriptedModel(then="ok")
    async with recorded(model, database) as up:
        assert (await ask(up, "never mind")).status_code == 200
    assert contents(model) == [("user", "hi"), ("assistant", "hello"), ("user", "never mind")]


async def test_a_restored_session_has_no_turn_that_the_vendor_refused(database: str) -> None:
    refusal = ProviderError("no", category=ErrorCategory.CONTENT, provider="p", status=400)
    async with recorded(ScriptedModel("hello", refusal, asks(("add", {"a": 1, "b": 2})), refusal), database) as up:
        await ask(up, "hi")
        assert (await ask(up, "poison")).status_code == 400
        assert (await ask(up, "pay", "other")).status_code == 400
    model = ScriptedModel(then="ok")
    async with recorded(model, database) as up:
        await ask(up, "go on")
        assert contents(model) == [("user", "hi"), ("assistant", "hello"), ("user", "go on")]
        await ask(up, "go on", "other")
    assert contents(model) == [("user", "pay"), ("assistant", None), ("tool", LEFT_OUT), ("user", "go on")]


async def test_a_restored_session_has_the_window_of_the_gateway(database: str) -> None:
    async with recorded(ScriptedModel(*(f"answer {n}" for n in range(4))), database) as up:
        for number in range(4):
            await ask(up, f"question {number}")
    model = ScriptedModel(then="ok")
    async with recorded(model, database, {"sessions": {"max_messages": 4}}) as up:
        await ask(up, "new")
    assert [content for _, content in contents(model)] == ["question 2", "answer 2", "question 3", "answer 3", "new"]


async def test_no_tenant_gets_the_stored_session_of_another(database: str) -> None:
    async with recorded(ScriptedModel(then="ok"), database, TENANTS) as up:
        await ask(up, "secret of a", authorization="Bearer a")
    model = ScriptedModel(then="ok")
    async with recorded(model, database, TENANTS) as up, up.http() as http:
        assert (await ask(up, "hi", authorization="Bearer b")).headers["xmcp-history"] == "new"
        as_b = {"authorization": "Bearer b"}
        assert "secret of a" not in (await http.get("/sessions/s", headers=as_b)).text
        assert (await http.delete("/sessions/s", headers=as_b)).status_code == 204
        assert (await http.delete("/sessions/s", headers=as_b)).status_code == 404
        assert (await ask(up, "hm", authorization="Bearer a")).headers["xmcp-history"] == "remembered"
    assert contents(model)[0] == ("user", "secret of a")


async def test_a_session_that_is_deleted_is_gone_from_the_store_and_can_begin_again(database: str) -> None:
    model = ScriptedModel(asks(("add", {"a": 1, "b": 2})), then="ok")
    async with recorded(model, database) as up, up.http() as http:
        for _ in range(3):
            await ask(up, "words to forget")
        await ask(up, "other", "t")
        assert (await http.delete("/sessions/s")).status_code == 204
        assert (await http.get("/sessions/s")).status_code == 404
        left = [one(database, f"SELECT count(*) FROM {table}") for table in ("runs", "conversations", "usage")]
        assert left == [1, 1, 1]
        for table in ("contents", "events", "model_requests"):
            assert "forget" not in str(rows(database, f"SELECT * FROM {table}"))
        # The writer does not take messages for written that are deleted.
        assert (await ask(up, "words to forget")).headers["xmcp-history"] == "new"
    model = ScriptedModel(then="ok")
    async with recorded(model, database) as up:
        assert (await ask(up, "more")).headers["xmcp-history"] == "remembered"
    assert contents(model)[0] == ("user", "words to forget")


async def test_a_run_that_was_killed_leaves_what_its_model_last_read(database: str) -> None:
    log = await AuditLog.open(database)
    model = ScriptedModel("one", asks(("add", {"a": 1, "b": 2})), asks("wait"))
    hooks = [AuditMiddleware(log)]
    async with served(model, observer=log, archive=Archive(log), middleware=hooks) as up:
        await ask(up, "first")
        running = asyncio.create_task(ask(up, "second"))
        await until(lambda: "wait" in up.shop.calls)
        await log.flush()
        log._writer.close(5)  # nothing is recorded from here on
        up.gateway.runs.running[0].cancel("caller")
        await running
    model = ScriptedModel(then="ok")
    async with recorded(model, database) as up:
        await ask(up, "third")
    read = model.requests[0].messages
    assert problem(read) is None
    assert [message["role"] for message in read] == ["user", "assistant", "user", "assistant", "tool", "user"]


async def test_what_a_session_goes_on_from_is_not_deleted_with_its_older_runs(database: str) -> None:
    async with recorded(ScriptedModel(then="ok"), database) as up:
        for words in ("one", "two", "three"):
            await ask(up, words)
    driver = driver_for(address_of(database))
    driver.connect()
    with driver.transaction() as run:
        run("UPDATE runs SET started_at = 1 WHERE id <> (SELECT max(id) FROM runs)", [])
        upkeep.delete_older_than(run, 1_000, locks=False)
    driver.close()
    assert one(database, "SELECT count(*) FROM runs") == 1
    async with recorded(model := ScriptedModel(then="ok"), database) as up:
        await ask(up, "four")
    assert [content for _, content in contents(model)] == ["one", "ok", "two", "ok", "three", "ok", "four"]


async def test_a_front_end_gets_back_what_it_does_not_show_after_a_restart(database: str) -> None:
    body: dict[str, Any] = {"model": "assistant", "messages": [{"role": "user", "content": "1 + 2?"}]}
    chat = {"x-openwebui-chat-id": "c"}
    model = ScriptedModel(asks(("add", {"a": 1, "b": 2})), "It is 3.", then="A title")
    async with recorded(model, database) as up, up.http() as http:
        await http.post("/v1/chat/completions", json=body, headers=chat)
        title = {**body, "messages": [{"role": "user", "content": "Write a title."}]}
        await http.post("/v1/chat/completions", json=title, headers=chat)
    body["messages"] += [{"role": "assistant", "content": "It is 3."}, {"role": "user", "content": "sure?"}]
    model = ScriptedModel(then="ok")
    async with recorded(model, database) as up, up.http() as http:
        answer = await http.post("/v1/chat/completions", json=body, headers=chat)
    assert answer.headers["xmcp-history"] == "remembered"
    assert [role for role, _ in contents(model)] == ["user", "assistant", "tool", "assistant", "user"]


async def test_a_chat_goes_on_and_says_so_where_the_store_cannot_be_read_and_does_not_try_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[int] = []

    def down(*_: Any) -> Any:
        opened.append(1)
        raise AuditError("postgresql://10.0.0.7/db cannot be used")

    model = ScriptedModel(then="ok")
    async with recorded(model, tmp_path / "a.db") as up, up.http() as http:
        monkeypatch.setattr(archive, "reading", down)
        first, second = await ask(up, "one", "s"), await ask(up, "one", "t")
        shown, gone = await http.get("/sessions/u"), await http.delete("/sessions/s")
        again = await ask(up, "two", "s")
    assert [answer.headers["xmcp-history"] for answer in (first, second)] == ["unavailable", "unavailable"]
    assert again.headers["xmcp-history"] == "remembered"
    assert len(opened) == 1
    for refused in (shown, gone):
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "audit_unavailable")
        assert "10.0.0.7" not in refused.text


async def test_a_session_that_waits_too_long_for_the_store_is_told_that_it_is_the_store(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "READERS_PER_TENANT", 0)
    monkeypatch.setattr(archive, "WAITING", 0)
    async with recorded(ScriptedModel(then="ok"), database) as up:
        answer = await ask(up, "hi")
    assert answer.status_code == 429
    assert answer.json()["error"]["message"].startswith("Too many requests read the audit store.")
