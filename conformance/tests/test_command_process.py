"""A command is started again while it is judged, so that nobody waits: what becomes of these processes."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from left_processes import left
from server_reports import report_on

from xmcp_conformance.core.events import CallMade, RunEnded
from xmcp_conformance.profiles.server import blackbox
from xmcp_conformance.profiles.server.blackbox import check
from xmcp_conformance.profiles.server.bounded_wire import Stray
from xmcp_conformance.profiles.server.command_process import StartedAhead
from xmcp_conformance.profiles.server.options import Options
from xmcp_conformance.profiles.server.pace import Pace
from xmcp_conformance.profiles.server.peers import HttpPeer, PeerLate, PeerUnavailable, StdioPeer
from xmcp_conformance.profiles.server.run import Run
from xmcp_conformance.profiles.server.server_under_test import Session
from xmcp_conformance.wrong.servers.miniature import Miniature

OPTIONS = Options(calls=2, examples=1)
SERVER = """
import fcntl, os, runpy, sys
folder, kind = sys.argv[1], sys.argv.pop(2)
with open(folder + "/starts", "a") as starts:
    starts.write(str(os.getpid()) + "\\n")
lock = open(folder + "/lock", "w")
if kind == "waits":
    fcntl.flock(lock, fcntl.LOCK_EX)
elif kind in ("refuses", "refuses later"):
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if kind == "refuses later":
            sys.stdin.readline()
        sys.exit("another instance runs")
if kind == "gone":
    sys.stdin.readline()
    sys.exit(1)
