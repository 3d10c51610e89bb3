"""Twenty-four faults, each put into the reference client of this process by one function."""

from __future__ import annotations

import inspect
import json
import sys
import traceback
from collections.abc import AsyncGenerator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from xmcp.chat import client_made_errors, completions, messages
from xmcp.chat.completions import ToolCall
from xmcp.chat.errors import CallFailed
from xmcp.chat.events import ChatChunk, Done, LLMDelta, LLMRetry, StopReason
from xmcp.chat.messages import Message
from xmcp.client.calls import attempt, breaker_guard, cache, context_budget, pipeline, server_results
from xmcp.client.calls.active_call import ActiveCall, AttemptStage, Next, NextOfAttempt, Retrying
from xmcp.client.calls.pipeline import Outcome
from xmcp.client.calls.server_results import Reading
from xmcp.client.loop import chat as chats
from xmcp.client.loop import turn as turns
from xmcp.client.loop import usage as accounting
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.turn import ToolTurn
from xmcp.client.servers import listing_limits, mcp_server
from xmcp.client.servers.mcp_server import Server
from xmcp.client.slots import Slots
from xmcp.client.tools import dependencies, meta_tools
from xmcp.client.tools.catalogue import Catalogue, Entry
from xmcp.client.tools.dependencies import FilledArguments
from xmcp.providers.formats import chat_completions
from xmcp.storage import breakers
from xmcp.storage.breakers import Admitted, Circuit, Refused, Rules
from xmcp.wire import ErrorInfo

# ---- 11.1: the history ----


def the_summary_is_answered_first() -> None:
    """In a turn with a summary, put the answers of the client's own tools before those of the servers' tools, whatever
    the order of the calls is (XMCP-CLI-002).
    """
    right = Chat._take

    def take(self: Chat, turn: ToolTurn) -> None:
        right(self, turn)
        if turn.meta_tool_text(meta_tools.SUMMARIZE):
            first = len(self.messages) - len(turn._calls)
            answers = self.messages[first:]
            self.messages[first:] = sorted(answers, key=lambda answer: answer["name"] not in meta_tools.RESERVED)

    Chat._take = take


def the_first_failure_is_what_is_known() -> None:
    """When the time of a chat is over, answer a call whose second or later attempt is under way with the error of the
    attempt before, and not with `TIMEOUT` (XMCP-CLI-004). A call at its first attempt gets `TIMEOUT`.
    """
    right_emit, right_failed = ToolTurn._emit, ToolTurn._failed

    def emit(self: ToolTurn, event: Any) -> None:
        if isinstance(event, Retrying):
            self.__dict__.setdefault("_known", {})[event.call.id] = event.error
        right_emit(self, event)

    def failed(self: ToolTurn, call: ToolCall, error: ErrorInfo) -> Outcome:
        known: Mapping[str, ErrorInfo] = vars(self).get("_known", {})
        if call.id in known and error == client_made_errors.chat_timed_out():
            error = known[call.id]
        return right_failed(self, call, error)

    ToolTurn._emit = emit
    ToolTurn._failed = failed


def each_tool_has_ids_of_its_own() -> None:
    """Compare the ids of one answer's calls only among calls of the same tool: two calls of different tools with the
    same id both keep it (XMCP-CLI-005). An id that an earlier turn had is replaced, as it has to be.
    """
    right = completions.unique_ids

    def unique_ids(calls: Iterable[ToolCall], taken: Collection[str] = ()) -> tuple[ToolCall, ...]:
        listed = list(calls)
        made: dict[int, ToolCall] = {}
        for name in dict.fromkeys(call.name for call in listed):
            places = [place for place, call in enumerate(listed) if call.name == name]
            # An absent id is nobody's: those that are made are different from all others.
            given = {one.id for one in [*listed, *made.values()] if one.id}
            for place in places:
                others = {made[other].id for other in places if other in made} | {*taken}
                call = listed[place]
                legal = isinstance(call.id, str) and completions._LEGAL_ID.fullmatch(call.id)
                avoid = others if legal and call.id not in others else others | given
                made[place] = right([call], avoid)[0]
        return tuple(made[place] for place in range(len(listed)))

    chats.unique_ids = unique_ids
    chat_completions.unique_ids = unique_ids


def what_is_json_stays() -> None:
    """Write arguments into the history as the model wrote them also where they are JSON, but not an object, such as a
    list (XMCP-CLI-007). Those that are no JSON at all become an empty object.
    """
    right = messages._object

    def object_(call: ToolCall) -> str:
        try:
            value = json.loads(call.arguments)
        except (ValueError, RecursionError):
            return right(call)
        return right(call) if isinstance(value, dict) else call.arguments

    messages._object = object_


