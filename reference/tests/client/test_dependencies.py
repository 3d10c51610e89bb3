"""Which call of a turn waits for which, and which results fill its arguments (spec section 11.3)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from graphlib import TopologicalSorter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmcp.client.tools.catalogue import Entry
from xmcp.client.tools.dependencies import (
    FilledArguments,
    Result,
    fill_arguments,
    nearest_first,
    predecessors,
    shows_all,
)
from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse

ONE, OTHER = SimpleNamespace(name="one"), SimpleNamespace(name="other")
META = jsonschema_rs.Draft202012Validator(
    json.loads((Path(__file__).parents[3] / "schemas" / "error_meta.schema.json").read_text(encoding="utf-8"))
)
WRAPPED = {"type": "object", "properties": {"result": {}}, "x-fastmcp-wrap-result": True}


def tool(
    name: str,
    *depends_on: str,
    takes: Mapping[str, Any] | None = None,
    provides: str | None = None,
    server: Any = ONE,
    gives: Mapping[str, Any] | None = None,
    **schema: Any,
) -> Entry:
    return Entry(
        f"s__{name}",
        server,
        name,
        input_schema={"type": "object", "properties": dict(takes or {}), **schema},
        output_schema=gives,
        depends_on=depends_on,
        provides=provides,
    )


def data(value: Any) -> Result:
    return Result(value, True)


def hand(entries: Sequence[Entry | None], *results: Result | None, written: Mapping[str, Any] | None = None) -> Any:
    """What the last call of a turn is given."""
    return fill_arguments(len(entries) - 1, written or {}, entries, predecessors(entries), [*results, None])


def refusal(entries: Sequence[Entry | None], *results: Result | None) -> ErrorInfo:
    error = hand(entries, *results)
    assert isinstance(error, ErrorInfo)
    assert (error.code, error.retryable) == ("DEPENDENCY_FAILED", False)
    assert error.meta is not None
    META.validate(error.meta)
    assert error.meta["side_effects"] == "none"
    assert ToolResponse.from_xml(ToolResponse("t", error=error).to_xml()).error == error
    return error


class TestPredecessors:
    def test_a_call_depends_on_the_calls_of_the_same_turn_that_its_tool_names(self) -> None:
        sql, query, chart = tool("sql"), tool("query", "sql"), tool("chart", "query")
        assert predecessors([chart, sql, query]) == ((2,), (), (1,))

    def test_a_predecessor_that_was_not_called_imposes_nothing(self) -> None:
        assert predecessors([tool("chart", "query"), tool("sql")]) == ((), ())

    def test_what_comes_before_a_tool_that_was_not_called_imposes_nothing_either(self) -> None:
        assert predecessors([tool("sql"), tool("chart", "query")]) == ((), ())

    def test_every_call_of_a_predecessor_is_waited_for_in_declared_order_then_in_call_order(self) -> None:
        a, b = tool("a"), tool("b")
        assert predecessors([a, b, tool("c", "b", "a"), a, tool("c", "b", "a"), b]) == (
            (),
            (),
            (1, 5, 0, 3),
            (),
            (1, 5, 0, 3),
            (),
        )

    def test_a_name_is_that_of_a_tool_of_the_same_server(self) -> None:
        assert predecessors([tool("a", server=OTHER), tool("a"), tool("b", "a")]) == ((), (), (1,))

    def test_the_name_at_the_server_counts_and_not_the_one_before_the_model(self) -> None:
        assert predecessors([tool("a"), tool("b", "s__a")]) == ((), ())

    def test_a_call_to_no_tool_depends_on_nothing_and_holds_nothing_up(self) -> None:
        assert predecessors([None, tool("a"), None, tool("b", "a")]) == ((), (), (), (1,))
        assert predecessors([None]) == ((),)
        assert predecessors([]) == ()

    def test_a_tool_does_not_wait_for_itself(self) -> None:
        a = tool("a", "a")
        assert predecessors([a, a]) == ((), ())

    def test_what_would_close_a_circle_is_left_out(self) -> None:
        assert predecessors([tool("a", "b"), tool("b", "c"), tool("c", "a")]) == ((1,), (2,), ())
        assert predecessors([tool("b", "c"), tool("c", "a"), tool("a", "b")]) == ((1,), (2,), ())


class TestWhatIsHandedOn:
    def test_a_member_goes_to_the_parameter_of_its_name(self) -> None:
        entries = [tool("a"), tool("b", "a", takes={"x": {}, "y": {}})]
        assert hand(entries, data({"x": 1, "z": 2}), written={"y": 3}) == FilledArguments(
            {"x": 1, "y": 3}, {"x": "s__a"}
        )

    def test_the_whole_value_goes_to_the_parameter_that_the_predecessor_provides(self) -> None:
        entries = [tool("a", provides="rows"), tool("b", "a", takes={"rows": {"type": "array"}})]
        assert hand(entries, data([1])) == FilledArguments({"rows": [1]}, {"rows": "s__a"})

    def test_without_a_member_or_provides_the_model_is_taken_at_its_word(self) -> None:
        entries = [tool("a"), tool("b", "a", takes={"rows": {}})]
        assert hand(entries, data([1]), written={"rows": 5}) == FilledArguments({"rows": 5}, {})

    def test_a_value_handed_on_wins_over_what_the_model_wrote_and_leaves_that_as_it_is(self) -> None:
        entries = [tool("a"), tool("b", "a", takes={"x": {}})]
        written = {"x": "guess", "unknown": 1}
        assert hand(entries, data({"x": 1}), written=written).arguments == {"x": 1, "unknown": 1}
        assert written == {"x": "guess", "unknown": 1}

    def test_the_arguments_are_an_object_of_their_own_even_if_nothing_is_handed_on(self) -> None:
        written = {"x": 1}
        made = fill_arguments(0, written, [tool("a")], [()], [None]).arguments  # type: ignore[union-attr]
        assert made == written
        assert made is not written

    def test_a_member_goes_before_what_is_provided_even_if_it_is_further_away(self) -> None:
        entries = [tool("a"), tool("b", "a", provides="x"), tool("c", "b", takes={"x": {}})]
        assert hand(entries, data({"x": 1}), data([2])) == FilledArguments({"x": 1}, {"x": "s__a"})

    def test_the_nearest_predecessor_goes_first(self) -> None:
        entries = [tool("far"), tool("near", "far"), tool("c", "near", takes={"x": {}, "y": {}})]
        made = hand(entries, data({"x": "far", "y": "far"}), data({"x": "near"}))
        assert made == FilledArguments({"x": "near", "y": "far"}, {"x": "s__near", "y": "s__far"})

    def test_of_equally_near_ones_the_later_declared_goes_first(self) -> None:
        for order, winner in ((("a", "b"), "s__b"), (("b", "a"), "s__a")):
            entries = [tool("a"), tool("b"), tool("c", *order, takes={"x": {}})]
            assert hand(entries, data({"x": 1}), data({"x": 1})).sources == {"x": winner}

    def test_nearness_counts_through_the_calls_of_this_turn(self) -> None:
        entries = [tool("a"), tool("c", "b", takes={"x": {}})]
        assert hand(entries, data({"x": 1})) == FilledArguments({}, {})

    def test_of_two_calls_of_a_tool_the_last_successful_one_in_call_order_counts(self) -> None:
        a, b = tool("a"), tool("b", "a", takes={"x": {}})
        assert hand([a, a, a, b], data({"x": 1}), data({"x": 2}), None).arguments == {"x": 2}
        assert hand([a, a, b], data({"x": 1}), data({})).arguments == {}

    def test_text_is_handed_on_as_a_whole_only(self) -> None:
        a, takes = tool("a", provides="text"), {"text": {"type": "string"}, "x": {}}
        assert hand([a, tool("b", "a", takes=takes)], Result("hi", False)).arguments == {"text": "hi"}

    def test_text_that_does_not_fit_goes_as_the_json_value_that_it_is(self) -> None:
        a, rows = tool("a", provides="rows"), {"rows": {"type": "array"}}
        assert hand([a, tool("b", "a", takes=rows)], Result("[1]", False)).arguments == {"rows": [1]}
        assert hand([a, tool("b", "a", takes={"rows": {}})], Result("[1]", False)).arguments == {"rows": "[1]"}
        for text in ("[1", "{}", "NaN", "[" * 100_000):
            assert refusal([a, tool("b", "a", takes=rows)], Result(text, False))
        assert refusal([a, tool("b", "a", takes=rows)], data("[1]"))

    def test_a_result_that_is_only_a_display_fills_nothing_and_a_structured_null_does(self) -> None:
        entries = [tool("a", provides="x"), tool("b", "a", takes={"x": {}})]
        assert hand(entries, Result(None, False)) == FilledArguments({}, {})
        assert hand(entries, data(None)) == FilledArguments({"x": None}, {"x": "s__a"})

    def test_the_switch_of_the_caller_and_parameters_of_the_application_are_filled_by_no_result(self) -> None:
        entries = [tool("a"), tool("b", "a", takes={"show_user": {}, "user": {"type": "string"}})]
        result = data({"show_user": True, "user": 7})
        assert fill_arguments(1, {}, entries, [(), (0,)], [result, None], {"user"}) == FilledArguments({}, {})

    def test_a_member_that_is_no_parameter_stays_where_it_is(self) -> None:
        entries = [tool("a", provides="y"), tool("b", "a")]
        assert hand(entries, data({"x": 1})) == FilledArguments({}, {})

    @pytest.mark.parametrize("properties", [None, [], "x"])
    def test_a_schema_without_properties_takes_nothing(self, properties: Any) -> None:
        entries = [tool("a"), tool("b", "a", properties=properties)]
        assert hand(entries, data({"x": 1})) == FilledArguments({}, {})


class TestTheOnlyPredecessor:
    """XMCP-CLI-120: what happens where no parameter has a value by its name."""

    QUERY = tool("query", "sql", takes={"sql": {"type": "string"}, "limit": {}}, required=["sql"])

    def test_its_whole_result_goes_to_the_only_required_parameter(self) -> None:
        assert hand([tool("sql"), self.QUERY], data("select 1")) == FilledArguments(
            {"sql": "select 1"}, {"sql": "s__sql"}
        )

    def test_what_the_model_wrote_stays(self) -> None:
        for written in ("mine", None):
            assert hand([tool("sql"), self.QUERY], data("select 1"), written={"sql": written}) == FilledArguments(
                {"sql": written}, {}
            )

    @pytest.mark.parametrize("result", [data(1), data({"text": "select 1"}), Result(None, False), data(None)])
    def test_what_does_not_fit_is_not_handed_on_and_nothing_fails(self, result: Result) -> None:
        assert hand([tool("sql"), self.QUERY], result, written={"limit": 1}) == FilledArguments({"limit": 1}, {})

    def test_a_text_goes_as_json_where_no_text_fits(self) -> None:
        chart = tool("chart", "query", takes={"rows": {"type": "array"}}, required=["rows"])
        assert hand([tool("query"), chart], Result('[{"n": 1}]', False)).arguments == {"rows": [{"n": 1}]}
        assert hand([tool("query"), chart], Result("no rows", False)).arguments == {}

    def test_another_value_that_is_handed_on_is_enough(self) -> None:
        entries = [tool("sql"), self.QUERY]
        assert hand(entries, data({"limit": 5})) == FilledArguments({"limit": 5}, {"limit": "s__sql"})
        entries = [tool("far"), tool("sql", "far"), self.QUERY]
        assert hand(entries, data({"limit": 5}), data("select 1")).arguments == {"limit": 5}

    def test_a_tool_that_names_several_tools_or_requires_several_parameters_gets_nothing(self) -> None:
        takes: dict[str, Any] = {"sql": {}, "limit": {}}
        several = tool("query", "sql", "login", takes=takes, required=["sql"])
        assert hand([tool("sql"), several], data("select 1")).arguments == {}
        for required in ([], ["sql", "limit"], ["elsewhere"], ["sql", "elsewhere"], "sql", [7]):
            entry = tool("query", "sql", takes=takes, required=required)
            assert hand([tool("sql"), entry], data("select 1")).arguments == {}

    def test_a_name_that_comes_twice_or_is_the_tools_own_counts_for_nothing(self) -> None:
        entry = tool("query", "sql", "query", "sql", takes={"sql": {}}, required=["sql", "sql"])
        assert hand([tool("sql"), entry], data("select 1")).arguments == {"sql": "select 1"}

    def test_parameters_that_the_application_fills_do_not_count(self) -> None:
        entry = tool("query", "sql", takes={"sql": {}, "user": {}}, required=["sql", "user"])
        made = fill_arguments(1, {}, [tool("sql"), entry], [(), (0,)], [data("select 1"), None], {"user"})
        assert made == FilledArguments({"sql": "select 1"}, {"sql": "s__sql"})
        entry = tool("query", "sql", takes={"show_user": {}}, required=["show_user"])
        assert hand([tool("sql"), entry], data("select 1")).arguments == {}

    def test_of_several_calls_the_last_successful_one_counts(self) -> None:
        sql = tool("sql")
        assert hand([sql, sql, sql, self.QUERY], data("one"), data("two"), None).arguments == {"sql": "two"}

    def test_a_predecessor_of_the_predecessor_is_not_meant(self) -> None:
        entries = [tool("far"), tool("sql", "far"), self.QUERY]
        assert hand(entries, data("far"), Result(None, False)).arguments == {}


class TestWhatDoesNotFit:
    def test_it_is_refused_with_a_pointer_and_the_tool_but_without_the_value(self) -> None:
        entries = [tool("a"), tool("b", "a", takes={"x": {"type": "integer"}, "y/~": {"maxLength": 1}, "z": {}})]
        error = refusal(entries, data({"x": "secret", "y/~": "secret", "z": 1}))
        assert error.meta is not None
        assert [field["pointer"] for field in error.meta["fields"]] == ["/x", "/y~1~0"]
        assert error.meta["params"] == {"tool": "s__a"}
        assert "`s__a`" in error.message
        assert "`x`" in error.message
        assert "`type`" in error.meta["fields"][0]["message"]
        assert "`maxLength`" in error.meta["fields"][1]["message"]
        assert "secret" not in error.message + json.dumps(error.meta)

    def test_each_parameter_is_told_with_the_tool_that_it_came_from(self) -> None:
        takes = {"x": {"type": "integer"}, "y": {"type": "integer"}}
        entries = [tool("a"), tool("b"), tool("c", "a", "b", takes=takes)]
        error = refusal(entries, data({"x": ""}), data({"y": ""}))
        assert error.meta is not None
        assert ["`s__a`" in f["message"] for f in error.meta["fields"]] == [True, False]
        assert ["`s__b`" in f["message"] for f in error.meta["fields"]] == [False, True]
        error = refusal(entries, data({"x": 1}), data({"y": ""}))
        assert "`s__a`" not in error.message
        assert "`y`" in error.message
        assert (error.meta or {})["params"] == {"tool": "s__b"}

    def test_references_are_followed_within_the_schema(self) -> None:
        takes = {"x": {"$ref": "#/$defs/Rows"}, "tree": {"$ref": "#/$defs/Tree"}}
        rows = {"type": "array", "items": {"$ref": "#/$defs/Row"}}
        tree = {"type": "array", "items": {"$ref": "#/$defs/Tree"}}
        defs = {"Rows": rows, "Row": {"type": "object"}, "Tree": tree}
        entries = [tool("a"), tool("b", "a", takes=takes, **{"$defs": defs})]
        assert hand(entries, data({"x": [{}], "tree": [[], [[]]]})).sources == {"x": "s__a", "tree": "s__a"}
        assert refusal(entries, data({"x": [{}, 1]}))
        assert refusal(entries, data({"tree": [[], [1]]}))

    @pytest.mark.parametrize("base", ["https://h.example/s.json", "s.json", "urn:x:y"])
    def test_a_schema_may_have_a_name_of_its_own(self, base: str) -> None:
        takes = {"x": {"$ref": "#/$defs/N"}, "y": {"$ref": f"{base}#/$defs/N"}}
        entries = [tool("a"), tool("b", "a", takes=takes, **{"$id": base, "$defs": {"N": {"type": "integer"}}})]
        assert hand(entries, data({"x": 1, "y": 1})).sources == {"x": "s__a", "y": "s__a"}
        assert len((refusal(entries, data({"x": "", "y": ""})).meta or {})["fields"]) == 2

    @given(st.text(min_size=1))
    def test_a_parameter_of_any_name_is_judged(self, name: str) -> None:
        if name == "show_user":
            return
        entries = [tool("a"), tool("b", "a", takes={name: {"type": "integer"}})]
        result = hand(entries, data({name: 1}))
        assert result == FilledArguments({name: 1}, {name: "s__a"})
        error = hand(entries, data({name: "1"}))
        assert isinstance(error, ErrorInfo)
        META.validate(error.meta)

    def test_a_schema_is_read_in_the_dialect_that_it_names(self) -> None:
        takes = {"x": {"items": [{"type": "integer"}]}}
        named = {"$schema": "http://json-schema.org/draft-07/schema#"}
        assert refusal([tool("a"), tool("b", "a", takes=takes, **named)], data({"x": ["1"]}))

    def test_only_the_parameters_own_schema_judges_since_the_rest_is_not_all_there(self) -> None:
        rules = {"required": ["y"], "minProperties": 5, "anyOf": [{"required": ["z"]}], "additionalProperties": False}
        entries = [tool("a"), tool("b", "a", takes={"x": {}}, **rules)]
        assert hand(entries, data({"x": 1})).arguments == {"x": 1}

    @pytest.mark.parametrize(
        "broken",
        [
            {"type": "nope"},
            {"$ref": "#/$defs/missing"},
            {"pattern": "("},
            {"items": [{}]},
            {"minimum": 2**70},
            {"$id": 7, "$ref": "urn:none"},
        ],
    )
    def test_what_a_schema_that_is_none_means_is_left_to_the_server(self, broken: Any) -> None:
        entries = [tool("a"), tool("b", "a", takes={"x": broken})]
        assert hand(entries, data({"x": "1"})).arguments == {"x": "1"}

    def test_a_schema_makes_the_client_fetch_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "s.json").write_text('{"type": "integer"}', encoding="utf-8")
        entries = [tool("a"), tool("b", "a", takes={"x": {"$ref": (tmp_path / "s.json").as_uri()}})]
        assert hand(entries, data({"x": "1"})).arguments == {"x": "1"}

    def test_a_pattern_that_could_take_for_ever_is_left_to_the_server(self) -> None:
        entries = [tool("a"), tool("b", "a", takes={"x": {"pattern": "^(?=b)"}})]
        assert hand(entries, data({"x": "a"})).arguments == {"x": "a"}

    @pytest.mark.parametrize("value", ["\ud83d", object(), {1: 2}])
    def test_what_is_no_json_does_not_fit(self, value: Any) -> None:
        entries = [tool("a"), tool("b", "a", takes={"x": {"type": ["string", "object"], "maxLength": 5, "enum": [0]}})]
        assert refusal(entries, data({"x": value}))

    def test_a_value_too_deep_to_be_repeated_is_refused_like_any_other(self) -> None:
        deep: Any = []
        for _ in range(1000):
            deep = [deep]
        assert refusal([tool("a"), tool("b", "a", takes={"x": {"type": "string"}})], data({"x": deep}))


class TestFailures:
    CHAIN = [tool("a"), tool("b", "a"), tool("c", "b")]

    def test_a_failed_predecessor_fails_its_dependants(self) -> None:
        error = refusal(self.CHAIN[:2], None)
        assert "`s__a`" in error.message
        assert (error.meta or {})["params"] == {"tool": "s__a"}

    def test_a_dependants_dependant_is_told_what_failed_first(self) -> None:
        assert (refusal(self.CHAIN, None, None).meta or {})["params"] == {"tool": "s__a"}

    def test_a_call_that_failed_although_its_predecessors_succeeded_failed_first(self) -> None:
        assert (refusal(self.CHAIN, data({}), None).meta or {})["params"] == {"tool": "s__b"}

    def test_of_several_failed_predecessors_the_first_declared_is_named(self) -> None:
        entries = [tool("a"), tool("b"), tool("c", "b", "a")]
        assert (refusal(entries, None, None).meta or {})["params"] == {"tool": "s__b"}

    def test_a_tool_of_which_one_call_succeeded_has_not_failed(self) -> None:
        a, b = tool("a", provides="x"), tool("b", "a", takes={"x": {}})
        assert hand([a, a, b], data(1), None).arguments == {"x": 1}
        assert hand([a, a, b], None, data(1)).arguments == {"x": 1}
        assert refusal([a, a, b], None, None)

    def test_one_successful_predecessor_does_not_make_up_for_another(self) -> None:
        assert refusal([tool("a"), tool("b"), tool("c", "a", "b")], data({}), None)

    def test_independent_calls_are_not_touched(self) -> None:
        entries = [tool("a"), tool("b", "a"), None, tool("c")]
        assert hand(entries, None, None, None, written={"x": 1}) == FilledArguments({"x": 1}, {})


class TestResults:
    def test_a_structured_result_goes_before_text(self) -> None:
        response = ToolResponse("a", "text")
        assert Result.of(response, {"x": 1}, tool("a")) == data({"x": 1})
        assert Result.of(response, [], tool("a")) == data([])
        assert Result.of(response, None, tool("a")) == Result("text", False)

    def test_a_failed_call_has_none(self) -> None:
        assert Result.of(ToolResponse("a", error=ErrorInfo("TOOL_ERROR", "x")), {"x": 1}, tool("a")) is None

    def test_a_display_alone_hands_on_nothing(self) -> None:
        shown = ToolResponse("a", display=DisplayEnvelope(type="markdown", payload="hi"))
        assert Result.of(shown, None, tool("a")) == Result(None, False)

    @pytest.mark.parametrize(
        ("sent", "schema", "value"),
        [
            ({"result": [1]}, WRAPPED, [1]),
            ({"result": None}, WRAPPED, None),
            ({"result": [1]}, {"type": "object"}, {"result": [1]}),
            ({"result": [1]}, None, {"result": [1]}),
            ({"result": 1, "other": 2}, WRAPPED, {"result": 1, "other": 2}),
            ({"x": 1}, WRAPPED, {"x": 1}),
        ],
    )
    def test_a_result_is_unwrapped_where_the_schema_says_that_it_is_wrapped(
        self, sent: Any, schema: Any, value: Any
    ) -> None:
        assert Result.of(ToolResponse("a", ""), sent, tool("a", gives=schema)) == data(value)

    @pytest.mark.parametrize(
        ("sent", "value"), [({"rows": [1]}, [1]), ({"rows": [1], "n": 1}, {"rows": [1], "n": 1}), ({"x": 1}, {"x": 1})]
    )
    def test_a_result_is_unwrapped_where_the_metadata_says_where_the_value_is(self, sent: Any, value: Any) -> None:
        entry = replace(tool("a"), named_wrapper="rows")
        assert Result.of(ToolResponse("a", ""), sent, entry) == data(value)


class TestShowing:
    @pytest.mark.parametrize(
        ("graph", "shown", "all_shown"),
        [
            ([], [], False),
            ([()], [True], True),
            ([()], [False], False),
            ([(), ()], [True, False], False),
            ([(), (0,)], [False, True], True),
            ([(), (0,)], [True, False], False),
            ([(), (0,), ()], [False, True, False], False),
        ],
    )
    def test_every_call_on_which_no_other_depends_has_to_show_something(
        self, graph: Any, shown: Any, all_shown: bool
    ) -> None:
        assert shows_all(graph, shown) is all_shown


# Against a naive telling of the same sentences: random tools, turns and results.

TOOLS, PARAMETERS = "abcde", "xyz"
SCHEMAS: list[tuple[Any, type]] = [
    ({}, object),
    (True, object),
    ({"type": "string"}, str),
    ({"$ref": "#/$defs/S"}, str),
]


@st.composite
def turns(draw: st.DrawFn, *, circles: bool = False) -> list[Entry | None]:
    known: dict[Any, list[Entry]] = {}
    for place, name in enumerate(TOOLS):
        names = TOOLS if circles else TOOLS[:place]
        depends_on = draw(st.permutations(names))[: draw(st.integers(0, 3))] * draw(st.integers(1, 2))
        takes = {p: draw(st.sampled_from(SCHEMAS))[0] for p in PARAMETERS if draw(st.integers(0, 3))}
        required = [p for p in takes if not draw(st.integers(0, 2))]
        provides = draw(st.none() | st.sampled_from(PARAMETERS))
        for server in "12":
            more = {"required": required, "$defs": {"S": {"type": "string"}}}
            entry = tool(name, *depends_on, takes=takes, provides=provides, **more)
            known.setdefault(server, []).append(replace(entry, server=ONE if server == "1" else OTHER))
    several = draw(st.lists(st.sampled_from([None, *known["1"], *known["2"]]), max_size=4))
    missing = draw(st.integers(0, 2))
    return draw(st.permutations([*known["1"][missing:], *several]))


VALUES = st.text(max_size=3) | st.sampled_from(['"s"', "7"]) | st.integers() | st.none()
MEMBERS = st.dictionaries(st.sampled_from(PARAMETERS), VALUES, min_size=1)
RESULTS = st.builds(Result, MEMBERS | VALUES, st.just(True)) | st.builds(
    Result, st.none() | st.text(max_size=3), st.just(False)
)


def naive_row(entries: Sequence[Entry | None], call: int) -> list[int]:
    me = entries[call]
    return (
        []
        if me is None
        else [
            place
            for name in dict.fromkeys(me.depends_on)
            for place, other in enumerate(entries)
            if other is not None and other.server is me.server and other.tool == name != me.tool
        ]
    )


@pytest.mark.slow
@given(turns())
def test_the_graph_says_what_the_metadata_say(entries: list[Entry | None]) -> None:
    assert [list(row) for row in predecessors(entries)] == [naive_row(entries, call) for call in range(len(entries))]


@given(turns(circles=True))
def test_metadata_in_circles_give_a_graph_without_one_that_leaves_out_no_more_than_it_must(
    entries: list[Entry | None],
) -> None:
    graph = predecessors(entries)
    kept = {place: set(row) for place, row in enumerate(graph)}
    TopologicalSorter(kept).prepare()

    def behind(place: int) -> set[int]:
        return kept[place].union(*(behind(before) for before in kept[place]))

    for call, row in enumerate(graph):
        named = naive_row(entries, call)
        assert list(row) == [place for place in named if place in kept[call]]
        assert all(call in behind(left_out) for left_out in set(named) - kept[call])


def naive_handover(entries: Sequence[Any], call: int, written: Any, results: Sequence[Any]) -> Any:
    """FilledArguments, or the tool that failed first, or the parameters that a value does not fit."""
    me = entries[call]
    if me is None:
        return FilledArguments(written, {})
    calls: dict[str, list[int]] = {}
    for place, entry in enumerate(entries):
        if entry is not None and entry.server is me.server:
            calls.setdefault(entry.tool, []).append(place)

    def named(name: str) -> list[str]:
        return [n for n in dict.fromkeys(entries[calls[name][0]].depends_on) if n in calls]

    def first_failed(name: str) -> str | None:
        for before in named(name):
            if all(results[place] is None for place in calls[before]):
                return first_failed(before) or before
        return None

    def paths(name: str) -> Iterator[tuple[tuple[int, ...], str]]:
        for back, before in enumerate(reversed(named(name))):
            yield (back,), before
            for path, end in paths(before):
                yield (back, *path), end

    if (failed := first_failed(me.tool)) is not None:
        return f"s__{failed}"

    def fits(parameter: str, value: Any) -> bool:
        taken = me.input_schema["properties"][parameter]
        return isinstance(value, next(kind for schema, kind in SCHEMAS if schema is taken))

    arguments, sources, unfit = dict(written), {}, []
    for parameter in me.input_schema["properties"]:
        candidates = []
        for path, before in paths(me.tool):
            result = next((results[p] for p in reversed(calls[before]) if results[p] is not None), None)
            if result is None:
                continue
            if isinstance(result.value, dict) and parameter in result.value:
                candidates.append(((0, len(path), path), before, result.value[parameter]))
            whole = entries[calls[before][0]].provides == parameter
            if whole and (result.structured or result.value is not None):
                candidates.append(((1, len(path), path), before, result.value))
        if candidates:
            _, before, value = min(candidates, key=lambda candidate: candidate[0])
            arguments[parameter], sources[parameter] = value, f"s__{before}"
            if not fits(parameter, value):
                unfit.append(parameter)
    others = {name for name in me.depends_on if name != me.tool}
    if not sources and len(others) == 1 and len(me.input_schema["required"]) == 1:
        [parameter], [before] = me.input_schema["required"], others
        made = [results[p] for p in calls.get(before, []) if results[p] is not None]
        has_value = made and (made[-1].structured or made[-1].value is not None)
        if has_value and parameter not in arguments and fits(parameter, made[-1].value):
            return FilledArguments({**arguments, parameter: made[-1].value}, {parameter: f"s__{before}"})
    return unfit or FilledArguments(arguments, sources)


@pytest.mark.slow
@settings(max_examples=300)
@given(turns(), st.data())
def test_what_is_handed_on_is_what_a_naive_reading_hands_on(entries: list[Entry | None], more: st.DataObject) -> None:
    graph = predecessors(entries)
    failures = more.draw(st.sets(st.integers(0, len(entries) - 1), max_size=3))
    results = [None if place in failures else more.draw(RESULTS) for place in range(len(entries))]
    # What a loop would have seen to: whatever has a failed predecessor has failed as well.
    order = [*TopologicalSorter(dict(enumerate(graph))).static_order()]
    for call in order:
        if isinstance(naive_handover(entries, call, {}, results), str):
            results[call] = None
    for call in range(len(entries)):
        made = fill_arguments(call, {"x": "own", "w": 1}, entries, graph, results)
        expected = naive_handover(entries, call, {"x": "own", "w": 1}, results)
        if isinstance(made, FilledArguments):
            assert made == expected
        elif isinstance(expected, str):
            assert made.meta is not None
            assert made.meta["params"] == {"tool": expected}
            assert "fields" not in made.meta
        else:
            assert made.meta is not None
            assert [field["pointer"] for field in made.meta["fields"]] == [f"/{name}" for name in expected]


@pytest.mark.slow
@given(turns(), st.data())
def test_a_turn_shows_all_if_its_last_calls_do(entries: list[Entry | None], more: st.DataObject) -> None:
    graph = predecessors(entries)
    shown = [more.draw(st.booleans()) for _ in entries]
    last = [call for call in range(len(entries)) if not any(call in naive_row(entries, o) for o in range(len(entries)))]
    assert shows_all(graph, shown) is (bool(last) and all(shown[call] for call in last))


def test_nearest_first_ends_in_a_circle() -> None:
    circle = {"a": ["b"], "b": ["c"], "c": ["a"]}
    assert nearest_first("a", circle.__getitem__) == {"b": "a", "c": "b"}
