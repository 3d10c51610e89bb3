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
    """Judge the names in `depends_on`. A name that breaks XMCP-TOL-010 does not count in a circle."""
    names = {tool.name for tool in tools}
    needs: dict[str, list[str]] = {}
    for tool in tools:
        wanted = valid_metadata(tool).get("depends_on", [])
        needs[tool.name] = [name for name in wanted if name in names and name != tool.name]
        if wanted:
            odd = [name for name in wanted if name not in needs[tool.name]]
            yield either(
                "XMCP-TOL-010",
                not odd,
                f"tool `{tool.name}` depends on `{quoted(', '.join(odd))}`",
                "names of other tools of this server",
            )
    if any(needs.values()):
        circle = _circle(needs)
        seen = f"a circle: `{quoted(' → '.join(circle))}`"
        yield either("XMCP-TOL-011", not circle, seen, "dependencies without a circle")


def _circle(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Return names that depend on each other in a circle, the first again at the end; empty where there is none."""
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return [str(name) for name in reversed(error.args[1])]
    return []
