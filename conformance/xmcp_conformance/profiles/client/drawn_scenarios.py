"""Scenarios that are drawn at random: what nobody thought of, in mixtures that nobody would write.

Each scenario of the suite is about one thing. A client can be right in each of them and wrong where two things meet:
a retry and what was handed on, a display and a plain result, a cancelled chat and a cache. The checks judge any trace,
so a drawn scenario needs no expectation of its own. The same seed draws the same scenarios.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Final, Literal, TypeAlias

from .scenario import Act, Ask, Change, Conversation, Says, Scenario
from .scenarios import EARLIER, SHOWN_BEFORE, SHOWN_IN_PARTS
from .trace import Server, Setup, Tool

_Kind: TypeAlias = Literal[
    "ok", "error", "flagged", "lost", "late", "garbled", "forged", "bad_display", "only_bad_display"
]
"""Not `down`: over HTTP nobody sees a call that never arrived."""
_Display: TypeAlias = Literal["none", "small", "large", "wide", "described", "transient"]
_ModelFailure: TypeAlias = Literal["network", "rate_limit", "content"]
_NAMES: Final = ("find", "load", "sum", "draw")
_PARAMETERS: Final = ("x", "y", "rows")
_VALUES: Final[tuple[Any, ...]] = (1, "1", True, None, 7, "7", [1, 2], "[1, 2]", {"x": 2}, 2.5, "", "é", "one")
_ALIKE: Final[tuple[Any, ...]] = (7, "7", True, 1)
"""Values that only their types tell apart."""
_TEXTS: Final = ("", " ", "17", "[1, 2]", '{"x": 1}', "a <b> & c ]]>", "two  spaces\n\n\tand a tab", "a\ufffdb")
_SCHEMAS: Final[tuple[Any, ...]] = ({}, {"type": "integer"}, {"type": "string"}, {"type": ["array", "null"]})
_UNKNOWN: Final[tuple[dict[str, Any], ...]] = ({}, {}, {}, {"colour": 3}, {"cacheable": "yes"}, {"provides": 7})
"""Members of a tool's metadata that the specification does not define, or not with this type."""
_HISTORIES: Final = ((), (), EARLIER, SHOWN_BEFORE, SHOWN_IN_PARTS)
_SECONDS: Final = (0.0, 0.0, 1.0, 2.0)
"""What an act or the model takes. Chats are cancelled between these times: a real clock can tell what came first."""
_KINDS: Final[tuple[_Kind, ...]] = ("ok",) * 8 + ("forged", "bad_display", "only_bad_display")
_FAILURES: Final[tuple[_Kind, ...]] = ("error",) * 3 + ("flagged", "lost", "late", "garbled")
_DISPLAYS: Final[tuple[_Display, ...]] = (
    *("none", "none", "none", "small", "small"),
    *("large", "wide", "described", "transient"),
)
_MODEL_FAILURES: Final[tuple[_ModelFailure, ...]] = ("network", "rate_limit", "content")
_CHANGED: Final = 4.3
"""When tools change: later than a client on a busy machine needs for its first request, which has the first list."""
_OFTEN, _RARELY = 0.5, 0.2
MOST_DRAWN: Final = 2_000
"""Maximum number of scenarios that are drawn for one run."""
DRAWN: Final = "drawn:"
"""How the name of each of them begins, and that of no other scenario."""
_NAME: Final = re.compile(rf"{DRAWN} [1-9][0-9]{{0,5}} of seed (0|-?[1-9][0-9]{{0,17}})")


def drawn_scenarios(number: int, seed: int) -> dict[str, Scenario]:
    """Return so many scenarios by their names; the first ones are the same for each number."""
    named = (f"{DRAWN} {index} of seed {seed}" for index in range(1, number + 1))
    return {name: scenario for name in named if (scenario := of_name(name)) is not None}


def of_name(name: str) -> Scenario | None:
    """Return the drawn scenario of a name; `None` if it is not the name of one."""
    found = _NAME.fullmatch(name)
    return drawn_scenario(Random(name)) if found else None  # noqa: S311 - not for secrets


