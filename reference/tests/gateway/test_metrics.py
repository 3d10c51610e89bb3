"""Metrics: what is counted, whose words never become labels, and that no reader of them holds up a chat."""

from __future__ import annotations

import asyncio
import hashlib
import socket
import subprocess
import sys
import threading
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families
from support.clock import never
from support.gateways import Served, served, until
from support.scripted_model import ScriptedModel, asks

from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.cli.gateway import gateway as command
from xmcp.gateway.audit import AuditLog
from xmcp.gateway.config_file import config_of
from xmcp.gateway.config_rules import UnsafeListening, refuse_unsafe
from xmcp.gateway.metrics import counts, state
from xmcp.gateway.metrics.label_values import LabelValues
from xmcp.providers import Completion, Usage
from xmcp.storage import MemoryBreakers

SSE = {"accept": "text/event-stream"}
KEYS: dict[str, Any] = {
    "keys": [{"name": "a", "tenant": "acme", "hash": f"sha256:{hashlib.sha256(b'xmcp_a').hexdigest()}"}]
}
A = {"authorization": "Bearer xmcp_a"}


async def read(gateway: Served, **headers: str) -> httpx2.Response:
    """Read the metrics as Prometheus does."""
    async with httpx2.AsyncClient(timeout=30) as http:
        return await http.get(gateway.metrics_url, headers=headers)


async def samples(gateway: Served) -> dict[tuple[str, ...], float]:
    """Return the value of each series, by its name and the values of its labels in the order of their names."""
    answer = await read(gateway)
    assert answer.status_code == 200
    found = {}
    for family in text_string_to_metric_families(answer.text):
        for one in family.samples:
            found[one.name, *(value for _, value in sorted(one.labels.items()))] = one.value
    return found


async def test_a_chat_with_tools_is_counted_with_what_it_used() -> None:
    answer = Completion("3", usage=Usage(70, 30, 10, reasoning_tokens=5))
    model = ScriptedModel(asks(("add", {"a": 1, "b": 2}), "fail", "no_such_tool"), answer)
    priced = served(model, metrics=True, price=lambda *_: 0.25)
    async with priced as gateway, gateway.http() as http:
        assert (await http.post("/chat", json={"input": "1+2"})).status_code == 200
        found = await samples(gateway)
    assert found["xmcp_runs_total", "assistant", "finished", "chat"] == 1
    assert found["xmcp_run_duration_seconds_count", "assistant", "chat"] == 1
    assert found["xmcp_time_to_first_event_seconds_count", "assistant"] == 1
    assert found["xmcp_tool_calls_total", "ok", "shop", "add"] == 1
    assert found["xmcp_tool_calls_total", "INTERNAL", "shop", "fail"] == 1
    assert found["xmcp_tool_duration_seconds_count", "shop", "add"] == 1
    assert found["xmcp_cost_micros_total", "assistant"] == 500_000
    tokens = {values[0]: n for (name, *values), n in found.items() if name == "xmcp_tokens_total"}
    assert tokens == {"input": 70, "output": 30, "cached": 10, "reasoning": 5}
    assert found["xmcp_http_requests_total", "POST", "/chat", "200"] == 1
    assert found["xmcp_runs_in_flight", "running"] == 0
    assert found["xmcp_server_up", "shop"] == 1
    assert found["xmcp_draining",] == 0
    assert 0 <= found["xmcp_event_loop_lag_seconds",] < 1
    assert found["process_resident_memory_bytes",] > 0


