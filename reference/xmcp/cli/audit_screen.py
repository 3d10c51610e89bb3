"""How runs and model calls look in a terminal. Everything that others wrote is shown as data: it cannot act on it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.text import Text

from xmcp.chat.untrusted_text import printable

if TYPE_CHECKING:
    from xmcp.gateway.audit.rebuild import ModelCall

SHOWN_LINES: Final = 12
"""How many lines of a text are shown without `--full`."""

SHOWN_CHARACTERS: Final = 1_000
"""How many characters of a text are shown without `--full`."""

_STYLES: Final = {"finished": "green", "ok": "green", "running": "cyan", "intent": "yellow", "cancelled": "yellow"}


def show_runs(runs: Sequence[Mapping[str, Any]], console: Console, *, cut: bool) -> None:
    """Show runs, two lines each. `cut`: there may be more."""
    if not runs:
        console.print("No such runs.")
    for run in runs:
        calls = [f"{run[f'{kind}_calls']:,} {kind}" for kind in ("model", "tool") if run[f"{kind}_calls"]]
        one = run["model_calls"] + run["tool_calls"] == 1
        facts = [f"{' + '.join(calls)} call{'' if one else 's'}"] if calls else []
        facts += [f"{tokens:,} tokens"] if (tokens := _tokens(run)) else []
        first = Text(f"{_time(run['started_at'], seconds=False)}  ")
        first.append(f"{printable(run['status']):<11}", style=_style(run["status"]))
        first.append(f" {_duration(run['started_at'], run['finished_at']):>7}  ")
        first.append(", ".join(facts))
        _line(console, first)
        names = [_cost(run["cost_micros"])] if run["cost_micros"] is not None else []
        names += [f"tenant {run['tenant']}"] if run["tenant"] is not None else []
        second = Text(f"  {printable(run['id'])}")
        second.append(printable("".join(f"  {name}" for name in names)), style="dim")
        _line(console, second)
        if run["conversation_id"] != run["id"]:
            _line(console, Text(f"  in {printable(_conversation(run))}", style="dim"))
        if run["error_code"]:
            _line(console, Text(f"  {printable(_error(run))}", style="red"))
    if cut:
        console.print(f"These are the newest {len(runs):,}; --limit shows more.", style="dim", soft_wrap=True)


def show_run(found: Mapping[str, Any], console: Console) -> None:
    """Show one run with its calls."""
    run, usage = found["run"], found["usage"]
    head = Text(f"Run {printable(run['id'])}  ", style="bold")
    head.append(printable(run["status"]), style=_style(run["status"]))
    _line(console, head)
    facts = {
        "conversation": _conversation(run),
        "tenant": run["tenant"],
        "key": run["api_key"],
        "asked by": run["surface"],
        "model": run["model"],
        "began": _time(run["started_at"]),
        "took": _duration(run["started_at"], run["finished_at"]),
        "first event": _duration(run["started_at"], run["first_event_at"]) if run["first_event_at"] else None,
        "ended": run["finish_reason"],
        "events": f"{found['events']:,}",
        "tokens": _used(usage),
        "cost": "not known" if usage["cost_micros"] is None else _cost(usage["cost_micros"]),
    }
    for name, value in facts.items():
        if value is not None:
            _line(console, Text(f"  {name:<13} {printable(str(value))}"))
    if run["error_code"]:
        _wrapped(console, f"  {_error(run)}", "red")
    _heading(console, "Model calls", len(found["model_calls"]))
    for call in found["model_calls"]:
        told = [_call_name(call), _duration(call["started_at"], call["finished_at"])]
        told += [call["finish_reason"]] if call["finish_reason"] else []
        told += (
            [_counted(call["message_count"], "message")]
            if call["message_count"] is not None
            else ["what it read is lost"]
        )
        if call["usage"]:
            told.append(f"tokens {_used(call['usage'])}{' (estimated)' if call['usage']['estimated'] else ''}")
        _wrapped(console, f"  {printable('  '.join(told))}")
        if call["error_code"]:
            _wrapped(console, f"     {_error(call)}", "red")
    _heading(console, "Tool calls", len(found["tool_calls"]))
    for call in found["tool_calls"]:
        _show_tool_call(call, console, ended=run["finished_at"] is not None)
    if found["gaps"]:
        _heading(console, "Records that were lost while it ran, of this run or of others", None)
        for gap in found["gaps"]:
            _line(console, Text(f"  {gap['dropped']:,} ({printable(gap['reason'])}) until {_time(gap['to_at'])}"))


def show_calls(conversation: str, calls: Iterable[ModelCall], console: Console, *, full: bool) -> None:
    """Show what each model call read and wrote; what the one before it had read is not repeated."""
    _line(console, Text(f"Conversation {printable(conversation)}", style="bold"))
    before: tuple[str, ...] = ()
    shown = 0
    for call in calls:
        shown += 1
        console.print()
        name = f"{_time(call.started_at)}  {call.provider or '?'} {call.model or ''}".rstrip()
        _line(console, Text(f"Call {call.number} of run {printable(call.run_id)}", style="bold"))
        _line(console, Text(f"  {printable(name)}", style="dim"))
        same = 0
        while same < min(len(before), len(call.hashes)) and before[same] == call.hashes[same]:
            same += 1
        if same:
            _line(console, Text(f"  as before: {_counted(same, 'message')}", style="dim"))
        for message in call.messages[same:]:
            _show_message(message, console, full=full)
        if not call.complete:
            _line(console, Text("  a part of what it received was lost", style="red"))
        if call.altered:
            _line(console, Text("  secrets, or what JSON cannot hold, were replaced in this record", style="yellow"))
        if call.answer is not None:
            _show_answer(call.answer, console, full=full)
        if call.error_code:
            _wrapped(console, f"  no answer: {call.error_code}: {call.error_message or ''}", "red")
        elif call.answer is None:
            _line(console, Text("  no answer is recorded", style="yellow"))
        before = call.hashes
    if not shown:
        console.print("  No model call is recorded.")


def _show_message(message: str, console: Console, *, full: bool) -> None:
    value = json.loads(message)
    if not isinstance(value, dict):
        _show_text("?", message, console, full=full)
        return
    role = str(value.get("role", "?"))
    content = value.get("content")
    if isinstance(content, str):
        _show_text(
            f"{role} {value['name']}" if role == "tool" and "name" in value else role, content, console, full=full
        )
    elif content is not None:
        _show_text(role, json.dumps(content, ensure_ascii=False), console, full=full)
    for call in _calls(value):
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        _show_text(f"{role} calls", f"{function.get('name')}({function.get('arguments')})", console, full=full)


def _show_answer(answer: str, console: Console, *, full: bool) -> None:
    value = json.loads(answer)
    if value.get("text"):
        _show_text("→ answer", str(value["text"]), console, full=full, style="green")
    for call in _calls(value):
        _show_text("→ calls", f"{call.get('name')}({call.get('arguments')})", console, full=full, style="green")


def _calls(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    calls = value.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _show_text(label: str, text: str, console: Console, *, full: bool, style: str = "cyan") -> None:
    shown = text if full else "\n".join(text[:SHOWN_CHARACTERS].split("\n")[:SHOWN_LINES])
    _line(console, Text(f"  {printable(label)}", style=style))
    for line in shown.split("\n"):
        console.print(Text(f"    {printable(line)}"), soft_wrap=True)
    if len(shown) < len(text):
        _line(console, Text(f"    … {len(text) - len(shown):,} more characters (--full)", style="dim"))


def _show_tool_call(call: Mapping[str, Any], console: Console, *, ended: bool) -> None:
    where = f"{call['server']}: {call['tool']}" if call["server"] else call["tool"]
    status = "outcome unknown" if call["status"] == "intent" and ended else call["status"]
    line = Text(f"  {printable(where)}  ")
    line.append(printable(status), style=_style(call["status"]))
    told = [_duration(call["intent_at"], call["finished_at"])] if call["intent_at"] and call["finished_at"] else []
    told += [_counted(call["attempts"], "attempt")] if (call["attempts"] or 0) > 1 else []
    told += ["cached"] if call["cached"] else []
    told += [_counted(call["displays"], "display")] if call["displays"] else []
    told += ["may change something"] if call["intent_at"] is not None and not call["read_only"] else []
    line.append(f"  {', '.join(told)}")
    _line(console, line)
    if call["arguments"] not in (None, "{}"):
        _line(console, Text(f"    {printable(call['arguments'])}", style="dim"))
    if call["error_code"]:
        _wrapped(console, f"    {_error(call)}", "red")


def _line(console: Console, text: Text) -> None:
    """Print one line, cut at the width of a terminal; a file or a pipe gets it whole."""
    if console.is_terminal:
        text.truncate(console.width, overflow="ellipsis")
        console.print(text, no_wrap=True)
    else:
        console.print(text, soft_wrap=True)


def _wrapped(console: Console, text: str, style: str = "") -> None:
    indent = len(text) - len(text.lstrip())
    if not console.is_terminal:
        console.print(Text(printable(text), style=style), soft_wrap=True)
        return
    for line in Text(printable(text.strip()), style=style).wrap(console, max(console.width - indent, 20)):
        console.print(Text(" " * indent) + line, no_wrap=True)


def _heading(console: Console, name: str, number: int | None) -> None:
    console.print()
    console.print(Text(name if number is None else f"{name}: {number}", style="bold"))


def _conversation(run: Mapping[str, Any]) -> str:
    session = f" (session {run['session']})" if run["session"] is not None else ""
    return f"{run['conversation_id']}{session}"


def _call_name(call: Mapping[str, Any]) -> str:
    model = call["usage"]["model"] if call["usage"] else call["model"]
    return f"{call['number']}. {call['provider'] or '?'} {model or ''}".rstrip()


def _error(found: Mapping[str, Any]) -> str:
    return f"{found['error_code']}: {found['error_message']}" if found["error_message"] else str(found["error_code"])


def _tokens(usage: Mapping[str, Any]) -> int:
    return (usage["input_tokens"] or 0) + (usage["output_tokens"] or 0)


def _used(usage: Mapping[str, Any]) -> str:
    if usage["input_tokens"] is None and usage["output_tokens"] is None:
        return "not counted"
    return f"{usage['input_tokens'] or 0:,} in, {usage['output_tokens'] or 0:,} out"


def _cost(micros: int) -> str:
    return f"${micros / 1_000_000:.4f}".rstrip("0").rstrip(".") if micros else "$0"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _time(at: int | None, *, seconds: bool = True) -> str:
    if at is None:
        return "time unknown"
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ" if seconds else "%Y-%m-%d %H:%MZ")


def _duration(begin: int | None, end: int | None) -> str:
    if begin is None or end is None:
        return "no end"
    seconds = (end - begin) / 1000
    return (
        f"{seconds:.1f} s"
        if seconds < 600
        else f"{seconds / 60:.0f} min"
        if seconds < 36_000
        else f"{seconds / 3600:.0f} h"
    )


def _style(status: str) -> str:
    return _STYLES.get(status, "red")
