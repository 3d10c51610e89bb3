"""Checks of the dependencies between the tools of a server (section 5.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.server.catalogue import ListedTool, valid_metadata


@check("XMCP-TOL-010", "XMCP-TOL-011", profile="server")
def dependencies(tools: Sequence[ListedTool]) -> Observations:
    """Judge the names in `depends_on`. The search for a circle ignores names that break XMCP-TOL-010."""
    names = {tool.name for tool in tools}
    needed: dict[str, list[str]] = {}
    for tool in tools:
        wanted = valid_metadata(tool).get("depends_on", [])
        needed[tool.name] = [name for name in wanted if name in names and name != tool.name]
        if wanted:
            unknown = [name for name in wanted if name not in needed[tool.name]]
            yield either(
                "XMCP-TOL-010",
                not unknown,
                f"tool `{tool.name}` depends on `{quoted(', '.join(unknown))}`",
                "names of other tools of this server",
            )
    if any(needed.values()):
        circle = _find_circle(needed)
        seen = f"a circle: `{quoted(' → '.join(circle))}`"
        yield either("XMCP-TOL-011", not circle, seen, "dependencies without a circle")


def _find_circle(needed: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the tools of a circle, each followed by one that it depends on, up to the first again; empty if none."""
    try:
        TopologicalSorter(needed).prepare()
    except CycleError as error:
        return [str(name) for name in reversed(error.args[1])]
    return []
