"""Twelve clients that each break one sentence, as somebody who writes a client might by mistake."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Hashable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, TypeVar

from xmcp.chat.arguments import parse_arguments
from xmcp.chat.errors import ProviderError
from xmcp.chat.events import LLMDelta, LLMRetry
from xmcp.client.calls import approval, attempt, cache, context_budget, server_results
from xmcp.client.calls.active_call import ActiveCall, AttemptStage, NextOfAttempt
from xmcp.client.calls.approval import Approve
from xmcp.client.calls.server_results import ServerResult
from xmcp.client.hooks.log import EventLog
from xmcp.client.hooks.middleware import ToolState
from xmcp.client.loop import fallback, turn
from xmcp.client.loop.chat import Chat
from xmcp.client.slots import Slots
from xmcp.client.tools import dependencies
from xmcp.client.tools.catalogue import Entry
from xmcp.storage import breakers
from xmcp.storage.breakers import Circuit, Outcome, Rules
from xmcp.wire import BadDisplay, DisplayEnvelope, ErrorInfo, ToolResponse, decode
from xmcp.wire.response import _ALIASES

Node = TypeVar("Node", bound=Hashable)


def bad_display_spoils_an_error() -> None:
    """A display that is no envelope is dropped beside a text, but beside an error the whole document is refused."""

    def strict_with_errors(data: str | bytes, *, bad_display: BadDisplay = "raise") -> ToolResponse:
        response = decode(data, bad_display=bad_display)
        return response if response.error is None else decode(data)

    put(server_results, "decode", strict_with_errors)


def fallback_is_not_measured() -> None:
    """The display budget is for the display alone, because no renderer shows its fallback, too."""
    whole, refer = context_budget.size, context_budget.reference

    def size(display: DisplayEnvelope) -> int:
        return whole(display.model_copy(update={"fallback": None}))

    def reference(display: DisplayEnvelope, *, note: bool = True) -> DisplayEnvelope:
        made = refer(display, note=note)
        payload = made.payload if isinstance(made.payload, dict) else {}
        return made.model_copy(update={"payload": {**payload, "bytes": whole(display)}})

    put(context_budget, "size", size)
    put(context_budget, "reference", reference)


def category_of_an_alias_is_internal() -> None:
    """The category of an error in a document is looked up under its code, and never under that of an alias."""

    def without_aliases(data: str | bytes, *, bad_display: BadDisplay = "raise") -> ToolResponse:
        response = decode(data, bad_display=bad_display)
        error = response.error
        if error is not None and error.code in _ALIASES and "category=" not in str(data).partition("<error")[2]:
            response.error = replace(error, category="internal")
        return response

    put(server_results, "decode", without_aliases)


def message_of_a_failure_repeats_the_person() -> None:
    """Structured content is compared with the blocks for the person, but not the message that is taken out of it."""
    compared: Callable[[Any, Any], bool] = server_results._repeat_what_is_for_the_user

    def repeats(data: Any, blocks: Any) -> bool:
        return not isinstance(data, str) and compared(data, blocks)

    put(server_results, "_repeat_what_is_for_the_user", repeats)


def predecessors_depth_first() -> None:
    """The predecessors of a call are gone through depth first: with each also all that it depends on."""

    def depth_first(
        start: Node,
        before: Callable[[Node], Sequence[Node]],
        limit: int | None = None,
    ) -> dict[Node, Node]:
        reached: dict[Node, Node] = {}
        waiting = [(found, start) for found in before(start)]
        while waiting:
            node, through = waiting.pop()
            if node != start and node not in reached:
                reached[node] = through
                waiting += [(found, node) for found in before(node)]
        return reached

    put(dependencies, "nearest_first", depth_first)


def true_is_one_in_the_cache() -> None:
    """The key of a cached answer is made of values that Python takes for equal: `true` and 1, `false` and 0."""
    make = cache.key

    def key(tenant_id: str | None, entry: Entry, arguments: dict[str, Any]) -> str | None:
        return make(tenant_id, entry, _with_numbers(arguments))

    put(cache, "key", key)


def reopened_from_the_start_of_the_probe() -> None:
    """After a probe that failed, a breaker stays open for its time from the moment at which the probe began."""
    decide = breakers.record

    def record(circuit: Circuit, rules: Rules, token: str, outcome: Outcome, now: float) -> Circuit:
        new = decide(circuit, rules, token, outcome, now)
        if circuit.state == "half_open" and new.state == "open" and outcome in ("failed", "lost"):
            return replace(new, until=circuit.until - rules.probe_timeout + rules.reset_after)
        return new

    put(breakers, "record", record)


def nothing_shown_nothing_void() -> None:
    """An answer that broke off and is asked for again is told only if a piece of its text had been told."""
    ask, decide = Chat._ask, fallback.next_step
    broke_off = [False]

    def next_step(error: ProviderError, *, repeated: bool, more: bool) -> str:
        broke_off[0] = error.began
        return decide(error, repeated=repeated, more=more)

    async def told(chat: Chat, catalogue: Any) -> AsyncGenerator[Any, None]:
        shown = False
        async with aclosing(ask(chat, catalogue)) as events:
            async for event in events:
                if isinstance(event, LLMRetry) and broke_off[0] and not shown:
                    continue
                shown = isinstance(event, LLMDelta) or (shown and not isinstance(event, LLMRetry))
                yield event

    put(fallback, "next_step", next_step)
    put(Chat, "_ask", told)


def approvals_are_remembered() -> None:
    """What was approved once counts for every later call of the chat with the same tool and arguments."""
    ask = approval.refusal
    approved: set[tuple[str, str, str]] = set()

    async def refusal(approve: Approve, state: ToolState, timeout: float | None, log: EventLog) -> ErrorInfo | None:
        call = state.chat.chat_id, state.tool_name, json.dumps(state.arguments, sort_keys=True)
        if call in approved:
            return None
        error = await ask(approve, state, timeout, log)
        if error is None:
            approved.add(call)
        return error

    put(approval, "refusal", refusal)


def arguments_in_a_string() -> None:
    """Arguments that are a JSON string with an object in it, written as JSON twice, are taken for the object."""

    def parse_twice(text: str) -> dict[str, Any] | ErrorInfo:
        parsed = parse_arguments(text)
        if isinstance(parsed, ErrorInfo) and text.strip().startswith('"'):
            try:
                inner = json.loads(text)
            except ValueError:
                return parsed
            again = parse_arguments(inner) if isinstance(inner, str) and inner.strip() else parsed
            return again if isinstance(again, dict) else parsed
        return parsed

    put(turn, "parse_arguments", parse_twice)


def failed_requests_of_the_chat() -> None:
    """The `attempt` of a `retry` of the model counts the failed requests of the chat, not those of the turn."""
    ask = Chat._ask

    async def counted(chat: Any, catalogue: Any) -> AsyncGenerator[Any, None]:
        async with aclosing(ask(chat, catalogue)) as events:
            async for event in events:
                if isinstance(event, LLMRetry):
                    chat.failed_requests = getattr(chat, "failed_requests", 0) + 1
                    yield replace(event, attempt=chat.failed_requests)
                else:
                    yield event

    put(Chat, "_ask", counted)


def each_chat_without_a_tenant_is_one() -> None:
    """For a free slot, chats without a tenant do not count as one tenant: each has turns of its own."""

    def take_slot(slots: Slots) -> AttemptStage:
        async def in_a_slot(call: ActiveCall, proceed: NextOfAttempt) -> ServerResult:
            context = call.scope.context
            tenant = f"chat {context.chat_id}" if context.tenant_id is None else context.tenant_id
            await slots.take(tenant)
            try:
                return await proceed(call)
            finally:
                slots.give_back(tenant)

        return in_a_slot

    put(attempt, "take_slot", take_slot)


def _with_numbers(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, Mapping):
        return {name: _with_numbers(member) for name, member in value.items()}
    return [_with_numbers(item) for item in value] if isinstance(value, list) else value


def put(where: Any, name: str, value: Any) -> None:
    """Set what a module or a class has under a name; it is an error if it has nothing there."""
    if not hasattr(where, name):
        raise AttributeError(f"{where!r} has no {name}: there is nothing to change.")
    setattr(where, name, value)
