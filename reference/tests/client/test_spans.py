"""Spans of chats: which exist, their parents, what failures leave in them, and what they must never contain."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import aclosing
from typing import Any

import mcp.shared._otel as mcp_spans
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext, SpanKind, StatusCode
from support.clock import never
from support.scripted_model import ScriptedModel, asks
from support.scripted_server import ScriptedServer
from support.span_conventions import faults

from xmcp import XMCP, AIClient, DisplayEnvelope, ErrorInfo, QuotaExceeded, XMCPError
from xmcp.client import Middleware
from xmcp.client.hooks import spans
from xmcp.providers import Completion, ProviderError, Usage
from xmcp.storage import MemoryCache

USED = Usage(70, 30, 10)


class Exported(InMemorySpanExporter):
    """What has ended, with questions to it."""

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.get_finished_spans() if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        [span] = self.named(name)
        return span

    def tree(self, root: ReadableSpan) -> list[Any]:
        """`[name, *trees of its children]`, children in the order of their beginnings."""
        children = [span for span in self.get_finished_spans() if parent_of(span) == id_of(root)]
        return [root.name, *(self.tree(child) for child in sorted(children, key=lambda span: span.start_time or 0))]


def context_of(span: ReadableSpan) -> SpanContext:
    context: SpanContext | None = span.context
    assert context is not None
    return context


def id_of(span: ReadableSpan) -> int:
    return context_of(span).span_id


def parent_of(span: ReadableSpan) -> int | None:
    return span.parent and span.parent.span_id


def trace_of(span: ReadableSpan) -> int:
    return context_of(span).trace_id


def told(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def failure(span: ReadableSpan) -> str | None:
    """The type of the error; the status must agree."""
    error = told(span).get("error.type")
    assert (error is not None) == (span.status.status_code is StatusCode.ERROR)
    return error


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> Exported:
    """An SDK for this test alone; tracers that may hold on to that of another test are new."""
    exporter, provider = Exported(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    monkeypatch.setattr(spans, "_tracer", trace.get_tracer("xmcp.client"))
    monkeypatch.setattr(mcp_spans, "_tracer", trace.get_tracer("mcp-python-sdk"))
    return exporter


def shop() -> XMCP:
    mcp = XMCP("shop")

    @mcp.tool
    def find(what: str) -> str:
        return f"found {what}"

    @mcp.tool
    def refuse(what: str) -> str:
        raise XMCPError("CONFLICT", f"no {what}")

    @mcp.tool
    def crash(what: str) -> str:
        raise ValueError(what)

    @mcp.display_tool
    def show(what: str, show_user: bool = False) -> Any:
        return DisplayEnvelope(type="text", payload=what, title=what) if show_user else what

    return mcp


def client(model: Any, *servers: Any, **options: Any) -> AIClient:
    return AIClient(servers, llm_provider=model, **{"llm_model": "m-1", **options})


def call(name: str, what: str = "it") -> Completion:
    completion = asks((name, {"what": what}))
    return Completion(completion.text, completion.tool_calls, "tool_calls", USED)


SENT = ["tools/call find", ["MCP send tools/call find", ["tools/call find"]]]
"""FastMCP's span, the SDK's, and the server's."""


async def test_a_chat_is_one_trace_with_a_span_for_each_call_of_the_model_and_of_a_tool(exported: Exported) -> None:
    model = ScriptedModel(call("find"), Completion("done", usage=USED))
    async with client(model, shop()) as ai:
        exported.clear()
        await ai.chat("q", [], tenant_id="acme", session_id="s-1")
        everything = exported.get_finished_spans()
    chat = exported.one("invoke_agent")
    assert exported.tree(chat) == ["invoke_agent", ["chat m-1"], ["execute_tool find", SENT], ["chat m-1"]]
    assert {trace_of(span) for span in everything} == {trace_of(chat)}
    assert told(chat) == {
        "gen_ai.operation.name": "invoke_agent",
        "xmcp.tenant_id": "acme",
        "xmcp.session_id": "s-1",
        "gen_ai.conversation.id": "s-1",
        "xmcp.stop_reason": "stop",
    }
    for turn, asked in enumerate(exported.named("chat m-1"), 1):
        assert asked.kind is SpanKind.CLIENT
        assert told(asked) == {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "model",
            "gen_ai.request.model": "m-1",
            "gen_ai.usage.input_tokens": 70,
            "gen_ai.usage.output_tokens": 30,
            "gen_ai.usage.cache_read.input_tokens": 10,
            "gen_ai.response.finish_reasons": (("tool_calls", "stop")[turn - 1],),
            "xmcp.turn": turn,
        }
    assert told(exported.one("execute_tool find")) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "find",
        "gen_ai.tool.call.id": "c0",
        "xmcp.server.name": "shop",
        "xmcp.call.attempts": 1,
        "xmcp.call.cached": False,
    }
    assert all(failure(span) is None for span in everything)


