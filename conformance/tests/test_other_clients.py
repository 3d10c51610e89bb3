"""What clients get that read no documents of this version, beside what a client gets that declares nothing."""

from __future__ import annotations

from typing import Any

import pytest

from xmcp_conformance.profiles.server.checks.input_validation import error_of_invalid_call
from xmcp_conformance.profiles.server.checks.other_clients import no_documents, other_version, shape
from xmcp_conformance.profiles.server.exchange import Exchange, Intent, ToolCall
from xmcp_conformance.reader.checks.error_element import ErrorElement
from xmcp_models.registry import RESULT_META_KEY

DOCUMENT = '<tool_response tool_name="t"><llm_output>a</llm_output></tool_response>'
FORM = {RESULT_META_KEY: {"version": "1.0", "form": "plain"}}


def answered(text: str = "a", *, meta: dict[str, Any] | None = None, **members: Any) -> Exchange:
    result = {"content": [{"type": "text", "text": text}], "_meta": FORM if meta is None else meta, **members}
    return Exchange(ToolCall(None, "t", {}), result=result)


def broken(observations: Any) -> set[str]:
    return {one.requirement for one in observations if not one.ok}


def test_a_document_breaks_the_sentence_of_its_client() -> None:
    plain = shape(answered())
    assert broken(other_version(answered(DOCUMENT), plain)) == {"XMCP-VER-001"}
    assert broken(no_documents(answered(DOCUMENT), plain)) == {"XMCP-MCP-050"}
    assert broken(other_version(answered("another text"), plain)) == set()
    assert broken(no_documents(answered("another text"), plain)) == set()


def test_a_text_of_the_tool_that_looks_like_a_document_breaks_nothing() -> None:
    plain = shape(answered(DOCUMENT))
    assert [*other_version(answered(DOCUMENT), plain)] == [*no_documents(answered(DOCUMENT), plain)] == []


@pytest.mark.parametrize("members", [{"meta": {}}, {"structuredContent": {"a": 1}}])
def test_another_version_is_answered_as_who_declared_nothing(members: dict[str, Any]) -> None:
    assert broken(other_version(answered(**members), shape(answered()))) == {"XMCP-VER-002"}
    assert broken(other_version(answered(**members), shape(answered(**members)))) == set()
    assert broken(other_version(answered(**members), None)) == set()
    assert broken(other_version(answered(isError=True, **members), shape(answered()))) == set()


def test_the_policy_for_what_only_the_server_fills_in_comes_before_the_arguments() -> None:
    attributes = {"code": "FORBIDDEN_PARAM_OVERRIDE"}
    refused = ErrorElement.of(attributes, "no", None, has_meta=False, meta_reads=True)
    for forged, expected in ((("user",), set()), ((), {"XMCP-ERR-020"})):
        call = ToolCall(None, "t", {"user": "u", "n": "x"}, Intent.INVALID, ("/n",), "a wrong type", forged=forged)
        assert broken(error_of_invalid_call(call, refused)) == expected