sys.argv[1:] = ["negotiated"]
runpy.run_module("xmcp_conformance.mutants", run_name="__main__")
"""


def command(folder: Path, kind: str = "") -> StdioPeer:
    """Return the miniature as a command, which notes each start in a file `starts` of the folder."""
    return StdioPeer((sys.executable, "-c", SERVER, str(folder), kind))


def starts(folder: Path) -> list[str]:
    return (folder / "starts").read_text().split()


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


RUNS = 4
"""Processes that a server needs whose wire is negotiated: the stateless era, and three clients of the handshake."""


@pytest.mark.parametrize("one_process", [False, True])
async def test_a_command_is_started_as_often_as_it_is_needed_and_nothing_is_left(tmp_path, one_process):
    report = await report_on(command(tmp_path), replace(OPTIONS, one_process=one_process))
    assert report.conforms
    assert len(starts(tmp_path)) == RUNS
    assert left(str(tmp_path)) == []


async def test_a_command_is_judged_in_both_eras_at_the_same_time_and_told_in_one_after_the_other(tmp_path, monkeypatch):
    in_handshake, call = asyncio.Event(), Session.call

    async def call_when_both_are_there(session, *arguments):
        if session.is_stateless:
            await asyncio.wait_for(in_handshake.wait(), 300)
        else:
            in_handshake.set()
        return await call(session, *arguments)

    monkeypatch.setattr(Session, "call", call_when_both_are_there)
    events = []
    await check([command(tmp_path)], OPTIONS, events.append)
    runs = [event.run for event in events if isinstance(event, RunEnded)]
    told = [event.run for event in events if isinstance(event, CallMade)]
    assert list(dict.fromkeys(told)) == [run for run in runs if "MCP Apps" not in run]  # makes no calls
    assert told == [one for run in runs for one in told if one == run]
    assert ["2025-11-25" in run for run in runs] == [False] * 5 + [True] * 3


LEAVES_A_CHILD = """
import pathlib, subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", __file__], stdin=subprocess.DEVNULL)
pathlib.Path(__file__).with_name("started").touch()
sys.stdin.read()
"""


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="groups of processes are POSIX")
async def test_what_a_server_started_does_not_outlive_a_server_that_ends_by_itself(tmp_path):
    path = tmp_path / "server.py"
    path.write_text(LEAVES_A_CHILD)
    ahead = StartedAhead(StdioPeer((sys.executable, str(path))))
    await ahead.start(beside=False)
    with anyio.fail_after(60):
        while not (tmp_path / "started").exists():  # noqa: ASYNC110 - it is in another process
            await anyio.sleep(0.01)
    await ahead.stop()
    assert left(str(tmp_path)) == []


class _EscapesTwiceInTheHandshake(Miniature):
    """Escapes markup twice in one era alone, and there always."""

    async def handle(self, name, arguments, capabilities, handshake):
        self.in_handshake = handshake
        return await super().handle(name, arguments, capabilities, handshake)

    def escaped(self, text):
        once = super().escaped(text)
        return super().escaped(once) if self.in_handshake else once


async def test_the_answers_of_one_era_are_compared_with_those_of_the_other():
    report = await report_on(_EscapesTwiceInTheHandshake(), replace(OPTIONS, calls=20))
    assert "XMCP-RSP-020" in {one.requirement.id for one in report.judgements if one.first is not None}
    alone = await report_on(_EscapesTwiceInTheHandshake(), replace(OPTIONS, calls=20, eras=("handshake",)))
    assert [one.requirement.id for one in alone.judgements if one.first is not None] == []


@pytest.mark.parametrize("kind", ["refuses", "refuses later"])
async def test_the_next_process_starts_while_the_one_before_is_judged_unless_one_process_is_asked_for(tmp_path, kind):
    counts: dict[bool, int] = {}
    for one_process in (False, True):
        folder = tmp_path / str(one_process)
        folder.mkdir()
        # One that cannot run twice ends: it is started again after the one before has ended.
        report = await report_on(command(folder, kind), replace(OPTIONS, one_process=one_process))
        assert report.conforms
        assert not [note for run in report.runs for note in run.notes if "Not judged" in note]
        counts[one_process] = len(starts(folder))
    assert counts[True] == RUNS
    assert counts[False] > RUNS


async def test_a_command_that_waits_for_the_one_before_it_is_judged_in_every_run(tmp_path):
    report = await report_on(command(tmp_path, "waits"), OPTIONS)
    assert report.conforms
    assert not [note for run in report.runs for note in run.notes if "Not judged" in note]
    assert left(str(tmp_path)) == []


async def test_a_process_that_nobody_takes_is_ended(tmp_path):
    ahead = StartedAhead(command(tmp_path))
    await ahead.start(beside=False)
    await ahead.start(beside=False)  # one is enough
    await ahead.stop()
    assert len(ahead._all) == 1
    assert left(str(tmp_path)) == []


async def test_a_process_that_ended_by_itself_is_not_taken():
    ahead = StartedAhead(StdioPeer((sys.executable, "-c", "pass")))
    await ahead.start(beside=False)
    await ahead._all[0].process.wait()
    assert ahead.take() is None
    await ahead.stop()


@pytest.mark.parametrize(
    "peer", [StdioPeer(("no-such-program-of-xmcp",)), StdioPeer(("/",)), HttpPeer("http://127.0.0.1:1/mcp")]
)
async def test_what_cannot_be_started_ahead_is_started_or_reached_when_it_is_needed(peer):
    ahead = StartedAhead(peer)
    await ahead.start(beside=False)
    assert ahead.take() is None
    await ahead.stop()


async def test_what_a_command_started_that_has_ended_itself_is_ended_too():
    mark = f"launched-{time.monotonic_ns()}"
    launched = f"import sys; sys.stdin.read()  # {mark}"
    launcher = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {launched!r}])"
    await anyio.run_process([sys.executable, "-c", ""])  # what asyncio keeps open for the first process of all
    ahead, before = StartedAhead(StdioPeer((sys.executable, "-c", launcher))), open_files()
    await ahead.start(beside=False)
    await ahead._all[0].process.wait()
    assert ahead.take() is None
    await ahead.stop()
    assert left(mark) == []
    for _ in range(400):  # the thread that reads its standard error needs a moment
        if open_files() == before:
            break
        await anyio.sleep(0.05)
    assert open_files() == before


async def test_a_process_that_ended_beside_another_one_is_a_note_and_one_that_was_alone_is_a_fault(tmp_path):
    report = await report_on(command(tmp_path, "refuses later"), OPTIONS)
    assert [note for run in report.runs for note in run.notes if "started beside another one" in note]
    before, gone = len(starts(tmp_path)), command(tmp_path, "gone")
    ahead = StartedAhead(gone)
    await ahead.start(beside=False)
    try:
        with pytest.raises(PeerUnavailable, match="ended before it answered"):
            await check([gone], OPTIONS, lambda _: None, first=ahead)
    finally:
        await ahead.stop()
    assert len(starts(tmp_path)) == before + 1


@pytest.mark.parametrize(
    ("fault", "alone", "times"), [(PeerLate, True, 1), (PeerLate, False, 2), (PeerUnavailable, True, 2)]
)
async def test_a_process_that_is_late_is_waited_for_again_only_after_another_run(monkeypatch, fault, alone, times):
    connections = []

    @asynccontextmanager
    async def connect(*_peer, started=None, **_options):
        connections.append(started)
        if started is not None:
            raise fault("it did not answer")
        assert run.alone.is_set()
        yield "session"

    monkeypatch.setattr(blackbox, "connect", connect)
    ahead = StartedAhead(StdioPeer((sys.executable, "-c", "input()")))
    await ahead.start(beside=True)
    run = Run(ahead.peer, "handshake", OPTIONS, lambda _: None, Pace(), None, Stray(), ahead)
    if not alone:
        run.alone.clear()
        asyncio.get_running_loop().call_later(0.1, run.alone.set)
    try:
        with pytest.raises(PeerLate) if times == 1 else nullcontext():
            async with blackbox._connected(run) as session:
                assert session == "session"
    finally:
        await ahead.stop()
    assert len(connections) == times
