"""Thirty wrong clients, each put into the reference client of this process by one function."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import replace
from itertools import islice
from typing import Any

from pydantic_core import from_json

from xmcp.chat import client_made_errors, messages
from xmcp.chat.errors import CallFailed
from xmcp.client.calls import approval, attempt, breaker_guard, content_blocks, retry_policy, server_results
from xmcp.client.calls.active_call import Retrying
from xmcp.client.calls.server_results import Reading
from xmcp.client.loop import turn
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.turn import ToolTurn
from xmcp.client.slots import Slots
from xmcp.client.tools import catalogue, dependencies
from xmcp.providers.formats import chat_completions
from xmcp.storage import breakers
from xmcp.wire import ErrorInfo

# ---- Section 4.5 ----


def once_safe_always_safe() -> None:
    """After one failed attempt that said `side_effects` `none`, take all later failures of the call for safe."""
    right_stage, right_allowed = retry_policy.stage, retry_policy.allowed
    safe: ContextVar[list[bool]] = ContextVar("safe")

    def allowed(error: ErrorInfo, entry: Any) -> bool:
        known = safe.get([])
        if (error.meta or {}).get("side_effects") == "none":
            known.append(True)
        return right_allowed(error, entry) or (bool(known) and bool(error.retryable) and error.code != "CIRCUIT_OPEN")

    def stage(policy: Any, sleep: Any = asyncio.sleep) -> Any:
        right = right_stage(policy, sleep)

        async def retry(call: Any, proceed: Any) -> Reading:
            safe.set([])
            return await right(call, proceed)

        return retry

    retry_policy.allowed = allowed
    retry_policy.stage = stage


def waits_from_the_beginning_of_the_attempt() -> None:
    """Count `retry_after_ms` from the moment at which the failed attempt began, not from its answer."""
    right_stage = retry_policy.stage
    begun: ContextVar[float] = ContextVar("begun")

    def stage(policy: Any, sleep: Any = asyncio.sleep) -> Any:
        async def shorter(pause: float) -> None:
            await sleep(max(0.0, pause - (asyncio.get_running_loop().time() - begun.get())))

        right = right_stage(policy, shorter)

        async def retry(call: Any, proceed: Any) -> Reading:
            async def noted(call: Any) -> Reading:
                begun.set(asyncio.get_running_loop().time())
                return await proceed(call)

            return await right(call, noted)

        return retry

    retry_policy.stage = stage


# ---- Chapter 5 ----


def one_wrong_member_voids_all() -> None:
    """Check the metadata of a tool as a whole: if a known member has a wrong type, none of them counts."""
    right = catalogue.metadata

    def is_names(value: Any) -> bool:
        return isinstance(value, list) and all(isinstance(name, str) and name for name in value)

    def is_right(name: str, value: Any) -> bool:
        if name in ("display", "cacheable"):
            return isinstance(value, bool)
        if name in ("provides", "wrapped_in", "xml_formatter"):
            return isinstance(value, str) and bool(value)
        return is_names(value) if name in ("depends_on", "server_populated") else True

    def metadata(tool: Any) -> Mapping[str, Any]:
        found = right(tool)
        return found if all(is_right(name, value) for name, value in found.items()) else {}

    catalogue.metadata = metadata


def looks_back_first() -> None:
    """Where a needed tool was called before and after the call in the model's order, wait for those before it only."""
    right = dependencies.predecessors

    def predecessors(entries: Sequence[Any]) -> tuple[tuple[int, ...], ...]:
        rows = []
        for index, row in enumerate(right(entries)):
            earlier = {entries[place].tool for place in row if place < index}
            rows.append(tuple(place for place in row if place < index or entries[place].tool not in earlier))
        return tuple(rows)

    dependencies.predecessors = predecessors


# ---- Section 6.4 ----


def failures_of_others_as_documents() -> None:
    """Read the text of a failed result of a server that announced nothing as a document, if it is one."""
    right = server_results.read

    def read(result: Any, tool_name: str, *, speaks_xmcp: bool) -> Reading:
        if not speaks_xmcp and result.is_error and result.content and result.content[0].type == "text":  # noqa: SIM102
            if result.content[0].text.lstrip().startswith("<tool_response"):
                reading = right(result, tool_name, speaks_xmcp=True)
                if reading.document is not None:
                    return reading
        return right(result, tool_name, speaks_xmcp=speaks_xmcp)

    server_results.read = read


