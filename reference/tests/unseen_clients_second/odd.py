"""Four more clients that are unusual and obey every sentence."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from xmcp.chat import client_made_errors
from xmcp.chat.errors import CallFailed
from xmcp.chat.events import ChatChunk, ChatWarning, ToolWarning
from xmcp.client.calls import context_budget, pipeline, retry_policy
from xmcp.client.calls.active_call import ActiveCall, Next, Stage
from xmcp.client.calls.pipeline import Pipeline
from xmcp.client.calls.retry_policy import RetryPolicy
from xmcp.client.calls.server_results import Reading
from xmcp.client.loop.chat import Chat
from xmcp.client.tools import meta_tools
from xmcp.storage import breakers as circuits
from xmcp.storage.breakers import MemoryBreakers, Refused
from xmcp.wire import REFERENCE_TYPE, DisplayEnvelope, ErrorInfo, ToolResponse


def speaks_german() -> None:
    """Word errors, warnings and the answers of its own tools in German, and say little in `meta` (section 11.11)."""
    right_error = client_made_errors._error
    quoting = ("tool_failed", "refused_arguments", "not_approved")

    def error(row: str, *, meta: Any = None, **values: Any) -> ErrorInfo:
        made = right_error(row, meta=meta, **values)
        if row in quoting:
            return made
        kept = {name: made.meta[name] for name in ("side_effects", "fields") if made.meta and name in made.meta}
        return replace(made, message=f"Das ging leider nicht ({row.replace('_', '-')}).", meta=kept or None)

    def german(right: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
        def to_json(event: Any) -> dict[str, Any]:
            written = right(event)
            return {**written, "text": f"Hinweis: {written['text']}"}

        return to_json

    client_made_errors._error = error
    for kind in (ToolWarning, ChatWarning):
        kind.to_json = german(kind.to_json)
    for name, (parameter, description, of_parameter, _) in meta_tools._TOOLS.items():
        meta_tools._TOOLS[name] = (parameter, description, of_parameter, "Erledigt.")


def tells_the_model_less() -> None:
    """Name no text for the user alone, and give references an id and no note: both are open (sections 3.5 and 6.4)."""
    right_for_model, right_line = context_budget.for_model, context_budget._reference_line

    def for_model(response: ToolResponse, *further: Any) -> str:
        named = tuple(shown for shown in response.for_person if shown.type not in ("text", "markdown"))
        return right_for_model(replace(response, for_person=named), *further)

    def reference(display: DisplayEnvelope, *, note: bool = True) -> DisplayEnvelope:
        payload = {"type": display.type, "bytes": context_budget.size(display)}
        more: dict[str, Any] = {"id": display.id} if note and display.id is not None else {}
        more |= {"meta": {"acme/replaced": True}} if note else {}
        return DisplayEnvelope(type=REFERENCE_TYPE, title=display.title, payload=payload, **more)

    def reference_line(display: DisplayEnvelope) -> str:
        return right_line(display).replace(": shown to the person, not visible to you]", "; the person has it]")

    context_budget.for_model = for_model
    context_budget.reference = reference
    context_budget._reference_line = reference_line


def back_to_the_first_model() -> None:
    """Begin each turn with the first model, also after another one had to answer: that is open (section 11.11)."""
    right = Chat._ask

    async def ask(self: Chat, catalogue: Any) -> AsyncGenerator[ChatChunk, None]:
        self._model = 0
        async with aclosing(right(self, catalogue)) as events:
            async for event in events:
                yield event

    Chat._ask = ask


def asks_the_breaker_before_the_wait() -> None:
    """Answer `CIRCUIT_OPEN` at once, without an event `retry`, where the breaker holds the retry back (11.11)."""
    right_stages, right_stage = pipeline.stages_of, retry_policy.stage
    stores: list[Any] = []

    def stages_of(built: Pipeline) -> tuple[Any, ...]:
        stores.append(built.breakers)
        return right_stages(built)

    def stage(policy: RetryPolicy, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> Stage:
        store, right = stores[-1], right_stage(policy, sleep)

        async def retry(call: ActiveCall, proceed: Next) -> Reading:
            failures = 0

            async def make(call: ActiveCall) -> Reading:
                nonlocal failures
                reading, failed = None, None
                try:
                    reading = await proceed(call)
                    error = reading.response.error
                except CallFailed as exc:
                    failed, error = exc, exc.error
                if error is not None and retry_policy.allowed(error, call.entry):
                    failures += 1
                    until, now = call.deadline(), asyncio.get_running_loop().time()
                    pause, left = (error.retry_after_ms or 0) / 1000, None if until is None else until - now
                    wait = _held_back(store, call.entry.server.identity)
                    if wait is not None and not retry_policy.ends(policy, failures, pause, 0.0, left):
                        held = client_made_errors.circuit_open(call.entry.server.name, wait, sent=True)
                        raise CallFailed(held) from failed
                if failed is not None:
                    raise failed
                assert reading is not None
                return reading

            return await right(call, make)

        return retry

    pipeline.stages_of = stages_of
    retry_policy.stage = stage


def _held_back(store: Any, server: str) -> float | None:
    """Return for how many seconds a breaker holds the calls of a server back; `None` if it does not."""
    if not isinstance(store, MemoryBreakers):
        return None
    _, verdict = circuits.admit(store._circuits.get(server, circuits.Circuit()), store._rules, store._clock())
    return verdict.retry_after if isinstance(verdict, Refused) else None
