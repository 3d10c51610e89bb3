"""Scenarios in which every requirement for clients applies at least once: small, each about one thing."""

from __future__ import annotations

from typing import Any, Final

from .scenario import Act, Ask, Change, Conversation, Report, Says, Scenario
from .scenarios_of_answers import ANSWERS
from .scenarios_of_arguments import ARGUMENTS
from .scenarios_of_breakers import BREAKERS
from .scenarios_of_caches import CACHES
from .scenarios_of_contents import CONTENTS
from .scenarios_of_endings import ENDINGS
from .scenarios_of_meetings import MEETINGS
from .scenarios_of_places import PLACES
from .sent_displays import LARGE
from .short_forms import LATE, chat, setup, takes, tool
from .trace import Server

SYSTEM: Final = {"role": "system", "content": "Be brief."}
EARLIER: Final = [
    SYSTEM,
    {"role": "user", "content": "earlier"},
    {"role": "assistant", "content": "said earlier"},
]


_LARGE_DISPLAY: Final = '<display>{"type":"text","payload":"%s","title":"Shown before."}</display>' % ("x" * LARGE)
SHOWN_BEFORE: Final[list[dict[str, Any]]] = [
    {"role": "user", "content": "earlier"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "before-1", "type": "function", "function": {"name": "old", "arguments": "{}"}}],
    },
    {
        "role": "tool",
        "tool_call_id": "before-1",
        "content": f'<tool_response tool_name="old"><llm_output>a</llm_output>{_LARGE_DISPLAY}</tool_response>',
    },
    {"role": "assistant", "content": "said earlier"},
]
SHOWN_IN_PARTS: Final = [
    {**one, "content": [{"type": "text", "text": one["content"]}]} if one["role"] == "tool" else one
    for one in SHOWN_BEFORE
]
ROWS: Final = {"rows": [[1]], "other": "o"}
TIMED_OUT: Final[dict[str, Any]] = {"code": "TIMEOUT", "retryable": True, "retry_after_ms": 2000}

