"""The table of the errors that the client makes: each row has its function, and no error is made elsewhere."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest

import xmcp
from xmcp.chat import client_made_errors
from xmcp.wire import ErrorInfo
from xmcp_models.registry import ERROR_CODES

MADE: dict[str, list[ErrorInfo]] = {
    "unknown_tool": [client_made_errors.unknown_tool("serch", ["search"]), client_made_errors.unknown_tool("x", [])],
    "too_many_calls": [client_made_errors.too_many_calls(128)],
    "unusable_arguments": [client_made_errors.unusable_arguments("not_json", "they are not", "{")],
    "missing_text": [client_made_errors.missing_text("thought")],
    "failed_dependency": [client_made_errors.failed_dependency("a")],
    "unfit_result": [client_made_errors.unfit_result("a", "p", [{"pointer": "/p", "reason": "r", "message": "m"}])],
    "not_approved": [client_made_errors.not_approved(), client_made_errors.not_approved("No {braces} are filled in.")],
    "missing_app_parameter": [client_made_errors.missing_app_parameter("p")],
    "quota_used_up": [client_made_errors.quota_used_up(None), client_made_errors.quota_used_up("tokens")],
    "circuit_open": [client_made_errors.circuit_open("s", 0.0001), client_made_errors.circuit_open("s", 30)],
    "circuit_opened_meanwhile": [client_made_errors.circuit_open("s", 30, sent=True)],
    "credentials_refused": [client_made_errors.credentials_refused("s")],
    "no_credentials": [client_made_errors.no_credentials("s")],
    "no_connection_free": [client_made_errors.no_connection_free("s")],
    "not_sendable": [client_made_errors.not_sendable()],
    "crashed_before_the_call": [client_made_errors.crashed("e")],
    "crashed": [client_made_errors.crashed("e", sent=True)],
    "timed_out": [client_made_errors.timed_out(1.5)],
    "chat_timed_out": [client_made_errors.chat_timed_out()],
    "request_timed_out": [client_made_errors.request_timed_out("s", 5)],
    "cancelled": [client_made_errors.cancelled()],
    "not_ended": [client_made_errors.not_ended()],
    "connection_lost": [client_made_errors.connection_lost("s", sent=True)],
    "connection_refused": [client_made_errors.connection_lost("s", sent=False)],
    "no_message": [client_made_errors.no_message("s")],
    "tool_client_failed": [client_made_errors.tool_client_failed("s")],
    "tool_failed": [
        client_made_errors.tool_failed(" "),
        client_made_errors.refused_by_server(""),
        client_made_errors.tool_failed("{x}"),
    ],
    "refused_arguments": [client_made_errors.refused_arguments("")],
    "keeps_asking": [client_made_errors.keeps_asking()],
    "answer_too_large": [client_made_errors.answer_too_large("s")],
    "answer_compressed": [client_made_errors.answer_compressed("s")],
    "unreadable_answer": [client_made_errors.unreadable_answer()],
    "no_document": [client_made_errors.no_document()],
    "unreadable_document": [client_made_errors.unreadable_document("LIMIT", 1, 2)],
    "chat_quota_used_up": [client_made_errors.chat_quota_used_up("No.")],
    "chat_crashed": [client_made_errors.chat_crashed("ValueError")],
    "chat_cancelled": [client_made_errors.chat_cancelled()],
    "unrecorded": [client_made_errors.unrecorded()],
}

ELSEWHERE = {
    ("chat/errors.py", "to_error_info"): "what a vendor reports, by its category",
    ("client/calls/foreign_errors.py", "error_in"): "what a server without the extension says in its own way",
    ("client/calls/server_results.py", "_error_of"): "what a server wrote into `_meta`",
}


def test_every_row_is_filled_by_a_function_and_has_a_registered_code() -> None:
    assert set(MADE) == set(client_made_errors.TABLE)
    assert {row.code for row in client_made_errors.TABLE.values()} <= set(ERROR_CODES)
    public = {
        name for name, _ in inspect.getmembers(client_made_errors, inspect.isfunction) if not name.startswith("_")
    }
    others = {"circuit_opened_meanwhile", "connection_refused", "crashed_before_the_call"}
    assert public - {"dataclass", "lru_cache"} == set(MADE) - others | {"refused_by_server"}


@pytest.mark.parametrize("row", MADE)
def test_an_error_says_what_its_row_says(row: str) -> None:
    for error in MADE[row]:
        assert error.code == client_made_errors.TABLE[row].code
        assert (error.meta or {}).get("side_effects") == client_made_errors.TABLE[row].side_effects
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
    assert MADE["chat_timed_out"][0].retryable is True


@pytest.mark.parametrize("row", ["crashed", "crashed_before_the_call"])
def test_the_error_of_a_crash_begins_with_the_id_that_the_log_has(row: str) -> None:
    assert [*(MADE[row][0].meta or {})] == ["error_id", "side_effects"]


def test_no_error_is_made_anywhere_else_in_the_client() -> None:
    package = Path(xmcp.__file__).parent
    made: set[tuple[str, Any]] = set()
    for path in [*package.glob("chat/*.py"), *package.glob("client/**/*.py")]:
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
                if any(isinstance(called, ast.Name) and called.id == "ErrorInfo" for called in calls):
                    made.add((path.relative_to(package).as_posix(), function.name))
    assert made == {*ELSEWHERE, ("chat/client_made_errors.py", "_error")}
