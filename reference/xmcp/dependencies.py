"""Which tools come after which (spec section 5.2): the graph, for the server that declares it and for clients.

Pure functions over names only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

__all__ = ["DependencyError", "circle", "unknown"]


class DependencyError(ValueError):
    """Tools depend on each other in a circle, or on a tool that is not there; the message names them."""


def circle(depends_on: Mapping[str, Sequence[str]]) -> list[str]:
    """Return tools that depend on each other in a circle, each on the next, the first again at the end; else none.

    `depends_on` has the names of each tool's predecessors. A name without an entry depends on nothing.
    """
    try:
        TopologicalSorter(depends_on).prepare()
    except CycleError as error:
        return [str(name) for name in reversed(error.args[1])]
    return []


def unknown(depends_on: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return for each tool the names in its `depends_on` that are no tools in the graph."""
    missing = {tool: [name for name in before if name not in depends_on] for tool, before in depends_on.items()}
    return {tool: names for tool, names in missing.items() if names}
