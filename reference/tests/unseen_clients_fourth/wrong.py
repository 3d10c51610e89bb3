"""Twelve further faults, each put into the reference client of this process by one function."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from itertools import count
from typing import TYPE_CHECKING, Any

from xmcp.chat import client_made_errors
from xmcp.chat.completions import ToolCall, VendorState
from xmcp.chat.events import ChatChunk, Done, LLMDelta, LLMRetry, StopReason
from xmcp.chat.messages import assistant_message
from xmcp.chat.tool_schemas import legal_name
from xmcp.client.calls import approval, content_blocks, context_budget, pipeline, retry_policy
from xmcp.client.calls.active_call import AnyStage
from xmcp.client.calls.approval import Approve
from xmcp.client.calls.pipeline import Outcome, Pipeline
from xmcp.client.hooks import metering
from xmcp.client.hooks.log import EventLog
from xmcp.client.hooks.middleware import LLMState, ToolState
from xmcp.client.hooks.quota_accounts import NOTHING, Amount
from xmcp.client.loop import turn
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.turn import ToolTurn
from xmcp.client.servers import pool
from xmcp.client.tools import dependencies
from xmcp.client.tools.catalogue import Catalogue, Entry, ToolServer
from xmcp.client.tools.dependencies import Result
from xmcp.client.tools.names import Assigned
from xmcp.storage import breakers
from xmcp.storage.breakers import Circuit, Rules
from xmcp.wire import XML_WHITE_SPACE, DisplayEnvelope, ErrorInfo, ToolResponse

if TYPE_CHECKING:
    from mcp_types import ContentBlock, Tool


def retries_what_was_limited() -> None:
    """Take an error of the category `rate_limited` for a call that was not made, and make it again, whatever the tool
    says of itself and whatever `side_effects` says (XMCP-ERR-040).
    """
    right = retry_policy.allowed

    def allowed(error: ErrorInfo, entry: Entry) -> bool:
        return right(error, entry) or (error.retryable is True and error.category == "rate_limited")

    retry_policy.allowed = allowed


def takes_the_end_of_the_chat_for_a_failure() -> None:
    """When the time of a chat is over, answer a call that waited for one that was cut off with `DEPENDENCY_FAILED`,
    as if the tool had failed (XMCP-CLI-035). When the chat is cancelled, all is right.
    """
    right = ToolTurn._end

    def end(self: ToolTurn, index: int, outcome: Outcome) -> None:
        cut: set[int] = self.__dict__.setdefault("_cut", set())
        error = outcome.response.error
        if self.timed_out and error == client_made_errors.chat_timed_out():
            cut.add(index)
            for needed in self._predecessors[index]:
                entry = self._entries[needed]
                if entry is not None and (needed in cut or self.outcomes[needed] is None):
                    outcome = self._failed(outcome.call, client_made_errors.failed_dependency(entry.name))
                    break
        right(self, index, outcome)

    ToolTurn._end = end


def a_cancelled_probe_has_failed() -> None:
    """Let a circuit breaker stay open for its whole time again when the chat of its probe was cancelled or out of time
    (XMCP-CLI-101): the next call should have been the probe.
    """
    right = breakers.record

    def record(circuit: Circuit, rules: Rules, token: str, outcome: breakers.Outcome, now: float) -> Circuit:
        if outcome == "unknown" and circuit.state == "half_open":
            outcome = "failed"
        return right(circuit, rules, token, outcome, now)

    breakers.record = record


def asks_the_cache_before_the_application() -> None:
    """Look into the cache before the application fills in its parameters, so that their values are no part of the key
    (XMCP-CLI-051).
    """
    right = pipeline.stages_of

    def stages_of(made: Pipeline) -> tuple[AnyStage, ...]:
        stages = list(right(made))
        places = {getattr(stage, "__name__", ""): place for place, stage in enumerate(stages)}
        if "use_cache" in places and "fill_parameters" in places:
            stages.insert(places["fill_parameters"], stages.pop(places["use_cache"]))
        return tuple(stages)

    pipeline.stages_of = stages_of


def the_last_to_end_hands_on() -> None:
    """Of several calls of one tool hand on the result of the one that ended last, not of the last one in call order
    (XMCP-CLI-034).
    """
    right = Result.of.__func__
    numbers = count()

    def of(cls: type[Result], response: ToolResponse, structured_content: Any, entry: Entry) -> Result | None:
        result: Result | None = right(cls, response, structured_content, entry)
        if result is not None:
            object.__setattr__(result, "ended", next(numbers))
        return result

    def successes(row: Sequence[int], entries: Sequence[Entry], results: Sequence[Result | None]) -> list[int]:
        latest: dict[str, tuple[int, int]] = {}
        for place in row:
            result, tool = results[place], entries[place].tool
            if result is not None:
                ended: int = result.ended
                latest[tool] = max(latest.get(tool, (-1, -1)), (ended, place))
        return [place for _, place in latest.values()]

    Result.of = classmethod(of)
    dependencies._successes = successes


def writes_the_main_parts_anew() -> None:
    """Where a display is too large for the model, write the document with text, error and reference alone: without the
    call's id, the text's format, the mark of a text that was cut, and what the server filled in (XMCP-CLI-003).
    """
    right = context_budget._with_reference

    def with_reference(response: ToolResponse, display: DisplayEnvelope, budget: int) -> ToolResponse:
        main = ToolResponse(
            response.tool_name, response.llm_output, response.display, response.error, lossy=response.lossy
        )
        return right(main, display, budget)

    context_budget._with_reference = with_reference


def half_an_audience_is_alone() -> None:
    """Take a block for the user and the model, whose `audience` names both, for one for the user alone: its text does
    not reach the model (XMCP-MCP-011).
    """

    def is_for_user_alone(block: ContentBlock) -> bool:
        return "user" in content_blocks._audience(block)

    content_blocks.is_for_user_alone = is_for_user_alone


def approves_a_tool_once() -> None:
    """Ask for the first call of a tool in a chat, and make each later call of that tool without (XMCP-CLI-080)."""
    right = approval.refusal

    async def refusal(approve: Approve, state: ToolState, timeout: float | None, log: EventLog) -> ErrorInfo | None:
        approved: set[str] = state.chat.state.setdefault("approved_tools", set())
        if state.tool_name in approved:
            return None
        error = await right(approve, state, timeout, log)
        if error is None:
            approved.add(state.tool_name)
        return error

    approval.refusal = refusal


def out_of_time_costs_nothing() -> None:
    """Count nothing against the quota for an answer that the time limit of the chat ended (XMCP-CLI-115); one that was
    cancelled or broke off counts.
    """
    right = metering.Meter.used

    def used(self: metering.Meter, state: LLMState, reservation: Any) -> Amount:
        if state.completion is None and isinstance(state.error, TimeoutError):
            return NOTHING
        return right(self, state, reservation)

    metering.Meter.used = used


def counts_calls_of_servers_only() -> None:
    """Count for the limit of calls in a turn only calls of tools that a server has, and not those of the client's own
    tools or of unknown ones (XMCP-CLI-105).
    """
    right = ToolTurn.__init__

    def init(
        self: ToolTurn, number: int, catalogue: Catalogue, text: str, calls: Sequence[ToolCall], **options: Any
    ) -> None:
        limit, counted, allowed = options.get("max_calls", turn.MAX_CALLS), 0, 0
        for call in calls:
            counted += legal_name(call.name) in catalogue.entries
            if counted > limit:
                break
            allowed += 1
        right(self, number, catalogue, text, calls, **{**options, "max_calls": max(allowed, limit)})

    ToolTurn.__init__ = init


def frees_the_name_of_a_tool_that_went_away() -> None:
    """Forget the name of a tool as soon as its server does not list it any more, so that a new tool of another server
    gets it (XMCP-CLI-091).
    """
    right = pool.build

    def build(
        servers: Sequence[tuple[ToolServer, Sequence[Tool]]],
        version: int,
        warnings: Sequence[str] = (),
        *,
        previous: Catalogue | None = None,
        **options: Any,
    ) -> Catalogue:
        names = previous.names if previous is not None else None
        if isinstance(names, Assigned):
            listed = [{tool.name for tool in tools} for _, tools in servers]
            for place, tool in [key for key in names if key[1] not in listed[key[0]]]:
                names.taken.discard(names.pop((place, tool)))
        return right(servers, version, warnings, previous=previous, **options)

    pool.build = build


def keeps_the_text_that_is_void() -> None:
    """Where an answer broke off, the model was asked again, and the second answer was ended by a cancellation or by the
    time of the chat, put the text of both into the history (XMCP-CLI-116), and at a time-out into the `answer`.
    """
    right_ask, right_answered = Chat._ask, Chat._answered

    async def ask(self: Chat, catalogue: Catalogue) -> AsyncGenerator[ChatChunk, None]:
        state: Any = self
        state._void, said = "", list[str]()
        try:
            async with aclosing(right_ask(self, catalogue)) as events:
                async for event in events:
                    if isinstance(event, LLMDelta):
                        said.append(event.text)
                    elif isinstance(event, LLMRetry):
                        state._void = "".join(said)
                    yield event
        except Exception as exc:
            if not isinstance(exc, TimeoutError):
                state._void = ""
            raise
        state._void = ""

    def begun(self: Chat) -> list[dict[str, Any]]:
        text = _void(self) + "".join(self._text)
        return [assistant_message(text)] if text.strip(XML_WHITE_SPACE) else []

    def answered(self: Chat, stop_reason: StopReason, text: str, vendor_state: VendorState | None = None) -> Done:
        return right_answered(self, stop_reason, _void(self) + text, vendor_state)

    Chat._ask = ask
    Chat._begun = begun
    Chat._answered = answered


def _void(chat: Chat) -> str:
    known: Mapping[str, Any] = vars(chat)
    text: str = known.get("_void", "")
    return text
