"""The window of a history: whole turns, the newest first, and what fits."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from xmcp.chat.messages import problem
from xmcp.gateway.sessions.window import Window, size_of, turns_of, within

TEXTS = st.sampled_from(["", "a", "ü" * 50, "x" * 300])


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def called(text: str, results: list[str]) -> list[dict[str, Any]]:
    calls = [
        {"id": f"c{place}", "type": "function", "function": {"name": "t", "arguments": text}}
        for place, _ in enumerate(results)
    ]
    answers = [{"role": "tool", "tool_call_id": f"c{place}", "content": one} for place, one in enumerate(results)]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *answers]


@st.composite
def turns(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A turn: what a person says, calls with their results, and an answer, which a failed chat has not."""
    instructed = [{"role": "system", "content": "be brief"}] if draw(st.integers(0, 9)) == 0 else []
    steps = draw(st.lists(st.builds(called, TEXTS, st.lists(TEXTS, min_size=1, max_size=3)), max_size=3))
    answer = [said(draw(TEXTS))] if draw(st.booleans()) else []
    return [*instructed, user(draw(TEXTS)), *(message for step in steps for message in step), *answer]


HEADS = st.sampled_from([[], [{"role": "system", "content": "you are kind"}], [said("Hello, I am here.")]])
WINDOWS = st.builds(Window, messages=st.integers(1, 20), bytes=st.integers(1, 2_000))


@given(HEADS, st.lists(turns(), max_size=8), WINDOWS)
def test_a_window_has_the_newest_whole_turns_that_fit(
    head: list[dict[str, Any]], listed: list[list[dict[str, Any]]], window: Window
) -> None:
    history = [*head, *(message for turn in listed for message in turn)]
    kept = within(history, window)
    assert problem(kept) is None
    instructions, all_turns = turns_of(history)
    assert kept[: len(instructions)] == instructions
    rest = kept[len(instructions) :]
    number = len(turns_of(kept)[1])
    assert rest == [message for turn in all_turns[len(all_turns) - number :] for message in turn]
    assert number >= min(1, len(all_turns))

    def fits(messages: list[dict[str, Any]]) -> bool:
        return len(messages) <= window.messages and sum(map(size_of, messages)) <= window.bytes

    assert number <= 1 or fits(kept)
    if number < len(all_turns):
        more = [*instructions, *(message for turn in all_turns[len(all_turns) - number - 1 :] for message in turn)]
        assert not fits(more)


@given(HEADS, st.lists(turns(), max_size=8), WINDOWS)
def test_a_window_of_a_window_is_the_same(
    head: list[dict[str, Any]], listed: list[list[dict[str, Any]]], window: Window
) -> None:
    kept = within([*head, *(message for turn in listed for message in turn)], window)
    assert within(kept, window) == kept


def test_a_turn_that_is_larger_than_the_window_is_kept_whole() -> None:
    history = [user("a"), said("b"), user("c"), *called("{}", ["x" * 10_000] * 3), said("d")]
    assert within(history, Window(messages=1, bytes=1)) == history[2:]


def test_two_messages_of_the_person_in_a_row_are_two_turns() -> None:
    assert turns_of([user("a"), user("b"), said("c")]) == ([], [[user("a")], [user("b"), said("c")]])


def test_the_size_of_a_message_is_that_of_everything_in_it() -> None:
    empty = size_of(user(""))
    assert size_of(user("ü" * 10)) == empty + 20
    assert size_of({"role": "user", "content": [{"type": "text", "text": "abc"}]}) >= empty + 3
    picture = {"type": "image_url", "image_url": {"url": "data:" + "x" * 1_000}}
    assert size_of({"role": "user", "content": [picture]}) >= 1_000
    assert size_of(called("y" * 500, ["r"])[0]) >= 500
    state = {"xmcp_vendor_state": {"vendor": "v", "value": [{"signature": "s" * 700}]}}
    assert size_of({**said("a"), **state}) >= 700