def drawn_scenario(random: Random) -> Scenario:
    """Return a scenario."""
    servers = _servers(random)
    tools = _tools(random, len(servers))
    cache, approval = _likely(random, _RARELY), _likely(random, _RARELY)
    setup = Setup(
        servers=servers,
        tools=tools,
        display=random.choice(("exit", "continue")),
        max_turns=random.choice((10, 10, 2)),
        max_calls_per_turn=random.choice((None, None, None, 2)),
        max_concurrency=random.choice((16, 16, 1)),
        max_attempts=random.choice((3, 3, 2, 1)),
        tool_timeout=random.choice((10.0, 5.0)),  # by a real clock, each late call takes it several times
        chat_timeout=6.5 if _likely(random, _RARELY) else None,
        breaker_threshold=random.choice((1, 2)) if _likely(random, _RARELY) else None,
        breaker_reset_after=10.0,
        cache=cache,
        cache_read_only=cache and _likely(random, _OFTEN),
        meta_tools=("__think__", "__clarify__", "__summarize__") if _likely(random, _RARELY) else (),
        params={"x": random.choice(("u-1", "u-1", None))} if _likely(random, _RARELY) else {},
        approval=approval,
    )
    kept = [
        index
        for index, tool in enumerate(tools)
        if cache and not approval and (tool.cacheable or (setup.cache_read_only and tool.read_only))
    ]
    number = random.choice((1, 1, 1, 2))
    chats = [_chat(random, setup, kept, place, alone=number == 1) for place in range(number)]
    return Scenario(
        setup,
        {
            index: [_act(random, names_its_call=cache) for _ in range(random.randint(1, 3))]
            for index in range(len(tools))
        },
        chats,
        approves=[random.random() < 0.7 for _ in range(3)],
        callbacks_fail=_likely(random, _RARELY),
        fallbacks=random.choice((0, 0, 0, 1)),
        changes=[_change(setup)] if _likely(random, _RARELY) else (),
    )


def _likely(random: Random, share: float) -> bool:
    return random.random() < share


def _servers(random: Random) -> list[Server]:
    named = _likely(random, 0.3)
    made = []
    for place in range(random.choice((1, 1, 2))):
        xmcp = random.random() < 0.75
        plain = xmcp and _likely(random, 0.3)
        reachable = place == 0 or random.random() < 0.8
        made.append(Server(given_name=f"s{place}" if named else None, xmcp=xmcp, plain=plain, reachable=reachable))
    return made


def _tools(random: Random, servers: int) -> list[Tool]:
    """Return tools that depend on earlier ones of their server, which are listed before or after them."""
    made: list[Tool] = []
    for name in _NAMES[: random.randint(1, len(_NAMES))]:
        server = random.randrange(servers)
        before = [tool.name for tool in made if tool.server == server]
        takes = random.sample(_PARAMETERS, random.randrange(4))
        required = [one for one in takes if _likely(random, _OFTEN)]
        wrapped = "value" if _likely(random, _RARELY) else None
        read_only = _likely(random, _OFTEN)
        made.append(
            Tool(
                server=server,
                name=name,
                input_schema={"properties": {one: random.choice(_SCHEMAS) for one in takes}, "required": required},
                depends_on=random.sample(before, min(random.choice((0, 1, 1, 2)), len(before))),
                provides=random.choice((None, *_PARAMETERS)),
                read_only=read_only,
                idempotent=_likely(random, _RARELY),
                cacheable=read_only and _likely(random, _OFTEN),
                wrapped_in=wrapped,
                unknown=random.choice(_UNKNOWN),
            )
        )
    random.shuffle(made)
    return made


