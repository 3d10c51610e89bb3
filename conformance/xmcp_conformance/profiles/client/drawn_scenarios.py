"""Scenarios that are drawn at random: each is about one thing or two at once, in a way that nobody would write.

Each scenario of the suite is about one thing, or about two that somebody thought of. A client can be right in each of
them and wrong where two others meet: a retry and what was handed on, a display and a plain result, a cancelled chat and
a cache. So every pair of `THEMES` is drawn in turn. The checks judge any trace, so a drawn scenario needs no
expectation of its own. The same seed draws the same scenarios.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final, Literal

from .drawn_themes import ABOUT, COLOURED, PARAMETERS, SCHEMAS, THEMES, USUAL, Choices
from .scenario import Act, Ask, Change, Conversation, Says, Scenario
from .trace import Server, Setup, Tool

_NAMES: Final = ("find", "load", "sum", "draw", "send")
_ALIKE: Final = (7, "7", True, 1, None)
"""Values that only their types tell apart."""
_ENOUGH: Final = 3
"""Slots with which calls can be late: with fewer, they wait for one another, and a real clock takes minutes for it."""
_UNREADABLE: Final = (
    *("", "{", "[1]", "[]", '{"tag": "cut", "x": "', "{} and more", '"{}"', "null"),
    *('{"tag": "cut", "x": NaN}', '{"tag": "cut", "x": -Infinity}', '```json\n{"tag": "cut"}\n```'),
    *('{"tag": "cut",}', '{"tag": "cut", "x": "a\nb"}', '{"tag": "cut", "x": "\\ud83d"}'),
)
"""Arguments that cannot be read; `cut` is another text in each call."""
_CHANGED: Final = 4.3
"""When tools change: later than a client on a busy machine needs for its first request, which has the first list."""
MOST_DRAWN: Final = 2_000
"""Maximum number of scenarios that are drawn for one run."""
DRAWN: Final = "drawn:"
"""How the name of each of them begins, and that of no other scenario."""
_NAME: Final = re.compile(rf"{DRAWN} ([1-9][0-9]{{0,5}}) of seed (0|-?[1-9][0-9]{{0,17}})")

_FINISHES: Final[Mapping[str, Literal["length", "stop"]]] = {"cut": "length", "stop": "stop"}
"""What the vendor says at the end of an answer, by its kind; by default what its calls say."""
_OPTIONS: Final = (
    *("display", "max_turns", "max_calls_per_turn", "max_tools_per_server", "max_concurrency", "max_attempts"),
    *("display_budget", "tool_timeout", "chat_timeout", "breaker_threshold", "breaker_reset_after"),
)
"""The options of `Setup` that have the values of the thing with their name."""


SEED: Final = 20261127
"""The seed of the scenarios that `xmcp check client` draws where it is given none."""


def drawn_scenarios(number: int, seed: int) -> dict[str, Scenario]:
    """Return so many scenarios by their names; the first ones are the same for each number."""
    named = (f"{DRAWN} {index} of seed {seed}" for index in range(1, number + 1))
    return {name: scenario for name in named if (scenario := of_name(name)) is not None}


def of_name(name: str) -> Scenario | None:
    """Return the drawn scenario of a name; `None` if it is not the name of one."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    about = about_of(int(found[1]) - 1, int(found[2]))
    return drawn_scenario(Random(name), about)  # noqa: S311 - not for secrets


def about_of(place: int, seed: int) -> tuple[str, ...]:
    """Return the themes of the scenario at a place, which is 0 for the first one of a seed."""
    order = Random(seed).sample(ABOUT, len(ABOUT))  # noqa: S311 - not for secrets
    return order[place % len(ABOUT)]


def drawn_scenario(random: Random, about: Iterable[str]) -> Scenario:
    """Return a scenario that is about these `THEMES`."""
    choices = {name: list(values) for name, values in USUAL.items()}
    changed: set[str] = set()
    for theme in about:
        for name, values in THEMES[theme].items():
            choices[name] = [*(choices[name] if name in changed else ()), *values]
            changed.add(name)
    return _Drawing(random, choices).scenario()


