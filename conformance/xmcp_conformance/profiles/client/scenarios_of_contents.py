"""Scenarios about what peers write: names, schemas, failures, blocks and arguments as others have them.

The servers and models of the other scenarios write in one way what can be written in many: a client can be right with
them, and wrong with a name that has a dot, a schema that has an `enum`, or a failure without `retryable`.
"""

from __future__ import annotations

from typing import Any, Final

from .scenario import Act, Ask, Conversation, Says, Scenario
from .short_forms import chat, setup, takes, tool
from .trace import Server

_NARROW: Final[dict[str, Any]] = {
    "size": {"type": "string", "enum": ["small", "large"]},
    "count": {"type": "integer", "minimum": 1},
    "code": {"type": "string", "pattern": "^[A-Z]{2}$"},
    "when": {"anyOf": [{"type": "integer"}, {"type": "string", "minLength": 4}]},
    "parts": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
    "place": {"type": "object", "required": ["street"]},
}
_NEARLY: Final = {
    "size": "medium",
    "count": 0,
    "code": "xy",
    "when": "now",
    "parts": ["a", 7],
    "place": {"town": "Ulm"},
}
"""Values that have the type of the schema in `_NARROW`, and do not fit it."""
_IN_OTHER_WORDS: Final = (
    Act(
        "error",
        code="RATE_LIMITED",
        retryable=True,
        retry_after_ms=2000,
        error_data={"error": {"code": "rate_limited", "retry_after": 2}},
    ),
    Act("error", code="NOT_FOUND", error_data={"code": "not-found", "message": "There is none."}),
    Act(
        "error",
        code="TIMEOUT",
        retryable=True,
        retry_after_ms=1500,
        error_data={"error": {"code": "TIMEOUT", "retry_after_seconds": 1.5}},
    ),
    Act(
        "error",
        code="X_SHOP_CLOSED",
        error_data={"error": {"code": "x_shop_closed", "retryable": False, "retry_after": 3}},
    ),
    Act("error", code="CONFLICT", error_data={"error": {"code": "conflict"}, "code": "timeout", "retryable": True}),
)
"""Failures that say less than all, or say it in another way (section 6.4), each with the error that it stands for."""
_WRITTEN: Final = (
    '"n": 9007199254740993, "m": -0.5e3, "k": 12345678901234567890',
    '"a": 1, "b": {"c": [1, [2, {"d": null}]]}, "e": []',
    '"s": "caf\\u00e9 \\ud83d\\ude00 <b> & \\n"',
    '"twice": 1, "twice": 2, "in": {"twice": 1, "b": [{"twice": 3, "twice": 4}], "twice": 2}',
    '"": "empty", "a b": true, "__proto__": 1, "constructor": "x"',
)
"""Members of arguments, as a model writes them, of which programs lose something."""


_DISORDERLY: Final[list[dict[str, Any]]] = [
    {"role": "user", "content": "earlier"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": one, "type": "function", "function": {"name": "old", "arguments": "{}"}} for one in ("c1", "c2")
        ],
    },
    *(
        {
            "role": "tool",
            "tool_call_id": one,
            "content": '<tool_response tool_name="old"><llm_output>a</llm_output></tool_response>',
        }
        for one in ("c2", "c1")
    ),
    {"role": "assistant", "content": "said earlier"},
]
"""A history of the application that a client refuses, or mends in a copy (section 11.11)."""


_ALIKE: Final[tuple[Any, ...]] = (
    ["b", "a"],
    ["a", "b"],
    ["a", "b", "b"],
    "a",
    "A",
    "a ",
    {"a": 1},
    {"a": [1]},
    1,
    1.5,
    "",
    None,
    [],
    {},
)
"""Values that are not equal as JSON values, and become so where a program sorts, trims, folds or rounds them."""
_THANKS: Final = [Act(for_user=f"Thank you, {name}.") for name in ("Ada", "Bob")]


def _written(place: int) -> str:
    return f'{{"tag": "{place}", {_WRITTEN[place]}}}'


