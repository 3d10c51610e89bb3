"""The chat-completions format without a network: what compatible servers really send is read, and read the same."""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.growth import is_linear

from xmcp.chat.completions import MAX_ID, unique_ids
from xmcp.chat.json_pieces import PIECE
from xmcp.providers import ErrorCategory, ProviderError, ToolCall, Usage
from xmcp.providers.errors import classify, redact
from xmcp.providers.formats import chat_completions
from xmcp.providers.formats.chat_completions import (
    MAX_CONTAINERS,
    MAX_VALUES,
    Assembly,
    content_text,
    parse,
    whole,
)
from xmcp.providers.formats.chat_shapes import shape_fault
from xmcp.providers.formats.sse import EventReader, EventTooLarge

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
CALL = st.tuples(st.text("abc", min_size=1, max_size=MAX_ID), st.text("xyz", min_size=1), TEXT)


def chunk(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta}]}


def assemble(*chunks: dict[str, Any]) -> tuple[ToolCall, ...]:
    assembly = Assembly("test")
    for each in chunks:
        assembly.take(each)
    return assembly.finish(done=True).tool_calls


@settings(deadline=None)
@given(st.lists(CALL, unique_by=lambda call: call[0], max_size=4), st.data())
def test_calls_cut_anywhere_and_mixed_come_out_whole(calls: list[tuple[str, str, str]], data: st.DataObject) -> None:
    queues = []
    for index, (id_, name, arguments) in enumerate(calls):
        cut = data.draw(st.integers(0, len(arguments)))
        first = {"index": index, "id": id_, "function": {"name": name, "arguments": arguments[:cut]}}
        queues.append([first, {"index": index, "function": {"arguments": arguments[cut:]}}])
    parts = [queue.pop(0) for queue in queues]
    while any(queues):
        parts.append(data.draw(st.sampled_from([queue for queue in queues if queue])).pop(0))
    assert assemble(*(chunk(tool_calls=[part]) for part in parts)) == tuple(ToolCall(*call) for call in calls)


def test_calls_that_share_one_index_are_told_apart_by_their_ids() -> None:
    parts = [{"index": 0, "id": id_, "function": {"name": "f", "arguments": "{}"}} for id_ in ("a", "b")]
    assert [call.id for call in assemble(*(chunk(tool_calls=[part]) for part in parts))] == ["a", "b"]


def test_parts_without_an_index_continue_the_last_call() -> None:
    parts = [{"id": "a", "function": {"name": "f", "arguments": '{"x"'}}, {"function": {"arguments": ":1}"}}]
    assert assemble(chunk(tool_calls=parts)) == (ToolCall("a", "f", '{"x":1}'),)


def test_arguments_that_came_as_an_object_become_text() -> None:
    part = {"id": "a", "function": {"name": "f", "arguments": {"x": 1}}}
    assert assemble(chunk(tool_calls=[part])) == (ToolCall("a", "f", '{"x":1}'),)


def test_a_refusal_is_text_and_so_are_parts() -> None:
    _, refused = whole({"choices": [{"message": {"content": None, "refusal": "I will not."}}]}, "test")
    assert refused.text == "I will not."
    assert content_text([{"type": "text", "text": "a"}, {"type": "thinking"}, {"type": "text", "text": "b"}]) == "ab"


def test_an_emoji_cut_between_its_surrogates_does_not_break_the_stream() -> None:
    assert parse(b'{"a": "\\ud83d", "b": ["\\ud83d\\ude00"]}', "test") == {"a": "\ufffd", "b": ["\U0001f600"]}


@pytest.mark.parametrize("data", [b"<html>", b"[1]", b'{"choices": []}'])
def test_an_answer_that_cannot_be_read_is_a_provider_error(data: bytes) -> None:
    with pytest.raises(ProviderError, match="test"):
        whole(parse(data, "test"), "test")


def delta(**members: Any) -> dict[str, Any]:
    return {"choices": [{"delta": members}]}


def called(**function: Any) -> dict[str, Any]:
    return delta(tool_calls=[{"index": 0, "id": "c", "function": function}])


