"""Formatters: what `DeclarativeXMLFormatter` keeps, how a tool gets its formatter, and what happens when one fails."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import Any

import pytest
from fastmcp.exceptions import ToolError
from lxml import etree
from pydantic import BaseModel

from xmcp import XMCP, DisplayEnvelope, ToolResponse, XMCPError
from xmcp.server import ServeError
from xmcp.xml_formatters import DeclarativeXMLFormatter
from xmcp_models.registry import TOOL_META_KEY

ORDER = {
    "id": 7,
    "customer": {"name": "Ada", "address": {"city": "London", "zip": "N1"}, "secret": "x"},
    "lines": [{"sku": "a", "n": 1, "cost": 9}, {"sku": "b", "n": 2, "cost": 8}],
    "note": "internal",
}


def tree(text: str) -> Any:
    def of(element: Any) -> Any:
        return [(child.get("key", child.tag), of(child)) for child in element] or element.text

    return of(etree.fromstring(text))


class Orders(DeclarativeXMLFormatter):
    top_level_fields = ["lines.sku", "id", {"customer": ["name", {"address": ["city"]}]}]


class Search(DeclarativeXMLFormatter):
    top_level_fields = ["total"]
    results_list_field = "hits"
    result_item_fields = ["title", "author.name"]


HITS = {"hits": [{"title": "A", "author": {"name": "X", "age": 3}, "score": 1}], "total": 1, "took": 5}


def test_fields_are_kept_at_every_level_in_the_order_in_which_they_are_named() -> None:
    assert tree(Orders()(ORDER)) == [
        ("lines", [("item", [("sku", "a")]), ("item", [("sku", "b")])]),
        ("id", "7"),
        ("customer", [("name", "Ada"), ("address", [("city", "London")])]),
    ]


def test_the_list_of_results_is_kept_with_the_fields_of_its_items() -> None:
    hit = [("item", [("title", "A"), ("author", [("name", "X")])])]
    assert tree(Search()(HITS)) == [("total", "1"), ("hits", hit)]
    assert tree(DeclarativeXMLFormatter(results_list_field="hits", result_item_fields=["title"])(HITS)) == [
        ("hits", [("item", [("title", "A")])]),
        ("total", "1"),
        ("took", "5"),
    ]
    assert tree(DeclarativeXMLFormatter(top_level_fields=["total"], results_list_field="hits")(HITS))[1][0] == "hits"


def test_of_a_list_the_fields_of_each_entry_are_kept() -> None:
    both = DeclarativeXMLFormatter(top_level_fields=["a"])([{"a": 1, "b": 2}, {"a": 3}])
    assert tree(both) == [("item", [("a", "1")]), ("item", [("a", "3")])]


def test_what_is_not_there_is_left_out_and_what_has_no_members_stays() -> None:
    formatter = DeclarativeXMLFormatter(top_level_fields=["absent", "customer.name.first", "id"])
    assert tree(formatter({"id": 1, "customer": {"name": "Ada"}})) == [("customer", [("name", "Ada")]), ("id", "1")]
    assert tree(formatter("text")) == "text"


def test_a_member_that_is_named_as_a_whole_stays_whole() -> None:
    for fields in (["customer", "customer.name"], ["customer.name", "customer"]):
        assert "zip" in DeclarativeXMLFormatter(top_level_fields=fields)(ORDER)
    both = DeclarativeXMLFormatter(top_level_fields=["customer.name", {"customer": ["secret"]}])(ORDER)
    assert tree(both) == [("customer", [("name", "Ada"), ("secret", "x")])]


def test_names_that_are_no_element_names_and_markup_in_values_forge_nothing() -> None:
    data = {"a b": "<x>&amp;</x>", "1": {"xml": 2}, 'q"<': 3}
    formatter = DeclarativeXMLFormatter(top_level_fields=["a b", "1.xml", 'q"<'])
    assert tree(formatter(data)) == [("a b", "<x>&amp;</x>"), ("1", [("xml", "2")]), ('q"<', "3")]


def test_models_and_dataclasses_are_read_as_json() -> None:
    class Inner(BaseModel):
        city: str
        zip: str = "N1"

    @dataclass
    class Outer:
        inner: Inner
        n: int

    assert tree(DeclarativeXMLFormatter(top_level_fields=["inner.city"])(Outer(Inner(city="London"), 1))) == [
        ("inner", [("city", "London")])
    ]


def test_the_indentation_is_that_of_the_default_formatter() -> None:
    assert DeclarativeXMLFormatter(top_level_fields=["id"])(ORDER, 2) == "    <result>\n      <id>7</id>\n    </result>"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"top_level_fields": "city"}, "must be a list of names"),
        ({"top_level_fields": {"city": ["a"]}}, "must be a list of names"),
        ({"top_level_fields": [1]}, "must hold names, or mappings of a name to fields"),
        ({"top_level_fields": [{"a": "b"}]}, "must be a list of names"),
        ({"result_item_fields": ["a"]}, "needs results_list_field"),
        ({"results_list_field": ["a"]}, "must be the name of one member"),
    ],
)
def test_a_declaration_that_means_nothing_is_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises((TypeError, ValueError), match=told):
        DeclarativeXMLFormatter(**options)


def test_the_outermost_element_has_the_name_it_is_given() -> None:
    assert (
        DeclarativeXMLFormatter(top_level_fields=["id"], root="order")({"id": 1}) == "<order>\n  <id>1</id>\n</order>"
    )
    with pytest.raises(ValueError, match="must be the name of an element"):
        DeclarativeXMLFormatter(root="a b")


def test_a_declaration_with_a_typing_error_keeps_not_everything_but_is_refused() -> None:
    with pytest.raises(TypeError, match="Typo declares 'top_level_field'; the attributes are top_level_fields, "):
        type("Typo", (DeclarativeXMLFormatter,), {"top_level_field": ["id"]})
    type("Fine", (DeclarativeXMLFormatter,), {"_own_fields": 1, "fields_of_interest": 2})


# ---- binding ----


def shout(data: Any, indent_level: int) -> str:
    return f"<shout>{str(data).upper()}</shout>"


class Callable:
    def __call__(self, data: Any, indent_level: int = 0) -> str:
        return "<object/>"


class Later(DeclarativeXMLFormatter):
    root = "later"


@pytest.mark.parametrize(
    ("given", "name", "text"),
    [
        (Orders, "Orders", "<sku>a</sku>"),
        (Orders(), "Orders", "<sku>a</sku>"),
        ("Orders", "Orders", "<sku>a</sku>"),
        (shout, "shout", "<shout>{'ID'"),
        (Callable, "Callable", "<object/>"),
        (Callable(), "Callable", "<object/>"),
        ("loud", "loud", "<shout>{'ID'"),
        ("Later", "Later", "<later>"),
    ],
    ids=["class", "object", "class's name", "function", "own class", "own object", "function's name", "a later name"],
)
@pytest.mark.parametrize("in_annotations", [False, True])
async def test_a_class_an_object_a_function_and_a_name_can_be_bound(
    given: Any, name: str, text: str, in_annotations: bool, call: Any
) -> None:
    mcp = XMCP()
    options: dict[str, Any] = {"annotations": {"xml_formatter": given}} if in_annotations else {"xml_formatter": given}

    @mcp.tool(**options)
    def order() -> dict[str, Any]:
        return ORDER

    mcp.add_xml_formatter(shout, "loud")
    reply = await call(mcp, "order")
    assert text in reply.llm_output
    assert reply.format == "application/xml"
    assert reply.structured == ORDER
    tool = await mcp.get_tool("order")
    assert tool is not None
    assert (tool.meta or {})[TOOL_META_KEY] == {"xml_formatter": name}


@pytest.mark.parametrize("given", [7, lambda data: "x", int, object()], ids=["number", "lambda", "class", "object"])
def test_what_is_no_formatter_is_refused_where_it_stands(given: Any) -> None:
    mcp = XMCP()
    with pytest.raises(TypeError, match="xml_formatter must be"):
        mcp.tool(xml_formatter=given)(shout_tool)


def shout_tool() -> dict[str, Any]:
    return {}


def test_a_name_of_nobody_stops_the_server_at_its_start_and_says_which_tool() -> None:
    mcp = XMCP()

    @mcp.tool(xml_formatter="Ordres")
    def order() -> dict[str, Any]:
        return ORDER

    with pytest.raises(LookupError, match=r"'order'.*no formatter named 'Ordres'; known formatters: .*Orders"):
        mcp.check_tools()
    with pytest.raises(ServeError, match="no formatter named 'Ordres'"):
        mcp.serve(port=0)


def test_a_name_that_two_classes_have_is_refused() -> None:
    type("Twice", (DeclarativeXMLFormatter,), {"__module__": "one"})
    keep = [type("Twice", (DeclarativeXMLFormatter,), {"__module__": m}) for m in ("one", "two")]
    mcp = XMCP()
    mcp.tool(xml_formatter="Twice", name="t")(shout_tool)
    with pytest.raises(LookupError, match="several formatters named 'Twice'"):
        mcp.check_tools()
    assert keep


def test_a_named_formatter_that_cannot_be_made_stops_the_server_at_its_start() -> None:
    keep = type("Unmade", (DeclarativeXMLFormatter,), {"top_level_fields": "city"})
    mcp = XMCP("s")
    mcp.tool(xml_formatter="Unmade", name="t")(shout_tool)
    with pytest.raises(
        ServeError, match=r"s cannot start\. The tool 't': the formatter 'Unmade' cannot be created: top_level"
    ):
        mcp.serve(port=0)
    assert keep


async def test_a_formatter_gets_the_payload_of_a_display_and_writes_beside_it(call: Any) -> None:
    mcp = XMCP()

    @mcp.display_tool(xml_formatter=DeclarativeXMLFormatter(top_level_fields=["region"]))
    def sales() -> DisplayEnvelope:
        return DisplayEnvelope(type="table", alt="a table", payload=[{"region": "EMEA", "n": 1}])

    for show_user in (True, False):
        reply = await call(mcp, "sales", show_user=show_user)
        assert tree(reply.llm_output) == [("item", [("region", "EMEA")])]
        assert (reply.display is not None) is show_user


@pytest.mark.parametrize("show_user", [True, False])
@pytest.mark.parametrize(
    ("more", "read"),
    [
        ({"alt": "Sales rose.", "title": "Sales"}, "Sales rose."),
        ({"title": "Sales"}, "Sales"),
        ({}, "A json without a description."),
    ],
)
async def test_a_formatter_that_selects_nothing_of_a_display_leaves_its_alt(
    call: Any, caplog: pytest.LogCaptureFixture, more: dict[str, Any], read: str, show_user: bool
) -> None:
    mcp = XMCP("shop")

    @mcp.display_tool(xml_formatter=DeclarativeXMLFormatter(top_level_fields=["region"]))
    def sales() -> DisplayEnvelope:
        return DisplayEnvelope(type="json", payload={"rows": [{"secret": 1}]}, **more)

    with caplog.at_level(logging.WARNING, "xmcp.server"):
        reply = await call(mcp, "sales", show_user=show_user)
    assert reply.llm_output == read
    assert "selects nothing of its display's payload (members: rows)" in caplog.text


SELECTS = DeclarativeXMLFormatter(top_level_fields=["a"])


@pytest.mark.parametrize(
    ("formatter", "data", "keeps"),
    [
        (SELECTS, {"b": 1}, False),
        (SELECTS, [{"b": 1}, {"c": 1}], False),
        (SELECTS, [{"b": 1}, {"a": 1}], True),
        (SELECTS, {"a": None}, True),
        *[(SELECTS, empty, True) for empty in ([], {}, [0, 0], "", 0, None)],
        *[(DeclarativeXMLFormatter(root="people"), data, True) for data in ([], {}, {"b": 1}, [{}])],
    ],
)
def test_a_selection_keeps_nothing_only_where_there_is_something(formatter: Any, data: Any, keeps: bool) -> None:
    assert formatter.keeps(data) is keeps


async def test_a_formatter_writes_what_a_display_tool_returns_when_nobody_looks(call: Any) -> None:
    mcp = XMCP()

    @mcp.display_tool(xml_formatter=shout)
    def sales(show_user: bool = False) -> Any:
        return {"a": "b"}

    assert (await call(mcp, "sales")).llm_output == "<shout>{'A': 'B'}</shout>"


async def test_a_formatter_is_asked_for_scalars_too_and_never_for_a_response(call: Any) -> None:
    mcp = XMCP()

    @mcp.tool(xml_formatter=shout)
    def word() -> str:
        return "hello"

    @mcp.tool(xml_formatter=shout)
    def whole() -> ToolResponse:
        return ToolResponse("whole", llm_output="as it is")

    assert (await call(mcp, "word")).llm_output == "<shout>HELLO</shout>"
    assert (await call(mcp, "whole")).llm_output == "as it is"


@pytest.mark.parametrize(
    "fault",
    [ZeroDivisionError("s3cr3t"), ToolError("s3cr3t"), TimeoutError("s3cr3t"), GeneratorExit("s3cr3t"), None],
    ids=["raises", "ToolError", "TimeoutError", "GeneratorExit", "returns no text"],
)
@pytest.mark.parametrize("show_user", [False, True])
async def test_a_formatter_that_fails_shows_nothing_at_all(
    fault: BaseException | None, show_user: bool, call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    mcp = XMCP()

    def broken(data: Any, indent_level: int) -> str:
        if fault:
            raise fault
        return None  # type: ignore[return-value]

    @mcp.display_tool(xml_formatter=broken)
    def order() -> DisplayEnvelope:
        return DisplayEnvelope(type="table", payload=[{"card": "4111"}])

    @mcp.tool(xml_formatter=broken)
    def plain() -> dict[str, Any]:
        return {"card": "4111"}

    with caplog.at_level(logging.ERROR, "xmcp.server"):
        replies = [await call(mcp, "order", show_user=show_user), await call(mcp, "plain")]
    for reply in replies:
        assert reply.code == "INTERNAL"
        assert "s3cr3t" not in reply.wire
        assert "4111" not in reply.wire
        assert reply.meta["error_id"] in caplog.text
    assert "The formatter broken " in caplog.text or isinstance(fault, GeneratorExit)


async def test_a_formatter_may_answer_with_an_error_of_its_own(call: Any) -> None:
    mcp = XMCP()

    def strict(data: Any, indent_level: int) -> str:
        raise XMCPError("CONFLICT", "two orders have this number")

    mcp.tool(xml_formatter=strict, name="t")(shout_tool)
    reply = await call(mcp, "t")
    assert (reply.code, reply.message) == ("CONFLICT", "two orders have this number")


def test_an_async_formatter_is_refused_where_it_stands() -> None:
    async def later(data: Any, indent_level: int) -> str:
        return ""

    class Later:
        async def __call__(self, data: Any, indent_level: int) -> str:
            return ""

    given: Any
    for given in (later, Later, Later()):
        with pytest.raises(TypeError, match=r"xml_formatter must not be async, as '[Ll]ater' is"):
            XMCP().tool(xml_formatter=given)(shout_tool)


def rows() -> list[dict[str, int]]:
    return [{"a": 1}]


@pytest.mark.parametrize(
    ("name", "text", "media_type"),
    [
        ("json", '[{"a":1}]', "application/json"),
        ("table", "| a |\n| --- |\n| 1 |", "text/markdown"),
        ("xml", "<result>\n  <item>\n    <a>1</a>\n  </item>\n</result>", "application/xml"),
    ],
)
async def test_formatters_with_a_name_write_the_text_of_one_tool_or_of_a_server(
    name: str, text: str, media_type: str, call: Any
) -> None:
    bound, default = XMCP("bound"), XMCP("default", formatter=name)
    bound.tool(lambda: [{"a": 1}], name="rows", xml_formatter=name)
    default.tool(lambda: [{"a": 1}], name="rows")
    default.tool(lambda: [{"a": 1}], name="own", xml_formatter="json")
    given = XMCP("given", formatter=name, tools=[rows])
    added = XMCP("added", formatter=name)
    added.add_tool(rows)
    for mcp in (bound, default, given, added):
        reply = await call(mcp, "rows")
        assert (reply.llm_output, reply.format) == (text, media_type)
        tool = await mcp.get_tool("rows")
        assert tool is not None
        assert tool.meta[TOOL_META_KEY]["xml_formatter"] == name
    assert (await call(default, "own")).llm_output == '[{"a":1}]'


async def test_a_server_with_a_formatter_that_is_none_does_not_start() -> None:
    with pytest.raises(TypeError, match="must not be async"):
        XMCP("wrong", formatter=_async_formatter)
    mcp = XMCP("unknown", formatter="Nobody")
    mcp.tool(lambda: 1, name="one")
    with pytest.raises(LookupError, match=r"known formatters: .*json.*table.*xml"):
        mcp.check_tools()


async def _async_formatter(data: Any, _level: int) -> str:
    return str(data)


async def test_a_formatter_says_what_it_writes(call: Any) -> None:
    class Lines:
        media_type = "text/csv"

        def __call__(self, data: Any, _level: int) -> str:
            return ",".join(data)

    mcp = XMCP("lines")
    mcp.tool(lambda: ["a", "b"], name="rows", xml_formatter=Lines)
    assert ((reply := await call(mcp, "rows")).llm_output, reply.format) == ("a,b", "text/csv")


@pytest.mark.parametrize("name", ["json", "table", "xml"])
@pytest.mark.parametrize("value", ['line one\nline "two"', None, 3, 1e-7, True, math.nan, math.inf, b"raw", ""])
async def test_a_formatter_with_a_name_leaves_texts_and_numbers_as_they_are(name: str, value: Any, call: Any) -> None:
    plain, bound, default = XMCP("plain"), XMCP("bound"), XMCP("default", formatter=name)
    plain.tool(lambda: value, name="one")
    bound.tool(lambda: value, name="one", xml_formatter=name)
    default.tool(lambda: value, name="one")
    expected = await call(plain, "one")
    for mcp in (bound, default):
        assert ((reply := await call(mcp, "one")).llm_output, reply.format) == (expected.llm_output, None)


async def test_json_is_what_a_tool_without_a_formatter_sends(call: Any) -> None:
    for value in ([{"a": "é<b>", "n": math.inf, "f": 1e-7, "d": {"x": [None, True]}}], {"a b": [1]}, [], ["x"], {}):
        with_name, without = XMCP("with", formatter="json"), XMCP("without")
        for mcp in (with_name, without):
            mcp.tool(lambda value=value: value, name="one")
        expected, reply = await call(without, "one"), await call(with_name, "one")
        assert (reply.llm_output, reply.format) == (expected.llm_output, expected.format)
        assert reply.format == "application/json"


async def test_no_formatter_is_asked_for_a_number_that_json_does_not_have(call: Any) -> None:
    mcp = XMCP("wrong")
    mcp.tool(lambda: math.nan, name="one", xml_formatter=lambda data, _level: "null")
    assert (await call(mcp, "one")).llm_output == "NaN"


async def test_the_formatter_of_a_server_does_not_take_the_place_of_a_displays_words(call: Any) -> None:
    envelope = {"type": "table", "payload": [{"a": 1}], "alt": "one row"}
    mcp = XMCP("shown", formatter="table")
    mcp.display_tool(lambda: envelope, name="show")
    assert (await call(mcp, "show", show_user=True)).llm_output == "one row"
    assert (await call(mcp, "show")).llm_output == "| a |\n| --- |\n| 1 |"


async def test_a_formatter_of_the_author_comes_before_one_that_every_server_knows(call: Any) -> None:
    class Falsy:
        def __len__(self) -> int:
            return 0

        def __call__(self, data: Any, _level: int) -> str:
            return f"mine: {data}"

    mcp = XMCP("named")
    mcp.add_xml_formatter(Falsy(), "table")
    mcp.tool(lambda: [1], name="one", xml_formatter="table")
    assert (await call(mcp, "one")).llm_output == "mine: [1]"


async def test_an_empty_list_is_not_nothing(call: Any) -> None:
    mcp = XMCP("empty")

    @mcp.tool
    def none() -> list[int]:
        return []

    assert ((reply := await call(mcp, "none")).llm_output, reply.format) == ("[]", "application/json")