# ---- 11.2: what the model asks for ----


def null_means_not_shown() -> None:
    """Leave out the argument `show_user` where the model wrote `null` for it (XMCP-CLI-012)."""

    async def settle_arguments(call: ActiveCall, proceed: Next) -> Reading:
        given = call.arguments
        call.settled = {name: value for name, value in given.items() if name != "show_user" or value is not None}
        return await proceed(call)

    pipeline.settle_arguments = settle_arguments


def tells_where_it_lost_the_connection() -> None:
    """Put the stack trace of the client into the error of a call whose connection was lost after it was sent
    (XMCP-CLI-014). The error of a server that could not be reached is right.
    """
    right = Server._connection_failed

    def connection_failed(self: Server, never_sent: bool, cause: Any = "connection") -> CallFailed:
        failure, reason = right(self, never_sent, cause), sys.exception()
        if never_sent or reason is None or cause != "connection":
            return failure
        trace = "".join(traceback.format_exception(reason))[-2000:]
        error = replace(failure.error, message=f"{failure.error.message}\n{trace}")
        return CallFailed(error, cause=failure.cause)

    Server._connection_failed = connection_failed


# ---- 11.3: the calls of one turn ----


def each_tenant_has_the_whole_limit() -> None:
    """Apply the limit for calls at the same time to each tenant by itself, not across all chats (XMCP-CLI-021)."""
    right = attempt.take_slot

    def take_slot(slots: Slots) -> AttemptStage:
        limit, stages = slots._free, dict[str | None, AttemptStage]()

        async def in_a_slot(call: ActiveCall, proceed: NextOfAttempt) -> Any:
            tenant = call.scope.context.tenant_id
            if tenant not in stages:
                stages[tenant] = right(Slots(limit))
            return await stages[tenant](call, proceed)

        return in_a_slot

    attempt.take_slot = take_slot


def a_server_that_failed_is_not_asked_again() -> None:
    """When a call has lost its connection, or did not reach its server, fail the other calls of the turn at that server
    that still wait for a slot, without sending them (XMCP-CLI-022).
    """
    right = attempt.take_slot

    def take_slot(slots: Slots) -> AttemptStage:
        inner = right(slots)

        async def in_a_slot(call: ActiveCall, proceed: NextOfAttempt) -> Any:
            lost: dict[Any, str] = call.scope.context.state.setdefault("lost_servers", {})
            place, own = (call.state.turn, call.entry.server.identity), call.request.call.id

            async def send(call: ActiveCall) -> Any:
                if lost.get(place, own) != own:
                    call.state.attempts += 1
                    if call.state.attempts == 1:
                        call.emit(call.request.call)
                    raise CallFailed(client_made_errors.connection_lost(call.entry.server.name, sent=False))
                try:
                    return await proceed(call)
                except CallFailed as exc:
                    if exc.cause == "connection":
                        lost.setdefault(place, own)
                    raise

            return await inner(call, send)

        return in_a_slot

    attempt.take_slot = take_slot


def waits_for_the_one_that_hands_on() -> None:
    """Of several calls of a tool on which a call depends, wait only for the last one in call order, because only that
    hands its result on (XMCP-TOL-012).
    """
    right = ToolTurn.__init__

    def init(self: ToolTurn, *args: Any, **options: Any) -> None:
        right(self, *args, **options)
        last: dict[Any, int] = {}
        for place in sorted(self._finished):
            entry = self._entries[place]
            if entry is not None:
                last[id(entry.server), entry.tool] = place
        for place, finished in self._finished.items():
            if place not in last.values():
                finished.set()

    ToolTurn.__init__ = init


def objects_are_merged() -> None:
    """Where what is handed on and what the model wrote for the parameter are both objects, send the one with the
    model's members in it (XMCP-CLI-033). Other values are replaced.
    """
    right = dependencies.fill_arguments

    def fill_arguments(call: int, arguments: Mapping[str, Any], *rest: Any) -> FilledArguments | ErrorInfo:
        filled = right(call, arguments, *rest)
        if isinstance(filled, ErrorInfo):
            return filled
        merged = dict(filled.arguments)
        for name in filled.sources:
            written, handed = arguments.get(name), merged[name]
            if isinstance(written, Mapping) and isinstance(handed, Mapping):
                merged[name] = {**handed, **written}
        return FilledArguments(merged, filled.sources)

    dependencies.fill_arguments = fill_arguments


