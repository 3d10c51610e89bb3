"""What the gateway refuses, and how: keys, hosts, bodies, paths, methods, too many chats. No word of its insides."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import pytest
from support.clock import never
from support.gateways import Served, served, until
from support.scripted_model import ScriptedModel, asks

KEYS: dict[str, Any] = {
    "keys": [
        {"name": "a", "tenant": "acme", "hash": f"sha256:{hashlib.sha256(b'xmcp_a').hexdigest()}", "events": "xmcp"},
        {"name": "b", "tenant": "other", "env": "FRONT_END_KEY"},
    ]
}
A, B = {"authorization": "Bearer xmcp_a"}, {"authorization": "Bearer xmcp_front"}
JSON = {"content-type": "application/json"}


async def test_without_a_key_nothing_is_answered() -> None:
    wrong = ["", "Bearer", "Bearer xmcp_", "Bearer xmcp_aa", "Basic xmcp_a", "xmcp_a", f"Bearer {'x' * 10_000}"]
    paths = ["/chat", "/v1/models", "/runs/x", "/tools", "/health", "/nothing", "//livez", "/livez/"]
    async with served(ScriptedModel("hi"), KEYS) as gateway, gateway.http() as http:
        for path in paths:
            for headers in ({}, *({"authorization": one} for one in wrong)):
                answer = await http.get(path, headers=headers)
                assert answer.status_code == 401, (path, headers)
                assert answer.json()["error"]["type"] == "authentication_error"
                assert answer.headers["www-authenticate"] == "Bearer"


async def test_keys_of_the_file_and_of_the_environment_open_the_door_and_livez_needs_none() -> None:
    async with served(ScriptedModel("hi", then="hi"), KEYS) as gateway, gateway.http() as http:
        for headers in (A, B):
            assert (await http.post("/chat", json={"input": "hi"}, headers=headers)).status_code == 200
        assert (await http.get("/livez")).status_code == 200
        assert (await http.get("/readyz")).status_code == 200


async def test_a_tenant_sees_no_run_of_another() -> None:
    async with served(ScriptedModel("hi", then="ho"), KEYS) as gateway, gateway.http() as http:
        run_id = (await http.post("/chat", json={"input": "hi"}, headers=A)).json()["run_id"]
        for path, method in ((f"/runs/{run_id}", "GET"), (f"/runs/{run_id}/events", "GET")):
            assert (await http.request(method, path, headers=B)).status_code == 404
        assert (await http.post(f"/runs/{run_id}/cancel", headers=B)).status_code == 404
        assert (await http.get(f"/runs/{run_id}", headers=A)).status_code == 200
        same_key = {**A, "idempotency-key": "one"}, {**B, "idempotency-key": "one"}
        ids = [(await http.post("/chat", json={"input": "k"}, headers=h)).json()["run_id"] for h in same_key]
    assert ids[0] != ids[1]


async def test_without_keys_only_names_of_this_machine_are_answered() -> None:
    async with served(ScriptedModel("hi")) as gateway, gateway.http() as http:
        for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", ""):
            answer = await http.get("/v1/models", headers={"host": host})
            assert answer.status_code in (400, 421), host
        for host in ("localhost:1", "127.0.0.1", "[::1]:8080", "LOCALHOST"):
            assert (await http.get("/v1/models", headers={"host": host})).status_code == 200


@pytest.mark.parametrize(
    ("content", "headers", "status", "code"),
    [
        (b"{", JSON, 400, "invalid_json"),
        (b"[]", JSON, 400, "invalid_json"),
        (b"null", JSON, 400, "invalid_json"),
        (b"1", JSON, 400, "invalid_json"),
        (b'"hi"', JSON, 400, "invalid_json"),
        (b'{"input": NaN}', JSON, 400, "invalid_json"),
        (b'{"input": "\xff"}', JSON, 400, "invalid_json"),
        (b"[" * 5_000 + b"]" * 5_000, JSON, 400, "invalid_json"),
        (b'{"input": "hi"}', {"content-type": "text/plain"}, 415, "unsupported_media_type"),
        (b'{"input": "hi"}', {}, 415, "unsupported_media_type"),
        (b'{"input": "hi"}', {**JSON, "content-encoding": "gzip"}, 415, "unsupported_media_type"),
        (b'{"input": "' + b"x" * 2_000 + b'"}', JSON, 413, "request_too_large"),
    ],
)
async def test_a_body_that_cannot_be_read_is_refused(
    content: bytes, headers: dict[str, str], status: int, code: str
) -> None:
    model = ScriptedModel("hi")
    for path in ("/chat", "/v1/chat/completions"):
        async with served(model, {"listen": {"max_body_bytes": 1_024 * 10}}) as gateway, gateway.http() as http:
            sent = content if status != 413 else content * 6
            answer = await http.post(path, content=sent, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert model.requests == []


async def test_a_body_in_pieces_without_a_length_is_bounded_too() -> None:
    async def pieces() -> Any:
        for _ in range(1_000):
            yield b"x" * 10_000

    async with served(ScriptedModel("hi"), {"listen": {"max_body_bytes": 10_240}}) as gateway, gateway.http() as http:
        answer = await http.post("/chat", content=pieces(), headers=JSON)
    assert answer.status_code == 413


async def test_a_body_without_an_end_is_refused_long_before_its_time_is_over() -> None:
    async with served(ScriptedModel("hi"), {"listen": {"max_body_bytes": 10_240}}) as gateway:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(gateway.url.rpartition(":")[2]))
        head = "POST /chat HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked"
        writer.write(f"{head}\r\n\r\n".encode())

        async def send_for_ever() -> None:
            while True:
                writer.write(b"2710\r\n" + b"x" * 10_000 + b"\r\n")
                await writer.drain()
                await asyncio.sleep(0.001)

        sending = asyncio.create_task(send_for_ever())
        async with asyncio.timeout(10):
            line = await reader.readline()
        sending.cancel()
        await asyncio.wait({sending})
        writer.close()
    assert b" 413 " in line


async def test_a_body_that_does_not_arrive_is_not_waited_for() -> None:
    async def pieces() -> Any:
        yield b"{"
        await asyncio.sleep(1)

    async with served(ScriptedModel("hi"), {"listen": {"body_seconds": 0.2}}) as gateway, gateway.http() as http:
        answer = await http.post("/chat", content=pieces(), headers=JSON)
    assert (answer.status_code, answer.json()["error"]["code"]) == (408, "timeout")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/v1", 404),
        ("POST", "/v1/embeddings", 404),
        ("GET", "/v1/chat/completions", 405),
        ("DELETE", "/v1/models", 405),
        ("GET", "/chat", 405),
        ("GET", "/chat/", 404),
        ("POST", "/runs/x/events", 405),
        ("GET", "/runs/../chat", 405),
        ("OPTIONS", "/chat", 405),
    ],
)
async def test_paths_and_methods_that_there_are_not_have_the_shape_of_every_error(
    method: str, path: str, status: int
) -> None:
    async with served(ScriptedModel("hi")) as gateway, gateway.http() as http:
        answer = await http.request(method, path, headers={"origin": "https://evil.example"})
    assert answer.status_code == status
    assert answer.json()["error"].keys() == {"message", "type", "param", "code"}
    assert not any(name.startswith("access-control") for name in answer.headers)


async def test_what_nobody_foresaw_in_a_handler_is_500_without_a_word_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(ScriptedModel("hi")) as gateway, gateway.http() as http:
        monkeypatch.setattr(type(gateway.gateway), "model_ids", property(lambda _: 1 / 0))
        answer = await http.get("/v1/models")
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "internal"
    assert "division" not in answer.text


async def occupied(gateway: Served, http: Any, number: int, headers: dict[str, str] | None = None) -> list[Any]:
    """Begin so many chats that wait, and return the requests."""
    tasks = [
        asyncio.create_task(http.post("/chat", json={"input": f"wait {n}"}, headers=headers or {}))
        for n in range(number)
    ]
    await until(lambda: len(gateway.gateway.runs.running) == number)
    return tasks


async def end_all(gateway: Served, tasks: list[Any]) -> None:
    """Cancel all runs and wait for the requests."""
    for run in gateway.gateway.runs.running:
        run.cancel("caller")
    await asyncio.gather(*tasks)


async def test_more_chats_than_there_is_place_for_wait_shortly_and_then_get_429() -> None:
    limits = {"runs": {"max_running": 2, "max_waiting": 1, "wait_seconds": 0.3}}
    async with served(ScriptedModel(then=[never]), limits) as gateway, gateway.http() as http:
        tasks = await occupied(gateway, http, 2)
        waiting = asyncio.create_task(http.post("/chat", json={"input": "third"}))
        await until(lambda: gateway.gateway.runs.places.waiting)
        at_once = await http.post("/chat", json={"input": "fourth"})
        after = await waiting
        assert gateway.gateway.runs.places.running == 2
        await end_all(gateway, tasks)
        assert gateway.gateway.runs.places.running == 0
    for answer in (at_once, after):
        assert (answer.status_code, answer.json()["error"]["type"]) == (429, "rate_limit_error")
        assert int(answer.headers["retry-after"]) >= 1


async def test_a_chat_that_waits_gets_the_place_that_becomes_free() -> None:
    limits = {"runs": {"max_running": 1, "wait_seconds": 10}}
    async with served(ScriptedModel([never], "hi"), limits) as gateway, gateway.http() as http:
        tasks = await occupied(gateway, http, 1)
        waiting = asyncio.create_task(http.post("/chat", json={"input": "second"}))
        await until(lambda: gateway.gateway.runs.places.waiting)
        await end_all(gateway, tasks)
        assert (await waiting).json()["answer"] == "hi"


async def test_a_client_that_leaves_the_queue_gets_no_place() -> None:
    limits = {"runs": {"max_running": 1, "wait_seconds": 300}}
    model = ScriptedModel([never], "hi")
    async with served(model, limits) as gateway, gateway.http() as http:
        tasks = await occupied(gateway, http, 1)
        async with gateway.http() as other:
            waiting = asyncio.create_task(other.post("/chat", json={"input": "second"}))
            await until(lambda: gateway.gateway.runs.places.waiting)
            waiting.cancel()
        await until(lambda: not gateway.gateway.runs.places.waiting)
        await end_all(gateway, tasks)
        assert gateway.gateway.runs.places.running == 0
    assert len(model.requests) == 1


async def test_chats_that_wait_are_told_at_once_that_the_gateway_stops() -> None:
    limits = {"runs": {"max_running": 1, "wait_seconds": 300}}
    async with served(ScriptedModel([never]), limits) as gateway, gateway.http() as http:
        tasks = await occupied(gateway, http, 1)
        waiting = [asyncio.create_task(http.post("/chat", json={"input": f"{number}"})) for number in range(3)]
        await until(lambda: gateway.gateway.runs.places.waiting == 3)
        draining = asyncio.create_task(gateway.gateway.runs.drain(30))
        async with asyncio.timeout(10):
            answers = await asyncio.gather(*waiting)
        await end_all(gateway, tasks)
        await draining
    for answer in answers:
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "shutting_down")


async def test_a_tenant_with_many_chats_leaves_room_for_another() -> None:
    limits = {**KEYS, "runs": {"max_running": 10, "max_running_per_tenant": 2, "wait_seconds": 0.2}}
    async with served(ScriptedModel([never], [never], "for b"), limits) as gateway, gateway.http() as http:
        tasks = await occupied(gateway, http, 2, A)
        refused = await http.post("/chat", json={"input": "third"}, headers=A)
        other = await http.post("/chat", json={"input": "mine"}, headers=B)
        await end_all(gateway, tasks)
    assert refused.status_code == 429
    assert "tenant" in refused.json()["error"]["message"]
    assert other.json()["answer"] == "for b"


async def test_tools_are_listed_with_a_tag_and_refreshed_with_what_changed() -> None:
    async with served(ScriptedModel("hi")) as gateway, gateway.http() as http:
        first = await http.get("/tools")
        same = await http.get("/tools", headers={"if-none-match": first.headers["etag"]})

        @gateway.shop.mcp.tool
        def brand_new() -> str:
            """Was not there."""
            return "new"

        changes = await http.post("/tools/refresh")
        after = await http.get("/tools", headers={"if-none-match": first.headers["etag"]})
    assert [tool["name"] for tool in first.json()["tools"]] == ["add", "sales", "fail", "wait"]
    assert first.json()["servers"] == [{"name": "shop", "connected": True, "tools": 4}]
    assert same.status_code == 304
    assert changes.json()["added"] == ["brand_new"]
    assert after.status_code == 200


async def test_health_says_what_runs_and_which_servers_are_there() -> None:
    async with served(ScriptedModel(then=[never])) as gateway, gateway.http() as http:
        tasks = await occupied(gateway, http, 1)
        told = (await http.get("/health")).json()
        await end_all(gateway, tasks)
    assert told["status"] == "ok"
    assert told["runs"] == {"running": 1, "waiting": 0}
    assert told["models"] == ["assistant", "assistant:plain"]


async def test_the_failure_of_a_tool_reveals_nothing_of_its_insides() -> None:
    model = ScriptedModel(asks("fail"), "It failed.")
    async with served(model) as gateway, gateway.http() as http:
        answer = await http.post("/chat", json={"input": "x"}, headers={"accept": "text/event-stream"})
    assert "tool.finished" in answer.text
    assert "orders.db" not in answer.text
