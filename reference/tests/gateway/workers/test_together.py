"""What is a matter of all processes of a gateway: limits, keys, lists, caches, health; and how they stop together."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from support.clock import never
from support.gateways import types_in, until
from support.issued_keys import add_key, add_tenant, bearer, key_database
from support.recorded_gateways import TENANTS
from support.scripted_model import ScriptedModel
from support.workers import Workers, workers

from xmcp.gateway.http import worker_routes
from xmcp.gateway.http.gathering import merged_health, merged_sessions, summed_cache_statistics
from xmcp.gateway.tenant_cache import TenantCache
from xmcp.gateway.workers.connections import PeerClient
from xmcp.providers import Completion
from xmcp.storage import MemoryCache

SSE = {"accept": "text/event-stream"}
A = {"authorization": "Bearer a"}


async def get(up: Workers, number: int, path: str, **headers: str) -> Any:
    async with up.all[number].http() as http:
        return await http.get(path, headers=headers)


def stopped(up: Workers, number: int) -> None:
    """Let a process answer no other one any more."""
    for listener in up.all[number].server.servers:
        listener.close()


def limited(per_minute: int) -> Any:
    """Return a configuration with a limit for tenant `a`."""
    return {**TENANTS, "tenants": [{"name": "a", "requests_per_minute": per_minute}]}


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a process that counts waited for on a slow machine, too."""
    monkeypatch.setattr(worker_routes, "RATE_SECONDS", 30.0)


@pytest.mark.usefixtures("patient")
async def test_requests_in_a_minute_are_counted_over_all_processes_exactly(tmp_path: Path) -> None:
    async with workers(tmp_path, ScriptedModel(then="ok"), limited(20), count=3) as up:
        async with AsyncExitStack() as exits:
            callers = [await exits.enter_async_context(one.http(headers=A)) for one in up.all]
            asking = [callers[number % 3].get("/v1/models") for number in range(60)]
            statuses = [answer.status_code for answer in await asyncio.gather(*asking)]
        assert statuses.count(200) == 20
        assert statuses.count(429) == 40
        for number in range(3):
            refused = await get(up, number, "/v1/models", **A)
            assert refused.headers["retry-after"] in ("1", "2", "3")
            assert "the tenant 'a'" in refused.json()["error"]["message"]
            assert (await get(up, number, "/v1/models", authorization="Bearer b")).status_code == 200


@pytest.mark.usefixtures("patient")
async def test_a_request_that_is_handed_on_counts_once(tmp_path: Path) -> None:
    async with workers(tmp_path, ScriptedModel(then="ok"), limited(4)) as up, up.all[0].http(headers=A) as http:
        bodies = [{"input": "hi", "session_id": up.session_at(1, "a", after)} for after in range(0, 500, 100)]
        statuses = [(await http.post("/chat", json=body)).status_code for body in bodies]
    assert statuses == [200, 200, 200, 200, 429]


async def test_requests_are_counted_here_where_the_process_that_counts_does_not_answer(tmp_path: Path) -> None:
    async with workers(tmp_path, ScriptedModel(then="ok"), limited(3)) as up:
        home = up.places[0].home_of("tenant:a")
        stopped(up, home)
        statuses = [(await get(up, 1 - home, "/v1/models", **A)).status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]


async def test_nobody_is_asked_where_nothing_is_limited(tmp_path: Path) -> None:
    async with workers(tmp_path, ScriptedModel(then="ok"), TENANTS) as up:
        for number in (0, 1):
            await get(up, number, "/v1/models", **A)
        assert not any(
            isinstance(one.client, PeerClient) for up_ in up.all for one in up_.server.server_state.connections
        )
        assert sum(up_.server.server_state.total_requests for up_ in up.all) == 2


