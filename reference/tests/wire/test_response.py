"""Responses and errors as values: their defaults and the values that they refuse."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import pytest
from pydantic import ValidationError

from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse
from xmcp_models.registry import ERROR_CODES


@pytest.mark.parametrize("code", ERROR_CODES)
def test_a_registered_code_brings_its_category_and_whether_to_retry(code: str) -> None:
    error = ErrorInfo(code, "m")
    assert (error.category, error.retryable) == (ERROR_CODES[code]["category"], ERROR_CODES[code]["retryable"])


def test_an_alias_counts_as_the_code_it_stands_for() -> None:
    aliases = [(alias, code) for code, row in ERROR_CODES.items() for alias in row.get("aliases", ())]
    assert aliases
    for alias, code in aliases:
        assert dataclasses.replace(ErrorInfo(alias, "m"), code=code) == ErrorInfo(code, "m")


@pytest.mark.parametrize(
    ("given", "category", "retryable"),
    [
        ({"code": "DIV_BY_ZERO"}, "internal", False),
        ({"code": "DIV_BY_ZERO", "category": "timeout"}, "timeout", True),
        ({"code": "DIV_BY_ZERO", "category": "unheard_of"}, "unheard_of", False),
        ({"code": "DIV_BY_ZERO", "retryable": True}, "internal", True),
        ({"code": "DB_TIMEOUT", "retryable": False}, "timeout", False),
        # The code knows better than its category.
        ({"code": "QUOTA_EXCEEDED", "category": "rate_limited"}, "rate_limited", False),
    ],
)
def test_what_an_error_does_not_say_comes_from_the_registry(
    given: dict[str, Any], category: str, retryable: bool
) -> None:
    error = ErrorInfo(message="m", **given)
    assert (error.category, error.retryable) == (category, retryable)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"code": "db timeout"}, ValueError),
        ({"code": ""}, ValueError),
        ({"code": "X" * 64}, ValueError),
        ({"code": None}, TypeError),
        ({"category": "Timeout"}, ValueError),
        ({"retry_after_ms": -1}, ValueError),
        ({"retry_after_ms": 2**53}, ValueError),
        ({"retry_after_ms": 1.5}, TypeError),
        ({"retry_after_ms": True}, TypeError),
        ({"retryable": "false"}, TypeError),
        ({"message": None}, TypeError),
        ({"meta": []}, TypeError),
    ],
)
def test_an_error_that_the_wire_does_not_know_cannot_be_made(given: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind, match=next(iter(given))):
        ErrorInfo(**{"code": "X", "message": "m", **given})


def test_a_display_may_be_given_as_a_mapping() -> None:
    assert ToolResponse("t", display={"type": "text", "payload": "a"}).display == DisplayEnvelope(
        type="text", payload="a"
    )
    with pytest.raises(ValidationError, match="payload must be a string"):
        ToolResponse("t", display={"type": "text", "payload": 1})
    with pytest.raises(TypeError, match="display must be a DisplayEnvelope"):
        ToolResponse("t", display="a")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="error must be an ErrorInfo"):
        ToolResponse("t", error="a")  # type: ignore[arg-type]


def test_a_response_is_its_document_and_back() -> None:
    response = ToolResponse("t", "a", {"type": "text", "payload": "b"}, call_id="c")
    assert ToolResponse.from_xml(response.to_xml()) == response
    assert ToolResponse.from_xml(response.to_xml().encode()) == response
    assert dataclasses.replace(response, tool_name="u").to_xml() == response.to_xml().replace('"t"', '"u"')


def test_the_wire_loads_no_server_no_client_and_no_sdk() -> None:
    code = "import sys, xmcp.wire; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"fastmcp", "mcp", "openai", "lxml", "jsonschema_rs", "asyncio", "xmcp.server", "xmcp.client"}
    assert "xmcp.wire.decoder" in loaded
    assert heavy.isdisjoint(loaded)
