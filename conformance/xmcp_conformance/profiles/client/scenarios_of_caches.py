"""Scenarios of caches (section 11.5), in what the others leave out: keys, what is kept, and who waits for whom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .scenario import Act, Ask, Change, Conversation, Says, Scenario
from .short_forms import LATE, chat, setup, takes, tool
from .trace import Server

_KEPT: Final = tool("kept", cacheable=True, read_only=True)
_DONE: Final = Says("done")


def _same(delay: float = 0, arguments: Mapping[str, Any] | None = None, *, tool: int = 0, times: int = 1) -> Says:
    """Return a turn with calls that have one tag, and are equal if their arguments are."""
    return Says("", [Ask(tool, arguments or {}, tag="same")] * times, delay=delay)


def _with_two_blocks(text: str, for_user: int) -> Act:
    """Return an act with a text, and two blocks for the user alone, of which the trace has one."""
    alone = [f"{text[:-1]}, {name}." for name in ("Ada", "Bob")]
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}]
    blocks += [{"type": "text", "text": one, "annotations": {"audience": ["user"]}} for one in alone]
    return Act(text=text, for_user=alone[for_user], sent={"content": blocks})


_LONG: Final = "x" * 300
_NEARLY_EQUAL: Final[list[dict[str, Any]]] = [
    {"q": "caf\u00e9"},
    {"q": "cafe\u0301"},
    {"q": f"{_LONG}1"},
    {"q": f"{_LONG}2"},
    {"q": 2**53},
    {"q": 2**53 + 1},
    {"Q": 1},
    {"q": 1},
    {"q": {"a": {"b": {"c": {"d": 1}}}}},
    {"q": {"a": {"b": {"c": {"d": 2}}}}},
    {"q": ""},
    {},
    {"q": " "},
]
"""Arguments that a key takes for equal if it normalizes, cuts or rounds them, or leaves something out."""
_FAILURES: Final = (
    *(Act("garbled"), Act("lost"), Act("late"), Act("flagged"), Act("invalid_params")),
    *(Act("internal_error"), Act()),
)

CACHES: Final[dict[str, Scenario]] = {
    # Calls that no cache can answer
    "equal calls of a turn without a cache": Scenario(
        setup(tool("a"), tool("read", read_only=True)),
        {},
        chat(_same(times=2), _same(tool=1, times=2), _DONE),
    ),
    "equal calls of a chat without a cache": Scenario(
        setup(tool("read", read_only=True)), {}, chat(_same(), _same(), _DONE)
    ),
    "the health of a server and a cache": Scenario(
        setup(tool("health_check", cacheable=True, read_only=True), cache=True), {}, chat(_same(), _same(), _DONE)
    ),
    "the health of a named server and a cache": Scenario(
        setup(
            tool("health_check", cacheable=True, read_only=True),
            tool("health_check", server=1, read_only=True),
            servers=[Server(given_name="shop"), Server(given_name="store")],
            cache=True,
            cache_read_only=True,
        ),
        {},
        chat(*[Says("", [Ask(0, tag="of one"), Ask(1, tag="of the other")])] * 2, _DONE),
    ),
    "a tool is cacheable no more": Scenario(
        setup(_KEPT, cache=True),
        {},
        [Conversation([_same(), _DONE]), Conversation([_same(), _same(), _DONE], begins=8)],
        changes=[Change(5, 0, [tool("kept", read_only=True)])],
    ),
    # Keys
    "kept tools are described in another way": Scenario(
        setup(
            *(tool(name, cacheable=True, read_only=True) for name in ("schema", "metadata", "hints")),
            cache=True,
        ),
        {},
        [
            Conversation([Says("", [Ask(number, tag=f"same{number}") for number in range(3)]), _DONE], begins=begins)
            for begins in (0, 8)
        ],
        changes=[
            Change(
                5,
                0,
                [
                    tool("schema", cacheable=True, read_only=True, input_schema=takes("q")),
                    tool("metadata", cacheable=True, read_only=True, provides="x"),
                    tool("hints", cacheable=True),
                ],
            )
        ],
    ),
    "arguments that are nearly equal and a cache": Scenario(
        setup(_KEPT, cache=True, max_turns=20),
        {},
        chat(*[_same(0, arguments) for arguments in _NEARLY_EQUAL], _DONE),
    ),
    "a tenant after a chat without one, and a cache": Scenario(
        setup(_KEPT, cache=True),
        {},
        [
            Conversation([_same(), _DONE], tenant=tenant, begins=begins)
            for begins, tenant in ((0, None), (3, "one"), (6, None))
        ],
    ),
    # What is not kept
    "failures of every kind and a cache": Scenario(
        setup(_KEPT, cache=True, max_attempts=1, tool_timeout=2, max_turns=20),
        {0: _FAILURES},
        chat(*[_same()] * (len(_FAILURES) + 1), _DONE),
    ),
    "what a breaker held back and a cache": Scenario(
        setup(_KEPT, tool("b"), cache=True, breaker_threshold=1, breaker_reset_after=4),
        {1: [Act("lost")]},
        chat(Says("", [Ask(1)]), _same(), _same(6), _DONE),
    ),
    "a transient display of a read-only tool and a cache": Scenario(
        setup(tool("read", read_only=True), cache=True, cache_read_only=True, display="continue"),
        {0: [Act(display="transient")]},
        chat(_same(), _same(), _DONE),
    ),
    # What is kept
    "a kept answer has two blocks for the person": Scenario(
        setup(
            *(tool(f"kept{place}", server=place // 2, cacheable=True, read_only=True) for place in range(4)),
            servers=[Server(plain=True), Server(xmcp=False)],
            cache=True,
        ),
        {place: [_with_two_blocks(f"Done, {place}.", for_user=place % 2)] for place in range(4)},
        chat(*[Says("", [Ask(place, tag=f"same{place}") for place in range(4)])] * 2, _DONE, events=True),
    ),
    "kept texts with white space and signs": Scenario(
        setup(
            *(tool(f"kept{place}", server=place, cacheable=True, read_only=True) for place in range(3)),
            servers=[Server(), Server(plain=True), Server(xmcp=False)],
            cache=True,
            max_turns=20,
        ),
        {place: [Act(text=f" \n\tOf {place}: a < b & c\r\n ]]>  ")] for place in range(3)},
        chat(*[Says("", [Ask(place, tag=f"same{place}") for place in range(3)])] * 2, _DONE, events=True),
    ),
    "a kept plain result and its large display": Scenario(
        setup(_KEPT, servers=[Server(plain=True)], cache=True, display="continue"),
        {0: [Act(display="large", all_parts=True, structured={"n": 2**53 + 1})]},
        chat(_same(), _same(), _DONE, events=True),
    ),
    # Who waits for whom
    "two chats wait for the call of a cancelled one": Scenario(
        setup(_KEPT, cache=True),
        {0: [Act(delay=6)]},
        [
            Conversation([_same(), _DONE], cancelled=4),
            *(Conversation([_same(), _DONE], begins=begins) for begins in (1, 2)),
        ],
    ),
    "a chat waits for a call whose chat is cancelled before its next attempt": Scenario(
        setup(_KEPT, cache=True),
        {0: [Act("error", retry_after_ms=4000, **LATE), Act()]},
        [
            Conversation([_same(), _DONE], cancelled=2),
            Conversation([_same(), _DONE], begins=1, events=True),
        ],
    ),
    "a chat with two equal calls is cancelled": Scenario(
        setup(_KEPT, cache=True),
        {0: [Act(delay=6)]},
        [Conversation([_same(times=2)], cancelled=2), Conversation([Says("done", delay=8)])],
    ),
    "the time of a chat with a kept call is over": Scenario(
        setup(_KEPT, cache=True, chat_timeout=4),
        {0: [Act(delay=8)]},
        [Conversation([_same()]), Conversation([_DONE], begins=10)],
    ),
}
