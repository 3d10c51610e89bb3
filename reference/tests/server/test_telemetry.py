"""Telemetry of each call: a log line with its fields, and the span."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import NotFoundError, ToolError
from fastmcp.server.middleware import Middleware
from fastmcp.tools import ToolResult
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from pydantic import TypeAdapter, ValidationError
from rich.logging import RichHandler
from support.span_conventions import faults

from xmcp import XMCP, XMCPError
from xmcp_models.registry import RESULT_META_KEY


def server() -> XMCP:
    mcp = XMCP("logged")

    @mcp.tool
    def fine(secret: str = "") -> str:
        return "s3cr3t result"

    @mcp.tool
    def refused() -> None:
        raise XMCPError("CONFLICT", "s3cr3t")

    @mcp.tool
    def crashes() -> None:
        raise ValueError("s3cr3t")

    return mcp


def calls(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    wanted = ("tool", "outcome", "error_code", "error_id", "request_id", "duration_ms")
    return [
        {name: getattr(record, name) for name in wanted if hasattr(record, name)}
        for record in caplog.records
        if record.name == "xmcp.server" and hasattr(record, "outcome")
    ]


async def test_each_call_is_one_line_with_its_fields(call: Any, caplog: pytest.LogCaptureFixture) -> None:
    mcp = server()
    with caplog.at_level(logging.INFO, "xmcp.server"):
        await call(mcp, "fine", secret="s3cr3t")
        await call(mcp, "refused")
        crashed = await call(mcp, "crashes")
        await call(mcp, "no\nwhere")
    told = calls(caplog)
    assert [(line["tool"], line["outcome"], line.get("error_code")) for line in told] == [
        ("fine", "ok", None),
        ("refused", "error", "CONFLICT"),
        ("crashes", "error", "INTERNAL"),
        ("no\ufffdwhere", "error", "UNKNOWN_TOOL"),
    ]
    assert all(line["duration_ms"] > 0 and line["request_id"] for line in told)
    assert told[2]["error_id"] == crashed.meta["error_id"]
    lines = [record for record in caplog.records if hasattr(record, "outcome")]
    assert not any("s3cr3t" in str(record.__dict__) for record in lines)
    assert [record.getMessage().split(" ")[:2] for record in lines[:2]] == [["fine", "ok"], ["refused", "CONFLICT"]]


async def test_fastmcps_record_of_a_failure_stays_and_its_traceback_is_not_drawn(
    call: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    mcp, theirs = server(), FastMCP("theirs")
    mcp.tool(name="says")(_raising(ToolError("closed", log_level=logging.INFO)))
    theirs.tool(name="theirs")(_raising(ValueError("drawn")))
    drawn: list[str] = []
    handler = RichHandler()
    monkeypatch.setattr(handler, "emit", lambda record: drawn.append(record.getMessage()))
    monkeypatch.setattr(logging.getLogger("fastmcp"), "handlers", [handler])
    monkeypatch.setattr(logging.getLogger("fastmcp"), "propagate", True)
    with caplog.at_level(logging.INFO, "fastmcp.server.server"):
        for name in ("crashes", "says"):
            await call(mcp, name)
        async with Client(theirs) as client:
            await client.call_tool_mcp("theirs", {})
    records = [record for record in caplog.records if record.name == "fastmcp.server.server"]
    assert [(record.getMessage(), record.levelno) for record in records] == [
        ("Error calling tool 'crashes'", logging.ERROR),
        ("Error calling tool 'says'", logging.INFO),
        ("Error calling tool 'theirs'", logging.ERROR),
    ]
    assert [text for text in drawn if text.startswith("Error")] == [record.getMessage() for record in records[1:]]


def _raising(failure: Exception) -> Callable[[], None]:
    def fails() -> None:
        raise failure

    return fails


async def test_the_traceback_begins_with_the_authors_code(call: Any, caplog: pytest.LogCaptureFixture) -> None:
    await call(server(), "crashes")
    (record,) = [record for record in caplog.records if record.name == "xmcp.server"]
    assert record.exc_info is not None
    kind, failure, trace = record.exc_info
    assert (kind, str(failure)) == (ValueError, "s3cr3t")
    assert trace is not None
    assert trace.tb_frame.f_code.co_name == "crashes"
    assert trace.tb_next is None


async def test_the_traceback_of_a_model_that_does_not_fit_begins_there_too(
    call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    mcp = XMCP()

    @mcp.tool
    def reads() -> None:
        TypeAdapter(int).validate_python("s3cr3t")

    assert (await call(mcp, "reads")).code == "INTERNAL"
    (record,) = [record for record in caplog.records if record.name == "xmcp.server"]
    assert record.exc_info is not None
    kind, _, trace = record.exc_info
    assert trace is not None
    assert (kind, trace.tb_frame.f_code.co_name) == (ValidationError, "reads")


async def test_a_call_through_a_mounted_server_is_one_line(call: Any, caplog: pytest.LogCaptureFixture) -> None:
    parent = XMCP("parent")
    parent.mount(server(), namespace="c")
    with caplog.at_level(logging.INFO, "xmcp.server"):
        await call(parent, "c_fine")
        crashed = await call(parent, "c_crashes")
    assert [(line["tool"], line.get("error_id")) for line in calls(caplog)] == [
        ("c_fine", None),
        ("c_crashes", crashed.meta["error_id"]),
    ]
    assert f"error_id={crashed.meta['error_id']}" in caplog.text


async def test_a_cancelled_call_says_so(era: str, caplog: pytest.LogCaptureFixture) -> None:
    mcp = XMCP()
    begun, ended = asyncio.Event(), asyncio.Event()

    @mcp.tool
    async def waits() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with caplog.at_level(logging.INFO, "xmcp.server"):
        async with Client(mcp, mode=era) as client:
            task = asyncio.create_task(client.call_tool_mcp("waits", {}))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(ended.wait(), 5)
            for _ in range(100):
                if calls(caplog):
                    break
                await asyncio.sleep(0.01)
    assert [(line["tool"], line["outcome"]) for line in calls(caplog)] == [("waits", "cancelled")]


async def test_a_cancellation_that_is_not_the_callers_is_an_error(call: Any) -> None:
    mcp = XMCP()

    @mcp.tool
    async def awaits_a_cancelled_task() -> None:
        task = asyncio.create_task(asyncio.sleep(5))
        await asyncio.sleep(0)
        task.cancel()
        await task

    @mcp.tool
    def raises_in_a_thread() -> None:
        raise asyncio.CancelledError("s3cr3t")

    for tool in ("awaits_a_cancelled_task", "raises_in_a_thread"):
        reply = await call(mcp, tool)
        assert (reply.code, reply.category) == ("CANCELLED", "cancelled")
        assert "s3cr3t" not in reply.wire


async def test_the_one_failure_of_a_task_group_is_the_failure(call: Any) -> None:
    mcp = XMCP()

    @mcp.tool
    async def one() -> None:
        async def fails() -> None:
            raise XMCPError("CONFLICT", "changed")

        async with asyncio.TaskGroup() as group:
            group.create_task(fails())

    @mcp.tool
    async def two() -> None:
        raise ExceptionGroup("s3cr3t", [XMCPError("CONFLICT", "a"), ValueError("b")])

    assert (await call(mcp, "one")).code == "CONFLICT"
    assert (await call(mcp, "two")).code == "INTERNAL"


async def test_where_nobody_listens_nothing_is_put_together(call: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "xmcp.server"):
        await call(server(), "fine")
    assert not calls(caplog)


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    # The SDK's tracer binds itself to the provider that it first meets, and would keep this one's spans for ever.
    monkeypatch.setattr("mcp.shared._otel._tracer", trace.get_tracer("mcp-python-sdk"))
    return exporter


def judged(exporter: InMemorySpanExporter) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if "xmcp.outcome" in (span.attributes or {})]


async def test_the_span_of_the_request_tells_the_outcome(exporter: InMemorySpanExporter, call: Any) -> None:
    await call(server(), "fine")
    crashed = await call(server(), "crashes")
    spans = judged(exporter)
    assert [span.name for span in spans] == ["tools/call fine", "tools/call crashes"]
    fine, failed = (dict(span.attributes or {}) for span in spans)
    assert fine["xmcp.outcome"] == "ok"
    assert "xmcp.error_id" not in fine
    assert (failed["xmcp.outcome"], failed["xmcp.error_code"]) == ("error", "INTERNAL")
    assert failed["error.type"] == "tool_error"
    assert failed["xmcp.error_id"] == crashed.meta["error_id"]
    assert [span.status.status_code for span in spans] == [StatusCode.UNSET, StatusCode.ERROR]
    assert [[event.name for event in span.events] for span in spans] == [[], ["exception"]]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_spans_of_requests_are_as_opentelemetry_says(exporter: InMemorySpanExporter, mode: Any) -> None:
    mcp = server()
    async with Client(mcp, mode=mode) as client:
        for tool in ("fine", "refused", "crashes", "nowhere"):
            await client.call_tool(tool, raise_on_error=False)
    spans = judged(exporter)
    assert [fault for span in spans for fault in faults(span)] == []
    assert [(span.attributes or {}).get("xmcp.error_code") for span in spans] == [
        None, "CONFLICT", "INTERNAL", "UNKNOWN_TOOL",
    ]  # fmt: skip


async def test_the_span_of_a_failing_middleware_is_that_of_its_tool(exporter: InMemorySpanExporter, call: Any) -> None:
    class Fails(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            raise ValueError("s3cr3t") if context.message.name == "fine" else ToolError("told")

    mcp = server()
    mcp.add_middleware(Fails())
    await call(mcp, "fine")
    await call(mcp, "crashes")
    spans = judged(exporter)
    assert [(span.name, span.status.status_code, span.status.description) for span in spans] == [
        ("tools/call fine", StatusCode.ERROR, "INTERNAL"),
        ("tools/call crashes", StatusCode.ERROR, "TOOL_ERROR"),
    ]
    assert [[(event.attributes or {})["exception.type"] for event in span.events] for span in spans] == [
        ["ValueError"],
        [],
    ]


async def test_the_span_of_an_error_that_is_a_result_is_failed(exporter: InMemorySpanExporter, call: Any) -> None:
    mcp = XMCP()

    @mcp.tool
    def refuses() -> ToolResult:
        return ToolResult(content="no", is_error=True)

    await call(mcp, "refuses")
    (span,) = judged(exporter)
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "TOOL_ERROR")


async def test_a_call_inside_the_process_leaves_the_span_of_the_application_alone(
    exporter: InMemorySpanExporter,
) -> None:
    with trace.get_tracer("application").start_as_current_span("mine"), pytest.raises(ToolError):
        await server().call_tool("crashes")
    (mine,) = (span for span in exporter.get_finished_spans() if span.name == "mine")
    assert (mine.status.status_code, dict(mine.attributes or {})) == (StatusCode.UNSET, {})


async def test_a_tool_that_calls_another_of_its_server_gets_what_fastmcp_gives_it(call: Any) -> None:
    mcp = server()
    got = []

    @mcp.tool
    async def both() -> str:
        got.append(await mcp.call_tool("fine"))
        for name in ("crashes", "refused", "nowhere"):
            with pytest.raises((ToolError, NotFoundError)):
                await mcp.call_tool(name)
        return got[0].content[0].text

    class Watches(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            result = await call_next(context)
            assert RESULT_META_KEY not in (result.meta or {})
            return result

    mcp.add_middleware(Watches())
    assert (await call(mcp, "both")).llm_output == "s3cr3t result"
    assert got[0].structured_content == {"result": "s3cr3t result"}


async def test_a_tool_that_is_a_client_of_another_server_gets_documents(call: Any, reply: Any) -> None:
    inner, outer = server(), XMCP("outer")

    @outer.tool
    async def asks() -> str:
        async with Client(inner) as client:
            return reply(await client.call_tool_mcp("fine", {})).llm_output

    assert (await call(outer, "asks")).llm_output == "s3cr3t result"
