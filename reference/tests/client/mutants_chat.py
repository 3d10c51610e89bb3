"""Mutants of the requests to the model, the events for the application, and the end of a chat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import pytest
from mutants import breaks, rewrite_events

from xmcp.chat import client_made_errors, messages
from xmcp.chat.completions import unique_ids
from xmcp.chat.events import (
    ChatFailed,
    ChatResult,
    Done,
    LLMDelta,
    LLMReasoning,
    LLMRetry,
    ToolDisplay,
    ToolError,
    ToolResult,
)
from xmcp.client import ai_client
from xmcp.client.calls import context_budget, server_results
from xmcp.client.calls.progress import AttemptProgress
from xmcp.client.hooks import metering, quota_accounts
from xmcp.client.loop import usage
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.turn import ToolTurn
from xmcp.client.tools import meta_tools, schemas
from xmcp.wire import ErrorInfo, ToolResponse

CUT: ContextVar[bool] = ContextVar("cut", default=False)
"""Whether the vendor cut the answer whose calls are made, for a mutant that drops them."""


def rewrite_result(patch: pytest.MonkeyPatch, change: Callable[[Chat, Any], Mapping[str, Any]]) -> None:
    """Put the members that `change` returns into the result of each chat."""

    def changed(chat: Chat, event: Any) -> list[Any]:
        if not isinstance(event, Done):
            return [event]
        members = {key: event.result[key] for key in event.result}
        return [replace(event, result=ChatResult(**{**members, **change(chat, event.result)}))]

    rewrite_events(patch, Chat, changed)


@breaks("XMCP-CLI-001")
def appends_to_the_callers_list(patch: pytest.MonkeyPatch) -> None:
    """Appends what is said to the list that the application gave."""
    begin = messages.begin

    def appending(history: Any, query: str) -> list[dict[str, Any]]:
        new = begin(history, query)
        history[:] = new
        return new

    patch.setattr(messages, "begin", appending)


@breaks("XMCP-CLI-002")
def answers_in_reverse(patch: pytest.MonkeyPatch) -> None:
    """Puts the tool messages of a turn into the history in reverse order."""
    turn_messages = messages.turn_messages

    def reversed_messages(text: str, calls: Any, contents: Any) -> list[dict[str, Any]]:
        first, *rest = turn_messages(text, calls, contents)
        return [first, *reversed(rest)]

    patch.setattr(messages, "turn_messages", reversed_messages)


@breaks("XMCP-CLI-003")
def gives_the_model_bare_text(patch: pytest.MonkeyPatch) -> None:
    """Gives the model the text of a plain server's result instead of a document."""
    for_model = context_budget.for_model

    def bare(response: ToolResponse, document: str | None = None, *budgets: Any) -> str:
        text = response.llm_output
        if document is None and response.error is None and text and "<" not in text and not response.display:
            return text
        return for_model(response, document, *budgets)

    patch.setattr(context_budget, "for_model", bare)


@breaks("XMCP-CLI-004")
def calls_a_cancelled_call_a_fault(patch: pytest.MonkeyPatch) -> None:
    """Answers a call of `slow` that it cancelled with the code INTERNAL."""
    failed, unanswered = server_results.failed, messages._unanswered
    fault = ErrorInfo("INTERNAL", "It was cancelled.")

    def crashed(name: str, error: ErrorInfo) -> Any:
        return failed(name, fault if name == "slow" and error.code == "CANCELLED" else error)

    def failed_message(call: Any) -> str:
        return ToolResponse("slow", error=fault).to_xml() if call.name == "slow" else unanswered(call)

    patch.setattr(server_results, "failed", crashed)
    patch.setattr(messages, "_unanswered", failed_message)


@breaks("XMCP-CLI-005")
def keeps_ids_that_were_used(patch: pytest.MonkeyPatch) -> None:
    """Keeps the id that a model gave to a call of an earlier turn too."""
    patch.setattr("xmcp.client.loop.chat.unique_ids", lambda calls, taken: unique_ids(calls))


