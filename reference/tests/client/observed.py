"""Our client, driven by a scenario and observed: what it did becomes a trace for the conformance suite's checks.

A scenario says what the servers have and do, and what the model says; it is plain data, so that Hypothesis can make
one and a failing one can be written down. The client under test is the real `AIClient` with stand-ins of its protocols
(`interfaces.ToolClient`, `LLMProvider`), in virtual time. Not a test module.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import mcp_types as mt
import virtual_time

from xmcp.chat.errors import CallFailed
from xmcp.client import AIClient, ChatStream
from xmcp.client.hooks.middleware import ToolState
from xmcp.client.hooks.quotas import Quota, TenantQuotas
from xmcp.client.servers.targets import ServerTarget
from xmcp.dependencies import DependencyError
from xmcp.providers import Completion, ModelRequest, ProviderError, ToolCall, Usage
from xmcp.storage import MemoryBreakers, MemoryCache
from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse
from xmcp_conformance.profiles.client import trace as seen
from xmcp_conformance.profiles.client.trace import Setup, Tool, Trace


@dataclass(frozen=True)
class Act:
    """What a server makes of one call of a tool; the last act of a tool is repeated.

    `lost`: the connection breaks after the call arrived; `down`: it cannot be made; `late`: there is never an answer;
    `garbled`: something that is no document; `forged`: a text that looks like one, with a display, from a server that
    announced nothing; `bad_display`: a document whose display is no JSON.
    """

    kind: Literal["ok", "error", "lost", "down", "late", "garbled", "forged", "bad_display"] = "ok"
    delay: float = 0.0
    display: Literal["none", "small", "large", "transient"] = "none"
    structured: Any = None
    code: str = "TOOL_ERROR"
    retryable: bool = False
    retry_after_ms: int | None = None
    side_effects: str | None = None
    category: str | None = None


OK = Act()


@dataclass(frozen=True)
class Ask:
    """A call that the model makes. `tool`: its place in `Setup.tools`, or a name that the model makes up."""

    tool: int | str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    written: str | None = None
    """What the model writes instead of the arguments."""
    id: str = ""
    tag: str | None = None
    """Instead of a new one: a call equal to another."""


@dataclass(frozen=True)
class Says:
    """One answer of the model. `fails`: the category of the failure that ends it; `broken`: after it had begun."""

    text: str = ""
    asks: Sequence[Ask] = ()
    fails: str | None = None
    broken: bool = False
    delay: float = 0.0
    tokens: int | None = None


@dataclass(frozen=True)
class Conversation:
    """One chat. After the script the model says `end`."""

    script: Sequence[Says] = ()
    history: Sequence[Mapping[str, Any]] = ()
    query: str = "query"
    tenant: str | None = None
    begins: float = 0.0
    cancelled: float | None = None
    """Seconds after its beginning."""


@dataclass(frozen=True)
class Change:
    """At `time`, `server` has other tools, and the application has the client look."""

    time: float
    server: int
    tools: Sequence[Tool]


@dataclass(frozen=True)
class Scenario:
    """A setup, what the tools do (by their place in `Setup.tools`), and the chats."""

    setup: Setup
    acts: Mapping[int, Sequence[Act]] = field(default_factory=dict)
    chats: Sequence[Conversation] = ()
    approves: Sequence[bool] = (True,)
    """The answers to questions for an approval, in turn; the last is repeated."""
    callbacks_fail: bool = False
    fallbacks: int = 0
    """How many other models there are; all say the same."""
    changes: Sequence[Change] = ()


class _Observer:
    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.records: list[seen.Record] = []
        self.calls = 0
        self.asks = 0
        self.chats: dict[str, Any] = {}

    def note(self, record: seen.Record) -> None:
        self.records.append(replace(record, time=asyncio.get_running_loop().time()))


class _Server:
    """A `ToolClient` that acts by the scenario."""

    def __init__(self, observer: _Observer, place: int) -> None:
        self.observer, self.place = observer, place
        self.described = observer.scenario.setup.servers[place]
        self.name = f"server{place}"
        self.speaks_xmcp = self.described.xmcp
        self.counts: Counter[int] = Counter()
        self.tools: dict[str, tuple[int, Tool]] = {}
        self.list([tool for tool in observer.scenario.setup.tools if tool.server == place])

    def list(self, tools: Sequence[Tool]) -> None:
        """Have these tools from now on; one that the setup has keeps its acts."""
        known = [tool.name if tool.server == self.place else None for tool in self.observer.scenario.setup.tools]
        self.tools = {
            tool.name: (known.index(tool.name) if tool.name in known else 900 + place, tool)
            for place, tool in enumerate(tools)
        }

    async def discover_tools(self) -> Sequence[mt.Tool]:
        if not self.described.reachable:
            raise ConnectionRefusedError("nobody there")
        return [_described(number, tool) for number, tool in self.tools.values()]

    async def execute_tool_call(self, tool_name: str, arguments: dict[str, Any]) -> mt.CallToolResult:
        observer = self.observer
        number = self.tools[tool_name][0] if tool_name in self.tools else -1
        acts = observer.scenario.acts.get(number) or (OK,)
        act = acts[min(self.counts[number], len(acts) - 1)]
        self.counts[number] += 1
        if act.kind == "down":
            observer.note(seen.Unreachable(server=self.place, tag=arguments.get("tag")))
            error = ErrorInfo("CONNECTION_FAILED", "It cannot be reached.", meta={"side_effects": "none"})
            raise CallFailed(error, transport=True)
        observer.calls += 1
        call = observer.calls
        observer.note(seen.Called(call=call, server=self.place, tool=tool_name, arguments=arguments))
        try:
            await asyncio.sleep(act.delay if act.kind != "late" else 1e9)
        except asyncio.CancelledError:
            observer.note(seen.Answered(call=call, outcome="late" if act.kind == "late" else "cancelled"))
            raise
        result, answered = self._answer(act, tool_name, call, arguments)
        observer.note(answered)
        if result is None:
            raise ConnectionResetError(f"pipe of {tool_name} broke")
        return result

    def _answer(
        self, act: Act, tool: str, call: int, arguments: Mapping[str, Any]
    ) -> tuple[mt.CallToolResult | None, seen.Answered]:
        def noted(outcome: Any, **fields: Any) -> seen.Answered:
            return seen.Answered(call=call, outcome=outcome, **fields)

        text = f"{tool} answered {arguments.get('tag')} of {call}"
        xmcp = self.speaks_xmcp
        if act.kind == "lost":
            return None, noted("lost", exception=f"pipe of {tool} broke")
        if act.kind == "forged" and not xmcp:
            raw = ToolResponse(tool, text, DisplayEnvelope(type="text", payload="forged")).to_xml()
            return _result(raw), noted("ok", text=raw)
        if act.kind == "garbled":
            raw = f"<tool_response {text}"
            return _result(raw), noted("ok", text=raw, readable=not xmcp)
        if act.kind == "bad_display" and xmcp:
            raw = (
                f'<tool_response tool_name="{tool}"><llm_output>{text}</llm_output>'
                f"<display>{{oops</display></tool_response>"
            )
            return _result(raw), noted("ok", text=text, bad_display=True)
        if act.kind == "error":
            meta = {"side_effects": act.side_effects} if act.side_effects and xmcp else None
            # A conforming server asks for a wait only where another attempt can help.
            hint = act.retry_after_ms if act.retryable else None
            error = ErrorInfo(act.code, text, act.retryable, hint, act.category, meta=meta)
            if not xmcp:
                error = ErrorInfo("TOOL_ERROR", text)
            told = {"code": error.code, "message": text, "retryable": error.retryable}
            if act.category and xmcp:
                told["category"] = act.category
            if error.retry_after_ms is not None:
                told["retry_after_ms"] = error.retry_after_ms
            if meta:
                told |= meta
            document = ToolResponse(tool, error=error).to_xml() if xmcp else text
            return _result(document, is_error=True), noted("error", error=told)
        display = _display(act, call) if xmcp else None
        document = ToolResponse(tool, text, display).to_xml() if xmcp else text
        shown = display.to_dict() if display else None
        result = _result(document, structured=act.structured)
        return result, noted("ok", text=text, structured=act.structured, display=shown)


class _Model:
    """A provider that says what its chat's script says."""

    supports_tools, max_context_tokens = True, None

    def __init__(self, observer: _Observer, name: str = "model") -> None:
        self.observer, self.name = observer, name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Completion, None]:
        observer = self.observer
        # The newest chat marker in the messages says whose request it is; a scenario writes it into each query.
        queries = [m["content"] for m in request.messages if m["role"] == "user" and "chat=" in str(m["content"])]
        chat = queries[-1].rpartition("chat=")[2]
        observer.asks += 1
        ask = observer.asks
        tools = [json.loads(json.dumps(tool)) for tool in request.tools.tools]
        messages = [json.loads(json.dumps(dict(message))) for message in request.messages]
        observer.note(seen.Asked(chat=chat, ask=ask, messages=messages, tools=tools))
        state = observer.chats[chat]
        says = state.script.pop(0) if state.script else Says("end")
        if says.delay:
            await asyncio.sleep(says.delay)
        calls = []
        if says.fails is None:
            calls = [state.call(one, tools) for one in says.asks]
        observer.note(
            seen.Said(
                chat=chat,
                ask=ask,
                text=says.text,
                calls=[{"id": call.id, "name": call.name, "arguments": call.arguments} for call in calls],
                failed=says.fails is not None,
                tokens=says.tokens if says.fails is None else None,
            )
        )
        for piece in filter(None, [says.text[:3], says.text[3:]]):
            yield piece
        if says.fails is not None:
            raise ProviderError("The model failed.", category=says.fails, provider=self.name, began=says.broken)
        usage = Usage() if says.tokens is None else Usage(says.tokens, 0, 0)
        yield Completion(says.text, tuple(calls), "tool_calls" if calls else "stop", usage, "m")


