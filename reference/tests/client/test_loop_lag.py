"""No input that a model, a server or a caller controls stops the event loop, at ten times the limit it has.

Each row drives the real `AIClient`. What is measured is the CPU time of the loop's thread between two heartbeats, which
run once in each round of the loop: other processes on the machine do not count, nor does work in other threads. The
best of a few runs counts, and a machine that is slower than the one of the limits is given more time. What comes as
bytes is in `test_transport_lag.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Final

import mcp_types as mt
import pytest
from support.loop_lag import MIB, assert_never_blocked
from support.scripted_model import ScriptedModel
from support.scripted_server import ScriptedServer

from xmcp.chat.arguments import MAX_BYTES, MAX_DEPTH
from xmcp.client import AIClient
from xmcp.client.calls.context_budget import RESULT_BUDGET
from xmcp.client.hooks.middleware import Middleware
from xmcp.client.loop.turn import MAX_CALLS
from xmcp.client.servers import listing_limits as limits
from xmcp.client.tools.dependencies import _validator as compiled
from xmcp.providers import Completion, ProviderError, ToolCall
from xmcp.storage import MemoryCache
from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse
from xmcp_models.registry import DISPLAY_META_KEY, ERROR_META_KEY, RESULT_META_KEY, TOOL_META_KEY


@dataclass
class Row:
    """One input: its size in bytes, and what is said and done; `refused`: the chat ends with it."""

    size: int
    answers: Sequence[Any] = ("end",)
    tools: Mapping[str, Any] = field(default_factory=lambda: {"t": "7"})
    listing: Sequence[mt.Tool] | None = None
    speaks_xmcp: bool = True
    history: Sequence[Mapping[str, Any]] = ()
    query: str = "q"
    options: Mapping[str, Any] = field(default_factory=dict)
    refused: bool = False


ROWS: Final[dict[str, Callable[[], Row]]] = {}


def row(make: Callable[[], Row]) -> Callable[[], Row]:
    ROWS[make.__name__] = make
    return make


def calls(number: int, name: Any = "t", arguments: str = "{}", id_: str | None = None) -> Completion:
    """Return an answer with so many calls; `name` can be a function of the call's number."""
    made = [ToolCall(id_ or f"c{n}", name(n) if callable(name) else name, arguments) for n in range(number)]
    return Completion("", tuple(made), "tool_calls")


def tool(name: str, schema: Mapping[str, Any] | None = None, **more: Any) -> mt.Tool:
    own = {"_meta": {TOOL_META_KEY: more.pop("metadata")}} if "metadata" in more else {}
    return mt.Tool.model_validate({"name": name, "inputSchema": schema or {"type": "object"}, **own, **more})


def properties(number: int) -> dict[str, Any]:
    return {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(number)}}