@breaks("XMCP-CLI-006")
def forgets_text_beside_calls(patch: pytest.MonkeyPatch) -> None:
    """Leaves the text that a model wrote beside its calls out of the history."""
    assistant = messages.assistant_message

    def silent(text: str, calls: Any = ()) -> dict[str, Any]:
        return assistant("" if calls else text, calls)

    patch.setattr(messages, "assistant_message", silent)


@breaks("XMCP-CLI-013")
def gives_up_after_a_failed_call(patch: pytest.MonkeyPatch) -> None:
    """Ends the chat after a turn in which every call failed."""
    take = Chat._take
    done = Chat._done
    gave_up: set[Chat] = set()

    def taken(chat: Chat, ended: ToolTurn) -> None:
        take(chat, ended)
        if not ended.timed_out and all(outcome and outcome.response.error for outcome in ended.outcomes):
            chat._settings = replace(chat._settings, max_turns=chat._turn)
            gave_up.add(chat)

    def stopped(chat: Chat, stop_reason: Any, answer: str = "") -> Done:
        return done(chat, "stop") if chat in gave_up else done(chat, stop_reason, answer)

    patch.setattr(Chat, "_take", taken)
    patch.setattr(Chat, "_done", stopped)


@breaks("XMCP-CLI-060")
def never_ends_with_a_display(patch: pytest.MonkeyPatch) -> None:
    """Asks the model again after a chain of calls of which only the last showed something."""
    shows = ToolTurn.shows_all.fget
    assert shows is not None

    def only_all(ended: ToolTurn) -> bool:
        shown = [outcome and outcome.response.display is not None for outcome in ended.outcomes]
        return bool(shows(ended)) and all(shown)

    patch.setattr(ToolTurn, "shows_all", property(only_all))


@breaks("XMCP-CLI-061")
def ends_with_any_display(patch: pytest.MonkeyPatch) -> None:
    """Ends a chat after a turn in which anything was shown and nothing failed."""

    def anything(ended: ToolTurn) -> bool:
        responses = [outcome.response for outcome in ended.outcomes if outcome]
        return not any(r.error for r in responses) and any(r.display for r in responses)

    patch.setattr(ToolTurn, "shows_all", property(anything))


@breaks("XMCP-CLI-062")
def ends_although_told_to_go_on(patch: pytest.MonkeyPatch) -> None:
    """Ends a chat after a display although the application wants the model's last word."""
    init = Chat.__init__

    def exiting(chat: Chat, settings: Any, *rest: Any) -> None:
        init(chat, replace(settings, display="exit"), *rest)

    patch.setattr(Chat, "__init__", exiting)


@breaks("XMCP-CLI-063")
def lists_displays_in_reverse(patch: pytest.MonkeyPatch) -> None:
    """Lists the displays of a chat last first."""
    rewrite_result(patch, lambda _, result: {"displays": result["displays"][::-1]})


@breaks("XMCP-CLI-064")
def stops_after_a_failing_callback(patch: pytest.MonkeyPatch) -> None:
    """Tells the model of a result where a callback for an error failed."""
    report = ToolTurn._call_hooks

    async def reported(ended: ToolTurn, place: int) -> int:
        failed = []
        hooks = ended._hooks

        def watched(hook: Any) -> Any:
            def call(value: Any, history: Any) -> None:
                try:
                    hook(value, history)
                except Exception:
                    failed.append(value)

            return call

        ended._hooks = replace(hooks, on_display=watched(hooks.on_display), on_error=watched(hooks.on_error))
        known = await report(ended, place)
        ended._hooks = hooks
        for number, outcome in enumerate(ended.outcomes[:known]):
            if outcome is not None and any(value is outcome.response.error for value in failed):
                ended.outcomes[number] = replace(outcome, content=ToolResponse("t", "It worked.").to_xml())
        return known

    patch.setattr(ToolTurn, "_call_hooks", reported)


@breaks("XMCP-CLI-070")
def asks_once_too_often(patch: pytest.MonkeyPatch) -> None:
    """Asks the model once more than its limit of turns allows."""
    init = Chat.__init__

    def more(chat: Chat, settings: Any, *rest: Any) -> None:
        init(chat, replace(settings, max_turns=settings.max_turns + 1), *rest)

    patch.setattr(Chat, "__init__", more)


