"""Every way a call can fail, and what the model sees of it: never more than the author intended."""

from __future__ import annotations

import asyncio
import datetime as dt
import decimal
import enum
import ipaddress
import logging
import sys
import time
import uuid
from typing import Annotated, Any, Literal

import httpx2
import pytest
from fastmcp import Client, Context
from fastmcp.dependencies import Depends
from fastmcp.exceptions import AuthorizationError, ToolError, ValidationError
from fastmcp.server.middleware import Middleware
from fastmcp.server.middleware.error_handling import ErrorHandlingMiddleware
from fastmcp.server.middleware.rate_limiting import RateLimitingMiddleware
from fastmcp.tools import ToolResult
from mcp import MCPError
from mcp_types import MISSING_REQUIRED_CLIENT_CAPABILITY
from pydantic import AfterValidator, AnyUrl, BaseModel, Field, Json

from xmcp import XMCP, DisplayEnvelope, ErrorInfo, ToolResponse, XMCPError
from xmcp.server.errors import ServeError

SECRET = "s3cr3t-t0ken"


class Line(BaseModel):
    product: str
    amount: int = Field(ge=1)


def _never(value: str) -> str:
    raise ValueError("must be a known customer")


@pytest.fixture(scope="module")
def failing() -> XMCP:
    mcp = XMCP("failing")

    @mcp.tool
    def chosen() -> None:
        raise XMCPError("DB_TIMEOUT", "database timeout after 5 s", retry_after_ms=2000, meta={"side_effects": "none"})

    @mcp.tool
    async def by_keywords() -> None:
        raise XMCPError(code="DIV_BY_ZERO", retryable=True, detail="cannot divide", category="conflict")

    @mcp.tool
    def without_words() -> None:
        raise XMCPError("FORBIDDEN")

    @mcp.tool
    def authors() -> None:
        raise ToolError("The order is closed.")

    @mcp.tool
    def authors_from() -> None:
        raise ToolError("The order is closed.") from ValueError(SECRET)

    @mcp.tool
    def silent() -> None:
        raise ToolError

    @mcp.tool
    def crash() -> None:
        raise ValueError(SECRET)

    @mcp.display_tool
    async def async_crash() -> DisplayEnvelope:
        raise KeyError(SECRET)

    @mcp.tool
    def crash_from() -> None:
        raise RuntimeError("wrapped") from XMCPError("NOT_FOUND", SECRET)

    @mcp.tool
    def not_found_inside() -> None:
        from fastmcp.exceptions import NotFoundError

        raise NotFoundError(SECRET)

    @mcp.tool
    def body_validation() -> None:
        Line.model_validate({"product": SECRET, "amount": SECRET})

    @mcp.tool
    def stop() -> None:
        raise StopIteration(SECRET)

    @mcp.tool
    def leave() -> None:
        sys.exit(SECRET)

    @mcp.tool
    async def group() -> None:
        raise ExceptionGroup(SECRET, [ValueError(SECRET)])

    @mcp.tool
    def claims_internal() -> None:
        raise XMCPError("INTERNAL", "in my own words")

    @mcp.tool(timeout=0.05)
    async def slow() -> None:
        await asyncio.Event().wait()

    @mcp.tool(timeout=0.01)
    def slow_in_thread() -> None:
        time.sleep(0.05)

    @mcp.tool
    async def timed_out() -> None:
        raise TimeoutError(SECRET)

    @mcp.tool
    async def upstream_timeout() -> None:
        raise httpx2.ReadTimeout(SECRET)

    @mcp.tool
    async def upstream_refuses() -> None:
        request = httpx2.Request("GET", f"http://x/{SECRET}")
        raise httpx2.HTTPStatusError(SECRET, request=request, response=httpx2.Response(429, request=request))

    @mcp.tool
    async def other_mcp_error() -> None:
        raise MCPError(code=-32000, message=SECRET)

    @mcp.tool
    def forbidden() -> None:
        raise AuthorizationError("Only the owner may close an order.")

    @mcp.tool
    def unusable() -> None:
        raise ValidationError("from must not be after to")

    @mcp.tool
    def order(
        lines: list[Line],
        kind: Literal["new", "old"] = "new",
        customer: Annotated[str, AfterValidator(_never)] = "",
        either: int | Line = 0,
    ) -> str:
        return "ok"

    return mcp


