"""What a list of tools says about how they depend on each other, kept true in each list (spec section 5.2).

Tools come and go, stand under another name where their server is mounted, and are hidden from some callers;
a name in `depends_on` is the name of a tool in the same list, or it is not sent. Pure functions only.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Sequence
from typing import Any

from fastmcp.tools import Tool

from xmcp.dependencies import DependencyError, circle, unknown
from xmcp.server import tool_metadata
from xmcp.server.tool import XMCPTool
from xmcp_models.registry import TOOL_META_KEY

logger = logging.getLogger("xmcp.server")


def as_listed(tools: Sequence[Tool]) -> Sequence[Tool]:
    """Return `tools` with dependencies that are names in this list and end somewhere."""
    said = {tool.name: before for tool in tools if (before := tool_metadata.of(tool.meta).get("depends_on"))}
    if not said:
        return tools
    names = frozenset(tool.name for tool in tools)
    local = frozenset(tool.name for tool in tools if isinstance(tool, XMCPTool))
    found = {
        tool: [there for name in before if (there := _resolved(name, tool, names, local)) and there != tool]
        for tool, before in said.items()
        if isinstance(before, list)
    }
    while round_trip := circle(found):
        logger.warning("These tools depend on each other in a circle: %s. They are listed without.", _path(round_trip))
        found = {tool: [] if tool in round_trip else before for tool, before in found.items()}
    return [_with(tool, found[tool.name]) if tool.name in found else tool for tool in tools]


def check(tools: Iterable[Tool], *, complete: bool) -> None:
    """Hold the dependencies of a server's own tools against each other.

    `complete` says that there are no other tools, mounted or proxied ones; else a name that is not among `tools`
    can still be there.

    Raises:
        DependencyError: a circle, or a tool that depends on itself or on one that is not there.
    """
    depends_on = {tool.name: tool_metadata.of(tool.meta).get("depends_on", []) for tool in tools}
    if complete and (missing := unknown(depends_on)):
        told = "; ".join(
            f"{tool!r} depends on {', '.join(_named(name, list(depends_on)) for name in names)}"
            for tool, names in missing.items()
        )
        raise DependencyError(f"There is no such tool: {told}. The tools are {', '.join(map(repr, depends_on))}.")
    if round_trip := circle(depends_on):
        raise DependencyError(f"Tools depend on each other in a circle: {_path(round_trip)}.")


def _named(name: str, known: Sequence[str]) -> str:
    like = difflib.get_close_matches(name, known, n=1)
    return f"{name!r} (is it {like[0]!r}?)" if like else repr(name)


def _resolved(name: str, tool: str, names: frozenset[str], local: frozenset[str]) -> str | None:
    """Return under which of `names` the tool is listed that `tool` means by `name`.

    Where a server is mounted under a namespace, its tools have one prefix in common, and mean each other by
    the names without it.
    """
    if tool in local:
        return name if name in names else None
    prefixes = [tool[:cut] for cut in range(len(tool), -1, -1) if cut == 0 or tool[cut - 1] == "_"]
    return next((prefix + name for prefix in prefixes if prefix + name in names), None)


def _with(tool: Tool, before: list[str]) -> Tool:
    said = tool_metadata.of(tool.meta)
    if said.get("depends_on") == before:
        return tool
    own: dict[str, Any] = {key: part for key, part in said.items() if key != "depends_on"}
    if before:
        own["depends_on"] = before
    return tool.model_copy(update={"meta": {**(tool.meta or {}), TOOL_META_KEY: own}})


def _path(names: Sequence[str]) -> str:
    return " → ".join(map(repr, names))