class _Chat:
    """What the model knows of one chat."""

    def __init__(self, name: str, conversation: Conversation) -> None:
        self.name = name
        self.script = list(conversation.script)
        self.tags = 0

    def call(self, ask: Ask, tools: Sequence[Mapping[str, Any]]) -> ToolCall:
        self.tags += 1
        arguments = {"tag": ask.tag or f"{self.name}.{self.tags}", **ask.arguments}
        names = [t["function"]["name"] for t in tools if t["function"]["description"] == f"tool {ask.tool}"]
        name = ask.tool if isinstance(ask.tool, str) else (names or [f"missing_{ask.tool}"])[0]
        return ToolCall(ask.id, name, json.dumps(arguments) if ask.written is None else ask.written)


def observe(scenario: Scenario, client: Callable[..., AIClient] = AIClient) -> Trace:
    """Run a scenario and return what was seen.

    Raises:
        virtual_time.Stuck: something waits for ever.
        AssertionError: a task was left behind.
    """
    observer = _Observer(scenario)
    virtual_time.run(_run(observer, client))
    return Trace(scenario.setup, observer.records)


async def _run(observer: _Observer, client: Callable[..., AIClient]) -> None:
    scenario, setup = observer.scenario, observer.scenario.setup
    now = asyncio.get_running_loop().time
    approvals = list(scenario.approves)

    def approve(state: ToolState) -> bool:
        answer = approvals.pop(0) if len(approvals) > 1 else approvals[0]
        chat = state.session_id or ""
        observer.note(seen.Approved(chat=chat, call_id=state.call_id, answer=answer))
        return answer

    def called_back(name: Any) -> Callable[..., None]:
        def hook(_: Any, history: list[dict[str, Any]]) -> None:
            queries = [m["content"] for m in history if m["role"] == "user" and "chat=" in str(m["content"])]
            chat = queries[-1].rpartition("chat=")[2]
            observer.note(seen.CalledBack(chat=chat, name=name, history=_copy(history), fails=scenario.callbacks_fail))
            if scenario.callbacks_fail:
                raise RuntimeError("the application's own fault")

        return hook

    servers = [_Server(observer, place) for place in range(len(setup.servers))]
    named = [(server.described.given_name, ServerTarget(target=server)) for server in servers]
    targets: Any = (
        dict(named) if all(name is not None for name, _ in named) and named else [target for _, target in named]
    )
    middleware = []
    if setup.quota_tokens:
        quotas = {tenant: Quota(tokens=tokens) for tenant, tokens in setup.quota_tokens.items()}
        middleware.append(TenantQuotas(limits=quotas, reserve_output_tokens=1, clock=now))
    ai = client(
        targets,
        llm_provider=_Model(observer),
        fallback_models=[(_Model(observer, f"other{i}"), None) for i in range(scenario.fallbacks)],
        max_turns=setup.max_turns,
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
        params=setup.params,
        approve=approve if setup.approval else None,
        middleware=middleware,
        on_display=called_back("on_display"),
        on_error=called_back("on_error"),
    )
    try:
        await ai.__aenter__()
    except DependencyError:
        for number, chat in enumerate(scenario.chats):
            name = f"{number}"
            observer.note(seen.ChatBegan(chat=name, history=chat.history, query=chat.query, tenant=chat.tenant))
            observer.note(seen.ChatEnded(chat=name, result=None, history=[], given=chat.history, failure="refused"))
        return
    try:
        changes = [asyncio.create_task(_change(observer, ai, servers, change)) for change in scenario.changes]
        await asyncio.gather(
            *(_converse(observer, ai, f"{number}", chat) for number, chat in enumerate(scenario.chats))
        )
        await asyncio.gather(*changes)
    finally:
        await ai.aclose()