async def test_an_xmcp_error_is_answered_as_given(failing: XMCP, call: Any) -> None:
    reply = await call(failing, "chosen")
    assert (reply.code, reply.message, reply.category) == ("DB_TIMEOUT", "database timeout after 5 s", "timeout")
    assert (reply.retryable, reply.retry_after_ms, reply.meta) == (True, 2000, {"side_effects": "none"})
    reply = await call(failing, "by_keywords")
    assert (reply.code, reply.message, reply.retryable, reply.category) == (
        "DIV_BY_ZERO",
        "cannot divide",
        True,
        "conflict",
    )
    reply = await call(failing, "without_words")
    assert (reply.code, reply.message, reply.retryable) == ("FORBIDDEN", "FORBIDDEN", False)
    reply = await call(failing, "claims_internal")
    assert (reply.code, reply.message, reply.meta) == ("INTERNAL", "in my own words", {})


async def test_a_tool_error_is_answered_in_the_authors_words(failing: XMCP, call: Any) -> None:
    for name in ("authors", "authors_from"):
        reply = await call(failing, name)
        assert (reply.code, reply.message, reply.tool_name) == ("TOOL_ERROR", "The order is closed.", name)
        assert SECRET not in reply.wire
    assert (await call(failing, "silent")).message


@pytest.mark.parametrize(
    "name",
    [
        "crash",
        "async_crash",
        "crash_from",
        "not_found_inside",
        "body_validation",
        "stop",
        "leave",
        "group",
        "other_mcp_error",
    ],
)
async def test_an_unexpected_failure_is_found_by_its_id_and_only_in_the_log(
    name: str, failing: XMCP, call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "xmcp.server"):
        reply = await call(failing, name)
        again = await call(failing, name)
    assert (reply.code, reply.retryable, reply.tool_name) == ("INTERNAL", False, name)
    assert SECRET not in reply.wire
    assert "Error" not in reply.wire.replace("isError", "")
    assert "Traceback" not in reply.wire
    assert reply.meta["error_id"] != again.meta["error_id"]
    records = [record for record in caplog.records if record.name == "xmcp.server"]
    assert [
        f"error_id={r.meta['error_id']}" in record.getMessage()
        for r, record in zip((reply, again), records, strict=True)
    ] == [True, True]
    assert records[0].exc_info


async def test_a_server_survives_a_tool_that_exits(failing: XMCP, era: str, reply: Any) -> None:
    async with Client(failing, mode=era) as client:
        assert reply(await client.call_tool_mcp("leave", {})).code == "INTERNAL"
        assert reply(await client.call_tool_mcp("authors", {})).code == "TOOL_ERROR"


@pytest.mark.parametrize("name", ["slow", "slow_in_thread", "timed_out", "upstream_timeout"])
async def test_time_outs_are_retryable_time_outs(name: str, failing: XMCP, call: Any) -> None:
    reply = await call(failing, name)
    assert (reply.code, reply.retryable, reply.meta["side_effects"]) == ("TIMEOUT", True, "unknown")
    assert SECRET not in reply.wire


async def test_an_error_chosen_by_a_dependency_is_answered_as_given(call: Any) -> None:
    mcp = XMCP("dependent")

    def user() -> str:
        raise XMCPError("AUTH_REQUIRED", "Sign in first.")

    def broken() -> str:
        raise ValueError(SECRET)

    @mcp.tool
    def who(name: str = Depends(user)) -> str:
        return name

    @mcp.tool
    def crash(name: str = Depends(broken)) -> str:
        return name

    reply = await call(mcp, "who")
    assert (reply.code, reply.message) == ("AUTH_REQUIRED", "Sign in first.")
    reply = await call(mcp, "crash")
    assert reply.code == "INTERNAL"
    assert SECRET not in reply.wire


