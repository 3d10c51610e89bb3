"""The ids of OpenAI's Responses API: those of a response and its items say which run they are of. Pure."""

from __future__ import annotations

import re
from typing import Any, Final, Literal, TypeAlias

ItemKind: TypeAlias = Literal["msg", "rs", "fc"]
"""A message, reasoning, or a call that is left to the client."""

_RESPONSE: Final = re.compile(r"resp_([0-9a-f]{32})")
_ITEM: Final = re.compile(r"(msg|rs|fc)_([0-9a-f]{32})_\d{1,9}")


def response_id(run_id: str) -> str:
    """Return the id of the response of a run."""
    return f"resp_{run_id.removeprefix('run_')}"


def item_id(kind: ItemKind, run_id: str, place: int) -> str:
    """Return the id of an item of the output of a run; `place` is counted from 0."""
    return f"{kind}_{run_id.removeprefix('run_')}_{place}"


def run_of_response(name: Any) -> str | None:
    """Return the run of a response; `None` if no response has this id."""
    found = _RESPONSE.fullmatch(name) if isinstance(name, str) else None
    return None if found is None else f"run_{found[1]}"


def run_of_item(name: Any) -> str | None:
    """Return the run in whose output an item is; `None` if no item of an output has this id."""
    found = _ITEM.fullmatch(name) if isinstance(name, str) else None
    return None if found is None else f"run_{found[2]}"


def is_reasoning(name: Any) -> bool:
    """Return whether this is the id of an item with reasoning."""
    return isinstance(name, str) and name.startswith("rs_")