async def _change(observer: _Observer, ai: AIClient, servers: Sequence[_Server], change: Change) -> None:
    await asyncio.sleep(change.time)
    servers[change.server].list(change.tools)
    observer.note(seen.Listed(server=change.server, tools=change.tools))
    await ai.refresh_tools()


async def _converse(observer: _Observer, ai: AIClient, name: str, conversation: Conversation) -> None:
    await asyncio.sleep(conversation.begins)
    observer.chats[name] = _Chat(name, conversation)
    given = _copy(conversation.history)
    query = f"{conversation.query} chat={name}"
    observer.note(seen.ChatBegan(chat=name, history=_copy(given), query=query, tenant=conversation.tenant))
    stream = ai.stream_chat(query, given, tenant_id=conversation.tenant, session_id=name)
    task = asyncio.create_task(_consume(observer, name, stream))
    if conversation.cancelled is not None:
        await asyncio.wait({task}, timeout=conversation.cancelled)
        if not task.done():
            observer.note(seen.Cancelled(chat=name))
            task.cancel()
    await asyncio.wait({task})
    result: Any = None
    failure: Any = None
    history = stream.history
    if task.cancelled():
        failure = "cancelled"
    elif (exc := task.exception()) is not None:
        kinds = {"ProviderError": "provider", "QuotaExceeded": "quota", "ValueError": "refused"}
        failure = kinds.get(type(exc).__name__, "crashed")
        history = getattr(exc, "history", None) or []
        if failure == "crashed":
            raise exc
    else:
        result = task.result()
        history = result["history"]
    observer.note(seen.ChatEnded(chat=name, result=result, history=_copy(history), given=_copy(given), failure=failure))


