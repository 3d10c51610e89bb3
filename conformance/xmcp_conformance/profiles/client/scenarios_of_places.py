"""Scenarios in which something stands at another place: a fault of the first server, a name that nearly is another one.

A client that goes through its servers, its tools or a schema can be right for the first or the last of them alone.
"""

from __future__ import annotations

from typing import Any, Final

from .scenario import Act, Ask, Change, Conversation, Says, Scenario
from .short_forms import LATE, chat, setup, takes, tool
from .trace import Server

_TWO: Final = (Server(), Server())
_THOUGHT: Final = Ask("__think__", {"thought": "They mean it."})
_HELLO: Final[list[dict[str, Any]]] = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": "hello"},
    {"role": "assistant", "content": "hello"},
]
_SUMMARY: Final = Ask("__summarize__", {"summary": "They said hello."})
_HAS_USER_EVERYWHERE: Final = {
    "properties": {"q": {}},
    "anyOf": [{"properties": {"user": {}}, "required": ["user"]}, {"required": ["q"]}],
    "dependentRequired": {"q": ["user"]},
    "dependentSchemas": {"q": {"properties": {"user": {"type": "string"}}}},
    "default": {"user": "u-0"},
    "examples": [{"user": "u-9", "q": 1}],
}
_REQUIRE_USER: Final[tuple[dict[str, Any], ...]] = (
    {"properties": {"q": {}, "user": {}}, "required": ["user"]},
    {"properties": {"q": {}, "user": {}}, "allOf": [{"required": ["q"]}, {"required": ["user"]}]},
    {"properties": {"q": {}}, "allOf": [{"$ref": "#/$defs/caller"}], "$defs": {"caller": {"required": ["user"]}}},
    {"properties": {"q": {}}, "$ref": "#/$defs/caller", "$defs": {"caller": {"required": ["user"]}}},
    # Not in each case
    {"properties": {"q": {}, "user": {}}, "dependentRequired": {"r": ["user"]}},
    {"properties": {"q": {}}, "anyOf": [{"required": ["user"]}, {"required": ["q"]}]},
)

