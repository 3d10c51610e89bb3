"""Callers who repeat, crowd, forge and nest: none of them takes a place, a queue or a tool call from others."""

from __future__ import annotations

import asyncio
import hashlib
import json

import httpx2
from support.gateways import served, until
from support.scripted_model import ScriptedModel, asks

from xmcp.gateway.http.bodies import MAX_DEPTH
from xmcp.gateway.http.chats import MAX_READERS


async def test_a_key_that_is_used_again_while_its_request_waits_takes_no_place() -> None:
    limits = {"runs": {"max_running": 2, "max_running_per_tenant": 2, "max_waiting": 6, "wait_seconds": 5}}
    model = ScriptedModel(asks("wait"), asks("wait"), then="ok")
    async with served(model, limits) as up, up.http() as http:
        running = [asyncio.create_task(http.post("/chat", json={"input": f"hold {n}"})) for n in range(2)]
        await until(lambda: len(up.shop.calls) == 2)
        headers = {"Idempotency-Key": "k"}
        waiting = [
            asyncio.create_task(http.post("/chat", json={"input": f"wait {n}"}, headers=headers)) for n in range(3)
        ]
        await until(lambda: up.gateway.runs.places.waiting == 3)
        for run in up.gateway.runs.running:
            run.cancel("caller")
        answers = await asyncio.gather(*running, *waiting)
        assert sorted(answer.status_code for answer in answers[2:]) == [200, 409, 409]
        assert up.gateway.runs.places.running == 0
        assert (await http.post("/chat", json={"input": "new"})).status_code == 200


async def test_a_retry_of_a_chat_that_was_cancelled_after_a_tool_calls_no_tool_again() -> None:
    model = ScriptedModel(asks(("add", {"a": 1, "b": 2})), asks("wait"), then="again")
    async with served(model, {"runs": {"client_gone_seconds": 0.1}}) as up:
        asked, headers = {"input": "pay"}, {"Idempotency-Key": "pay-1"}
        async with up.http() as http:
            task = asyncio.create_task(http.post("/chat", json=asked, headers=headers))
            await until(lambda: "wait" in up.shop.calls)
            task.cancel()
        await until(lambda: not up.gateway.runs.running)
        async with up.http() as http:
            answer = await http.post("/chat", json=asked, headers={**headers, "x-stainless-retry-count": "1"})
        assert answer.headers["xmcp-replayed"] == "true"
        assert answer.status_code >= 400
        assert up.shop.calls == ["add", "wait"]


async def test_who_repeats_a_request_again_and_again_is_a_crowd() -> None:
    async with served(ScriptedModel(asks("wait"), then="ok")) as up, up.http() as http:
        headers = {"Idempotency-Key": "k"}
        first = asyncio.create_task(http.post("/chat", json={"input": "x"}, headers=headers))
        await until(lambda: up.shop.calls)
        run = up.gateway.runs.running[0]
        readers = [run.read(0) for _ in range(MAX_READERS)]
        answer = await http.post("/chat", json={"input": "x"}, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (429, "too_many_readers")
        for reader in readers:
            reader.close()
        run.cancel("caller")
        await first


async def test_no_tenant_takes_more_than_half_of_the_queue() -> None:
    def hashed(key: str) -> str:
        return f"sha256:{hashlib.sha256(key.encode()).hexdigest()}"

    config = {
        "runs": {"max_running": 1, "max_running_per_tenant": 1, "max_waiting": 4, "wait_seconds": 5},
        "keys": [{"name": name, "tenant": name, "hash": hashed(name)} for name in ("a", "b")],
    }
    async with served(ScriptedModel(asks("wait"), then="ok"), config) as up, up.http() as http:

        def ask(key: str, number: int) -> asyncio.Task[object]:
            headers = {"Authorization": f"Bearer {key}"}
            return asyncio.create_task(http.post("/chat", json={"input": f"{number}"}, headers=headers))

        running = ask("a", 0)
        await until(lambda: up.shop.calls)
        waiting = [ask("a", 1), ask("a", 2)]
        await until(lambda: up.gateway.runs.places.waiting == 2)
        assert (await ask("a", 3)).status_code == 429
        others = ask("b", 4)
        await until(lambda: up.gateway.runs.places.waiting == 3)
        up.gateway.runs.running[0].cancel("caller")
        answers = await asyncio.gather(running, *waiting, others)
        assert [answer.status_code for answer in answers[1:]] == [200, 200, 200]


async def test_a_body_that_is_nested_too_deep_is_refused_and_not_logged(caplog) -> None:
    deep = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    body = '{"messages": [{"role": "user", "content": "hi", "x": ' + deep + "}]}"
    async with served(ScriptedModel(then="ok")) as up, up.http() as http:
        answer = await http.post("/chat", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_json")
    assert str(MAX_DEPTH) in answer.json()["error"]["message"]
    assert "Traceback" not in caplog.text


async def test_the_name_of_an_unknown_member_comes_back_cut() -> None:
    async with served(ScriptedModel(then="ok")) as up, up.http() as http:
        answer = await http.post("/chat", json={"y" * 100_000: 1, "input": "hi"})
    assert answer.status_code == 400
    assert len(answer.content) < 1_000


async def test_what_a_caller_says_of_its_address_does_not_cut_another_connection() -> None:
    async with served(ScriptedModel(then="ok")) as up:
        assert not up.server.config.proxy_headers


async def test_bodies_that_arrive_slowly_are_bounded_together_and_leave_room_for_other_tenants() -> None:
    def hashed(key: str) -> str:
        return f"sha256:{hashlib.sha256(key.encode()).hexdigest()}"

    config = {
        "listen": {"max_body_bytes": 10_000, "max_reading_bytes": 1_024},  # twice the first, so that one fits
        "keys": [{"name": name, "tenant": name, "hash": hashed(name)} for name in ("a", "b")],
    }
    async with served(ScriptedModel(then="ok"), config) as up, up.http() as http:
        arriving, release = up.server._app.state.arriving, asyncio.Event()
        body = json.dumps({"input": "x" * 5_980}).encode()

        async def slowly():
            yield body[:-1]
            await release.wait()
            yield body[-1:]

        def ask(key: str, content: object) -> asyncio.Task[httpx2.Response]:
            headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
            return asyncio.create_task(http.post("/chat", content=content, headers=headers))

        slow = ask("a", slowly())
        await until(lambda: arriving.bytes == len(body) - 1)
        refused, other = await ask("a", body), await ask("b", body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "overloaded")
        assert refused.headers["retry-after"] == "1"
        assert other.status_code == 200
        release.set()
        assert (await slow).status_code == 200
        assert (await ask("a", body)).status_code == 200
        release.clear()
        leaving = ask("a", slowly())
        await until(lambda: arriving.bytes)
        leaving.cancel()
        await until(lambda: not arriving.bytes)


async def test_the_tools_are_listed_at_most_every_few_seconds(monkeypatch) -> None:
    listed = []
    async with served(ScriptedModel(then="ok")) as up, up.http() as http:
        refresh = up.gateway.ai.refresh_tools

        async def counted():
            listed.append(1)
            return await refresh()

        monkeypatch.setattr(up.gateway.ai, "refresh_tools", counted)
        answers = [await http.post("/tools/refresh", json={}) for _ in range(3)]
    assert {answer.status_code for answer in answers} == {200}
    assert len(listed) == 1
    assert json.loads(answers[0].content) == json.loads(answers[2].content)