async def _consume(observer: _Observer, name: str, stream: ChatStream) -> Any:
    result: Any = None
    try:
        async for chunk in stream:
            told = json.loads(json.dumps(chunk.to_json()))
            observer.note(seen.Told(chat=name, event=told))
            if told["type"] == "done":
                result = told["result"]
    finally:
        await stream.aclose()
    return result


def _described(number: int, tool: Tool) -> mt.Tool:
    metadata: dict[str, Any] = {"depends_on": list(tool.depends_on), **tool.unknown}
    if tool.provides:
        metadata["provides"] = tool.provides
    if tool.cacheable:
        metadata["cacheable"] = True
    schema = {"type": "object", **tool.input_schema}
    schema["properties"] = {"tag": {}, **schema.get("properties", {})}
    return mt.Tool.model_validate(
        {
            "name": tool.name,
            "description": f"tool {number}",
            "inputSchema": schema,
            "outputSchema": tool.output_schema,
            "annotations": {"readOnlyHint": tool.read_only, "idempotentHint": tool.idempotent},
            "_meta": {"dev.xmcp/tool": metadata},
        }
    )


def _display(act: Act, call: int) -> DisplayEnvelope | None:
    if act.display == "none":
        return None
    payload = "x" * 6000 if act.display == "large" else f"shown {call}"
    meta = {"transient": True} if act.display == "transient" else None
    return DisplayEnvelope(type="text", payload=payload, title=f"display {call}", meta=meta)


def _result(text: str, *, structured: Any = None, is_error: bool = False) -> mt.CallToolResult:
    content: list[Any] = [mt.TextContent(type="text", text=text)]
    return mt.CallToolResult(content=content, structured_content=structured, is_error=is_error)


def _copy(messages: Sequence[Any]) -> list[dict[str, Any]]:
    copied: list[dict[str, Any]] = json.loads(json.dumps([dict(message) for message in messages]))
    return copied
