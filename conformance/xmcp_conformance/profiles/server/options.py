"""How a server is judged: what the person who runs the suite can choose. It loads neither the SDK nor Hypothesis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .catalogue import ListedTool
    from .input_schema import Arguments

ERAS = ("newest", "handshake")
"""The protocol eras that a server is judged in: the newest that it supports, and the handshake of MCP 2025-11-25."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to judge a server. Times are in seconds.

    Attributes:
        examples: number of right arguments that are drawn for each tool.
        calls: maximum number of calls of each tool in a run; `None`: fewer for each, the more tools there are.
        include: patterns of names, as of files; other tools are not called. None: all are.
        exclude: patterns of the names of tools that are not called.
        tool_timeouts: times for tools whose name fits a pattern, the first that fits; others have `call_timeout`.
        rate: maximum number of calls in a second; `None`: any.
        max_time: time after which no other call is made; `None`: none.
        known: by the name of a tool, arguments with which it succeeds.
        required: names of tools that have to be seen at work; whether they were, a report says.
        one_process: start a command again only after it has ended; else it is judged in all eras at the same time.
    """

    examples: int = 8
    calls: int | None = None
    seed: int = 20261121
    allow_writes: bool = False
    strict: bool = False
    eras: tuple[str, ...] = ERAS
    connect_timeout: float = 30.0
    call_timeout: float = 30.0
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    tool_timeouts: tuple[tuple[str, float], ...] = ()
    rate: float | None = None
    max_time: float | None = None
    known: Mapping[str, Sequence[Arguments]] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    one_process: bool = False

    def chooses(self, tool: ListedTool) -> bool:
        """Return whether the user wants a tool called, if it only reads."""
        return self.chooses_name(tool.name)

    def chooses_name(self, name: str) -> bool:
        """Return whether the user wants a tool of this name called, if there is one."""
        is_included = not self.include or any(fnmatchcase(name, pattern) for pattern in self.include)
        return is_included and not any(fnmatchcase(name, pattern) for pattern in self.exclude)

    def calls_tool(self, tool: ListedTool) -> bool:
        """Return whether a tool is called."""
        return self.chooses(tool) and (tool.read_only or self.allow_writes)

    def unmatched(self, tools: Sequence[ListedTool]) -> str:
        """Return the first name or pattern that no tool matches: misspelt or out of date; empty if there is none."""
        names = [tool.name for tool in tools]
        patterns = (*self.include, *self.exclude, *(pattern for pattern, _ in self.tool_timeouts))
        lost = (one for one in patterns if not any(fnmatchcase(name, one) for name in names))
        return next(chain(lost, (name for name in (*self.known, *self.required) if name not in names)), "")