def looks_for_the_document() -> None:
    """Take the first text block for the document where the first block of a result is a picture or the like."""
    right = server_results._read_document

    def read_document(result: Any, tool_name: str) -> Reading:
        if result.content and result.content[0].type != "text":
            for place, block in enumerate(result.content):
                if block.type == "text" and not content_blocks.is_for_user_alone(block):
                    result = result.model_copy(update={"content": result.content[place:]})
                    break
        return right(result, tool_name)

    server_results._read_document = read_document


def errors_are_right_or_absent() -> None:
    """Ignore the whole error of a plain result where one member of it, such as `retry_after_ms`, is not valid."""
    right = server_results._error_of

    def error_of(given: Any) -> ErrorInfo:
        made = right(given)
        for name in ("category", "retryable", "retry_after_ms"):
            if given.get(name) is not None and getattr(made, name) != given[name]:
                raise ValueError(f"{name} is not valid")
        return made

    server_results._error_of = error_of


def names_of_members_tell_nothing() -> None:
    """Give the model structured content whose name of a member has the text of a block for the user alone."""
    right = server_results._is_said_in

    def values(data: Any) -> Any:
        if isinstance(data, dict):
            return [values(value) for value in data.values()]
        return [values(value) for value in data] if isinstance(data, list) else data

    def is_said_in(text: str, said: str) -> bool:
        if not right(text, said):
            return False
        if server_results._comparable(said)[1:-1] in server_results._comparable(values(json.loads(text))):
            return True
        try:
            value = from_json(said)
        except ValueError:
            return False
        return isinstance(value, dict | list) and server_results._comparable(value) in text

    server_results._is_said_in = is_said_in


def a_display_is_a_success() -> None:
    """Ignore `isError` where the document has a display and no `error`."""
    right = server_results._read_document

    def read_document(result: Any, tool_name: str) -> Reading:
        if result.is_error:
            reading = right(result.model_copy(update={"is_error": False}), tool_name)
            if reading.response.error is None and reading.response.display is not None:
                return reading
        return right(result, tool_name)

    server_results._read_document = read_document


# ---- Section 11.1 ----


def saves_what_was_cancelled() -> None:
    """When a chat is cancelled, write its history into the list of messages that the application passed in."""
    right_init, right_run = Chat.__init__, Chat.run

    def init(self: Chat, *arguments: Any) -> None:
        right_init(self, *arguments)
        self.__dict__["_list_of_application"] = arguments[4]

    async def run(self: Chat) -> AsyncGenerator[Any, None]:
        try:
            async with aclosing(right_run(self)) as events:
                async for event in events:
                    yield event
        except (asyncio.CancelledError, GeneratorExit):
            given = self.__dict__["_list_of_application"]
            if isinstance(given, list):
                given[:] = self.history
            raise

    Chat.__init__ = init
    Chat.run = run


def callbacks_see_the_order_of_the_answers() -> None:
    """Give callbacks a history with the tool messages of the turn in the order in which its calls ended."""
    right_end, right_history = ToolTurn._end, ToolTurn._history_for_callbacks

    def end(self: ToolTurn, index: int, outcome: Any) -> None:
        right_end(self, index, outcome)
        self.__dict__.setdefault("_order_of_ends", {})[index] = None

    def history_for_callbacks(self: ToolTurn) -> list[dict[str, Any]]:
        shown = right_history(self)
        first = len(self._history) + 1
        answers = shown[first:]
        order = [*self.__dict__.get("_order_of_ends", {})]
        order += [index for index in range(len(answers)) if index not in order]
        return [*shown[:first], *(answers[index] for index in order)]

    ToolTurn._end = end
    ToolTurn._history_for_callbacks = history_for_callbacks


def rewritten_documents_get_the_offered_name() -> None:
    """Write a document with a display above the budget anew under the offered name, not as the server wrote it."""
    right = server_results.read

    def read(result: Any, tool_name: str, *, speaks_xmcp: bool) -> Reading:
        reading = right(result, tool_name, speaks_xmcp=speaks_xmcp)
        if reading.document is not None:
            reading.response.tool_name = tool_name
        return reading

    server_results.read = read


