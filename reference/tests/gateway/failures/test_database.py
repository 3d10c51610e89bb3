"""The database is down: locked, stopped, cut off, or it does not answer. Chats go on, and nothing of them is lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.audited_runs import rows
from support.chat_script import ToldModel, call
from support.gateways import eventually
from support.issued_keys import add_key, add_tenant, bearer, key_database
from support.lost_records import Recorded, Seen, lost, until_recorded
from support.outages import Outage

pytestmark = pytest.mark.slow

CHATS = 4


async def test_chats_go_on_for_known_keys_while_the_database_is_down_and_none_of_their_records_is_lost(
    outage: Outage, start: Any, model: ToldModel, record_property: Any
) -> None:
    keys = await asyncio.to_thread(key_database, outage.direct)
    await asyncio.to_thread(add_tenant, keys, "acme")
    known, unknown = [await asyncio.to_thread(add_key, keys, "acme", name) for name in ("known", "unknown")]
    seen: list[Seen] = []
    tables = {"audit": {"outbox": True, "required": True}, "access": {"database": outage.url}}
    async with (
        start(outage.url, **tables) as gateway,
        gateway.http(**bearer(known)) as http,
        gateway.http(**bearer(unknown)) as stranger,
    ):

        async def chat(words: str) -> str:
            answer = await http.post("/chat", json={"input": words})
            assert answer.status_code == 200, answer.text
            seen.append(Seen.of(answer.json()))
            return seen[-1].answer

        async def chats(when: str) -> None:
            for number in range(CHATS):
                assert await chat(f"{when} {number}") == f"you said: {when} {number}"
            assert ">seen<" in await chat(call("look"))

        async def let_in() -> bool:
            return (await stranger.get("/tools")).status_code == 200

        await chats("before")
        begun = asyncio.create_task(chat("wait for the outage"))
        await gateway.until(1, "xmcp_runs_in_flight", "running")

        await asyncio.to_thread(outage.begin)
        model.go_on.set()
        await begun
        await chats("during")
        told = await chat(call("add", a=1, b=2))
        assert "its record could not be stored" in told, "a tool that may change something is not called"
        refused = await stranger.post("/chat", json={"input": "hello"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "auth_unavailable")
        assert int(refused.headers["retry-after"]) >= 1
        await gateway.until(0, "xmcp_backend_up", "audit")
        health = (await http.get("/health")).json()
        assert (health["status"], health["backends"]) == ("degraded", {"audit": "down", "access": "down"})
        ready = await http.get("/readyz")
        assert (ready.status_code, ready.json()) == (503, {"status": "audit_down"}), "as [audit] required says"
        waiting = await gateway.metric("xmcp_audit_spilled_bytes")
        assert waiting is not None
        assert waiting > 0

        await asyncio.to_thread(outage.end)
        await gateway.until(1, "xmcp_backend_up", "audit")
        await gateway.until(0, "xmcp_audit_spilled_bytes")
        await eventually(let_in)
        await chats("after")
        assert ">3<" in await chat(call("add", a=1, b=2))
        health = (await http.get("/health")).json()
        assert (health["status"], health["audit"]["status"]) == ("ok", "ok")
        assert await gateway.terminate() == 0

    missing = lost(outage.direct, seen)
    record_property("chats", len(seen))
    record_property("chats whose record lacks something", len(missing))
    assert missing == {}
    assert rows(outage.direct, "SELECT dropped, reason FROM writer_gaps") == []
    assert Recorded(outage.direct).runs.keys() == {chat.run_id for chat in seen}
    assert len(model.server.requests) == sum(chat.requests for chat in seen), "nothing ran twice"


@pytest.mark.parametrize("outage", ["sqlite locked", "postgresql cut"], indirect=True)
async def test_a_process_that_is_killed_while_the_database_is_down_leaves_its_records_to_the_next(
    outage: Outage, start: Any, record_property: Any
) -> None:
    seen: list[Seen] = []
    async with start(outage.url) as gateway, gateway.http() as http:
        await asyncio.to_thread(outage.begin)
        answers = [await http.post("/chat", json={"input": f"{number}"}) for number in range(CHATS)]
        seen += [Seen.of(answer.json()) for answer in answers]
        await gateway.until(0, "xmcp_backend_up", "audit")
        await gateway.until(0, "xmcp_audit_queue_records")
        assert (await http.get("/readyz")).status_code == 200, "by default, chats are served all the same"
        seen.append(Seen.of((await http.post("/chat", json={"input": "last"})).json()))
        await gateway.kill()
    await asyncio.to_thread(outage.end)
    async with start(outage.url) as gateway:
        await until_recorded(outage.direct, seen[:-1])
        assert await gateway.terminate() == 0
    missing = lost(outage.direct, seen)
    record_property("chats whose record lacks something", len(missing))
    assert missing.keys() <= {seen[-1].run_id}, "only what was written last can be lost"