async def test_tokens_that_the_vendor_did_not_count_and_a_model_without_a_name_are_left_out(
    exported: Exported,
) -> None:
    async with client(ScriptedModel("hello"), llm_model=None) as ai:
        await ai.chat("q", [])
    assert set(told(exported.one("chat"))) == {
        "gen_ai.operation.name",
        "gen_ai.provider.name",
        "gen_ai.response.finish_reasons",
        "xmcp.turn",
    }
    assert set(told(exported.one("invoke_agent"))) == {"gen_ai.operation.name", "xmcp.stop_reason"}


async def test_the_span_of_the_application_is_the_parent_and_stays_the_current_one(exported: Exported) -> None:
    tracer = trace.get_tracer("application")
    async with client(ScriptedModel(call("find"), "done"), shop()) as ai:
        with tracer.start_as_current_span("request") as own:
            async with aclosing(ai.stream_chat("q", [])) as chunks:
                async for _ in chunks:
                    assert trace.get_current_span() is own
            assert trace.get_current_span() is own
            await ai.chat("q", [])
    request = exported.one("request")
    assert [parent_of(chat) for chat in exported.named("invoke_agent")] == [id_of(request)] * 2
    assert {trace_of(span) for span in exported.named("execute_tool find")} == {trace_of(request)}


async def test_each_attempt_to_ask_a_model_is_a_span_and_says_why_it_failed(exported: Exported) -> None:
    model = ScriptedModel(
        call("nowhere"),
        ProviderError("down", category="network", began=True),
        ProviderError("busy", category="rate_limit"),
        Completion("hello", usage=USED),
    )
    async with client(model, fallback_models=["m-2"]) as ai:
        await ai.chat("q", [])
    chat = exported.one("invoke_agent")
    assert exported.tree(chat) == ["invoke_agent", *[["chat m-1"]] * 3, ["chat m-2"]]
    asked = [*exported.named("chat m-1"), exported.one("chat m-2")]
    assert [failure(span) for span in asked] == [None, "network", "rate_limit", None]
    assert ["gen_ai.usage.input_tokens" in told(span) for span in asked] == [True, False, False, True]
    assert [told(span)["xmcp.turn"] for span in asked] == [1, 2, 2, 2]
    assert failure(chat) is None


async def test_a_chat_that_no_model_answers_has_failed(exported: Exported) -> None:
    async with client(ScriptedModel(ProviderError("no key", category="auth"))) as ai:
        with pytest.raises(ProviderError):
            await ai.chat("q", [])
    assert failure(exported.one("chat m-1")) == "auth"
    assert failure(exported.one("invoke_agent")) is not None
    assert "xmcp.stop_reason" not in told(exported.one("invoke_agent"))


async def test_a_quota_that_is_used_up_is_told_where_it_stopped_the_chat(exported: Exported) -> None:
    class Quotas(Middleware):
        async def before_llm(self, state: Any) -> None:
            raise QuotaExceeded

    async with client(ScriptedModel(), middleware=[Quotas()]) as ai:
        with pytest.raises(QuotaExceeded):
            await ai.chat("q", [])
    assert failure(exported.one("chat m-1")) == "QuotaExceeded"
    assert failure(exported.one("invoke_agent")) is not None


async def test_a_tool_that_fails_leaves_its_code(exported: Exported) -> None:
    model = ScriptedModel(call("refuse"), call("crash"), call("nowhere"), "done")
    async with client(model, shop()) as ai:
        await ai.chat("q", [])
    assert failure(exported.one("execute_tool refuse")) == "CONFLICT"
    assert failure(exported.one("execute_tool crash")) == "INTERNAL"
    assert exported.named("execute_tool nowhere") == []
    assert failure(exported.one("invoke_agent")) is None


