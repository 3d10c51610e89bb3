"""The checks of the reports of progress that the application is told (section 10.2)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.trace import Reported
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import ModelCall

_MOST: Final = 20
"""Events for each second that an attempt is under way (XMCP-REC-008)."""
_COMPARED: Final = 900
"""Characters of a text that are compared: of a longer one the end is left out, perhaps with a mark."""


def faults_of_progress(
    at: int, event: Mapping[str, Any], call: ModelCall, told: Counter[str | None]
) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with an event that tells none of the reports that came before it, or an earlier one again.

    Args:
        at: the index of its record.
        event: the event.
        call: the call that it is about.
        told: how many reports of each call, by its id, lie before the next that can be told.
    """
    reports = [report for attempt in call.attempts for when, report in attempt.reports if when < at]
    for number in range(told[call.id], len(reports)):
        if _tells(event, reports[number]):
            told[call.id] = number + 1
            return
    newest = f"such as {_in_words(reports[-1])}" if reports else "of which there was none"
    yield f"{_shown(event)}", f"a report that its server sent after the one told last, {newest}"


@check("XMCP-REC-008", profile="client")
def _not_too_many(trace: TraceIndex) -> Observations:
    for call, told in _told_progress(trace):
        last = trace.time(told[-1][0])
        most = sum(_MOST * (math.floor(max(0.0, min(one.ended, last) - one.begun)) + 1) for one in call.attempts)
        seen = f"{len(told)} events `tool_progress` of {call}"
        yield either("XMCP-REC-008", len(told) <= most, seen, f"{most} at most", where=told[-1][0])


@check("XMCP-REC-009", profile="client")
def _the_last_is_told(trace: TraceIndex) -> Observations:
    for call, told in _told_progress(trace):
        last = call.attempts[-1]
        of_last = [event for at, event in told if at > last.at]
        if call.turn.chat.cut or not last.was_answered or not last.reports or not of_last:
            continue
        _, report = last.reports[-1]
        ok = _tells(of_last[-1], report)
        seen = f"{_shown(of_last[-1])} as the last of {call}"
        yield either("XMCP-REC-009", ok, seen, f"{_in_words(report)}, before its answer", where=told[-1][0])


def _told_progress(trace: TraceIndex) -> Iterator[tuple[ModelCall, list[tuple[int, Mapping[str, Any]]]]]:
    """Yield each call of which progress was told, and whose attempts are known, with the events."""
    for call in trace.calls:
        told = [(at, event) for at, event in call.turn.chat.events(call) if event.get("type") == "tool_progress"]
        if told and call.attempts:
            yield call, told


def _tells(event: Mapping[str, Any], report: Reported) -> bool:
    if event.get("progress") != report.progress or event.get("total") != report.total:
        return False
    text, said = event.get("text"), report.message or ""
    if not said.isprintable():
        return True  # control characters are written in another way
    return str(text or "").strip()[:_COMPARED] == said.strip()[:_COMPARED]


def _in_words(report: Reported) -> str:
    of = "" if report.total is None else f" of {report.total:g}"
    return f"{report.progress:g}{of} `{quoted(report.message or '')}`"


def _shown(event: Mapping[str, Any]) -> str:
    members = {name: event[name] for name in ("progress", "total", "text") if name in event}
    return quoted(str(members))
