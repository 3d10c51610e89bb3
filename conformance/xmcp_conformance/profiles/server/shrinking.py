"""Find the simplest call that still breaks a requirement, so that a report shows what is at fault and no more."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from .exchange import Intent, ToolCall
from .hostile_texts import HOSTILE, marked
from .input_schema import fitting

MOST_CALLS: Final = 24
"""Maximum number of calls for one requirement."""
MOST_SECONDS: Final = 10.0
"""The time after which no further call is made for one requirement."""
_SHORTEST: Final = 2


async def shrunk(call: ToolCall, breaks: Callable[[ToolCall], Awaitable[bool]]) -> ToolCall:
    """Return the simplest call found with which `breaks` holds; the call itself if there is none.

    Args:
        call: a call with right arguments.
        breaks: makes a call, and says whether it broke the requirement.
    """
    fits = fitting(call.tool.input_schema) if call.tool is not None and call.intent is Intent.VALID else None
    if fits is None or call.forged:
        return call
    left, until = MOST_CALLS, time.monotonic() + MOST_SECONDS
    progress = True
    while progress and left:
        progress = False
        for simpler in simpler_calls(call):
            if not left or time.monotonic() > until:
                return call
            if fits(simpler.arguments):
                left -= 1
                if await breaks(simpler):
                    call, progress = simpler, True
                    break
    return call


def simpler_calls(call: ToolCall) -> Iterator[ToolCall]:
    """Yield calls that are simpler by one step, those with the largest step first."""
    for trap in call.traps:
        yield _with(call, trap, "x")
    for name in call.arguments:
        rest = {key: value for key, value in call.arguments.items() if key != name}
        yield replace(call, arguments=rest, traps=tuple(trap for trap in call.traps if _has(rest, trap)))
    for trap in call.traps:
        mark, _, inner = trap.partition("[")
        inner = inner.rpartition("]")[0]
        if not mark or len(inner) < _SHORTEST:
            continue
        known = [text for text in HOSTILE.values() if text in inner and text != inner]
        half = len(inner) // 2
        for shorter in (*known, inner[:half], inner[half:]):
            yield _with(call, trap, marked(shorter).replace("xmcp[", f"{mark}[", 1))


def _with(call: ToolCall, trap: str, text: str) -> ToolCall:
    """Return a call with another text in the place of a trap."""
    others = tuple(text if other == trap else other for other in call.traps)
    traps = tuple(other for other in others if other.startswith("xmcp"))
    return replace(call, arguments=_replaced(call.arguments, trap, text), traps=traps)


def _replaced(value: Any, old: str, new: str) -> Any:
    if isinstance(value, str):
        return new if value == old else value
    if isinstance(value, list):
        return [_replaced(item, old, new) for item in value]
    if isinstance(value, dict):
        return {new if name == old else name: _replaced(item, old, new) for name, item in value.items()}
    return value


def _has(value: Any, text: str) -> bool:
    if isinstance(value, dict):
        return text in value or any(_has(item, text) for item in value.values())
    return any(_has(item, text) for item in value) if isinstance(value, list) else value == text