async def test_a_call_is_one_span_however_often_it_was_made_and_says_so(exported: Exported) -> None:
    busy = ErrorInfo("RATE_LIMIT", "busy", retryable=True, meta={"side_effects": "none"})
    answers = iter([busy, busy, "42"])
    server = ScriptedServer(
        {"find": lambda _: next(answers), "slow": lambda _: asyncio.Event().wait(), "same": lambda _: "x"},
        same={"metadata": {"cacheable": True}},
    )
    model = ScriptedModel(call("find"), call("slow"), call("same"), call("same"), "done")
    options = {"retry_policy": {"backoff_base": 0.001}, "tool_timeout": {"slow": 0.01}, "cache": MemoryCache()}
    async with client(model, server, **options) as ai:
        await ai.chat("q", [])
    found = exported.one("execute_tool find")
    assert (failure(found), told(found)["xmcp.call.attempts"]) == (None, 3)
    assert failure(exported.one("execute_tool slow")) == "TIMEOUT"
    same = [told(span) for span in exported.named("execute_tool same")]
    assert [(one["xmcp.call.attempts"], one["xmcp.call.cached"]) for one in same] == [(1, False), (0, True)]


@pytest.mark.parametrize("way", ["cancelled", "left"])
async def test_a_chat_that_is_broken_off_leaves_no_span_open(exported: Exported, way: str) -> None:
    hangs = asyncio.Event()

    async def slow(_: Any) -> None:
        hangs.set()
        await asyncio.Event().wait()

    server = ScriptedServer({"slow": slow})
    async with client(ScriptedModel(call("slow")), server) as ai:
        if way == "cancelled":
            chat = asyncio.create_task(ai.chat("q", []))
            async with asyncio.timeout(5):
                await hangs.wait()
            chat.cancel()
            await asyncio.wait({chat}, timeout=5)
        else:
            async with aclosing(ai.stream_chat("q", [])) as chunks:
                async for chunk in chunks:
                    if chunk.type == "tool_started":
                        break
    root = exported.one("invoke_agent")
    assert exported.tree(root) == ["invoke_agent", ["chat m-1"], ["execute_tool slow"]]
    assert "xmcp.stop_reason" not in told(root)


async def test_a_model_that_is_cancelled_says_so(exported: Exported) -> None:
    silent = ScriptedModel(never)
    async with client(silent) as ai:
        chat = asyncio.create_task(ai.chat("q", []))
        async with asyncio.timeout(5):
            await silent.asked.wait()
        chat.cancel()
        await asyncio.wait({chat}, timeout=5)
    assert failure(exported.one("chat m-1")) == "cancelled"


async def test_nothing_that_was_said_or_returned_is_in_any_span(exported: Exported) -> None:
    calls = [("find", {"what": "s3cret"}), ("refuse", {"what": "s3cret"}), ("crash", {"what": "s3cret"})]
    model = ScriptedModel(
        asks(*calls, ("find", "s3cret"), ("find", {"wrong": "s3cret"}), text="s3cret"),
        ProviderError("s3cret", category="network"),
        asks(("show", {"what": "s3cret", "show_user": True}), ("broken", {"what": "s3cret"}), ("refuse", {})),
        "s3cret",
    )

    def broken(arguments: Any) -> Any:
        raise ConnectionResetError("s3cret")

    server = ScriptedServer({"broken": broken}, broken={"inputSchema": {"type": "object"}})
    async with client(model, shop(), server, fallback_models=["m-2"]) as ai:
        result = await ai.chat("s3cret", [{"role": "system", "content": "s3cret"}], tenant_id="acme")
    assert repr(result["history"]).count("s3cret") > 10
    assert result["displays"]
    ended = exported.get_finished_spans()
    assert {"invoke_agent", "chat m-2", "execute_tool show", "execute_tool broken"} <= {span.name for span in ended}
    assert [span.name for span in ended if span.name.startswith("MCP send tools/call")]
    for span in ended:
        attributes = repr((span.name, told(span), span.links))
        assert "s3cret" not in attributes, attributes
        # FastMCP describes a failed call with the server's own words; of ours nobody is to learn them.
        if span.instrumentation_scope is None or span.instrumentation_scope.name == "xmcp.client":
            assert (span.status.description, span.events) == (None, ()), span.name


