"""The writer: what becomes of records where the database stops, hangs or refuses, and where the disk is full."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.audited_runs import Told, one, rows
from support.postgres_server import PostgresServer

from xmcp.gateway.audit import AuditLog, RunOutcome, RunStart, WriterLimits, drivers, uuid7
from xmcp.gateway.audit.database import address_of
from xmcp.gateway.audit.drivers import driver_for
from xmcp.gateway.audit.record_queue import RecordQueue
from xmcp.gateway.audit.schema import migrate
from xmcp.gateway.audit.spill import Spill
from xmcp.gateway.audit.statements import Unit, row
from xmcp.gateway.audit.writer import Writer


def tell(log: AuditLog, run: str, events: int, begin: int = 0, size: int = 10) -> None:
    for seq in range(begin, begin + events):
        log.take(run, Told("notice", seq, {"kind": "warning", "text": "x" * size}))


async def until(condition: Any, seconds: float = 30) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        await asyncio.sleep(0.05)


def events_of(database: str, run: str) -> list[int]:
    return [seq for (seq,) in rows(database, "SELECT seq FROM events WHERE run_id = ? ORDER BY seq", run)]


async def test_what_was_told_is_there_after_a_flush(database: str) -> None:
    log = await AuditLog.open(database)
    log.begin(RunStart(id="r", tenant="t", session="s", api_key="k", surface="chat", model="m"))
    assert await log.flush() == "committed"
    assert rows(database, "SELECT status, tenant, session, api_key, surface, model FROM runs") == [
        ("running", "t", "s", "k", "chat", "m")
    ]
    tell(log, "r", 3)
    log.end("r", RunOutcome("error", None, "TIMEOUT", "too late"))
    assert await log.flush() == "committed"
    assert rows(database, "SELECT status, error_code, error_message FROM runs") == [("error", "TIMEOUT", "too late")]
    assert events_of(database, "r") == [0, 1, 2]
    assert one(database, "SELECT count(*) FROM conversations") == 1
    assert await log.aclose()
    assert await log.aclose()
    # An executor that has ended holds nothing any more.
    assert one(database, "SELECT lease_until FROM executors") <= time.time() * 1000


async def test_a_fault_of_the_writer_itself_does_not_end_it(
    database: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    log = await AuditLog.open(database)
    assert await log.flush() == "committed"
    take, failures = RecordQueue.take, [ValueError("of a test")]

    def fails_once(queue: RecordQueue[Any]) -> Any:
        if failures:
            raise failures.pop()
        return take(queue)

    monkeypatch.setattr(RecordQueue, "take", fails_once)
    log.begin(RunStart(id="r"))
    async with asyncio.timeout(60):
        assert await log.flush() == "committed"
    assert await log.aclose()
    assert one(database, "SELECT count(*) FROM runs") == 1
    assert failures == []
    assert "of a test" in caplog.text


async def test_a_clean_end_loses_nothing(database: str) -> None:
    log = await AuditLog.open(database)
    log.begin(RunStart(id="r"))
    tell(log, "r", 5000)
    log.take("r", Told("text.delta", 5000, {"step": 1, "text": "the end"}))
    assert await log.aclose()
    assert events_of(database, "r") == [*range(5001)]
    assert log.statistics.dropped == {}
    assert rows(database, "SELECT * FROM writer_gaps") == []
    # Afterwards nothing waits for what is not written any more.
    log.begin(RunStart(id="late"))
    assert await log.flush() == "lost"


async def test_pieces_of_text_become_one_event_for_each_segment(database: str) -> None:
    log = await AuditLog.open(database)
    log.begin(RunStart(id="r"))
    told = [Told("run.started", 1)]
    told += [Told("reasoning.delta", seq, {"step": 1, "text": f"h{seq} "}) for seq in range(2, 5)]
    told += [Told("text.delta", seq, {"step": 1, "text": f"ö{seq} "}) for seq in range(5, 9)]
    told += [Told("tool.started", 9, {"call_id": "c"})]
    told += [Told("text.delta", seq, {"step": 2, "text": f"t{seq}"}) for seq in range(10, 12)]
    for event in told:
        log.take("r", event)
    assert await log.flush() == "committed"
    found = rows(database, "SELECT type, seq, last_seq, payload FROM events ORDER BY seq")
    assert [(kind, first, last) for kind, first, last, _ in found] == [
        ("run.started", 1, 1),
        ("reasoning.delta", 2, 4),
        ("text.delta", 5, 8),
        ("tool.started", 9, 9),
        ("text.delta", 10, 11),
    ]
    assert json.loads(found[2][3]) == {"step": 1, "text": "ö5 ö6 ö7 ö8 "}
    await log.aclose()


async def test_a_text_that_goes_on_for_long_is_written_about_every_250_ms(tmp_path: Path) -> None:
    database = str(tmp_path / "audit.db")
    log = await AuditLog.open(database)
    log.begin(RunStart(id="r"))
    begun = time.monotonic()
    for seq in range(60):
        log.take("r", Told("text.delta", seq, {"step": 1, "text": "x"}))
        await asyncio.sleep(0.02)
    seconds = time.monotonic() - begun
    # Without another event, and without a flush.
    await until(lambda: one(database, "SELECT max(last_seq) FROM events") == 59)
    found = rows(database, "SELECT seq, last_seq, payload FROM events ORDER BY seq")
    assert 3 <= len(found) <= seconds / 0.25 + 3
    assert found[0][0] == 0
    assert found[-1][1] == 59
    assert sum(len(json.loads(payload)["text"]) for _, _, payload in found) == 60
    await log.aclose()


async def test_a_run_that_is_not_known_is_left_out(tmp_path: Path) -> None:
    database = str(tmp_path / "audit.db")
    log = await AuditLog.open(database)
    tell(log, "nobody", 3)
    log.end("nobody", RunOutcome("finished"))
    await log.aclose()
    assert one(database, "SELECT count(*) FROM events") == 0
    assert one(database, "SELECT count(*) FROM runs") == 0


async def test_a_server_that_stops_and_starts_again_has_everything(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    server = postgres_server
    log = await AuditLog.open(server.url, spill=tmp_path / "spill")
    log.begin(RunStart(id="r"))
    tell(log, "r", 100)
    assert await log.flush() == "committed"
    server.stop()
    tell(log, "r", 100, begin=100)
    begun = time.monotonic()
    log.end("r", RunOutcome("finished", "stop"))
    assert time.monotonic() - begun < 0.1
    assert await log.flush() == "spilled"
    assert not log.statistics.database_up
    spilled = log.statistics.spilled_bytes
    assert spilled > 0
    assert log.health() == {"audit": {"status": "degraded", "waiting": 0, "spilled_bytes": spilled}}
    log.begin(RunStart(id="r2", conversation_id="c2"))
    tell(log, "r2", 50)
    assert await log.flush() == "spilled"
    server.start()
    await until(lambda: log.statistics.database_up and log.statistics.spilled_bytes == 0)
    tell(log, "r2", 50, begin=50)
    assert await log.flush() == "committed"
    assert await log.aclose()
    assert events_of(server.url, "r") == [*range(200)]
    assert events_of(server.url, "r2") == [*range(100)]
    assert rows(server.url, "SELECT id, status FROM runs ORDER BY id") == [("r", "finished"), ("r2", "running")]
    assert rows(server.url, "SELECT * FROM writer_gaps") == []
    assert log.statistics.dropped == {}
    assert not (tmp_path / "spill").exists()


async def test_a_server_that_answers_nothing_does_not_hold_up_the_records(
    postgres_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drivers, "HANG_SECONDS", 1.0)
    server = postgres_server
    log = await AuditLog.open(server.url, spill=tmp_path / "spill")
    log.begin(RunStart(id="r"))
    assert await log.flush() == "committed"
    server.freeze()
    tell(log, "r", 10)
    assert await log.flush(20) == "spilled"
    tell(log, "r", 10, begin=10)
    assert await log.flush(20) == "spilled"
    server.resume()
    await until(lambda: log.statistics.database_up and log.statistics.spilled_bytes == 0)
    await log.aclose()
    assert events_of(server.url, "r") == [*range(20)]


async def test_a_connection_that_the_server_closed_is_opened_again_without_a_loss(
    postgres_url: str, tmp_path: Path
) -> None:
    import psycopg

    log = await AuditLog.open(postgres_url, spill=tmp_path / "spill")
    log.begin(RunStart(id="r"))
    assert await log.flush() == "committed"
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'xmcp audit' "
            "AND datname = current_database() AND pid <> pg_backend_pid()"
        )
    tell(log, "r", 10)
    assert await log.flush() == "committed"
    assert not (tmp_path / "spill").exists()
    await log.aclose()
    assert events_of(postgres_url, "r") == [*range(10)]


async def test_a_file_that_another_process_holds_locked_is_waited_for_and_then_spilled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xmcp.gateway.audit.database.STATEMENT_SECONDS", 0.3)
    database = str(tmp_path / "audit.db")
    log = await AuditLog.open(database)
    log.begin(RunStart(id="r"))
    assert await log.flush() == "committed"
    with sqlite3.connect(database, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        tell(log, "r", 10)
        assert await log.flush(10) == "spilled"
        other.execute("COMMIT")
    other.close()
    await until(lambda: log.statistics.spilled_bytes == 0)
    await log.aclose()
    assert events_of(database, "r") == [*range(10)]


@pytest.mark.parametrize("replaced", [False, True], ids=["removed", "replaced"])
async def test_what_is_written_after_the_file_was_taken_away_is_in_the_file_of_that_name(
    replaced: bool, tmp_path: Path
) -> None:
    database = tmp_path / "audit.db"
    log = await AuditLog.open(database)
    log.begin(RunStart(id="before"))
    assert await log.flush() == "committed"
    for end in ("", "-wal", "-shm"):
        with suppress(OSError):
            os.unlink(f"{database}{end}")
    if replaced:
        migrate(address_of(tmp_path / "other.db"))
        (tmp_path / "other.db").rename(database)
    log.begin(RunStart(id="after"))
    assert await log.flush() == "committed"
    assert rows(str(database), "SELECT id FROM runs") == [("after",)]
    # Where the folder is gone as well, nothing is said to be committed.
    (tmp_path / "audit.db").unlink()
    (tmp_path / "audit.db").mkdir()
    log.begin(RunStart(id="nowhere"))
    assert await log.flush() == "spilled"
    await log.aclose()


async def test_a_database_that_is_not_there_at_the_start_is_waited_for_if_it_is_not_required(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    server = postgres_server
    server.stop()
    with pytest.raises(Exception, match="cannot be used"):
        await AuditLog.open(server.url, spill=tmp_path / "spill")
    log = await AuditLog.open(server.url, spill=tmp_path / "spill", require=False)
    log.begin(RunStart(id="r"))
    tell(log, "r", 10)
    assert await log.flush() == "spilled"
    server.start()
    await until(lambda: log.statistics.database_up and log.statistics.spilled_bytes == 0)
    await log.aclose()
    assert events_of(server.url, "r") == [*range(10)]


async def test_what_a_process_leaves_on_the_disk_is_taken_by_the_next(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    server = postgres_server
    log = await AuditLog.open(server.url, spill=tmp_path / "spill")
    server.stop()
    log.begin(RunStart(id="r"))
    tell(log, "r", 100)
    assert await log.aclose()
    (left,) = (tmp_path / "spill").glob("*/*.ndjson")
    assert left.stat().st_mode & 0o777 == 0o600
    assert left.parent.stat().st_mode & 0o777 == 0o700
    with left.open("ab") as file:
        file.write(b'[["event",["r",1,')  # as a process leaves it that dies while it writes
    server.start()
    log = await AuditLog.open(server.url, spill=tmp_path / "spill")
    await until(lambda: not left.exists())
    await log.aclose()
    assert events_of(server.url, "r") == [*range(100)]
    assert rows(server.url, "SELECT dropped, reason FROM writer_gaps") == [(1, "torn")]


def test_what_another_process_is_writing_is_not_taken(tmp_path: Path) -> None:
    living, other = Spill(tmp_path, "living", 10**6), Spill(tmp_path, "other", 10**6)
    units: list[Unit] = [(row("executor", id="x", version="", started_at=1, lease_until=n),) for n in range(3)]
    assert living.append(units) == 3
    other.adopt()
    assert other.is_empty
    living.close()
    other.adopt()
    found = other.oldest()
    assert found is not None
    path, taken = found
    assert [*taken] == units
    other.taken(path)
    assert other.is_empty
    other.close()
    assert not tmp_path.exists()


def test_a_batch_can_be_sent_again_and_rows_may_come_in_any_order(database: str) -> None:
    address = address_of(database)
    migrate(address)
    driver = driver_for(address)
    run: dict[str, Any] = {"id": "r", "conversation_id": "c", "owner": "o", "started_at": 5}
    call: dict[str, Any] = {"run_id": "r", "attempt": 1, "call_id": "x", "turn": 1, "tool": "t", "read_only": 0}
    asked: dict[str, Any] = {"run_id": "r", "attempt": 1, "number": 1, "conversation_id": "c", "turn": 1}
    units: list[Unit] = [
        (row("run_ended", **run, status="finished", finished_at=9), row("run_accepted", **run, status="running")),
        (row("call_ended", **call, status="ok", finished_at=9), row("call_intended", **call, status="intent")),
        (row("call_seen", **call, status="error"),),
        (row("request_ended", **asked, answer="{}"), row("request_sent", **asked, messages_hash="h", message_count=1)),
        (
            row("conversation", id="c", created_at=5, last_run_at=9),
            row("conversation", id="c", created_at=5, last_run_at=5),
        ),
        (row("content", conversation_id="c", hash="h", content="{}"),),
        (row("event", run_id="r", attempt=1, seq=1, last_seq=1, at=1, type="notice", payload="{}"),),
    ]
    driver.connect()
    seen = []
    for order in (units, units, units[::-1], [unit[::-1] for unit in units]):
        for unit in order:
            driver.write([unit])
        driver.write(order)
        seen.append(
            [
                rows(database, "SELECT status, finished_at FROM runs"),
                rows(database, "SELECT status, finished_at FROM tool_invocations"),
                rows(database, "SELECT answer, messages_hash, message_count FROM model_requests"),
                rows(database, "SELECT last_run_at FROM conversations"),
                rows(database, "SELECT count(*) FROM events"),
                rows(database, "SELECT count(*) FROM contents"),
            ]
        )
    driver.close()
    assert seen == [[[("finished", 9)], [("ok", 9)], [("{}", "h", 1)], [(9,)], [(1,)], [(1,)]]] * 4


async def test_one_record_that_the_database_refuses_does_not_take_others_with_it(
    database: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from xmcp.gateway.audit import recording

    log = await AuditLog.open(database)
    log.begin(RunStart(id="r"))
    made = recording.event_row

    def bad(run_id: str, attempt: int, first: int, *rest: Any) -> Any:
        return made(run_id, attempt, first if first != 5 else 2**70, *rest)

    monkeypatch.setattr(recording, "event_row", bad)
    tell(log, "r", 10)
    assert await log.flush() == "lost"
    tell(log, "r", 10, begin=10)
    assert await log.flush() == "committed"
    await log.aclose()
    assert events_of(database, "r") == [n for n in range(20) if n != 5]
    assert rows(database, "SELECT dropped, reason FROM writer_gaps") == [(1, "refused")]
    assert log.statistics.dropped == {"refused": 1}


async def test_a_record_that_fails_does_not_end_the_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    database = str(tmp_path / "audit.db")
    log = await AuditLog.open(database)
    log.begin(RunStart(id="r"))
    assert await log.flush() == "committed"
    tell(log, "r", 1)

    class Broken:
        def rows(self, _: Any) -> Any:
            raise ZeroDivisionError

    log.put(Broken(), 1)
    assert await log.flush() == "lost"
    tell(log, "r", 1, begin=5)
    assert await log.flush() == "committed"
    await log.aclose()
    assert events_of(database, "r") == [0, 5]
    assert rows(database, "SELECT dropped, reason FROM writer_gaps") == [(1, "failed")]


async def test_text_is_dropped_first_then_records_are_spilled_then_dropped_and_a_row_says_so(
    postgres_server: PostgresServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = postgres_server
    log = await AuditLog.open(server.url, spill=tmp_path / "spill", limits=WriterLimits(spill_bytes=100_000))
    log.begin(RunStart(id="r"))
    assert await log.flush() == "committed"
    server.stop()
    for seq in range(0, 3000, 2):
        log.take("r", Told("text.delta", seq, {"step": 1, "text": f"piece {seq}"}))
        log.take("r", Told("notice", seq + 1, {"text": "y" * 100}))
        if seq % 100 == 0:
            await log.flush()
    assert await log.flush() == "lost"
    assert log.statistics.spilled_bytes <= 100_000
    assert log.statistics.dropped.keys() == {"text", "spill_full"}
    server.start()
    await until(lambda: log.statistics.database_up and log.statistics.spilled_bytes == 0)
    assert await log.flush() == "committed"
    await log.aclose()
    kept = dict(rows(server.url, "SELECT type, count(*) FROM events GROUP BY type"))
    dropped = dict(rows(server.url, "SELECT reason, dropped FROM writer_gaps"))
    assert kept["text.delta"] + dropped["text"] == 1500
    assert kept["notice"] + dropped["spill_full"] == 1500
    assert kept["notice"] > 1.5 * kept["text.delta"]
    spilling = [record for record in caplog.records if "spill" in record.message]
    assert 2 <= len(spilling) <= 4, "once for each change, not for each record"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", folder], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no small file system can be mounted: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


async def test_a_full_disk_costs_records_that_are_counted_and_nothing_else(
    small_disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = str(small_disk / "audit.db")
    log = await AuditLog.open(database)
    log.begin(RunStart(id="r"))
    tell(log, "r", 10)
    assert await log.flush() == "committed"
    filler = small_disk / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(b"\0" * 4096):
            pass
    tell(log, "r", 200, begin=10, size=5000)
    assert await log.flush() == "lost"
    dropped = log.statistics.dropped["disk"]
    assert 0 < dropped <= 200
    filler.unlink()
    await until(lambda: log.statistics.database_up and log.statistics.spilled_bytes == 0)
    tell(log, "r", 10, begin=1000)
    assert await log.flush() == "committed"
    assert await log.aclose()
    found = events_of(database, "r")
    assert [n for n in found if n < 10 or n >= 1000] == [*range(10), *range(1000, 1010)]
    assert len(found) == 220 - dropped
    assert rows(database, "SELECT dropped, reason FROM writer_gaps") == [(dropped, "disk")]
    assert one(database, "PRAGMA integrity_check") == "ok"


async def test_a_batch_that_the_writer_cannot_handle_is_counted_whole_and_the_next_one_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = str(tmp_path / "audit.db")
    log = await AuditLog.open(database)
    log.begin(RunStart(id="r"))
    assert await log.flush() == "committed"
    keep = Writer._keep
    monkeypatch.setattr(Writer, "_keep", lambda *_: 1 / 0)
    tell(log, "r", 3)
    assert await log.flush() == "lost"
    monkeypatch.setattr(Writer, "_keep", keep)
    tell(log, "r", 2, begin=10)
    assert await log.flush() == "committed"
    assert log.statistics.dropped == {"failed": 3}
    await log.aclose()
    assert events_of(database, "r") == [10, 11]
    assert rows(database, "SELECT dropped, reason FROM writer_gaps") == [(3, "failed")]


async def test_the_queue_is_bounded_while_the_writer_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = str(tmp_path / "audit.db")
    log = await AuditLog.open(database, limits=WriterLimits(queue_records=100))
    log.begin(RunStart(id="r"))
    assert await log.flush() == "committed"
    with sqlite3.connect(database, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")  # the writer waits up to 5 s for the lock
        tell(log, "r", 1)
        await until(lambda: log.statistics.queue_records == 0)  # the writer has taken it, and waits
        slowest = 0.0
        for seq in range(1, 500):
            begun = time.perf_counter()
            tell(log, "r", 1, begin=seq)
            slowest = max(slowest, time.perf_counter() - begun)
        assert log.statistics.queue_records == 100
        assert log.health()["audit"]["waiting"] == 100
        other.execute("COMMIT")
    other.close()
    assert slowest < 0.1
    await log.aclose()
    assert log.health() == {"audit": {"status": "degraded", "waiting": 0, "spilled_bytes": 0, "dropped_records": 399}}
    assert events_of(database, "r") == [*range(101)]
    assert rows(database, "SELECT dropped, reason FROM writer_gaps") == [(399, "queue_full")]


_KILLED = """
import asyncio, os, sys, time
from support.audited_runs import Told
from xmcp.gateway.audit import AuditLog, RunStart

