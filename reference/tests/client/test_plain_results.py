"""What the client reads in a plain result of an XMCP server besides its text (spec section 6.3)."""

from __future__ import annotations

from typing import Any

import pytest
from fastmcp import Client
from mcp_types import CallToolResult, TextContent
from support.http_host import hosted
from support.scripted_model import ScriptedModel, asks

from xmcp import XMCP, AIClient
from xmcp.client.calls import server_results
from xmcp_models.registry import DISPLAY_META_KEY, ERROR_META_KEY, POPULATED_META_KEY, RESULT_META_KEY

JSON = "application/json"


def plain(*texts: str, speaks_xmcp: bool = True, told: str = "", data: Any = None, **mark: Any) -> Any:
    blocks = [TextContent(type="text", text=text) for text in texts]
    if told:
        blocks.append(TextContent(type="text", text=told, _meta={POPULATED_META_KEY: True}))
    meta = {RESULT_META_KEY: {"version": "1.0", "form": "plain", **mark}, POPULATED_META_KEY: {"values": {"a": 1}}}
    result = CallToolResult(content=blocks, structured_content=data, _meta=meta)
    return server_results.read(result, "t", speaks_xmcp=speaks_xmcp)


def test_what_the_server_filled_in_is_read_once() -> None:
    read = plain("seen", told="Filled in: a = 1.").response
    assert (read.llm_output, read.server_populated) == ("seen", {"values": {"a": 1}})
    assert plain("seen", told="Filled in", speaks_xmcp=False).response.llm_output == "seen\nFilled in"


@pytest.mark.parametrize("texts", [[], [""]])
def test_beside_a_display_an_empty_text_counts_as_none(texts: list[str]) -> None:
    blocks = [TextContent(type="text", text=text) for text in texts]
    meta = {RESULT_META_KEY: {"version": "1.0", "form": "plain"}, DISPLAY_META_KEY: {"type": "text", "payload": "seen"}}
    result = CallToolResult(content=[*blocks], _meta=meta)
    shown = server_results.read(result, "t", speaks_xmcp=True).response
    assert shown.display is not None
    assert shown.llm_output is None
    assert plain(*texts).response.llm_output == ""


@pytest.mark.parametrize(
    ("texts", "mark", "data", "expected"),
    [
        (['{"a":1}'], {"format": JSON}, None, {"a": 1}),
        (['{"a":1}'], {"format": JSON}, {"b": 2}, {"b": 2}),
        (['{"a":1}'], {}, None, None),
        (["[1]"], {"format": JSON}, None, None),
        (['{"a":NaN}'], {"format": JSON}, None, None),
        (['{"a":1}', "and words"], {"format": JSON}, None, None),
        ([], {"format": JSON}, None, None),
        (["{" * 5_000], {"format": JSON}, None, None),
    ],
)
def test_an_object_in_a_text_that_is_json_is_its_data(texts: list[str], mark: Any, data: Any, expected: Any) -> None:
    assert plain(*texts, data=data, **mark).structured == expected
    assert plain(*texts, data=data, speaks_xmcp=False, **mark).structured == data


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_result_is_handed_on_though_the_server_knows_nothing_of_its_client(mode: str) -> None:
    mcp = XMCP("stateless")

    @mcp.tool
    def first():  # type: ignore[no-untyped-def]
        return {"number": 7}

    @mcp.tool(depends_on=["first"])
    def second(number: int) -> str:
        return f"got {number}"

    model = ScriptedModel(asks("first", "second"), "end")
    async with (
        hosted(mcp.http_app(), drain=1) as url,
        AIClient([Client(f"{url}/mcp", mode=mode)], llm_provider=model) as ai,
    ):
        await ai.chat("q", [])
    told = [message["content"] for message in model.requests[1].messages if message["role"] == "tool"]
    assert "got 7" in told[1]


ERROR = {"code": "NOT_FOUND", "message": "There is none.", "retryable": False, "category": "not_found"}


@pytest.mark.parametrize("is_error", [True, False])
@pytest.mark.parametrize(
    ("error", "expected", "text"), [(ERROR, "NOT_FOUND", None), ({"code": 7}, None, "seen"), (None, None, "seen")]
)
def test_a_failure_is_one_by_either_sign(is_error: bool, error: Any, expected: Any, text: Any) -> None:
    meta = {RESULT_META_KEY: {"version": "1.0", "form": "plain"}, **({ERROR_META_KEY: error} if error else {})}
    result = CallToolResult(content=[TextContent(type="text", text="seen")], is_error=is_error, _meta=meta)
    read = server_results.read(result, "t", speaks_xmcp=True)
    code = expected or ("TOOL_ERROR" if is_error else None)
    assert (read.response.error and read.response.error.code) == code
    assert read.response.llm_output == (text if code is None else None)
    assert bool(read.response.warnings) == (error is not None and expected is None)


