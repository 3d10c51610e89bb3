"""The checks of the reports of progress that the application is told (section 10.2)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, repeat
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
_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_IN_ITS_PLACE: Final = 10
"""Maximum number of characters in the place of a control character, such as `<U+001B>`."""


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


_ENDS_AN_ATTEMPT: Final = ("retry", "tool_result", "tool_error")


@check("XMCP-REC-008", profile="client")
def _not_too_many(trace: TraceIndex) -> Observations:
    for call, told in _told_progress(trace):
        last = trace.time(told[-1][0])
        # For the client an attempt lasts until it has read the answer, which the server's record does not tell.
        ends = [trace.time(at) for at, event in call.turn.chat.events(call) if event.get("type") in _ENDS_AN_ATTEMPT]
        open_ended = chain(ends, repeat(math.inf))
        lasted = [min(end, last) - one.begun for one, end in zip(call.attempts, open_ended, strict=False)]
        most = sum(_MOST * (math.floor(max(0.0, seconds)) + 1) for seconds in lasted)
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
    text, said = str(event.get("text") or "").strip(), report.message or ""
    controls = len(_CONTROLS.findall(said))
    return _is_written_otherwise(text, said, controls) if controls else text[:_COMPARED] == said.strip()[:_COMPARED]


def _is_written_otherwise(text: str, said: str, controls: int) -> bool:
    """Return whether a text has what stands between the control characters of what a server said, in its order."""
    if len(text) > len(said) + controls * _IN_ITS_PLACE:
        return False
    size, seen, at = 0, "".join(text.split()), 0
    for run in _CONTROLS.split(said[:_COMPARED]):
        words = "".join(run[: max(0, _COMPARED - size)].split())
        at = seen.find(words, at)
        if at < 0:
            return False
        at += len(words)
        size += len(run) + _IN_ITS_PLACE
    return True


def _in_words(report: Reported) -> str:
    of = "" if report.total is None else f" of {report.total:g}"
    return f"{report.progress:g}{of} `{quoted(report.message or '')}`"


def _shown(event: Mapping[str, Any]) -> str:
    members = {name: event[name] for name in ("progress", "total", "text") if name in event}
    return quoted(str(members))
