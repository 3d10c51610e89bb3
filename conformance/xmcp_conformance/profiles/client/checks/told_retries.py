"""What an event `retry` says of the attempts before and after it (section 10.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.trace import INSTANT
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import Attempt, ModelCall

_ROUNDED: Final = 1
"""Milliseconds."""


def faults_of_retry(
    trace: TraceIndex, at: int, event: Mapping[str, Any], call: ModelCall | None, failed: int
) -> Iterator[tuple[str, str]]:
    """Yield what is seen and what is expected for each member that says something else.

    Args:
        trace: the trace.
        at: the index of the event.
        event: the event, which is valid.
        call: its call; `None` where it is of none, or nobody knows of which.
        failed: how many attempts have failed so far.
    """
    if event["attempt"] != failed:
        yield f"`attempt` {event['attempt']}", f"{failed}, how many have failed so far"
    if event.get("call_id") is None:
        return  # the wait before another model is the client's own
    if (short := _shorter_than_asked(at, event, call)) is not None:
        yield short
        return
    if call is None or call.unclear or trace.may_share(call) or not 0 < event["attempt"] <= len(call.attempts):
        return
    last, *after = call.attempts[event["attempt"] - 1 :]
    codes = _codes_of(trace, last)
    code = event["error"]["code"]
    # What a client has read wrongly, and tells as it tells the model, is judged by the sentences about reading.
    if codes and code not in codes and code != call.code and _reads_it_rightly(trace, last, codes):
        seen = f"the error {quoted(code)} after an attempt that ended with {last.outcome}"
        yield seen, " or ".join(sorted(codes))
    if after and (fault := _another_wait(trace, event["wait_ms"], last, after[0])) is not None:
        yield fault


def _shorter_than_asked(at: int, event: Mapping[str, Any], call: ModelCall | None) -> tuple[str, str] | None:
    least = event["error"].get("retry_after_ms", 0)
    if event["wait_ms"] >= least - _ROUNDED:
        return None
    attempts = call.attempts if call is not None else []
    last, after = next((pair for pair in pairwise(attempts) if pair[1].at > at), (None, None))
    if last is not None and after is not None:
        asked = last.error.get("retry_after_ms", 0)
        if (after.begun - last.ended) * 1000 < asked - INSTANT * 1000:
            return None  # the wait was that short, and the event tells the truth: XMCP-ERR-041
    return f"`wait_ms` {event['wait_ms']}", f"at least the {least} that its error asks for"


def _codes_of(trace: TraceIndex, last: Attempt) -> set[str]:
    """Return the codes that the failure of an attempt can have; none where that is not known."""
    answer = last.answered
    if last.outcome == "late":
        return {"TIMEOUT"}
    if last.outcome in ("unreachable", "lost"):
        is_over = last.ended - last.begun >= trace.setup.tool_timeout - trace.instant
        return {"CONNECTION_FAILED", *(["TIMEOUT"] if is_over else [])}
    if answer is None or last.outcome not in ("error", "outside") or not answer.readable:
        return set()
    if answer.structured is not None and not trace.setup.servers[last.server].xmcp:
        return set()  # how it reads that is a matter of XMCP-MCP-040
    return {str(last.error["code"])} if "code" in last.error else set()


def _reads_it_rightly(trace: TraceIndex, last: Attempt, codes: set[str]) -> bool:
    """Return whether the client is seen to read such an attempt rightly: a server's own error, or by another call."""
    if last.was_answered:
        return True
    ended = [call for call in trace.calls if call.attempts and call.attempts[-1].outcome == last.outcome]
    return any(call.code in codes for call in ended)


def _another_wait(trace: TraceIndex, told: int, last: Attempt, after: Attempt) -> tuple[str, str] | None:
    """Return how the wait that was told differs from that between two attempts.

    One that was told too short can be seen only where the call had to wait for no slot, and by a clock that is exact:
    by another, connections take their time.
    """
    ended = min(last.ended, last.begun + trace.setup.tool_timeout)  # its server can learn of that late
    waited, slack = (after.begun - ended) * 1000, _ROUNDED + trace.instant * 1000
    is_exact = trace.instant <= INSTANT and not _other_attempts(trace, ended, last, after)
    if told > waited + slack or (is_exact and told < waited - slack):
        return f"`wait_ms` {told}", f"{waited:.0f}, as long as the wait for the next attempt"
    return None


def _other_attempts(trace: TraceIndex, ended: float, last: Attempt, after: Attempt) -> bool:
    """Return whether another attempt can have had a slot between two attempts of a call."""
    others = (one for one in trace.attempts if one is not last and one is not after)
    return any(
        one.begun <= after.begun + trace.instant and one.ended >= ended - trace.instant and one.call is not last.call
        for one in others
    )
