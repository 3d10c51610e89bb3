"""Server-sent events are read as the standard of WHATWG says, however they are cut into pieces."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from xmcp_conformance.core.checks import run_all
from xmcp_conformance.profiles.gateway import checks  # noqa: F401 - the import registers them
from xmcp_conformance.profiles.gateway.event_stream import EventStreamReader, SentEvent
from xmcp_conformance.profiles.gateway.exchange import Answer
from xmcp_conformance.profiles.gateway.json_objects import object_in
from xmcp_conformance.profiles.gateway.seen import Streamed
from xmcp_conformance.profiles.gateway.told import told

STREAM = (
    "\ufeff: hello\r\ndata: one\r\n\r\nevent: a\rdata:two\rdata: three\rid: 7\r\r"
    "event: nothing\n\nid\ndata\n\nx: y\ndata:  é\n\n"
)
EVENTS = [
    SentEvent("", "", "one"),
    SentEvent("a", "7", "two\nthree"),
    SentEvent("", "", ""),
    SentEvent("", "", " é"),
]


@pytest.mark.parametrize("seed", range(40))
def test_events_do_not_depend_on_where_the_stream_is_cut(seed):
    draw, rest, reader = random.Random(seed), STREAM.encode(), EventStreamReader()
    found = []
    while rest:
        size = draw.randint(1, 7)
        found += reader.feed(rest[:size])
        rest = rest[size:]
    assert found == EVENTS
    assert reader.fault == ""
    assert not reader.is_cut


def test_what_has_begun_is_no_event_and_is_known():
    reader = EventStreamReader()
    assert reader.feed(b"data: one\n") == []
    assert reader.is_cut


def test_a_long_line_costs_no_more_for_coming_in_many_pieces():
    reader = EventStreamReader()
    for _ in range(1000):
        assert reader.feed(b"x" * 1000) == []
    assert reader.waiting == 1_000_000
    assert len(reader._parts) == 1000


def test_the_example_of_chapter_7_obeys_every_sentence():
    text = (Path(__file__).parents[2] / "spec" / "examples" / "one-run.txt").read_bytes()
    events = EventStreamReader().feed(text)
    found = list(run_all("gateway", Streamed(Answer(200, "text/event-stream", events))))
    assert len(found) > 20
    assert [str(one) for one in found if not one.ok] == []


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"a":1,"a":2}', "NaN", "[" * 100_000, '{"a":' * 100 + "1" + "}" * 100]
)
def test_what_is_no_json_object_says_why(text):
    assert object_in(text)[0] == {}
    assert object_in(text)[1]


@pytest.mark.parametrize(
    "id_", ["", "run:1", "run:0:1", "run:1:0", "run:1:1:1", "a b:1:1", "run:1:99999999999", "run:١:1"]
)
def test_an_id_has_a_run_an_attempt_and_a_place(id_):
    assert told(SentEvent("notice", id_, "{}")).place is None