async def test_an_upstream_that_refuses_for_now_is_a_rate_limit(failing: XMCP, call: Any) -> None:
    reply = await call(failing, "upstream_refuses")
    assert (reply.code, reply.retryable, reply.meta["upstream_status"]) == ("RATE_LIMIT", True, 429)
    assert SECRET not in reply.wire


async def test_a_refusal_for_lack_of_rights_has_its_authors_words(failing: XMCP, call: Any) -> None:
    reply = await call(failing, "forbidden")
    assert (reply.code, reply.message) == ("FORBIDDEN", "Only the owner may close an order.")


async def test_a_validation_error_of_the_author_is_an_invalid_argument(failing: XMCP, call: Any) -> None:
    reply = await call(failing, "unusable")
    assert (reply.code, reply.message) == ("INVALID_ARGUMENT", "from must not be after to")


# ---- refused arguments ----


async def test_each_refused_argument_is_pointed_at_and_no_value_repeated(failing: XMCP, call: Any) -> None:
    reply = await call(
        failing,
        "order",
        lines=[{"product": "tea", "amount": SECRET}, {"amount": 0}],
        kind=SECRET,
        customer="known",
        either={"product": 7, "amount": 1},
        extra=SECRET,
        **{"a/b~c": SECRET},
    )
    assert (reply.code, reply.category, reply.retryable) == ("VALIDATION_FAIL", "invalid_input", False)
    assert reply.meta["side_effects"] == "none"
    refused = {field["pointer"]: field["reason"] for field in reply.meta["fields"]}
    assert refused["/lines/0/amount"] == "wrong_type"
    assert refused["/lines/1/product"] == "missing"
    assert refused["/lines/1/amount"] == "greater_than_equal"
    assert refused["/kind"] == "literal_error"
    assert refused["/extra"] == refused["/a~1b~0c"] == "unexpected"
    assert refused["/either/product"] == refused["/either"] == "wrong_type"
    assert {f["message"] for f in reply.meta["fields"] if f["pointer"] == "/customer"} == {"must be a known customer"}
    assert SECRET not in reply.wire
    assert "pydantic" not in reply.wire
    assert "http" not in reply.wire


async def test_missing_arguments_are_named_in_the_message(failing: XMCP, call: Any) -> None:
    reply = await call(failing, "order")
    assert [field["pointer"] for field in reply.meta["fields"]] == ["/lines"]
    assert "/lines: Missing required argument" in reply.message


async def test_a_flood_of_bad_arguments_gets_a_short_answer(failing: XMCP, call: Any) -> None:
    reply = await call(failing, "order", lines=[], **{f"~{i}" + "~/" * 5000: i for i in range(100)})
    assert len(reply.meta["fields"]) == 32
    assert len(reply.message) == 2000
    assert len(reply.text) < 40_000
    reply = await call(failing, "order", lines=[], **{f"a{i}": i for i in range(40)})
    assert reply.message.endswith("; and 8 more")


async def test_an_endless_message_is_cut(call: Any) -> None:
    mcp = XMCP("wordy")

    @mcp.tool
    def raised() -> None:
        raise ToolError("x" * 5000)

    @mcp.tool
    def returned() -> ToolResult:
        return ToolResult(content="x" * 60_000, is_error=True)

    assert (await call(mcp, "raised")).message == "x" * 1999 + "…"
    assert (await call(mcp, "returned")).message == "x" * 49_999 + "…"


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Size(enum.Enum):
    SMALL = "small"


