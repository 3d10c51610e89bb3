"""The soak can fail: each demand has data that breaks it, and what it watches with sees what it must see."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from random import Random

import pytest

from tools import ROOT
from tools.soak import __main__ as command
from tools.soak import client_process, http_peers, process_tree, scripted_model, verdicts
from tools.soak.run import run
from tools.soak.script import (
    FLOODS,
    HOSTILE,
    HTTP_FAULTS,
    MODEL_FAULTS,
    STDIO_FAULTS,
    Call,
    Deck,
    Plan,
    arrivals,
    canary,
    fault,
    foreign,
    honest_plan,
    owners,
    plan_of,
    storms,
    ticket,
)
from tools.soak.verdicts import DEMANDS, Measured, judge

MB = 1 << 20


def good(**changes):
    """What a client leaves behind that meets every demand, in a run of two minutes."""
    chats = [0.3] * 300
    measured = Measured(
        seconds=120,
        quiet=chats,
        storm=chats,
        memory=[(float(n), (150 + n // 10) * MB) for n in range(100)],
        closing=0.2,
        storms={storm.name: 2 for storm in storms()},
    )
    for name, value in changes.items():
        setattr(measured, name, value)
    return measured


def states(measured):
    return {demand.__name__: demand(measured).state for demand in DEMANDS}


def test_a_client_that_does_all_of_it_meets_every_demand():
    assert set(states(good()).values()) == {"ok"}


BROKEN = {
    "finished": {"broken": "client_process did not answer within 65 s"},
    "complete": {"storms": {"liar: bomb": 3}},
    "answered": {"failures": {"storm: wrong answer: None": 1}},
    "latency": {"storm": [0.3] * 290 + [0.7] * 10},
    "memory": {"memory": [(float(n), (100 + 2 * n) * MB) for n in range(100)]},
    "breakers": {"opened": ["circuit_open server='honest'"]},
    "apart": {"crossed": {"history of t01 has t02-canary-000001": 1}},
    "closed": {"left": ["task xmcp listen"]},
    "logged": {"log": {"asyncio: Task exception was never retrieved": 1}},
    "quiet_terminal": {"terminal": "\x1b[2J a line of a log\n"},
}


def test_every_demand_has_data_that_breaks_it():
    assert set(BROKEN) == {demand.__name__ for demand in DEMANDS}


@pytest.mark.parametrize("name", BROKEN)
def test_a_demand_fails_and_the_others_hold(name):
    found = states(good(**BROKEN[name]))
    assert found.pop(name) == "FAILED"
    if name == "finished":
        assert found.pop("closed") == "FAILED"  # a client that hangs was not closed
    assert set(found.values()) == {"ok"}


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("answered", {"quiet": [], "storm": []}),
        ("latency", {"storm": []}),
        ("latency", {"quiet": []}),
        ("memory", {"memory": []}),
        ("memory", {"memory": [(float(n), (2000 if n == 7 else 150) * MB) for n in range(100)]}),
        ("closed", {"closing": 30.0}),
        ("complete", {"storms": {}}),
        ("quiet_terminal", {"terminal": "a line of a server\n" * 10_000}),
        ("quiet_terminal", {"terminal": "Task exception was never retrieved\n"}),
        ("quiet_terminal", {"terminal": "Traceback (most recent call last):\n"}),
    ],
)
def test_a_demand_fails_in_other_ways_too(name, changes):
    assert states(good(**changes))[name] == "FAILED"


def test_bodies_that_come_and_go_are_no_growth():
    sizes = [(float(n), (400 if n % 2 and n > 60 else 150) * MB) for n in range(100)]
    assert verdicts.memory(good(memory=sizes)).state == "ok"


def test_a_run_without_any_data_fails():
    assert "FAILED" in states(Measured(seconds=10)).values()


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("latency", {"quiet": [0.3] * 40, "storm": [0.9] * 40}),
        ("latency", {"storm": [0.9] * 300, "starved": 0.6}),
        ("memory", BROKEN["memory"]),
        ("complete", BROKEN["complete"]),
    ],
)
def test_a_short_run_on_a_busy_machine_does_not_judge_what_needs_time_and_processors(name, changes):
    assert states(good(seconds=10, **changes))[name] == "not judged"


@pytest.mark.parametrize(
    ("seconds", "thirds", "state"),
    [
        (120, (100, 120, 144), "ok"),
        (120, (100, 130, 169), "FAILED"),
        (120, (100, 115, 150), "FAILED"),
        (120, (100, 150, 155), "ok"),
        (600, (100, 100, 108), "ok"),
        (600, (100, 100, 112), "FAILED"),
    ],
)
def test_memory_may_grow_once_while_caches_fill(seconds, thirds, state):
    sizes = [(float(n), thirds[min(n // 33, 2)] * MB) for n in range(100)]
    assert verdicts.memory(good(seconds=seconds, memory=sizes)).state == state


def test_a_short_run_still_fails_on_memory_without_a_bound():
    assert states(good(seconds=10, memory=[(0.0, 100 * MB), (1.0, 1500 * MB)]))["memory"] == "FAILED"


def test_the_ratio_is_of_the_slowest_in_a_hundred():
    many = good(storm=[0.3] * 299 + [9.0])
    assert verdicts.latency(many).state == "ok"
    assert verdicts.percentile([5, 1, 4, 2, 3], 0.5) == 3
    assert verdicts.percentile(range(1, 101), 0.99) == 100


@pytest.mark.parametrize(("measured", "code"), [(good(), 0), (good(**BROKEN["apart"]), 1)])
def test_the_command_says_every_verdict_and_exits_by_them(monkeypatch, capsys, tmp_path, measured, code):
    monkeypatch.setattr(command, "run", lambda *_: measured)
    monkeypatch.setattr(sys, "argv", ["soak", "--json", str(tmp_path / "soak.json")])
    with pytest.raises(SystemExit) as left:
        command.main()
    assert left.value.code == code
    told = capsys.readouterr().out
    assert all(verdict.demand in told for verdict in judge(measured))
    written = json.loads((tmp_path / "soak.json").read_text())
    assert len(written["verdicts"]) == len(DEMANDS)
    assert written["quiet"] == measured.quiet


# ---- what the demands rest on ----


def test_a_canary_of_another_tenant_is_seen():
    own, other = canary("t01", 7), canary("t02", 7)
    assert foreign(f"{own} and {other}", "t01") == [other]
    assert owners(f"{own} and {other}") == ["t01", "t02"]


PLAN = Plan([[Call("honest__look", {"text": canary("t01", 7)}, 2)]], canary("t01", 7))


def history(*results):
    return [{"role": "assistant"}, *({"role": "tool", "content": text} for text in results)]


def test_a_prompt_carries_its_plan():
    messages = [{"role": "user", "content": "before"}, {"role": "user", "content": PLAN.prompt}, *history()]
    assert plan_of(messages) == (PLAN, history())


def test_the_model_sees_a_result_that_is_missing_or_is_not_the_tools():
    right = f"found: {canary('t01', 7)}"
    assert fault(PLAN, []) is None
    assert fault(PLAN, history(right, right)) is None
    assert fault(PLAN, history(right, ticket(1))) is None
    assert fault(PLAN, history(right))
    assert fault(PLAN, history(right, "CIRCUIT_OPEN"))
    assert fault(PLAN, history(right, f"found: {canary('t02', 7)}"))


def test_the_model_refuses_messages_of_another_tenant():
    messages = [{"role": "user", "content": f"{PLAN.prompt} {canary('t02', 1)}"}]
    assert "t02-canary-000001" in scripted_model.verdict(PLAN, [], messages)
    assert scripted_model.verdict(PLAN, [], [{"role": "user", "content": PLAN.prompt}]) is None


def test_honest_chats_begin_at_the_same_moments_at_both_clients():
    first, second = (arrivals(["t00", "t01"], 10, 2, Random(3)) for _ in range(2))
    assert first == second
    assert 8 <= len(first) <= 14
    assert first == sorted(first)
    assert honest_plan("t00-canary-000001", Random(1)).turns


def test_the_deck_deals_every_hostile_chat_before_it_repeats_one():
    deck, kinds = Deck(Random(1)), storms()
    names = [deck.deal().name for _ in range(2 * len(kinds))]
    assert sorted(names[: len(kinds)]) == sorted(storm.name for storm in kinds)
    assert sorted(names[len(kinds) :]) == sorted(storm.name for storm in kinds)


def test_every_fault_that_is_asked_for_is_one_that_a_peer_can_do():
    assert set(HTTP_FAULTS) <= set(http_peers.TOOLS)
    assert set(MODEL_FAULTS) <= set(scripted_model.ENDS)
    source = (ROOT / "tools/soak/stdio_peer.py").read_text()
    assert [name for name in (*STDIO_FAULTS, *FLOODS) if f'case "{name}"' not in source] == []


def test_honest_and_hostile_tenants_are_twenty():
    assert len({*HOSTILE, *(f"t{n:02}" for n in range(15))}) == 20


@pytest.mark.parametrize(
    ("logger", "level", "text", "exception"),
    [
        ("asyncio", logging.ERROR, "Task exception was never retrieved", None),
        ("xmcp", logging.ERROR, "callback_failed", ValueError("x")),
        ("mcp", logging.WARNING, "a log of a server: \x1b[2J", None),
        ("httpx2", logging.WARNING, "Traceback (most recent call last): ...", None),
    ],
)
def test_the_log_shows_what_no_log_should_have(logger, level, text, exception):
    log = client_process.Log()
    info = (type(exception), exception, None) if exception else None
    log.emit(logging.LogRecord(logger, level, "file", 1, text, None, info))
    assert log.faults


def test_the_log_of_a_client_that_reports_its_servers_is_no_fault():
    log = client_process.Log()
    for text in ("server_lost server='liar'", "circuit_open server='liar'"):
        record = logging.LogRecord("xmcp", logging.WARNING, "file", 1, text, None, None)
        record.xmcp = {"server": "liar"}
        log.emit(record)
    assert not log.faults
    assert not log.opened
    record = logging.LogRecord("xmcp", logging.WARNING, "file", 1, "circuit_open server='honest'", None, None)
    record.xmcp = {"server": "honest"}
    log.emit(record)
    assert len(log.opened) == 1


class Shown:
    def to_dict(self):
        return {"payload": canary("t02", 1)}


@pytest.mark.parametrize(
    "get",
    [
        lambda soak: soak._see(canary("t02", 1), "t01", "history"),
        lambda soak: [soak._see(ticket(3), tenant, "history") for tenant in ("t01", "t02")],
        lambda soak: soak._on_display(Shown(), [{"role": "user", "content": canary("t01", 1)}]),
        lambda soak: soak._on_error(None, [{"content": canary("t01", 1)}, {"content": canary("t02", 1)}]),
        lambda soak: soak._on_usage({"tenant_id": "t01", "session_id": "t02-session"}),
        lambda soak: soak._on_usage({"tenant_id": None, "session_id": "t02-session"}),
    ],
)
def test_the_client_notes_what_one_tenant_gets_of_another(get):
    soak = client_process.Soak(client_process.Log())
    get(soak)
    assert soak._crossed


def test_what_a_tenant_gets_of_its_own_is_no_fault():
    soak = client_process.Soak(client_process.Log())
    soak._see(canary("t02", 1), "t02", "history")
    soak._see(ticket(3), "t02", "event")
    soak._see(ticket(3), "t02", "history")
    soak._on_display(Shown(), [{"role": "user", "content": canary("t02", 9)}])
    soak._on_usage({"tenant_id": "t02", "session_id": "t02-session"})
    assert not soak._crossed


def test_the_processor_time_of_a_process_counts_its_descendants():
    line = f"17 (a (strange) name) S 9 {' '.join(str(n) for n in range(5, 60))}"
    one = process_tree.stat_of(line)
    assert (one.pid, one.parent) == (17, 9)
    before = process_tree.cpu_seconds(os.getpid())
    subprocess.run([sys.executable, "-c", "sum(range(5_000_000))"], check=True, timeout=300)
    assert process_tree.cpu_seconds(os.getpid()) > before


def test_a_process_that_computes_was_scheduled():
    ran, waited = process_tree.scheduled(os.getpid())
    sum(range(3_000_000))
    assert process_tree.scheduled(os.getpid())[0] > ran
    assert waited >= 0
    assert process_tree.scheduled(2**22 + 1) == (0, 0)


def test_memory_is_that_of_a_process_or_none():
    assert process_tree.resident(os.getpid()) > MB
    assert process_tree.resident(2**22 + 1) == 0


async def test_the_watch_sees_where_the_loop_stood_still():
    import asyncio

    watch = client_process.Watch()
    watch.start()
    beat = asyncio.create_task(watch.beat())
    await asyncio.sleep(0.05)
    time.sleep(3 * client_process.STALL)  # noqa: ASYNC251 -- this is the fault
    await asyncio.sleep(0.05)
    beat.cancel()
    (late, place), *_ = watch.stalls
    assert late >= client_process.STALL
    assert "test_soak.py" in place


@pytest.mark.slow
def test_a_short_run_storms_measures_and_comes_to_its_end():
    told = []
    measured = run(10, 1, told.append)
    assert measured.broken == ""
    assert measured.quiet
    assert measured.storm
    assert sum(measured.storms.values()) > 5
    assert measured.memory
    assert measured.cpu["storm client"] > 0
    assert measured.crossed == {}
    assert measured.left == []
    assert told[-1] == "the storm is over"
    assert json.dumps(measured.to_json())