@pytest.mark.usefixtures("patient")
async def test_a_key_that_is_revoked_or_limited_is_so_in_all_processes_at_once(tmp_path: Path) -> None:
    stored = key_database(str(tmp_path / "keys.db"))
    for tenant in ("ops", "acme"):
        add_tenant(stored, tenant)
    admin = bearer(add_key(stored, "ops", "root", scopes=["admin"]))
    key = bearer(add_key(stored, "acme"))
    other = bearer(add_key(stored, "acme", "other"))
    async with workers(tmp_path, ScriptedModel(then="ok"), count=3, database=stored) as up:

        async def statuses(key: dict[str, str]) -> list[int]:
            return [(await get(up, number, "/v1/models", **key)).status_code for number in range(3)]

        async with up.all[0].http(headers=admin) as http:
            assert await statuses(key) == await statuses(other) == [200] * 3
            listed = (await http.get("/admin/keys", params={"tenant": "acme"})).json()["keys"]
            key_id = next(one["id"] for one in listed if one["name"] == "k")
            assert (await http.delete(f"/admin/keys/{key_id}")).status_code == 204
            assert (await statuses(key), await statuses(other)) == ([401] * 3, [200] * 3)
            await http.post("/admin/tenants", json={"name": "acme", "limits": {"requests_per_minute": 1}})
            assert sorted(await statuses(other)) == [200, 429, 429]
            assert (await http.delete("/admin/tenants/acme")).status_code == 204
            assert await statuses(other) == [401] * 3


async def test_who_cannot_be_told_is_logged_and_nobody_waits_for_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stored = key_database(str(tmp_path / "keys.db"))
    add_tenant(stored, "ops")
    admin = bearer(add_key(stored, "ops", "root", scopes=["admin"]))
    async with (
        workers(tmp_path, ScriptedModel(then="ok"), database=stored) as up,
        up.all[0].http(headers=admin) as http,
    ):
        stopped(up, 1)
        with caplog.at_level(logging.WARNING):
            assert (await http.delete("/admin/tenants/ops")).status_code == 204
    assert "POST /_workers/keys is not answered by all workers: worker 1 does not answer" in caplog.text


async def test_sessions_of_all_processes_are_paged_through_without_loss_or_repetition(tmp_path: Path) -> None:
    names = [f"s{number}" for number in range(23)]
    async with workers(tmp_path, ScriptedModel(then="ok"), TENANTS, count=3) as up:
        for place, name in enumerate(names):
            async with up.all[place % 3].http(headers=A) as http:
                await http.post("/chat", json={"input": "hi", "session_id": name})
        held = [len([*one.gateway.memory.sessions.of("a")]) for one in up.all]
        assert sum(held) == 23
        assert min(held) > 0
        for number in range(3):
            found, cursor = [], ""
            while cursor is not None:
                page = (await get(up, number, f"/sessions?limit=5&cursor={cursor}", **A)).json()
                assert {*page["sessions"][0]} == {"id", "message_count", "bytes", "used_at", "busy"}
                found += [one["id"] for one in page["sessions"]]
                cursor = page["next"]
            assert found == names[::-1]
        assert (await get(up, 0, "/sessions", authorization="Bearer b")).json() == {"sessions": [], "next": None}
        stopped(up, 1)
        listed = (await get(up, 0, "/sessions", **A)).json()["sessions"]
        assert len(listed) == 23 - held[1]


async def test_the_cache_is_counted_and_cleared_in_all_processes(tmp_path: Path) -> None:
    caches = [TenantCache(MemoryCache()) for _ in range(2)]
    async with workers(tmp_path, ScriptedModel(then="ok"), each=lambda number: {"cache": caches[number]}) as up:
        for cache in caches:
            await cache.set("x:k", "v", 60)
            await cache.get("x:k")
        await caches[0].get("x:none")
        told = (await get(up, 1, "/cache/stats")).json()
        assert told == {"hits": 2, "misses": 1, "writes": 2, "hit_rate": 0.6667}
        async with up.all[0].http() as http:
            assert (await http.delete("/cache")).json() == {"status": "cleared"}
        assert [await cache.get("x:k") for cache in caches] == [None, None]