@pytest.mark.parametrize("said", ["", " \n", None, 7])
def test_an_error_without_words_has_its_code_in_their_place(said: Any) -> None:
    meta = {RESULT_META_KEY: {"version": "1.0", "form": "plain"}, ERROR_META_KEY: {**ERROR, "message": said}}
    read = server_results.read(CallToolResult(content=[], is_error=True, _meta=meta), "t", speaks_xmcp=True)
    assert read.response.error is not None
    assert (read.response.error.code, read.response.error.message) == ("NOT_FOUND", "NOT_FOUND")


def told(**members: Any) -> Any:
    meta = {RESULT_META_KEY: {"version": "1.0", "form": "plain"}, **members}
    return server_results.read(
        CallToolResult(content=[TextContent(type="text", text="seen")], _meta=meta), "t", speaks_xmcp=True
    ).response


def test_of_the_meta_of_an_error_only_what_no_document_can_hold_is_left_out() -> None:
    deep: Any = {}
    for _ in range(80):
        deep = {"a": deep}
    error = told(**{ERROR_META_KEY: {**ERROR, "meta": {"error_id": "e1", "params": deep}}}).error
    assert (error.code, dict(error.meta)) == ("NOT_FOUND", {"error_id": "e1"})


def test_a_code_alone_is_an_error() -> None:
    error = told(**{ERROR_META_KEY: {"code": "NOT_FOUND"}}).error
    assert (error.code, error.message, error.retryable, error.category) == (
        "NOT_FOUND",
        "NOT_FOUND",
        False,
        "not_found",
    )


@pytest.mark.parametrize(
    "wrong",
    [
        *({"retryable": "yes"}, {"retry_after_ms": "soon"}, {"retry_after_ms": -1}, {"retry_after_ms": 5}),
        *({"category": 7}, {"category": "internal"}, {"meta": 7}),
    ],
)
def test_a_member_of_an_error_that_is_wrong_counts_as_absent(wrong: Any) -> None:
    assert told(**{ERROR_META_KEY: {**ERROR, **wrong}}).error == told(**{ERROR_META_KEY: ERROR}).error


@pytest.mark.parametrize("error", ["NOT_FOUND", {"code": "not found", "message": "There is none."}, {"message": "m"}])
def test_an_error_without_a_code_counts_as_absent(error: Any) -> None:
    read = told(**{ERROR_META_KEY: error})
    assert (read.error, read.llm_output, len(read.warnings)) == (None, "seen", 1)


@pytest.mark.parametrize("filled", [["a"], "a", 7])
def test_what_the_server_filled_in_is_dropped_with_a_warning_where_it_is_no_object(filled: Any) -> None:
    read = told(**{POPULATED_META_KEY: filled})
    assert (read.server_populated, read.llm_output, len(read.warnings)) == (None, "seen", 1)


def test_a_text_that_has_lost_characters_says_so_as_the_message_of_a_failure_too() -> None:
    document = '<tool_response tool_name="t"><llm_output lossy="true">Only five \ufffd.</llm_output></tool_response>'
    failed = CallToolResult(content=[TextContent(type="text", text=document)], is_error=True)
    response = server_results.read(failed, "t", speaks_xmcp=True).response
    assert response.error is not None
    assert (response.error.message, response.lossy) == ("Only five \ufffd.", True)


@pytest.mark.parametrize("wrong", [{"x_acme": 1}, {"cause": 7}, {"fields": "none"}, {"error_id": None}])
def test_a_member_of_the_meta_of_an_error_that_is_wrong_counts_as_absent(wrong: dict[str, Any]) -> None:
    error = {"code": "X_ODD", "message": "odd", "retryable": False, "meta": {"side_effects": "none", **wrong}}
    meta = {RESULT_META_KEY: {"version": "1.0", "form": "plain"}, ERROR_META_KEY: error}
    result = CallToolResult(content=[], is_error=True, _meta=meta)
    read = server_results.read(result, "t", speaks_xmcp=True).response
    assert read.error is not None
    assert read.error.meta == {"side_effects": "none"}
