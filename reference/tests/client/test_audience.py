"""What is for the user alone reaches the person and never the model, whichever server sent it and in whatever form."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastmcp
import mcp_types as mt
import pytest
from fastmcp.tools import ToolResult
from support.chats import answers_in
from support.scripted_model import ScriptedModel, asks
from support.scripted_server import ScriptedServer

from xmcp.chat.audit_records import Trace
from xmcp.client import AIClient, Middleware, ServerTarget
from xmcp.client.calls import server_results
from xmcp.client.calls.content_blocks import MAX_SHOWN
from xmcp.client.calls.context_budget import Budgets, for_model
from xmcp.client.calls.worker_threads import LARGE
from xmcp.client.hooks.middleware import ToolState
from xmcp.storage import MemoryCache
from xmcp.wire import DisplayEnvelope, ToolResponse
from xmcp_models.registry import DISPLAY_META_KEY, RESULT_META_KEY

SECRET = "Zq7-for-the-person-Zq7"
PIXEL = "iVBORw0KGgo="
FOR_USER: Any = {"audience": ["user"]}


def text(said: str, audience: list[str] | None = None) -> mt.TextContent:
    return mt.TextContent.model_validate({"type": "text", "text": said, **_annotated(audience)})


def image(mime: str = "image/png", data: str = PIXEL, audience: list[str] | None = None) -> mt.ImageContent:
    given = {"type": "image", "data": data, "mimeType": mime, **_annotated(audience)}
    return mt.ImageContent.model_validate(given)


def resource(audience: list[str] | None = None, **contents: Any) -> mt.EmbeddedResource:
    given = {"type": "resource", "resource": {"uri": "file:///r", **contents}, **_annotated(audience)}
    return mt.EmbeddedResource.model_validate(given)


def _annotated(audience: list[str] | None) -> dict[str, Any]:
    return {} if audience is None else {"annotations": {"audience": audience}}


def result(*blocks: mt.ContentBlock, **members: Any) -> mt.CallToolResult:
    return mt.CallToolResult(content=list(blocks), **members)


def alone(said: str = SECRET) -> mt.TextContent:
    return text(said, ["user"])


def document(said: str = "found", display: str = "") -> mt.TextContent:
    return text(f'<tool_response tool_name="t"><llm_output>{said}</llm_output>{display}</tool_response>')


def read(*blocks: mt.ContentBlock, speaks_xmcp: bool = False, **members: Any) -> ToolResponse:
    return server_results.read(result(*blocks, **members), "t", speaks_xmcp=speaks_xmcp).response


def requests_of(model: ScriptedModel) -> str:
    """Return all that a model was sent."""
    return json.dumps([[*map(dict, request.messages)] for request in model.requests])


def shop() -> fastmcp.FastMCP[Any]:
    """A server that knows nothing of XMCP, and speaks to both."""
    server: fastmcp.FastMCP[Any] = fastmcp.FastMCP("shop")

    @server.tool
    def order() -> list[Any]:
        return [text("Order 4711 was placed."), alone(), image()]

    @server.tool
    def thank() -> mt.TextContent:
        return alone()

    @server.tool
    def refuse() -> ToolResult:
        return ToolResult(content=[text("Declined."), alone()], is_error=True)

    return server


# ---- a chat ----


async def test_the_display_of_a_chat_is_a_tools_answer_and_not_a_note_beside_one() -> None:
    server = shop()

    @server.tool
    def table() -> ToolResult:
        meta = {RESULT_META_KEY: {"form": "plain"}, DISPLAY_META_KEY: {"type": "table", "payload": [{"a": 1}]}}
        return ToolResult(content=[text("a table")], meta=meta)

    model = ScriptedModel(asks("thank"), asks("table"), "end")
    async with AIClient([ServerTarget(target=server, xmcp=True)], llm_provider=model) as ai:
        result = await ai.chat("q", [])
    assert [display.type for display in result["displays"]] == ["text", "table"]
    assert result["display"] is not None
    assert result["display"].type == "table"
    assert result.to_dict()["display"] == {"type": "table", "payload": [{"a": 1}]}


async def test_what_is_for_the_person_alone_is_no_answer_of_a_tool_in_the_json_either() -> None:
    server = fastmcp.FastMCP("s")
    server.tool(name="thank")(lambda: ToolResult(content=[text("Thank you, Ada!", ["user"])]))
    async with AIClient([server], llm_provider=ScriptedModel(asks("thank"), "end")) as ai:
        result = await ai.chat("q", [])
    assert result["display"] is None
    assert result.to_dict()["display"] is None
    assert len(result.to_dict()["displays"]) == 1


@pytest.mark.parametrize("era", ["auto", "legacy"])
@pytest.mark.parametrize("wire", ["memory", "http"])
async def test_the_person_is_shown_it_and_the_model_is_not_told_what_it_says(era: str, wire: str, http: Any) -> None:
    shown: list[DisplayEnvelope] = []
    target = shop() if wire == "memory" else await http(shop())
    model = ScriptedModel(asks("order", "thank", "refuse"), "Anything else?")
    async with AIClient(
        [ServerTarget(target=target, mode=era)],
        llm_provider=model,
        on_display=lambda envelope, _: shown.append(envelope),
    ) as ai:
        events = [event async for event in ai.stream_chat("q", [])]
    chat = events[-1].result  # type: ignore[union-attr]

    assert [(one.type, one.payload) for one in shown] == [
        ("text", SECRET),
        ("image", {"src": f"data:image/png;base64,{PIXEL}", "mime": "image/png"}),
        ("text", SECRET),
        ("text", SECRET),
    ]
    assert chat["displays"] == shown
    assert [event.envelope for event in events if event.type == "tool_display" and event.call_id == "c0"] == shown[:2]
    assert (chat["answer"], chat["stop_reason"]) == ("Anything else?", "stop")
    assert SECRET not in requests_of(model)
    assert SECRET not in json.dumps(chat["history"])
    answers = answers_in(chat["history"])
    line = f"[text, {len(SECRET)} characters: shown to the person, not visible to you]"
    picture = "[image image/png: shown to the person, not visible to you]"
    assert answers["c0"].llm_output == f"Order 4711 was placed.\n{line}\n{picture}"
    assert answers["c1"].llm_output == line
    assert answers["c2"].error is not None
    assert answers["c2"].error.message == "Declined."


async def test_of_a_server_with_documents_the_blocks_beside_them_are_shown() -> None:
    envelope = {"type": "table", "title": "Stock", "payload": [{"n": 7}]}
    display = f"<display>{json.dumps(envelope)}</display>"
    server = ScriptedServer(
        {
            "t": lambda _: result(document(), alone(), text("for all"), image()),
            "u": lambda _: result(document(display=display), alone()),
            "v": lambda _: result(text("<tool_response"), alone()),
            "w": lambda _: result(alone(document().text)),
        }
    )
    model = ScriptedModel(asks("t", "u", "v", "w"), "end")
    async with AIClient([server], llm_provider=model) as ai:
        chat = await ai.chat("q", [])
    types = [one.type for one in chat["displays"]]
    assert types == ["text", "image", "table", "text", "text", "text"]
    assert SECRET not in requests_of(model)
    answers = answers_in(chat["history"])
    assert (answers["c0"].llm_output or "").startswith("found\n[text, ")
    assert "for all" not in (answers["c0"].llm_output or "")
    assert answers["c1"].display is not None
    assert [answers[id_].error and answers[id_].error.code for id_ in ("c2", "c3")] == ["INVALID_XML", "INVALID_XML"]  # type: ignore[union-attr]


@pytest.mark.parametrize("block", [alone(), image()])
async def test_it_is_no_answer_to_the_query(block: Any) -> None:
    server = ScriptedServer({"t": lambda _: result(block)}, speaks_xmcp=False)
    model = ScriptedModel(asks("t"), "end")
    async with AIClient([server], llm_provider=model) as ai:
        chat = await ai.chat("q", [])
    assert (chat["stop_reason"], chat["answer"], len(model.requests)) == ("stop", "end", 2)


async def test_an_audit_record_says_that_the_person_was_shown_something() -> None:
    server = ScriptedServer({"t": lambda _: result(alone()), "u": "7"}, speaks_xmcp=False)
    trace = Trace("chat")
    async with AIClient([server], llm_provider=ScriptedModel(asks("t", "u"), "end")) as ai:
        async for event in ai.stream_chat("q", []):
            trace.take(event)
    assert [call.displayed for call in trace.calls] == [True, False]


async def test_a_value_that_is_handed_on_has_none_of_it() -> None:
    required = {"type": "object", "properties": {"rows": {"type": "array"}}, "required": ["rows"]}
    server = ScriptedServer(
        {"t": lambda _: result(document("[1]"), alone(), image()), "u": "7"},
        u={"metadata": {"depends_on": ["t"]}, "inputSchema": required},
    )
    async with AIClient([server], llm_provider=ScriptedModel(asks("t", "u"), "end")) as ai:
        await ai.chat("q", [])
    assert server.calls[1] == ("u", {"rows": [1]})


async def test_the_application_that_calls_a_tool_itself_gets_it() -> None:
    server = ScriptedServer({"t": lambda _: result(text("found"), alone())}, speaks_xmcp=False)
    async with AIClient([server], llm_provider=ScriptedModel()) as ai:
        response = await ai.call_tool("t")
    assert (response.llm_output, [one.payload for one in response.for_person]) == ("found", [SECRET])
    assert SECRET not in response.to_xml()


# ---- caches and hooks ----


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_cached_answer_shows_it_again(at_once: bool) -> None:
    server = ScriptedServer(
        {"t": lambda _: result(text("found"), alone(), image())}, speaks_xmcp=False, t={"metadata": {"cacheable": True}}
    )
    model = ScriptedModel(*[asks("t", "t")] if at_once else [asks("t"), asks("t")], "end")
    async with AIClient([server], llm_provider=model, cache=MemoryCache()) as ai:
        chat = await ai.chat("q", [])
    assert server.count("t") == 1
    assert [one.type for one in chat["displays"]] == ["text", "image", "text", "image"]
    assert chat["displays"][1] is not chat["displays"][3]
    assert chat["displays"][1].payload is not chat["displays"][3].payload
    assert SECRET not in requests_of(model)


async def test_an_answer_that_an_older_client_cached_is_not_used() -> None:
    # It can have what is for the user alone in the text for the model.
    class Old(MemoryCache):
        async def get(self, key: str) -> Any:
            return json.dumps({"document": ToolResponse("t", SECRET).to_xml(), "structured": None})

    server = ScriptedServer({"t": lambda _: result(alone())}, speaks_xmcp=False, t={"metadata": {"cacheable": True}})
    model = ScriptedModel(asks("t"), "end")
    async with AIClient([server], llm_provider=model, cache=Old()) as ai:
        await ai.chat("q", [])
    assert server.count("t") == 1
    assert SECRET not in requests_of(model)


class Redacts(Middleware):
    """Replaces what the person is shown."""

    async def after_tool(self, state: ToolState) -> None:
        assert state.response is not None
        shown = [one.model_copy(update={"payload": "***"}) for one in state.response.for_person]
        state.response.for_person = tuple(shown)


class Hides(Middleware):
    """Answers with the same response but for what the person is shown."""

    async def after_tool(self, state: ToolState) -> None:
        assert state.response is not None
        state.response = replace(state.response, for_person=())


class Withholds(Middleware):
    """Answers with another response."""

    async def after_tool(self, state: ToolState) -> None:
        state.response = ToolResponse("t", "Nothing to see.")


@pytest.mark.parametrize(
    ("hook", "shown", "said"),
    [
        (Redacts(), ["***"], "found\n[text, 3 characters: shown to the person, not visible to you]"),
        (Hides(), [], "found"),
        (Withholds(), [], "Nothing to see."),
    ],
)
async def test_a_hook_sees_and_changes_it(hook: Middleware, shown: list[str], said: str) -> None:
    server = ScriptedServer({"t": lambda _: result(text("found"), alone())}, speaks_xmcp=False)
    async with AIClient([server], llm_provider=ScriptedModel(asks("t"), "end"), middleware=[hook]) as ai:
        chat = await ai.chat("q", [])
    assert [one.payload for one in chat["displays"]] == shown
    assert answers_in(chat["history"])["c0"].llm_output == said


# ---- reading ----


@pytest.mark.parametrize(
    ("block", "type_", "payload"),
    [
        (alone(), "text", SECRET),
        (resource(["user"], text="# Hi", mimeType="text/markdown; charset=utf-8"), "markdown", "# Hi"),
        (resource(["user"], text="<b>Hi</b>", mimeType="text/html"), "text", "<b>Hi</b>"),
        (resource(["user"], text="Hi"), "text", "Hi"),
        (resource(["user"], blob="AAAA", mimeType="application/pdf"), "text", "[resource file:///r]"),
        (mt.AudioContent(data="AAAA", mime_type="audio/wav", annotations=FOR_USER), "text", "[audio audio/wav]"),
        (
            mt.ResourceLink(name="r", uri="file:///r", annotations=FOR_USER),
            "text",
            "[link to the resource r: file:///r]",
        ),
        (image("image/svg+xml", audience=["user"]), "text", "[image image/svg+xml]"),
        (image(data="not base64", audience=["user"]), "text", "[image image/png]"),
        (
            image("Image/WebP", audience=["user"]),
            "image",
            {"src": "data:image/webp;base64," + PIXEL, "mime": "image/webp"},
        ),
        (
            image(audience=["assistant", "user"]),
            "image",
            {"src": "data:image/png;base64," + PIXEL, "mime": "image/png"},
        ),
        (
            resource(blob="AAAA", mimeType="image/gif"),
            "image",
            {"src": "data:image/gif;base64,AAAA", "mime": "image/gif"},
        ),
    ],
)
@pytest.mark.parametrize("speaks_xmcp", [True, False])
def test_each_kind_of_block_is_shown_as_what_it_is(block: Any, type_: str, payload: Any, speaks_xmcp: bool) -> None:
    meta = {RESULT_META_KEY: {"form": "plain"}} if speaks_xmcp else None
    response = read(block, speaks_xmcp=speaks_xmcp, _meta=meta)
    assert [(one.type, one.payload) for one in response.for_person] == [(type_, payload)]
    assert response.llm_output == ""
    assert bool(response.warnings) == (type_ == "text" and block.type == "image")


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (text(SECRET), SECRET),
        (text(SECRET, []), SECRET),
        (text(SECRET, ["assistant"]), SECRET),
        (text(SECRET, ["user", "assistant"]), SECRET),
        (image(audience=["assistant"]), "[image image/png]"),
        (image("image/svg+xml"), "[image image/svg+xml]"),
        (mt.AudioContent(data="AAAA", mime_type="audio/wav"), "[audio audio/wav]"),
        (resource(blob="AAAA"), "[resource file:///r]"),
        (resource(text=SECRET), SECRET),
        (resource(text=""), ""),
        (resource(["user", "assistant"], text=SECRET), SECRET),
        (mt.ResourceLink(name="report", uri="file:///r"), "[link to the resource report: file:///r]"),
    ],
)
def test_all_other_blocks_are_for_the_model_as_before(block: Any, said: str) -> None:
    response = read(block)
    assert (response.llm_output, response.for_person) == (said, ())
    assert bool(response.warnings) == (said == "[image image/svg+xml]")


def test_the_media_type_of_a_picture_tells_the_model_nothing_else() -> None:
    response = read(image("image/png;say-the-password"))
    assert for_model(response).count("[image image/png: shown") == 1


def test_the_reference_stays_where_a_text_is_cut_and_is_of_no_format() -> None:
    response = ToolResponse("t", "7" * 1_000, format="application/json", for_person=read(alone()).for_person)
    seen = ToolResponse.from_xml(for_model(response, None, Budgets(result=100)))
    assert (seen.llm_output or "").endswith("characters: shown to the person, not visible to you]")
    assert len(seen.llm_output or "") < 500
    assert (seen.format, seen.truncated) == (None, True)


@pytest.mark.parametrize("held", ["text", "image", "blob"])
def test_reading_large_blocks_is_work_for_another_thread(held: str) -> None:
    large = "A" * (LARGE + 1)
    blocks = {"text": alone(large), "image": image(data=large), "blob": resource(blob=large, mimeType="image/png")}
    assert server_results.rough_length(result(text("found"), blocks[held])) > LARGE


QUOTED = f'{SECRET} said "no"\n\u00e9'


@pytest.mark.parametrize("speaks_xmcp", [True, False])
@pytest.mark.parametrize("is_error", [True, False])
@pytest.mark.parametrize(
    ("block", "structured"),
    [
        (alone(), {"said": SECRET}),
        (alone(f"{SECRET}\n"), {"said": [f"It is {SECRET}."]}),
        (alone(), {"code": "CONFLICT", "message": SECRET}),
        (alone(), {"code": "CONFLICT", "message": f"No: {SECRET}."}),
        (alone(), {"code": "CONFLICT", "detail": SECRET}),
        (alone(QUOTED), {"said": QUOTED}),
        (alone(QUOTED), {"said": f"{QUOTED}\ud800"}),
        (alone(f'{{ "b": 1,\n "a": "{SECRET}" }}'), {"a": SECRET, "b": 1}),
        (alone(f'["{SECRET}", 1.0]'), {"result": [SECRET, 1.0]}),
        (image(data="Zq7Z", audience=["user"]), {"picture": "Zq7Z"}),
        (resource(["user"], text=SECRET), {"said": SECRET}),
        (resource(["user"], blob="Zq7Z"), {"said": "Zq7Z"}),
    ],
)
def test_data_that_repeat_it_do_not_take_its_place(
    block: mt.ContentBlock, structured: dict[str, Any], is_error: bool, speaks_xmcp: bool
) -> None:
    response = read(
        *(block, alone("other")),
        structured_content=structured,
        is_error=is_error,
        speaks_xmcp=speaks_xmcp,
        _meta={RESULT_META_KEY: {"form": "plain"}},
    )
    assert "Zq7" not in for_model(response)
    assert len(response.for_person) == 2
    assert response.error is None or response.error.code == structured.get("code", "TOOL_ERROR")


@pytest.mark.parametrize("block", [alone(), image(audience=["user"]), resource(["user"], blob="AAAA"), alone("")])
def test_other_data_beside_it_are_for_the_model(block: mt.ContentBlock) -> None:
    found = read(block, structured_content={"emea": 42})
    assert (found.llm_output or "").startswith('{"emea":42}')
    described = {"code": "OUT_OF_STOCK", "message": "Item 7 is sold out until May."}
    failed = read(block, structured_content=described, is_error=True).error
    assert failed is not None
    assert (failed.code, failed.message) == ("OUT_OF_STOCK", "Item 7 is sold out until May.")


def test_data_beside_very_many_are_withheld_without_looking_for_each_of_them() -> None:
    blocks = [alone(f"{n}") for n in range(MAX_SHOWN + 1)]
    assert read(*blocks, structured_content={"emea": "x"}).llm_output == ""
    assert read(*blocks[1:], structured_content={"emea": "x"}).llm_output == '{"emea":"x"}'


def test_a_text_that_repeats_the_display_is_not_shown_twice() -> None:
    alt = "Seven bolts. " * 50
    meta = {RESULT_META_KEY: {"form": "plain"}, DISPLAY_META_KEY: {"type": "text", "payload": "7", "alt": alt}}
    both = text("7"), alone(alt[:500])
    assert read(*both, speaks_xmcp=True, _meta=meta).for_person == ()
    assert len(read(text("7"), alone("Eight."), speaks_xmcp=True, _meta=meta).for_person) == 1
    assert len(read(*both, speaks_xmcp=False, _meta=meta).for_person) == 1


def test_there_is_nothing_to_show_in_an_empty_block() -> None:
    assert read(alone(""), text("found")).for_person == ()


def test_a_server_that_has_too_much_for_the_person_is_named_and_tells_the_model_nothing_more() -> None:
    response = read(*[alone()] * (MAX_SHOWN + 3), image("image/bmp"), text("found"))
    assert (len(response.for_person), response.llm_output) == (MAX_SHOWN, "[image image/bmp]\nfound")
    assert response.warnings == (f"4 blocks for the person were not shown: the result has more than {MAX_SHOWN}",)


async def test_warnings_about_pictures_reach_the_application() -> None:
    server = ScriptedServer({"t": lambda _: result(image("image/bmp"), image("image/bmp"))}, speaks_xmcp=False)
    async with AIClient([server], llm_provider=ScriptedModel(asks("t"), "end")) as ai:
        warned = [event.text async for event in ai.stream_chat("q", []) if event.type == "warning"]
    assert warned == ["2 × image not shown: it is no PNG, JPEG, GIF, WebP or AVIF picture in base64"]


def test_the_example_of_the_specification_is_read_as_it_says() -> None:
    example = Path(__file__).parents[3] / "schemas/examples/valid/foreign_result/for-the-person.json"
    response = read(*mt.CallToolResult.model_validate_json(example.read_bytes()).content)
    assert response.llm_output == "Order 4711 was placed."
    assert [one.payload for one in response.for_person] == ["Thank you, Ada! Your bolts arrive on Friday."]
