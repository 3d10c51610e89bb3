"""What the model sees of a response: whole documents within the budgets, references and cut texts above them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmcp.client.calls.context_budget import Budgets, cut, for_model, size
from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse


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
