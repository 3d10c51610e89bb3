"""An error that an author wrote reaches the client, whatever is wrong with its members, and the log says what is."""

from __future__ import annotations

import enum
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmcp import XMCP, ErrorInfo, ToolResponse, XMCPError
from xmcp.server.error_repairs import error_of, sendable_error
from xmcp.wire import check_error


class Table:
    """It has no JSON form, and no text that says what it is."""


class Named(Table):
    def __str__(self) -> str:
        return "orders"


class Code(enum.Enum):
    GONE = "NOT_FOUND"


META = {
    "a member of the author's own": ({"table": "orders"}, {"params": {"table": "orders"}}),
    "beside params": ({"table": "orders", "params": {"row": 1}}, {"params": {"table": "orders", "row": 1}}),
    "the name twice": ({"row": 2, "params": {"row": 1}}, {"params": {"row": 1}}),
    "a known one is kept": ({"side_effects": "none", "a": 1}, {"side_effects": "none", "params": {"a": 1}}),
    "a vendor's is kept": ({"acme.example/a": 1, "b": 2}, {"acme.example/a": 1, "params": {"b": 2}}),
    "a known one of a wrong value": ({"side_effects": "some"}, {"params": {"side_effects": "some"}}),
    "a known one of a wrong type": ({"upstream_status": "500"}, {"params": {"upstream_status": "500"}}),
    "params is no object": ({"params": "orders"}, {"params": {"params": "orders"}}),
    "null": ({"error_id": None}, {}),
    "a name that is no string": ({1: "a"}, {"params": {"1": "a"}}),
    "something without a JSON form": ({"params": {"a": 1, "o": Table()}}, {"params": {"a": 1}}),
    "something with a text": ({"o": Named()}, {"params": {"o": "orders"}}),
    "a set, and a number JSON does not have": ({"s": {1}, "n": math.nan}, {"params": {"s": [1], "n": None}}),
    "too deep": ({"params": {"a": 1, "deep": eval("[" * 70 + "]" * 70)}}, {"params": {"a": 1}}),
    "no object at all": (["orders"], {"params": {"meta": ["orders"]}}),
}


@pytest.mark.parametrize(("meta", "sent"), META.values(), ids=META)
async def test_members_of_meta_that_the_specification_does_not_know_go_under_params(
    meta: Any, sent: dict[str, Any], call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    mcp = XMCP("t")

    @mcp.tool
    def raised() -> None:
        raise XMCPError("CONFLICT", "The order has changed.", meta=meta)

    reply = await call(mcp, "raised")
    assert (reply.code, reply.message, reply.meta) == ("CONFLICT", "The order has changed.", sent)
    assert "CONFLICT of a tool was repaired" in caplog.text


WRONG = {
    "a code in other letters": ({"code": "not found"}, ("NOT_FOUND", "not_found", False, None)),
    "no code at all": ({"code": "404 s3cr3t"}, ("TOOL_ERROR", "internal", False, None)),
    "a code of an enum": ({"code": Code.GONE}, ("NOT_FOUND", "not_found", False, None)),
    "None for a code": ({"code": None}, ("TOOL_ERROR", "internal", False, None)),
    "another category than registered": ({"category": "timeout"}, ("CONFLICT", "conflict", False, None)),
    "a category that cannot be": ({"category": "Bad one"}, ("CONFLICT", "conflict", False, None)),
    "a wait alone makes it retryable": ({"retry_after_ms": 5}, ("CONFLICT", "conflict", True, 5)),
    "a wait of what shall not be retried": (
        {"retry_after_ms": 5, "retryable": False},
        ("CONFLICT", "conflict", False, None),
    ),
    "a fraction of a millisecond": ({"code": "TIMEOUT", "retry_after_ms": 5.2}, ("TIMEOUT", "timeout", True, 6)),
    "a wait below 0": ({"code": "TIMEOUT", "retry_after_ms": -1}, ("TIMEOUT", "timeout", True, None)),
    "a wait without end": ({"code": "TIMEOUT", "retry_after_ms": math.inf}, ("TIMEOUT", "timeout", True, None)),
    "a wait that is no number": ({"code": "TIMEOUT", "retry_after_ms": "5"}, ("TIMEOUT", "timeout", True, None)),
    "a number for a bool": ({"retryable": 1}, ("CONFLICT", "conflict", True, None)),
}


@pytest.mark.parametrize(("wrong", "sent"), WRONG.values(), ids=WRONG)
async def test_a_wrong_member_never_turns_an_error_into_another(wrong: Any, sent: tuple[Any, ...], call: Any) -> None:
    mcp = XMCP("t")

    @mcp.tool
    def raised() -> None:
        raise XMCPError(**{"code": "CONFLICT", "detail": "The order has changed.", **wrong})

    reply = await call(mcp, "raised")
    assert (reply.code, reply.category, reply.retryable, reply.retry_after_ms) == sent
    assert reply.message == "The order has changed."
    assert "S3CR3T" not in reply.wire.upper()


@pytest.mark.parametrize(("detail", "message"), [(None, "CONFLICT"), (ValueError("v"), "v"), (Named(), "orders")])
async def test_whatever_an_author_gives_as_message_is_sent_as_text(detail: Any, message: str, call: Any) -> None:
    mcp = XMCP("t")

    @mcp.tool
    def raised() -> None:
        raise XMCPError("CONFLICT", detail)

    assert (await call(mcp, "raised")).message == message


BUILT = {
    "meta": (ErrorInfo("TIMEOUT", "m", meta={"table": "orders"}), {"params": {"table": "orders"}}),
    "category": (ErrorInfo("TIMEOUT", "m", category="internal"), {}),
    "wait": (ErrorInfo("TIMEOUT", "m", retryable=False, retry_after_ms=1), {}),
}


@pytest.mark.parametrize(("error", "meta"), BUILT.values(), ids=BUILT)
async def test_an_error_that_an_author_builds_is_repaired_too(error: ErrorInfo, meta: Any, call: Any) -> None:
    mcp = XMCP("t")
    mcp.tool(lambda: ToolResponse("t", error=error), name="built")
    reply = await call(mcp, "built")
    assert (reply.code, reply.category, reply.message, reply.meta) == ("TIMEOUT", "timeout", "m", meta)


def test_an_error_that_can_be_sent_is_not_touched() -> None:
    error = ErrorInfo("RATE_LIMIT", "m", retry_after_ms=5, meta={"side_effects": "none", "params": {"a": 1}})
    assert sendable_error(error) is error


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.builds(Table),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=8,
)


@settings(deadline=None)
@given(
    ANYTHING,
    ANYTHING,
    st.fixed_dictionaries({}, optional=dict.fromkeys(("retryable", "retry_after_ms", "category", "meta"), ANYTHING)),
)
def test_of_anything_becomes_an_error_that_can_be_sent(code: Any, detail: Any, members: dict[str, Any]) -> None:
    error = error_of(code, detail, **members)
    check_error(error)
    ToolResponse("t", error=error).to_xml()
    assert sendable_error(error) is error
