"""`/conversations`: what the store has of a tenant's own chats, a page at a time, in time, and off the loop."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from support.audited_runs import one
from support.gateways import served, until
from support.recorded_gateways import TENANTS, ask, hashed, recorded
from support.scripted_model import ScriptedModel, asks

from xmcp.gateway.audit import AuditLog, archive
from xmcp.gateway.audit.archive import Archive
from xmcp.gateway.audit.database import address_of
from xmcp.gateway.audit.errors import AuditError
from xmcp.gateway.audit.reading import reading
from xmcp.gateway.http import conversation_routes
from xmcp.gateway.runs.admission import Overloaded


async def pages(http: httpx2.AsyncClient, path: str, member: str, limit: int, **headers: str) -> list[list[Any]]:
    """Return all pages of a list."""
    found, params = [], {"limit": str(limit)}
    while True:
        page = (await http.get(path, params=params, headers=headers)).json()
        found.append(page[member])
        if page["next"] is None:
            return found
        params["cursor"] = page["next"]


async def test_conversations_are_listed_shown_and_replayed_a_page_at_a_time(database: str) -> None:
    model = ScriptedModel(asks(("add", {"a": 1, "b": 2})), "It is 3.", then="ok")
    async with recorded(model, database) as up, up.http() as http:
        for number in range(5):
            await ask(up, f"question {number}", "s" if number < 3 else f"s-{number}")
        await until(lambda: one(database, "SELECT count(*) FROM runs WHERE finished_at IS NOT NULL") == 5)
        listed = await pages(http, "/conversations", "conversations", 2)
        (name,) = [found["id"] for page in listed for found in page if found["session"] == "s"]
        runs = await pages(http, f"/conversations/{name}", "runs", 2)
        shown = (await http.get(f"/conversations/{name}")).json()
        session = (await http.get("/sessions/s")).json()
        replayed = await pages(http, f"/conversations/{name}/replay", "model_calls", 3)
    assert [[found["session"] for found in page] for page in listed] == [["s-4", "s-3"], ["s"]]
    assert listed[1][0]["run_count"] == 3
    assert [[run["status"] for run in page] for page in runs] == [["finished"] * 2, ["finished"]]
    assert shown["messages"] == session["messages"]
    assert "api_key" not in str(shown)
    # Put together again, the pages are what each model call received.
    before: list[Any] = []
    received = []
    for call in (call for page in replayed for call in page):
        before = [*before[: call["same_messages"]], *call["messages"]]
        received.append(before)
    assert received == [[dict(message) for message in request.messages] for request in model.requests[:4]]
    assert sum(len(call["messages"]) for page in replayed for call in page) == len(received[-1])
    assert ["tools" in call for page in replayed for call in page] == [True, False, False, False]


async def test_a_page_of_a_replay_has_so_many_bytes_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation_routes, "REPLAY_BYTES", 30_000)
    async with recorded(ScriptedModel(then="ok"), tmp_path / "a.db") as up, up.http() as http:
        for _ in range(5):
            await ask(up, "x" * 20_000)
        await up.gateway.observers[0].flush()
        name = (await http.get("/conversations")).json()["conversations"][0]["id"]
        replayed = await pages(http, f"/conversations/{name}/replay", "model_calls", 50)
    assert [len(page) for page in replayed] == [2, 2, 1]


async def test_a_tenant_sees_and_deletes_only_its_own(database: str) -> None:
    async with recorded(ScriptedModel(then="ok"), database, TENANTS) as up, up.http() as http:
        a, b = ({"authorization": f"Bearer {tenant}"} for tenant in ("a", "b"))
        await ask(up, "secret of a", **a)
        await ask(up, "of b", "t", **b)
        await up.gateway.observers[0].flush()
        (mine,) = (await http.get("/conversations", headers=a)).json()["conversations"]
        (others,) = (await http.get("/conversations", headers=b)).json()["conversations"]
        path = f"/conversations/{mine['id']}"
        for answer in (
            await http.get(path, headers=b),
            await http.get(f"{path}/replay", headers=b),
            await http.delete(path, headers=b),
            await http.get("/conversations/s", headers=a),
            await http.get("/conversations/..%2F..%2Fx", headers=a),
            await http.get(f"/conversations/{'x' * 5000}", headers=a),
            await http.get("/conversations/%00", headers=a),
        ):
            assert answer.status_code == 404
            assert "secret" not in answer.text
        assert others["session"] == "t"
        assert (await http.delete(path, headers=a)).status_code == 204
        assert (await http.get(path, headers=a)).status_code == 404
        assert (await http.get("/sessions/s", headers=a)).status_code == 404
        assert (await ask(up, "hi", **a)).headers["xmcp-history"] == "new"
    assert one(database, "SELECT count(*) FROM runs") == 2


async def test_a_key_that_only_reads_deletes_no_conversation(database: str) -> None:
    reader = {"name": "reader", "tenant": "a", "hash": hashed("reader"), "scopes": ["read"]}
    async with (
        recorded(ScriptedModel(then="ok"), database, {"keys": [*TENANTS["keys"], reader]}) as up,
        up.http() as http,
    ):
        await ask(up, "hi", authorization="Bearer a")
        await up.gateway.observers[0].flush()
        headers = {"authorization": "Bearer reader"}
        (found,) = (await http.get("/conversations", headers=headers)).json()["conversations"]
        refused = await http.delete(f"/conversations/{found['id']}", headers=headers)
        kept = await http.get(f"/conversations/{found['id']}", headers=headers)
    assert (refused.status_code, refused.json()["error"]["param"]) == (403, "chat")
    assert kept.status_code == 200


async def test_a_conversation_of_which_a_run_goes_on_is_not_deleted(database: str) -> None:
    async with recorded(ScriptedModel(asks("wait")), database) as up, up.http() as http:
        body = {"model": "assistant", "messages": [{"role": "user", "content": "hold"}]}
        running = asyncio.create_task(http.post("/v1/chat/completions", json=body))
        await until(lambda: up.shop.calls)
        await up.gateway.observers[0].flush()
        (found,) = (await http.get("/conversations")).json()["conversations"]
        busy = await http.delete(f"/conversations/{found['id']}")
        up.gateway.runs.running[0].cancel("caller")
        await running
        assert (await http.delete(f"/conversations/{found['id']}")).status_code == 204
    assert (busy.status_code, busy.json()["error"]["code"]) == (409, "conversation_busy")


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=201", "limit=x", "limit=-1", "limit=٣"]
    + [f"cursor={cursor}" for cursor in ("x", "e30=", "WzFd", "W10=", "x" * 500, "WzFlOTksImEiXQ==", "Wy0xLCJhIl0=")],
)
async def test_a_page_that_there_cannot_be_is_refused(query: str, tmp_path: Path) -> None:
    async with recorded(ScriptedModel(then="ok"), tmp_path / "a.db") as up, up.http() as http:
        for path in ("/conversations", "/conversations/x", "/conversations/x/replay"):
            answer = await http.get(f"{path}?{query}")
            assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")


@pytest.mark.parametrize("name", ["\0", "\ud800", "🙂", "' OR 1=1 --", "x" * 100])
async def test_a_cursor_with_a_name_of_any_kind_is_only_a_place(name: str, database: str) -> None:
    async with recorded(ScriptedModel(then="ok"), database) as up, up.http() as http:
        await ask(up, "hi")
        await up.gateway.observers[0].flush()
        (found,) = (await http.get("/conversations")).json()["conversations"]
        for path, place in (
            ("", [2**61, name]),
            (f"/{found['id']}", [1, name]),
            (f"/{found['id']}/replay", [name, 1, 1]),
        ):
            cursor = base64.urlsafe_b64encode(json.dumps(place).encode()).decode()
            answer = await http.get(f"/conversations{path}", params={"cursor": cursor})
            assert answer.status_code == 200


async def test_a_gateway_without_a_database_says_so() -> None:
    async with served(ScriptedModel(then="ok")) as up, up.http() as http:
        for method, path in (("GET", ""), ("GET", "/x"), ("GET", "/x/replay"), ("DELETE", "/x")):
            answer = await http.request(method, f"/conversations{path}")
            assert (answer.status_code, answer.json()["error"]["code"]) == (501, "audit_not_configured")


async def test_what_takes_too_long_ends_and_a_tenant_takes_no_place_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await AuditLog.open(tmp_path / "a.db")
    monkeypatch.setattr(archive, "WAIT_SECONDS", 0.2)
    monkeypatch.setattr(archive, "GIVE_UP_SECONDS", 0.3)
    go_on, held = threading.Event(), threading.Semaphore(0)
    store = Archive(log)

    def hold(_: Any) -> None:
        held.release()
        go_on.wait(30)

    waiting = [asyncio.create_task(store._read("a", hold)) for _ in range(2)]
    await until(lambda: held._value == 2)
    with pytest.raises(Overloaded):
        await store.conversations("a", 1, None)
    assert await store.conversations("b", 1, None) == []
    assert [type(error) for error in await asyncio.gather(*waiting, return_exceptions=True)] == [AuditError] * 2
    with pytest.raises(Overloaded):  # their threads are still busy, so their places are taken
        await store.conversations("a", 1, None)
    go_on.set()
    await until(lambda: store._places.running == 0)
    assert await store.conversations("a", 1, None) == []
    await store.aclose()
    with pytest.raises(AuditError, match="closed"):
        await store.conversations("a", 1, None)
    await log.aclose()


def test_a_statement_that_never_ends_is_ended(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlalchemy import text

    from xmcp.gateway.audit.schema import migrate

    address = address_of(database)
    migrate(address)
    begun = time.monotonic()
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i % 1000 + 1 FROM n) SELECT max(i) FROM n"
    with pytest.raises(AuditError), reading(address, 0.3) as connection:
        connection.execute(text(endless)).all()
    assert time.monotonic() - begun < 20


async def test_a_server_that_stops_answering_does_not_hold_a_thread(postgres_server: Any) -> None:
    from sqlalchemy import text

    from xmcp.gateway.audit.schema import migrate

    address = address_of(postgres_server.url)
    migrate(address)

    def stuck() -> None:
        with reading(address, 0.5) as connection:
            postgres_server.freeze()
            connection.execute(text("SELECT count(*) FROM runs")).all()

    try:
        async with asyncio.timeout(30):
            with pytest.raises(AuditError):
                await asyncio.to_thread(stuck)
    finally:
        postgres_server.resume()