async def test_the_spans_are_as_opentelemetry_says(exported: Exported) -> None:
    model = ScriptedModel(asks(("find", {"what": "a"}), ("refuse", {"what": "b"})), Completion("done", usage=USED))
    async with client(model, shop()) as ai:
        await ai.chat("q", [])
    ours = [one for one in exported.get_finished_spans() if one.instrumentation_scope.name == "xmcp.client"]  # type: ignore[union-attr]
    assert len(ours) == 5
    assert [fault for span in ours for fault in faults(span)] == []


async def test_spans_of_chats_at_the_same_time_do_not_mix(exported: Exported) -> None:
    tracer = trace.get_tracer("application")

    async def answer(request: Any) -> Completion:
        await asyncio.sleep(0)
        [said] = [message for message in request.messages if message["role"] == "user"]
        calls = asks(*[("find", {"what": said["content"]})] * 2)
        return calls if len(request.messages) == 1 else Completion("done")

    async with client(ScriptedModel(then=answer), shop()) as ai:
        exported.clear()

        async def request(number: int) -> None:
            with tracer.start_as_current_span(f"request {number}"):
                await ai.chat(f"q{number}", [], tenant_id=f"t{number}")

        async with asyncio.timeout(300):
            await asyncio.gather(*(request(number) for number in range(20)))
        assert len(exported.get_finished_spans()) == 20 * 12
    tool = ["execute_tool find", SENT]
    for number in range(20):
        root = exported.one(f"request {number}")
        chat = ["invoke_agent", ["chat m-1"], tool, tool, ["chat m-1"]]
        assert exported.tree(root) == [f"request {number}", chat]
        own = [span for span in exported.get_finished_spans() if trace_of(span) == trace_of(root)]
        assert len(own) == 12
        assert [told(span)["xmcp.tenant_id"] for span in own if "xmcp.tenant_id" in told(span)] == [f"t{number}"]


PROGRAM = """
import asyncio, sys
{before}
from xmcp import XMCP, AIClient
from xmcp.providers import ScriptedProvider, Turn
mcp = XMCP()

@mcp.tool
def add(a: int, b: int) -> int:
    return a + b

async def main():
    script = [Turn("", [("add", {{"a": 2, "b": 3}})]), "five"]
    async with AIClient([mcp], llm_provider=ScriptedProvider(script)) as ai:
        {between}
        result = await ai.chat("q", [])
    assert [message["role"] for message in result["history"]] == ["user", "assistant", "tool", "assistant"]
    assert ">5<" in result["history"][2]["content"]
    print(result["answer"])

asyncio.run(main())
{after}
"""


def run(before: str = "", between: str = "pass", after: str = "") -> list[str]:
    program = PROGRAM.format(before=before, between=between, after=after)
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.split()


@pytest.mark.slow
def test_without_an_sdk_nothing_is_missed() -> None:
    blocked = 'sys.modules["opentelemetry.sdk"] = None'
    loaded = 'print(*[name for name in sys.modules if name.startswith("opentelemetry.sdk.")])'
    assert run(before=blocked, after=loaded) == ["five"]


@pytest.mark.slow
def test_an_sdk_that_the_application_sets_up_late_gets_the_spans() -> None:
    between = (
        "from opentelemetry import trace; from opentelemetry.sdk.trace import TracerProvider; "
        "from opentelemetry.sdk.trace.export import SimpleSpanProcessor as P; "
        "from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter; "
        "main.seen = InMemorySpanExporter(); provider = TracerProvider(); "
        "provider.add_span_processor(P(main.seen)); trace.set_tracer_provider(provider)"
    )
    after = "print(*[span.name.replace(' ', '_') for span in main.seen.get_finished_spans()])"
    answer, *names = run(between=between, after=after)
    assert answer == "five"
    assert names[0] == "chat"
    assert names[-2:] == ["chat", "invoke_agent"]
    assert {"execute_tool_add", "MCP_send_tools/call_add", "tools/call_add"} <= set(names)
