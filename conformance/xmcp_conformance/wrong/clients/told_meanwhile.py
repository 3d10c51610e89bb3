"""Faults in what is told while a model thinks and a tool works: reasoning, and reports of progress (section 10.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xmcp_conformance.profiles.client.trace import Trace
from xmcp_conformance.wrong.registry import breaks

from .calls import turn
from .trace_builder import TraceBuilder, call

_THOUGHT = "They want bolts, so I search."


def _thinking(*told: dict[str, Any], answer: str = "Seven.") -> Trace:
    """Return a chat in which the model thinks and answers, with the events `told` before its end."""
    s = TraceBuilder()
    s.begin(events=True)
    s.ask()
    s.say("Seven.", reasoning=_THOUGHT)
    for event in told:
        s.tell(**event)
    s.tell("done")
    s.end(answer)
    return s.trace


def _reporting(reports: Sequence[float], told: Sequence[dict[str, Any]], message: str = "a row") -> Trace:
    """Return a chat with a call whose server sends reports of 30 with `message`, of which the events tell."""
    s = turn(call())
    s.tell("tool_call", call_id="t1")
    s.tell("tool_started", call_id="t1")
    number = s.called()
    for progress in reports:
        s.report(number, progress, 30, message)
    for event in told:
        s.tell("tool_progress", call_id="t1", **event)
    s.wait(0.5)
    s.answered(number)
    s.reply()
    s.tell("tool_result", call_id="t1")
    s.ask()
    s.say("Seven.")
    s.tell("done")
    s.end("Seven.")
    return s.trace


def _row(progress: float, **other: Any) -> dict[str, Any]:
    return {"progress": progress, "total": 30, "text": "a row", **other}


@breaks("XMCP-REC-006", profile="client")
def half_of_the_reasoning_is_told(wrong: bool) -> Trace:
    return _thinking({"type_": "llm_reasoning", "text": _THOUGHT[: 10 if wrong else None]})


@breaks("XMCP-REC-006", profile="client")
def the_reasoning_is_of_the_next_turn(wrong: bool) -> Trace:
    return _thinking({"type_": "llm_reasoning", "text": _THOUGHT, "turn": 2 if wrong else 1})


@breaks("XMCP-REC-007", profile="client")
def the_reasoning_is_told_as_text(wrong: bool) -> Trace:
    kind = "llm_delta" if wrong else "llm_reasoning"
    return _thinking({"type_": kind, "text": _THOUGHT}, {"type_": "llm_delta", "text": "Seven."})


@breaks("XMCP-REC-006", profile="client")
def a_report_is_made_up(wrong: bool) -> Trace:
    return _reporting([1, 3], [_row(2 if wrong else 1), _row(3)])


@breaks("XMCP-REC-006", profile="client")
def reports_are_told_in_another_order(wrong: bool) -> Trace:
    first, second = (_row(2), _row(1)) if wrong else (_row(1), _row(2))
    return _reporting([1, 2, 3], [first, second, _row(3)])


@breaks("XMCP-REC-006", profile="client")
def the_total_is_left_out(wrong: bool) -> Trace:
    told = {"progress": 1, "text": "a row"}
    return _reporting([1, 2], [told if wrong else _row(1), _row(2)])


@breaks("XMCP-REC-006", profile="client")
def a_report_has_the_words_of_the_client(wrong: bool) -> Trace:
    return _reporting([1, 2], [_row(1, text="working" if wrong else "a row"), _row(2)])


@breaks("XMCP-REC-006", profile="client")
def a_report_with_a_control_character_loses_its_words(wrong: bool) -> Trace:
    right = _row(1, text="a␛[2Jrow")
    return _reporting([1, 2], [_row(1, text="working") if wrong else right, right | {"progress": 2}], "a\x1b[2J row\n")


@breaks("XMCP-REC-006", profile="client")
def a_report_with_a_wide_blank_has_no_words(wrong: bool) -> Trace:
    right = _row(1, text="a\u3000row")
    told = {"progress": 1, "total": 30} if wrong else right
    return _reporting([1, 2], [told, right | {"progress": 2}], "a\u3000row")


@breaks("XMCP-REC-001", profile="client")
def a_report_can_clear_the_screen(wrong: bool) -> Trace:
    return _reporting([1, 2], [_row(1, text="\x1b[2Ja row") if wrong else _row(1), _row(2)])


@breaks("XMCP-REC-002", profile="client")
def progress_is_told_after_the_result(wrong: bool) -> Trace:
    s = turn(call())
    s.tell("tool_call", call_id="t1")
    s.tell("tool_started", call_id="t1")
    number = s.called()
    s.report(number, 30, 30, "a row")
    s.answered(number)
    s.reply()
    for kind in ("tool_result", "tool_progress") if wrong else ("tool_progress", "tool_result"):
        s.tell(kind, call_id="t1", **(_row(30) if kind == "tool_progress" else {}))
    s.ask()
    s.say("Seven.")
    s.tell("done")
    s.end("Seven.")
    return s.trace


@breaks("XMCP-REC-008", profile="client")
def each_of_many_reports_is_told(wrong: bool) -> Trace:
    rows = range(1, 31)
    return _reporting(rows, [_row(row) for row in rows if wrong or row % 2 == 0])


@breaks("XMCP-REC-009", profile="client")
def the_last_report_is_lost(wrong: bool) -> Trace:
    return _reporting([1, 2], [_row(1)] if wrong else [_row(1), _row(2)])