def nobody_approved_it_in_time() -> None:
    """When the time of the chat is over, answer a call that waits for its approval with `FORBIDDEN`."""
    right_refusal, right_end = approval.refusal, ToolTurn._end

    async def refusal(approve: Any, state: Any, timeout: float | None, log: Any) -> ErrorInfo | None:
        try:
            return await right_refusal(approve, state, timeout, log)
        except asyncio.CancelledError:
            state.chat.state.setdefault("asked_in_vain", set()).add(state.call_id)
            raise

    def end(self: ToolTurn, index: int, outcome: Any) -> None:
        if self.timed_out and outcome.response.error == client_made_errors.chat_timed_out():  # noqa: SIM102
            if outcome.call.id in self._scope.context.state.get("asked_in_vain", ()):
                error = client_made_errors.not_approved("Nobody approved this call in time.")
                outcome = self._failed(outcome.call, error)
        right_end(self, index, outcome)

    approval.refusal = refusal
    ToolTurn._end = end


def its_own_ids_come_again() -> None:
    """Do not compare new ids with those of the form of the client's own that the application's history has."""
    right = messages.call_ids

    def call_ids(history: Sequence[Any]) -> set[str]:
        return {known for known in right(history) if not (known[:5] == "call_" and known[5:].isdigit())}

    messages.call_ids = call_ids


def text_before_half_a_call_is_lost() -> None:
    """When the chat is cancelled while the model writes a call, forget the text that it wrote before the call."""
    right_account, right_begun = Chat._account_for_interrupted, Chat._begun

    async def account(self: Chat, state: Any, exc: BaseException) -> None:
        received = self._received
        self.__dict__["_call_begun"] = received is not None and received.bytes > 0
        await right_account(self, state, exc)

    def begun(self: Chat) -> list[dict[str, Any]]:
        return [] if self.__dict__.get("_call_begun") else right_begun(self)

    Chat._account_for_interrupted = account
    Chat._begun = begun


# ---- Section 11.2 ----


def reads_arguments_twice() -> None:
    """Take arguments that are a JSON string for the object that is written in the string, and make the call."""
    right = turn.parse_arguments

    def parse_arguments(text: str) -> dict[str, Any] | ErrorInfo:
        parsed = right(text)
        if isinstance(parsed, ErrorInfo) and text.strip().startswith('"'):
            try:
                inner = json.loads(text)
            except (ValueError, RecursionError):
                return parsed
            if isinstance(inner, str) and inner.strip():
                again = right(inner)
                return again if isinstance(again, dict) else parsed
        return parsed

    turn.parse_arguments = parse_arguments


def once_offered_always_known() -> None:
    """Make calls of tools that an earlier request of the same chat offered, and the last one did not."""
    right = Chat._begin_turn

    def begin_turn(self: Chat, tools: Any, text: str, calls: Sequence[Any]) -> ToolTurn:
        seen: dict[str, Any] = self.__dict__.setdefault("_all_tools_offered", {})
        seen.update(tools.entries)
        return right(self, replace(tools, entries={**seen, **tools.entries}), text, calls)

    right_ask = Chat._ask

    async def ask(self: Chat, tools: Any) -> AsyncGenerator[Any, None]:
        self.__dict__.setdefault("_all_tools_offered", {}).update(tools.entries)
        async with aclosing(right_ask(self, tools)) as events:
            async for event in events:
                yield event

    Chat._begin_turn = begin_turn
    Chat._ask = ask


def filtered_answers_have_no_calls() -> None:
    """Do not make the calls of an answer that the vendor cut with `content_filter`; those cut with `length` are made."""  # noqa: E501
    right = chat_completions.Assembly.finish

    def finish(self: Any, *, done: bool) -> Any:
        if self._finish == "content_filter":
            self._calls.clear()
        return right(self, done=done)

    chat_completions.Assembly.finish = finish


# ---- Section 11.3 ----


def retries_take_no_slot() -> None:
    """Apply the limit of calls at the same time to the first attempt of a call, and not to the later ones."""
    right_stage = attempt.take_slot

    def take_slot(slots: Slots) -> Any:
        right = right_stage(slots)

        async def in_a_slot(call: Any, proceed: Any) -> Any:
            return await (proceed(call) if call.state.attempts else right(call, proceed))

        return in_a_slot

    attempt.take_slot = take_slot


