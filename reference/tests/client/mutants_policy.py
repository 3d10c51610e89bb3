"""Mutants of the call pipeline: attempts, time-outs, breakers, caches, approvals, parameters."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any

import pytest
from mutants import breaks, put_around, put_first

from xmcp.chat import client_made_errors
from xmcp.chat.errors import CallFailed
from xmcp.client.calls import app_parameters, approval, breaker_guard, cache, retry_policy, server_results
from xmcp.client.calls.active_call import ActiveCall, AttemptStage, Next, NextOfAttempt, Stage
from xmcp.client.calls.cache import ResponseCache
from xmcp.client.calls.server_results import Reading
from xmcp.client.loop import turn
from xmcp.storage import MemoryBreakers, breakers
from xmcp.wire import ErrorInfo, ToolResponse


@breaks("XMCP-ERR-040")
def tries_anything_again(patch: pytest.MonkeyPatch) -> None:
    """Makes any call again to which a server answered with a retryable error, whatever the tool may have done."""
    # A circuit breaker can hold the attempt after an error of the client back, with a code that is not allowed then.
    right, own = retry_policy.allowed, ("CIRCUIT_OPEN", "CONNECTION_FAILED", "TIMEOUT")
    patch.setattr(
        retry_policy,
        "allowed",
        lambda error, entry: right(error, entry) if error.code in own else error.retryable,
    )


@breaks("XMCP-CLI-132")
def forgets_what_came_before(patch: pytest.MonkeyPatch) -> None:
    """Says that a call changed nothing, although that is true of its last attempt only."""
    patch.setattr(retry_policy, "_in_doubt", lambda error: error)


@breaks("XMCP-ERR-041")
def is_impatient(patch: pytest.MonkeyPatch) -> None:
    """Waits for no more than half a second, whatever the server asks for."""
    wait = retry_policy.wait
    patch.setattr(retry_policy, "wait", lambda *args: min(wait(*args), 0.5))


@breaks("XMCP-ERR-042")
def keeps_the_error_to_itself(patch: pytest.MonkeyPatch) -> None:
    """Tells the model that a call succeeded with nothing to say, where it has given up on it."""

    async def silent(call: ActiveCall, proceed: Next) -> Reading:
        reading = await proceed(call)
        error = reading.response.error
        if error is None or error.code != "GIVEN_UP":
            return reading
        return replace(reading, document=ToolResponse(call.name, "").to_xml())

    put_first(patch, silent)


@breaks("XMCP-SEC-040")
def tries_for_ever(patch: pytest.MonkeyPatch) -> None:
    """Does not count its attempts."""
    ends = retry_policy.ends
    patch.setattr(retry_policy, "ends", lambda policy, failures, *rest: failures > 30 or ends(policy, 0, *rest))


@breaks("XMCP-CLI-040")
def waits_as_long_as_it_is_told(patch: pytest.MonkeyPatch) -> None:
    """Waits for another attempt however long the server asks for."""
    patch.setattr(retry_policy, "ends", lambda policy, failures, *rest: failures >= policy.max_attempts)


@breaks("XMCP-CLI-041")
def calls_a_time_out_a_failure(patch: pytest.MonkeyPatch) -> None:
    """Gives a call that was not answered in time a code of its own making."""
    patch.setattr(client_made_errors, "timed_out", lambda seconds: ErrorInfo("X_TOO_SLOW", "m", retryable=False))


@breaks("XMCP-CLI-042")
def counts_a_tools_errors(patch: pytest.MonkeyPatch) -> None:
    """Counts the errors of tools as failures of their server."""

    async def counting(stage: AttemptStage, call: ActiveCall, proceed: NextOfAttempt) -> Any:
        async def failing(call: ActiveCall) -> Any:
            result = await proceed(call)
            error = server_results.read(result, call.name, speaks_xmcp=call.entry.server.speaks_xmcp).response.error
            if error is not None and error.code != "INVALID_XML":
                raise CallFailed(error, transport=True)
            return result

        return await stage(call, failing)

    put_around(patch, breaker_guard, counting)


@breaks("XMCP-CLI-100")
def counts_each_call_on_a_lost_connection(patch: pytest.MonkeyPatch) -> None:
    """Counts a lost connection once for each call that was on it."""
    _tell_instead(patch, {"lost": "failed"})


@breaks("XMCP-CLI-101")
def counts_what_it_cancels(patch: pytest.MonkeyPatch) -> None:
    """Counts the calls of cancelled chats as failures of their server."""
    _tell_instead(patch, {"unknown": "failed"})


@breaks("XMCP-CLI-102")
def counts_what_it_cannot_read(patch: pytest.MonkeyPatch) -> None:
    """Counts answers that it cannot read as failures of their server."""

    async def counting(stage: AttemptStage, call: ActiveCall, proceed: NextOfAttempt) -> Any:
        async def failing(call: ActiveCall) -> Any:
            result = await proceed(call)
            error = server_results.read(result, call.name, speaks_xmcp=call.entry.server.speaks_xmcp).response.error
            if error is not None and error.code == "INVALID_XML":
                raise CallFailed(error, transport=True)
            return result

        return await stage(call, failing)

    put_around(patch, breaker_guard, counting)


def _tell_instead(patch: pytest.MonkeyPatch, instead: dict[str, Any]) -> None:
    """Tell the breakers other outcomes than those that calls had."""
    record = MemoryBreakers.record

    async def telling(self: Any, server: str, admitted: Any, outcome: Any) -> Any:
        return await record(self, server, admitted, instead.get(outcome, outcome))

    patch.setattr(MemoryBreakers, "record", telling)


@breaks("XMCP-CLI-043")
def holds_nothing_back(patch: pytest.MonkeyPatch) -> None:
    """Calls a server while its breaker is open."""
    admit = breakers.admit

    def lax(circuit: Any, rules: Any, now: float) -> Any:
        if circuit.state == "open" and now < circuit.until:
            return circuit, breakers.Admitted(probe=False, token="0")
        return admit(circuit, rules, now)

    patch.setattr(breakers, "admit", lax)


@breaks("XMCP-CLI-044")
def sends_many_probes(patch: pytest.MonkeyPatch) -> None:
    """Lets every call through while a probe is under way."""
    admit = breakers.admit

    def lax(circuit: Any, rules: Any, now: float) -> Any:
        if circuit.state == "half_open":
            return circuit, breakers.Admitted(probe=False, token="0")
        return admit(circuit, rules, now)

    patch.setattr(breakers, "admit", lax)


@breaks("XMCP-CLI-045")
def closes_whatever_the_probe_says(patch: pytest.MonkeyPatch) -> None:
    """Closes a breaker although its probe did not reach the server."""
    record = MemoryBreakers.record

    async def closing(self: Any, server: str, admitted: Any, outcome: Any) -> Any:
        failed = admitted.probe and outcome in ("failed", "lost")
        return await record(self, server, admitted, "ok" if failed else outcome)

    patch.setattr(MemoryBreakers, "record", closing)


@breaks("XMCP-CLI-046")
def lets_calls_run_on(patch: pytest.MonkeyPatch) -> None:
    """Waits for the calls of a cancelled chat instead of cancelling them."""

    async def patient(tasks: Any) -> None:
        if running := [task for task in tasks if not task.done()]:
            await asyncio.wait(running, timeout=50)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    patch.setattr(turn, "_cancel_and_wait", patient)


@breaks("XMCP-CLI-050")
def caches_everything(patch: pytest.MonkeyPatch) -> None:
    """Answers calls of any tool from the cache."""
    patch.setattr(cache, "can_be_cached", lambda entry, *, read_only_too: True)


@breaks("XMCP-CLI-051")
def forgets_whose_answer_it_was(patch: pytest.MonkeyPatch) -> None:
    """Leaves the tenant out of the key of a cached answer."""
    key = cache.key
    patch.setattr(cache, "key", lambda tenant_id, entry, arguments: key(None, entry, arguments))


@breaks("XMCP-CLI-052")
def caches_errors(patch: pytest.MonkeyPatch) -> None:
    """Keeps errors in the cache."""
    keep = cache.can_be_kept
    patch.setattr(cache, "can_be_kept", lambda reading: reading.response.error is not None or keep(reading))


@breaks("XMCP-CLI-053")
def caches_what_passes(patch: pytest.MonkeyPatch) -> None:
    """Keeps transient displays in the cache."""
    patch.setattr(cache, "can_be_kept", lambda reading: reading.response.error is None)


@breaks("XMCP-CLI-054")
def flies_alone(patch: pytest.MonkeyPatch) -> None:
    """Makes a call although an equal one is under way."""

    async def alone(own: ResponseCache, key: str, call: Any, deadline: Any = None) -> Any:
        return await own._fly(key, call, cache._Flight(call))

    patch.setattr(ResponseCache, "answer", alone)


@breaks("XMCP-CLI-055")
def takes_the_others_down(patch: pytest.MonkeyPatch) -> None:
    """Cancels a call that others wait for when the chat that made it is cancelled."""
    answer = ResponseCache.answer

    async def selfish(own: ResponseCache, key: str, *rest: Any) -> Any:
        first = key not in own._flights
        try:
            return await answer(own, key, *rest)
        except asyncio.CancelledError:
            if first and (flight := own._flights.get(key)) is not None:
                flight.task.cancel()
            raise

    patch.setattr(ResponseCache, "answer", selfish)


@breaks("XMCP-CLI-080")
def asks_afterwards(patch: pytest.MonkeyPatch) -> None:
    """Makes calls of tools that change nothing without asking for an approval."""

    async def lax(stage: Stage, call: ActiveCall, proceed: Next) -> Reading:
        return await (proceed(call) if call.state.read_only else stage(call, proceed))

    put_around(patch, approval, lax)


@breaks("XMCP-CLI-081")
def hides_a_refusal(patch: pytest.MonkeyPatch) -> None:
    """Answers a call that was not approved as if the tool had failed."""

    async def hiding(stage: Stage, call: ActiveCall, proceed: Next) -> Reading:
        reading = await stage(call, proceed)
        error = reading.response.error
        if error is None or error.code != "FORBIDDEN":
            return reading
        return server_results.failed(call.name, ErrorInfo("TOOL_ERROR", "It did not work."))

    put_around(patch, approval, hiding)


@breaks("XMCP-CLI-083")
def lets_the_model_fill_in(patch: pytest.MonkeyPatch) -> None:
    """Keeps what the model wrote for a parameter that the application fills in."""

    async def trusting(stage: Stage, call: ActiveCall, proceed: Next) -> Reading:
        def as_written(call: ActiveCall) -> Awaitable[Reading]:
            call.settled = {**call.arguments, **call.state.arguments}
            return proceed(call)

        return await stage(call, as_written)

    put_around(patch, app_parameters, trusting)


@breaks("XMCP-ERR-012")
def does_not_know_what_to_do(patch: pytest.MonkeyPatch) -> None:
    """Calls an error of a category that it does not know a fault of its own."""
    read = server_results.read

    def strict(result: Any, name: str, *, speaks_xmcp: bool) -> Reading:
        reading = read(result, name, speaks_xmcp=speaks_xmcp)
        error = reading.response.error
        if error is not None and error.category.startswith("x_"):  # type: ignore[union-attr]
            raise ValueError(error.category)
        return reading

    patch.setattr(server_results, "read", strict)
