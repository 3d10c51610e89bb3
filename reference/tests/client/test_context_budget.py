"""What the model sees of a response: whole documents within the budgets, references and cut texts above them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.chats import answers_in, chat, events_of
from support.scripted_model import ScriptedModel

from xmcp.client.calls.context_budget import Budgets, cut, fit, for_model, reference, size
from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse, decode, encode


def envelope(payload: str = "hi") -> DisplayEnvelope:
    return DisplayEnvelope(type="markdown", payload=payload, title="T")


def test_a_small_display_goes_to_the_model_as_the_server_wrote_it() -> None:
    assert for_model(ToolResponse("t", display=envelope()), "<as it came/>") == "<as it came/>"


def test_a_large_display_becomes_a_reference_with_type_title_and_size() -> None:
    big = envelope("x" * 5000)
    text = for_model(ToolResponse("t", "words", big), "<as it came/>")
    read = ToolResponse.from_xml(text)
    assert (read.tool_name, read.llm_output) == ("t", "words")
    assert read.display is not None
    assert (read.display.type, read.display.title) == ("x-xmcp-reference", "T")
    assert read.display.payload["type"] == "markdown"
    assert read.display.payload["bytes"] == size(big) > 5000
    assert len(text) < 500


def test_the_display_budget_is_counted_in_bytes_and_includes_its_last_one() -> None:
    display = envelope("é" * 100)
    response = ToolResponse("t", display=display)
    exact = len(json.dumps(display.to_dict(), ensure_ascii=False, separators=(",", ":")).encode())
    assert for_model(response, "whole", Budgets(display=exact)) == "whole"
    assert "x-xmcp-reference" in for_model(response, "whole", Budgets(display=exact - 1))


def test_a_result_above_its_budget_keeps_its_beginning_and_its_end_and_says_what_is_missing() -> None:
    text = "begin " + "x" * 100_000 + " the end"
    read = ToolResponse.from_xml(for_model(ToolResponse("t", text), "<as it came/>", Budgets(result=1000)))
    assert read.truncated
    assert read.llm_output is not None
    assert read.llm_output.startswith("begin x")
    assert read.llm_output.endswith("x the end")
    assert f"{len(text) - 1000} bytes of this result were left out" in read.llm_output
    assert len(read.llm_output) < 1200


def test_a_result_of_exactly_its_budget_is_whole() -> None:
    text = "é" * 500
    assert for_model(ToolResponse("t", text), "whole", Budgets(result=1000)) == "whole"
    assert "left out" in for_model(ToolResponse("t", text), "whole", Budgets(result=999))


def test_the_message_of_an_error_is_bounded_too() -> None:
    error = ErrorInfo("TOOL_ERROR", "why " + "x" * 9000)
    read = ToolResponse.from_xml(for_model(ToolResponse("t", error=error), None, Budgets(result=100)))
    assert read.error is not None
    assert read.error.code == "TOOL_ERROR"
    assert len(read.error.message) < 300


def test_what_a_server_adds_beside_the_known_parts_cannot_exceed_the_budgets_either() -> None:
    document = f'<tool_response tool_name="t"><llm_output>x</llm_output><extra>{"y" * 5000}</extra></tool_response>'
    assert "<extra>" in for_model(ToolResponse("t", "x"), document, Budgets(display=1000, result=2000))
    assert "<extra>" not in for_model(ToolResponse("t", "x"), document, Budgets(display=500, result=1000))


def test_a_reference_goes_without_its_note_where_that_makes_it_fit() -> None:
    display = DisplayEnvelope(type="text", payload="x" * 5_000, title="T" * 100)
    bare = size(reference(display, note=False))
    for budget, sent in ((bare + 500, {"type", "bytes", "note"}), (bare, {"type", "bytes"}), (bare - 1, None)):
        read = decode(for_model(ToolResponse("t", "x", display=display), budgets=Budgets(display=budget)))
        assert (set(read.display.payload) if read.display is not None else None) == sent


@pytest.mark.slow
@given(st.text(min_size=1), st.integers(0, 200))
def test_a_cut_text_has_nothing_that_was_not_in_it_but_the_note(text: str, budget: int) -> None:
    data = text.encode("utf-8", "replace")
    if len(data) <= budget:
        return
    head, _, rest = cut(text, budget).partition("\n[... ")
    tail = rest.partition(" ...]\n")[2]
    whole = data.decode()
    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert len(head.encode()) + len(tail.encode()) <= budget


@pytest.mark.parametrize("text", ["a\ud800" * 600, "😀" * 400])
def test_a_cut_falls_between_characters(text: str) -> None:
    ToolResponse.from_xml(for_model(ToolResponse("t", text), None, Budgets(result=1001)))


def of_a_tool(content: object, **members: object) -> dict[str, object]:
    return {"role": "tool", "tool_call_id": "c", "content": content, **members}


def test_a_large_display_in_a_message_of_the_application_becomes_a_reference_too() -> None:
    big = envelope("x" * 5000)
    given = of_a_tool(ToolResponse("t", "words", big).to_xml(), name="t")
    (message,) = fit([given], 4096)
    assert message == {**given, "content": for_model(ToolResponse("t", "words", big))}
    assert fit([given], size(big)) == [given]
    assert "xxxx" in str(given)


@pytest.mark.parametrize(
    "given",
    [
        of_a_tool(ToolResponse("t", "words", envelope()).to_xml()),
        of_a_tool("<display" + "x" * 5000),
        of_a_tool([{"type": "text", "text": "<display" + "x" * 5000}]),
        {"role": "user", "content": ToolResponse("t", "words", envelope("x" * 5000)).to_xml()},
    ],
)
def test_a_message_of_the_application_without_a_large_display_is_left_alone(given: dict[str, object]) -> None:
    (message,) = fit([given], 4096)
    assert message is given


async def test_a_chat_sends_the_model_no_large_display_of_the_history_it_was_given() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}
    asked = {"role": "assistant", "content": None, "tool_calls": [call]}
    given = [asked, of_a_tool(ToolResponse("t", "words", envelope("x" * 5000)).to_xml())]
    before = json.dumps(given)
    model = ScriptedModel("done")
    done = (await events_of(chat(model, history=given)))[-1]
    sent = list(map(dict, model.requests[0].messages))
    assert answers_in(sent)["c"].display.type == "x-xmcp-reference"  # type: ignore[union-attr]
    assert done.result["history"][:-1] == sent  # type: ignore[union-attr]
    assert json.dumps(given) == before


@pytest.mark.parametrize("text", ["seen", None])
def test_a_display_whose_reference_is_too_large_too_is_left_out(text: str | None) -> None:
    shown = DisplayEnvelope(type="text", title="t" * 150, payload="p" * 300)
    content = for_model(ToolResponse("t", text, display=shown), budgets=Budgets(display=200))
    assert (decode(content).display, decode(content).llm_output) == (None, text or "")
    message = {"role": "tool", "tool_call_id": "c", "content": encode(ToolResponse("t", text, display=shown))}
    (fitted,) = fit([message], 200)
    assert decode(fitted["content"]) == decode(content)
