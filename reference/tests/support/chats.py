"""One chat between a scripted model and scripted servers, with everything an `AIClient` gives it but connections."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from support.clock import at_once
from xmcp.chat.events import ChatChunk
from xmcp.client.calls.active_call import ChatScope
from xmcp.client.calls.pipeline import Pipeline
from xmcp.client.hooks.log import EventLog
from xmcp.client.hooks.middleware import ChatContext
from xmcp.client.hooks.telemetry import ChatTelemetry
from xmcp.client.loop.chat import Chat, ChatSettings
from xmcp.client.loop.fallback import Model
from xmcp.client.loop.turn import Hooks
from xmcp.client.slots import Slots
from xmcp.client.tools.catalogue import Catalogue, build
from xmcp.client.tools.meta_tools import openai_tools, selected
from xmcp.wire import ToolResponse


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
    """Return a chat of `model`, or of a tuple of models that replace each other; `policy`: members of `Pipeline`."""
    own = selected(meta_tools)
    catalogue = build([(server, server.listing) for server in servers], version=1, extra=openai_tools(own))

    async def tools() -> Catalogue:
        return catalogue

    log = log or EventLog()
    loop = asyncio.get_running_loop()
    deadline = None if chat_timeout is None else loop.time() + chat_timeout
    scope = ChatScope(ChatContext("chat", tenant), ChatTelemetry(log), deadline)
    return Chat(
        ChatSettings(
            models=(Model(model, None),) if not isinstance(model, tuple) else tuple(Model(m, None) for m in model),
            **{"max_turns": 6, "meta_tools": own, "hooks": Hooks(on_display, on_error), **(settings or {})},
        ),
        pipeline or make_pipeline(**policy),
        tools,
        scope,
        list(history),
        "query",
    )


def make_pipeline(**policy: Any) -> Pipeline:
    """Return a pipeline that does not wait between attempts."""
    timeout = policy.pop("timeout", 30.0)
    return Pipeline(**{"slots": Slots(8), "timeouts": {"*": timeout}, "sleep": at_once, **policy})


async def events_of(running: Chat) -> list[ChatChunk]:
    """Run a chat to its end and return its events."""
    async with asyncio.timeout(300):
        return [chunk async for chunk in running.run()]


def answers_in(messages: Sequence[Mapping[str, Any]]) -> dict[str, ToolResponse]:
    """Return what each tool message says, by the id of its call."""
    return {m["tool_call_id"]: ToolResponse.from_xml(m["content"]) for m in messages if m["role"] == "tool"}


def by_type(events: Sequence[ChatChunk]) -> dict[str, list[ChatChunk]]:
    """Return the events of each type, in their order."""
    sorted_events: dict[str, list[ChatChunk]] = defaultdict(list)
    for event in events:
        sorted_events[event.type].append(event)
    return sorted_events
