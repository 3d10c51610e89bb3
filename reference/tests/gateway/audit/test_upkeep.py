"""Runs without an end are closed once their process is gone; old runs are deleted, and nothing that is still read."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from support.audited_runs import one, rows

from xmcp.client import AIClient
from xmcp.gateway.audit import AuditLog, AuditMiddleware, RunOutcome, RunStart, upkeep, writer
from xmcp.gateway.audit.database import address_of
from xmcp.gateway.audit.drivers import Driver, driver_for
from xmcp.gateway.audit.reading import reading
from xmcp.gateway.audit.rebuild import model_calls
from xmcp.gateway.audit.schema import migrate
from xmcp.gateway.audit.statements import Unit, row
from xmcp.gateway.ids import now_ms
from xmcp.providers import ScriptedProvider

DAY = upkeep.DAY_MS


def opened(database: str) -> Driver:
    migrate(address_of(database))
    driver = driver_for(address_of(database))
    driver.connect()
    return driver


def running(name: str, owner: str, started_at: int) -> Unit:
    return (row("run_accepted", id=name, conversation_id=name, owner=owner, started_at=started_at, status="running"),)


def test_runs_are_closed_when_the_lease_of_their_executor_is_over(database: str) -> None:
    driver, now = opened(database), 1_000_000
    executor: dict[str, Any] = {"version": "1", "started_at": 1}
    driver.write(
        [
            (row("executor", id="alive", lease_until=now + 1, **executor),),
            (row("executor", id="gone", lease_until=now, **executor),),
            running("of the living", "alive", 5),
            running("of the dead", "gone", now - 1),
            running("old, of nobody", "unknown", now - 61),
            running("new, of nobody", "unknown", now - 59),
            (row("run_ended", id="done", conversation_id="c", owner="gone", started_at=1, status="error"),),
        ]
    )
    with driver.transaction() as run:
        upkeep.close_abandoned(run, now, 60)
    assert {*rows(database, "SELECT id, status, finished_at FROM runs")} == {
        ("of the living", "running", None),
        ("of the dead", "interrupted", now),
        ("old, of nobody", "interrupted", now),
        ("new, of nobody", "running", None),
        ("done", "error", None),
    }
    # Its true end was spilled, and comes later.
    ended = row("run_ended", id="of the dead", conversation_id="c", owner="gone", started_at=1, status="finished")
    driver.write([(ended,)])
    driver.close()
    assert one(database, "SELECT status FROM runs WHERE id = 'of the dead'") == "finished"


async def test_a_process_closes_the_runs_of_one_that_ended_before(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await AuditLog.open(database)
    log.begin(RunStart(id="left open"))
    await log.aclose()
    assert one(database, "SELECT status FROM runs") == "running"
    log = await AuditLog.open(database)
    log.begin(RunStart(id="own"))
    assert await log.flush() == "committed"
    for _ in range(100):
        if one(database, "SELECT status FROM runs WHERE id = 'left open'") == "interrupted":
            break
        await asyncio.sleep(0.05)
    assert dict(rows(database, "SELECT id, status FROM runs")) == {"left open": "interrupted", "own": "running"}
    await log.aclose()


async def test_the_lease_is_renewed_while_nothing_happens(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Much longer than the writer's thread waits for a processor on a busy machine.
    monkeypatch.setattr(writer, "LEASE_SECONDS", 3)
    log = await AuditLog.open(database)
    log.begin(RunStart(id="quiet"))
    other = await AuditLog.open(database)
    await asyncio.sleep(5)
    assert one(database, "SELECT status FROM runs") == "running"
    await log.aclose()
    for _ in range(600):
        if one(database, "SELECT status FROM runs") == "interrupted":
            break
        await asyncio.sleep(0.05)
    assert one(database, "SELECT status FROM runs") == "interrupted"
    await other.aclose()


async def chats(log: AuditLog, conversation: str, queries: int, started_at: int) -> None:
    """Record runs of one conversation, each of which reads what was said before."""
    model = ScriptedProvider(lambda messages, _: f"answer to {len(messages)} messages")
    history: list[dict[str, Any]] = []
    async with AIClient([], llm_provider=model, middleware=[AuditMiddleware(log)]) as client:
        for number in range(queries):
            start = RunStart(
                id=f"{conversation} {started_at} {number}", conversation_id=conversation, started_at=started_at
            )
            with log.running(start):
                history = (await client.chat(f"{conversation} at {started_at}, {number}", history))["history"]


async def test_old_runs_are_deleted_a_bounded_number_at_a_time_and_what_newer_runs_read_stays(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "RUNS_AT_ONCE", 3)
    now = now_ms()
    log = await AuditLog.open(database)
    await chats(log, "old", 5, now - 40 * DAY)
    await chats(log, "mixed", 2, now - 40 * DAY)
    await chats(log, "mixed", 2, now - DAY)
    await chats(log, "new", 2, now)
    log.begin(RunStart(id="old but running", conversation_id="open", started_at=now - 40 * DAY))
    await log.aclose()
    with reading(address_of(database)) as connection:
        before = {name: [*model_calls(connection, conversation_id=name)] for name in ("mixed", "new")}
    driver, steps = driver_for(address_of(database)), 0
    driver.connect()
    more = True
    while more:
        with driver.transaction() as run:
            left = len(run("SELECT 1 FROM runs", []))
            more = upkeep.delete_older_than(run, now - 30 * DAY, locks=database.startswith("postgres"))
            assert left - len(run("SELECT 1 FROM runs", [])) <= 3
        steps += 1
    driver.close()
    assert steps == 4
    assert {one_id for (one_id,) in rows(database, "SELECT id FROM conversations")} == {"mixed", "new", "open"}
    for table in ("model_requests", "usage"):
        assert one(database, f"SELECT count(*) FROM {table}") == 4, table
    with reading(address_of(database)) as connection:
        assert [*model_calls(connection, conversation_id="new")] == before["new"]
        assert [*model_calls(connection, conversation_id="mixed")] == before["mixed"][2:]
        assert [*model_calls(connection, conversation_id="old")] == []
    written = " ".join(content for (content,) in rows(database, "SELECT content FROM contents"))
    assert f"at {now - 40 * DAY}" not in written
    assert one(database, "SELECT count(*) FROM messages") == one(database, "SELECT count(*) FROM contents") == 6


def test_lists_of_tools_gaps_and_executors_that_nothing_uses_go_too(database: str) -> None:
    driver = opened(database)
    asked: dict[str, Any] = {"run_id": "r", "attempt": 1, "number": 1, "conversation_id": "c", "turn": 1}
    driver.write(
        [
            (
                row("tool_list", hash="used", tools="[]", last_used_at=5),
                row("request_sent", **asked, tools_hash="used"),
            ),
            (row("tool_list", hash="unused", tools="[]", last_used_at=5),),
            (row("tool_list", hash="recent", tools="[]", last_used_at=50),),
            (row("gap", id="1", owner="o", from_at=1, to_at=5, dropped=1, reason="disk"),),
            (row("gap", id="2", owner="o", from_at=1, to_at=50, dropped=1, reason="disk"),),
            (row("executor", id="gone", version="1", started_at=1, lease_until=5),),
        ]
    )
    with driver.transaction() as run:
        assert not upkeep.delete_older_than(run, 10, locks=database.startswith("postgres"))
    driver.close()
    assert {name for (name,) in rows(database, "SELECT hash FROM tool_lists")} == {"used", "recent"}
    assert rows(database, "SELECT id FROM writer_gaps") == [("2",)]
    assert rows(database, "SELECT id FROM executors") == []


async def test_a_conversation_that_a_writer_holds_is_left_for_the_next_time(postgres_url: str) -> None:
    import psycopg

    now = now_ms()
    log = await AuditLog.open(postgres_url)
    await chats(log, "old", 1, now - 40 * DAY)
    await log.aclose()
    driver = driver_for(address_of(postgres_url))
    driver.connect()
    with psycopg.connect(postgres_url) as writing:
        writing.execute("SELECT id FROM conversations WHERE id = 'old' FOR KEY SHARE")
        with driver.transaction() as run:
            assert not upkeep.delete_older_than(run, now - 30 * DAY, locks=True)
        assert one(postgres_url, "SELECT count(*) FROM runs") == 1
    with driver.transaction() as run:
        assert upkeep.delete_older_than(run, now - 30 * DAY, locks=True)
    driver.close()
    assert one(postgres_url, "SELECT count(*) FROM runs") == 0


async def test_a_writer_waits_for_a_deletion_and_writes_its_messages_again(postgres_url: str) -> None:
    import psycopg

    log = await AuditLog.open(postgres_url)
    model = ScriptedProvider(["ok"])
    async with AIClient([], llm_provider=model, middleware=[AuditMiddleware(log)]) as client:
        log.begin(RunStart(id="first", conversation_id="c"))
        assert await log.flush() == "committed"
        with psycopg.connect(postgres_url) as deleting:
            deleting.execute("SELECT id FROM conversations WHERE id = 'c' FOR UPDATE")
            await client.chat("hello", [])
            flushed = asyncio.create_task(log.flush(20))
            await asyncio.sleep(0.5)
            assert not flushed.done()
            deleting.commit()
    assert await flushed == "committed"
    await log.aclose()
    with reading(address_of(postgres_url)) as connection:
        (call,) = model_calls(connection, conversation_id="c")
    assert call.complete


async def test_a_store_deletes_what_is_older_than_it_keeps(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xmcp.gateway.audit.record_queue.PARK_SECONDS", 0.0)
    log = await AuditLog.open(database)
    await chats(log, "old", 30, now_ms() - 3 * DAY)
    await chats(log, "new", 1, now_ms() - DAY)
    await log.aclose()
    log = await AuditLog.open(database, keep_days=2)
    for _ in range(100):
        if one(database, "SELECT count(*) FROM runs") == 1:
            break
        await asyncio.sleep(0.05)
    assert rows(database, "SELECT conversation_id FROM runs") == [("new",)]
    log.begin(RunStart(id="r"))
    log.end("r", RunOutcome("finished"))
    assert await log.flush() == "committed"
    await log.aclose()


async def test_to_delete_a_long_conversation_takes_linear_time(tmp_path: Path) -> None:
    def seconds(length: int) -> float:
        database = str(tmp_path / f"{length}.db")
        driver = opened(database)
        of = {"conversation_id": "c"}
        chain = [
            (
                row("message", **of, hash=f"h{n}", parent=f"h{n - 1}" if n else None, place=n, content_hash=f"x{n}"),
                row("content", conversation_id="c", hash=f"x{n}", content="{}"),
            )
            for n in range(length)
        ]  # fmt: skip
        asked: dict[str, Any] = {"attempt": 1, "conversation_id": "c", "turn": 1, "run_id": "kept"}
        run_of: dict[str, Any] = {"conversation_id": "c", "owner": "o", "status": "finished"}
        driver.write(
            [
                *chain,
                (row("conversation", id="c", created_at=1, last_run_at=1),),
                *((row("request_sent", **asked, number=n, messages_hash=f"h{n}"),) for n in range(49, length, 50)),
                (row("run_accepted", id="kept", started_at=20, **run_of),),
                (row("run_accepted", id="old", started_at=1, **run_of),),
            ]
        )
        begun = time.perf_counter()
        with driver.transaction() as run:
            assert upkeep.delete_older_than(run, 10, locks=False)
        taken = time.perf_counter() - begun
        driver.close()
        assert one(database, "SELECT count(*) FROM contents") == length
        return taken

    assert seconds(40_000) < 12 * seconds(10_000) + 0.2