@breaks("XMCP-CLI-071")
def hides_the_limit(patch: pytest.MonkeyPatch) -> None:
    """Says `stop` where the limit of turns ended the chat."""
    rewrite_result(patch, lambda _, result: {"stop_reason": "stop"} if result["stop_reason"] == "max_turns" else {})


@breaks("XMCP-RSP-029")
def forgets_that_characters_were_lost(patch: pytest.MonkeyPatch) -> None:
    """Leaves the mark `lossy` out of a document that it writes anew, without a large display."""
    with_reference = context_budget._with_reference
    patch.setattr(
        context_budget, "_with_reference", lambda response, *rest: replace(with_reference(response, *rest), lossy=False)
    )


@breaks("XMCP-CLI-133")
def refuses_the_chat_of_a_silent_model(patch: pytest.MonkeyPatch) -> None:
    """Ends a chat with an exception where the model wrote nothing and called nothing."""
    done = Chat._done

    def refusing(chat: Chat, stop_reason: Any, answer: str = "") -> Done:
        if stop_reason == "empty":
            raise ValueError("The model said nothing.")
        return done(chat, stop_reason, answer)

    patch.setattr(Chat, "_done", refusing)


@breaks("XMCP-CLI-072")
def answers_with_a_result(patch: pytest.MonkeyPatch) -> None:
    """Gives the last result of a tool as the answer where the model gave none."""

    def answering(_: Chat, result: Any) -> dict[str, Any]:
        last = result["history"][-1]
        return {"answer": result["answer"] or (last["content"] if last["role"] == "tool" else None)}

    rewrite_result(patch, answering)


@breaks("XMCP-CLI-123")
def drops_the_calls_of_an_answer_that_was_cut(patch: pytest.MonkeyPatch) -> None:
    """Answers the calls of an answer that the vendor cut without making them."""
    run_call = ToolTurn._run_call

    async def dropping(turn: ToolTurn, index: int) -> None:
        if CUT.get():
            turn._end(index, turn._failed(turn._calls[index], client_made_errors.cancelled()))
            turn._emit(index)
        else:
            await run_call(turn, index)

    begin = Chat._begin_turn

    def noting(chat: Chat, *rest: Any) -> ToolTurn:
        CUT.set(chat._completion.finish_reason == "length")
        return begin(chat, *rest)

    patch.setattr(ToolTurn, "_run_call", dropping)
    patch.setattr(Chat, "_begin_turn", noting)


@breaks("XMCP-CLI-124")
def answers_with_what_was_written_beside_the_calls(patch: pytest.MonkeyPatch) -> None:
    """Gives the text that the model wrote beside its calls as the answer of a chat that ended with displays."""

    def answering(chat: Chat, result: Any) -> dict[str, Any]:
        return {"answer": chat._completion.text} if result["stop_reason"] == "display" else {}

    rewrite_result(patch, answering)


@breaks("XMCP-REC-005")
def just_stops_when_a_chat_fails(patch: pytest.MonkeyPatch) -> None:
    """Leaves out the event of a chat that failed."""
    rewrite_events(patch, Chat, lambda _, event: [] if isinstance(event, ChatFailed) else [event])


@breaks("XMCP-CLI-073")
def loses_the_history_of_a_failed_chat(patch: pytest.MonkeyPatch) -> None:
    """Hands over only what the person said last when the model cannot be asked."""
    run = Chat.run

    async def poor(chat: Chat) -> Any:
        try:
            async for chunk in run(chat):
                yield chunk
        except Exception as exc:
            history = exc.history  # type: ignore[attr-defined]
            newest = max(i for i, message in enumerate(history) if message["role"] == "user")
            exc.history = history[: newest + 1]  # type: ignore[attr-defined]
            raise

    patch.setattr(Chat, "run", poor)


@breaks("XMCP-CLI-074")
def asks_in_spite_of_the_quota(patch: pytest.MonkeyPatch) -> None:
    """Asks the model although the answers that the vendor counted have used up the tenant's quota."""
    used = metering.Meter.used

    def careless(own: Any, state: Any, reservation: Any) -> Any:
        return quota_accounts.NOTHING if state.completion is not None else used(own, state, reservation)

    patch.setattr(metering.Meter, "used", careless)


