"""`depends_on` in a list of tools: each name in it must be the name of a tool in the same list (spec section 5.2).

Tools come and go, have another name where their server is mounted, and are hidden from some callers, so the names are
resolved anew for each list. Pure functions.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Sequence
from typing import Any

from fastmcp.tools import Tool

from xmcp.dependency_graph import DependencyError, circle, unknown
from xmcp.server.tool import XMCPTool
from xmcp.server.tool_metadata import metadata_of
from xmcp_models.registry import TOOL_META_KEY

logger = logging.getLogger("xmcp.server")


def as_listed(tools: Sequence[Tool]) -> Sequence[Tool]:
    """Return `tools` with `depends_on` limited to names in this list, and without circles."""
    declared = {tool.name: before for tool in tools if (before := metadata_of(tool.meta).get("depends_on"))}
    if not declared:
        return tools
    names = frozenset(tool.name for tool in tools)
    local = frozenset(tool.name for tool in tools if isinstance(tool, XMCPTool))
    found = {
        tool: [there for name in before if (there := _resolved(name, tool, names, local)) and there != tool]
        for tool, before in declared.items()
        if isinstance(before, list)
    }
    while round_trip := circle(found):
        logger.warning(
            "Tools depend on each other in a circle: %s. They are listed without their dependencies.", _path(round_trip)
        )
        found = {tool: [] if tool in round_trip else before for tool, before in found.items()}
    return [_with(tool, found[tool.name]) if tool.name in found else tool for tool in tools]


def check(tools: Iterable[Tool], *, complete: bool) -> None:
    """Check the dependencies of a server's own tools.

    `complete` tells that the server has no other tools, mounted or proxied ones; otherwise an unknown name may be the
    name of one of those.

    Raises:
        DependencyError: Tools depend on each other in a circle, or a tool depends on itself or on an unknown tool.
    """
    depends_on = {tool.name: metadata_of(tool.meta).get("depends_on", []) for tool in tools}
    if complete and (missing := unknown(depends_on)):
        unknown_names = "; ".join(
            f"{tool!r} depends on {', '.join(_with_suggestion(name, list(depends_on)) for name in names)}"
            for tool, names in missing.items()
        )
        raise DependencyError(
            f"There is no such tool: {unknown_names}. The tools are {', '.join(map(repr, depends_on))}."
        )
    if round_trip := circle(depends_on):
        raise DependencyError(f"Tools depend on each other in a circle: {_path(round_trip)}.")


def _with_suggestion(name: str, known: Sequence[str]) -> str:
    like = difflib.get_close_matches(name, known, n=1)
    return f"{name!r} (is it {like[0]!r}?)" if like else repr(name)


def _resolved(name: str, tool: str, names: frozenset[str], local: frozenset[str]) -> str | None:
    """Return the name among `names` of the tool that `tool` refers to as `name`, None if it is not listed.

    The tools of a server that is mounted under a namespace share a prefix, and refer to each other without it.
    """
    if tool in local:
        return name if name in names else None
    prefixes = [tool[:cut] for cut in range(len(tool), -1, -1) if cut == 0 or tool[cut - 1] == "_"]
    return next((prefix + name for prefix in prefixes if prefix + name in names), None)


def _with(tool: Tool, before: list[str]) -> Tool:
    metadata = metadata_of(tool.meta)
    if metadata.get("depends_on") == before:
        return tool
    own: dict[str, Any] = {key: part for key, part in metadata.items() if key != "depends_on"}
    if before:
        own["depends_on"] = before
    return tool.model_copy(update={"meta": {**(tool.meta or {}), TOOL_META_KEY: own}})


def _path(names: Sequence[str]) -> str:
    return " → ".join(map(repr, names))
