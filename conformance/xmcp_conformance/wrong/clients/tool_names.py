"""Faults of tool names: what is offered, under which names, and which tool a name calls (sections 5.1 and 11.9)."""

from __future__ import annotations

from xmcp_conformance.profiles.client.trace import Server, Trace
from xmcp_conformance.wrong.registry import breaks

from .calls import SEARCH, turn
from .trace_builder import TraceBuilder, call, error, failure, tool


@breaks("XMCP-TOL-003", profile="client")
def unknown_metadata_cost_a_tool(wrong: bool) -> Trace:
    odd = tool("odd", unknown={"later": 1})
    s = TraceBuilder(SEARCH, odd)
    s.begin()
    s.ask(tools=[s.offer(SEARCH)] if wrong else None)
    s.say("Seven.")
    s.end("Seven.")
    return s.trace


@breaks("XMCP-CLI-090", profile="client")
def a_clash_costs_a_tool(wrong: bool) -> Trace:
    s = TraceBuilder(SEARCH, tool("search", server=1), servers=[Server(), Server()])
    s.begin()
    s.ask(tools=[s.offer_as("search")] if wrong else [s.offer_as("search"), s.offer_as("shop__search")])
    s.say("Seven.")
    s.end("Seven.")
    return s.trace


@breaks("XMCP-CLI-090", profile="client")
def two_tools_have_one_name(wrong: bool) -> Trace:
    s = TraceBuilder(SEARCH, tool("search", server=1), servers=[Server(), Server()])
    s.begin()
    s.ask(tools=[s.offer_as("search"), s.offer_as("search" if wrong else "shop__search")])
    s.say("Seven.")
    s.end("Seven.")
    return s.trace


@breaks("XMCP-CLI-090", profile="client")
def a_name_that_models_do_not_take_costs_a_tool(wrong: bool) -> Trace:
    s = TraceBuilder(SEARCH, tool("stock.of parts"))
    s.begin()
    s.ask(tools=[s.offer(SEARCH)] if wrong else [s.offer(SEARCH), s.offer_as("stock_of_parts")])
    s.say("Seven.")
    s.end("Seven.")
    return s.trace


@breaks("XMCP-CLI-106", profile="client")
def tools_are_left_out_in_silence(wrong: bool) -> Trace:
    s = TraceBuilder(SEARCH, tool("stock"), max_tools_per_server=1)
    s.begin()
    if not wrong:
        s.tell("warning", turn=0, text="A tool is left out.")
    s.ask(tools=[s.offer(SEARCH)])
    s.say("Seven.")
    s.tell("done")
    s.end("Seven.")
    return s.trace


@breaks("XMCP-CLI-091", profile="client")
def a_name_comes_to_mean_another_tool(wrong: bool) -> Trace:
    s = TraceBuilder(SEARCH, tool("search", server=1), servers=[Server(), Server()])
    s.begin()
    for tag, server in (("t1", 0), ("t2", 1 if wrong else 0)):
        s.ask(tools=[s.offer_as("search"), s.offer_as("shop__search")])
        s.say("", call(tag=tag))
        s.answered(s.called(tag, server=server))
        s.reply(tag)
    s.ask(tools=[s.offer_as("search"), s.offer_as("shop__search")])
    s.say("Seven.")
    s.end("Seven.")
    return s.trace


@breaks("XMCP-CLI-092", profile="client")
def a_named_server_s_tool_has_a_bare_name(wrong: bool) -> Trace:
    s = TraceBuilder(SEARCH, servers=[Server(given_name="shop")])
    s.begin()
    s.ask(tools=[s.offer_as("search" if wrong else "shop__search")])
    s.say("Seven.")
    s.end("Seven.")
    return s.trace


@breaks("XMCP-CLI-093", profile="client")
def the_server_gets_the_model_s_name(wrong: bool) -> Trace:
    s = turn(call("shop__search"), servers=[Server(given_name="shop")])
    s.answered(s.called(name="shop__search" if wrong else "search"))
    s.reply()
    s.finish()
    return s.trace


@breaks("XMCP-CLI-094", profile="client")
def a_server_that_is_away_takes_another_with_it(wrong: bool) -> Trace:
    s = TraceBuilder(SEARCH, tool("stock", server=1), servers=[Server(), Server(reachable=False)])
    s.begin()
    s.ask(tools=[] if wrong else None)
    s.say("Seven.")
    s.end("Seven.")
    return s.trace


