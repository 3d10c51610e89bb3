"""Scenarios of what a model writes for a call, of what other calls hand on to it, and of what its tool requires.

A client that is right for the values that people think of can be wrong for one at a border: a text that is nearly JSON,
a value that nearly fits, a rule of a schema that few use.
"""

from __future__ import annotations

from typing import Any, Final

from .scenario import Act, Ask, Change, Conversation, Says, Scenario
from .short_forms import LATE, chat, setup, takes, tool
from .trace import Server

_OWN: Final = ("__think__", "__clarify__", "__summarize__")
_OWN_CALLS: Final = (
    Ask("__think__", {"thought": "They mean it."}),
    Ask("__clarify__", {"question": "Which year?"}),
    Ask("__summarize__", {"summary": "They said hello."}),
)
_OWN_CALLS_CUT: Final = (
    Ask("__think__", written='{"thought": "They me'),
    Ask("__clarify__", written='{"question": "Which ye'),
    Ask("__summarize__", written='{"summary": "They sa'),
)
_NEARLY_JSON: Final = (
    '{"tag": "no number", "x": NaN}',
    '{"tag": "no number either", "x": -Infinity}',
    '```json\n{"tag": "in a fence"}\n```',
    '{"tag": "a comma too many",}',
    '{"tag": "a raw line break", "x": "a\nb"}',
    '{"tag": "half a pair", "x": "\\ud83d"}',
    "[]",
)
_LENIENTLY_READ: Final = (
    '{"tag": "two at once"}{"tag": "the other of two at once"}',
    '{"tag": "one a line"}\n{"tag": "another line"}',
    '[{"tag": "in a list"}]',
    '"{\\"tag\\": \\"in a text\\"}"',
    "{'tag': 'in other quotes'}",
    '{tag: "a bare name"}',
    '{"tag": "a remark", /* of the model */ "x": 1}',
    '{"tag": "a hexadecimal number", "x": 0x10}',
    '{"tag": "a plus", "x": +1}',
    '{"tag": "a bare point", "x": .5}',
    '{"tag": "leading zeros", "x": 007}',
    '{"tag": "a word after it"} done',
    "null",
)
"""What a reader that goes beyond JSON, or stops before the end, takes for an object."""
_CLOSED: Final = {
    **takes(
        flag={"type": "boolean"},
        place={"type": "object"},
        price={"type": "number"},
        span={"enum": ["day", "week"]},
        ids={"type": "array"},
        count={"type": "integer"},
        limit={"type": "integer", "default": 10},
    ),
    "additionalProperties": False,
}
_NEARLY_FITS: Final = {
    "flag": "true",
    "place": '{"town": "Ulm"}',
    "price": "2.5",
    "span": "Day",
    "ids": 7,
    "count": None,
    "limit": None,
    "other": 1,
}
"""Values that a client could mend for `_CLOSED`, which is the server's to judge."""
_UNTOUCHED: Final = {
    "long": "w" * 20_000,
    "decomposed": "Cafe\u0301",
    "lines": "a\r\nb\rc",
    "deep": [[[[[[[[{"n": [1]}]]]]]]]],
    "numbers": [2**53 + 1, {"n": [-(2**53) - 3]}],
    "control": "a\0b\x1b",
}
_RULES: Final[dict[str, Any]] = {
    "referred": {"$ref": "#/$defs/whole"},
    "most": {"type": "integer", "maximum": 5},
    "exact": {"const": 5},
    "just_one": {"oneOf": [{"type": "integer"}, {"minimum": 5}]},
    "pair": {"type": "array", "minItems": 2},
    "closed": {"properties": {"street": {}}, "additionalProperties": False},
    "steps": {"type": "integer", "multipleOf": 5},
    "short": {"type": "string", "maxLength": 3},
}
_BREAKS_A_RULE: Final = {
    "referred": "three",
    "most": 6,
    "exact": 6,
    "just_one": 7,
    "pair": [1],
    "closed": {"street": "Main", "town": "Ulm"},
    "steps": 7,
    "short": "long",
}
"""For each schema in `_RULES` a value that one of its rules refuses."""
_KEEPS_THE_RULES: Final = {
    "referred": 3,
    "most": 5,
    "exact": 5,
    "just_one": 4,
    "pair": [1, 2],
    "closed": {"street": "Main"},
    "steps": 10,
    "short": "abc",
}
_HAS_X: Final = {"type": "object", "properties": {"x": {}}, "required": ["x"]}
_CAN_HAVE_X: Final = {"type": "object", "properties": {"x": {}}}
_REQUIRES_TWO: Final = takes("x", "y", required=["x", "y"])
_REQUIRES_X: Final = takes("x", required=["x"])
_UNANSWERED: Final[list[dict[str, Any]]] = [
    {"role": "user", "content": "earlier"},
    {"role": "assistant", "content": "said earlier", "reasoning_content": "They mean last year."},
    {"role": "user", "content": "a question that nobody answered"},
]

