"""Twenty further faults, each put into the reference client of this process by one function."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Collection, Mapping, MutableSequence, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from xmcp.chat import client_made_errors, messages
from xmcp.chat.completions import ToolCall, VendorState
from xmcp.chat.errors import CallFailed
from xmcp.chat.events import Done, StopReason, ToolEvent, ToolResult
from xmcp.chat.messages import Message
from xmcp.client.calls import (
    app_parameters,
    attempt,
    breaker_guard,
    cache,
    context_budget,
    pipeline,
    server_results,
)
from xmcp.client.calls.active_call import ActiveCall, AnyStage
from xmcp.client.calls.pipeline import Outcome, Pipeline
from xmcp.client.calls.server_results import Reading
from xmcp.client.hooks.middleware import ToolState
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.turn import ToolTurn
from xmcp.client.slots import Slots
from xmcp.client.tools import dependencies, meta_tools, names
from xmcp.client.tools.catalogue import Entry
from xmcp.client.tools.dependencies import FilledArguments, Result
from xmcp.client.tools.names import Listing
from xmcp.wire import DecodeError, DisplayEnvelope, ErrorInfo, ToolResponse, decode
from xmcp_models.registry import RESULT_META_KEY


def mends_the_order_in_place() -> None:
    """Where the application's history has the tool messages of a turn in another order than the calls, put them in
    order in the application's own list (XMCP-CLI-001).
    """
    right = messages.begin

    def begin(history: Sequence[Message], query: str) -> list[dict[str, Any]]:
        made = right(history, query)
        ordered = messages._in_call_order([dict(message) for message in history])
        if isinstance(history, MutableSequence) and ordered != list(history):
            history[:] = ordered
        return made

    messages.begin = begin


def a_failure_keeps_what_was_filled_in() -> None:
    """Where a result failed and its document has no `error`, write the document's `server_populated` beside the error
    of the client's own (XMCP-CLI-003: the error, the display, and nothing else of the server's).
    """
    right = server_results._read_document

    def read_document(result: Any, tool_name: str) -> Reading:
        reading = right(result, tool_name)
        text = getattr(result.content[0], "text", None) if result.content else None
        if result.is_error and reading.document is None and isinstance(text, str):
            try:
                given = decode(text, bad_display="drop")
            except DecodeError:
                return reading
            if given.error is None:
                reading.response.server_populated = given.server_populated
        return reading

    server_results._read_document = read_document


def no_slot_is_a_limit() -> None:
    """When the time of a chat is over, answer a call that waited for a slot with `RATE_LIMIT`, not with `TIMEOUT`
    (XMCP-CLI-004). What was under way, or waited for another call, is right.
    """
    right, waited = ToolTurn._end, list[ToolCall]()

    def take_slot(slots: Slots) -> Any:
        async def in_a_slot(call: ActiveCall, proceed: Any) -> Any:
            try:
                await slots.take(call.scope.context.tenant_id)
            except asyncio.CancelledError:
                waited.append(call.request.call)
                raise
            try:
                return await proceed(call)
            finally:
                slots.give_back(call.scope.context.tenant_id)

        return in_a_slot

    def end(self: ToolTurn, index: int, outcome: Outcome) -> None:
        over = self.timed_out and outcome.response.error == client_made_errors.chat_timed_out()
        if over and any(call is outcome.call for call in waited):
            no_slot = ErrorInfo("RATE_LIMIT", "No slot became free in time.", meta={"side_effects": "unknown"})
            outcome = self._failed(outcome.call, no_slot)
        right(self, index, outcome)

    attempt.take_slot = take_slot
    ToolTurn._end = end


def knows_the_first_id_of_each_message() -> None:
    """Of each assistant message in the application's history, compare the ids of new calls with that of its first call
    alone (XMCP-CLI-005).
    """

    def call_ids(history: Sequence[Message]) -> set[str]:
        return {calls[0]["id"] for message in history if (calls := message.get("tool_calls"))}

    messages.call_ids = call_ids


def a_text_that_stops_is_the_answer() -> None:
    """Where the `finish_reason` is `stop`, and the answer has text beside its calls, make none of the calls
    (XMCP-CLI-123). Without text, or with `tool_calls` or `length`, all is right.
    """
    right = Chat._pieces

    async def pieces(self: Chat, model: Any, state: Any) -> AsyncGenerator[str, None]:
        async with aclosing(right(self, model, state)) as said:
            async for piece in said:
                yield piece
        done = self._completion
        if done.finish_reason == "stop" and done.text.strip() and done.tool_calls:
            self._completion = replace(done, tool_calls=())

    Chat._pieces = pieces


def a_refused_question_is_asked() -> None:
    """End the chat with the question of a `__clarify__` that is above the limit of calls in a turn, and was answered
    with `RATE_LIMIT` (XMCP-CLI-061): such a call has no effect.
    """
    right = ToolTurn.meta_tool_text

    def meta_tool_text(self: ToolTurn, tool: str) -> str:
        text = right(self, tool)
        if text or tool != meta_tools.CLARIFY or tool not in self._meta_tools:
            return text
        above = [*zip(self._calls, self._arguments, strict=False)][self._max_calls :]
        for call, arguments in above:
            if call.name == tool and isinstance(arguments, dict):
                text = meta_tools.text_of(tool, arguments) or text
        return text

    ToolTurn.meta_tool_text = meta_tool_text


def an_empty_text_beside_a_display_is_a_value() -> None:
    """Hand on the empty text of a document that has an empty `llm_output` and a display, as the whole result
    (XMCP-CLI-031): an empty text beside a display counts as none.
    """
    right = Result.of.__func__

    def of(cls: type[Result], response: ToolResponse, structured_content: Any, entry: Entry) -> Result | None:
        result: Result | None = right(cls, response, structured_content, entry)
        alone = result is not None and structured_content is None and response.display is not None
        return cls("", False) if alone and response.llm_output == "" else result

    Result.of = classmethod(of)


def what_does_not_fit_is_not_handed_on() -> None:
    """Where a value that is handed on does not fit, and the model wrote one itself, make the call with the model's
    (XMCP-CLI-036). Where the model left the parameter out, the call gets `DEPENDENCY_FAILED`.
    """
    right = dependencies.fill_arguments

    def fill_arguments(
        call: int,
        arguments: Mapping[str, Any],
        entries: Sequence[Entry | None],
        graph: dependencies.Graph,
        results: Sequence[Result | None],
        hidden: Collection[str] = (),
    ) -> FilledArguments | ErrorInfo:
        filled = right(call, arguments, entries, graph, results, hidden)
        fields = (filled.meta or {}).get("fields") if isinstance(filled, ErrorInfo) else None
        pointers = [field["pointer"] for field in fields or ()]
        unfit = [pointer[1:].replace("~1", "/").replace("~0", "~") for pointer in pointers]
        if unfit and all(name in arguments for name in unfit):
            return right(call, arguments, entries, graph, results, [*hidden, *unfit])
        return filled

    dependencies.fill_arguments = fill_arguments


class _SaidTimeout(CallFailed):
    """An answer that a circuit breaker is told of as if there was none."""

    def __init__(self, result: Any) -> None:
        super().__init__(client_made_errors.timed_out(1.0), cause="time_out")
        self.result = result


def the_code_tells_the_breaker() -> None:
    """Let a circuit breaker count a result whose error has the code `TIMEOUT` as a time-out (XMCP-CLI-042), as a
    breaker does that looks at the code of what the model gets.
    """
    right = breaker_guard.stage

    def stage(breakers: Any) -> Any:
        inner: Any = right(breakers)
        if inner is None:
            return None

        async def ask_the_breaker(call: ActiveCall, proceed: Any) -> Any:
            async def judged(call: ActiveCall) -> Any:
                result = await proceed(call)
                speaks = call.entry.server.speaks_xmcp
                error = server_results.read(result, call.name, speaks_xmcp=speaks).response.error
                if error is not None and error.code == "TIMEOUT":
                    raise _SaidTimeout(result)
                return result

            try:
                return await inner(call, judged)
            except _SaidTimeout as said:
                return said.result

        return ask_the_breaker

    breaker_guard.stage = stage


def asks_the_breaker_before_the_slot() -> None:
    """Ask the circuit breaker before a call waits for its slot, so that calls which already waited when it opened are
    sent (XMCP-CLI-043).
    """
    right = pipeline.stages_of

    def stages_of(made: Pipeline) -> tuple[AnyStage, ...]:
        stages = list(right(made))
        places = {getattr(stage, "__name__", ""): place for place, stage in enumerate(stages)}
        if "ask_the_breaker" in places and "in_a_slot" in places:
            stages.insert(places["in_a_slot"], stages.pop(places["ask_the_breaker"]))
        return tuple(stages)

    pipeline.stages_of = stages_of


def what_comes_back_does_not_matter() -> None:
    """Answer a call from the cache with what was answered when the tool had another `outputSchema`, as long as all else
    that its server says of it is the same (XMCP-CLI-051).
    """
    right = cache.key

    def key(tenant_id: str | None, entry: Entry, arguments: dict[str, Any]) -> str | None:
        hints = [entry.cacheable, entry.read_only, entry.idempotent, entry.provides, entry.depends_on]
        same = json.dumps([entry.description, entry.input_schema, *hints], sort_keys=True).encode()
        return right(tenant_id, replace(entry, fingerprint=hashlib.sha256(same).hexdigest()), arguments)

    cache.key = key


def blocks_come_last() -> None:
    """In `displays` of the result, list what was made of blocks for the person after the displays of all tools of the
    turn (XMCP-CLI-063); the events are right.
    """
    right = Chat._take

    def take(self: Chat, turn: ToolTurn) -> None:
        ended = [outcome.response for outcome in turn.outcomes if outcome is not None]
        blocks = {id(display) for response in ended for display in response.for_person}
        turn.displays.sort(key=lambda display: id(display) in blocks)
        right(self, turn)

    Chat._take = take


def thinking_is_no_turn() -> None:
    """Do not count a turn whose only calls are of `__think__` for the limit of turns (XMCP-CLI-070), up to five of
    them in a chat.
    """
    right = Chat._take

    def take(self: Chat, turn: ToolTurn) -> None:
        right(self, turn)
        thought = vars(self).get("_thought", 0)
        think = meta_tools.THINK
        if think in turn._meta_tools and all(call.name == think for call in turn._calls) and thought < 5:
            vars(self)["_thought"] = thought + 1
            self._settings = replace(self._settings, max_turns=self._settings.max_turns + 1)

    Chat._take = take


def answers_for_a_silent_model() -> None:
    """Where the model writes nothing after a turn of calls, give the text of the last tool as the `answer`
    (XMCP-CLI-072); the `stop_reason` is `empty`, and where there were no calls before, the `answer` is `null`.
    """
    right = Chat._answered

    def answered(self: Chat, stop_reason: StopReason, text: str, vendor_state: VendorState | None = None) -> Done:
        last = self.messages[-1]
        if stop_reason == "empty" and self._turn > 1 and last["role"] == "tool":
            said = decode(last["content"], bad_display="drop").llm_output
            if said:
                self._text.clear()
                return self._done(stop_reason, said)
        return right(self, stop_reason, text, vendor_state)

    Chat._answered = answered


def what_is_not_declared_is_the_model_s() -> None:
    """Send what the model wrote for a parameter of the application to a tool whose schema does not name it
    (XMCP-CLI-083); where the schema names it, the application's value is sent.
    """
    right = app_parameters.filled

    async def filled(params: Mapping[str, Any], entry: Entry, state: ToolState) -> dict[str, Any] | ErrorInfo:
        made = await right(params, entry, state)
        if isinstance(made, ErrorInfo):
            return made
        written = {name: state.arguments[name] for name in params if name in state.arguments}
        return {**made, **{name: value for name, value in written.items() if name not in entry.declared}}

    app_parameters.filled = filled


def says_the_name_of_a_server_once() -> None:
    """Offer a tool whose own name begins with the server's name and an underscore, such as `crm_find` of `crm`, without
    the prefix (XMCP-CLI-092).
    """
    right = names._full

    def full(listing: Listing, tool: str) -> str:
        return tool if listing.named and tool.startswith(f"{listing.server}_") else right(listing, tool)

    names._full = full


def a_reference_is_always_small() -> None:
    """Send a reference in the place of a large display also where its title makes the reference itself larger than the
    display budget (XMCP-DSP-040).
    """

    def with_reference(response: ToolResponse, display: DisplayEnvelope, budget: int) -> ToolResponse:
        return replace(response, display=context_budget.reference(display))

    context_budget._with_reference = with_reference


def the_event_says_what_the_model_reads() -> None:
    """Where a result has blocks for the person, give the event `tool_result` the text of the document in the history,
    with the client's own lines about these blocks (XMCP-REC-006).
    """
    right = ToolTurn._outcome_events

    def outcome_events(self: ToolTurn, index: int) -> Sequence[ToolEvent]:
        events, outcome = list(right(self, index)), self.outcomes[index]
        if outcome is None or not outcome.response.for_person:
            return events
        text = decode(outcome.content, bad_display="drop").llm_output or ""
        return [replace(event, text=text) if isinstance(event, ToolResult) else event for event in events]

    ToolTurn._outcome_events = outcome_events


def looks_like_a_document() -> None:
    """Read the first text of a plain result as a document where it is one, whatever `form` says (XMCP-MCP-043)."""
    right = server_results.read

    def read(result: Any, tool_name: str, *, speaks_xmcp: bool) -> Reading:
        mark = (result.meta or {}).get(RESULT_META_KEY)
        text = getattr(result.content[0], "text", None) if result.content else None
        if speaks_xmcp and isinstance(mark, Mapping) and mark.get("form") == "plain" and isinstance(text, str):
            try:
                decode(text)
            except DecodeError:
                pass
            else:
                meta = {name: value for name, value in result.meta.items() if name != RESULT_META_KEY}
                result = result.model_copy(update={"meta": meta})
        return right(result, tool_name, speaks_xmcp=speaks_xmcp)

    server_results.read = read


def an_error_is_warning_enough() -> None:
    """Do not warn the application of a display that was dropped where the document has an `error` beside it
    (XMCP-RSP-072).
    """
    right = server_results._read_document

    def read_document(result: Any, tool_name: str) -> Reading:
        reading = right(result, tool_name)
        if reading.document is None and reading.response.error is not None:
            reading.response.warnings = ()
        return reading

    server_results._read_document = read_document