def _act(random: Random, *, names_its_call: bool) -> Act:
    """Return an act. Where calls can be equal, only a text that names its call tells their answers apart."""
    delay = random.choice(_SECONDS)
    for_user = random.choice((None, None, None, "For you alone: 4711."))
    if random.random() < 0.7:
        members = random.sample(_PARAMETERS, random.choice((0, 0, 1, 2)))
        structured = {one: random.choice(_VALUES) for one in members} or None
        return Act(
            random.choice(_KINDS),
            delay,
            display=random.choice(_DISPLAYS),
            structured=structured,
            lossy=_likely(random, 0.1),
            text=None if structured or names_its_call else random.choice((None, None, None, *_TEXTS)),
            for_user=for_user,
            link_for_user=for_user is not None and _likely(random, _OFTEN),
        )
    kind = random.choice(_FAILURES)
    if kind != "error":
        return Act(kind, delay)
    retryable = _likely(random, _OFTEN)
    return Act(
        "error",
        delay,
        code=random.choice(("TOOL_ERROR", "NOT_FOUND", "DB_TIMEOUT", "DB_TIMEOUT", "X_NEW")),
        retryable=retryable,
        retry_after_ms=random.choice((None, 700, 1700, 121_000)) if retryable else None,
        side_effects=random.choice((None, "none", "unknown")),
        category=random.choice((None, None, "x_weather")),
        for_user=for_user,
    )


def _ask(random: Random, setup: Setup, kept: Sequence[int], of_types: Mapping[str, Any]) -> Ask:
    place = random.randrange(len(setup.tools))
    arguments = {one: random.choice(_VALUES) for one in random.sample(_PARAMETERS, random.choice((0, 0, 1, 2)))}
    kind = random.random()
    if kept and kind < 0.5:
        return Ask(random.choice(kept), of_types, tag=random.choice(("same", "same", "other")))
    if setup.meta_tools and kind < 0.7:
        return random.choice(
            (
                Ask("__think__", {"thought": "They mean revenue."}),
                Ask("__clarify__", random.choice(({"question": "Which year?"}, {}))),
                Ask("__summarize__", {"summary": "They said hello."}),
            )
        )
    if kind > 0.97:
        return Ask(random.choice(("unknown", "bad name!")))
    if kind > 0.94:
        return Ask(place, written=random.choice(("", "{", "[1]", '{"tag": "cut", "x": "', "{} and more")))
    return Ask(place, arguments, id=random.choice((None, None, None, None, "", "call_0")))


def _says(random: Random, setup: Setup, kept: Sequence[int], *, alone: bool) -> Says:
    """Return an answer. Calls with one tag have the same arguments, unless they come one turn after the other."""
    text, kind = random.choice(("", "", "I look.")), random.random()
    if kind < 0.8:
        of_types = {"x": random.choice(_ALIKE)} if alone and _likely(random, _OFTEN) else {}
        asks = [_ask(random, setup, kept, of_types) for _ in range(random.choice((1, 2, 3, 3, 4, 5)))]
        return Says(text, asks, delay=random.choice(_SECONDS), finish="length" if _likely(random, 0.05) else None)
    if kind < 0.88:
        failure = random.choice(_MODEL_FAILURES)
        return Says(random.choice(("", "half an ans")), fails=failure, broken=_likely(random, _OFTEN))
    return Says(random.choice(("", " ", "An answer.")), finish="content_filter" if _likely(random, 0.3) else None)


def _chat(random: Random, setup: Setup, kept: Sequence[int], place: int, *, alone: bool) -> Conversation:
    return Conversation(
        [_says(random, setup, kept, alone=alone) for _ in range(random.randint(1, 3))],
        history=random.choice(_HISTORIES),
        query=("the books of Acme", "the nuts of Bolt")[place],
        tenant=random.choice((None, ("one", "two")[place])),
        begins=random.choice((0.5, 8.5)) if place else 0.0,
        cancelled=random.choice((1.6, 3.3)) if _likely(random, _RARELY) else None,
        events=_likely(random, 0.7),
    )


def _change(setup: Setup) -> Change:
    """Return a change: the first tool of the list goes."""
    gone, *others = setup.tools
    left = [tool for tool in others if tool.server == gone.server]
    kept = [replace(tool, depends_on=[name for name in tool.depends_on if name != gone.name]) for tool in left]
    return Change(_CHANGED, gone.server, kept or [Tool(server=gone.server, name="new")])
