"""The client's decisions, which are pure functions: names, arguments, histories, reading of results."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import fastmcp
import mcp_types as mt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmcp.chat import client_made_errors, messages
from xmcp.chat.arguments import parse_arguments
from xmcp.chat.completions import unique_ids
from xmcp.chat.tool_schemas import legal_name
from xmcp.chat.untrusted_text import without_secrets
from xmcp.client.calls import server_results
from xmcp.client.calls.context_budget import Budgets, for_model
from xmcp.client.hooks.middleware import ChatContext
from xmcp.client.loop.stop_reason import ending
from xmcp.client.loop.usage import NOTHING, add, record
from xmcp.client.servers import targets
from xmcp.client.tools.catalogue import build
from xmcp.client.tools.names import Listing, expose
from xmcp.providers import Completion, ToolCall, Usage
from xmcp.wire import ErrorInfo, ToolResponse
from xmcp_models.registry import PREFIX, RESULT_META_KEY

NAMES = st.text(st.sampled_from("ab_./é"), min_size=1, max_size=3) | st.text(min_size=1, max_size=200)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=8,
)


class TestNames:
    @given(st.lists(st.builds(Listing, NAMES, st.booleans(), st.lists(NAMES, max_size=4)), max_size=4))
    def test_every_tool_gets_a_name_of_its_own_that_every_vendor_takes(self, listings: list[Listing]) -> None:
        exposed, _ = expose(listings)
        assert len({e.name for e in exposed}) == len(exposed)
        assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", e.name) for e in exposed)
        expected = [(place, tool) for place, listing in enumerate(listings) for tool in dict.fromkeys(listing.tools)]
        assert [(e.listing, e.tool) for e in exposed] == expected

    def test_named_servers_always_prefix_and_listed_ones_only_on_a_clash(self) -> None:
        exposed, warnings = expose(
            [
                Listing("crm", True, ["find"]),
                Listing("a", False, ["find", "add"]),
                Listing("b", False, ["find", "sub"]),
                Listing("b", False, ["find"]),
            ]
        )
        assert [e.name for e in exposed] == ["crm__find", "find", "add", "b__find", "sub", "b_2__find"]
        assert len(warnings) == 2
        assert "'b__find'" in warnings[0]

    @given(st.text())
    def test_a_legal_name_stays_and_a_made_one_is_stable(self, name: str) -> None:
        assert legal_name(legal_name(name)) == legal_name(name)
        if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
            assert legal_name(name) == name

    def test_long_names_with_one_beginning_stay_apart(self) -> None:
        assert legal_name("x" * 70 + "1") != legal_name("x" * 70 + "2")


class TestCatalogue:
    SERVER = SimpleNamespace(name="s", named=False, speaks_xmcp=False)

    def test_a_tool_is_offered_with_a_schema_that_every_vendor_takes(self) -> None:
        tools = [mt.Tool(name="a", input_schema={"type": "object"}), mt.Tool(name="b.c", title="B", input_schema={})]
        built = build([(self.SERVER, tools)], 7, ["first"])  # type: ignore[list-item]
        assert json.loads(built.schemas.json) == [
            {
                "type": "function",
                "function": {"name": "a", "description": "", "parameters": {"type": "object", "properties": {}}},
            },
            {"type": "function", "function": {"name": "b_c", "description": "B", "parameters": {"properties": {}}}},
        ]
        assert (built.version, built.schemas.version, built.warnings) == (7, 7, ("first",))
        assert (built.entries["b_c"].tool, [*built.entries]) == ("b.c", ["a", "b_c"])


class TestArguments:
    @given(st.dictionaries(st.text(), JSON))
    def test_a_json_object_is_read_as_it_is(self, value: dict[str, Any]) -> None:
        assert parse_arguments(json.dumps(value)) == value

    @pytest.mark.parametrize("text", ["", "  \n"])
    def test_no_arguments_are_an_empty_object(self, text: str) -> None:
        assert parse_arguments(text) == {}

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ('{"a": ', "not_json"),
            ("{'a': 1}", "not_json"),
            ('{"a": NaN}', "not_json"),
            ("[" * 100_000, "too_deep"),
            ('{"a": ' + "[" * 64 + "]" * 64 + "}", "too_deep"),
            ('{"a": 1e999}', "not_json"),
            ('{"a": ' + "9" * 5000 + "}", "not_json"),
            ("[1]", "not_an_object"),
            ('"{}"', "not_an_object"),
            ("null", "not_an_object"),
            ("true", "not_an_object"),
            ("1.5", "not_an_object"),
            ('{"a": "\\ud83d"}', "not_text"),
        ],
    )
    def test_anything_else_is_a_validation_error_that_says_why(self, text: str, reason: str) -> None:
        error = parse_arguments(text)
        assert isinstance(error, ErrorInfo)
        assert (error.code, error.retryable) == ("VALIDATION_FAIL", False)
        assert error.meta is not None
        assert error.meta["fields"][0]["reason"] == reason
        assert ToolResponse("t", error=error).to_xml()

    @given(st.text())
    def test_no_text_raises(self, text: str) -> None:
        assert isinstance(parse_arguments(text), dict | ErrorInfo)

    def test_a_large_integer_keeps_its_value(self) -> None:
        assert parse_arguments('{"n": 123456789012345678901234567890}') == {"n": 123456789012345678901234567890}


CALLS = st.lists(st.builds(ToolCall, st.text(min_size=1), NAMES, st.text()), max_size=4, unique_by=lambda c: c.id)


class TestHistories:
    @given(st.lists(st.tuples(st.text(), CALLS, st.data()), max_size=4))
    def test_turns_are_valid_whatever_is_still_missing(
        self,
        turns: list[Any],
    ) -> None:
        history = messages.begin([], "q")
        for text, calls, data in turns:
            contents = [data.draw(st.none() | st.text()) for _ in calls]
            history += messages.turn_messages(text, calls, contents)
        assert messages.problem(history) is None
        assert messages.call_ids(history) == {call.id for _, calls, _ in turns for call in calls}

    def test_the_query_is_not_repeated_and_the_list_not_touched(self) -> None:
        history = [{"role": "user", "content": "q"}]
        assert messages.begin(history, "q") == history
        assert messages.begin(history, "other") == [*history, {"role": "user", "content": "other"}]
        assert history == [{"role": "user", "content": "q"}]
        assert messages.begin([{"role": "assistant", "content": "q"}], "q")[-1]["role"] == "user"

    def test_half_a_surrogate_pair_in_a_query_is_replaced(self) -> None:
        assert messages.begin([], "a\ud83d")[0]["content"] == "a\ufffd"

    @pytest.mark.parametrize(
        ("history", "complaint"),
        [
            (["text"], r"history\[0\] is not a message"),
            ([{"role": "robot"}], r"history\[0\] is not a message"),
            ([{"role": "tool", "tool_call_id": "x"}], r"history\[0\] answers the call 'x'"),
            ([{"role": "assistant", "tool_calls": [{"id": "x"}]}], "'x' at its end has no answer"),
            (
                [{"role": "assistant", "tool_calls": [{"id": "x"}]}, {"role": "user", "content": "?"}],
                r"history\[1\] comes before the answer to the call 'x'",
            ),
            ([{"role": "assistant", "tool_calls": [{"id": "x"}, {"id": "x"}]}], "without an id of their own"),
            ([{"role": "assistant", "tool_calls": [{}]}], "without an id of their own"),
        ],
    )
    def test_a_history_no_vendor_takes_is_refused_with_the_place(self, history: list[Any], complaint: str) -> None:
        with pytest.raises(ValueError, match=complaint):
            messages.begin(history, "q")


def result(*content: mt.ContentBlock, **fields: Any) -> mt.CallToolResult:
    return mt.CallToolResult(content=list(content), **fields)


def text(value: str) -> mt.TextContent:
    return mt.TextContent(type="text", text=value)


class TestResults:
    DOCUMENT = '<tool_response tool_name="t"><llm_output>hi</llm_output></tool_response>'

    @given(st.text())
    def test_text_of_a_plain_server_is_text_whatever_it_looks_like(self, said: str) -> None:
        for value in (said, self.DOCUMENT):
            read = server_results.read(result(text(value)), "t", speaks_xmcp=False)
            assert read.response.llm_output == value
            assert read.response.display is None
            assert read.document is None

    def test_text_of_an_xmcp_server_is_a_document(self) -> None:
        read = server_results.read(result(text(self.DOCUMENT)), "t", speaks_xmcp=True)
        assert (read.response.llm_output, read.document) == ("hi", self.DOCUMENT)

    @pytest.mark.parametrize(
        ("bad", "kind"),
        [
            (result(text("secret raw")), "NOT_WELL_FORMED"),
            (result(text("<!DOCTYPE secret>" + DOCUMENT)), "DTD"),
            (result(), None),
            (result(mt.ImageContent(type="image", data="", mime_type="image/png"), text(DOCUMENT)), None),
            (result(text(DOCUMENT.replace("<tool_response", '<tool_response version="2.0"'))), "VERSION"),
            (result(text(f'<tool_response tool_name="t"><llm_output/><x:a xmlns:x="y">{"<x:a>" * 500}')), "LIMIT"),
        ],
    )
    def test_a_document_that_cannot_be_read_is_an_error_without_its_text(self, bad: Any, kind: str | None) -> None:
        read = server_results.read(bad, "t", speaks_xmcp=True)
        assert read.response.error is not None
        assert read.response.error.code == "INVALID_XML"
        assert (read.response.error.meta or {}).get("params", {}).get("kind") == kind
        assert read.document is None
        assert "secret" not in read.response.to_xml()

    @pytest.mark.parametrize("is_error", [False, True])
    def test_a_display_that_cannot_be_read_is_dropped_with_a_warning(self, is_error: bool) -> None:
        broken = self.DOCUMENT.replace("</tool_response>", "<display>{oops</display></tool_response>")
        read = server_results.read(result(text(broken), is_error=is_error), "t", speaks_xmcp=True)
        assert (read.response.llm_output, read.response.display) == (None if is_error else "hi", None)
        assert read.response.warnings

    def test_an_error_flag_counts_also_without_an_error_element(self) -> None:
        read = server_results.read(result(text(self.DOCUMENT), is_error=True), "t", speaks_xmcp=True)
        assert read.response.error is not None
        assert (read.response.error.code, read.response.error.message) == ("TOOL_ERROR", "hi")

    @pytest.mark.parametrize(("said", "message"), [("it broke ", "it broke"), (" ", "without saying what")])
    def test_a_plain_servers_error_is_a_tool_error_in_its_words(self, said: str, message: str) -> None:
        read = server_results.read(result(text(said), is_error=True), "t", speaks_xmcp=False)
        assert read.response.error is not None
        assert read.response.error.code == "TOOL_ERROR"
        assert message in read.response.error.message

    ENVELOPE = {"type": "markdown", "payload": "hi"}
    TOLD = {"code": "CONFLICT", "message": "m", "category": "conflict", "retryable": True, "x": 1}

    def plain(self, said: str, *, speaks_xmcp: bool = True, is_error: bool = False, **members: Any) -> Any:
        meta = {RESULT_META_KEY: {"form": "plain"}, **{f"{PREFIX}{name}": value for name, value in members.items()}}
        given = result(text(said), is_error=is_error, _meta=meta)
        return server_results.read(given, "t", speaks_xmcp=speaks_xmcp).response

    def test_a_plain_result_of_an_xmcp_server_has_its_rest_in_the_meta(self) -> None:
        read = self.plain(self.DOCUMENT, display=self.ENVELOPE, server_populated={"values": {"a": 1}})
        assert read.llm_output == self.DOCUMENT
        assert read.display.to_dict() == self.ENVELOPE
        assert read.server_populated == {"values": {"a": 1}}
        failed = self.plain("CONFLICT: m", is_error=True, error=self.TOLD).error
        assert (failed.code, failed.message, failed.retryable, failed.category) == ("CONFLICT", "m", True, "conflict")
        assert self.plain("x", is_error=True, error={"code": "TIMEOUT", "message": "m"}).error.retryable is False

    def test_of_a_server_that_announced_nothing_no_meta_is_read(self) -> None:
        read = self.plain("hi", speaks_xmcp=False, display=self.ENVELOPE, server_populated={"values": {}})
        assert (read.llm_output, read.display, read.server_populated) == ("hi", None, None)
        read = self.plain("it broke", speaks_xmcp=False, is_error=True, error=self.TOLD)
        assert (read.error.code, read.error.message) == ("TOOL_ERROR", "it broke")

    @pytest.mark.parametrize("bad", ["x", None, {}, {"code": "no"}, {"code": 7, "message": "m"}, []])
    def test_members_that_are_not_what_they_say_lose_no_text(self, bad: Any) -> None:
        failed = self.plain("it broke", is_error=True, error=bad)
        assert (failed.error.code, failed.error.message) == ("TOOL_ERROR", "it broke")
        if bad is not None:
            shown = self.plain("hi", display=bad, server_populated=7)
            assert (shown.llm_output, shown.display, shown.server_populated) == ("hi", None, None)
            assert shown.warnings

    @pytest.mark.parametrize("said", [{}, {"message": 7}, {"message": " "}])
    def test_an_error_without_a_message_has_its_code_in_the_place_of_it(self, said: Any) -> None:
        failed = self.plain("it broke", is_error=True, error={"code": "CONFLICT", **said}).error
        assert (failed.code, failed.message) == ("CONFLICT", "CONFLICT")

    def test_what_a_message_cannot_carry_is_mentioned(self) -> None:
        blocks = (
            text("a"),
            mt.ImageContent(type="image", data="AAAA", mime_type="image/png"),
            mt.ResourceLink(type="resource_link", name="r", uri="file:///r"),
            mt.EmbeddedResource(type="resource", resource=mt.TextResourceContents(uri="file:///t", text="inside")),
            mt.EmbeddedResource(type="resource", resource=mt.BlobResourceContents(uri="file:///b", blob="AAAA")),
        )
        read = server_results.read(result(*blocks), "t", speaks_xmcp=False)
        assert read.response.llm_output == "a\n[link to the resource r: file:///r]\ninside\n[resource file:///b]"
        assert [shown.type for shown in read.response.for_person] == ["image"]

    def test_a_result_with_structured_content_only_is_that_as_json(self) -> None:
        read = server_results.read(result(structured_content={"a": "é"}), "t", speaks_xmcp=False)
        assert read.response.llm_output == '{"a":"é"}'
        halved = server_results.read(result(structured_content={"a": "\ud800"}), "t", speaks_xmcp=False)
        assert halved.response.llm_output == '{"a": "\\ud800"}'
        failed = server_results.read(result(structured_content={"row": 3}, is_error=True), "t", speaks_xmcp=False)
        assert failed.response.error is not None
        assert (failed.response.error.message, failed.structured) == ('{"row":3}', None)

    def test_an_unknown_tool_is_answered_with_the_names_there_are_likely_ones_first(self) -> None:
        error = client_made_errors.unknown_tool("serch", ["add", "search"])
        assert error.code == "UNKNOWN_TOOL"
        assert "There are: search, add." in error.message
        assert error.meta is not None
        assert error.meta["params"] == {"names": ["search", "add"]}


class TestEndings:
    @pytest.mark.parametrize(
        ("completion", "reason", "warned"),
        [
            (Completion("hi"), "stop", False),
            (Completion("hi", finish_reason="tool_calls"), "stop", False),
            (Completion("half", finish_reason="length"), "length", True),
            (Completion("", finish_reason="content_filter"), "content_filter", True),
            (Completion(""), "empty", True),
            (Completion(" \n"), "empty", True),
        ],
    )
    def test_an_answer_that_is_not_whole_is_never_silent(
        self, completion: Completion, reason: str, warned: bool
    ) -> None:
        assert (ending(completion)[0], ending(completion)[1] is not None) == (reason, warned)


class TestTargets:
    def test_a_clients_connections_never_share_its_session(self) -> None:
        ready = fastmcp.Client(fastmcp.FastMCP("s"), mode="legacy")

        async def hear(_: Any) -> None:
            """Hears nothing."""

        made = targets.source(ready, 1).client(hear)
        assert made is not ready
        assert made.mode == "legacy"

    @pytest.mark.parametrize(
        ("url", "full"),
        [
            ("http://localhost:3333", "http://localhost:3333/mcp"),
            ("https://h/", "https://h/mcp"),
            ("http://h/mcp/", "http://h/mcp/"),
            ("http://h:1/other?x=1", "http://h:1/other?x=1"),
        ],
    )
    def test_a_url_without_a_path_means_mcp(self, url: str, full: str) -> None:
        assert targets.with_default_path(url) == full

    def test_no_credential_of_a_url_or_a_command_is_in_a_label(self) -> None:
        assert targets.source("http://me:pass@host:1/mcp?token=t", 1).label == "http://host:1/mcp"
        assert targets.source("srv --api-key=k", 1).label == "srv"
        assert targets.source(["python", "srv.py", "--token", "t"], 1).label == "python srv.py"

    @pytest.mark.parametrize(
        ("target", "why"),
        [("", "empty command is not a valid"), ([], "empty command"), ("http://", "no host")],
    )
    def test_what_is_no_server_is_refused(self, target: Any, why: str) -> None:
        with pytest.raises(ValueError, match=why):
            targets.source(target, 1)


class TestWhatNoModelMayWrite:
    """Arguments that a library on the way would break on: refused here, in words of our own."""

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ('{"a":' + "[" * 64 + "]" * 64 + "}", "nested more than 64 levels deep"),
            ('{"a":' * 65 + "1" + "}" * 65, "nested more than 64 levels deep"),
            ('{"a":' + "[" * 900 + "]" * 900 + "}", "nested more than 64 levels deep"),
            ('{"a":' + "[" * 100_000, "nested more than 64 levels deep"),
            ('{"a": 1e999}', "they hold 1e999, which is not a JSON number"),
            ('{"a": [-1e999]}', "they hold -1e999, which is not a JSON number"),
            ('{"a": NaN}', "they hold NaN, which is not a JSON number"),
            ('{"a": -Infinity}', "they hold -Infinity, which is not a JSON number"),
            ('{"a": 1' + "0" * 5_000 + "}", "they hold an integer with too many digits"),
            ('{"a": 1' + "0" * 5_000 + "e999999}", "which is not a JSON number"),
        ],
    )
    def test_they_are_refused_in_fixed_words_with_little_of_what_was_written(self, text: str, said: str) -> None:
        error = parse_arguments(text)
        assert isinstance(error, ErrorInfo)
        assert said in error.message
        assert (error.code, error.meta and error.meta["side_effects"]) == ("VALIDATION_FAIL", "none")
        assert len(error.message) < 700
        for inside in ("recursion", "Exceeds", "limit", "sys.", "Traceback", "int_max_str_digits"):
            assert inside not in error.message

    def test_sixty_four_levels_and_brackets_in_a_text_are_no_depth(self) -> None:
        deep = '{"a":' + "[" * 63 + "]" * 63 + "}"
        assert parse_arguments(deep) == json.loads(deep)
        assert parse_arguments(json.dumps({"a": "[{" * 500})) == {"a": "[{" * 500}
        wide: Any = {"a": [[{}] for _ in range(500)]}
        assert parse_arguments(json.dumps(wide)) == wide

    def test_what_was_written_is_told_back_up_to_two_hundred_characters(self) -> None:
        long, short = parse_arguments("x" * 201), parse_arguments("y" * 200)
        assert isinstance(long, ErrorInfo)
        assert isinstance(short, ErrorInfo)
        assert long.message.endswith("x" * 200 + "\u2026")
        assert "x" * 201 not in long.message
        assert short.message.endswith(" " + "y" * 200)


def said_and_answered(*order: str) -> list[dict[str, Any]]:
    calls = [{"id": id_, "type": "function", "function": {"name": "t", "arguments": "{}"}} for id_ in "abc"]
    return [
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        *({"role": "tool", "tool_call_id": id_, "content": id_.upper()} for id_ in order),
    ]


class TestHistoriesOfOthers:
    def test_answers_in_another_order_are_put_in_the_order_of_their_calls(self) -> None:
        given = [*said_and_answered("c", "a", "b"), *said_and_answered("b", "c", "a")]
        begun = messages.begin(given, "q")
        assert begun[:-1] == [*said_and_answered("a", "b", "c")] * 2
        assert given == [*said_and_answered("c", "a", "b"), *said_and_answered("b", "c", "a")]

    @pytest.mark.parametrize("calls", [7, "abc", True, 1.5])
    def test_calls_that_are_no_list_are_refused_with_the_place(self, calls: Any) -> None:
        history = [{"role": "user", "content": "u"}, {"role": "assistant", "content": "x", "tool_calls": calls}]
        with pytest.raises(ValueError, match=r"history\[1\] has tool_calls that are not a list"):
            messages.begin(history, "q")

    @pytest.mark.parametrize("written", ["", "  ", '{"city": "Par', '"Berlin"', "[1]", "null", '{"a": NaN}'])
    def test_arguments_in_a_history_are_json_objects_whatever_a_model_wrote(self, written: str) -> None:
        (call,) = messages.assistant_message("", [ToolCall("a", "t", written)])["tool_calls"]
        assert json.loads(call["function"]["arguments"]) == {}
        assert messages.assistant_message("", [ToolCall("a", "t", '{"b": 1 }')])["tool_calls"][0]["function"] == {
            "name": "t",
            "arguments": '{"b": 1 }',
        }


class TestIds:
    @given(st.lists(st.text(max_size=60) | st.integers() | st.none(), max_size=6), st.sets(st.text(max_size=3)))
    def test_every_vendor_takes_the_ids_of_a_history(self, given_ids: list[Any], taken: set[str]) -> None:
        calls = unique_ids([ToolCall(id_, "t", "{}") for id_ in given_ids], taken)
        assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,40}", call.id) for call in calls)
        assert len({call.id for call in calls} | taken) == len(calls) + len(taken)

    def test_very_many_equal_ids_are_made_different_without_trying_a_number_twice(self) -> None:
        class Ids(set[str]):
            looked_up = 0

            def __contains__(self, id_: object) -> bool:
                Ids.looked_up += 1
                return super().__contains__(id_)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("xmcp.chat.completions.set", Ids, raising=False)
            calls = unique_ids([ToolCall("x" * 40, "t", "{}")] * 12_000)
        assert Ids.looked_up < 30_000
        assert len({call.id for call in calls}) == 12_000
        assert max(len(call.id) for call in calls) <= 40

    def test_an_id_that_is_good_and_free_stays(self) -> None:
        assert [c.id for c in unique_ids([ToolCall(id_, "t", "{}") for id_ in ("a-1", "x" * 40)])] == ["a-1", "x" * 40]


class TestMoney:
    @pytest.mark.parametrize(
        ("price", "cost"),
        [
            (0.5, 0.5),
            (0, 0.0),
            (Decimal("1.5"), 1.5),
            ("0.25", 0.25),
            (float("nan"), None),
            (Decimal("NaN"), None),
            (float("inf"), None),
            (-1, None),
            (Decimal("-0.01"), None),
            (10**400, None),
            ("free", None),
            ([], None),
            (None, None),
        ],
        ids=str,
    )
    def test_a_price_is_a_number_of_dollars_or_not_known(self, price: Any, cost: float | None) -> None:
        told = record(Completion("hi"), "p", "m", ChatContext("c"), lambda *_: price)["cost_usd"]
        assert (told, type(told)) == (cost, type(cost))

    def test_a_price_list_that_raises_does_not_know_the_price(self) -> None:
        def price(provider: str, model: str, usage: Usage) -> float:
            return {"other": 1.0}[model]

        assert record(Completion("hi"), "p", "m", ChatContext("c"), price)["cost_usd"] is None

    def test_costs_that_are_known_are_added_up(self) -> None:
        prices: list[Any] = [Decimal("1"), 0.5, None, float("nan")]
        total = NOTHING
        for price in prices:
            one = record(Completion("hi"), "p", "m", ChatContext("c"), lambda *_, price=price: price)
            total = add(total, one)
        assert (total["cost_usd"], total["llm_calls"]) == (1.5, 4)


class TestBudgets:
    """`Budgets` hold for everything that a server can say, not only for texts."""

    LARGE = "A" * 300_000
    SMALL = Budgets(display=500, result=500)

    @pytest.mark.parametrize(
        "response",
        [
            ToolResponse("t", "ok", server_populated={"values": {"a": LARGE}}),
            ToolResponse("t", error=ErrorInfo("TOOL_ERROR", "x", meta={"acme/upstream": LARGE})),
            ToolResponse("t", error=ErrorInfo("TOOL_ERROR", LARGE, meta={"acme/upstream": LARGE})),
            ToolResponse("t", LARGE, server_populated={"values": {"a": LARGE}}),
        ],
        ids=["server_populated", "meta", "message and meta", "text and server_populated"],
    )
    @pytest.mark.parametrize("written", [True, False])
    def test_data_beside_the_text_do_not_reach_the_model_beyond_the_budget(
        self, response: ToolResponse, written: bool
    ) -> None:
        seen = for_model(response, response.to_xml() if written else None, self.SMALL)
        assert len(seen) < 2_000
        read = ToolResponse.from_xml(seen)
        assert (read.tool_name, read.server_populated) == ("t", None)
        if response.error is None:
            assert read.truncated
        else:
            assert read.error is not None
            assert (read.error.code, read.error.meta) == ("TOOL_ERROR", None)

    def test_data_within_the_budget_reach_it_as_they_were_written(self) -> None:
        response = ToolResponse("t", "ok", server_populated={"values": {"a": "b"}})
        document = response.to_xml() + "\n"
        assert for_model(response, document, self.SMALL) == document
        assert ToolResponse.from_xml(for_model(response, None, self.SMALL)).server_populated is not None

    def test_an_unknown_name_is_compared_with_so_many_names_and_no_more(self, monkeypatch: pytest.MonkeyPatch) -> None:
        compared: list[int] = []
        similar = client_made_errors._similar

        def counted(name: str, known: Any) -> list[str]:
            compared.append(len(given := list(known)))
            return similar(name, given)

        monkeypatch.setattr(client_made_errors, "_similar", counted)
        names = [f"find_records_{number:04d}" for number in range(4_999)] + ["search"]
        error = client_made_errors.unknown_tool("serch", names)
        assert error.message.startswith("There is no tool named 'serch'. There are: search, find_records_0000, ")
        assert "find_records_0001" in client_made_errors.unknown_tool("find_records_0001x", names).message
        assert max(compared) <= 200
        assert (error.meta or {})["params"]["names"][0] == "search"
        assert len((error.meta or {})["params"]["names"]) == 50


def test_a_password_with_an_at_sign_is_left_out_of_a_url_as_a_whole() -> None:
    assert (
        without_secrets("at http://user:p@ss@host/mcp, and http://host/a@b")
        == "at http://host/mcp, and http://host/a@b"
    )
