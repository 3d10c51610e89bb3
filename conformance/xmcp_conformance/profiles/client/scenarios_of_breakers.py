"""Scenarios of circuit breakers, waits, time-outs and cancelled calls (section 11.4), in what the others leave out.

A breaker is wrong in what it counts, in what changes it while it is open, or in what it answers meanwhile. A real clock
tells the times in them apart, and none takes more than 15 seconds.
"""

from __future__ import annotations

from typing import Any, Final

from .scenario import Act, Ask, Conversation, Says, Scenario
from .short_forms import LATE, chat, setup, takes, tool
from .trace import Server, Setup, Tool

_TWO: Final = (Server(), Server())
_DONE: Final = Says("done")
_LONG_WAIT: Final = 130_000
_KEPT: Final = tool("kept", cacheable=True, read_only=True)


def _asks(delay: float = 0, tool: int = 0, *, times: int = 1, tag: str | None = None) -> Says:
    """Return a turn with calls of one tool, `delay` seconds after the request."""
    return Says("", [Ask(tool, tag=tag)] * times, delay=delay)


def _breaks(*tools: Tool, at: int = 1, reset: float = 10, **options: Any) -> Setup:
    """Return a setup with a breaker that opens at a number of failures."""
    return setup(*tools, breaker_threshold=at, breaker_reset_after=reset, **options)