@breaks("XMCP-CLI-115")
def counts_nothing_of_a_cancelled_answer(patch: pytest.MonkeyPatch) -> None:
    """Counts a request that ended without an answer as if it had not been made."""
    used = metering.Meter.used

    def careless(own: Any, state: Any, reservation: Any) -> Any:
        return quota_accounts.NOTHING if state.completion is None else used(own, state, reservation)

    patch.setattr(metering.Meter, "used", careless)


@breaks("XMCP-REC-011")
def has_no_record_of_a_request_of_which_nothing_came(patch: pytest.MonkeyPatch) -> None:
    """Writes no usage record for a request that the time of the chat ended before the first byte."""
    account = Chat._account_for_interrupted

    async def careless(chat: Chat, state: Any, exc: BaseException) -> None:
        before = chat._usage
        await account(chat, state, exc)
        if not chat._text:
            chat._usage = before
            chat.take_unreported()

    patch.setattr(Chat, "_account_for_interrupted", careless)


@breaks("XMCP-CLI-116")
def forgets_a_cancelled_answer(patch: pytest.MonkeyPatch) -> None:
    """Leaves the text of a cancelled answer out of the history."""
    patch.setattr(Chat, "_begun", lambda _: [])


@breaks("XMCP-CLI-075")
def asks_again_without_a_word(patch: pytest.MonkeyPatch) -> None:
    """Asks again after an answer that broke off without saying that its text is void."""
    rewrite_events(patch, Chat, lambda _, event: [] if isinstance(event, LLMRetry) else [event])


@breaks("XMCP-CLI-082")
def shows_what_the_application_fills(patch: pytest.MonkeyPatch) -> None:
    """Shows the model the parameters that the application fills in."""
    patch.setattr(ai_client, "offered", lambda entry, siblings, hidden: schemas.offered(entry, siblings))


@breaks("XMCP-CLI-084")
def thinks_aloud(patch: pytest.MonkeyPatch) -> None:
    """Tells the application a thought as if it were text of the model."""

    def aloud(turn: ToolTurn, event: Any) -> list[Any]:
        if isinstance(event, ToolResult) and event.tool_name == meta_tools.THINK:
            return [LLMDelta(turn=event.turn, text=turn.meta_tool_text(meta_tools.THINK)), event]
        return [event]

    rewrite_events(patch, ToolTurn, aloud)


@breaks("XMCP-CLI-085")
def goes_on_after_a_question(patch: pytest.MonkeyPatch) -> None:
    """Asks the model again after it had a question for the person."""
    text = ToolTurn.meta_tool_text
    patch.setattr(ToolTurn, "meta_tool_text", lambda turn, tool: "" if tool == meta_tools.CLARIFY else text(turn, tool))


@breaks("XMCP-CLI-086")
def summarizes_the_rules_away(patch: pytest.MonkeyPatch) -> None:
    """Drops the system messages when the model summarizes."""
    summarized = meta_tools.summarized

    def careless(history: Any, summary: str) -> list[dict[str, Any]]:
        return [m for m in summarized(history, summary) if m["role"] not in ("system", "developer")]

    patch.setattr(meta_tools, "summarized", careless)


@breaks("XMCP-DSP-040")
def repeats_large_displays(patch: pytest.MonkeyPatch) -> None:
    """Puts a display of any size before the model."""
    patch.setattr(context_budget, "size", lambda display: 0)


@breaks("XMCP-DSP-041")
def drops_large_displays(patch: pytest.MonkeyPatch) -> None:
    """Puts nothing in the place of a display that is too large for the model."""
    for_model = context_budget.for_model

    def dropping(response: ToolResponse, document: str | None = None, *budgets: Any) -> str:
        display = response.display
        if display is None or context_budget.size(display) <= budgets[0].display:
            return for_model(response, document, *budgets)
        bare = ToolResponse(response.tool_name, response.llm_output, error=response.error, lossy=response.lossy)
        return for_model(bare, None, *budgets)

    patch.setattr(context_budget, "for_model", dropping)