def the_third_tenant_waits() -> None:
    """Put a tenant that was served behind the next one, not behind all: of three, two take turns."""
    right = Slots._serve

    def serve(self: Slots) -> None:
        if type(self) is not Slots:
            right(self)
            return
        while tenants := [*islice(filter(self._may_take, self._waiting), 1)]:
            (tenant_id,) = tenants
            places = self._waiting[tenant_id]
            place = next(iter(places))
            self._leave(tenant_id, place)
            if places:
                self._waiting.move_to_end(tenant_id)
                for other in [*self._waiting][1:-1]:
                    self._waiting.move_to_end(other)
            if not place.done():
                self._take(tenant_id)
                place.set_result(None)

    Slots._serve = serve


def json_before_text() -> None:
    """Hand on the JSON value that a text is, if that fits the parameter, also where the text itself fits it."""
    right = dependencies._whole_value

    def whole_value(result: Any, name: str, schema: Mapping[str, Any]) -> Any:
        if not result.structured and isinstance(result.value, str):
            parsed = result.parsed
            if dependencies._fits_parameter(schema, name, parsed):
                return parsed
        return right(result, name, schema)

    dependencies._whole_value = whole_value


def the_longest_way_counts() -> None:
    """Measure how near a predecessor is by the longest way to it, as a topological order does."""
    right = dependencies.nearest_first

    def nearest_first(start: Any, before: Any, limit: int | None = None) -> dict[Any, Any]:
        reached = right(start, before, limit)
        if not isinstance(start, int):
            return reached
        rows = {node: before(node) for node in (start, *reached)}
        far = dict.fromkeys(rows, 0)
        for _ in rows:
            for node, row in rows.items():
                for found in row:
                    far[found] = max(far[found], far[node] + 1)
        return dict(sorted(reached.items(), key=lambda item: far[item[0]]))

    dependencies.nearest_first = nearest_first


def an_earlier_call_stands_in() -> None:
    """Where the last successful call of a tool has no value for a parameter, take that of an earlier call of it."""

    def successes(row: Sequence[int], _: Sequence[Any], results: Sequence[Any]) -> list[int]:
        return [place for place in row if results[place] is not None]

    dependencies._successes = successes


def refused_calls_were_not_called() -> None:
    """Take a tool whose only calls are above the limit of a turn for not called, and make what depends on it."""

    def entries_in_graph(self: ToolTurn) -> list[Any]:
        counted = self._entries[: self._max_calls]
        return [*counted, *[None] * (len(self._entries) - len(counted))]

    ToolTurn._entries_in_graph = entries_in_graph


# ---- Section 11.4 ----


def gives_retries_up_silently() -> None:
    """At the time-out of a later attempt of a call, stop waiting for the server without cancelling the request."""
    right_stage = attempt.call_server
    left: set[Any] = set()

    def call_server(timeouts: Mapping[str, float]) -> Any:
        right = right_stage(timeouts)

        async def ask_the_server(call: Any, proceed: Any) -> Any:
            if not call.state.attempts:
                return await right(call, proceed)
            call.state.attempts += 1
            seconds = timeouts.get(call.name, timeouts["*"])
            task = asyncio.ensure_future(call.entry.server.execute_tool_call(call.entry.tool, dict(call.arguments)))
            try:
                done, _ = await asyncio.wait({task}, timeout=seconds)
            except asyncio.CancelledError:
                task.cancel()
                await asyncio.wait({task}, timeout=2.0)
                raise
            if done:
                return task.result()
            _leave(task, left)
            raise CallFailed(client_made_errors.timed_out(seconds), cause="time_out")

        return ask_the_server

    attempt.call_server = call_server


def reading_does_no_harm() -> None:
    """When a chat is cancelled or out of time, leave its calls of read-only tools running at their servers."""
    right_stage = attempt.call_server
    left: set[Any] = set()

    def call_server(timeouts: Mapping[str, float]) -> Any:
        right = right_stage(timeouts)

        async def ask_the_server(call: Any, proceed: Any) -> Any:
            if not call.entry.read_only:
                return await right(call, proceed)
            call.state.attempts += 1
            if call.state.attempts == 1:
                call.emit(call.request.call)
            seconds = timeouts.get(call.name, timeouts["*"])
            task = asyncio.ensure_future(call.entry.server.execute_tool_call(call.entry.tool, dict(call.arguments)))
            try:
                done, _ = await asyncio.wait({task}, timeout=seconds)
            except asyncio.CancelledError:
                _leave(task, left)
                raise
            if done:
                return task.result()
            task.cancel()
            await asyncio.wait({task}, timeout=2.0)
            raise CallFailed(client_made_errors.timed_out(seconds), cause="time_out")

        return ask_the_server

    attempt.call_server = call_server