BREAKERS: Final[dict[str, Scenario]] = {
    # What a breaker counts
    "errors of every kind and a breaker": Scenario(
        _breaks(tool("a"), tool("b", server=1), servers=[Server(), Server(xmcp=False)]),
        {
            0: [
                Act("error", code="UPSTREAM_UNAVAILABLE"),
                Act("error", **LATE),
                Act("flagged"),
                Act("invalid_params"),
                Act("error", code="CONNECTION_FAILED"),
                Act(),
            ],
            1: [Act("error"), Act("internal_error"), Act()],
        },
        chat(*[Says("", [Ask(0), Ask(1)])] * 6, _DONE),
    ),
    "unreadable answers of every kind and a breaker": Scenario(
        _breaks(tool("a")),
        {0: [Act("misplaced"), Act("garbled_error"), Act("garbled"), Act()]},
        chat(*[_asks()] * 4, _DONE),
    ),
    "a server cannot be reached and a breaker": Scenario(
        _breaks(tool("a"), reset=3, max_attempts=1),
        {0: [Act("down"), Act("down"), Act()]},
        chat(_asks(), _asks(), _asks(4), _asks(1), _asks(3), _asks(), _DONE),
    ),
    "a call that never left is not tried again while a breaker is open": Scenario(
        _breaks(tool("a")), {0: [Act("down"), Act()]}, chat(_asks(), _asks(1), _DONE)
    ),
    "a connection is lost with calls of two chats on it": Scenario(
        _breaks(tool("a"), at=2),
        {0: [Act("lost", delay=2), Act("lost", delay=2), Act()]},
        [Conversation([_asks(), _DONE]), Conversation([_asks(), _asks(), _DONE])],
    ),
    "a connection is lost with calls of two tools on it": Scenario(
        _breaks(tool("a"), tool("b"), at=2),
        {0: [Act("lost", delay=2), Act()], 1: [Act("lost", delay=2)]},
        chat(Says("", [Ask(0), Ask(1)]), _asks(), _DONE),
    ),
    "an answer between two failures and a breaker": Scenario(
        _breaks(tool("a"), at=2),
        {0: [Act("lost"), Act(), Act("lost"), Act()]},
        chat(_asks(), *[_asks(1)] * 3, _DONE),
    ),
    "the first of two servers is lost and a breaker": Scenario(
        _breaks(tool("a"), tool("b", server=1), servers=_TWO),
        {0: [Act("lost")]},
        chat(_asks(), _asks(0, 1), _DONE),
    ),
    "a tool that may be called twice and an open breaker": Scenario(
        _breaks(tool("a", idempotent=True), tool("b", read_only=True), max_attempts=1),
        {0: [Act("lost"), Act()]},
        chat(_asks(), _asks(1), _asks(1, 1), _DONE),
    ),
    "the time of a chat is over between two failures and a breaker": Scenario(
        _breaks(tool("a"), at=2, reset=30, chat_timeout=6),
        {0: [Act("lost"), Act(delay=20), Act("lost"), Act()]},
        [Conversation([_asks(), _asks(1)]), Conversation([_asks(), _asks(1), _DONE], begins=7)],
    ),
    # What changes an open breaker
    "the time of a chat is over while its call is the probe": Scenario(
        _breaks(tool("a"), reset=3, chat_timeout=6),
        {0: [Act("lost"), Act(delay=20), Act(delay=2)]},
        [Conversation([_asks(), _asks(4)]), Conversation([_asks(times=2), _DONE], begins=7)],
    ),
    "a breaker that has closed counts anew": Scenario(
        _breaks(tool("a"), at=2, reset=2),
        {0: [Act("lost"), Act("lost"), Act(), Act("lost"), Act()]},
        chat(_asks(), _asks(), _asks(3), _asks(1), _asks(1), _DONE),
    ),
    "one probe is enough": Scenario(
        _breaks(tool("a"), at=2, reset=2),
        {0: [Act("lost"), Act("lost"), Act(), Act(delay=1)]},
        chat(_asks(), _asks(1), _asks(3), _asks(times=2), _DONE),
    ),
    "three probes fail one after the other": Scenario(
        _breaks(tool("a"), reset=2),
        {0: [*[Act("lost")] * 4, Act()]},
        chat(_asks(), *[_asks(3)] * 4, _DONE),
    ),
    "a call from before a breaker opened is answered": Scenario(
        _breaks(tool("a"), tool("b")),
        {0: [Act("lost"), Act()], 1: [Act(delay=2)]},
        [Conversation([_asks(0, 1)]), Conversation([_asks(1), _asks(3), _DONE])],
    ),
    "a call from before a breaker opened is lost": Scenario(
        _breaks(tool("a"), tool("b"), reset=5),
        {0: [Act("lost"), Act()], 1: [Act("lost", delay=4)]},
        [Conversation([_asks(0, 1)]), Conversation([_asks(1), _asks(6), _DONE])],
    ),
    "a call from before a breaker opened is lost beside the probe": Scenario(
        _breaks(tool("a"), tool("b"), reset=4),
        {0: [Act("lost"), Act(delay=3), Act()], 1: [Act("lost", delay=7)]},
        [Conversation([_asks(0, 1)]), Conversation([_asks(1), _asks(5), _asks(1), _DONE])],
    ),
    "a call from before a breaker opened is answered beside the probe": Scenario(
        _breaks(tool("a"), tool("b"), reset=4),
        {0: [Act("lost"), Act(delay=4), Act()], 1: [Act(delay=7)]},
        [
            Conversation([_asks(0, 1)]),
            Conversation([_asks(1), _asks(5)]),
            Conversation([_asks(8), _DONE]),
        ],
    ),
    # What an open breaker answers
    "what is left of the time of a breaker": Scenario(
        _breaks(tool("a")), {0: [Act("lost"), Act()]}, chat(_asks(), _asks(1), _asks(6), _DONE)
    ),
    "a call that nobody waits for while a breaker is open": Scenario(
        _breaks(tool("a"), reset=4), {0: [Act("lost"), Act()]}, chat(_asks(), _asks(1), _DONE)
    ),
    "a call of another chat while the probe is under way": Scenario(
        _breaks(tool("a"), reset=3),
        {0: [Act("lost"), Act(delay=4), Act()]},
        [Conversation([_asks(), _asks(4), _DONE]), Conversation([_asks(), _DONE], begins=6)],
    ),
    "the calls that open the breakers of their servers": Scenario(
        _breaks(tool("a"), tool("b", server=1), servers=_TWO, tool_timeout=2),
        {0: [Act("lost")], 1: [Act("late")]},
        chat(Says("", [Ask(0), Ask(1)]), _DONE),
    ),
    "a lost call that could be made again opens a breaker": Scenario(
        _breaks(tool("read", read_only=True)), {0: [Act("lost"), Act()]}, chat(_asks(), _DONE)
    ),
    "a cache has the answer while a breaker is open": Scenario(
        _breaks(_KEPT, tool("b"), reset=4, cache=True),
        {1: [Act("lost")]},
        chat(_asks(tag="same"), _asks(0, 1), _asks(tag="same"), _asks(5, tag="same"), _DONE),
    ),
    # Whether something changed
    "an attempt fails and the next one never leaves": Scenario(
        setup(tool("read", read_only=True), tool("same", idempotent=True), max_attempts=2),
        {0: [Act("error", **LATE), Act("down")], 1: [Act("lost"), Act("down")]},
        chat(_asks(), _asks(0, 1), _DONE),
    ),
    # Times
    "a wait for a slot is not in the time of a call": Scenario(
        setup(tool("a"), max_concurrency=1, tool_timeout=5), {0: [Act(delay=4)]}, chat(_asks(times=2), _DONE)
    ),
    "each attempt has its own time": Scenario(
        setup(tool("read", read_only=True), tool_timeout=5),
        {0: [Act("error", delay=4, **LATE), Act(delay=4)]},
        chat(_asks(), _DONE),
    ),
    "another server wants a long wait": Scenario(
        setup(tool("read", read_only=True), servers=[Server(xmcp=False)]),
        {
            0: [
                Act(
                    "error",
                    error_data={"code": "TIMEOUT", "retryable": True, "retry_after_ms": _LONG_WAIT},
                    code="TIMEOUT",
                    retryable=True,
                    retry_after_ms=_LONG_WAIT,
                ),
                Act(),
            ]
        },
        chat(_asks(), Says("sorry")),
    ),
    "a server wants a long wait after the second attempt": Scenario(
        setup(tool("read", read_only=True)),
        {0: [Act("error", **LATE), Act("error", retry_after_ms=_LONG_WAIT, **LATE), Act()]},
        chat(_asks(), Says("sorry")),
    ),
    # The end of a chat
    "a chat is cancelled while a call waits for its next attempt": Scenario(
        setup(tool("read", read_only=True)),
        {0: [Act("error", retry_after_ms=3000, **LATE), Act()]},
        [Conversation([_asks()], cancelled=1.5), Conversation([Says("done", delay=6)])],
    ),
    "a chat is cancelled while a call waits for a slot": Scenario(
        setup(tool("a"), max_concurrency=1),
        {0: [Act(delay=4)]},
        [
            Conversation([_asks()]),
            Conversation([_asks()], begins=1, cancelled=1),
            Conversation([Says("done", delay=8)]),
        ],
    ),
    # Displays
    "a display beside a thought": Scenario(
        setup(tool("a"), meta_tools=("__think__",)),
        {0: [Act(display="small")]},
        chat(Says("", [Ask(0), Ask("__think__", {"thought": "They mean it."})]), _DONE),
    ),
    "an attempt that is made again has a display": Scenario(
        setup(tool("read", read_only=True), display="continue"),
        {0: [Act("error", display="small", **LATE), Act()]},
        chat(_asks(), _DONE, events=True),
    ),
    "a value from a cache is handed on": Scenario(
        setup(_KEPT, tool("use", depends_on=["kept"], input_schema=takes("x")), cache=True),
        {0: [Act(structured={"x": 1})]},
        chat(_asks(tag="same"), Says("", [Ask(0, tag="same"), Ask(1)]), _DONE),
    ),
}
