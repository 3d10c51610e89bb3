"""Metrics of chats by OpenTelemetry: which are recorded, with which attributes, and what is never in them."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from support.scripted_model import ScriptedModel, asks

from xmcp import XMCP, AIClient, XMCPError
from xmcp.client.hooks import telemetry
from xmcp.client.hooks.meters import Meters
from xmcp.providers import Completion, ProviderError, Usage


class Recorded(InMemoryMetricReader):
    """What was recorded, by name: the attributes, how often, and the sum."""

    def of(self, name: str) -> list[tuple[dict[str, Any], int, float]]:
        found = self.points().get(f"gen_ai.{name}", ())
        return [(dict(point.attributes), point.count, point.sum) for point in found]

    def points(self) -> dict[str, Any]:
        data: Any = self.get_metrics_data()
        scopes = [scope for one in data.resource_metrics for scope in one.scope_metrics] if data else []
        return {metric.name: metric.data.data_points for scope in scopes for metric in scope.metrics}


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    """An SDK for this test alone."""
    reader = Recorded()
    monkeypatch.setattr(telemetry, "meters", Meters(MeterProvider([reader]).get_meter("xmcp.client")))
    return reader


def client(model: Any) -> AIClient:
    mcp = XMCP("shop")

    @mcp.tool
    def find(what: str) -> str:
        return f"found {what}"

    @mcp.tool
    def refuse(what: str) -> str:
        raise XMCPError("CONFLICT", f"no {what}")

    @mcp.tool
    def invent(what: str) -> str:
        raise XMCPError(what, "no")

    return AIClient([mcp], llm_provider=model, llm_model="m-1")


async def test_a_chat_is_recorded_with_its_calls_of_models_and_tools(recorded: Recorded) -> None:
    used = Usage(70, 30)
    first = asks(("find", {"what": "s3cret"}), ("refuse", {"what": "s3cret"}))
    model = ScriptedModel(Completion("", first.tool_calls, "tool_calls", used), Completion("done", usage=used))
    async with client(model) as ai:
        await ai.chat("s3cret", [], tenant_id="acme", session_id="s-1")
    chat = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": model.name, "gen_ai.request.model": "m-1"}
    ((attributes, count, seconds),) = recorded.of("client.operation.duration")
    assert (attributes, count, seconds > 0) == (chat, 2, True)
    # The first answer has no text: it began with its calls, which come at its end.
    ((attributes, count, first_seconds),) = recorded.of("client.operation.time_to_first_chunk")
    assert (attributes, count, 0 < first_seconds <= seconds) == (chat, 1, True)
    assert recorded.of("client.token.usage") == [
        ({**chat, "gen_ai.token.type": "input"}, 2, 140),
        ({**chat, "gen_ai.token.type": "output"}, 2, 60),
    ]
    agent = {"gen_ai.operation.name": "invoke_agent"}
    assert recorded.of("invoke_agent.inference_calls") == [(agent, 1, 2)]
    assert recorded.of("invoke_agent.tool_calls") == [(agent, 1, 2)]
    assert [(one[0], one[1]) for one in recorded.of("invoke_agent.duration")] == [(agent, 1)]
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find"}
    assert [(one[0], one[1]) for one in recorded.of("execute_tool.duration")] == [
        (tool, 1),
        ({**tool, "gen_ai.tool.name": "refuse", "error.type": "CONFLICT"}, 1),
    ]
    assert not any(word in repr(recorded.points()) for word in ("s3cret", "acme", "s-1"))


async def test_codes_that_servers_invent_are_one_kind_of_error(recorded: Recorded) -> None:
    calls = asks(*(("invent", {"what": f"CODE_{number}"}) for number in range(5)))
    async with client(ScriptedModel(calls, "done")) as ai:
        await ai.chat("q", [])
    assert [(one[0]["error.type"], one[1]) for one in recorded.of("execute_tool.duration")] == [("_OTHER", 5)]


async def test_a_failure_is_recorded_with_its_kind(recorded: Recorded) -> None:
    refused = ProviderError("no such model", category="content", provider="x")
    async with client(ScriptedModel(refused)) as ai:
        with pytest.raises(ProviderError):
            await ai.chat("q", [])
    ((attributes, count, _),) = recorded.of("client.operation.duration")
    assert (attributes["error.type"], count) == ("content", 1)
    assert recorded.of("client.operation.time_to_first_chunk") == []
    assert recorded.of("client.token.usage") == []
    ((attributes, count, _),) = recorded.of("invoke_agent.duration")
    assert (attributes["error.type"], count) == ("ProviderError", 1)


def test_the_buckets_are_those_of_the_conventions(recorded: Recorded) -> None:
    telemetry.meters.model_call("p", None, 1.0, usage=Usage(5, None))
    ((duration,), (tokens,)) = (
        recorded.points()[f"gen_ai.client.{one}"] for one in ("operation.duration", "token.usage")
    )
    assert duration.explicit_bounds[:3] + duration.explicit_bounds[-1:] == (0.01, 0.02, 0.04, 81.92)
    assert tokens.explicit_bounds[:3] + tokens.explicit_bounds[-1:] == (1, 4, 16, 67108864)
    assert "gen_ai.request.model" not in duration.attributes
