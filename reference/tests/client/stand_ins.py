"""Stand-ins for a model and a server, and a chat between them. Not a test module."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any

import mcp_types as mt

from xmcp.chat.events import ChatChunk
from xmcp.client.calls.pipeline import ChatScope, Pipeline
from xmcp.client.hooks.log import EventLog
from xmcp.client.hooks.middleware import ChatContext
from xmcp.client.loop.chat import Chat, ChatSettings
from xmcp.client.loop.fallback import Model
from xmcp.client.loop.turn import Hooks
from xmcp.client.tools import meta_tools as metatools
from xmcp.client.tools.catalogue import build
from xmcp.providers import Completion, ModelRequest, ToolCall
from xmcp.wire import ErrorInfo, ToolResponse

Answer = Callable[[dict[str, Any]], Awaitable[Any] | Any]


class ScriptedServer:
    """A server whose tools are functions of their arguments: a text, a `ToolResponse`, or an exception to raise.

    A `ToolResponse` is sent as a document, `(text, structured)` as a plain result with structured content.
    """

    named = False
    speaks_xmcp = True

    def __init__(self, tools: Mapping[str, Answer], name: str = "stand_in", **described: Mapping[str, Any]) -> None:
        """`described`: for a tool's name, members of its `mcp_types.Tool`; `metadata` stands for our own in `_meta`."""
        self.name = self.identity = name
        self._tools = tools
        self._described = described
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.called = asyncio.Event()
        self.running = 0
        self.most = 0

    @property
    def listing(self) -> list[mt.Tool]:
        return [self._tool(name, **self._described.get(name, {})) for name in self._tools]

    def _tool(self, name: str, metadata: Mapping[str, Any] | None = None, **fields: Any) -> mt.Tool:
        meta = {"_meta": {"dev.xmcp/tool": dict(metadata)}} if metadata else {}
        return mt.Tool.model_validate({"name": name, "inputSchema": {"type": "object"}, **fields, **meta})

    def count(self, tool: str) -> int:
        return sum(name == tool for name, _ in self.calls)

    async def execute_tool_call(self, tool_name: str, arguments: dict[str, Any]) -> mt.CallToolResult:
        self.calls.append((tool_name, arguments))
        self.called.set()
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            answer = self._tools[tool_name](arguments)
            if asyncio.iscoroutine(answer):
                answer = await answer
            if isinstance(answer, Exception):
                raise answer
            structured = None
            if isinstance(answer, tuple):
                answer, structured = answer
            if isinstance(answer, ErrorInfo):
                answer = ToolResponse(tool_name, error=answer)
            if isinstance(answer, str):
                answer = ToolResponse(tool_name, answer)
            return mt.CallToolResult(
                content=[mt.TextContent(type="text", text=answer.to_xml())],
                structured_content=structured,
                is_error=answer.error is not None,
            )
        finally:
            self.running -= 1


class ScriptedModel:
    """A model that gives prepared completions, or raises prepared exceptions, in turn; then it says `end`."""

    name, supports_tools, max_context_tokens = "model", True, None

    def __init__(self, *answers: Completion | Exception | str) -> None:
        self.answers = list(answers)
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Completion, None]:
        self.requests.append(request)
        answer = self.answers.pop(0) if self.answers else Completion("end")
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, str):
            answer = Completion(answer)
        if answer.text:
            yield answer.text
        yield answer


def asks(*calls: tuple[str, Mapping[str, Any] | str] | str, text: str = "") -> Completion:
    """A completion with calls: names, or pairs of a name and arguments. Their ids are c0, c1, ..."""
    pairs = [(call, {}) if isinstance(call, str) else call for call in calls]
    return Completion(
        text,
        tuple(
            ToolCall(f"c{i}", name, arguments if isinstance(arguments, str) else json.dumps(arguments))
            for i, (name, arguments) in enumerate(pairs)
        ),
        "tool_calls",
    )


def chat(
    model: Any,
    *servers: Any,
    history: Sequence[Any] = (),
    tenant: str | None = None,
    meta_tools: bool = False,
    chat_timeout: float | None = None,
    log: EventLog | None = None,
    pipeline: Pipeline | None = None,
    on_display: Any = None,
    on_error: Any = None,
    settings: Mapping[str, Any] | None = None,
    **policy: Any,
) -> Chat:
    """A chat with everything an `AIClient` gives it but connections; `policy` are members of `Pipeline`."""
    own = metatools.chosen(meta_tools)
    catalogue = build([(server, server.listing) for server in servers], version=1, extra=metatools.offered(own))
    log = log or EventLog()
    loop = asyncio.get_running_loop()
    scope = ChatScope(ChatContext("chat", tenant), log, None if chat_timeout is None else loop.time() + chat_timeout)
    return Chat(
        ChatSettings(
            models=(Model(model, None),) if not isinstance(model, tuple) else tuple(Model(m, None) for m in model),
            **{"max_turns": 6, "meta_tools": own, "hooks": Hooks(on_display, on_error), **(settings or {})},
        ),
        pipeline or make_pipeline(**policy),
        lambda: catalogue,
        scope,
        list(history),
        "query",
    )


def make_pipeline(**policy: Any) -> Pipeline:
    """A pipeline that waits for nothing between attempts."""

    async def at_once(_: float) -> None:
        await asyncio.sleep(0)

    timeout = policy.pop("timeout", 30.0)
    return Pipeline(**{"slots": asyncio.Semaphore(8), "timeouts": {"*": timeout}, "sleep": at_once, **policy})


async def events_of(running: Chat) -> list[ChatChunk]:
    async with asyncio.timeout(20):
        return [chunk async for chunk in running.run()]


def answers_in(messages: Sequence[Mapping[str, Any]]) -> dict[str, ToolResponse]:
    """Call id to what its tool message says."""
    return {m["tool_call_id"]: ToolResponse.from_xml(m["content"]) for m in messages if m["role"] == "tool"}


def by_type(events: Sequence[ChatChunk]) -> dict[str, list[ChatChunk]]:
    sorted_events: dict[str, list[ChatChunk]] = defaultdict(list)
    for event in events:
        sorted_events[event.type].append(event)
    return sorted_events