def deep() -> Any:
    value: list[Any] = []
    for _ in range(2000):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("chunk", "words"),
    [
        ({"choices": "x"}, "`choices` is not a list of objects"),
        ({"choices": {"delta": {}}}, "`choices` is not a list of objects"),
        ({"choices": [7]}, "`choices` is not a list of objects"),
        ({"choices": [{"delta": "x"}]}, "`delta` is not an object"),
        ({"choices": [{"message": ["x"]}]}, "`message` is not an object"),
        ({"choices": [{"delta": {}, "finish_reason": {"a": 1}}]}, "`finish_reason` is not a text"),
        ({"model": ["m"], "choices": []}, "`model` is not a text"),
        (delta(tool_calls="x"), "`tool_calls` is not a list of objects"),
        (delta(tool_calls=[None]), "`tool_calls` is not a list of objects"),
        (delta(tool_calls=[{"function": "x"}]), "the `function` of a tool call is not an object"),
        (called(name=7), "the `name` of a tool call is not a text"),
        (called(name=["x"]), "the `name` of a tool call is not a text"),
    ],
)
def test_a_member_of_a_wrong_type_is_a_provider_error_that_names_it(chunk: Any, words: str) -> None:
    with pytest.raises(ProviderError) as caught:
        parse(json.dumps(chunk).encode(), "openai")
    assert f"not a chat completion: {words}. Check the service" in caught.value.message


def test_arguments_nested_too_deeply_to_be_written_are_named() -> None:
    assert shape_fault(called(name="x", arguments=deep())) == "the `arguments` of a tool call are nested too deeply"


@pytest.mark.parametrize(
    "chunk",
    [
        {"choices": None},
        {"choices": [{"delta": None, "finish_reason": None}]},
        delta(tool_calls=None, content={"odd": 1}),
        delta(tool_calls=[{"function": None, "id": 7, "index": "0"}]),
        {**delta(content="x"), "usage": "many"},
        {**delta(content="x"), "usage": {"prompt_tokens": 10**400, "prompt_tokens_details": "none"}},
    ],
)
def test_a_member_that_says_nothing_of_the_answer_may_be_anything(chunk: Any) -> None:
    assembly = Assembly("openai")
    assembly.take(parse(json.dumps(chunk).encode(), "openai"))
    assert assembly.finish(done=True).usage == Usage()


def test_arguments_in_very_many_pieces_are_put_together_at_the_end() -> None:
    assembly = Assembly("test")
    for _ in range(1_000):
        call = {"index": 0, "id": "c", "function": {"name": "t", "arguments": "12345678"}}
        assembly.take({"choices": [{"delta": {"tool_calls": [call]}}]})
    # A text that grows piece by piece would be copied a thousand times.
    assert max(len(piece) for made in assembly._calls for piece in made.arguments) == 8
    assert assembly.finish(done=True).tool_calls == (ToolCall("c", "t", "12345678" * 1_000),)


@given(st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=6), st.lists(st.text("ab", max_size=2)))
def test_ids_are_always_present_and_different_and_good_ones_stay(
    calls: list[tuple[str, str, str]], taken: list[str]
) -> None:
    before = tuple(ToolCall(*call) for call in calls)
    after = unique_ids(before, taken)
    ids = [call.id for call in after]
    assert len({*ids}) == len(ids)
    assert all(re.fullmatch("[A-Za-z0-9_-]{1,40}", id_) for id_ in ids)
    assert not {*ids} & {*taken}
    assert [(call.name, call.arguments) for call in after] == [(call.name, call.arguments) for call in before]
    assert unique_ids(after, taken) == after
    for old, new in zip(before, after, strict=True):
        legal = re.fullmatch("[A-Za-z0-9_-]{1,40}", old.id)
        if legal and old.id not in taken and [call.id for call in before].count(old.id) == 1:
            assert new.id == old.id or new.id.startswith(old.id)


EVENTS = st.lists(
    st.tuples(st.sampled_from(["", "delta"]), st.lists(TEXT.map(lambda t: "".join(t.split())), min_size=1))
)


@given(EVENTS, st.sampled_from(["\n", "\r\n", "\r"]), st.lists(st.integers(1, 7), min_size=1, max_size=3))
def test_events_are_the_same_however_the_stream_is_cut(
    events: list[tuple[str, list[str]]], newline: str, sizes: list[int]
) -> None:
    stream = ": a comment" + newline
    for name, lines in events:
        stream += f"event: {name}{newline}" if name else ""
        stream += "".join(f"data: {line}{newline}" for line in lines) + newline
    data, reader, got, at = stream.encode(), EventReader(), [], 0
    for size in itertools.cycle(sizes):
        if at >= len(data):
            break
        got += reader.feed(data[at : at + size])
        at += size
    got += reader.close()
    assert got == [(name or "message", "\n".join(lines).encode()) for name, lines in events]


def test_the_last_event_counts_also_without_its_blank_line() -> None:
    reader = EventReader()
    assert reader.feed(b"data: a\n\ndata: b\r") == [("message", b"a")]
    assert reader.close() == [("message", b"b")]