async def test_tools_are_listed_again_in_all_processes(tmp_path: Path) -> None:
    async with workers(tmp_path, ScriptedModel(then="ok")) as up:
        for one in up.all:
            mcp: Any = one.shop.mcp

            @mcp.tool
            def later() -> str:
                """Was not there before."""
                return "x"

        async with up.all[0].http() as http:
            told = (await http.post("/tools/refresh")).json()
        assert "later" in str(told)
        for number in (0, 1):
            listed = (await get(up, number, "/tools")).json()["tools"]
            assert "later" in [tool["name"] for tool in listed]


async def test_health_is_that_of_all_processes(tmp_path: Path) -> None:
    model = ScriptedModel(then=["a", never])
    async with workers(tmp_path, model) as up, up.all[0].http() as http:
        bodies = [{"input": "hi", "session_id": up.session_at(number)} for number in (0, 1)]
        asking = [asyncio.create_task(http.post("/chat", json=body)) for body in bodies]
        await until(lambda: all(one.gateway.runs.running for one in up.all))
        told = (await http.get("/health")).json()
        assert told["workers"] == {"count": 2, "answering": 2}
        assert told["runs"] == {"running": 2, "waiting": 0}
        assert (told["status"], told["servers"][0]["connected"]) == ("ok", True)
        up.all[1].gateway.stopping = True
        assert (await http.get("/health")).json()["status"] == "draining"
        assert (await http.get("/readyz")).status_code == 200
        stopped(up, 1)
        told = (await http.get("/health")).json()
        assert (told["status"], told["workers"]) == ("degraded", {"count": 2, "answering": 1})
        for one in up.all:
            one.gateway.runs.running[0].cancel("caller")
        await asyncio.gather(*asking)


@pytest.mark.parametrize("path", ["/sessions", "/cache/stats", "/health"])
async def test_the_head_alone_of_what_all_processes_answer_can_be_asked_for(tmp_path: Path, path: str) -> None:
    caches = [TenantCache(MemoryCache()) for _ in range(2)]
    async with (
        workers(tmp_path, ScriptedModel(then="ok"), each=lambda number: {"cache": caches[number]}) as up,
        up.all[0].http() as http,
    ):
        head = await http.head(path)
    assert head.status_code == 200
    assert head.headers["content-type"] == "application/json"


def test_what_several_processes_say_is_put_together() -> None:
    def health(status: str, connected: bool, **more: Any) -> dict[str, Any]:
        servers = [{"name": "shop", "connected": connected, "tools": 2}]
        return {"status": status, "runs": {"running": 1, "waiting": 2}, "servers": servers, "models": ["m"], **more}

    audits = [
        {"audit": {"status": "ok", "waiting": 1}, "backends": {"audit": "up", "redis": "up"}},
        {
            "audit": {"status": "degraded", "waiting": 2, "dropped_records": 3},
            "backends": {"audit": "down", "redis": "up"},
        },
    ]
    told = [health("ok", True, **audits[0]), health("degraded", False, **audits[1])]
    assert merged_health(told, 2) == {
        "status": "degraded",
        "runs": {"running": 2, "waiting": 4},
        "servers": [{"name": "shop", "connected": False, "tools": 2}],
        "models": ["m"],
        "backends": {"audit": "down", "redis": "up"},
        "audit": {"status": "degraded", "waiting": 3, "dropped_records": 3},
        "workers": {"count": 2, "answering": 2},
    }
    assert merged_health([health("draining", True, backends={})], 2)["status"] == "draining"
    assert merged_sessions([[], []], 1) == {"sessions": [], "next": None}
    lists = [[{"place": 5, "id": "a"}, {"place": 1, "id": "c"}], [{"place": 3, "id": "b"}]]
    assert merged_sessions(lists, 2) == {"sessions": [{"id": "a"}, {"id": "b"}], "next": "3"}
    assert merged_sessions(lists, 3)["next"] is None
    empty = {"hits": 0, "misses": 0, "writes": 0}
    assert summed_cache_statistics([empty, empty]) == {**empty, "hit_rate": 0.0}


