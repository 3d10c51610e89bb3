"""Any value as indented JSON text of bounded size.

The bounds keep a hostile value from filling the screen or overflowing the stack.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

MAX_DEPTH = 32
MAX_NODES = 500
MAX_STRING = 2000


def outline(value: object, indent: int | None = 2) -> tuple[str, bool]:
    """Return `value` as JSON text, and whether something was left out; an ellipsis stands in its place."""
    budget = [MAX_NODES]
    shortened = _shortened(value, MAX_DEPTH, budget)
    return json.dumps(shortened, indent=indent, ensure_ascii=False), budget[0] < 0


def _shortened(value: object, depth: int, budget: list[int]) -> object:
    budget[0] -= 1
    if isinstance(value, str):
        return _cut(value, budget)
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        return value if value.bit_length() < 4096 else "(a very long number)"
    if not isinstance(value, (Mapping, Sequence)) or isinstance(value, (bytes, bytearray)):
        return _cut(str(value), budget)
    if depth == 0 or budget[0] < 0:
        budget[0] = min(budget[0], -1)
        return "…"
    if isinstance(value, Mapping):
        members: dict[str, object] = {}
        for key, member in value.items():
            if budget[0] < 0:
                members["…"] = f"{len(value) - len(members)} more"
                break
            members[_cut(str(key), budget)] = _shortened(member, depth - 1, budget)
        return members
    items: list[object] = []
    for item in value:
        if budget[0] < 0:
            items.append(f"… {len(value) - len(items)} more")
            break
        items.append(_shortened(item, depth - 1, budget))
    return items


def _cut(text: str, budget: list[int]) -> str:
    if len(text) <= MAX_STRING:
        return text
    budget[0] = min(budget[0], MAX_NODES // 10)
    return f"{text[:MAX_STRING]}… ({len(text) - MAX_STRING} more characters)"
