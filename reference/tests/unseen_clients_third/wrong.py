"""Twelve further faults, each put into the reference client of this process by one function."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Container, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from xmcp.chat.events import ChatChunk, ChatFailed
from xmcp.client.calls import attempt, content_blocks, context_budget, retry_policy
from xmcp.client.calls.active_call import ActiveCall, AttemptStage, NextOfAttempt
from xmcp.client.calls.retry_policy import RetryPolicy
from xmcp.client.calls.server_results import ServerResult
from xmcp.client.loop.chat import Chat
from xmcp.client.slots import Slots
from xmcp.client.tools import catalogue, dependencies
from xmcp.client.tools.catalogue import Entry, ToolServer
from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse


def measures_the_payload_alone() -> None:
    """Compare the payload with the display budget, without title, `alt` and `fallback` (XMCP-DSP-040)."""
    right_size, right_reference = context_budget.size, context_budget.reference

    def size(display: DisplayEnvelope) -> int:
        payload = display.to_dict()["payload"]
        return len(json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))

    def reference(display: DisplayEnvelope, *, note: bool = True) -> DisplayEnvelope:
        made = right_reference(display, note=note)
        return made.model_copy(update={"payload": {**made.payload, "bytes": right_size(display)}})

    context_budget.size = size
    context_budget.reference = reference


def caps_every_wait() -> None:
    """Cut each wait to the longest back-off of its own, also one that the server asked for (XMCP-ERR-041)."""
    right = retry_policy.wait

    def wait(policy: RetryPolicy, failures: int, error: ErrorInfo, **more: Any) -> float:
        return min(right(policy, failures, error, **more), policy.backoff_max)

    retry_policy.wait = wait


def any_truth_is_cacheable() -> None:
    """Take `cacheable` for true where it is a text or a number, which is not as its schema says (XMCP-TOL-003)."""
    right = Entry.of

    def of(name: str, server: ToolServer, tool: Any, known: Container[str]) -> Entry:
        made = right(name, server, tool, known)
        return replace(made, cacheable=bool(catalogue.metadata(tool).get("cacheable")))

    Entry.of = of


def names_links_of_the_person() -> None:
    """Look at the audience of texts, pictures and resources, and not at that of links (XMCP-MCP-045)."""
    right = content_blocks.is_for_user_alone
    content_blocks.is_for_user_alone = lambda block: block.type != "resource_link" and right(block)


def counts_a_turn_when_it_is_sent() -> None:
    """Give `failed` the turn before where a quota refused the request (XMCP-REC-006)."""
    right = Chat.run

    async def run(self: Chat) -> AsyncGenerator[ChatChunk, None]:
        async with aclosing(right(self)) as events:
            async for event in events:
                if isinstance(event, ChatFailed) and event.error.message.startswith("The quota"):
                    event = replace(event, turn=event.turn - 1)
                yield event

    Chat.run = run


def rewritten_documents_lose_nothing() -> None:
    """Write a lossy document anew, with a reference for its display, without `lossy` (XMCP-RSP-029)."""
    right = context_budget._with_reference

    def with_reference(response: ToolResponse, display: DisplayEnvelope, budget: int) -> ToolResponse:
        return replace(right(response, display, budget), lossy=False)

    context_budget._with_reference = with_reference


def true_is_a_number() -> None:
    """Hand on `true` and `false` to parameters that take numbers, as Python counts them for some (XMCP-CLI-036)."""
    right = dependencies._fits

    def fits(validator: Any, values: Mapping[str, Any]) -> bool:
        numbers = {name: int(value) if isinstance(value, bool) else value for name, value in values.items()}
        return right(validator, values) or right(validator, numbers)

    dependencies._fits = fits


def doubts_lost_connections_alone() -> None:
    """Put `unknown` in the place of `none` for `CONNECTION_FAILED` only, not for other last errors (XMCP-CLI-132)."""
    right = retry_policy._in_doubt
    retry_policy._in_doubt = lambda error: right(error) if error.code == "CONNECTION_FAILED" else error


def each_chat_without_a_tenant_is_one() -> None:
    """Give each chat without a tenant a turn of its own when slots are given out (XMCP-CLI-117)."""

    def take_slot(slots: Slots) -> AttemptStage:
        async def in_a_slot(call: ActiveCall, proceed: NextOfAttempt) -> ServerResult:
            context = call.scope.context
            tenant = context.tenant_id or f"chat {context.chat_id}"
            await slots.take(tenant)
            try:
                return await proceed(call)
            finally:
                slots.give_back(tenant)

        return in_a_slot

    attempt.take_slot = take_slot


def second_level_in_written_order() -> None:
    """Go through the predecessors of predecessors from the first name to the last (XMCP-CLI-032)."""

    def nearest_first(start: Any, before: Callable[[Any], Sequence[Any]], limit: int | None = None) -> dict[Any, Any]:
        reached = {start: start}
        queue = [start]
        followed = 0
        for node in queue:
            row = before(node)
            followed += len(row)
            if limit is not None and followed > limit and node != start:
                break
            for found in reversed(row) if node == start else row:
                if found not in reached:
                    reached[found] = node
                    queue.append(found)
        del reached[start]
        return reached

    dependencies.nearest_first = nearest_first


def unpacks_json_in_texts() -> None:
    """Send the list or the object that a text of the model is, where the schema wants one (XMCP-CLI-012)."""
    right_stage = attempt.call_server

    def unpacked(value: Any, schema: Any) -> Any:
        wanted = schema.get("type") if isinstance(schema, Mapping) else None
        if isinstance(value, str) and wanted in ("array", "object"):
            try:
                read = json.loads(value)
            except (ValueError, RecursionError):
                return value
            return read if isinstance(read, list if wanted == "array" else dict) else value
        return value

    def call_server(timeouts: Mapping[str, float]) -> AttemptStage:
        right = right_stage(timeouts)

        async def ask_the_server(call: ActiveCall, proceed: NextOfAttempt) -> ServerResult:
            known = call.entry.input_schema.get("properties")
            if isinstance(known, Mapping):
                call.settled = {name: unpacked(value, known.get(name)) for name, value in call.arguments.items()}
            return await right(call, proceed)

        return ask_the_server

    attempt.call_server = call_server


def time_left_when_the_call_began() -> None:
    """Compare a wait with what the chat had left when the call began, and not with what it has left (XMCP-CLI-040)."""
    right = retry_policy.ends

    def ends(policy: RetryPolicy, failures: int, pause: float, elapsed: float, left: float | None) -> bool:
        return right(policy, failures, pause, elapsed, None if left is None else left + elapsed)

    retry_policy.ends = ends
