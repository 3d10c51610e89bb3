"""Asking the person before a tool is called that may change something."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from xmcp.client import ToolState
from xmcp.render.view.untrusted import label, spelled_out

MOST_ARGUMENTS: Final = 20
"""Maximum number of arguments that are shown: with more, nobody would see the question any more."""
LONGEST: Final = 2000
"""Maximum number of characters of an argument that are shown; of a longer one it is said how much is left out."""


class Approvals:
    """Which tools may be called without a question: those that only read, and those that the person allowed for good.

    Args:
        everything: Whether any tool may be called.
    """

    def __init__(self, *, everything: bool = False) -> None:
        self._everything = everything
        self._allowed: set[str] = set()

    def needed(self, call: ToolState) -> bool:
        """Return whether the person has to be asked."""
        return not (self._everything or call.read_only or call.tool_name in self._allowed)

    def take(self, call: ToolState, said: str) -> bool | str:
        """Return what the person's words mean for a call: yes, no, or why not. Only a clear yes is one.

        `always` holds for the tool until the program ends.
        """
        word = said.strip().lower()
        if word in ("a", "always"):
            self._allowed.add(call.tool_name)
            return True
        if word in ("y", "yes"):
            return True
        return False if word in ("", "n", "no") else f"The person said: {said.strip()[:LONGEST]}"


def asked(call: ToolState) -> list[str]:
    """Return the lines that say what is to be approved: the tool, its server, the arguments as they will be sent."""
    return [f"{named(call)} may change something. Call it?", *arguments(call.arguments)]


def named(call: ToolState) -> str:
    """Return the name of the tool of a call, with its server."""
    server = f" of {label(call.server, 60)}" if call.server else ""
    return f"{label(call.tool_name, 100)}{server}"


def arguments(given: Mapping[str, Any]) -> list[str]:
    """Return a line for each argument, with nothing in it hidden; what is left out is counted."""
    shown = islice(given.items(), MOST_ARGUMENTS)
    lines = [f"  {label(spelled_out(name[:400]), 100)} = {_written(value)}" for name, value in shown]
    left = len(given) - len(lines)
    return [*lines, *([f"  … and {left:,} more arguments"] if left else [])] or ["  (without arguments)"]


def _written(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    left = len(text) - LONGEST
    shown = spelled_out(text[:LONGEST])
    return f"{shown} … and {left:,} more characters" if left > 0 else shown