async def test_no_word_of_a_caller_or_a_model_is_a_label() -> None:
    model = ScriptedModel(asks(("made_up_tool", {})), "done")
    async with served(model, KEYS, metrics=True) as gateway, gateway.http(headers=A) as http:
        named = {"input": "made-up-words", "session_id": "made-up-session"}
        assert (await http.post("/chat", json=named)).status_code == 200
        assert (await http.post("/chat", json={"input": "x", "model": "made-up-model"})).status_code == 404
        assert (await http.get("/made-up/path")).status_code == 404
        assert (await http.get("/v1/models/made-up-model")).status_code == 404
        assert (await http.get("/runs/made-up-run")).status_code == 404
        assert (await http.get("/tools", headers={"authorization": "Bearer made-up-key"})).status_code == 401
        text = (await read(gateway)).text
        found = await samples(gateway)
    assert "made-up" not in text
    assert "made_up" not in text
    assert "xmcp_a" not in text
    assert found["xmcp_tool_calls_total", "UNKNOWN_TOOL", "other", "other"] == 1
    assert found["xmcp_http_requests_total", "GET", "other", "404"] == 1
    assert found["xmcp_http_requests_total", "GET", "/runs/{run_id}", "404"] == 1
    assert found["xmcp_http_requests_total", "GET", "/v1/models/{model:path}", "404"] == 1


async def test_refusals_failures_and_streams_that_are_left_are_counted() -> None:
    limits = {**KEYS, "runs": {"max_running": 1, "max_waiting": 0, "client_gone_seconds": 0.0}}
    model = ScriptedModel([never], ProviderError("slow down", category=ErrorCategory.RATE_LIMIT, provider="p"))
    async with served(model, limits, metrics=True) as gateway, gateway.http(headers=A) as http:
        async with http.stream("POST", "/chat", json={"input": "wait"}, headers=SSE) as stream:
            pieces = stream.aiter_bytes()
            await anext(pieces)
            assert (await http.post("/chat", json={"input": "second"})).status_code == 429
            during = await samples(gateway)
        await until(lambda: not gateway.gateway.runs.running)
        assert (await http.post("/chat", json={"input": "third"})).status_code == 429
        found = await samples(gateway)
    assert during["xmcp_sse_streams",] == 1
    assert during["xmcp_runs_in_flight", "running"] == 1
    assert found["xmcp_sse_streams",] == 0
    assert found["xmcp_sse_dropped_total", "client_gone"] == 1
    assert found["xmcp_runs_total", "assistant", "cancelled", "chat"] == 1
    assert found["xmcp_runs_total", "assistant", "error", "chat"] == 1
    # The model's own limit is none of the gateway's.
    assert found["xmcp_quota_rejections_total", "rate_limit_exceeded", "acme"] == 1


async def test_series_that_an_alert_asks_for_begin_with_zero(tmp_path: Any) -> None:
    # Of a series that begins with its first event Prometheus sees no increase.
    log = await AuditLog.open(tmp_path / "audit.db")
    async with served(ScriptedModel("hi"), audit=log, metrics=True) as gateway:
        found = await samples(gateway)
    await log.aclose()
    for model in ("assistant", "assistant:plain"):
        for outcome in ("finished", "error", "cancelled", "interrupted"):
            assert found["xmcp_runs_total", model, outcome, "openai"] == 0
    assert {
        reason for name, reason in (one for one in found if len(one) == 2) if name == "xmcp_audit_dropped_total"
    } == {*("text", "queue_full", "spill_full", "disk", "refused", "torn", "failed")}


async def test_the_audit_store_is_seen(tmp_path: Any) -> None:
    log = await AuditLog.open(tmp_path / "audit.db")
    async with served(ScriptedModel("hi"), audit=log, metrics=True) as gateway, gateway.http() as http:
        await http.post("/chat", json={"input": "x"})
        await log.flush()
        found = await samples(gateway)
    await log.aclose()
    assert found["xmcp_backend_up", "audit"] == 1
    assert found["xmcp_audit_rows_total",] > 0
    assert found["xmcp_audit_dropped_total", "queue_full"] == 0


async def test_the_breaker_of_a_tool_server_is_seen_in_each_of_its_states() -> None:
    now = 0.0
    breakers = MemoryBreakers(2, 30, clock=lambda: now)
    async with served(ScriptedModel("hi"), metrics=True, breakers=breakers) as gateway:

        async def state() -> float:
            return (await samples(gateway))["xmcp_breaker_state", "shop"]

        async def admitted() -> Any:
            return await breakers.admit(identity)

        ((name, (identity,)),) = gateway.gateway.ai._servers.identities()
        assert (name, await state()) == ("shop", 0)
        for _ in range(2):
            await breakers.record(identity, await admitted(), "failed")
        assert await state() == 2
        now = 31.0
        assert await state() == 2, "nobody has tried it yet"
        probe = await admitted()
        assert await state() == 1
        await breakers.record(identity, probe, "ok")
        assert await state() == 0


