"""The adapter with which the conformance suite drives `AIClient`: it translates, and decides nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal

import mcp_types as mt

from support.clock import never
from xmcp.chat import client_made_errors
from xmcp.chat.errors import CallFailed, QuotaExceeded
from xmcp.client import AIClient
from xmcp.client.hooks.middleware import ToolState
from xmcp.client.hooks.quotas import Quota, TenantQuotas
from xmcp.client.servers.targets import ServerTarget
from xmcp.dependency_graph import DependencyError
from xmcp.providers import Completion, ModelRequest, ProviderError, Reasoning, ToolCall, Usage
from xmcp.storage import MemoryBreakers, MemoryCache
from xmcp.wire import ErrorInfo
from xmcp_conformance.profiles.client import driver
from xmcp_conformance.profiles.client.adapter import (
    Application,
    ChatOutcome,
    ChatRequest,
    Model,
    OutsideProtocol,
    ProtocolError,
    ServerUnreachable,
    StartRefused,
    ToolServer,
)
from xmcp_conformance.profiles.client.command.check_command import PRECISION
from xmcp_conformance.profiles.client.command.hosting import Host
from xmcp_conformance.profiles.client.command.server_host import server_app
from xmcp_conformance.profiles.client.observer import described
from xmcp_conformance.profiles.client.scenario import Scenario
from xmcp_conformance.profiles.client.trace import Setup, Trace

FAILURES: Final[dict[type[Exception], Literal["provider", "quota", "refused"]]] = {
    ProviderError: "provider",
    QuotaExceeded: "quota",
    ValueError: "refused",
}


def observe(scenario: Scenario, client: Callable[..., AIClient] = AIClient) -> Trace:
    """Drive `AIClient`, or a subclass of it, through a scenario; see `driver.observe`."""
    return driver.observe(scenario, AIClientAdapter(client))


@dataclass(frozen=True)
class AIClientAdapter:
    """Starts `AIClient`, or a subclass of it."""

    client: Callable[..., AIClient] = AIClient

    async def targets(self, setup: Setup, servers: Sequence[ToolServer]) -> list[Any]:
        """Return what the client is given of each server."""
        return [_ToolClient(server, f"server{i}", setup.servers[i].xmcp) for i, server in enumerate(servers)]

    async def start(
        self, setup: Setup, models: Sequence[Model], servers: Sequence[ToolServer], application: Application
    ) -> RunningAIClient:
        """Start a client whose clocks are that of the event loop."""
        now = asyncio.get_running_loop().time
        reached = await self.targets(setup, servers)
        named = [(setup.servers[i].given_name, ServerTarget(target=one)) for i, one in enumerate(reached)]
        has_names = bool(named) and all(name is not None for name, _ in named)
        targets: Any = dict(named) if has_names else [target for _, target in named]
        first, *others = [_Provider(model, f"model{i}") for i, model in enumerate(models)]
        quotas = {tenant: Quota(tokens=tokens) for tenant, tokens in setup.quota_tokens.items()}

        values: dict[str, Mapping[str, Any]] = {}

        async def approve(state: ToolState) -> bool:
            approved = application.approve(state.session_id or "", state.call_id)
            return await never() if approved is None else approved

        ai = self.client(
            targets,
            llm_provider=first,
            fallback_models=[(other, None) for other in others],
            max_turns=setup.max_turns,
            max_calls_per_turn=setup.max_calls_per_turn or 1_000,
            max_tools_per_server=setup.max_tools_per_server or 1_000,
            max_concurrency=setup.max_concurrency,
            tool_timeout=setup.tool_timeout,
            chat_timeout=setup.chat_timeout,
            retry_policy={"max_attempts": setup.max_attempts},
            breakers=(
                MemoryBreakers(threshold=setup.breaker_threshold, reset_after=setup.breaker_reset_after, clock=now)
                if setup.breaker_threshold
                else None
            ),
            breaker_threshold=None,
            cache=MemoryCache(clock=now) if setup.cache else None,
            cache_read_only=setup.cache_read_only,
            display=setup.display,
            display_budget=setup.display_budget,
            meta_tools=setup.meta_tools,
            params={name: partial(_value, values, name, usual) for name, usual in setup.params.items()},
            approve=approve if setup.approval else None,
            middleware=[TenantQuotas(limits=quotas, reserve_output_tokens=1, clock=now)] if quotas else [],
            on_display=lambda _, history: application.on_display(history),
            on_error=lambda _, history: application.on_error(history),
        )
        try:
            await ai.__aenter__()
        except DependencyError as exc:
            raise StartRefused(str(exc)) from exc
        return RunningAIClient(ai, application, values)


@dataclass(frozen=True)
class AIClientOverHTTP(AIClientAdapter):
    """Starts `AIClient` with servers over HTTP, which `hosts` closes at its end."""

    hosts: AsyncExitStack = field(kw_only=True)
    handshake: bool = field(kw_only=True)
    """Whether the servers know the era of the handshake alone."""

    async def targets(self, setup: Setup, servers: Sequence[ToolServer]) -> list[Any]:
        """Return the addresses of the servers."""
        addresses = []
        for number, server in enumerate(servers):
            host = Host()
            self.hosts.push_async_callback(host.close)
            wire = "always" if setup.servers[number].xmcp else None
            await host.serve(
                server_app(f"server{number}", server, host.cut, lambda _: None, wire=wire, handshake=self.handshake)
            )
            addresses.append(f"{host.url}/mcp")
        return addresses


def observe_over_http(scenario: Scenario, *, handshake: bool) -> Trace:
    """Drive `AIClient` through a scenario by a real clock, with servers over HTTP."""

    async def driven() -> Trace:
        recorder = driver.Recorder(asyncio.get_running_loop().time())
        async with AsyncExitStack() as hosts:
            adapter = AIClientOverHTTP(hosts=hosts, handshake=handshake)
            await driver.drive(recorder, scenario, adapter, one_connection=False)
        return Trace(described(scenario.setup), recorder.records, PRECISION)

    return asyncio.run(driven())


@dataclass(frozen=True)
class RunningAIClient:
    """An `AIClient` that was started."""

    ai: AIClient
    application: Application
    values: dict[str, Mapping[str, Any]]
    """What the application gives for parameters in each chat, where that is other than in the setup."""

    async def chat(self, request: ChatRequest) -> ChatOutcome:
        """Run a chat. Its session has the name of the chat."""
        self.values[request.chat] = request.params
        stream = self.ai.stream_chat(request.query, request.history, tenant_id=request.tenant, session_id=request.chat)
        result: Any = None
        try:
            try:
                async for chunk in stream:
                    told = chunk.to_json()
                    self.application.receive(request.chat, told)
                    if told["type"] == "done":
                        result = told["result"]
            finally:
                await stream.aclose()
        except asyncio.CancelledError:
            return ChatOutcome(history=stream.history, failure="cancelled")
        except Exception as exc:
            if (failure := FAILURES.get(type(exc))) is None:
                raise
            return ChatOutcome(history=getattr(exc, "history", None) or [], failure=failure)
        return ChatOutcome(history=result["history"], result=result)

    async def refresh_tools(self) -> None:
        """List the tools of all servers again."""
        await self.ai.refresh_tools()

    async def close(self) -> None:
        """Stop the client."""
        await self.ai.aclose()


def _value(values: Mapping[str, Mapping[str, Any]], name: str, usual: Any, state: ToolState) -> Any:
    """Return the value of a parameter that the application fills in, for a call of a chat."""
    return values[state.session_id or ""].get(name, usual)


@dataclass(frozen=True)
class _ToolClient:
    """A server as `interfaces.ToolClient` wants it."""

    server: ToolServer
    name: str
    speaks_xmcp: bool
    tools: set[str] = field(default_factory=set)
    """The names of the tools that were listed last, for a mutant that looks at them."""

    async def discover_tools(self) -> Sequence[mt.Tool]:
        listed = [mt.Tool.model_validate(tool) for tool in await self.server.list_tools()]
        self.tools.clear()
        self.tools.update(tool.name for tool in listed)
        return listed

    async def execute_tool_call(
        self, tool_name: str, arguments: dict[str, Any], on_progress: Callable[..., None]
    ) -> mt.CallToolResult:
        async def report(*said: Any) -> None:
            on_progress(*said)

        try:
            return mt.CallToolResult.model_validate(await self.server.call_tool(tool_name, arguments, report))
        except ProtocolError as exc:
            if exc.code == mt.INVALID_PARAMS:
                raise CallFailed(client_made_errors.refused_arguments(str(exc))) from None  # its words, not ours
            raise CallFailed(client_made_errors.refused_by_server(str(exc))) from None
        except OutsideProtocol as exc:
            raise CallFailed(_read_as(exc.status, self.name), transport=exc.status >= 500) from exc
        except ServerUnreachable as exc:
            error = ErrorInfo("CONNECTION_FAILED", str(exc), meta={"side_effects": "none"})
            raise CallFailed(error, transport=True) from exc


def _read_as(status: int, server: str) -> ErrorInfo:
    """Return the error that a client over HTTP makes of a page with this status (section 6.5)."""
    refused = status in (401, 403)
    return (client_made_errors.credentials_refused if refused else client_made_errors.no_message)(server)


@dataclass(frozen=True)
class _Provider:
    """A model as `LLMProvider` wants it."""

    model: Model
    name: str
    supports_tools: bool = True
    max_context_tokens: int | None = None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Reasoning | Completion, None]:
        answer = await self.model.answer(request.messages, request.tools.tools)
        for thought in answer.reasoning:
            yield Reasoning(thought)
        for piece in answer.pieces:
            yield piece
        request.received.bytes += len((answer.begun or {}).get("arguments", "").encode())
        if answer.stalls:
            await never()
        if answer.failure is not None:
            failure = answer.failure
            raise ProviderError("The model failed.", category=failure.category, provider=self.name, began=failure.began)
        calls = tuple(ToolCall(call["id"], call["name"], call["arguments"]) for call in answer.calls)
        usage = Usage() if answer.tokens is None else Usage(answer.tokens, 0)
        finish = answer.finish or ("tool_calls" if calls else "stop")
        yield Completion("".join(answer.pieces), calls, finish, usage, "m")