def test_an_event_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xmcp.providers.formats.sse.MAX_EVENT_BYTES", 100)
    with pytest.raises(EventTooLarge):
        EventReader().feed(b"data: " + b"x" * 101)
    reader = EventReader()
    feed = (reader.feed(b"data: xx\n") for _ in range(100))
    with pytest.raises(EventTooLarge):
        list(feed)


def test_an_event_takes_time_in_proportion_to_its_size_however_small_its_pieces_are() -> None:
    def fed(mebibytes: int) -> Callable[[], Any]:
        def work() -> None:
            reader = EventReader()
            assert reader.feed(b"data: ") == []
            for _ in range(mebibytes << 10):
                assert reader.feed(b"x" * 1024) == []
            (event,) = reader.feed(b"\n\n")
            assert len(event.data) == mebibytes << 20

        return work

    assert is_linear(lambda times: fed(2 * times))


def test_the_arguments_of_a_call_take_time_in_proportion_to_their_length() -> None:
    def taken(mebibytes: int) -> Callable[[], Any]:
        part = chunk(tool_calls=[{"index": 0, "id": "c", "function": {"name": "f", "arguments": "x" * 256}}])

        def work() -> None:
            assembly = Assembly("test")
            for _ in range(mebibytes << 12):
                assembly.take(part)
            (call,) = assembly.finish(done=True).tool_calls
            assert len(call.arguments) == mebibytes << 20

        return work

    assert is_linear(taken)