@pytest.mark.parametrize(
    "annotation",
    [
        int,
        float,
        bool,
        list[int],
        dict[str, int],
        dict[int, int],
        tuple[int, int],
        set[int],
        bytes,
        Line,
        Size,
        Literal["a", "b"],
        decimal.Decimal,
        uuid.UUID,
        dt.date,
        dt.datetime,
        dt.time,
        dt.timedelta,
        AnyUrl,
        Json[Any],
        ipaddress.IPv4Address,
        Annotated[str, Field(pattern="^[0-9]$")],
        Annotated[str, Field(max_length=3)],
        Annotated[Cat | Dog, Field(discriminator="kind")],
    ],
    ids=str,
)
async def test_no_type_repeats_what_was_sent(annotation: Any, call: Any) -> None:
    def typed(value):  # type: ignore[no-untyped-def]
        return "ok"

    typed.__annotations__ = {"value": annotation, "return": str}
    mcp = XMCP("typed")
    mcp.tool(typed)
    for value in (SECRET, {"kind": SECRET}, [SECRET], {"a": {"b": SECRET}}):
        reply = await call(mcp, "typed", value=value)
        assert SECRET not in reply.wire
        if reply.code is not None:
            assert reply.code == "VALIDATION_FAIL"
            assert all(field["pointer"].startswith("/value") for field in reply.meta["fields"])


# ---- unknown tools ----


@pytest.mark.parametrize("name", ["nope", "", "x" * 500, 'a"b<c>&\t\n\r\x00\x1b', "naïve 🙂"])
async def test_an_unknown_tool_is_named_safely(name: str, failing: XMCP, call: Any) -> None:
    reply = await call(failing, name)
    assert (reply.code, reply.category) == ("UNKNOWN_TOOL", "not_found")
    assert 1 <= len(reply.tool_name) <= 128
    assert reply.tool_name == (name[:128].replace("\x00", "\ufffd").replace("\x1b", "\ufffd") or "?")
    assert reply.message.isprintable()
    assert reply.meta["params"]["tool"] == reply.tool_name


async def test_a_tool_hidden_by_authorisation_looks_unknown(call: Any) -> None:
    mcp = XMCP("auth")

    @mcp.tool(auth=lambda _ctx: False)
    def hidden() -> str:
        return SECRET

    @mcp.tool
    def disabled() -> str:
        return SECRET

    mcp.disable(names={"disabled"})
    unknown = await call(mcp, "nonsuch")
    for name in ("hidden", "disabled"):
        reply = await call(mcp, name)
        assert reply.text == unknown.text.replace("nonsuch", name)


# ---- middleware ----


