"""Checks of what the events of a run say together (section 10.6)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.gateway.seen import Chunked, Seen, Streamed
from xmcp_conformance.profiles.gateway.told import GAP, LAST, Told, sum_of, total

_NEXT: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("tool.started",),
    "tool.started": ("tool.progress", "tool.finished"),
    "tool.progress": ("tool.progress", "tool.finished"),
    "tool.finished": ("display",),
    "display": ("display",),
}
"""Which events of a call can follow which; nothing comes before the first."""


def _runs(seen: Seen) -> list[Told] | None:
    """Return the events of a run from its beginning, however they came; `None` where some are missing."""
    events = seen.events if isinstance(seen, Streamed) else seen.told if isinstance(seen, Chunked) else []
    return None if not events or any(event.type == GAP for event in events) else events


@check("XMCP-REC-040", profile="gateway")
def _calls_in_order(seen: Seen) -> Observations:
    last: dict[str, str] = {}
    for at, event in enumerate(_runs(seen) or ()):
        call = event.member("call_id", str)
        if event.type == "run.finished":
            open_ = [id_ for id_, type_ in last.items() if type_ in ("tool.started", "tool.progress")]
            seen_ = f"`run.finished` without a `tool.finished` of `{quoted(next(iter(open_), ''))}`"
            yield either("XMCP-REC-040", not open_, seen_, "`tool.finished` of each call before it", where=at)
        if call is None or not event.type or event.type not in _NEXT:
            continue
        before = last.get(call, "")
        ok, last[call] = event.type in _NEXT[before], event.type
        seen_ = f"`{event.type}` of `{quoted(call)}` after {f'its `{before}`' if before else 'no other event of it'}"
        yield either("XMCP-REC-040", ok, seen_, " or ".join(_NEXT[before]), where=at)


@check("XMCP-REC-041", profile="gateway")
def _steps_in_order(seen: Seen) -> Observations:
    done, open_ = 0, 0
    for at, event in enumerate(_runs(seen) or ()):
        step = event.member("step", int)
        if event.type == "run.finished" and done + open_:
            yield either(
                "XMCP-REC-041", not open_, f"`run.finished` in step {open_}", "`step.finished` before it", where=at
            )
        if step is None or event.type == "notice" or event.type in LAST:
            continue
        if event.type == "step.started":
            ok, expected = not open_ and step == done + 1, f"step {done + 1}, after the end of the one before"
            open_ = step
        else:
            ok, expected = step == open_, f"step {open_}" if open_ else "no event between two steps"
            if event.type == "step.finished":
                done, open_ = step, 0
        yield either("XMCP-REC-041", ok, f"`{quoted(event.type)}` of step {step}", expected, where=at)
        if not ok:
            return  # what follows is counted from here


@check("XMCP-REC-042", profile="gateway")
def _usage_is_the_sum(seen: Seen) -> Observations:
    events = _runs(seen) if isinstance(seen, Streamed) else None
    if not events or events[-1].type != "run.finished":
        return
    usage, records = events[-1].data.get("usage"), sum_of(events).usages
    at = len(events) - 1
    if not isinstance(usage, dict):
        yield broken("XMCP-REC-042", f"the usage {quoted(str(usage))}", "an object", where=at)
        return
    calls = usage.get("llm_calls")
    yield either("XMCP-REC-042", calls == len(records), f"`llm_calls` {calls}", f"{len(records)} records", where=at)
    for name, expected in total(records).items():
        got = usage.get(name)
        ok = name not in usage or got == expected or _close(got, expected)
        yield either("XMCP-REC-042", ok, f"`{name}` {quoted(str(got))}", f"{expected}, the sum", where=at)


def _close(got: Any, expected: float | None) -> bool:
    """Return whether two figures are equal but for the order in which prices were added."""
    if not isinstance(got, int | float) or expected is None:
        return False
    return math.isclose(got, expected, rel_tol=1e-9, abs_tol=1e-12)


@check("XMCP-REC-043", profile="gateway")
def _answer_is_what_was_told(seen: Seen) -> Observations:
    events = _runs(seen) if isinstance(seen, Streamed) else None
    if not events or events[-1].type != "run.finished":
        return
    answer, text = events[-1].member("answer", str), sum_of(events).text
    if answer is not None:
        seen_ = f"the answer `{quoted(answer)}` ({len(answer)} characters)"
        expected = f"the end of `{quoted(text)}` ({len(text)}), the text of the last step"
        yield either("XMCP-REC-043", text.endswith(answer), seen_, expected, where=len(events) - 1)


@check("XMCP-REC-046", profile="gateway")
def _arguments_are_the_models(seen: Seen) -> Observations:
    if not isinstance(seen, Streamed | Chunked) or seen.wrote is None:
        return
    for at, event in enumerate(_runs(seen) or ()):
        if event.type != "tool.started":
            continue
        arguments = event.data.get("arguments")
        if arguments in seen.wrote:
            yield obeyed("XMCP-REC-046", where=at)
        else:
            expected = " or ".join(f"`{quoted(str(one))}`" for one in seen.wrote)
            yield broken("XMCP-REC-046", f"the arguments `{quoted(str(arguments))}`", expected, where=at)
