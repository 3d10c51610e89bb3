"""Connections that are opened before they are needed, and closed while others are used."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from xmcp_conformance.core.events import RunStarted
from xmcp_conformance.profiles.server import blackbox
from xmcp_conformance.profiles.server.call_plan import Options
from xmcp_conformance.profiles.server.early_connections import EarlyConnections
from xmcp_conformance.profiles.server.server_under_test import PeerUnavailable, StdioPeer
from xmcp_conformance.wrong.servers.direct_session import DirectSession
from xmcp_conformance.wrong.servers.miniature import Negotiated


class Opened:
    """Opens connections, and knows how many are open."""

    def __init__(self, *faults: Exception | None) -> None:
        self.faults, self.count, self.open = list(faults), 0, 0
        self.slow = False

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Any]:
        self.count += 1
        fault = self.faults.pop(0) if self.faults else None
        if self.slow:
            await anyio.sleep_forever()
        if fault is not None:
            raise fault
        self.open += 1
        try:
            yield self.count
        finally:
            self.open -= 1


async def test_a_connection_that_was_begun_is_the_one_that_is_used() -> None:
    opened, early = Opened(), EarlyConnections()
    early.begin("a", opened.connect)
    await anyio.wait_all_tasks_blocked()
    assert opened.open == 1
    async with early.connected("a", opened.connect) as session:
        assert (str(session), opened.count) == ("1", 1)
    async with early.connected("a", opened.connect) as session:
        assert str(session) == "2"
    await early.close()
    assert opened.open == 0


async def test_one_that_did_not_come_about_is_opened_again_and_then_it_is_told_why() -> None:
    opened, early = (
        Opened(PeerUnavailable("busy"), None, PeerUnavailable("busy"), PeerUnavailable("gone")),
        EarlyConnections(),
    )
    early.begin("a", opened.connect)
    async with early.connected("a", opened.connect) as session:
        assert str(session) == "2"
    early.begin("b", opened.connect)
    with pytest.raises(PeerUnavailable, match="gone"):
        async with early.connected("b", opened.connect):
            pass
    await early.close()
    assert (opened.open, opened.count) == (0, 4)


async def test_one_that_is_not_needed_is_closed_and_one_that_is_still_opened_is_given_up() -> None:
    opened, early = Opened(), EarlyConnections()
    early.begin("a", opened.connect)
    await anyio.wait_all_tasks_blocked()
    opened.slow = True
    early.begin("b", opened.connect)
    await anyio.wait_all_tasks_blocked()
    with anyio.fail_after(5):
        await early.close()
    assert opened.open == 0


async def test_what_the_user_of_a_connection_raises_is_raised_as_it_is() -> None:
    opened, early = Opened(), EarlyConnections()
    with pytest.raises(KeyError):
        async with early.connected("a", opened.connect):
            raise KeyError
    await early.close()
    assert opened.open == 0


async def test_a_fault_of_the_suite_is_no_fault_of_the_peer() -> None:
    opened, early = Opened(RuntimeError("a defect")), EarlyConnections()
    with pytest.raises(RuntimeError, match="a defect"):
        async with early.connected("a", opened.connect):
            pass
    await early.close()


@pytest.mark.parametrize("takes_one_at_a_time", [False, True])
async def test_a_command_is_started_for_the_next_run_and_judged_the_same_if_it_runs_once_only(
    takes_one_at_a_time: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = now = 0

    @asynccontextmanager
    async def connect(_peer: object, era: str, **declared: Any) -> AsyncIterator[DirectSession]:
        nonlocal most, now
        if takes_one_at_a_time and now:
            raise PeerUnavailable("another one is running")
        now += 1
        most = max(most, now)
        session = DirectSession(Negotiated(), handshake=era == "handshake")
        session.declare(declares=declared["declares"], max_bytes=declared["max_bytes"])
        try:
            yield session
        finally:
            await anyio.sleep(0.02)  # as a program that ends
            now -= 1

    runs: Counter[tuple[str, str]] = Counter()
    notes: list[str] = []

    def emit(event: Any) -> None:
        if isinstance(event, RunStarted):
            runs[event.client, event.protocol_version] += 1
        notes.extend([event.text] if event.kind == "note" else [])

    monkeypatch.setattr(blackbox, "connect", connect)
    await blackbox.check([StdioPeer(("a", "command"))], Options(examples=1, calls=6), emit)
    assert runs == {
        **{(client, "2026-07-28"): 1 for client in ("declared", "limited", "plain")},
        **{(client, "2025-11-25"): 1 for client in ("declared", "plain")},
    }
    assert not [note for note in notes if "Not judged" in note]
    assert (most == 1) is takes_one_at_a_time
    assert most <= 3, "one that ends, one that is judged, and the next"
    assert now == 0