def one_of_them_is_enough() -> None:
    """Make a call that depends on several tools if one of these succeeded, though all calls of another one failed
    (XMCP-CLI-035). Where all of them failed, and for a call that depends on one tool, all is right.
    """
    right = dependencies._all_failed

    def all_failed(row: Sequence[int], entries: Sequence[Entry], results: Sequence[Any]) -> int | None:
        return None if any(results[place] is not None for place in row) else right(row, entries, results)

    dependencies._all_failed = all_failed


def counts_what_the_application_fills_in() -> None:
    """Count a parameter that the application fills in among those that a tool requires, so that the only other one does
    not get the whole result of the only predecessor (XMCP-CLI-120). The list that the model sees is right.
    """
    right = dependencies.only_required_parameter

    def only_required_parameter(entry: Entry, hidden: Collection[str] = ()) -> str | None:
        name = right(entry)
        return None if name in hidden else name

    dependencies.only_required_parameter = only_required_parameter


# ---- 11.4: calls that fail ----


def too_many_requests_is_a_failure() -> None:
    """Let a circuit breaker count the HTTP status 429 in answer to a call as a failure (XMCP-CLI-042); other statuses
    below 500 are answers.
    """
    right = mcp_server.means_unreadable_answer

    def means_unreadable_answer(exc: Any) -> bool:
        return right(exc) and "HTTP 429" not in exc.message

    mcp_server.means_unreadable_answer = means_unreadable_answer


def nobody_knows_how_long_a_probe_takes() -> None:
    """While the probe is under way, write `CIRCUIT_OPEN` without `retry_after_ms` (XMCP-CLI-043); before the probe, the
    error has it.
    """
    right_admit, right_error = breakers.admit, client_made_errors.circuit_open

    def admit(circuit: Circuit, rules: Rules, now: float) -> tuple[Circuit, Admitted | Refused]:
        after, verdict = right_admit(circuit, rules, now)
        if circuit.state == "half_open" and isinstance(verdict, Refused):
            return after, Refused(0.0)
        return after, verdict

    def circuit_open(server: str, retry_after: float, **options: Any) -> ErrorInfo:
        error = right_error(server, retry_after, **options)
        return error if retry_after > 0 else replace(error, retry_after_ms=None)

    breakers.admit = admit
    client_made_errors.circuit_open = circuit_open


def a_refused_probe_proves_nothing() -> None:
    """Let a circuit breaker stay open for its whole time again when the server answered the probe with a protocol
    error or something that cannot be read (XMCP-CLI-045). A result closes it, also one that failed, and a closed
    breaker takes such an answer for an answer.
    """
    right = breaker_guard.Ticket.report

    async def report(self: breaker_guard.Ticket, outcome: Any) -> None:
        if outcome == "ok" and self.is_probe and isinstance(sys.exception(), CallFailed):
            outcome = "failed"
        await right(self, outcome)

    breaker_guard.Ticket.report = report


# ---- 11.5: caches ----


def remembers_what_is_not_there() -> None:
    """Put errors of the category `not_found` into the cache; other errors are not kept (XMCP-CLI-052)."""
    right = cache.can_be_kept

    def can_be_kept(reading: Reading) -> bool:
        error = reading.response.error
        return right(reading) or (error is not None and error.category == "not_found")

    cache.can_be_kept = can_be_kept


# ---- 11.6 and 11.7: displays, the end of a chat ----


def tells_the_model_that_a_callback_failed() -> None:
    """Where `on_error` fails, add a sentence about it to the error that the model reads (XMCP-CLI-064). Where another
    callback fails, all is right.
    """

    async def notify(self: ToolTurn, name: str, hook: Any, value: Any) -> None:
        failed = False

        async def observed(*args: Any) -> None:
            nonlocal failed
            try:
                answer = hook(*args)
                if inspect.isawaitable(answer):
                    await answer
            except Exception:
                failed = True
                raise

        history = self._history_for_callbacks()
        await turns.notify(name, observed, self._scope.log, value, history, deadline=self._scope.deadline)
        if not failed or name != "on_error":
            return
        for place, outcome in enumerate(self.outcomes):
            if outcome is not None and outcome.response.error is value:
                error = replace(value, message=f"{value.message} (The application could not handle this error.)")
                content = context_budget.for_model(replace(outcome.response, error=error), None, self._pipeline.budgets)
                self.outcomes[place] = replace(outcome, content=content)

    ToolTurn._notify = notify


