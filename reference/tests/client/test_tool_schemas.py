"""A tool as the model sees it: what is optional and what is hidden (spec sections 11.3 and 11.8)."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmcp.client.tools import input_schema
from xmcp.client.tools.catalogue import Entry
from xmcp.client.tools.dependencies import FilledArguments, Result, fill_arguments, predecessors
from xmcp.client.tools.schemas import offered

SERVER: Any = SimpleNamespace(name="s")


def tool(
    name: str,
    *depends_on: str,
    schema: Mapping[str, Any] | None = None,
    takes: Mapping[str, Any] | None = None,
    gives: Mapping[str, Any] | None = None,
    provides: str | None = None,
) -> Entry:
    own = {"type": "object", "properties": dict(takes or {}), "required": [*(takes or {})]}
    return Entry(
        f"s__{name}", SERVER, name, "What it does.", own if schema is None else schema, gives, depends_on, provides
    )


def shown(entry: Entry, *siblings: Entry, hidden: Any = ()) -> Any:
    return offered(entry, {sibling.tool: sibling for sibling in (*siblings, entry)}, hidden)["function"]["parameters"]


def gives(*members: str, wrapped: bool = False) -> dict[str, Any]:
    mark = {"x-fastmcp-wrap-result": True} if wrapped else {}
    return {"type": "object", "properties": {name: {} for name in members}, **mark}


SQL, ROWS = "`s__generate_sql`", "`s__run_query`"
GENERATE = tool("generate_sql", provides="sql")


class TestAToolThatNeedsNoChange:
    def test_it_is_offered_under_its_name_with_its_own_words_and_its_own_schema(self) -> None:
        entry = tool("a", takes={"x": {}})
        made = offered(entry, {"a": entry})
        assert made == {
            "type": "function",
            "function": {"name": "s__a", "description": "What it does.", "parameters": entry.input_schema},
        }
        assert made["function"]["parameters"] is entry.input_schema

    @pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"properties": None}, {"properties": [1]}])
    def test_its_schema_has_properties_which_some_vendors_want(self, schema: Any) -> None:
        assert shown(tool("a", schema=schema)) == {**schema, "properties": {}}

    def test_a_dependency_that_provides_nothing_it_takes_changes_nothing(self) -> None:
        entry = tool("b", "a", takes={"x": {"type": "string"}})
        assert shown(entry, tool("a", provides="y", gives=gives("z"))) is entry.input_schema

    def test_a_tool_that_it_does_not_depend_on_fills_nothing(self) -> None:
        entry = tool("b", takes={"x": {}})
        assert shown(entry, tool("a", provides="x")) is entry.input_schema


class TestParametersThatADependencyProvides:
    @pytest.mark.parametrize("source", [tool("a", provides="x"), tool("a", gives=gives("x"))])
    def test_they_are_optional_and_their_description_says_who_fills_them(self, source: Entry) -> None:
        entry = tool("b", "a", takes={"x": {"type": "string", "description": "An x."}, "y": {}})
        assert shown(entry, source) == {
            "type": "object",
            "properties": {
                "x": {
                    "type": "string",
                    "description": "An x.\nFilled from the result of `s__a` when that is called in the same turn.",
                },
                "y": {},
            },
            "required": ["y"],
        }

    def test_what_comes_before_a_predecessor_fills_them_when_that_is_called_too(self) -> None:
        chart = tool("chart", "run_query", takes={"sql": {}})
        parameters = shown(chart, tool("run_query", "generate_sql"), GENERATE)
        assert parameters["properties"]["sql"]["description"] == (
            f"Filled from the result of {SQL} when that and {ROWS} are called in the same turn."
        )
        assert "required" not in parameters

    def test_the_description_names_the_sources_in_the_order_in_which_they_count(self) -> None:
        whole, member, late = tool("a", provides="x"), tool("b", "far", gives=gives("x")), tool("c", gives=gives("x"))
        entry = tool("d", "a", "b", "c", takes={"x": {}})
        text = shown(entry, whole, member, late, tool("far", gives=gives("x")))["properties"]["x"]["description"]
        assert re.findall("result of `s__([a-z]+)`", text) == ["c", "b", "far"]
        assert text.count("Filled") == 1

    def test_a_tool_that_could_fill_one_in_two_ways_is_named_once(self) -> None:
        text = shown(tool("b", "a", takes={"x": {}}), tool("a", provides="x", gives=gives("x")))["properties"]["x"]
        assert text["description"].count("`s__a`") == 1

    @pytest.mark.parametrize("own", ["", 7, None])
    def test_a_description_that_says_nothing_is_replaced(self, own: Any) -> None:
        properties = shown(tool("b", "a", takes={"x": {"description": own}}), tool("a", provides="x"))["properties"]
        assert properties["x"]["description"].startswith("Filled from")

    def test_no_more_than_three_sources_are_named(self) -> None:
        sources = [tool(name, provides="x") for name in "abcdef"]
        text = shown(tool("z", *"abcdef", takes={"x": {}}), *sources)["properties"]["x"]["description"]
        assert re.findall("result of `s__([a-z]+)`", text) == ["f", "e", "d"]

    def test_the_members_of_a_wrapped_result_are_not_its_own(self) -> None:
        entry = tool("b", "a", takes={"result": {}, "x": {}})
        assert shown(entry, tool("a", gives=gives("result", wrapped=True))) is entry.input_schema

    def test_the_members_of_what_is_wrapped_are(self) -> None:
        source = tool("a", gives=returns(type="object", properties={"x": {}}))
        assert shown(tool("b", "a", takes={"x": {}, "y": {}}), source)["required"] == ["y"]

    def test_the_switch_of_the_caller_is_filled_by_nobody(self) -> None:
        entry = tool("b", "a", takes={"show_user": {}})
        assert shown(entry, tool("a", provides="show_user", gives=gives("show_user"))) is entry.input_schema

    def test_a_property_that_is_true_gets_a_description_and_one_that_is_false_stays(self) -> None:
        entry = tool("b", "a", takes={"x": True, "y": False})
        properties = shown(entry, tool("a", gives=gives("x", "y")))["properties"]
        assert list(properties["x"]) == ["description"]
        assert properties["y"] is False

    def test_circles_and_names_of_nobody_do_no_harm(self) -> None:
        entry = tool("b", "b", "a", "nobody", takes={"x": {}})
        assert "required" not in shown(entry, tool("a", "b", "a", provides="x"))


def returns(**schema: Any) -> dict[str, Any]:
    """The output schema of a tool whose result is wrapped."""
    return {"type": "object", "properties": {"result": schema}, "x-fastmcp-wrap-result": True}


class TestTheOnlyRequiredParameter:
    """What the only predecessor hands on where no parameter has a value by its name (XMCP-CLI-120)."""

    QUERY = tool("query", "sql", schema={"properties": {"sql": {"type": "string"}, "n": {}}, "required": ["sql"]})

    @pytest.mark.parametrize("source", [tool("sql"), tool("sql", gives=returns(type="string")), tool("sql", gives={})])
    def test_it_is_optional_and_its_description_says_what_leaving_it_out_means(self, source: Entry) -> None:
        text = "If you leave it out and call `s__sql` in the same turn, it gets the result of that call."
        assert shown(self.QUERY, source) == {
            "properties": {"sql": {"type": "string", "description": text}, "n": {}},
        }

    @pytest.mark.parametrize(
        "source",
        [tool("sql", gives=schema) for schema in (returns(type="array"), gives("z"), {"type": "object"})],
    )
    def test_it_stays_required_where_no_result_can_fit(self, source: Entry) -> None:
        assert shown(self.QUERY, source) is self.QUERY.input_schema

    def test_it_stays_required_where_another_parameter_gets_a_value_by_its_name(self) -> None:
        parameters = shown(self.QUERY, tool("sql", provides="n"))
        assert parameters["required"] == ["sql"]
        assert "description" not in parameters["properties"]["sql"]

    def test_it_stays_required_where_there_is_no_such_predecessor(self) -> None:
        assert shown(self.QUERY) is self.QUERY.input_schema
        several = tool("query", "sql", "login", schema=self.QUERY.input_schema)
        assert shown(several, tool("sql"), tool("login")) is several.input_schema

    def test_an_integer_is_a_number(self) -> None:
        entry = tool("b", "a", takes={"x": {"type": ["number", "null"]}})
        assert "required" not in shown(entry, tool("a", gives=returns(type="integer")))

    @pytest.mark.parametrize("named", [7, [7], [], {}])
    def test_types_that_are_none_say_nothing(self, named: Any) -> None:
        entry = tool("b", "a", takes={"x": {"type": named}})
        assert entry.input_schema["required"] == ["x"]
        shown(entry, tool("a", gives=returns(type="integer")))

    def test_a_parameter_that_the_application_fills_does_not_count(self) -> None:
        entry = tool("query", "sql", takes={"sql": {}, "user": {}})
        assert "required" not in shown(entry, tool("sql"), hidden={"user"})


class TestParametersThatTheApplicationFills:
    def test_the_model_does_not_see_them(self) -> None:
        entry = tool("a", takes={"tenant": {}, "x": {}})
        assert shown(entry, hidden={"tenant", "other"}) == {
            "type": "object",
            "properties": {"x": {}},
            "required": ["x"],
        }

    def test_a_dependency_that_provides_one_does_not_bring_it_back(self) -> None:
        parameters = shown(tool("b", "a", takes={"tenant": {}}), tool("a", provides="tenant"), hidden={"tenant"})
        assert parameters == {"type": "object", "properties": {}}

    def test_no_rule_asks_for_them(self) -> None:
        schema = {
            "properties": {"tenant": {}, "x": {}},
            "dependentRequired": {"tenant": ["x"], "x": ["tenant", "y"], "z": 7},
            "dependentSchemas": {"tenant": {"minProperties": 2}, "x": {}},
            "$defs": {"unused": {}},
        }
        assert shown(tool("a", schema=schema), hidden={"tenant"}) == {
            "properties": {"x": {}},
            "dependentRequired": {"x": ["y"], "z": 7},
            "dependentSchemas": {"x": {}},
            "$defs": {"unused": {}},
        }


TOOLS, PARAMETERS = "abcde", ["x", "y", "z", "show_user"]
SCHEMAS = [{}, True, {"description": ""}, {"description": "Own."}]


@st.composite
def servers(draw: st.DrawFn) -> dict[str, Entry]:
    made = {}
    for place, name in enumerate(TOOLS):
        names = st.sets(st.sampled_from(PARAMETERS))
        takes = {p: draw(st.sampled_from(SCHEMAS)) for p in draw(names)}
        required = draw(st.lists(st.sampled_from(sorted(takes)), unique=True)) if takes else []
        depends_on = draw(st.lists(st.sampled_from(TOOLS[:place]))) if place else []
        output = draw(st.none() | st.builds(lambda n, w: gives(*sorted(n), wrapped=w), names, st.booleans()))
        schema = {"type": "object", "properties": takes, "required": required}
        made[name] = tool(
            name, *depends_on, schema=schema, gives=output, provides=draw(st.none() | st.sampled_from("xyz"))
        )
    return made


def answer(entry: Entry) -> Result:
    schema = entry.output_schema
    if schema is None:
        return Result("text", False)
    return Result([] if "x-fastmcp-wrap-result" in schema else dict.fromkeys(schema["properties"], 1), True)


@given(servers(), st.sets(st.sampled_from(PARAMETERS)))
def test_what_the_model_is_told_is_what_happens_when_everything_is_called(
    tools: dict[str, Entry], hidden: set[str]
) -> None:
    before = copy.deepcopy([(entry.input_schema, entry.output_schema) for entry in tools.values()])
    entries = [*tools.values()]
    graph, results = predecessors(entries), [answer(entry) for entry in entries]
    for call, entry in enumerate(entries):
        made = fill_arguments(call, {}, entries, graph, results, hidden)
        assert isinstance(made, FilledArguments)
        parameters = offered(entry, tools, hidden)["function"]["parameters"]
        texts = {
            name: part.get("description", "") for name, part in parameters["properties"].items() if part is not True
        }
        fills = "(?:Filled from the result of|If you leave it out and call) `(.*?)`"
        told = {name: re.findall(fills, text) for name, text in texts.items()}
        assert {name: found[0] for name, found in told.items() if found} == made.sources
        assert parameters["properties"].keys() == entry.input_schema["properties"].keys() - hidden
        expected = [n for n in entry.input_schema["required"] if n not in hidden and n not in made.sources]
        assert parameters.get("required", []) == expected
        assert all(
            text.startswith("Own.") for name, text in texts.items() if "Own" in str(before[call][0]["properties"][name])
        )
    assert before == [(entry.input_schema, entry.output_schema) for entry in tools.values()]


def test_alternatives_that_a_hidden_parameter_told_apart_are_no_longer_exclusive() -> None:
    takes = {"properties": {"user": {}}, "required": ["user"]}
    schema = {"type": "object", "oneOf": [takes, {"properties": {"q": {}}}]}
    parameters = shown(tool("t", schema=schema), hidden=["user"])
    assert parameters["anyOf"] == [{"properties": {}}, {"properties": {"q": {}}}]
    assert "oneOf" not in parameters


def test_what_a_server_requires_that_is_no_name_stays_and_stops_nobody() -> None:
    schema = {
        "properties": {"a": {}, "b": {}},
        "required": ["a", ["b"], {}, 7],
        "dependentRequired": {"a": [["b"], "b", {}]},
    }
    entry = tool("t", "before", schema=schema)
    made = shown(entry, tool("before", gives=gives("a")), hidden={"b"})
    assert made["required"] == [["b"], {}, 7]
    assert made["dependentRequired"] == {"a": [["b"], {}]}


USER: dict[str, Any] = {"properties": {"user": {}}, "required": ["user"]}
ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {"q": {}}}


@pytest.mark.parametrize(
    "schema",
    [
        {"if": {"properties": {"q": {"const": 1}}}, "then": USER},
        {"if": {"properties": {"q": {"const": 1}}}, "else": USER},
        {"if": USER, "then": {"required": ["q"]}},
        {"not": USER},
        {"dependentSchemas": {"q": USER}},
        {"dependentSchemas": {"user": {"required": ["q"]}}},
        {"dependentRequired": {"q": ["user"]}},
        {"dependencies": {"q": ["user"]}},
        {"dependencies": {"q": USER}},
        {"allOf": [{"if": {"required": ["q"]}, "then": {"anyOf": [USER, {}]}}]},
        {"$ref": "#a", "$defs": {"a": {"$anchor": "a", **USER}}},
        {"$dynamicRef": "#a", "$defs": {"a": {"$dynamicAnchor": "a", **USER}}},
        {"$ref": "#/$defs/a%20b", "$defs": {"a b": USER}},
        {"$id": "urn:own", "$ref": "urn:own#/$defs/a", "$defs": {"a": USER}},
        {"$ref": "urn:other", "$defs": {"a": {"$id": "urn:other", **USER}}},
        {"then": {"$ref": "#/allOf/0"}, "if": {}, "allOf": [USER]},
        {"required": ["user"]},
        {"then": {"allOf": [USER]}, "default": {"user": 1}, "examples": [{"user": 2, "q": 3}, 4]},
    ],
    ids=str,
)
def test_a_parameter_of_the_application_is_found_wherever_a_schema_applies_to_the_same_object(schema: Any) -> None:
    entry = tool("t", schema={**ARGUMENTS, **schema})
    assert "user" in entry.declared
    parameters = shown(entry, hidden=["user"])
    assert "user" not in str(parameters)
    assert parameters["properties"] == {"q": {}}
    assert "not" not in parameters


def test_a_parameter_of_that_name_in_an_object_within_the_arguments_stays() -> None:
    schema = {**ARGUMENTS, "properties": {"q": {"if": {}, "then": USER}, "user": {}}}
    assert shown(tool("t", schema=schema), hidden=["user"])["properties"] == {"q": {"if": {}, "then": USER}}


@pytest.mark.parametrize(
    "schema", [{"if": USER}, {"dependentSchemas": {"q": USER}}, {"not": USER}, {"anyOf": [USER]}, {"oneOf": [USER]}]
)
def test_what_is_required_under_a_condition_is_not_needed_always(schema: Any) -> None:
    assert tool("t", schema=schema).needed == set()
    assert tool("t", schema={"allOf": [USER]}).needed == {"user"}


def test_a_schema_is_read_once_for_all_calls_of_its_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []
    declared = input_schema.declared
    monkeypatch.setattr(input_schema, "declared", lambda schema: read.append(schema) or declared(schema))
    entry = tool("t", takes={"user": {}})
    for _ in range(3):
        assert entry.declared == {"user"}
    assert len(read) == 1


def test_a_sentence_names_a_few_of_the_tools_between_a_tool_and_its_source() -> None:
    chain = [tool(f"t{n}", *([f"t{n - 1}"] if n else []), provides=f"p{n}") for n in range(20)]
    last = tool("end", "t19", takes={"p5": {}})
    description = shown(last, *chain)["properties"]["p5"]["description"]
    assert description.count("`") == 2 * 6
    assert " and 9 more tools between them are called in the same turn." in description


def test_of_very_many_dependencies_the_nearest_are_followed_and_all_direct_ones() -> None:
    direct = [tool(f"d{n}", f"f{n}", provides=f"d{n}") for n in range(100)]
    far = [tool(f"f{n}", provides=f"f{n}") for n in range(100)]
    takes = {one.provides: {} for one in (*direct, *far) if one.provides}
    parameters = shown(tool("end", *(one.tool for one in direct), takes=takes), *direct, *far)
    assert set(parameters["required"]) == {one.provides for one in far}
