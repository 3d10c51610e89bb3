"""Any value as indented JSON text of bounded size.

The bounds keep a hostile value from filling the screen or overflowing the stack. The text is that of `JSON.stringify`
but for what is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final

from xmcp.render.view.numerals import as_sent

MAX_DEPTH: Final = 32
MAX_NODES: Final = 500
MAX_STRING: Final = 2000


def outline(value: object, indent: int | None = 2, nodes: int = MAX_NODES) -> tuple[str, bool]:
    """Return `value` as JSON text, and whether something was left out; an ellipsis stands in its place.

    Args:
        value: What the text is of.
        indent: Spaces for each level; None is all on one line.
        nodes: Number of values and members after which the rest is left out.
    """
    budget = _Budget(nodes)
    text = _written(value, MAX_DEPTH, budget, None if indent is None else "\n", " " * (indent or 0))
    return text, budget.left < 0


def nodes_of(value: object, most: int) -> int:
    """Return how many values a JSON value has, itself and those inside it, but no more than `most`."""
    found, waiting = 0, [value]
    while waiting and found + len(waiting) < most:
        one = waiting.pop()
        found += 1
        if isinstance(one, Mapping):
            waiting += islice(one.values(), most)
        elif isinstance(one, Sequence) and not isinstance(one, (str, bytes, bytearray)):
            waiting += one[:most]
    return min(found + len(waiting), most)


class _Budget:
    def __init__(self, nodes: int) -> None:
        self.left = nodes
        self.after_a_long_string = nodes // 10


def _written(value: object, depth: int, budget: _Budget, margin: str | None, step: str) -> str:
    """Return the text of a value. `margin` is a line break and the white space after it, None on one line."""
    budget.left -= 1
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, (int, float)):
        return as_sent(value)
    if isinstance(value, str) or not isinstance(value, (Mapping, Sequence)) or isinstance(value, (bytes, bytearray)):
        return _quoted(str(value), budget)
    if depth == 0 or budget.left < 0:
        budget.left = min(budget.left, -1)
        return '"…"'
    inner = None if margin is None else margin + step
    parts: list[str] = []
    if isinstance(value, Mapping):
        for key, member in value.items():
            if budget.left < 0:
                parts.append(f'"…": "{len(value) - len(parts)} more"')
                break
            parts.append(f"{_quoted(str(key), budget)}: {_written(member, depth - 1, budget, inner, step)}")
        return _enclosed("{", parts, "}", margin, inner)
    for item in value:
        if budget.left < 0:
            parts.append(f'"… {len(value) - len(parts)} more"')
            break
        parts.append(_written(item, depth - 1, budget, inner, step))
    return _enclosed("[", parts, "]", margin, inner)


def _enclosed(opening: str, parts: Sequence[str], closing: str, margin: str | None, inner: str | None) -> str:
    if not parts or inner is None:
        return f"{opening}{', '.join(parts)}{closing}"
    return f"{opening}{inner}{f',{inner}'.join(parts)}{margin}{closing}"


def _quoted(text: str, budget: _Budget) -> str:
    if len(text) > MAX_STRING:
        budget.left = min(budget.left, budget.after_a_long_string)
        text = f"{text[:MAX_STRING]}… ({len(text) - MAX_STRING} more characters)"
    return json.dumps(text, ensure_ascii=False)