def the_last_turn_ends_with_max_turns() -> None:
    """When the time of a chat is over during the calls of the last turn that its limit allows, end it with `max_turns`
    and not with `timeout` (XMCP-CLI-071).
    """
    right_take, right_done = Chat._take, Chat._done

    def take(self: Chat, turn: ToolTurn) -> None:
        state: Any = self
        state._late = turn.timed_out
        right_take(self, turn)

    def done(self: Chat, stop_reason: StopReason, answer: str = "") -> Done:
        if stop_reason == "timeout" and vars(self).get("_late") and self._turn >= self._settings.max_turns:
            return right_done(self, "max_turns", self._completion.text)
        return right_done(self, stop_reason, answer)

    Chat._take = take
    Chat._done = done


def nothing_to_take_back() -> None:
    """Where an answer broke off of which calls had come, but no text, ask again without an event `retry`
    (XMCP-CLI-075). Where text had come, or the request was refused, there is one.
    """
    right_ask, right_account = Chat._ask, Chat._account_for_interrupted

    async def account(self: Chat, state: Any, exc: BaseException) -> None:
        mine: Any = self
        mine._wrote_calls = self._received is not None and self._received.bytes > 0
        await right_account(self, state, exc)

    async def ask(self: Chat, catalogue: Catalogue) -> AsyncGenerator[ChatChunk, None]:
        said = False
        async with aclosing(right_ask(self, catalogue)) as events:
            async for event in events:
                said |= isinstance(event, LLMDelta)
                if isinstance(event, LLMRetry):
                    silent, said = not said and vars(self).get("_wrote_calls", False), False
                    if silent:
                        continue
                yield event

    Chat._ask = ask
    Chat._account_for_interrupted = account


# ---- 11.8: the client's own tools ----


def a_summary_keeps_one_system_message() -> None:
    """Of several system messages at the beginning of a history, keep only the first one where a summary takes the place
    of older messages (XMCP-CLI-086).
    """
    right = meta_tools.summarized

    def summarized(history: Sequence[Message], summary: str) -> list[dict[str, Any]]:
        made = right(history, summary)
        if made != [dict(message) for message in history]:
            while len(made) > 1 and made[1]["role"] in ("system", "developer"):
                del made[1]
        return made

    meta_tools.summarized = summarized


# ---- 11.9: servers and names ----


def retries_under_the_offered_name() -> None:
    """Send the second and later attempts of a call under the name that the model knows, with the server's name before
    it, and not under the server's own name of the tool (XMCP-CLI-093).
    """
    right = attempt.call_server

    def call_server(timeouts: Mapping[str, float]) -> AttemptStage:
        inner = right(timeouts)

        async def ask_the_server(call: ActiveCall, proceed: NextOfAttempt) -> Any:
            if not call.state.attempts:
                return await inner(call, proceed)
            request = call.request
            call.request = replace(request, entry=replace(request.entry, tool=request.entry.name))
            try:
                return await inner(call, proceed)
            finally:
                call.request = request

        return ask_the_server

    attempt.call_server = call_server


def one_tool_is_not_worth_a_warning() -> None:
    """Leave out a tool silently where it is the only one that a limit leaves out; of two and more the application is
    told (XMCP-CLI-106).
    """
    right = listing_limits.Kept.warnings

    def warnings(self: listing_limits.Kept, server: str) -> Iterator[str]:
        several = {reason: names for reason, names in self.left_out.items() if len(names) > 1}
        return right(replace(self, left_out=several), server)

    listing_limits.Kept.warnings = warnings


# ---- chapters 6 and 10 ----


def quotes_what_failed() -> None:
    """Where a result has `isError` and its document cannot be read, quote the beginning of the text in the error that
    the model gets (XMCP-MCP-013). Where the result did not fail, nothing of it is told.
    """
    right = server_results._read_document

    def read_document(result: Any, tool_name: str) -> Reading:
        reading = right(result, tool_name)
        error, first = reading.response.error, result.content[0] if result.content else None
        unreadable = error is not None and error.code == "INVALID_XML" and reading.document is None
        if not unreadable or not result.is_error or first is None or first.type != "text":
            return reading
        if server_results.content_blocks.is_for_user_alone(first) or not first.text.strip():
            return reading
        return server_results.failed(tool_name, replace(error, message=f"{error.message} It says: {first.text[:500]}"))

    server_results._read_document = read_document


def nothing_said_is_nothing_cached() -> None:
    """Write 0 for `cached_tokens` where the vendor gave the other counts and not this one (XMCP-REC-010)."""
    right = accounting.record

    def record(*args: Any, **options: Any) -> Any:
        made = right(*args, **options)
        if made["cached_tokens"] is None and made["input_tokens"] is not None:
            made["cached_tokens"] = 0
        return made

    accounting.record = record