def numbers(size: int) -> str:
    """Return arguments of about so many bytes that take as long to read as JSON can."""
    return '{"a":[' + ",".join(["1"] * (size // 2 - 8)) + "]}"


TEXT: Final = "a < b & c ]]> é\n"


def text_of(size: int) -> str:
    return TEXT * (size // len(TEXT.encode()))


# ---- what a model controls ----


@row
def calls_in_a_turn() -> Row:
    return Row(10 * MAX_CALLS * 100, [calls(10 * MAX_CALLS)])


@row
def calls_with_equal_ids() -> Row:
    return Row(1_000_000, [calls(10_000, id_="x" * 40)])


@row
def calls_that_depend_on_very_many() -> Row:
    listing = [tool("t"), *(tool(f"u{n}", metadata={"depends_on": ["t"]}) for n in range(100))]
    answer = calls(10_000, lambda n: f"u{n}" if n < 100 else "t")
    return Row(MIB, [answer], {"t": "7", **{f"u{n}": "7" for n in range(100)}}, listing=listing)


@row
def unknown_names() -> Row:
    names = [f"list_orders_{n:04}_of_customers" for n in range(limits.MAX_TOOLS)]
    answer = calls(10 * MAX_CALLS, lambda n: f"list_order_{n:04}_of_customer")
    return Row(10 * MAX_CALLS * 100, [answer], listing=[tool(name) for name in names])


@row
def a_long_name() -> Row:
    return Row(2 * MIB, [calls(4, "n" * (MIB // 2))])


@row
def failed_calls_with_a_callback() -> Row:
    return Row(10 * MAX_CALLS * 100, [calls(10 * MAX_CALLS, arguments="[1]")], options={"on_error": lambda *_: None})


@row
def failed_calls_behind_a_slow_one() -> Row:
    async def slow(_: Any) -> mt.CallToolResult:
        await asyncio.sleep(0.5)
        return result("7")

    return Row(1_000_000, [calls(10_000)], {"t": slow}, options={"on_error": lambda *_: None})


@row
def displays_with_a_callback() -> Row:
    shown = ToolResponse("t", "seen", display=DisplayEnvelope(type="text", payload="x"))
    options = {"on_display": lambda *_: None, "display": "continue"}
    return Row(10 * MAX_CALLS * 100, [calls(10 * MAX_CALLS)], {"t": shown}, options=options)


@row
def arguments_above_their_limit() -> Row:
    return Row(7 * MAX_BYTES, [calls(1, arguments=numbers(7 * MAX_BYTES))])


@row
def arguments_above_the_limit_of_an_answer() -> Row:
    return Row(10 * MIB, [calls(1, arguments=numbers(10 * MIB))], refused=True)


@row
def arguments_at_their_limit() -> Row:
    return Row(MAX_BYTES, [calls(1, arguments=numbers(MAX_BYTES))])


@row
def arguments_of_many_calls() -> Row:
    return Row(2 * MIB, [calls(MAX_CALLS, arguments=numbers(2 * MIB // MAX_CALLS))])


@row
def nested_arguments() -> Row:
    return Row(2 * MIB, [calls(4, arguments='{"a":' + "[" * (MIB // 4) + "]" * (MIB // 4) + "}")])


@row
def arguments_a_little_too_deep() -> Row:
    deep = "[" * 10 * MAX_DEPTH + "]" * 10 * MAX_DEPTH
    return Row(2 * MIB, [calls(1, arguments='{"a":[' + ",".join([deep] * (2 * MIB // len(deep) // 4)) + "]}")])


@row
def streamed_pieces() -> Row:
    pieces = ["ab"] * 100_000
    return Row(200_000, [[*pieces, Completion("".join(pieces))]])


@row
def a_long_text() -> Row:
    return Row(8 * MIB, [text_of(8 * MIB)])


@row
def a_text_above_the_limit_of_an_answer() -> Row:
    return Row(10 * MIB, [text_of(10 * MIB)], refused=True)


# ---- what a server controls ----


@row
def number_of_tools() -> Row:
    return Row(10 * limits.MAX_TOOLS * 100, listing=[tool(f"t{n}") for n in range(10 * limits.MAX_TOOLS)])


@row
def tools_whose_names_become_equal() -> Row:
    signs = "./ :;,!?()"
    names = [signs[n // 100] + signs[n // 10 % 10] + signs[n % 10] for n in range(1_000)]
    return Row(100_000, listing=[tool(name) for name in names])


@row
def parameters_of_a_tool() -> Row:
    return Row(4 * limits.MAX_TOOL_BYTES, listing=[tool(f"t{n}", properties(2_500)) for n in range(10)])


@row
def descriptions() -> Row:
    long = "d" * 10 * limits.MAX_DESCRIPTION
    return Row(100 * len(long), listing=[tool(f"t{n}", description=long) for n in range(100)])


@row
def nested_schemas() -> Row:
    deep: dict[str, Any] = {}
    for _ in range(5 * limits.MAX_DEPTH):
        deep = {"properties": {"p": deep}}
    made = [mt.Tool.model_construct(name=f"t{n}", input_schema=deep) for n in range(100)]
    return Row(MIB, listing=made)


@row
def dependencies() -> Row:
    names = [f"t{n}" for n in range(450)]
    described = [
        tool(name, properties(50), metadata={"depends_on": names[:n], "provides": f"p{n}"})
        for n, name in enumerate(names)
    ]
    return Row(2 * MIB, listing=described)


@row
def dependencies_on_nothing() -> Row:
    missing = [f"x{n}" for n in range(limits.MAX_EDGES // 100)]
    return Row(MIB, listing=[tool(f"t{n}", metadata={"depends_on": missing}) for n in range(1_000)])


@row
def a_long_chain() -> Row:
    described = [
        tool(f"t{n}", properties(20), metadata={"depends_on": [f"t{n - 1}"] if n else [], "provides": f"p{n}"})
        for n in range(1_000)
    ]
    return Row(MIB, listing=described)


@row
def parameters_of_the_application_under_conditions() -> Row:
    hidden = {"properties": {"user": {}}, "required": ["user"]}
    conditions = [{"if": {"$ref": "#named"}, "then": {"$ref": "#"}, "not": hidden} for _ in range(1_000)]
    schema = {"type": "object", "allOf": conditions, "$defs": {"a": {"$anchor": "named", **hidden}}}
    listing = [tool(name, schema) for name in ("t", *"abcdefghi")]
    return Row(MIB, [calls(MAX_CALLS)], listing=listing, options={"params": {"user": "u"}})


@row
def a_long_result() -> Row:
    return Row(10 * RESULT_BUDGET, [calls(1)], {"t": sent(ToolResponse("t", text_of(10 * RESULT_BUDGET)))})


@row
def a_long_result_of_another_server() -> Row:
    return Row(10 * RESULT_BUDGET, [calls(1)], {"t": text_of(10 * RESULT_BUDGET)}, speaks_xmcp=False)


@row
def results_of_a_whole_turn() -> Row:
    return Row(2 * MIB, [calls(MAX_CALLS)], {"t": sent(ToolResponse("t", text_of(2 * MIB // MAX_CALLS)))})


@row
def a_large_display() -> Row:
    table = [{"name": "a < b & c", "count": n} for n in range(2 * MIB // 40)]
    shown = ToolResponse("t", "seen", display=DisplayEnvelope(type="table", payload=table))
    return Row(2 * MIB, [calls(1)], {"t": sent(shown)}, options={"on_display": lambda *_: None})


@row
def a_large_display_seen_by_a_hook() -> Row:
    made = a_large_display()
    made.options = {"middleware": [Middleware()]}
    return made


def beside_a_plain_result(**members: Any) -> Row:
    meta = {RESULT_META_KEY: {"form": "plain"}, **members}
    answer = mt.CallToolResult.model_validate({"content": [{"type": "text", "text": "seen"}], "_meta": meta})
    return Row(2 * MIB, [calls(1)], {"t": lambda _: answer}, options={"on_display": lambda *_: None})


def display_beside_a_plain_result(type_: str, payload: Any, **members: Any) -> Row:
    return beside_a_plain_result(**{DISPLAY_META_KEY: {"type": type_, "payload": payload, **members}})


def points() -> list[dict[str, Any]]:
    return [{"name": "a < b & c", "count": n} for n in range(2 * MIB // 40)]


@row
def a_large_display_beside_a_plain_result() -> Row:
    return display_beside_a_plain_result("table", points())


@row
def a_large_chart_beside_a_plain_result() -> Row:
    return display_beside_a_plain_result("chart", {"mark": "bar", "data": {"values": points()}})


@row
def a_large_group_beside_a_plain_result() -> Row:
    return display_beside_a_plain_result("group", [{"type": "table", "payload": points()}])


@row
def a_table_of_wide_rows_beside_a_plain_result() -> Row:
    return display_beside_a_plain_result("table", [{f"c{n}": n for n in range(1_500)} for _ in range(100)])


@row
def a_large_fallback_beside_a_plain_result() -> Row:
    shown = {"fallback": {"type": "table", "payload": points()}}
    return display_beside_a_plain_result("text", "x", **shown)


@row
def large_details_of_an_error_beside_a_plain_result() -> Row:
    error = {"code": "CONFLICT", "message": "m", "meta": {"params": {"list": points()}}}
    return beside_a_plain_result(**{ERROR_META_KEY: error})


@row
def a_large_chart() -> Row:
    chart = DisplayEnvelope(type="chart", payload={"mark": "bar", "data": {"values": points()}}, alt="A chart.")
    return Row(2 * MIB, [calls(1)], {"t": sent(ToolResponse("t", "seen", display=chart))})


@row
def data_beside_a_text_for_the_user_alone() -> Row:
    blocks = [{"type": "text", "text": "only you", "annotations": {"audience": ["user"]}}]
    answer = mt.CallToolResult.model_validate({"content": blocks, "structuredContent": {"rows": points()}})
    return Row(2 * MIB, [calls(1)], {"t": lambda _: answer}, speaks_xmcp=False)


@row
def a_large_display_for_two_that_wait() -> Row:
    made = a_large_display()
    made.answers = [calls(2)]
    made.options = {"cache": MemoryCache()}
    made.listing = [tool("t", metadata={"cacheable": True})]
    return made


@row
def a_large_text_for_the_user_alone() -> Row:
    block = {"type": "text", "text": text_of(2 * MIB), "annotations": {"audience": ["user"]}}
    return shown_beside_a_text(2 * MIB, block)


@row
def a_large_picture() -> Row:
    return shown_beside_a_text(2 * MIB, {"type": "image", "data": "iVBO" * (MIB // 2), "mimeType": "image/png"})


@row
def a_large_picture_for_two_that_wait() -> Row:
    made = a_large_picture()
    made.answers = [calls(2)]
    made.options = {"cache": MemoryCache()}
    made.listing = [tool("t", metadata={"cacheable": True})]
    return made


@row
def very_many_blocks_for_the_user_alone() -> Row:
    block = {"type": "text", "text": "x", "annotations": {"audience": ["user"]}}
    return shown_beside_a_text(MIB, *[block] * 4_000)


@row
def blocks_for_the_user_alone_in_a_whole_turn() -> Row:
    block = {"type": "text", "text": "x", "annotations": {"audience": ["user"]}}
    made = shown_beside_a_text(MIB, *[block] * 100)
    made.answers = [calls(MAX_CALLS, lambda n: "u" if n else "slow")]

    async def slow(_: Any) -> mt.CallToolResult:
        await asyncio.sleep(0.3)
        return result("7")

    made.tools = {"slow": slow, "u": made.tools["t"]}
    return made


def shown_beside_a_text(size: int, *blocks: dict[str, Any]) -> Row:
    answer = mt.CallToolResult.model_validate({"content": [{"type": "text", "text": "seen"}, *blocks]})
    options = {"on_display": lambda *_: None, "middleware": [Middleware()]}
    return Row(size, [calls(1)], {"t": lambda _: answer}, speaks_xmcp=False, options=options)


@row
def structured_content() -> Row:
    value = {"rows": [[n, "x"] for n in range(2 * MIB // 12)]}
    return Row(2 * MIB, [calls(1)], {"t": ("seen", value)})


@row
def structured_content_for_two_that_wait() -> Row:
    made = structured_content()
    made.answers = [calls(2)]
    made.options = {"cache": MemoryCache()}
    made.listing = [tool("t", metadata={"cacheable": True})]
    return made


@row
def structured_content_for_a_successor() -> Row:
    value = {"rows": [[n, "x"] for n in range(2 * MIB // 12)]}
    rows = {"properties": {"rows": {"type": "array", "items": {"type": "array"}}}}
    listing = [tool("t"), tool("u", rows, metadata={"depends_on": ["t"]})]
    return Row(2 * MIB, [calls(2, lambda n: "tu"[n])], {"t": ("seen", value), "u": "7"}, listing=listing)


def schema_of_a_successor(schema: dict[str, Any], value: Any = "x") -> Row:
    compiled.cache_clear()  # the best of several runs counts
    listing = [tool("t"), tool("u", schema, metadata={"depends_on": ["t"]})]
    answers = {"t": ("seen", {"p0": value}), "u": "7"}
    return Row(limits.MAX_TOOL_BYTES, [calls(2, lambda n: "tu"[n])], answers, listing)


@row
def patterns_of_a_successor() -> Row:
    return schema_of_a_successor({"properties": {f"p{n}": {"pattern": f"\\w{{900}}{n}"} for n in range(2_000)}})


@row
def few_patterns_of_a_successor_that_are_large() -> Row:
    return schema_of_a_successor(
        {"properties": {"p0": {"allOf": [{"pattern": f"\\w{{2000}}{n}"} for n in range(200)]}}}
    )


@row
def rules_for_each_item_of_a_value() -> Row:
    rules = {"items": {"allOf": [{"not": {"const": str(n)}} for n in range(1_000)]}}
    return schema_of_a_successor({"properties": {"p0": rules}}, ["x"] * 100_000)


@row
def parameters_of_a_successor() -> Row:
    return schema_of_a_successor(properties(3_500))


@row
def a_long_error() -> Row:
    error = ErrorInfo("TOOL_ERROR", text_of(10 * RESULT_BUDGET))
    return Row(10 * RESULT_BUDGET, [calls(1)], {"t": sent(ToolResponse("t", error=error))})


@row
def large_details_of_an_error() -> Row:
    error = ErrorInfo("TOOL_ERROR", "It failed.", meta={"params": {"list": ["x"] * (MIB // 4)}})
    return Row(MIB, [calls(1)], {"t": sent(ToolResponse("t", error=error))})


# ---- what a caller controls ----


@row
def a_long_history() -> Row:
    said = [{"role": role, "content": "x" * 80} for role in ("user", "assistant")] * 10_000
    return Row(2 * MIB, [calls(1)], history=said)


@row
def a_history_of_many_calls() -> Row:
    ids = [f"c{n}" for n in range(8_000)]
    function = {"name": "t", "arguments": "{}"}
    asked = [{"id": id_, "type": "function", "function": dict(function)} for id_ in ids]
    answers = [{"role": "tool", "tool_call_id": id_, "content": "7"} for id_ in reversed(ids)]
    user = {"role": "user", "content": "q"}
    return Row(2 * MIB, history=[user, {"role": "assistant", "content": None, "tool_calls": asked}, *answers, user])


@row
def a_long_system_prompt() -> Row:
    return Row(10 * MIB, [calls(1)], history=[{"role": "system", "content": text_of(10 * MIB)}])


@row
def a_long_query() -> Row:
    return Row(10 * MIB, [calls(1)], query=text_of(10 * MIB))


def result(text: str, *, is_error: bool = False) -> mt.CallToolResult:
    return mt.CallToolResult(content=[mt.TextContent(type="text", text=text)], is_error=is_error)


def sent(response: ToolResponse) -> Callable[[Any], mt.CallToolResult]:
    """Return an act whose answer is this document, written now: a server that writes it would hold up the loop itself.

    The scripted server runs on the loop that is measured. A large chart took it 50 ms to write, and the client 5.
    """
    answer = result(response.to_xml(), is_error=response.error is not None)
    return lambda _: answer


# ---- measuring ----


async def one_chat(made: Row) -> None:
    server = ScriptedServer(made.tools, speaks_xmcp=made.speaks_xmcp)
    if made.listing is not None:
        listing = made.listing
        server.discovers = lambda _: listing
    quiet = logging.getLogger("test_loop_lag")
    quiet.disabled = True
    model = ScriptedModel(*made.answers)
    async with AIClient([server], llm_provider=model, logger=quiet, **made.options) as ai:
        with pytest.raises(ProviderError) if made.refused else nullcontext():
            await ai.chat(made.query, history=list(made.history))


@pytest.mark.parametrize("name", ROWS)
async def test_no_input_stops_the_event_loop(name: str) -> None:
    await one_chat(Row(0, [calls(1)]))  # what is imported at the first chat
    await assert_never_blocked(ROWS[name]().size, lambda: one_chat(ROWS[name]()))
