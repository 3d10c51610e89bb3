"""Asking the person before a tool is called that may change something."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from xmcp.client import ToolState
from xmcp.render.view.untrusted import label, revealed

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
    """Return the lines that say what is to be approved: the tool, its server, every argument as it will be sent."""
    server = f" of {label(call.server, 60)}" if call.server else ""
    return [f"{label(call.tool_name, 100)}{server} may change something. Call it?", *arguments(call.arguments)]


def arguments(given: Mapping[str, Any]) -> list[str]:
    """Return a line for each argument, with nothing in it hidden."""
    return [f"  {label(name, 100)} = {_written(value)}" for name, value in given.items()] or ["  (without arguments)"]


def _written(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    left = len(text) - LONGEST
    shown = " ".join(revealed(text[:LONGEST]).split("\n"))
    return f"{shown} … and {left:,} more characters" if left > 0 else shown