PLACES: Final[dict[str, Scenario]] = {
    # Servers
    "the first of two servers is down": Scenario(
        setup(tool("b"), tool("a", server=1), servers=[Server(reachable=False), Server()]),
        {},
        chat(Says("", [Ask(1)]), Says("done")),
    ),
    "a circle at the second of three servers": Scenario(
        setup(
            *(tool("c"), tool("a", server=1, depends_on=["b"]), tool("b", server=1, depends_on=["a"])),
            tool("d", server=2),
            servers=[Server(), Server(), Server()],
        ),
        {},
        chat(Says("", [Ask(0), Ask(3)]), Says("done")),
    ),
    "a server has other tools, beside one that is down": Scenario(
        setup(tool("a"), tool("b", server=1), servers=[Server(), Server(reachable=False)]),
        {},
        [Conversation([Says("done")]), Conversation([Says("done")], begins=70)],
        changes=[Change(1, 0, [tool("c")], announced=False)],
    ),
    "the second server has other tools": Scenario(
        setup(tool("a"), tool("b", server=1), servers=_TWO),
        {},
        [Conversation([Says("done")]), Conversation([Says("done")], begins=70)],
        changes=[Change(1, 1, [tool("c", server=1)], announced=False)],
    ),
    "the second server has lost a tool that is called": Scenario(
        setup(tool("a"), tool("b", server=1), servers=_TWO),
        {},
        chat(Says("", [Ask(1)], delay=2), Says("done", delay=11)),
        changes=[Change(1, 1, [tool("c", server=1)], announced=False)],
    ),
    # Names
    "three names that become one": Scenario(
        setup(tool("files.read"), tool("files_read"), tool("files/read")),
        {},
        chat(Says("", [Ask(0), Ask(1), Ask(2)]), Says("done")),
    ),
    "a name that a tool had before it went": Scenario(
        setup(tool("files.read"), tool("b")),
        {},
        chat(Says("", [Ask(0)]), Says("", [Ask("files_read")], delay=10), Says("", [Ask("files_read")]), Says("done")),
        changes=[Change(5, 0, [tool("b"), tool("files_read")])],
    ),
    "servers with names as people write them": Scenario(
        setup(tool("find"), tool("load", server=1), servers=[Server(given_name="My-CRM"), Server(given_name="Erp")]),
        {},
        chat(Says("", [Ask(0), Ask(1)]), Says("done")),
    ),
    "a name of a server with two underscores": Scenario(
        setup(tool("c"), tool("b__c", server=1), servers=[Server(given_name="a__b"), Server(given_name="a")]),
        {},
        chat(Says("", [Ask(0), Ask(1)]), Says("done")),
    ),
    "a server's tool has the name of one of the client": Scenario(
        setup(tool("__think__"), tool("a"), meta_tools=("__think__",)),
        {},
        chat(Says("", [Ask(0), Ask(1), _THOUGHT]), Says("done")),
    ),
    "a tool depends on one that no server has": Scenario(
        setup(tool("a"), tool("b", depends_on=["nowhere"])), {}, chat(Says("", [Ask(0), Ask(1)]), Says("done"))
    ),
    # Tools that change, or are left out
    "a tool depends on nothing any more while it waits": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"], input_schema=takes("x"))),
        {0: [Act(delay=10, structured={"x": 1})]},
        chat(Says("", [Ask(0), Ask(1, {"x": "mine"})]), Says("done")),
        changes=[Change(5, 0, [tool("a"), tool("b", input_schema=takes("y"))])],
    ),
    "a tool is read-only from now on while it waits": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"])),
        {0: [Act(delay=10)], 1: [Act("error", **LATE), Act()]},
        chat(Says("", [Ask(0), Ask(1)]), Says("done")),
        changes=[Change(5, 0, [tool("a"), tool("b", depends_on=["a"], read_only=True)])],
    ),
    "a server has too many tools from now on": Scenario(
        setup(tool("a"), max_tools_per_server=1),
        {},
        [
            Conversation([Says("done")], events=True),
            Conversation([Says("", [Ask(0)]), Says("done")], begins=8, events=True),
        ],
        changes=[Change(5, 0, [tool("a"), tool("b")])],
    ),
    "the second server has too many tools": Scenario(
        setup(tool("a"), tool("b", server=1), tool("c", server=1), max_tools_per_server=1, servers=_TWO),
        {},
        chat(Says("done"), events=True),
    ),
    "two chats, and a server has too many tools": Scenario(
        setup(tool("a"), tool("b"), max_tools_per_server=1),
        {},
        [Conversation([Says("done")], events=True, begins=begins) for begins in (0, 5)],
    ),
    "results are described, and need not have what is described": Scenario(
        setup(
            *(tool("find", output_schema={"type": "object", "properties": {"x": {}}}), tool("load", provides="y")),
            tool("sum", depends_on=["find", "load"], input_schema=takes("x", "y", "z", required=["x", "y", "z"])),
        ),
        {0: [Act(structured={"x": 1})], 1: [Act(text="2")]},
        chat(Says("", [Ask(0), Ask(1), Ask(2, {"z": 3})]), Says("done")),
    ),
    "a call waits for one of two others, which is the quick one": Scenario(
        setup(tool("quick"), tool("slow"), tool("then", depends_on=["quick"])),
        {1: [Act(delay=3)]},
        chat(Says("", [Ask(0), Ask(1), Ask(2)]), Says("done")),
    ),
    "four calls of a needed tool, of which the last are slow": Scenario(
        setup(tool("find"), tool("sum", depends_on=["find"], input_schema=takes("x"))),
        {0: [Act(structured={"x": x}, delay=x) for x in range(4)]},
        chat(Says("", [Ask(0)] * 4 + [Ask(1)]), Says("done")),
    ),
    "four calls of a needed tool, of which the first are slow": Scenario(
        setup(tool("find"), tool("sum", depends_on=["find"], input_schema=takes("x"))),
        {0: [Act(structured={"x": x}, delay=3 - x) for x in range(4)]},
        chat(Says("", [Ask(1)] + [Ask(0)] * 4), Says("done")),
    ),
    "two slow calls, with a cache and a circuit breaker": Scenario(
        setup(tool("a"), tool("b"), cache=True, breaker_threshold=2),
        {0: [Act(delay=3)], 1: [Act(delay=3)]},
        chat(Says("", [Ask(0), Ask(1)]), Says("done")),
    ),
    # Approvals
    "a call that gets a value needs an approval, too": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"], input_schema=takes("x")), approval=True),
        {0: [Act(structured={"x": 1})]},
        chat(Says("", [Ask(0), Ask(1)]), Says("done")),
        approves=[True, False],
    ),
    "a call without arguments needs an approval, too": Scenario(
        setup(tool("a"), approval=True), {}, chat(Says("", [Ask(0, written="{}")]), Says("done")), approves=[False]
    ),
    "one of two equal calls is approved": Scenario(
        setup(tool("kept", cacheable=True, read_only=True), cache=True, approval=True),
        {0: [Act(delay=3)]},
        chat(Says("", [Ask(0, tag="same"), Ask(0, tag="same")]), Says("done")),
        approves=[True, False],
    ),
    # Values of the application
    "a parameter of the application in every place of a schema": Scenario(
        setup(tool("a", input_schema=_HAS_USER_EVERYWHERE), params={"user": "u-1"}),
        {},
        chat(Says("", [Ask(0, {"q": 1})]), Says("done")),
    ),
    "a parameter that every place of a schema can require, and no value": Scenario(
        setup(
            *(tool(f"tool{place}", input_schema=schema) for place, schema in enumerate(_REQUIRE_USER)),
            params={"user": None},
        ),
        {},
        chat(Says("", [Ask(place, {"q": 1}) for place in range(len(_REQUIRE_USER))]), Says("done"), events=True),
    ),
    "a value of the application that is an object": Scenario(
        setup(tool("a", input_schema=takes("who")), params={"who": {"id": 1, "of": None, "in": [None, 2]}}),
        {},
        chat(Says("", [Ask(0, {"who": {"id": 9, "admin": True}})]), Says("done")),
    ),
    "two chats at once with values of their own": Scenario(
        setup(tool("a", input_schema=takes("user")), params={"user": "u-1"}),
        {},
        [
            Conversation([Says("", [Ask(0)], delay=3), Says("done")]),
            Conversation([Says("", [Ask(0)], delay=3), Says("done")], begins=1, params={"user": "u-2"}),
        ],
    ),
    # Histories
    "a summary below a message of the developer": Scenario(
        setup(tool("a"), meta_tools=("__summarize__",)), {}, chat(Says("", [_SUMMARY]), Says("done"), history=_HELLO)
    ),
    "the last of two summaries, and one more in the next turn": Scenario(
        setup(tool("a"), meta_tools=("__summarize__",)),
        {},
        chat(
            Says("", [Ask(0), _SUMMARY, Ask("__summarize__", {"summary": "They were polite."})]),
            Says("", [Ask("__summarize__", {"summary": " They want to know. "}), Ask(0)]),
            Says("done"),
            history=_HELLO,
            events=True,
        ),
    ),
    "a summary after results": Scenario(
        setup(tool("a"), meta_tools=("__summarize__",)),
        {},
        chat(Says("", [Ask(0)]), Says("", [_SUMMARY]), Says("done"), history=_HELLO),
    ),
}