@pytest.mark.parametrize(
    "part",
    [
        chunk(content="x" * 100),
        chunk(refusal="x" * 100),
        chunk(tool_calls=[{"index": 0, "function": {"name": "f", "arguments": "x" * 100}}]),
        chunk(tool_calls=[{"index": 0, "function": {"name": "f", "arguments": {"a": "x" * 100}}}]),
        chunk(tool_calls=[{"function": {"name": "f"}, "id": "a"}, {"function": {"name": "f"}, "id": "b"}]),
    ],
    ids=["text", "refusal", "arguments", "arguments as JSON", "calls"],
)
def test_an_answer_of_any_kind_without_an_end_is_refused(part: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xmcp.providers.formats.chat_completions.MAX_ANSWER_CHARACTERS", 1000)
    assembly = Assembly("test")
    take = (assembly.take(part) for _ in range(1000))
    with pytest.raises(ProviderError, match="too large") as caught:
        list(take)
    assert caught.value.category is ErrorCategory.TOO_LARGE
    assert caught.value.to_error_info().code == "RESULT_TOO_LARGE"


@pytest.mark.parametrize("code", ["²", "9" * 5000, ["x"], {"a": 1}, True, 1.5])
def test_a_failure_with_any_code_is_a_provider_error(code: Any) -> None:
    with pytest.raises(ProviderError, match="test refused the request: no"):
        parse(json.dumps({"error": {"code": code, "message": "no"}}).encode(), "test")


def test_what_a_vendor_says_of_a_failure_is_short_and_cannot_act_on_a_terminal() -> None:
    with pytest.raises(ProviderError) as caught:
        parse(json.dumps({"error": {"message": "\x1b[31m" + "x" * 1_000_000}}).encode(), "test")
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 3000


def test_a_number_that_is_repeated_as_the_id_of_a_call_does_not_begin_another() -> None:
    parts = [chunk(tool_calls=[{"index": 0, "id": 5, "function": {"name": "t", "arguments": a}}]) for a in "{}"]
    assert assemble(*parts) == (ToolCall("5", "t", "{}"),)


@pytest.mark.parametrize("cut", [0, 1])
def test_json_of_nothing_but_brackets_is_refused_and_not_read(cut: int) -> None:
    data = b'{"x":[' + b"[]," * MAX_CONTAINERS + b"0]}"
    with pytest.raises(ProviderError, match="too large to be read"):
        parse(data[: len(data) - cut], "test")


@pytest.mark.parametrize(
    ("more", "refused"),
    [
        (b"[" + b"[]," * (MAX_CONTAINERS - 2) + b"0]", None),
        (b"[" + b"[]," * MAX_CONTAINERS + b"0]", "200,000 arrays and objects"),
        (b'"' + b"[{" * (MAX_CONTAINERS // 2) + b'"', "200,000 arrays and objects"),
        (b"[" + b"0," * (MAX_VALUES - 5) + b"0]", None),
        (b"[" + b"0," * MAX_VALUES + b"0]", "1,000,000 values"),
        (b"{" + b",".join(b'"%d":0' % n for n in range(MAX_VALUES // 2 + 1)) + b"}", "1,000,000 values"),
        (b'"' + b"," * MAX_VALUES + b'"', "1,000,000 values"),
        (b'"' + b"x" * (8 << 20) + b'"', None),
        (b'"' + b"\\n\\u00e9" * (1 << 20) + b'"', None),
    ],
    ids=["[", "many [", "[ in a text", ",", "many ,", "members", ", in a text", "text", "escapes"],
)
def test_how_much_may_be_in_one_chunk(more: bytes, refused: str | None) -> None:
    data = b'{"model":"m","more":%b}' % more
    if refused is None:
        value = parse(data, "test")
        assert value == json.loads(data)
        return
    with pytest.raises(ProviderError, match=f"one piece of it has more than {refused}") as caught:
        parse(data, "test")
    assert caught.value.category is ErrorCategory.TOO_LARGE


@pytest.mark.parametrize("more", [b'"%b"' % (b"x" * (4 << 20)), b"[%b0]" % (b'0,"a",{"b":1.5},' * 60_000)])
def test_no_piece_of_a_large_chunk_is_read_at_once(more: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser keeps the interpreter to itself: the event loop would wait, although another thread reads."""
    sizes, loads = [], chat_completions._loads

    def noted(data: bytes) -> Any:
        sizes.append(len(data))
        return loads(data)

    monkeypatch.setattr(chat_completions, "_loads", noted)
    data = b'{"model":"m","more":%b}' % more
    assert parse(data, "test") == json.loads(data)
    assert max(sizes) < PIECE + 50


def test_half_an_emoji_in_a_large_chunk_is_a_sign_for_it_and_no_number_is_larger_than_64_bits() -> None:
    rest = b'"x",' * 20_000 + b'18446744073709551615,18446744073709551616,-9223372036854775809,"a \\ud83d",0'
    (*_, largest, above, below, text, last) = parse(b'{"more":[%b]}' % rest, "test")["more"]
    assert (largest, above, below) == (2**64 - 1, 2.0**64, -(2.0**63))
    assert (type(largest), type(above), type(below)) == (int, float, float)
    assert (text, last) == ("a \ufffd", 0)


@pytest.mark.parametrize(
    "more", [b"0]" + b" " * PIECE, b'"\\u12"', b'"\x00%b"' % (b"x" * PIECE), b'"%b' % (b"x" * 3 * PIECE), b"9" * 5000]
)
def test_a_large_chunk_that_is_no_json_is_refused(more: bytes) -> None:
    text = b'{"x":["%b"],"more":%b}' % (b"x" * (3 << 20), more)
    with pytest.raises(ProviderError, match="not JSON"):
        parse(text, "test")


def test_a_status_without_words_has_a_category_and_words_come_first() -> None:
    assert classify(None, "") is ErrorCategory.NETWORK
    assert classify(403, "") is ErrorCategory.AUTH
    assert classify(413, "") is ErrorCategory.CONTEXT
    assert classify(500, "maximum context length") is ErrorCategory.CONTEXT


def test_what_looks_like_a_key_is_not_repeated() -> None:
    said = "Incorrect key sk-abc123***xyz, header Bearer abc.def mine: hunter2"
    assert redact(said, "hunter2") == "Incorrect key [redacted], header Bearer [redacted] mine: [redacted]"
    assert redact("the task-force asked") == "the task-force asked"


@pytest.mark.parametrize("key", ["x", "none", "test", "EMPTY", "ollama", "k-1", "1"])
def test_the_placeholder_that_a_local_server_takes_as_a_key_leaves_an_error_readable(key: str) -> None:
    said = "maximum context: 1 of the latest tests failed on k-10; try `ollama pull x`, EMPTY or none"
    assert redact(said, key) == said


def test_a_short_key_is_removed_where_it_stands_alone_and_a_long_one_everywhere() -> None:
    assert redact("key 'ab-12' is unknown, 'xab-123' too", "ab-12") == "key '[redacted]' is unknown, 'xab-123' too"
    assert redact("keyswordfishes", "swordfish") == "key[redacted]es"


def test_a_piece_of_text_costs_no_more_than_ten_calls_of_functions() -> None:
    event = b'data: {"model":"m","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}\n\n'
    reader, assembly, received, calls = EventReader(), Assembly("test"), "", []
    sys.setprofile(lambda frame, kind, _: calls.append(frame.f_code.co_name) if kind == "call" else None)
    try:
        for _ in range(20):
            for read in reader.feed(event):
                received += "".join(assembly.take(parse(read.data, "test")))
    finally:
        sys.setprofile(None)
    assert received == " word" * 20
    assert len(calls) <= 10 * 20, calls[:20]