@dataclass(frozen=True)
class _Drawing:
    """The drawing of one scenario."""

    random: Random
    choices: Choices
    kinds: dict[str, str] = field(default_factory=dict)
    """Which of `SCHEMAS` each parameter has, in all tools."""

    def one(self, name: str) -> Any:
        """Return one of the values that something can have."""
        return self.random.choice(self.choices[name])

    def scenario(self) -> Scenario:
        """Return the scenario."""
        setup = self.setup()
        kept = self.kept(setup)
        chats = self.one("chats")
        approves = self.one("approves") or (True,)
        return Scenario(
            setup,
            {index: [self.act(setup, tool) for _ in range(self.one("acts"))] for index, tool in enumerate(setup.tools)},
            [self.chat(setup, kept, place, alone=chats == 1) for place in range(chats)],
            approves=approves,
            callbacks_fail=self.one("callbacks_fail"),
            fallbacks=self.one("fallbacks"),
            changes=self.changes(setup),
        )

    def setup(self) -> Setup:
        """Return the options of the client, and its servers with their tools."""
        servers = self.servers()
        cache, quota = self.one("cache"), self.one("quota")
        return Setup(
            servers=servers,
            tools=self.tools(len(servers)),
            cache=cache != "none",
            cache_read_only=cache == "read-only",
            meta_tools=self.one("meta_tools"),
            params=self.one("params"),
            approval=self.choices["approves"] != [None],
            quota_tokens={} if quota is None else {"one": quota, "two": quota},
            **{name: self.one(name) for name in _OPTIONS},
        )

    def servers(self) -> list[Server]:
        """Return the servers, of which the first can be reached."""
        named, made = self.one("named"), []
        for place in range(self.one("servers")):
            form = self.one("form")
            made.append(
                Server(
                    given_name=f"s{place}" if named else None,
                    xmcp=form != "other",
                    plain=form == "plain",
                    reachable=place == 0 or self.one("reachable"),
                )
            )
        return made

    def tools(self, servers: int) -> list[Tool]:
        """Return tools that depend on earlier ones of their server, which are listed before or after them."""
        made: list[Tool] = []
        self.kinds.update({name: self.one("schema") for name in PARAMETERS})
        same_names = servers > 1 and self.one("same_names")
        for place, name in enumerate(_NAMES[: self.one("tools")]):
            server = place % servers if same_names else self.random.randrange(servers)
            before = [tool.name for tool in made if tool.server == server]
            takes = self.random.sample(PARAMETERS, self.one("parameters"))
            annotations = self.one("annotations")  # they say neither that it is read-only, nor that it is idempotent
            made.append(
                Tool(
                    server=server,
                    name=self.one("name").format(_NAMES[place // servers] if same_names else name),
                    input_schema={
                        **({"additionalProperties": False} if self.one("closed") else {}),
                        "properties": {one: SCHEMAS[self.kinds[one]][0] for one in takes},
                        "required": [one for one in takes if self.one("required")],
                    },
                    depends_on=self.random.sample(before, min(self.one("needs"), len(before))),
                    provides=self.one("provides"),
                    read_only=self.one("read_only") and annotations is None,
                    idempotent=self.one("idempotent") and annotations is None,
                    annotations=annotations,
                    cacheable=self.one("cacheable"),
                    wrapped_in=self.one("wrapped_in"),
                    unknown=self.one("unknown"),
                )
            )
        self.random.shuffle(made)
        return made

    def kept(self, setup: Setup) -> list[int]:
        """Return the tools whose calls can be answered from a cache, so that they may have one tag."""
        if not setup.cache or setup.approval:
            return []
        kept = enumerate(setup.tools)
        return [index for index, tool in kept if tool.cacheable or (setup.cache_read_only and tool.read_only)]

    def act(self, setup: Setup, tool: Tool) -> Act:
        """Return an act. Where calls can be equal, only a text that names its call tells their answers apart."""
        drawn, delay = self.one("act"), self.one("delay")
        kind = {"retryable": "error"}.get(drawn, drawn)
        if kind == "late" and setup.max_concurrency < _ENOUGH:
            kind = "lost"
        if kind not in ("ok", "error", "flagged", "bad_display", "only_bad_display", "forged"):
            return Act(kind, delay)
        shown, for_user = self.one("shown"), self.one("for_user")
        as_link, as_resource = for_user is not None and self.one("as_link"), self.one("as_resource")
        if kind in ("error", "flagged"):
            return self.failure(kind, delay, shown, for_user, retryable=drawn == "retryable")
        structured = {one: self.value(one) for one in PARAMETERS[: self.one("members")]}
        text, server = self.one("text"), setup.servers[tool.server]
        if setup.cache or (structured and text) or (text == COLOURED and server.xmcp and not server.plain):
            text = None
        return Act(
            kind,
            delay,
            display=shown,
            structured=structured or None,
            lossy=self.one("lossy"),
            all_parts=self.one("all_parts"),
            text=text,
            for_user=for_user,
            link_for_user=as_link,
            resource_for_user=for_user is not None and as_resource and not as_link,
            as_resource=as_resource and for_user is None,
            for_both=self.one("for_both"),
        )

    def value(self, parameter: str) -> Any:
        """Return a value for a parameter, which most often fits its schema."""
        _, fitting, others = SCHEMAS[self.kinds[parameter]]
        return self.random.choice(others if others and self.random.random() < 0.2 else fitting)

    def failure(self, kind: Any, delay: float, shown: Any, for_user: str | None, *, retryable: bool) -> Act:
        """Return an act that answers with an error, or says that it failed."""
        act = Act(
            kind,
            delay,
            display=shown,
            code=self.one("code"),
            retryable=retryable,
            retry_after_ms=self.one("retry_after_ms") if retryable else None,
            side_effects=self.one("side_effects"),
            category=self.one("category"),
            for_user=for_user if kind == "error" else None,
            all_parts=self.one("all_parts"),
        )
        if not self.one("error_data"):
            return act
        told = {
            "code": act.code,
            "retryable": act.retryable,
            "retry_after_ms": act.retry_after_ms,
            "side_effects": act.side_effects,
            "category": act.category,
        }
        return replace(act, error_data={name: value for name, value in told.items() if value is not None})

    def chat(self, setup: Setup, kept: Sequence[int], place: int, *, alone: bool) -> Conversation:
        """Return a chat."""
        tenant = self.one("tenant")
        return Conversation(
            [self.says(setup, kept, tenant, alone=alone) for _ in range(self.one("turns"))],
            history=self.one("history"),
            query=("the books of Acme", "the nuts of Bolt", "the wines of Cellar")[place],
            tenant=tenant,
            begins=place * self.one("begins"),
            cancelled=self.one("cancelled"),
            events=self.one("events"),
            params={name: value for name, value in self.one("of_chat").items() if name in setup.params},
        )

    def says(self, setup: Setup, kept: Sequence[int], tenant: str | None, *, alone: bool) -> Says:
        """Return an answer. Calls with one tag have the same arguments, unless they come one turn after the other."""
        kind, thinks, beside, tokens = self.one("says"), self.one("thinks"), self.one("beside"), self.one("tokens")
        if kind == "answers":
            return Says(self.answer(), delay=thinks, tokens=tokens)
        if kind == "withheld":
            return Says(self.answer(), delay=thinks, finish="content_filter")
        of_types = {"x": self.random.choice(_ALIKE)} if alone and self.random.random() < 0.5 else {}
        tools = self.random.sample(range(len(setup.tools)), len(setup.tools))
        equal = [(index, of_types, f" of {tenant}" if tenant else "") for index in kept]
        asks = [self.ask(tools[place % len(tools)], equal) for place in range(self.one("calls"))]
        if kind == "fails":
            return Says(fails=self.one("failure"))
        if kind == "breaks":
            begun = asks[:1] if self.random.random() < 0.4 else []
            return Says(self.random.choice(("", "half an ans")), begun, fails="network", broken=True)
        if kind == "stalls" and self.ends_by_itself(setup):
            begun = asks[:1] if self.random.random() < 0.4 else []
            return Says(self.random.choice(("", " ", "half an ans")), begun, stalls=True)
        return Says(beside, asks, delay=thinks, tokens=tokens, finish=_FINISHES.get(kind))

    def ends_by_itself(self, setup: Setup) -> bool:
        """Return whether each chat ends when its time is over, or is cancelled."""
        return setup.chat_timeout is not None or None not in self.choices["cancelled"]

    def answer(self) -> str:
        """Return the text of an answer without calls."""
        text = self.one("answer")
        return "An answer." if text is None else str(text)

    def ask(self, place: int, equal: Sequence[tuple[int, Mapping[str, Any], str]]) -> Ask:
        """Return a call of a tool, or of one that there is not.

        Args:
            place: the index of the tool.
            equal: the tools whose calls may be equal, each with the arguments and the end of the tag.
        """
        kind = self.one("ask")
        own = {
            "think": Ask("__think__", {"thought": "They mean revenue."}),
            "clarify": Ask("__clarify__", {"question": " Which year? "}),
            "summarize": Ask("__summarize__", {"summary": "They said hello."}),
            "unsaid": Ask(self.random.choice(("__think__", "__clarify__", "__summarize__")), {}),
            "unknown": Ask(self.random.choice(("unknown", "bad name!", "Find", "functions.find", " load\n"))),
            "unreadable": Ask(place, written=self.unreadable()),
        }
        if kind in own:
            return own[kind]
        tag = self.one("tag")
        if equal and tag is not None:
            index, arguments, end = self.random.choice(equal)
            return Ask(index, arguments, tag=tag + end)
        if (written := self.one("written")) is not None:
            return Ask(place, written=f'{{"tag": "{self.random.random()}", {written}}}')
        names = self.random.sample(PARAMETERS, self.one("arguments"))
        return Ask(place, {one: self.value(one) for one in names}, id=self.one("id"))

    def unreadable(self) -> str:
        """Return arguments that cannot be read."""
        return self.random.choice(_UNREADABLE).replace("cut", str(self.random.random()))

    def changes(self, setup: Setup) -> list[Change]:
        """Return the change of the tools, if there is one: the first tool of the list goes, or another one comes."""
        kind = self.one("change")
        if kind is None:
            return []
        first, *others = setup.tools
        left = [tool for tool in others if tool.server == first.server]
        if kind == "other":
            return [Change(_CHANGED, first.server, [first, *left, Tool(server=first.server, name="new")])]
        kept = [replace(tool, depends_on=[name for name in tool.depends_on if name != first.name]) for tool in left]
        tools = kept or [Tool(server=first.server, name="new")]
        return [Change(_CHANGED, first.server, tools, announced=kind == "gone")]