CONTENTS: Final[dict[str, Scenario]] = {
    "names that a model does not take": Scenario(
        setup(tool("files.read"), tool("a" * 70), tool("list__items", server=1), servers=[Server(), Server()]),
        {},
        chat(Says("", [Ask(0), Ask(1), Ask(2)]), Says("done")),
    ),
    "names with underscores at named servers": Scenario(
        setup(
            *(tool("get__item"), tool("get.item", server=1), tool("item__", server=1)),
            servers=[Server(given_name="shop"), Server(given_name="store")],
        ),
        {},
        chat(Says("", [Ask(0), Ask(1), Ask(2)]), Says("done")),
    ),
    "a list of tools in several pages": Scenario(
        setup(*(tool(f"tool{number}") for number in range(8))), {}, chat(Says("", [Ask(7), Ask(0)]), Says("done"))
    ),
    "dependencies at a named server": Scenario(
        setup(
            tool("find"),
            tool("load", depends_on=["find"], input_schema=takes(x={})),
            tool("sum", depends_on=["load"], input_schema=takes(required=["rows"], rows={})),
            servers=[Server(given_name="crm")],
        ),
        {0: [Act(structured={"x": 1}, delay=2)], 1: [Act(structured=[1, 2], delay=1)]},
        chat(Says("", [Ask(2), Ask(1), Ask(0)]), Says("done")),
    ),
    "a probe is answered with an error of the tool": Scenario(
        setup(tool("a"), breaker_threshold=1, breaker_reset_after=4, max_attempts=1),
        {0: [Act("lost"), Act("error", code="NOT_FOUND"), Act()]},
        chat(Says("", [Ask(0)]), Says("", [Ask(0)], delay=6), Says("", [Ask(0)]), Says("done")),
    ),
    "a schema with defaults": Scenario(
        setup(tool("a", input_schema=takes(limit={"type": "integer", "default": 10}, order={"default": "up"}))),
        {},
        chat(Says("", [Ask(0), Ask(0, {"limit": 3})]), Says("done")),
    ),
    "values that fit by their types alone": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"], input_schema=takes(**_NARROW))),
        {0: [Act(structured={name: value}) for name, value in _NEARLY.items()]},
        chat(*[Says("", [Ask(0), Ask(1)])] * len(_NEARLY), Says("sorry")),
    ),
    "calls of an answer that ended with stop": Scenario(
        setup(tool("a")), {}, chat(Says("", [Ask(0)], finish="stop"), Says("I look.", [Ask(0)], finish="stop"))
    ),
    "failures of other servers in their own words": Scenario(
        setup(tool("a", read_only=True), max_attempts=1, servers=[Server(xmcp=False)]),
        {0: [*_IN_OTHER_WORDS]},
        chat(*[Says("", [Ask(0)])] * len(_IN_OTHER_WORDS), Says("sorry"), events=True),
    ),
    "texts in embedded resources": Scenario(
        setup(tool("a"), tool("b", server=1), servers=[Server(xmcp=False), Server(plain=True)]),
        {
            tool: [
                Act(as_resource=True),
                Act(for_user=f"Thank you, {name}.", resource_for_user=True),
                Act(as_resource=True, for_both="Your bolts arrive on Friday."),
            ]
            for tool, name in enumerate(("Ada", "Bob"))
        },
        chat(*[Says("", [Ask(0), Ask(1)])] * 3, Says("done"), events=True),
    ),
    "a resource for the user alone behind a document": Scenario(
        setup(tool("a")),
        {0: [Act(for_user="Thank you, Ada.", resource_for_user=True)]},
        chat(Says("", [Ask(0)]), Says("done"), events=True),
    ),
    "plain results that say what was filled in": Scenario(
        setup(tool("a"), servers=[Server(plain=True)], display="continue"),
        {0: [Act(all_parts=True), Act(all_parts=True, display="large"), Act(all_parts=True, text="")]},
        chat(*[Says("", [Ask(0)])] * 3, Says("done")),
    ),
    "a wrapper beside other members, and one without them": Scenario(
        setup(
            tool("a", provides="data", wrapped_in="value"),
            tool("b", depends_on=["a"], input_schema=takes("value", "data", "more")),
            tool("c", provides="data", output_schema={"type": "object", "x-fastmcp-wrap-result": True}),
            tool("d", depends_on=["c"], input_schema=takes("result", "data", "more")),
        ),
        {
            tool: [Act(structured=data) for data in ({name: {"more": 1}, "more": 2}, {name: {"more": 3}}, {"more": 4})]
            for tool, name in ((0, "value"), (2, "result"))
        },
        chat(*[Says("", [Ask(0), Ask(1), Ask(2), Ask(3)])] * 3, Says("done")),
    ),
    "arguments that programs change": Scenario(
        setup(tool("a")),
        {},
        chat(*[Says("", [Ask(0, written=_written(one))]) for one in range(len(_WRITTEN))], Says("done")),
    ),
    "another value of the application in the next chat, and a cache": Scenario(
        setup(
            tool("kept", cacheable=True, read_only=True, input_schema=takes(user={})),
            cache=True,
            params={"user": "u-1"},
        ),
        {},
        [
            Conversation([Says("", [Ask(0, tag="same")]), Says("done")], begins=begins, params=params)
            for begins, params in ((0, {}), (5, {"user": "u-2"}), (10, {}))
        ],
    ),
    "arguments that programs take for equal, and a cache": Scenario(
        setup(tool("kept", cacheable=True, read_only=True), cache=True, max_turns=20),
        {},
        chat(*[Says("", [Ask(0, {"x": value}, tag="same")]) for value in _ALIKE], Says("done")),
    ),
    "a chat for which the application has no value": Scenario(
        setup(tool("a", input_schema=takes("user", required=["user"])), params={"user": "u-1"}),
        {},
        [
            Conversation([Says("", [Ask(0)]), Says("done")], begins=begins, params=params)
            for begins, params in ((0, {}), (3, {"user": None}))
        ],
    ),
    "a value of the model where the application has none": Scenario(
        setup(tool("a", input_schema=takes("user")), tool("b", input_schema=takes("user")), params={"user": "u-1"}),
        {},
        [
            Conversation([Says("", [Ask(0, {"user": "u-9"}), Ask(1)]), Says("done")], begins=begins, params=params)
            for begins, params in ((0, {"user": None}), (3, {}))
        ],
    ),
    "blocks and displays of one turn": Scenario(
        setup(tool("a"), tool("b"), tool("c"), display="continue"),
        {0: [Act(display="small")], 1: [*_THANKS], 2: [Act(display="small")]},
        chat(Says("", [Ask(0), Ask(1), Ask(2)]), Says("", [Ask(1), Ask(0)]), Says("done")),
    ),
    "a display whose title is too long for a reference": Scenario(
        setup(tool("a"), display="continue", display_budget=150),
        {0: [Act(display="titled")]},
        chat(Says("", [Ask(0)]), Says("done")),
    ),
    "a display that is none beside an error": Scenario(
        setup(tool("a")),
        {0: [Act("error", code="NOT_FOUND", display="bad")]},
        chat(Says("", [Ask(0)]), Says("sorry"), events=True),
    ),
    "tool messages in another order than the calls": Scenario(
        setup(tool("a")), {}, chat(Says("", [Ask(0)]), Says("done"), history=_DISORDERLY)
    ),
    "a display whose fallback is large": Scenario(
        setup(tool("a"), tool("b", server=1), servers=[Server(), Server(plain=True)], display="continue"),
        {0: [Act(display="with_fallback")], 1: [Act(display="with_fallback")]},
        chat(Says("", [Ask(0), Ask(1)]), Says("done")),
    ),
    "an error whose code is an alias": Scenario(
        setup(tool("a"), tool("b", server=1), servers=[Server(), Server(plain=True)], max_attempts=1),
        {one: [Act("error", code="RATE_LIMITED"), Act("error", code="X_RATE_LIMITED")] for one in range(2)},
        chat(*[Says("", [Ask(0), Ask(1)])] * 2, Says("sorry"), events=True),
    ),
    "failures of other servers that say to the model what is for the user alone": Scenario(
        setup(tool("a"), servers=[Server(xmcp=False)], max_attempts=1),
        {
            0: [
                Act("error", code="CONFLICT", text="", for_user=said, error_data=data)
                for said, data in (
                    ("Thank you, Ada.", {"code": "CONFLICT", "message": "Thank you, Ada."}),
                    ("Thank you, Bob.", {"error": {"code": "CONFLICT", "message": "Thank you, Bob."}}),
                )
            ]
        },
        chat(*[Says("", [Ask(0)])] * 2, Says("sorry"), events=True),
    ),
    "failures without words": Scenario(
        setup(tool("a"), tool("b", server=1), servers=[Server(), Server(plain=True)], max_attempts=1),
        {one: [Act("flagged", text=""), Act("flagged", text=" \n")] for one in range(2)},
        chat(*[Says("", [Ask(0), Ask(1)])] * 2, Says("sorry"), events=True),
    ),
    "what the vendor counted": Scenario(
        setup(tool("a")), {}, chat(Says("I look.", [Ask(0)], tokens=17), Says("done"), events=True)
    ),
}