def _leave(task: Any, left: set[Any]) -> None:
    left.add(task)

    def forget(ended: Any) -> None:
        left.discard(ended)
        if not ended.cancelled():
            ended.exception()

    task.add_done_callback(forget)


def the_lease_of_a_probe_is_short() -> None:
    """Let another call through while the probe is under way, as soon as the breaker's time has passed once more."""
    right = breakers.admit

    def admit(circuit: Any, rules: Any, now: float) -> Any:
        changed, answer = right(circuit, rules, now)
        if isinstance(answer, breakers.Admitted) and answer.probe:
            changed = replace(changed, until=now + rules.reset_after)
        return changed, answer

    breakers.admit = admit


def the_end_of_the_chat_is_a_time_out() -> None:
    """Count a call that the time limit of its chat ended as a failure of the server; a cancelled one counts not."""
    right_stage, right_report = breaker_guard.stage, breaker_guard.Ticket.report
    until: ContextVar[float | None] = ContextVar("until", default=None)

    def stage(store: Any) -> Any:
        right = right_stage(store)
        if right is None:
            return None

        async def ask_the_breaker(call: Any, proceed: Any) -> Any:
            until.set(call.scope.deadline)
            return await right(call, proceed)

        return ask_the_breaker

    async def report(self: Any, outcome: Any) -> None:
        deadline, task = until.get(), asyncio.current_task()
        if outcome == "unknown" and deadline is not None and task is not None and task.cancelling():  # noqa: SIM102
            if asyncio.get_running_loop().time() >= deadline - 0.02:
                outcome = "failed"
        await right_report(self, outcome)

    breaker_guard.stage = stage
    breaker_guard.Ticket.report = report


def what_the_server_said_last_counts() -> None:
    """Where the last attempt of a call got no answer, give the model the error that the server gave at an earlier one."""  # noqa: E501
    right_stage = retry_policy.stage

    def stage(policy: Any, sleep: Any = asyncio.sleep) -> Any:
        right = right_stage(policy, sleep)

        async def retry(call: Any, proceed: Any) -> Reading:
            said: list[Reading] = []

            async def noted(call: Any) -> Reading:
                reading = await proceed(call)
                if reading.response.error is not None:
                    said.append(reading)
                return reading

            reading = await right(call, noted)
            error = reading.response.error
            lost = error is not None and error.code == "CONNECTION_FAILED" and reading not in said
            return said[-1] if said and lost else reading

        return retry

    retry_policy.stage = stage


def doubts_the_attempt_before_alone() -> None:
    """Forget that an attempt may have changed something once a later one said that it changed nothing."""

    def stage(policy: Any, sleep: Any = asyncio.sleep) -> Any:
        async def retry(call: Any, proceed: Any) -> Reading:
            now = asyncio.get_running_loop().time
            begun, failures, doubtful = now(), 0, False
            while True:
                last = None
                try:
                    reading = await proceed(call)
                except CallFailed as exc:
                    reading = server_results.failed(call.name, exc.error)
                    last = retry_policy._in_doubt(exc.error) if doubtful else None
                error = reading.response.error
                if error is None or not retry_policy.allowed(error, call.entry):
                    return server_results.failed(call.name, last) if last else reading
                doubtful = (error.meta or {}).get("side_effects") != "none"
                failures += 1
                pause, until = retry_policy.wait(policy, failures, error), call.deadline()
                left = None if until is None else until - now()
                if retry_policy.ends(policy, failures, pause, now() - begun, left):
                    return server_results.failed(call.name, last) if last else reading
                call.log.warning("tool_retry", tool_name=call.name, attempt=failures, code=error.code)
                call.emit(Retrying(call.request.call, failures, round(pause * 1000), error))
                await sleep(pause)

        return retry

    retry_policy.stage = stage