SINGLE: Final[dict[str, Scenario]] = {
    "a plain answer to an earlier conversation": Scenario(setup(), chats=chat(Says("hello"), history=EARLIER)),
    "two calls and text beside them": Scenario(
        setup(tool("a"), tool("b")),
        {0: [Act(delay=2)], 1: [Act(delay=1)]},
        chat(Says("I look.", [Ask(0), Ask(1)]), Says("done")),
    ),
    "calls without an id": Scenario(setup(tool("a")), {}, chat(Says("", [Ask(0, id="")] * 2), Says("done"))),
    "one id in every turn": Scenario(
        setup(tool("a")), {}, chat(Says("", [Ask(0, id="x")]), Says("", [Ask(0, id="x")]), Says("done"))
    ),
    "calls that cannot be made": Scenario(
        setup(tool("a")),
        {},
        chat(Says("", [Ask("unknown"), Ask(0, written='{"tag": "cut'), Ask(0, written="[1]")]), Says("sorry")),
    ),
    "arguments as they were written": Scenario(
        setup(tool("a")), {}, chat(Says("", [Ask(0, {"n": None, "s": "é", "list": [1, {"x": 2.5}]})]))
    ),
    "every way in which a call can fail": Scenario(
        setup(tool("a"), tool_timeout=5, breaker_threshold=None),
        {0: [Act("error"), Act("error", code="GIVEN_UP"), Act("lost"), Act("late"), Act("garbled"), Act("down")]},
        chat(*[Says("", [Ask(0)])] * 6, Says("sorry")),
    ),
    "one fails and the others do not": Scenario(
        setup(tool("a"), tool("b"), tool("c", depends_on=["b"])),
        {0: [Act("error", code="GONE")], 1: [Act(delay=1)]},
        chat(Says("", [Ask(0), Ask(1), Ask(2)]), Says("done")),
    ),
    "a failure that only the flag names": Scenario(
        setup(tool("a", read_only=True), tool("b", server=1), servers=[Server(), Server(xmcp=False)]),
        {0: [Act("flagged", text="Only five bolts are left.")], 1: [Act("flagged")]},
        chat(Says("", [Ask(0), Ask(1)]), Says("sorry")),
    ),
    "all fail": Scenario(setup(tool("a")), {0: [Act("error")]}, chat(Says("", [Ask(0)]), Says("sorry"))),
    "a server that does not know XMCP": Scenario(
        setup(tool("a"), tool("b"), servers=[Server(xmcp=False)]),
        {1: [Act("forged")]},
        chat(Says("", [Ask(0), Ask(1)]), Says("done")),
    ),
    "plain results of a server that knows XMCP": Scenario(
        setup(tool("a"), tool("b"), tool("c"), servers=[Server(plain=True)]),
        {0: [Act(display="small")], 1: [Act("forged")], 2: [Act("error", code="CONFLICT"), Act(display="small")]},
        chat(Says("", [Ask(0), Ask(1), Ask(2)]), Says("", [Ask(2)])),
    ),
    "a plain result whose error has another category than its code": Scenario(
        setup(tool("a"), tool("b"), servers=[Server(plain=True)]),
        {
            0: [Act("error", code="CONFLICT", category="internal", text="The order is closed.")],
            1: [Act("error", code="SHOP_CLOSED", category="unavailable", text=" The shop is closed.\n")],
        },
        chat(Says("", [Ask(0), Ask(1)]), Says("done")),
    ),
    "errors of a server that does not know XMCP": Scenario(
        setup(tool("a"), tool("b", read_only=True), tool("c"), servers=[Server(xmcp=False)]),
        {
            0: [Act("error", code="CONFLICT", error_data={"code": "CONFLICT", "retryable": False})],
            1: [Act("error", error_data={"error": {"code": "timeout", "retry_after": 2}}, **TIMED_OUT), Act()],
            2: [Act("error", error_data={"code": "TIMEOUT", "retryable": True, "retry_after_ms": 2000}, **TIMED_OUT)],
        },
        chat(Says("", [Ask(0), Ask(1), Ask(2)]), Says("done")),
    ),
    "blocks for the user alone": Scenario(
        setup(tool("a"), tool("b"), tool("c", server=1), servers=[Server(xmcp=False), Server()]),
        {
            0: [Act(for_user="Thank you, Ada."), Act(text="", for_user="Your bolts arrive on Friday.")],
            1: [Act("error", for_user="Your card was refused.")],
            2: [Act(for_user="Shown beside a document."), Act(display="small", for_user="Shown beside a display.")],
        },
        chat(Says("", [Ask(0), Ask(1), Ask(2)]), Says("", [Ask(0), Ask(2)]), Says("done")),
    ),
    "a block for the user alone does not end a chat": Scenario(
        setup(tool("a")), {0: [Act(for_user="Thank you, Ada.")]}, chat(Says("", [Ask(0)]), Says("done"))
    ),
    "a block for the user and the model": Scenario(
        setup(tool("a"), tool("b", server=1), servers=[Server(xmcp=False), Server(plain=True)]),
        {tool: [Act(for_both="Your bolts arrive on Friday.")] for tool in (0, 1)},
        chat(Says("", [Ask(0), Ask(1)]), Says("done")),
    ),
    "a block for the user alone in a cache": Scenario(
        setup(tool("kept", cacheable=True, read_only=True), cache=True),
        {0: [Act(for_user="Thank you, Ada.")]},
        [Conversation([Says("", [Ask(0, tag="same")]), Says("done")], begins=begins) for begins in (0, 5)],
    ),
    "displays that are no displays": Scenario(
        setup(tool("a"), tool("b")),
        {0: [Act("bad_display")], 1: [Act("only_bad_display")]},
        chat(Says("", [Ask(0), Ask(1)]), Says("done")),
    ),
    "more calls than slots": Scenario(
        setup(tool("a"), max_concurrency=2),
        {0: [Act(delay=1)]},
        [Conversation([Says("", [Ask(0)] * 3)]), Conversation([Says("", [Ask(0)] * 2)])],
    ),
    "more calls than a turn may have": Scenario(
        setup(tool("a"), max_calls_per_turn=2), {}, chat(Says("", [Ask(0)] * 3), Says("done"))
    ),
    "calls of tools that there are not count too": Scenario(
        setup(tool("a"), max_calls_per_turn=2),
        {},
        chat(Says("", [Ask("unknown"), Ask(0), Ask(0), Ask(0)]), Says("done")),
    ),
    "a question above the limit of calls": Scenario(
        setup(tool("a"), max_calls_per_turn=1, meta_tools=("__clarify__",)),
        {},
        chat(Says("", [Ask(0), Ask("__clarify__", {"question": "Which?"})]), Says("done")),
    ),
    "more tools than a server may have": Scenario(
        setup(tool("a"), tool("b"), tool("c"), max_tools_per_server=2),
        {},
        chat(Says("", [Ask(0)]), Says("done"), events=True),
    ),
    "a predecessor that hands nothing on": Scenario(
        setup(tool("a"), tool("hasty", depends_on=["a"])),
        {0: [Act(delay=3)]},
        chat(Says("", [Ask(1), Ask(0)])),
    ),
    "a member is handed on": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"], input_schema=takes("rows"))),
        {0: [Act(structured=ROWS)]},
        chat(Says("", [Ask(0), Ask(1, {"rows": "made up"})])),
    ),
    "a whole result is handed on": Scenario(
        setup(tool("a", provides="data"), tool("b", depends_on=["a"], input_schema=takes("data"))),
        {0: [Act(structured=ROWS), Act()]},
        chat(Says("", [Ask(0), Ask(1)]), Says("", [Ask(0), Ask(1)])),
    ),
    "a wrapped value is handed on": Scenario(
        setup(
            tool("a", provides="data", wrapped_in="value"),
            tool("b", depends_on=["a"], input_schema=takes("value", data={"type": "array"})),
        ),
        {0: [Act(structured={"value": [1, 2]})]},
        chat(Says("", [Ask(0), Ask(1)]), Says("done")),
    ),
    "a result that has no name is handed on where it fits": Scenario(
        setup(
            tool("sql"),
            tool(
                "query",
                depends_on=["sql"],
                input_schema=takes(required=["sql"], sql={"type": "string"}),
                wrapped_in="value",
            ),
            tool("chart", depends_on=["query"], input_schema=takes(required=["rows"], rows={"type": "array"})),
        ),
        {
            0: [Act(text="select 1")],
            1: [Act(text='[{"n": 1}]'), Act(), *[Act(structured={"value": [number]}) for number in (1, 2)]],
        },
        chat(
            Says("", [Ask(0), Ask(1), Ask(2)]),
            Says("", [Ask(0), Ask(1, {"sql": "mine"}), Ask(2)]),
            Says("", [Ask(0), Ask(1), Ask(1), Ask(2)]),
        ),
    ),
    "a dependency that is left out does not count": Scenario(
        setup(
            tool("sql"),
            tool("query", depends_on=["sql", "rest"], input_schema=takes(required=["sql"], sql={"type": "string"})),
            tool("rest", provides="sql"),
            max_tools_per_server=2,
        ),
        {0: [Act(text="select 1")]},
        chat(Says("", [Ask(0), Ask(1)]), Says("done")),
    ),
    "near and far, early and late": Scenario(
        setup(
            tool("far"),
            tool("near", depends_on=["far"]),
            tool("near2", depends_on=["far"]),
            tool("end", depends_on=["near", "near2"], input_schema=takes("x")),
        ),
        {0: [Act(structured={"x": 1})], 1: [Act(structured={"x": 2})], 2: [Act(structured={"x": 3})]},
        chat(Says("", [Ask(0), Ask(1), Ask(2), Ask(3)]), Says("", [Ask(0), Ask(1), Ask(3)])),
    ),
    "several calls of a predecessor": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"], input_schema=takes("x"))),
        {0: [Act(structured={"x": 1}, delay=2), Act(structured={"x": 2}), Act("error")]},
        chat(Says("", [Ask(0), Ask(0), Ask(0), Ask(1)])),
    ),
    "a failed predecessor": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"]), tool("c", depends_on=["b"]), tool("d")),
        {0: [Act("error", code="GONE")]},
        chat(Says("", [Ask(0), Ask(1), Ask(2), Ask(3)]), Says("sorry")),
    ),
    "a value that does not fit": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"], input_schema=takes(x={"type": "integer"}))),
        {0: [Act(structured={"x": "three"})]},
        chat(Says("", [Ask(0), Ask(1)]), Says("sorry")),
    ),
    "digits for a number": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"], input_schema=takes(x={"type": "integer"}))),
        {0: [Act(structured={"x": "7"})]},
        chat(Says("", [Ask(0), Ask(1)]), Says("sorry")),
    ),
    "what was handed on is there at the second attempt": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"], read_only=True, input_schema=takes("rows"))),
        {0: [Act(structured=ROWS)], 1: [Act("error", **LATE), Act()]},
        chat(Says("", [Ask(0), Ask(1, {"rows": "made up"})]), Says("done")),
    ),
    "what a predecessor provides is not asked for": Scenario(
        setup(
            tool("a", provides="x"),
            tool("b", depends_on=["a"], input_schema=takes("x", "y", required=["x", "y"])),
        ),
        {},
        chat(Says("", [Ask(0), Ask(1, {"y": 1})])),
    ),
    "attempts": Scenario(
        setup(tool("read", read_only=True), tool("write"), tool("same", idempotent=True)),
        {
            0: [Act("error", **LATE), Act("error", retry_after_ms=7000, **LATE), Act()],
            1: [Act("error", **LATE), Act("error", side_effects="none", **LATE), Act()],
            2: [Act("lost"), Act("error", **LATE)],
        },
        chat(Says("", [Ask(0), Ask(1), Ask(2)]), Says("", [Ask(1)]), Says("", [Ask(0)]), Says("sorry")),
    ),
    "errors that pass, of a tool that may not be called twice": Scenario(
        setup(tool("write")),
        {0: [Act("error", code=code, retryable=True) for code in ("RATE_LIMIT", "UPSTREAM_UNAVAILABLE", "TIMEOUT")]},
        chat(*[Says("", [Ask(0)])] * 3, Says("sorry")),
    ),
    "a server that wants a long wait": Scenario(
        setup(tool("read", read_only=True)),
        {0: [Act("error", retry_after_ms=130_000, **LATE), Act()]},
        chat(Says("", [Ask(0)]), Says("sorry")),
    ),
    "a call that never left": Scenario(
        setup(tool("write")), {0: [Act("down"), Act()]}, chat(Says("", [Ask(0)]), Says("done"))
    ),
    "a tool that is too slow": Scenario(
        setup(tool("a"), tool_timeout=5), {0: [Act("late")]}, chat(Says("", [Ask(0)]), Says("sorry"))
    ),
    "an error that does not say that it can be retried": Scenario(
        setup(tool("read", read_only=True)),
        {0: [Act("error", code="DB_TIMEOUT", side_effects="none"), Act()]},
        chat(Says("", [Ask(0)]), Says("sorry")),
    ),
    "a breaker opens, probes fail, a probe comes through": Scenario(
        setup(tool("a"), breaker_threshold=2, breaker_reset_after=10),
        {0: [Act("lost"), Act("lost"), Act("lost"), Act()]},
        chat(
            Says("", [Ask(0)]),
            Says("", [Ask(0)]),
            Says("", [Ask(0)]),
            Says("", [Ask(0)], delay=11),
            Says("", [Ask(0)], delay=1),
            Says("", [Ask(0)], delay=11),
            Says("", [Ask(0)]),
            Says("done"),
        ),
    ),
    "several calls when a probe is due": Scenario(
        setup(tool("a"), breaker_threshold=1, breaker_reset_after=10),
        {0: [Act("lost"), Act(delay=2)]},
        chat(Says("", [Ask(0)]), Says("", [Ask(0)] * 3, delay=12), Says("", [Ask(0)] * 2), Says("done")),
    ),
    "a breaker opens between the attempts of a call": Scenario(
        setup(tool("read", read_only=True), breaker_threshold=2, tool_timeout=2),
        {0: [Act("late")]},
        chat(Says("", [Ask(0)]), Says("sorry")),
    ),
    "a connection is lost with several calls on it": Scenario(
        setup(tool("a"), breaker_threshold=2),
        {0: [*[Act("lost", delay=1)] * 3, Act()]},
        chat(Says("", [Ask(0)] * 3), Says("", [Ask(0)]), Says("done")),
    ),
    "chats with calls are cancelled and a breaker": Scenario(
        setup(tool("a"), breaker_threshold=2),
        {0: [*[Act(delay=20)] * 2, Act()]},
        [
            *[Conversation([Says("", [Ask(0)])], cancelled=5)] * 2,
            Conversation([Says("", [Ask(0)]), Says("done")], begins=6),
        ],
    ),
    "a chat is cancelled between two failures and a breaker": Scenario(
        setup(tool("a"), breaker_threshold=2, breaker_reset_after=30),
        {0: [Act("lost"), Act(delay=20), Act("lost"), Act()]},
        [
            Conversation([Says("", [Ask(0)])]),
            Conversation([Says("", [Ask(0)])], begins=1, cancelled=2),
            Conversation([Says("", [Ask(0)]), Says("", [Ask(0)], delay=1), Says("sorry")], begins=4),
        ],
    ),
    "the chat of a probe is cancelled": Scenario(
        setup(tool("a"), breaker_threshold=1, breaker_reset_after=10),
        {0: [Act("lost"), Act(delay=20), Act(delay=1)]},
        [
            Conversation([Says("", [Ask(0)])]),
            Conversation([Says("", [Ask(0)])], begins=11, cancelled=5),
            Conversation([Says("", [Ask(0)] * 2), Says("done")], begins=17),
        ],
    ),
    "unreadable answers and a breaker": Scenario(
        setup(tool("a"), breaker_threshold=2),
        {0: [Act("garbled")]},
        chat(*[Says("", [Ask(0)])] * 4, Says("sorry")),
    ),
    "a probe is late and the next one cannot be read": Scenario(
        setup(tool("a"), breaker_threshold=1, breaker_reset_after=10, tool_timeout=5),
        {0: [Act("lost"), Act("late"), Act("garbled"), Act()]},
        chat(
            Says("", [Ask(0)]),
            Says("", [Ask(0)]),
            Says("", [Ask(0)], delay=11),
            Says("", [Ask(0)], delay=1),
            Says("", [Ask(0)], delay=11),
            Says("", [Ask(0)]),
            Says("done"),
        ),
    ),
    "a tools errors and a breaker": Scenario(
        setup(tool("a"), breaker_threshold=2),
        {0: [Act("error", code="GONE")]},
        chat(*[Says("", [Ask(0)])] * 4, Says("sorry")),
    ),
    "a chat is cancelled": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"])),
        {0: [Act(delay=20)]},
        [Conversation([Says("", [Ask(0), Ask(1)])], cancelled=5), Conversation([Says("", [Ask(0)])])],
    ),
    "a chat is cancelled in a turn with text": Scenario(
        setup(tool("slow")), {0: [Act(delay=20)]}, [Conversation([Says("I look.", [Ask(0)])], cancelled=5)]
    ),
    "a chat is cancelled in one call": Scenario(
        setup(tool("slow")), {0: [Act(delay=20)]}, [Conversation([Says("", [Ask(0)])], cancelled=5)]
    ),
    "a cache": Scenario(
        setup(tool("kept", cacheable=True, read_only=True), tool("read", read_only=True), cache=True),
        {},
        chat(*[Says("", [Ask(0, tag="same"), Ask(1, tag="same2")])] * 2, Says("", [Ask(0, tag="other")]), tenant="t"),
    ),
    "a cache and two tenants": Scenario(
        setup(tool("kept", cacheable=True, read_only=True), cache=True),
        {},
        [
            Conversation([Says("", [Ask(0, tag="same")])], tenant="one"),
            Conversation([Says("", [Ask(0, tag="same")])], tenant="two", begins=5),
        ],
    ),
    "a number and its digits and a cache": Scenario(
        setup(tool("kept", cacheable=True, read_only=True), cache=True),
        {},
        chat(*[Says("", [Ask(0, {"x": x}, tag="same")]) for x in (7, "7", True, 1)], Says("done")),
    ),
    "errors and a cache": Scenario(
        setup(tool("kept", cacheable=True, read_only=True), cache=True),
        {0: [Act("error", code="GONE"), Act()]},
        chat(*[Says("", [Ask(0, tag="same")])] * 2, Says("done")),
    ),
    "transient displays and a cache": Scenario(
        setup(tool("kept", cacheable=True, read_only=True), cache=True, display="continue"),
        {0: [Act(display="transient")]},
        chat(*[Says("", [Ask(0, tag="same")])] * 2, Says("done")),
    ),
    "a display that is large in bytes": Scenario(
        setup(tool("a"), display="continue"), {0: [Act(display="wide")]}, chat(Says("", [Ask(0)]), Says("done"))
    ),
    "a large display and a cache": Scenario(
        setup(tool("kept", cacheable=True, read_only=True), cache=True, display="continue"),
        {0: [Act(display="large")]},
        chat(*[Says("", [Ask(0, tag="same")])] * 2, Says("done"), events=True),
    ),
    "equal calls at the same time": Scenario(
        setup(tool("kept", cacheable=True, read_only=True), cache=True),
        {0: [Act(delay=5)]},
        [
            Conversation([Says("", [Ask(0, tag="same")])], cancelled=2),
            Conversation([Says("", [Ask(0, tag="same")])], begins=1),
        ],
    ),
    "a call waits for an equal one whose chat runs out of time": Scenario(
        setup(tool("kept", cacheable=True, read_only=True), cache=True, chat_timeout=6),
        {0: [Act(delay=8)]},
        [
            Conversation([Says("", [Ask(0, tag="same")])]),
            Conversation([Says("", [Ask(0, tag="same")]), Says("done")], begins=3),
        ],
    ),
    "displays end a chat": Scenario(
        setup(tool("a"), tool("b")),
        {0: [Act(display="small", delay=2)], 1: [Act(display="small")]},
        chat(Says("", [Ask(0), Ask(1)])),
    ),
    "a chain ends in a display": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"], input_schema=takes("rows"))),
        {0: [Act(structured=ROWS)], 1: [Act(display="small")]},
        chat(Says("", [Ask(0), Ask(1)])),
    ),
    "a display beside a plain result": Scenario(
        setup(tool("a"), tool("b")), {0: [Act(display="small")]}, chat(Says("", [Ask(0), Ask(1)]), Says("done"))
    ),
    "a display beside an error": Scenario(
        setup(tool("a"), tool("b")),
        {0: [Act(display="small")], 1: [Act("error", code="GONE")]},
        chat(Says("", [Ask(0), Ask(1)]), Says("done")),
    ),
    "a display and the last word": Scenario(
        setup(tool("a"), display="continue"), {0: [Act(display="small")]}, chat(Says("", [Ask(0)]), Says("done"))
    ),
    "a large display": Scenario(
        setup(tool("a"), display="continue"), {0: [Act(display="large")]}, chat(Says("", [Ask(0)]), Says("done"))
    ),
    "callbacks that fail": Scenario(
        setup(tool("a"), tool("b")),
        {0: [Act(display="small")], 1: [Act("error", code="GONE")]},
        chat(Says("", [Ask(0), Ask(1)]), Says("done")),
        callbacks_fail=True,
    ),
    "the limit of turns": Scenario(setup(tool("a"), max_turns=2), {}, chat(*[Says("", [Ask(0)])] * 4)),
    "the limit of turns, with text": Scenario(setup(tool("a"), max_turns=2), {}, chat(*[Says("so far", [Ask(0)])] * 4)),
    "the time of a chat": Scenario(
        setup(tool("a"), chat_timeout=10), {0: [Act(delay=30)]}, chat(Says("", [Ask(0)]), Says("done"))
    ),
    "the time of a chat, before the model says anything": Scenario(
        setup(chat_timeout=5), {}, chat(Says("", stalls=True))
    ),
    "calls that wait when the time of a chat is over": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"]), chat_timeout=10, tool_timeout=200),
        {0: [Act(delay=100)]},
        chat(Says("", [Ask(0), Ask(1)]), Says("done")),
    ),
    "a model that fails": Scenario(
        setup(tool("a")), {}, chat(Says("", [Ask(0)]), Says("", fails="rate_limit"), history=EARLIER)
    ),
    "an answer that breaks off": Scenario(
        setup(tool("a")),
        {},
        chat(Says("", [Ask(0)]), Says("half an ans", fails="network", broken=True), Says("whole")),
    ),
    "events that the application asked for": Scenario(
        setup(tool("a")),
        {},
        [
            Conversation([Says("", [Ask(0)]), Says("done")], events=True),
            Conversation([Says("", fails="content")], events=True),
        ],
    ),
    "another model after an answer that breaks off": Scenario(
        setup(),
        {},
        chat(*[Says("half an ans", fails="network", broken=True)] * 2, Says("from the other"), events=True),
        fallbacks=1,
    ),
    "three answers that break off and another model": Scenario(
        setup(),
        {},
        chat(*[Says("half an ans", fails="network", broken=True)] * 3, Says("from the other"), events=True),
        fallbacks=1,
    ),
    "protocol errors": Scenario(
        setup(tool("a"), tool("b", server=1), servers=[Server(), Server(xmcp=False)]),
        {tool: [Act("invalid_params"), Act("internal_error")] for tool in (0, 1)},
        chat(*[Says("", [Ask(0), Ask(1)])] * 2, Says("sorry")),
    ),
    "another model": Scenario(setup(), {}, chat(Says("", fails="network"), Says("from the other")), fallbacks=1),
    "a quota": Scenario(
        setup(tool("a"), quota_tokens={"poor": 2000}),
        {},
        [
            Conversation([Says("", [Ask(0)], tokens=2500), Says("done", tokens=10)], tenant="poor"),
            Conversation([Says("", [Ask(0)], tokens=1990), Says("done", tokens=10)], tenant="rich"),
        ],
    ),
    "an answer that is cancelled counts": Scenario(
        setup(quota_tokens={"poor": 2000}),
        {},
        [
            Conversation([Says("word " * 8000, stalls=True)], tenant="poor", cancelled=5),
            Conversation([Says("not allowed")], tenant="poor", begins=10),
        ],
    ),
    "an answer that breaks off counts": Scenario(
        setup(quota_tokens={"poor": 2000}),
        {},
        [
            Conversation([Says("word " * 8000, fails="network", broken=True), Says("not allowed")], tenant="poor"),
            Conversation([Says("not allowed")], tenant="poor", begins=10),
        ],
    ),
    "an answer that takes too long counts": Scenario(
        setup(quota_tokens={"poor": 2000}, chat_timeout=5),
        {},
        [
            Conversation([Says("word " * 8000, stalls=True)], tenant="poor"),
            Conversation([Says("not allowed")], tenant="poor", begins=10),
        ],
    ),
    "a chat begins while another one is answered": Scenario(
        setup(quota_tokens={"poor": 2000}),
        {},
        [
            Conversation([Says("word " * 8000, stalls=True)], tenant="poor", cancelled=5),
            Conversation([Says("allowed")], tenant="poor", begins=3),
        ],
    ),
    "an answer that is cancelled is kept": Scenario(
        setup(), {}, [Conversation([Says("half an answ", stalls=True)], history=EARLIER, cancelled=5)]
    ),
    "an answer is cancelled after one that broke off": Scenario(
        setup(),
        {},
        chat(
            Says("half an ans", fails="network", broken=True),
            Says("another answ", stalls=True),
            cancelled=5,
            events=True,
        ),
        fallbacks=1,
    ),
    "tenants that wait for the same slot": Scenario(
        setup(tool("a"), max_concurrency=1),
        {0: [Act(delay=1)]},
        [
            Conversation([Says("", [Ask(0)] * 5)], query="all of the books", tenant="many"),
            Conversation([Says("", [Ask(0)])], query="a single book", tenant="single", begins=0.5),
        ],
    ),
    "chats without a tenant that wait for the same slot": Scenario(
        setup(tool("a"), max_concurrency=1),
        {0: [Act(delay=1)]},
        [
            Conversation([Says("", [Ask(0)] * 2)], query="the books of nobody"),
            Conversation([Says("", [Ask(0)] * 2)], query="the nuts of nobody", begins=0.4),
            Conversation([Says("", [Ask(0)] * 2)], query="the bolts of nobody", begins=0.4),
            Conversation([Says("", [Ask(0)] * 2)], query="a single book", tenant="single", begins=0.6),
        ],
    ),
    "approvals": Scenario(
        setup(tool("a"), tool("read", read_only=True), approval=True),
        {},
        chat(Says("", [Ask(0)]), Says("", [Ask(1)]), Says("", [Ask(0)]), Says("done")),
        approves=[True, True, False],
    ),
    "parameters of the application": Scenario(
        setup(
            tool("a", input_schema=takes("user", "q", required=["user"])),
            tool("b", depends_on=["c"], input_schema=takes("user")),
            tool("c"),
            tool("d", input_schema={**takes("q"), "if": {"required": ["q"]}, "then": takes("user")}),
            params={"user": "u-1"},
        ),
        {2: [Act(structured={"user": "handed on"})]},
        chat(Says("", [Ask(0, {"q": 1, "user": "root"}), Ask(3, {"q": 1})]), Says("", [Ask(2), Ask(1)])),
    ),
    "parameters for which the application has nothing": Scenario(
        setup(
            tool("a", input_schema=takes("user", required=["user"])),
            tool("b", input_schema=takes("user", "q")),
            params={"user": None},
        ),
        {},
        chat(Says("", [Ask(0, {"user": "root"}), Ask(1, {"q": 1, "user": "root"})]), Says("sorry")),
    ),
    "thoughts": Scenario(
        setup(tool("a"), meta_tools=("__think__",)),
        {},
        chat(Says("", [Ask("__think__", {"thought": "They mean last year."}), Ask(0)]), Says("done")),
    ),
    "a question to the person": Scenario(
        setup(tool("a"), meta_tools=("__clarify__",)),
        {},
        chat(Says("", [Ask(0), Ask("__clarify__", {"question": "Which year?"})]), Says("never asked")),
    ),
    "a summary": Scenario(
        setup(tool("a"), meta_tools=("__summarize__",)),
        {},
        chat(Says("", [Ask(0), Ask("__summarize__", {"summary": "They said hello."})]), Says("done"), history=EARLIER),
    ),
    "a summary after a turn of the chat": Scenario(
        setup(tool("a"), meta_tools=("__summarize__",)),
        {},
        chat(
            Says("", [Ask(0)]),
            Says("", [Ask("__summarize__", {"summary": "They said hello."})]),
            Says("done"),
            history=EARLIER,
        ),
    ),
    "names that clash": Scenario(
        setup(tool("a"), tool("a", server=1), servers=[Server(), Server()]),
        {},
        chat(Says("", [Ask(0), Ask(1)])),
    ),
    "names that were given": Scenario(
        setup(tool("a"), tool("a", server=1), servers=[Server(given_name="crm"), Server(given_name="erp")]),
        {},
        chat(Says("", [Ask(0), Ask(1)])),
    ),
    "a server that is down": Scenario(
        setup(tool("a"), tool("b", server=1), servers=[Server(), Server(reachable=False)]),
        {},
        chat(Says("", [Ask(0), Ask(1)]), Says("done")),
    ),
    "a server that comes up": Scenario(
        setup(tool("a"), tool("b", server=1), servers=[Server(), Server(reachable=False)]),
        {},
        [Conversation([Says("done")]), Conversation([Says("", [Ask(1)]), Says("done")], begins=70)],
        changes=[Change(5, 1, [tool("b", server=1)], announced=False)],
    ),
    "a server that is lost while it is called": Scenario(
        setup(tool("a"), tool("b", read_only=True)),
        {0: [Act("lost")], 1: [Act("down")]},
        chat(Says("", [Ask(0), Ask(1)]), Says("sorry")),
    ),
    "an attempt is lost, and no other can be made": Scenario(
        setup(tool("read", read_only=True)),
        {0: [Act("lost"), Act("down")]},
        chat(Says("", [Ask(0)]), Says("sorry")),
    ),
    "the calls of an answer that the vendor cut": Scenario(
        setup(tool("a")),
        {},
        chat(Says("Let me", [Ask(0)], finish="length"), Says("done")),
    ),
    "a model that says nothing": Scenario(setup(tool("a")), {}, chat(Says("", [Ask(0)]), Says(""))),
    "a text beside a display": Scenario(
        setup(tool("a")), {0: [Act(display="small")]}, chat(Says("Here they are.", [Ask(0)]))
    ),
    "metadata of a later version": Scenario(
        setup(tool("a", unknown={"colour": 3, "provides": 7}), tool("b", depends_on=["a"])),
        {},
        chat(Says("", [Ask(0), Ask(1)])),
    ),
    "tools that depend on each other in a circle": Scenario(
        setup(tool("a", depends_on=["b"]), tool("b", depends_on=["a"])), {}, chat(Says("hello"))
    ),
    "a server whose tools depend on each other in a circle beside another": Scenario(
        setup(
            tool("a", depends_on=["b"]),
            tool("b", depends_on=["a"]),
            tool("c", server=1),
            servers=[Server(), Server()],
        ),
        {},
        chat(Says("", [Ask(2)]), Says("done")),
    ),
    "a category of a later version": Scenario(
        setup(tool("read", read_only=True)),
        {0: [Act("error", code="X_ODD", category="x_weather")]},
        chat(Says("", [Ask(0)]), Says("sorry")),
    ),
    "two tenants at the same time": Scenario(
        setup(tool("a")),
        {0: [Act(delay=2)]},
        [
            Conversation([Says("Acme looks.", [Ask(0)])], query="the books of Acme", tenant="acme"),
            Conversation(
                [Says("Bolt looks for its nuts.", [Ask(0)])], query="the nuts of Bolt", tenant="bolt", begins=1
            ),
        ],
    ),
    "a tool goes and another takes its name": Scenario(
        setup(tool("a"), tool("b", server=1), servers=[Server(), Server()]),
        {0: [Act(delay=1)]},
        chat(Says("", [Ask(0)]), Says("", [Ask(1)], delay=10), Says("", [Ask("a")]), Says("done")),
        changes=[Change(5, 0, [tool("c")]), Change(6, 1, [tool("a", server=1)])],
    ),
    "a redeployed server that does not know a tool any more": Scenario(
        setup(tool("a")),
        {},
        chat(Says("", [Ask(0)]), Says("", [Ask(0)], delay=2), Says("done", delay=11)),
        changes=[Change(1, 0, [tool("b")], announced=False)],
    ),
    "a server that is redeployed again at once": Scenario(
        setup(tool("a")),
        {},
        [Conversation([Says("", [Ask(0)], delay=delay), Says("done", delay=11)]) for delay in (2, 4)],
        changes=[Change(1, 0, [tool("b")], announced=False), Change(3, 0, [tool("c")], announced=False)],
    ),
    "a redeployed server that is not called": Scenario(
        setup(tool("a")),
        {},
        [Conversation([Says("done")]), Conversation([Says("done")], begins=70)],
        changes=[Change(1, 0, [tool("b")], announced=False)],
    ),
    "a refreshed list and a parameter that is filled in": Scenario(
        setup(tool("a", input_schema=takes("q", "secret", required=["secret"])), params={"secret": "s3"}),
        {},
        [Conversation([Says("", [Ask(0)]), Says("done")], begins=begins) for begins in (0, 8)],
        changes=[Change(5, 0, [tool("a", input_schema=takes("q", "r", "secret", required=["secret"]))])],
    ),
    "a large display in a given history, in a list of parts": Scenario(
        setup(tool("a")), {}, chat(Says("", [Ask(0)]), Says("done"), history=SHOWN_IN_PARTS)
    ),
    "a boolean is no number that is handed on": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"], input_schema=takes(x={"type": "integer"}))),
        {0: [Act(structured={"x": True}), Act(structured={"x": 1})]},
        chat(Says("", [Ask(0), Ask(1)]), Says("", [Ask(0), Ask(1)]), Says("done")),
    ),
    "a list that the model wrote as a text": Scenario(
        setup(tool("a", input_schema=takes(ids={"type": "array"}, n={"type": "integer"}))),
        {},
        chat(Says("", [Ask(0, {"ids": "[1, 2]", "n": "7"})]), Says("done")),
    ),
    "a wait for which the chat has no time left": Scenario(
        setup(tool("read", read_only=True), chat_timeout=10),
        {0: [Act("error", delay=6, **{**LATE, "retry_after_ms": 6000})]},
        chat(Says("", [Ask(0)]), Says("sorry")),
    ),
    "a tool that is cacheable by a word": Scenario(
        setup(tool("a", unknown={"cacheable": "yes"}), cache=True),
        {},
        [Conversation([Says("", [Ask(0, tag="same")]), Says("done")], begins=begins) for begins in (0, 5)],
    ),
    "a value of equally far predecessors": Scenario(
        setup(
            tool("first"),
            tool("second"),
            tool("near", depends_on=["first", "second"]),
            tool("end", depends_on=["near"], input_schema=takes("x")),
        ),
        {0: [Act(structured={"x": 1})], 1: [Act(structured={"x": 2})]},
        chat(Says("", [Ask(1), Ask(0), Ask(2), Ask(3)]), Says("done")),
    ),
    "a display that is described at length": Scenario(
        setup(tool("a"), display="continue"),
        {0: [Act(display="described")]},
        chat(Says("", [Ask(0)]), Says("done")),
    ),
    "a link for the user alone": Scenario(
        setup(tool("a"), tool("b", server=1), servers=[Server(xmcp=False), Server()]),
        {tool: [Act(for_user="receipt-4711", link_for_user=True)] for tool in (0, 1)},
        chat(Says("", [Ask(0), Ask(1)]), Says("done")),
    ),
    "a document that has lost characters beside a large display": Scenario(
        setup(tool("a"), display="continue"),
        {0: [Act(text="a\ufffdb", lossy=True, display="large"), Act(text="a\ufffdb", lossy=True)]},
        chat(Says("", [Ask(0)]), Says("", [Ask(0)]), Says("done")),
    ),
    "reasoning before a text": Scenario(
        setup(tool("a")),
        {},
        chat(
            Says("I look.", [Ask(0)], reasoning="They ask for bolts, so I search."),
            Says("done", reasoning="There are seven. Say so."),
            events=True,
        ),
    ),
    "reasoning in an answer that broke off": Scenario(
        setup(tool("a")),
        {},
        chat(
            Says("half an ans", reasoning="Let me begin with an example.", fails="network", broken=True),
            Says("done", reasoning="Let me begin anew, and briefly."),
            events=True,
        ),
    ),
    "reasoning, and then silence": Scenario(
        setup(tool("a"), chat_timeout=4),
        {},
        chat(Says("", reasoning="This will take some time.", stalls=True), events=True),
    ),
    "a call reports its progress": Scenario(
        setup(tool("a")),
        {0: [Act(reports=[Report(1, 3, "bolts"), Report(2, 3, delay=1), Report(3, delay=0.01)], delay=1)]},
        chat(Says("", [Ask(0)]), Says("done"), events=True),
    ),
    "reports of progress with control characters, and a long one": Scenario(
        setup(tool("a")),
        {0: [Act(reports=[Report(1, 2, "\x1b[2Jone\ntwo"), Report(2, 2, "row " * 500, delay=1)])]},
        chat(Says("", [Ask(0)]), Says("done"), events=True),
    ),
    "a report of progress right before the answer": Scenario(
        setup(tool("a")),
        {0: [Act(reports=[Report(1, 2, "one"), Report(2, 2, "two", delay=0.03)])]},
        chat(Says("", [Ask(0)]), Says("done"), events=True),
    ),
    "many reports of progress at once": Scenario(
        setup(tool("a")),
        {0: [Act(reports=[Report(1, 300, "row", count=300)])]},
        chat(Says("", [Ask(0)]), Says("done"), events=True),
    ),
    "reports of an attempt that fails, and of the next": Scenario(
        setup(tool("a", read_only=True)),
        {0: [Act("error", reports=[Report(7, 9, "old")], **LATE), Act(reports=[Report(1, 9, "new")], delay=1)]},
        chat(Says("", [Ask(0)]), Says("done"), events=True),
    ),
    "reports of a call that its time ends": Scenario(
        setup(tool("a"), tool_timeout=3),
        {0: [Act("late", reports=[Report(1, 9, "slow", count=3, delay=1)])]},
        chat(Says("", [Ask(0)]), Says("done"), events=True),
    ),
    "a large display in a given history": Scenario(
        setup(tool("a")), {}, chat(Says("", [Ask(0)]), Says("done"), history=SHOWN_BEFORE)
    ),
    "a tool changes while it is called": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"])),
        {0: [Act(delay=10)]},
        chat(Says("", [Ask(0), Ask(1)]), Says("done")),
        changes=[Change(5, 0, [tool("a")])],
    ),
}
"""Scenarios about one thing each: what is wrong in one breaks the sentence about it and, most often, no other."""
SCENARIOS: Final[dict[str, Scenario]] = (
    SINGLE | MEETINGS | CONTENTS | ENDINGS | PLACES | ANSWERS | ARGUMENTS | BREAKERS | CACHES
)
