"""Traces of chats through the gateway: one trace from the caller to the tools, known to the audit store, without a word
that was said."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click.testing
import mcp.shared._otel as mcp_spans
import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from support.audited_runs import one
from support.gateways import served
from support.http_host import in_thread
from support.scripted_model import ScriptedModel, asks

from xmcp.cli.gateway import gateway as command
from xmcp.cli.open_telemetry import CannotExport, exporting
from xmcp.client.hooks import spans
from xmcp.gateway.audit import AuditLog
from xmcp.gateway.http import traced

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CALLER = {"traceparent": f"00-{TRACE}-{PARENT}-01"}


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """An SDK for this test alone; tracers that may hold on to that of another test are new."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    monkeypatch.setattr(spans, "_tracer", trace.get_tracer("xmcp.client"))
    monkeypatch.setattr(traced, "_tracer", trace.get_tracer("xmcp.gateway"))
    monkeypatch.setattr(mcp_spans, "_tracer", trace.get_tracer("mcp-python-sdk"))
    return exporter


def named(exporter: InMemorySpanExporter, name: str) -> ReadableSpan:
    """Return the only span of a name."""
    (span,) = [span for span in exporter.get_finished_spans() if span.name == name]
    return span


def parent_of(span: ReadableSpan) -> str:
    """Return the id of the parent."""
    assert span.parent is not None
    return trace.format_span_id(span.parent.span_id)


def id_of(span: ReadableSpan) -> str:
    """Return the id of a span."""
    assert span.context is not None
    return trace.format_span_id(span.context.span_id)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_chat_is_part_of_its_caller_s_trace_and_its_record_names_it(
    exported: InMemorySpanExporter, tmp_path: Path, stream: bool
) -> None:
    log = await AuditLog.open(tmp_path / "audit.db")
    model = ScriptedModel(asks(("add", {"a": 1, "b": 2})), "s3cret")
    async with served(model, audit=log) as gateway, gateway.http(headers=CALLER) as http:
        exported.clear()
        accept = {"accept": "text/event-stream"} if stream else {}
        asked = {"input": "s3cret", "session_id": "s-1"}
        assert (await http.post("/chat", json=asked, headers=accept)).status_code == 200
        await http.get("/tools")
    await log.aclose()
    request, chat = named(exported, "POST /chat"), named(exported, "invoke_agent")
    assert request.kind is SpanKind.SERVER
    assert (parent_of(request), parent_of(chat)) == (PARENT, id_of(request))
    assert parent_of(named(exported, "execute_tool add")) == id_of(chat)
    assert dict(request.attributes or {}) == {
        "http.request.method": "POST",
        "http.route": "/chat",
        "http.response.status_code": 200,
        "url.path": "/chat",
        "url.scheme": "http",
    }
    assert dict(chat.attributes or {})["gen_ai.conversation.id"] == "s-1"
    ended = exported.get_finished_spans()
    # The connections to the servers, which are not the chat's, end with the gateway.
    traces = {span.name: trace.format_trace_id(span.context.trace_id) for span in ended if span.context}
    ours = ("POST /chat", "invoke_agent", "chat", "execute_tool add", "MCP send tools/call add", "tools/call add")
    assert {traces[name] for name in ours} == {TRACE}
    assert not any("s3cret" in repr((span.name, dict(span.attributes or {}), span.events)) for span in ended)
    assert one(tmp_path / "audit.db", "SELECT trace_id FROM runs") == TRACE


async def test_chats_at_the_same_time_are_traces_of_their_own(exported: InMemorySpanExporter) -> None:
    async with served(ScriptedModel(then="hi")) as gateway, gateway.http() as http:
        exported.clear()
        await asyncio.gather(*(http.post("/chat", json={"input": f"{n}"}) for n in range(5)))
    chats = [span for span in exported.get_finished_spans() if span.name == "invoke_agent"]
    requests = {id_of(span) for span in exported.get_finished_spans() if span.name == "POST /chat"}
    assert {parent_of(span) for span in chats} == requests
    assert len({span.context.trace_id for span in chats if span.context}) == 5


async def test_a_request_that_fails_says_so_and_nothing_else(
    exported: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(ScriptedModel("hi")) as gateway, gateway.http(headers={"traceparent": "nonsense"}) as http:
        exported.clear()
        monkeypatch.setattr(type(gateway.gateway), "offers", lambda *_: int("s3cret"))
        assert (await http.post("/chat", json={"input": "x"})).status_code == 500
    span = named(exported, "POST /chat")
    assert (span.status.status_code, span.status.description, span.events) == (StatusCode.ERROR, None, ())
    assert dict(span.attributes or {})["error.type"] == "500"
    assert span.parent is None


async def test_without_an_sdk_a_chat_still_belongs_to_its_caller_s_trace(tmp_path: Path) -> None:
    log = await AuditLog.open(tmp_path / "audit.db")
    async with served(ScriptedModel(then="hi"), audit=log) as gateway, gateway.http() as http:
        await http.post("/chat", json={"input": "1"}, headers=CALLER)
        await http.post("/chat", json={"input": "2"})
    await log.aclose()
    assert one(tmp_path / "audit.db", "SELECT count(*) FROM runs WHERE trace_id = ?", TRACE) == 1
    assert one(tmp_path / "audit.db", "SELECT count(*) FROM runs WHERE trace_id IS NULL") == 1


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "There are: otlp, console, none"),
        ({"OTEL_METRICS_EXPORTER": "prometheus"}, "OTEL_METRICS_EXPORTER is 'prometheus'. There are: otlp"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "http/protobuf"),
    ],
)
def test_what_cannot_be_exported_is_said_before_anything_is_served(environment: dict[str, str], told: str) -> None:
    with pytest.raises(CannotExport, match=told), exporting("x", environment):
        pass
    done = click.testing.CliRunner().invoke(command, ["--provider", "demo", "--port", "0"], env=environment)
    assert done.exit_code == 1
    assert told in done.output
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    "environment", [{}, {"OTEL_TRACES_EXPORTER": "none"}, {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "true"}]
)
def test_nothing_is_exported_that_is_not_asked_for(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "set_tracer_provider", lambda _: pytest.fail("nobody asked for it"))
    monkeypatch.setattr(metrics, "set_meter_provider", lambda _: pytest.fail("nobody asked for it"))
    with exporting("x", environment):
        pass


def test_spans_and_metrics_reach_a_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[tuple[str, bytes]] = []

    async def collect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(line for line in head.lower().split("\r\n") if line.startswith("content-length:"))
        got.append((head.split(" ")[1], await reader.readexactly(int(length.partition(":")[2]))))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")

    tracers, meters = list[Any](), list[Any]()
    monkeypatch.setattr(trace, "set_tracer_provider", tracers.append)
    monkeypatch.setattr(metrics, "set_meter_provider", meters.append)
    with in_thread(collect) as url:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        with exporting("xmcp-gateway", {"OTEL_EXPORTER_OTLP_ENDPOINT": url}):
            tracers[0].get_tracer("t").start_span("a-span").end()
            meters[0].get_meter("t").create_counter("a-count").add(1)
    bodies = dict(got)
    assert set(bodies) == {"/v1/traces", "/v1/metrics"}
    assert b"a-span" in bodies["/v1/traces"]
    assert b"a-count" in bodies["/v1/metrics"]
    # The SDK adds the id: without one, the sums of several processes would take each other's place.
    assert all(b"xmcp-gateway" in body and b"service.instance.id" in body for body in bodies.values())
