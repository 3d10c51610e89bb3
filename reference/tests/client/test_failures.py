"""The table of the errors that the client makes: each row has its function, and no error is made elsewhere."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest

import xmcp
from xmcp.chat import failures
from xmcp.wire import ErrorInfo
from xmcp_models.registry import ERROR_CODES

MADE: dict[str, list[ErrorInfo]] = {
    "unknown_tool": [failures.unknown_tool("serch", ["search"]), failures.unknown_tool("x", [])],
    "unusable_arguments": [failures.unusable_arguments("not_json", "they are not", "{")],
    "missing_text": [failures.missing_text("thought")],
    "failed_dependency": [failures.failed_dependency("a")],
    "unfit_result": [failures.unfit_result("a", "p", [{"pointer": "/p", "reason": "r", "message": "m"}])],
    "not_approved": [failures.not_approved(), failures.not_approved("No {braces} are filled in.")],
    "missing_app_parameter": [failures.missing_app_parameter("p")],
    "quota_used_up": [failures.quota_used_up(None), failures.quota_used_up("tokens")],
    "circuit_open": [failures.circuit_open("s", 0.0001), failures.circuit_open("s", 30)],
    "not_sendable": [failures.not_sendable()],
    "crashed_before_the_call": [failures.crashed("e")],
    "crashed": [failures.crashed("e", sent=True)],
    "timed_out": [failures.timed_out(1.5)],
    "chat_timed_out": [failures.chat_timed_out()],
    "request_timed_out": [failures.request_timed_out("s", 5)],
    "cancelled": [failures.cancelled()],
    "not_ended": [failures.not_ended()],
    "connection_lost": [failures.connection_lost("s", sent=True)],
    "connection_refused": [failures.connection_lost("s", sent=False)],
    "tool_client_failed": [failures.tool_client_failed("s")],
    "tool_failed": [failures.tool_failed(" "), failures.refused_by_server(""), failures.tool_failed("{x}")],
    "unreadable_answer": [failures.unreadable_answer()],
    "no_document": [failures.no_document()],
    "unreadable_document": [failures.unreadable_document("LIMIT", 1, 2)],
    "chat_quota_used_up": [failures.chat_quota_used_up("No.")],
    "chat_crashed": [failures.chat_crashed("ValueError")],
    "chat_cancelled": [failures.chat_cancelled()],
    "unrecorded": [failures.unrecorded()],
}

ELSEWHERE = {
    ("chat/errors.py", "to_error_info"): "what a vendor reports, by its category",
    ("client/calls/results.py", "_read_members"): "what a server wrote into `_meta`",
}


def test_every_row_is_filled_by_a_function_and_has_a_registered_code() -> None:
    assert set(MADE) == set(failures.TABLE)
    assert {row.code for row in failures.TABLE.values()} <= set(ERROR_CODES)
    public = {name for name, _ in inspect.getmembers(failures, inspect.isfunction) if not name.startswith("_")}
    assert public - {"dataclass"} == set(MADE) - {"connection_refused", "crashed_before_the_call"} | {
        "refused_by_server"
    }


@pytest.mark.parametrize("row", MADE)
def test_an_error_says_what_its_row_says(row: str) -> None:
    for error in MADE[row]:
        assert error.code == failures.TABLE[row].code
        assert (error.meta or {}).get("side_effects") == failures.TABLE[row].side_effects
        assert error.message
        assert error.meta is None or error.meta


def test_values_are_filled_in_as_they_are() -> None:
    assert MADE["not_approved"][1].message == "No {braces} are filled in."
    assert [error.message for error in MADE["tool_failed"]] == [
        "The tool reported a failure without saying what.",
        "The server refused the call.",
        "{x}",
    ]
    assert [error.retry_after_ms for error in MADE["circuit_open"]] == [1, 30_000]
    assert MADE["chat_timed_out"][0].retryable is False


def test_no_error_is_made_anywhere_else_in_the_client() -> None:
    package = Path(xmcp.__file__).parent
    made: set[tuple[str, Any]] = set()
    for path in [*package.glob("chat/*.py"), *package.glob("client/**/*.py")]:
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
                if any(isinstance(called, ast.Name) and called.id == "ErrorInfo" for called in calls):
                    made.add((path.relative_to(package).as_posix(), function.name))
    assert made == {*ELSEWHERE, ("chat/failures.py", "_error")}
