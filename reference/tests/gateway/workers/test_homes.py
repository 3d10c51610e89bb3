"""Where a request belongs: what name it has, and that what begins in a process belongs there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from xmcp.gateway.audit.archive import Archive
from xmcp.gateway.http.homes import name_of_chat, name_of_session
from xmcp.gateway.runs.events import new_run_id, new_run_id_at
from xmcp.gateway.runs.kept import Keeping
from xmcp.gateway.runs.request import ChatRequest
from xmcp.gateway.runs.retries import RequestMark
from xmcp.gateway.runs.rounds import open_call_id
from xmcp.gateway.sessions.sessions import Sessions
from xmcp.gateway.sessions.window import Window
from xmcp.gateway.workers.place import WorkerPlace

RUN, OLDER_RUN = f"run_{'1' * 32}", f"run_{'2' * 32}"
DIGEST = b"\1" * 32


def round_of(run_id: str) -> list[Any]:
    """Return the messages of a client about a call that a run left to it."""
    call = {"id": open_call_id(run_id, 0), "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": "x"},
    ]


FOREIGN = [
    {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": {}}]},
    {"role": "tool", "tool_call_id": "call_1", "content": "x"},
]
KEY = RequestMark(DIGEST, ("front-end", "k"))


@pytest.mark.parametrize(
    ("session", "history", "mark", "name"),
    [
        (None, [], RequestMark(DIGEST), DIGEST.hex()),
        (None, [], RequestMark(DIGEST, None, is_retry=True), DIGEST.hex()),
        (None, FOREIGN, RequestMark(DIGEST), DIGEST.hex()),
        (None, [], KEY, "front-end\0k"),
        (None, round_of(RUN), RequestMark(DIGEST), RUN),
        (None, round_of(RUN), KEY, RUN),
        (None, [*round_of(OLDER_RUN), *round_of(RUN), {"role": "user", "content": "and?"}, *FOREIGN], KEY, RUN),
        ("s", [], RequestMark(DIGEST), name_of_session("t", "s")),
        ("s", round_of(RUN), KEY, name_of_session("t", "s")),
    ],
)
def test_a_chat_is_named_by_its_session_its_round_its_key_or_all_that_it_is(
    session: str | None, history: list[Any], mark: RequestMark, name: str
) -> None:
    chat = ChatRequest(surface="chat", model="m", query=None, history=history, session_id=session)
    assert name_of_chat(chat, "t", mark) == name


def test_a_session_and_its_conversation_have_one_home() -> None:
    assert name_of_session("t", "s") == Archive.conversation_of("t", "s") != name_of_session(None, "s")


def test_runs_that_begin_in_a_process_belong_there_and_keep_the_order_of_time() -> None:
    for number in range(3):
        place = WorkerPlace(number, 3, Path())
        ids = [new_run_id_at(place) for _ in range(50)]
        assert {place.home_of(run_id) for run_id in ids} == {number}
        assert ids == sorted(set(ids))


def test_names_are_spread_over_all_processes() -> None:
    place = WorkerPlace(0, 4, Path())
    found = Counter(place.home_of(new_run_id()) for _ in range(4_000))
    assert sorted(found) == [0, 1, 2, 3]
    assert min(found.values()) > 800


def test_sessions_of_two_processes_never_have_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where their clocks stand still, or go back."""
    held = [Sessions(Window(9, 9_000), Keeping(60, 9_000)) for _ in range(2)]
    held[1].worker = 1
    places = []
    for now in (5_000_000, 5_000_000, 4_000_000, 9_000_000):
        monkeypatch.setattr("xmcp.gateway.sessions.sessions.time.time_ns", lambda now=now: now)
        places += [one.described((None, "s"), ()).place for one in held]
    assert places == sorted(set(places))
