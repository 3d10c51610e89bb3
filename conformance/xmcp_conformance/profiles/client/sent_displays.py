"""The displays that the servers of a scenario send, by their kinds: one table, because each client reads all alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from .adapter import Json

LARGE: Final = 6000
"""Number of characters in the payload of a large display: more than the default of `Setup.display_budget`."""
_LONG: Final = 170
"""Number of characters of a long title."""
_WIDE: Final = 3000
"""Number of characters of a wide text: each has two bytes, or an escape, so that it is larger in bytes alone."""
_CALL: Final = "{call}"
"""Stands in a text for the number of the call."""

DisplayKind: TypeAlias = Literal[
    "none",
    "small",
    "transient",
    "nulls",
    "large",
    "untitled",
    "accented",
    "wide",
    "escaped",
    "table",
    "described",
    "sourced",
    "with_fallback",
    "titled",
    "bad",
    "no_payload",
]
"""The kind of a display.

`small`, `transient` and `nulls` are within the usual budget. The next ones are above it: by a payload that is a text,
of which `wide` is so by its bytes alone, and `escaped` by what JSON escapes in it; `table` by its rows, in which there
are nulls; `described` by the `alt`, `sourced` by the `meta`, `with_fallback` by the fallback. `untitled` has no title,
and that of `accented` has letters that are not ASCII. `titled` is above a budget of 150 bytes, by its title alone.
`bad` is no JSON, and `no_payload` no envelope.
"""

_USUAL: Final[Json] = {"type": "text", "payload": f"shown {_CALL}", "title": f"display {_CALL}"}
_OTHER_MEMBERS: Final[Mapping[str, Json]] = {
    "small": {},
    "transient": {"meta": {"transient": True}},
    "nulls": {"type": "json", "payload": {"sales": None, "months": [{"may": None}, None, 7]}},
    "large": {"payload": "x" * LARGE},
    "untitled": {"payload": f"shown {_CALL}{'x' * LARGE}", "title": None},
    "accented": {"payload": "x" * LARGE, "title": f"Größe – 大 {_CALL}"},
    "wide": {"payload": "ж" * _WIDE},
    "escaped": {"payload": f"shown {_CALL}" + '"\n' * (_WIDE // 2)},
    "table": {"type": "table", "payload": [{"region": f"r{row}", "sales": None, "n": row} for row in range(200)]},
    "described": {"alt": f"shown {_CALL}, at length: {'ж' * _WIDE}"},
    "sourced": {"meta": {"source": "x" * LARGE}},
    "with_fallback": {"fallback": {"type": "text", "payload": "x" * LARGE}},
    "titled": {"title": f"display {_CALL}, at length: {'x' * _LONG}"},
}
"""What the envelope of each kind has beside `_USUAL`, or in the place of it; `None`: it lacks that member."""
BAD_DISPLAYS: Final[Mapping[str, str]] = {"bad": "{oops", "no_payload": '{"type":"chart"}'}
"""What is in the element `display` in the place of an envelope."""


def envelope(kind: DisplayKind, call: int) -> Json | None:
    """Return the envelope of a kind for a call; `None` where there is none."""
    if kind not in _OTHER_MEMBERS:
        return None
    members = {name: value for name, value in {**_USUAL, **_OTHER_MEMBERS[kind]}.items() if value is not None}
    return {name: _of_call(value, call) for name, value in members.items()}


def _of_call(value: Any, call: int) -> Any:
    return value.replace(_CALL, str(call)) if isinstance(value, str) else value