ARGUMENTS: Final[dict[str, Scenario]] = {
    # Arguments that cannot be read
    "arguments that are nearly JSON": Scenario(
        setup(tool("a")), {}, chat(Says("", [Ask(0, written=text) for text in _NEARLY_JSON]), Says("sorry"))
    ),
    "arguments that only a lenient reader takes": Scenario(
        setup(tool("a")), {}, chat(Says("", [Ask(0, written=text) for text in _LENIENTLY_READ]), Says("sorry"))
    ),
    "arguments that are empty, or white space": Scenario(
        setup(tool("a")), {}, chat(Says("", [Ask(0, written=" \n\t"), Ask(0, written="")]), Says("done"))
    ),
    "calls of the client's own tools are cut": Scenario(
        setup(tool("a"), meta_tools=_OWN), {}, chat(Says("Hm.", [*_OWN_CALLS_CUT, Ask(0)]), Says("sorry"))
    ),
    "a call that would get a value is cut": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"], input_schema=takes("x"))),
        {0: [Act(structured={"x": 1})]},
        chat(Says("", [Ask(0), Ask(1, written='{"tag": "cut", "x')]), Says("sorry")),
    ),
    "calls that cannot be read, and equal ones, count for the limit": Scenario(
        setup(*(tool("a", cacheable=True, read_only=True), tool("b")), cache=True, max_calls_per_turn=3, max_turns=2),
        {},
        chat(
            Says("", [Ask(1, written='{"tag": "cut before the others'), *[Ask(0, tag="same")] * 2, Ask(1)]),
            Says("", [*[Ask(1, written="[2]")] * 3, Ask(1)]),
        ),
    ),
    # Names that are not offered
    "names that are nearly that of a tool": Scenario(
        setup(tool("find")),
        {},
        chat(Says("", [*map(Ask, ("Find", "functions.find", " find\n", "find()")), Ask(0)]), Says("sorry")),
    ),
    "the client's own tools are called, and none is offered": Scenario(
        setup(tool("a")), {}, chat(Says("", [Ask(0), *_OWN_CALLS]), Says("sorry"))
    ),
    "the client's own tools are called, and one is offered": Scenario(
        setup(tool("a"), meta_tools=("__think__",)), {}, chat(Says("", [Ask(0), *_OWN_CALLS]), Says("sorry"))
    ),
    "a tool that was left out is called by its name": Scenario(
        setup(tool("a"), tool("b"), max_tools_per_server=1),
        {},
        chat(Says("", [Ask("b", {"x": 1}), Ask(0)]), Says("sorry")),
    ),
    # Arguments that the server judges
    "arguments that nearly fit": Scenario(
        setup(tool("a", input_schema=_CLOSED)), {}, chat(Says("", [Ask(0, _NEARLY_FITS)]), Says("done"))
    ),
    "arguments that are long, deep, or in an odd form": Scenario(
        setup(tool("a", input_schema=takes(*_UNTOUCHED))), {}, chat(Says("", [Ask(0, _UNTOUCHED)]), Says("done"))
    ),
    # Failures that end nothing
    "errors that sound like the end of a chat": Scenario(
        setup(tool("a")),
        {0: [Act("error", code=code) for code in ("AUTH_REQUIRED", "CANCELLED", "FORBIDDEN", "QUOTA_EXCEEDED")]},
        chat(*[Says("", [Ask(0)])] * 4, Says("sorry")),
    ),
    "the calls of eight turns fail": Scenario(
        setup(tool("a")), {0: [Act("error")]}, chat(*[Says("", [Ask(0)])] * 8, Says("sorry"))
    ),
    "a tool of the same name fails at another server": Scenario(
        setup(tool("a", server=1), tool("a"), tool("b", depends_on=["a"]), servers=[Server(), Server()]),
        {0: [Act("error")]},
        chat(Says("", [Ask(0), Ask(2)]), Says("done")),
    ),
    "a need lacks a value of the application": Scenario(
        setup(
            tool("a", input_schema=takes("user", required=["user"])), tool("b", depends_on=["a"]), params={"user": None}
        ),
        {},
        chat(Says("", [Ask(0), Ask(1)]), Says("sorry")),
    ),
    "a need is not approved": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"]), approval=True),
        {},
        chat(Says("", [Ask(0), Ask(1)]), Says("sorry")),
        approves=[False, True],
    ),
    "the first of three calls is not approved": Scenario(
        setup(tool("a"), tool("b"), approval=True),
        {},
        chat(Says("", [Ask(0), Ask(1), Ask(0)]), Says("sorry")),
        approves=[False, True, True],
    ),
    "a need is made again while others wait for it": Scenario(
        setup(
            *(tool("a", read_only=True), tool("b", depends_on=["a"], input_schema=takes("x"))),
            *(tool("c", depends_on=["b"]), tool("d", read_only=True)),
            *(tool("e", depends_on=["d"], read_only=True),),
        ),
        {
            0: [Act("error", **LATE), Act(delay=1, structured={"x": 1})],
            3: [Act("lost"), Act(delay=1)],
            4: [Act("error", **LATE), Act()],
        },
        chat(Says("", [Ask(of) for of in (0, 1, 2, 3, 4)]), Says("done")),
    ),
    # Lists of tools
    "three tools need each other in a ring": Scenario(
        setup(
            *(tool("a", depends_on=["b"]), tool("b", depends_on=["c"]), tool("c", depends_on=["a"])),
            tool("d", server=1),
            servers=[Server(), Server()],
        ),
        {},
        chat(Says("", [Ask(3)]), Says("done")),
    ),
    "two tools need each other, behind a tool that needs none": Scenario(
        setup(
            *(tool("a"), tool("b", depends_on=["c"]), tool("c", depends_on=["b"])),
            tool("d", server=1),
            servers=[Server(), Server()],
        ),
        {},
        chat(Says("", [Ask(3)]), Says("done")),
    ),
    "the tools of a new list need each other": Scenario(
        setup(tool("a")),
        {},
        [
            Conversation([Says("", [Ask(0)]), Says("done")]),
            Conversation([Says("", [Ask(0)]), Says("done")], begins=8),
        ],
        changes=[Change(4, 0, [tool("a", depends_on=["b"]), tool("b", depends_on=["c"]), tool("c", depends_on=["a"])])],
    ),
    "a tool names itself among its needs": Scenario(
        setup(
            *(tool("a"), tool("b", depends_on=["a", "b"], input_schema=_REQUIRES_X)),
            tool("c", depends_on=["c"], provides="x", input_schema=_REQUIRES_X),
        ),
        {0: [Act(text="of a")]},
        chat(Says("", [Ask(0), Ask(1), Ask(2, {"x": "of the model"}), Ask(2, {"x": "too"})]), Says("done")),
    ),
    "output schemas say what the tools provide": Scenario(
        setup(
            tool("a", output_schema=_HAS_X),
            tool("b", depends_on=["a"], input_schema=_REQUIRES_TWO),
            tool("c", output_schema=_CAN_HAVE_X),
            tool("d", depends_on=["c"], input_schema=_REQUIRES_TWO),
            tool("e", output_schema={**takes(value=_HAS_X, required=["value"]), "type": "object"}, wrapped_in="value"),
            tool("f", depends_on=["e"], input_schema=_REQUIRES_TWO),
        ),
        {0: [Act(structured={"x": 1})], 2: [Act(structured={"x": 2})], 4: [Act(structured={"value": {"x": 3}})]},
        chat(Says("", [Ask(of, {"y": 0} if of % 2 else {}) for of in range(6)]), Says("done")),
    ),
    "a tool gets a need in a new list": Scenario(
        setup(tool("a", provides="x"), tool("b", input_schema=_REQUIRES_TWO)),
        {},
        [
            Conversation([Says("", [Ask(1, {"x": 1, "y": 2})]), Says("done")]),
            Conversation([Says("", [Ask(0), Ask(1, {"y": 2})]), Says("done")], begins=8),
        ],
        changes=[Change(4, 0, [tool("a", provides="x"), tool("b", depends_on=["a"], input_schema=_REQUIRES_TWO)])],
    ),
    "a tool went unannounced, and another is called first": Scenario(
        setup(tool("a"), tool("b")),
        {},
        chat(Says("", [Ask(1, {"x": 1})], delay=2), Says("", [Ask(0)]), Says("done", delay=11)),
        changes=[Change(1, 0, [tool("b")], announced=False)],
    ),
    "needs in the last turn": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"], input_schema=takes("x")), max_turns=1),
        {0: [Act(structured={"x": 1})]},
        chat(Says("I look.", [Ask(1), Ask(0)])),
    ),
    # Values that are handed on
    "rules of a schema that a value breaks": Scenario(
        setup(
            tool("a"),
            tool("b", depends_on=["a"], input_schema={**takes(**_RULES), "$defs": {"whole": {"type": "integer"}}}),
        ),
        {
            0: [
                *(Act(structured={name: value}) for name, value in _BREAKS_A_RULE.items()),
                Act(structured=_KEEPS_THE_RULES),
            ]
        },
        chat(*[Says("", [Ask(0), Ask(1)])] * (len(_RULES) + 1), Says("done")),
    ),
    "a value comes through four tools": Scenario(
        setup(
            *(tool("a"), tool("b", depends_on=["a"]), tool("c", depends_on=["b"]), tool("d", depends_on=["c"])),
            tool("e", depends_on=["d"], input_schema=takes("x")),
        ),
        {0: [Act(structured={"x": 1})]},
        chat(Says("", [Ask(of) for of in range(5)]), Says("done")),
    ),
    "values from afar in the place of what the model wrote": Scenario(
        setup(
            *(tool("a", provides="x"), tool("b", depends_on=["a"])),
            tool("c", depends_on=["b"], input_schema=takes("x", "y")),
        ),
        {0: [Act(structured={"y": 1})]},
        chat(
            *(Says("", [Ask(0), Ask(1), Ask(2, {"x": of, "y": of})]) for of in ("of the model", {"y": 2}, None)),
            Says("done"),
        ),
    ),
    "the nearest value is null": Scenario(
        setup(
            *(tool("a"), tool("b", depends_on=["a"]), tool("c")),
            tool("d", depends_on=["c", "b"], input_schema=takes("x", "y")),
        ),
        {
            0: [Act(structured={"x": 1, "y": 2})],
            1: [Act(structured={"x": None})],
            2: [Act(structured={"x": 3, "y": None})],
        },
        chat(Says("", [Ask(0), Ask(1), Ask(2), Ask(3, {"x": 4, "y": 5})]), Says("done")),
    ),
    "large numbers in a list are handed on": Scenario(
        setup(tool("a", provides="y"), tool("b", depends_on=["a"], input_schema=takes("x", "y"))),
        {0: [Act(structured={"x": [2**53 + 1, {"n": [-(2**53) - 3]}]})]},
        chat(Says("", [Ask(0), Ask(1)]), Says("done")),
    ),
    "one of two needs is called, and neither names its result": Scenario(
        setup(tool("a"), tool("b"), tool("c", depends_on=["a", "b"], input_schema=_REQUIRES_X)),
        {0: [Act(text="of a")]},
        chat(Says("", [Ask(0), Ask(2)]), Says("done")),
    ),
    "a kept result is handed on": Scenario(
        setup(
            tool("kept", cacheable=True, read_only=True),
            tool("b", depends_on=["kept"], input_schema=takes("x")),
            cache=True,
        ),
        {0: [Act(structured={"x": 1})]},
        chat(*[Says("", [Ask(0, tag="same"), Ask(1)])] * 2, Says("done")),
    ),
    "texts that are a large number and a word of JSON": Scenario(
        setup(
            tool("a", provides="x"),
            tool("b", depends_on=["a"], input_schema=takes(x={"type": "integer"})),
            tool("c", depends_on=["a"], input_schema=takes(x={"type": ["boolean", "null"]})),
        ),
        {0: [Act(text="9007199254740993"), Act(text="true"), Act(text="null")]},
        chat(Says("", [Ask(0), Ask(1)]), *[Says("", [Ask(0), Ask(2)])] * 2, Says("done")),
    ),
    "a long text is handed on, and an empty one": Scenario(
        setup(tool("a", provides="x"), tool("b", depends_on=["a"], input_schema=takes("x"))),
        {0: [Act(text="w" * 5000), Act(text="")]},
        chat(Says("", [Ask(0), Ask(1, {"x": "of the model"})]), Says("", [Ask(0), Ask(1)]), Says("done")),
    ),
    "a list is handed on in the place of another": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"], input_schema=takes("x"))),
        {0: [Act(structured={"x": [1]})]},
        chat(Says("", [Ask(0), Ask(1, {"x": [2]})]), Says("done")),
    ),
    "a parameter that only a part of a schema has": Scenario(
        setup(
            tool("a"),
            tool("b", depends_on=["a"], input_schema={"properties": {}, "allOf": [{"properties": {"x": {}}}]}),
        ),
        {0: [Act(structured={"x": 1})]},
        chat(Says("", [Ask(0), Ask(1, {"x": "of the model"})]), Says("done")),
    ),
    "the model gave the only required parameter": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"], input_schema=_REQUIRES_X)),
        {0: [Act(text="of a")]},
        chat(Says("", [Ask(0), Ask(1, {"x": None}), Ask(1, {"x": ""}), Ask(1)]), Says("done")),
    ),
    "the model gave one of two required parameters": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"], input_schema=_REQUIRES_TWO)),
        {0: [Act(text="of a")]},
        chat(Says("", [Ask(0), Ask(1, {"y": 1})]), Says("done")),
    ),
    # Chats
    "a chat is cancelled in its call, and others wait for its slot": Scenario(
        setup(tool("a"), max_concurrency=1),
        {0: [Act(delay=3)]},
        [
            Conversation([Says("", [Ask(0)])], cancelled=1.6),
            Conversation([Says("", [Ask(0), Ask(0)]), Says("done")], begins=4),
        ],
    ),
    "calls that waited for a need, and other tenants wait for the slot": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"]), tool("c"), max_concurrency=1),
        {of: [Act(delay=1)] for of in range(3)},
        [
            Conversation([Says("", [Ask(0), Ask(1), Ask(1)])], query="the books of one", tenant="one"),
            Conversation([Says("", [Ask(2)] * 3)], query="the nuts of two", tenant="two", begins=0.3),
            Conversation([Says("", [Ask(2)])], query="the wines of three", tenant="three", begins=0.6),
        ],
    ),
    "the second answer of a chat is cancelled": Scenario(
        setup(tool("a")), {}, chat(Says("", [Ask(0)]), Says("half an answ", stalls=True), cancelled=2.6)
    ),
    "a given history ends with a question": Scenario(
        setup(tool("a")), {}, chat(Says("", [Ask(0)]), Says("done"), history=_UNANSWERED)
    ),
}
