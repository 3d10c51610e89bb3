"""Dependencies between tools (spec section 5.2): faults of the graph, for servers and clients.

Pure functions over names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

__all__ = ["DependencyError", "circle", "unknown"]


class DependencyError(ValueError):
    """Tools depend on each other in a circle, or on a tool that does not exist; the message names them."""


def circle(depends_on: Mapping[str, Sequence[str]]) -> list[str]:
    """Return tools in a circle, each depending on the next, with the first again at the end; empty if there is none.

    `depends_on` has the names of each tool's predecessors; a name that is not a key depends on nothing.
    """
    try:
        TopologicalSorter(depends_on).prepare()
    except CycleError as error:
        return [str(name) for name in reversed(error.args[1])]
    return []


def unknown(depends_on: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return for each tool the names in its `depends_on` that are not keys of the graph."""
    missing = {tool: [name for name in before if name not in depends_on] for tool, before in depends_on.items()}
    return {tool: names for tool, names in missing.items() if names}