async def test_middleware_of_the_user_that_raises_is_answered_too(call: Any) -> None:
    class Raising(Middleware):
        async def on_message(self, context: Any, call_next: Any) -> Any:
            if context.method == "tools/call":
                raise RuntimeError(SECRET)
            return await call_next(context)

    class Refusing(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            raise XMCPError("QUOTA_EXCEEDED", "The budget of today is used up.")

    for given, code in (
        (Raising(), "INTERNAL"),
        (Refusing(), "QUOTA_EXCEEDED"),
        (ErrorHandlingMiddleware(transform_errors=True), "INTERNAL"),
    ):
        at_start, later = XMCP("mw", middleware=[given]), XMCP("mw")
        later.add_middleware(given)
        for mcp in (at_start, later):

            @mcp.tool
            def crash() -> None:
                raise ValueError(SECRET)

            reply = await call(mcp, "crash")
            assert reply.code == code
            assert SECRET not in reply.wire


async def test_fastmcps_rate_limit_is_a_rate_limit(call: Any, era: str, reply: Any) -> None:
    mcp = XMCP("limited", middleware=[RateLimitingMiddleware(max_requests_per_second=0.0001, burst_capacity=3)])

    @mcp.tool
    def ok() -> str:
        return "ok"

    async with Client(mcp, mode=era) as client:
        replies = [reply(await client.call_tool_mcp("ok", {})) for _ in range(4)]
    assert replies[-1].code == "RATE_LIMIT"
    assert replies[-1].meta == {"side_effects": "none"}


# ---- what is not answered with a document ----


async def test_a_missing_capability_of_the_client_is_a_protocol_error(call: Any, era: str) -> None:
    mcp = XMCP("capability")

    @mcp.tool
    def needs() -> None:
        raise MCPError(code=MISSING_REQUIRED_CLIENT_CAPABILITY, message="needs elicitation")

    async with Client(mcp, mode=era) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool_mcp("needs", {})
    assert caught.value.error.code == MISSING_REQUIRED_CLIENT_CAPABILITY


async def test_cancellation_is_not_turned_into_an_answer() -> None:
    mcp = XMCP("cancelled")
    started, ended = asyncio.Event(), asyncio.Event()

    @mcp.tool
    async def wait() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    task = asyncio.create_task(mcp.call_tool("wait"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


# ---- the exception classes ----


def test_an_xmcp_error_reads_well_on_a_plain_fastmcp_server() -> None:
    assert str(XMCPError("DB_TIMEOUT", "after 5 s")) == "DB_TIMEOUT: after 5 s"
    assert isinstance(XMCPError("DB_TIMEOUT"), ToolError)


def test_an_error_of_serving_ends_a_script_with_its_sentence() -> None:
    assert issubclass(ServeError, SystemExit)
    assert str(ServeError("why")) == "why"


async def test_context_logging_and_concurrent_calls_do_not_mix_answers(era: str, reply: Any) -> None:
    mcp = XMCP("concurrent")
    gate = asyncio.Barrier(20)

    @mcp.tool
    async def echo(n: int, ctx: Context) -> dict[str, int]:
        await gate.wait()
        if n % 3 == 0:
            raise XMCPError("CONFLICT", f"number {n}")
        return {"n": n}

    @mcp.display_tool
    def in_thread(n: int) -> DisplayEnvelope:
        return DisplayEnvelope(type="text", payload=str(n))

    async with Client(mcp, mode=era) as client:
        results = await asyncio.gather(*(client.call_tool_mcp("echo", {"n": n}) for n in range(20)))
        shown = await asyncio.gather(
            *(client.call_tool_mcp("in_thread", {"n": n, "show_user": n % 2 == 0}) for n in range(20))
        )
    for n, result in enumerate(map(reply, results)):
        assert (result.message, result.structured) == ((f"number {n}", None) if n % 3 == 0 else (None, {"n": n}))
    for n, result in enumerate(map(reply, shown)):
        assert result.display == ({"type": "text", "payload": str(n)} if n % 2 == 0 else None)
        assert str(n) in result.llm_output


class Panic(BaseException):
    """What a library in another language raises."""


class Speechless(ToolError):
    def __str__(self) -> str:
        raise RuntimeError("s3cr3t")


@pytest.mark.parametrize("failure", [Panic("s3cr3t"), Speechless("x"), BaseExceptionGroup("s3cr3t", [Panic("a")])])
async def test_whatever_a_tool_raises_the_session_goes_on(failure: BaseException, call: Any, era: str) -> None:
    mcp = XMCP()

    @mcp.tool
    async def fails() -> None:
        raise failure

    @mcp.tool
    def works() -> str:
        return "fine"

    async with Client(mcp, mode=era, timeout=5) as client:
        failed = await client.call_tool_mcp("fails", {})
        assert "INTERNAL" in failed.content[0].text
        assert "s3cr3t" not in failed.model_dump_json()
        assert "fine" in (await client.call_tool_mcp("works", {})).content[0].text


async def test_a_response_without_the_data_that_the_schema_promises_is_not_sent(
    call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    mcp = XMCP()

    @mcp.tool
    def promises() -> dict[str, int]:
        return ToolResponse("t", llm_output="x")  # type: ignore[return-value]

    @mcp.tool
    def told() -> dict[str, int]:
        return ToolResponse("t", error=ErrorInfo("CONFLICT", "no"))  # type: ignore[return-value]

    assert (await call(mcp, "promises")).code == "INTERNAL"
    assert "annotate that return type or set output_schema=None" in caplog.text
    assert (await call(mcp, "told")).code == "CONFLICT"