@breaks("XMCP-DSP-042")
def shows_the_person_the_reference(patch: pytest.MonkeyPatch) -> None:
    """Shows the person what the model sees of a large display."""

    def small(_: ToolTurn, event: Any) -> list[Any]:
        if isinstance(event, ToolDisplay) and context_budget.size(event.envelope) > context_budget.DISPLAY_BUDGET:
            return [replace(event, envelope=context_budget.reference(event.envelope))]
        return [event]

    rewrite_events(patch, ToolTurn, small)


@breaks("XMCP-REC-002")
def shows_before_the_result(patch: pytest.MonkeyPatch) -> None:
    """Tells of a display before it tells of the result that has it."""
    held: list[Any] = []

    def later(_: ToolTurn, event: Any) -> list[Any]:
        if isinstance(event, ToolResult | ToolError) and event.response.display is not None:
            held.append(event)
            return []
        return [event, held.pop()] if held and isinstance(event, ToolDisplay) else [event]

    rewrite_events(patch, ToolTurn, later)


@breaks("XMCP-REC-001")
def tells_pieces_without_their_text(patch: pytest.MonkeyPatch) -> None:
    """Tells that the model wrote a piece of text, and not which."""
    patch.setattr(LLMDelta, "to_json", lambda event: {"type": event.type, "turn": event.turn})


@breaks("XMCP-REC-006")
def counts_results_to_the_next_turn(patch: pytest.MonkeyPatch) -> None:
    """Tells of a result as one of the turn that comes next."""

    def later(_: ToolTurn, event: Any) -> list[Any]:
        return [replace(event, turn=event.turn + 1) if isinstance(event, ToolResult) else event]

    rewrite_events(patch, ToolTurn, later)


@breaks("XMCP-REC-007")
def tells_its_reasoning_as_text(patch: pytest.MonkeyPatch) -> None:
    """Tells the model's reasoning as its text."""

    def aloud(_: Chat, event: Any) -> list[Any]:
        return [LLMDelta(turn=event.turn, text=event.text) if isinstance(event, LLMReasoning) else event]

    rewrite_events(patch, Chat, aloud)


@breaks("XMCP-REC-008")
def tells_every_report(patch: pytest.MonkeyPatch) -> None:
    """Tells the application each report of progress, however many there are."""
    report = AttemptProgress.report

    def at_once(progress: AttemptProgress, *said: Any) -> None:
        report(AttemptProgress(progress.call, progress._emit), *said)

    patch.setattr(AttemptProgress, "report", at_once)


@breaks("XMCP-REC-009")
def forgets_the_last_report(patch: pytest.MonkeyPatch) -> None:
    """Drops the reports of progress that it has not told when the answer comes."""

    def dropping(progress: AttemptProgress) -> None:
        progress._ended = True
        if progress._timer is not None:
            progress._timer.cancel()

    patch.setattr(AttemptProgress, "end", dropping)


@breaks("XMCP-REC-003")
def says_done_twice(patch: pytest.MonkeyPatch) -> None:
    """Says `done` a second time."""
    run = Chat.run

    async def twice(chat: Chat) -> Any:
        async for chunk in run(chat):
            yield chunk
            if chunk.type == "done":
                yield chunk

    patch.setattr(Chat, "run", twice)


@breaks("XMCP-CLI-076")
def books_on_another_tenant(patch: pytest.MonkeyPatch) -> None:
    """Writes the usage of a chat into the record of the tenant that came first."""
    record = usage.record
    first: list[Any] = []

    def booked(completion: Any, provider: str, model: Any, chat: Any, *rest: Any) -> Any:
        first.append(chat.tenant_id)
        return {**record(completion, provider, model, chat, *rest), "tenant_id": first[0]}

    patch.setattr(usage, "record", booked)


@breaks("XMCP-REC-010")
def counts_nothing_as_nothing(patch: pytest.MonkeyPatch) -> None:
    """Writes 0 cached tokens where the vendor did not count them."""
    record = usage.record

    def counted(*of: Any) -> Any:
        made = record(*of)
        return {**made, "cached_tokens": made["cached_tokens"] or 0}

    patch.setattr(usage, "record", counted)


@breaks("XMCP-CLI-007")
def keeps_what_cannot_be_read(patch: pytest.MonkeyPatch) -> None:
    """Keeps arguments in the history as the model wrote them, JSON or not."""
    patch.setattr(messages, "_object", lambda call: call.arguments)
