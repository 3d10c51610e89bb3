"""The disk is full: records are dropped and counted, chats go on, and what was written before stays whole."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from support.audited_runs import rows
from support.lost_records import Seen, lost, until_recorded
from support.outages import cut
from support.small_disk import small_disk

pytestmark = pytest.mark.slow

CHATS = 4
LARGE = "x" * 20_000


async def provoke(gateway: Any, database: Any, begin: Any, end: Any) -> dict[str, list[Seen]]:
    """Hold chats before, while, and after the disk is full; return them."""
    seen: dict[str, list[Seen]] = {"before": [], "during": [], "after": []}
    process = gateway.process.pid
    async with gateway.http() as http:

        async def chats(when: str) -> None:
            for number in range(CHATS):
                answer = await http.post("/chat", json={"input": f"{when} {number} {LARGE}"})
                assert answer.status_code == 200, answer.text
                seen[when].append(Seen.of(answer.json()))

        await chats("before")
        await until_recorded(database, seen["before"])
        await begin(process)
        async with asyncio.timeout(60):
            while not await gateway.metric("xmcp_audit_dropped_total", "disk"):
                await chats("during")
        health = (await http.get("/health")).json()
        assert (health["status"], health["backends"], health["audit"]["status"]) == (
            "degraded",
            {"audit": "down"},
            "degraded",
        )
        assert (await http.get("/readyz")).status_code == 200
        await end(process)
        await gateway.until(1, "xmcp_backend_up", "audit")
        await gateway.until(0, "xmcp_audit_spilled_bytes")
        await chats("after")
        health = (await http.get("/health")).json()
        assert health["status"] == "ok"
    return seen


def judge(database: str, seen: dict[str, list[Seen]], dropped: float, record_property: Any) -> None:
    """Measure the loss: only chats of the time without room lack something, and a row says how much."""
    missing = lost(database, [chat for chats in seen.values() for chat in chats])
    record_property("chats while it was full", len(seen["during"]))
    record_property("chats whose record lacks something", len(missing))
    record_property("records dropped", dropped)
    assert missing
    assert missing.keys() <= {chat.run_id for chat in seen["during"]}
    assert rows(database, "SELECT sum(dropped), max(reason) FROM writer_gaps WHERE reason <> 'text'") == [
        (dropped, "disk")
    ]


async def test_a_full_disk_under_sqlite_costs_the_records_of_that_time(
    start: Any, tmp_path: Path, record_property: Any
) -> None:
    folder, copy = tmp_path / "small", tmp_path / "copy.db"
    folder.mkdir()
    with small_disk(folder) as disk:
        record_property("disk", disk.how)

        async def begin(process: int) -> None:
            await asyncio.to_thread(disk.fill, process)

        async def end(process: int) -> None:
            await asyncio.to_thread(disk.free, process)

        async with start(str(folder / "audit.db"), before=disk.before) as gateway:
            seen = await provoke(gateway, lambda: disk.copied("audit.db", copy), begin, end)
            dropped = await gateway.metric("xmcp_audit_dropped_total", "disk")
            assert dropped is not None
            assert await gateway.terminate() == 0
        copied = disk.copied("audit.db", copy)
        judge(copied, seen, dropped, record_property)
        assert rows(copied, "PRAGMA integrity_check") == [("ok",)]


async def test_a_full_disk_for_what_postgresql_does_not_take_costs_the_records_of_that_time(
    start: Any, tmp_path: Path, own_database: str, record_property: Any
) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    with small_disk(folder) as disk:
        record_property("disk", disk.how)
        async with cut(own_database) as outage:

            async def begin(process: int) -> None:
                await asyncio.to_thread(disk.fill, process)
                await asyncio.to_thread(outage.begin)

            async def end(process: int) -> None:
                await asyncio.to_thread(disk.free, process)
                await asyncio.to_thread(outage.end)

            async with start(outage.url, before=disk.before, state=folder) as gateway:
                seen = await provoke(gateway, own_database, begin, end)
                dropped = await gateway.metric("xmcp_audit_dropped_total", "disk")
                assert dropped is not None
                assert await gateway.terminate() == 0
        judge(own_database, seen, dropped, record_property)