@pytest.mark.parametrize("first", [0, 1])
async def test_a_stream_that_was_handed_on_ends_with_its_last_event_when_all_drain(tmp_path: Path, first: int) -> None:
    go_on = asyncio.Event()
    async with workers(tmp_path, ScriptedModel(["a", go_on.wait, Completion("ab")])) as up, up.all[0].http() as http:
        body = {"input": "hi", "session_id": up.session_at(1)}
        asking = asyncio.create_task(http.post("/chat", json=body, headers=SSE))
        await until(lambda: up.all[1].gateway.runs.running)
        up.all[first].server.drain()
        up.all[1 - first].server.drain()
        await until(lambda: all(one.gateway.runs.draining for one in up.all))
        await asyncio.sleep(0.5)
        assert not any(one.server.should_exit for one in up.all)
        (run,) = up.all[1].gateway.runs.running
        # The process still answers the others.
        transport = httpx2.AsyncHTTPTransport(uds=str(up.places[0].socket_of(1)))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as other:
            assert (await other.get(f"/runs/{run.id}")).json()["status"] == "running"
        go_on.set()
        assert types_in((await asking).text)[-1] == "run.finished"
        async with asyncio.timeout(30):
            await asyncio.gather(*(one.task for one in up.all))


async def test_a_stream_whose_run_is_ended_by_the_drain_says_so(tmp_path: Path) -> None:
    config = {"listen": {"drain_seconds": 0.5}}
    async with workers(tmp_path, ScriptedModel(["a", never]), config) as up, up.all[0].http() as http:
        body = {"input": "hi", "session_id": up.session_at(1)}
        asking = asyncio.create_task(http.post("/chat", json=body, headers=SSE))
        await until(lambda: up.all[1].gateway.runs.running)
        for one in up.all:
            one.server.drain()
        assert types_in((await asking).text)[-1] == "run.interrupted"
        async with asyncio.timeout(30):
            await asyncio.gather(*(one.task for one in up.all))


async def test_a_request_is_measured_in_the_process_that_it_came_to(tmp_path: Path) -> None:
    config = {"runs": {"max_running": 1, "max_waiting": 0}}
    async with workers(tmp_path, ScriptedModel(["a", never]), config, metrics=True) as up, up.all[0].http() as http:
        body = {"input": "hi", "session_id": up.session_at(1)}
        asking = asyncio.create_task(http.post("/chat", json=body, headers=SSE))
        await until(lambda: up.all[1].gateway.runs.running)
        refused = await http.post("/chat", json={**body, "session_id": up.session_at(1, after=200)})
        assert refused.status_code == 429
        up.all[1].gateway.runs.running[0].cancel("caller")
        await asking
        told = []
        for one in up.all:
            async with one.http(base_url="") as metrics:
                lines = (await metrics.get(one.metrics_url)).text.splitlines()
                told.append(dict(line.rsplit(" ", 1) for line in lines if line.startswith("xmcp_")))
    here, home = told
    assert here['xmcp_http_requests_total{method="POST",route="/chat",status="200"}'] == "1.0"
    assert here['xmcp_http_requests_total{method="POST",route="/chat",status="429"}'] == "1.0"
    assert here["xmcp_sse_streams"] == home["xmcp_sse_streams"] == "0.0"
    assert not [name for name in home if name.startswith("xmcp_http_requests_total")]
    assert not [name for name in here if name.startswith("xmcp_quota_rejections_total")]
    (kind,) = [name for name in home if name.startswith("xmcp_quota_rejections_total")]
    assert 'kind="rate_limit_exceeded"' in kind