@breaks("XMCP-CLI-094", profile="client")
def a_server_that_is_away_keeps_it_from_starting(wrong: bool) -> Trace:
    s = TraceBuilder(SEARCH, tool("stock", server=1), servers=[Server(), Server(reachable=False)])
    s.begin()
    if not wrong:
        s.ask()
        s.say("Seven.")
    s.end("Seven.", failure="refused" if wrong else None)
    return s.trace


@breaks("XMCP-CLI-094", profile="client")
def a_server_whose_tools_are_in_a_circle_keeps_it_from_starting(wrong: bool) -> Trace:
    circle = (tool("first", depends_on=["then"]), tool("then", depends_on=["first"]))
    s = TraceBuilder(*circle, tool("stock", server=1), servers=[Server(), Server()])
    s.begin()
    if not wrong:
        s.ask(tools=[s.offer(s.setup.tools[2])])
        s.say("Seven.")
    s.end("Seven.", failure="refused" if wrong else None)
    return s.trace


@breaks("XMCP-CLI-096", profile="client")
def a_tool_that_went_is_unknown_at_once(wrong: bool) -> Trace:
    s = TraceBuilder(SEARCH)
    s.begin()
    s.ask()
    s.say("", call())
    s.wait(1)
    s.list_tools()
    if wrong:
        s.reply(content=error("UNKNOWN_TOOL"))
    else:
        s.failed(s.called(), failure("UNKNOWN_TOOL"))
        s.reply()
    s.finish()
    return s.trace


@breaks("XMCP-CLI-121", profile="client")
def a_server_that_does_not_know_a_tool_is_not_asked_for_its_list(wrong: bool) -> Trace:
    s = TraceBuilder(SEARCH)
    s.begin()
    s.redeploy(tool("find"))
    s.ask()
    s.say("", call())
    s.failed(s.called(), failure("UNKNOWN_TOOL"))
    s.reply()
    if not wrong:
        s.wait(1)
        s.list_tools(tool("find"))
    s.wait(11)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-122", profile="client")
def tools_are_listed_once_and_never_again(wrong: bool) -> Trace:
    s = TraceBuilder(SEARCH)
    s.begin()
    s.ask()
    s.say("Seven.")
    s.end("Seven.")
    s.redeploy(tool("find"))
    s.wait(70)
    s.begin(chat="b")
    if not wrong:
        s.list_tools(tool("find"))
    s.ask("b")
    s.say("Eight.", chat="b")
    s.end("Eight.", chat="b")
    return s.trace


@breaks("XMCP-CLI-095", profile="client")
def a_server_is_forgotten_whose_tool_s_name_is_in_a_word_of_another(wrong: bool) -> Trace:
    """`b` is in `streamable`, and nobody offered it."""
    s = TraceBuilder(tool("a"), tool("b", server=1), servers=(Server(), Server(reachable=False)))
    s.begin()
    s.ask(tools=[s.offer_as("mcp_streamable_http__a")])
    s.say("Seven.")
    s.end("Seven.")
    s.redeploy(tool("b", server=1), server=1)
    s.wait(70)
    s.begin(chat="b")
    if not wrong:
        s.list_tools(tool("b", server=1), server=1)
    offered = ["mcp_streamable_http__a"] if wrong else ["mcp_streamable_http__a", "mcp_streamable_http__b"]
    s.ask("b", tools=[s.offer_as(name) for name in offered])
    s.say("Eight.", chat="b")
    s.end("Eight.", chat="b")
    return s.trace


@breaks("XMCP-CLI-095", profile="client")
def a_server_that_was_down_is_forgotten(wrong: bool) -> Trace:
    s = TraceBuilder(SEARCH, tool("find", server=1), servers=(Server(), Server(reachable=False)))
    s.begin()
    s.ask()
    s.say("Seven.")
    s.end("Seven.")
    s.redeploy(tool("find", server=1), server=1)
    s.wait(70)
    s.begin(chat="b")
    if not wrong:
        s.list_tools(tool("find", server=1), server=1)
    offered = [SEARCH] if wrong else [SEARCH, tool("find", server=1)]
    s.ask("b", tools=[s.offer(one) for one in offered])
    s.say("Eight.", chat="b")
    s.end("Eight.", chat="b")
    return s.trace
