"""Reports over HTTP: what was used, called, and failed. A tenant sees its own, and a slow one hinders nobody."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from support.gateways import Served, served
from support.scripted_model import ScriptedModel, asks

from xmcp.chat.completions import Completion
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.usage import Usage
from xmcp.gateway.audit import AuditLog, AuditMiddleware, report, report_queries, reports
from xmcp.gateway.audit.errors import AuditError


def key(name: str, tenant: str) -> dict[str, str]:
    """Return the configuration of a key, which is `xmcp_` and its name."""
    return {"name": name, "tenant": tenant, "hash": f"sha256:{hashlib.sha256(f'xmcp_{name}'.encode()).hexdigest()}"}


KEYS: dict[str, Any] = {"keys": [key("a", "acme"), key("b", "other")]}
A, B = {"authorization": "Bearer xmcp_a"}, {"authorization": "Bearer xmcp_b"}
USED = Usage(70, 30, 10)


@asynccontextmanager
async def recorded(database: str, config: Any = None) -> AsyncIterator[Served]:
    """A gateway after two chats of acme, one with tools and one that failed, and one of the other tenant."""
    log = await AuditLog.open(database)
    model = ScriptedModel(
        Completion("", asks(("add", {"a": 1, "b": 2}), "fail").tool_calls, "tool_calls", USED),
        Completion("3", usage=USED),
        ProviderError("slow down", category=ErrorCategory.RATE_LIMIT, provider="p"),
        Completion("hi", usage=Usage(5, 1)),
    )
    hooks = [AuditMiddleware(log)]
    async with served(model, config, audit=log, middleware=hooks, price=lambda *_: 0.5) as gateway:
        async with gateway.http() as http:
            for said, headers in (("1+2", A), ("x", A), ("y", B)):
                await http.post("/chat", json={"input": said}, headers=headers)
        await log.flush()
        yield gateway
    await log.aclose()


async def test_what_was_used_is_said_by_day_and_model(database: str) -> None:
    async with recorded(database) as gateway, gateway.http() as http:
        found = (await http.get("/analytics/usage")).json()
        by_hour = (await http.get("/analytics/usage?by=hour")).json()
        before = (await http.get("/analytics/usage?since=2020-01-01&until=2020-02-01T00:00:00Z")).json()
    (row,) = found["rows"]
    assert row.pop("begins_at").endswith("T00:00:00+00:00")
    expected = {"tenant": None, "model": "assistant", "runs": 3, "model_calls": 3, "input_tokens": 145}
    assert row == {**expected, "output_tokens": 61, "cached_tokens": 20, "cost_micros": 1_500_000}
    assert sum(one["runs"] for one in by_hour["rows"]) == 3
    assert before["rows"] == []
    assert (before["since"], before["until"]) == ("2020-01-01T00:00:00+00:00", "2020-02-01T00:00:00+00:00")
    assert found["truncated"] is False


async def test_which_tools_were_called_and_what_failed(database: str) -> None:
    async with recorded(database) as gateway, gateway.http() as http:
        tools = (await http.get("/analytics/tools")).json()["rows"]
        errors = (await http.get("/analytics/errors")).json()["rows"]
    assert [(row["server"], row["tool"], row["calls"], row["ok"], row["errors"]) for row in tools] == [
        ("shop", "add", 1, 1, 0),
        ("shop", "fail", 1, 0, 1),
    ]
    assert all(row["mean_ms"] >= 0 for row in tools)
    assert [(row["what"], row["name"], row["code"], row["number"]) for row in errors] == [
        ("chat", "assistant", "RATE_LIMIT", 1),
        ("tool", "fail", "INTERNAL", 1),
    ]


async def test_a_tenant_sees_its_own(database: str) -> None:
    async with recorded(database, KEYS) as gateway, gateway.http() as http:
        of = {}
        for name, headers in (("acme", A), ("other", B)):
            of[name] = [
                (await http.get(f"/analytics/{r}", headers=headers)).json()["rows"] for r in report_queries.QUERIES
            ]
        named = (await http.get("/analytics/usage?tenant=acme", headers=B)).json()["rows"]
    assert {row["tenant"] for row in of["acme"][0]} == {"acme"}
    assert [row["runs"] for row in of["other"][0]] == [1]
    assert of["other"][1:] == [[], []]
    assert named == of["other"][0]


async def test_there_are_never_more_rows_than_the_most(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_queries, "MAX_ROWS", 1)
    async with recorded(database) as gateway, gateway.http() as http:
        for name in ("tools", "errors"):
            found = (await http.get(f"/analytics/{name}")).json()
            assert (len(found["rows"]), found["truncated"]) == (1, True)


async def test_without_a_database_it_is_said_what_to_set() -> None:
    async with served(ScriptedModel("hi")) as gateway, gateway.http() as http:
        answer = await http.get("/analytics/usage")
    assert (answer.status_code, answer.json()["error"]["code"]) == (501, "audit_not_configured")
    assert "[audit]" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("by=week", "by"),
        ("since=yesterday", "since"),
        ("since=9999999999999999", "since"),
        ("since=0001-01-01T00:00:00%2B23:59", "since"),
        ("until=9999-12-31T23:59:59-23:59", "until"),
        ("since=2026-13-01", "since"),
        ("since=2020-01-01&until=2026-01-01", "since"),
        ("since=2026-01-02&until=2026-01-01", "since"),
        ("since=2026-01-01&until=2026-03-01&by=hour", "since"),
    ],
)
async def test_a_time_that_is_none_is_refused(tmp_path: Any, query: str, param: str) -> None:
    log = await AuditLog.open(tmp_path / "audit.db")
    async with served(ScriptedModel("hi"), audit=log) as gateway, gateway.http() as http:
        answer = await http.get(f"/analytics/usage?{query}")
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)
    await log.aclose()


async def test_a_slow_report_hinders_neither_chats_nor_the_writer_nor_another_tenant(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(*_: Any) -> Any:
        begun.set()
        go_on.wait(30)
        return report.Report([], truncated=False)

    monkeypatch.setitem(report_queries.QUERIES, "usage", slow)
    async with recorded(database, KEYS) as gateway, gateway.http() as http:
        waiting = asyncio.create_task(http.get("/analytics/usage", headers=A))
        assert await asyncio.to_thread(begun.wait, 30)
        again = await http.get("/analytics/tools", headers=A)
        other = await http.get("/analytics/tools", headers=B)
        chat = await http.post("/chat", json={"input": "z"}, headers=A)
        assert gateway.gateway.audit is not None
        kept = await gateway.gateway.audit.flush()
        go_on.set()
        assert (await waiting).status_code == 200
        assert (await http.get("/analytics/tools", headers=A)).status_code == 200
    assert (again.status_code, again.json()["error"]["code"]) == (429, "report_running")
    assert (other.status_code, chat.status_code, kept) == (200, 200, "committed")


async def test_two_slow_reports_keep_no_third_tenant_out(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, begun = threading.Event(), threading.Semaphore(0)

    def slow(_: Any, wanted: report.Wanted) -> Any:
        begun.release()
        go_on.wait(30)
        return report.Report([{"tenant": wanted.tenant}], truncated=False)

    monkeypatch.setitem(report_queries.QUERIES, "usage", slow)
    log = await AuditLog.open(tmp_path / "audit.db")
    read = reports.Reports(log.address)

    def ask(tenant: str) -> asyncio.Task[report.Report]:
        return asyncio.create_task(read.read("usage", report.Wanted(tenant, 0, 1, "day")))

    first, second = ask("a"), ask("b")
    for _ in range(2):
        assert await asyncio.to_thread(begun.acquire, timeout=30)
    third, leaves = ask("c"), ask("d")
    with pytest.raises(reports.ReportsBusy):
        await ask("c")  # one at a time, also of one that waits
    leaves.cancel()
    await asyncio.wait({leaves})
    fourth = ask("d")
    monkeypatch.setattr(reports, "MAX_WAITING", 4)
    with pytest.raises(reports.ReportsBusy):
        await ask("e")
    monkeypatch.setattr(reports, "MAX_WAITING", 5)
    monkeypatch.setattr(reports, "WAIT_SECONDS", 0.01)
    with pytest.raises(reports.ReportsBusy):
        await ask("e")  # it does not wait for ever
    go_on.set()
    assert [one.rows[0]["tenant"] for one in await asyncio.gather(first, second, third, fourth)] == [*"abcd"]
    await read.aclose()
    await log.aclose()


async def test_a_report_that_takes_too_long_ends_and_reveals_nothing(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sqlalchemy import text

    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    monkeypatch.setattr(reports, "REPORT_SECONDS", 0.3)
    monkeypatch.setitem(report_queries.QUERIES, "usage", lambda connection, _: connection.execute(text(endless)))
    async with recorded(database) as gateway, gateway.http() as http:
        async with asyncio.timeout(20):  # of the 60 s that a person who reads by hand has
            answer = await http.get("/analytics/usage")
        after = await http.get("/analytics/tools")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "report_unavailable")
    assert "audit.db" not in answer.text
    assert "127.0.0.1" not in answer.text
    assert after.status_code == 200


async def test_a_database_that_is_gone_is_said_without_its_address(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: Any) -> Any:
        raise AuditError("postgresql://10.0.0.1/audit cannot be used")

    log = await AuditLog.open(tmp_path / "audit.db")
    monkeypatch.setitem(report_queries.QUERIES, "errors", gone)
    async with served(ScriptedModel("hi"), audit=log) as gateway, gateway.http() as http:
        answer = await http.get("/analytics/errors")
    await log.aclose()
    assert answer.status_code == 503
    assert "10.0.0.1" not in answer.text