async def main():
    log = await AuditLog.open(sys.argv[1])
    log.begin(RunStart(id="r"))
    await log.flush()
    seq = 0
    while True:
        log.take("r", Told("notice", seq, {"at": seq}))
        print(seq, time.monotonic(), flush=True)
        seq += 1
        await asyncio.sleep(0.001)

asyncio.run(main())
"""


def test_a_killed_process_loses_at_most_the_last_window(database: str, record_property: Any) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = subprocess.Popen(
        [sys.executable, "-c", _KILLED, database], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    told: dict[int, float] = {}
    for line in process.stdout:
        seq, at = line.split()
        told[int(seq)] = float(at)
        if len(told) == 800:
            process.send_signal(signal.SIGKILL)
    process.wait()
    kept = events_of(database, "r")
    assert kept == [*range(len(kept))]
    lost = len(told) - len(kept)
    window = told[len(told) - 1] - told[kept[-1]]
    record_property("lost", lost)
    record_property("seconds", window)
    assert lost <= len(told) // 2
    # The window, a commit, and a busy machine.
    assert window < 0.05 + 0.2


async def test_two_processes_write_one_file(tmp_path: Path) -> None:
    database = str(tmp_path / "audit.db")
    logs = [await AuditLog.open(database) for _ in range(2)]
    for number, log in enumerate(logs):
        log.begin(RunStart(id=f"r{number}", conversation_id="same"))
    for begin in range(0, 3000, 100):
        for number, log in enumerate(logs):
            tell(log, f"r{number}", 100, begin=begin)
        await asyncio.sleep(0.01)
    for log in logs:
        assert await log.aclose()
        assert log.statistics.dropped == {}
    assert events_of(database, "r0") == events_of(database, "r1") == [*range(3000)]


@pytest.mark.parametrize("days", [0, -1])
async def test_a_store_that_keeps_nothing_is_refused(days: int, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="keep_days must be 1 or more"):
        await AuditLog.open(tmp_path / "audit.db", keep_days=days)


async def test_ids_of_any_length_and_texts_with_nul_are_recorded(database: str) -> None:
    log = await AuditLog.open(database)
    log.begin(RunStart(id="r" * 5000, tenant="t\0\ud800", session="s" * 5000, model="m" * 5000))
    log.end("r" * 5000, RunOutcome("error", None, "C\0DE", "no\0thing\ud800" * 1000))
    assert await log.flush() == "committed"
    await log.aclose()
    ((run, tenant, message),) = rows(database, "SELECT id, tenant, error_message FROM runs")
    assert run.startswith("sha256:")
    assert tenant == "t\ufffd\ufffd"
    assert message.startswith("no\ufffdthing\ufffd")
    assert len(message) == 2000


def test_ids_sort_by_the_time_at_which_they_were_made() -> None:
    made = [uuid7() for _ in range(20_000)]
    assert made == sorted(made)
    assert len({*made}) == len(made)
    assert {(one_id[14], one_id[19] in "89ab") for one_id in made} == {("7", True)}
    assert abs(int(made[0].replace("-", "")[:12], 16) / 1000 - time.time()) < 60


async def test_an_outage_is_logged_when_it_begins_and_when_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("xmcp.gateway.audit.database.STATEMENT_SECONDS", 0.05)
    caplog.set_level(logging.WARNING, "xmcp.gateway")
    database = str(tmp_path / "audit.db")
    log = await AuditLog.open(database)
    log.begin(RunStart(id="r"))
    assert await log.flush() == "committed"
    with sqlite3.connect(database, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        for begin in range(20):
            tell(log, "r", 1, begin=begin)
            assert await log.flush(10) == "spilled"
        other.execute("COMMIT")
    other.close()
    await until(lambda: log.statistics.database_up)
    await log.aclose()
    said = [record.message for record in caplog.records]
    assert len(said) == 2, said
    assert "takes no records (database is locked); they are spilled" in said[0]
    assert "takes records again" in said[1]