async def test_an_event_loop_that_is_stuck_is_seen_and_does_not_keep_the_metrics_from_their_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(state, "PATIENCE", 0.05)
    async with served(ScriptedModel("hi"), metrics=True) as gateway:
        got: list[httpx2.Response] = []
        # The loop of the gateway, which is that of this test, waits for the thread.
        reader = threading.Thread(target=lambda: got.append(httpx2.get(gateway.metrics_url, timeout=30)))
        reader.start()
        reader.join(30)
    assert "xmcp_event_loop_lag_seconds 0.05" in got[0].text
    assert "xmcp_runs_in_flight" not in got[0].text


async def test_readers_that_say_nothing_hold_up_neither_chats_nor_the_gateway_s_end() -> None:
    async with served(ScriptedModel("hi"), metrics=True) as gateway, gateway.http() as http:
        port = int(gateway.metrics_url.split(":")[2].split("/")[0])
        idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
        assert (await http.post("/chat", json={"input": "x"})).json()["answer"] == "hi"
        full = await read(gateway)
        for one in idle:
            one.close()
        await until_answered(gateway)
    assert full.status_code == 503


async def until_answered(gateway: Served) -> None:
    """Wait until there is room for a reader again."""
    async with asyncio.timeout(20):
        while (await read(gateway)).status_code != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_metrics_of_this_machine_are_given_to_names_of_this_machine_only() -> None:
    async with served(ScriptedModel("hi"), metrics=True) as gateway:
        assert (await read(gateway, host="evil.example")).status_code == 421
        assert (await read(gateway, host="localhost:1")).status_code == 200
        async with httpx2.AsyncClient() as http:
            assert (await http.get(gateway.metrics_url.replace("metrics", "x"))).status_code == 404
            assert (await http.post(gateway.metrics_url)).status_code == 405


async def test_prometheus_may_ask_for_either_of_its_formats() -> None:
    async with served(ScriptedModel("hi"), metrics=True) as gateway:
        text = await read(gateway, accept="text/plain;version=0.0.4")
        modern = await read(gateway, accept="application/openmetrics-text;version=1.0.0")
    assert text.headers["content-type"].startswith("text/plain")
    assert modern.headers["content-type"].startswith("application/openmetrics-text")
    assert modern.text.endswith("# EOF\n")


def test_there_are_never_more_values_of_a_label_than_it_may_have() -> None:
    values = LabelValues(3)
    assert [values.of(name) for name in "abcdea"] == ["a", "b", "c", "other", "other", "a"]
    assert counts.MAX_TENANTS == 200


def test_without_keys_metrics_are_for_this_machine() -> None:
    with pytest.raises(UnsafeListening, match=r"0\.0\.0\.0"):
        refuse_unsafe(config_of({"metrics": {"host": "0.0.0.0", "port": 9464}}, "g.toml"))
    refuse_unsafe(config_of({"metrics": {"host": "0.0.0.0"}}, "g.toml"))
    refuse_unsafe(config_of({**KEYS, "metrics": {"host": "0.0.0.0", "port": 9464}}, "g.toml"))


def test_a_port_that_is_taken_is_said_before_anything_is_served() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        words = ["--provider", "demo", "--port", "0", "--metrics-port", port]
        done = CliRunner().invoke(command, words)
    assert done.exit_code == 1
    assert f"Port {port} on 127.0.0.1 is in use" in done.output


def test_a_gateway_without_metrics_does_not_load_their_package() -> None:
    code = (
        "import sys, xmcp.gateway.serving, xmcp.gateway.http.app, xmcp.cli.gateway_parts\n"
        "assert 'prometheus_client' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
