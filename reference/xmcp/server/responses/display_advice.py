"""Advice for the author of a tool whose display no client shows: its type, its chart or its tool is the wrong one."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

from xmcp.wire import DisplayEnvelope
from xmcp_models.registry import DISPLAY_TYPES

logger = logging.getLogger("xmcp.server")

_MOST_LOGGED: Final = 200
"""Maximum number of pairs of tool and type (or no type) that are remembered; a program can make up names."""

_DRAWS: Final = ("mark", "layer", "hconcat", "vconcat", "concat", "facet", "repeat", "spec")
"""The members of a Vega-Lite specification of which each one has at least one."""

_logged: set[tuple[str, str]] = set()


def advise_on_display(tool_name: str, display: DisplayEnvelope) -> None:
    """Log a warning, once for each tool and type, where no client shows a display as it was meant."""
    if display.type == "chart" and isinstance(display.payload, Mapping):
        _advise_on_chart(tool_name, display.payload)
    else:
        _advise_on_type(tool_name, display.type)


def _advise_on_chart(tool_name: str, payload: Mapping[str, object]) -> None:
    if not payload.keys() & set(_DRAWS) and _is_first(tool_name, "chart"):
        logger.warning(
            "The tool %s showed a chart that draws nothing: its payload is a Vega-Lite specification, and this one has "
            "none of %s. Members of other chart libraries are not understood.",
            tool_name,
            ", ".join(f"`{name}`" for name in _DRAWS),
        )


def _advise_on_type(tool_name: str, display_type: str) -> None:
    if display_type in DISPLAY_TYPES or display_type.startswith("x-"):
        return
    if not _is_first(tool_name, display_type):
        return
    near = get_close_matches(display_type, [name for name in DISPLAY_TYPES if not name.startswith("x-")], n=2)
    known = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"Registered are {', '.join(_active())}."
    logger.warning(
        "The tool %s showed a display of the type %r, which is not registered: clients show its `fallback` or its "
        "plain JSON. %s A type of your own has the form 'x-vendor-name'.",
        tool_name,
        display_type,
        known,
    )


def advise_on_decorator(tool_name: str) -> None:
    """Log a warning, once for each tool, where a tool that has no displays returned one."""
    if _is_first(tool_name, ""):
        logger.warning(
            "The tool %s returned a DisplayEnvelope, and no client shows it: write @mcp.display_tool in the place of "
            "@mcp.tool.",
            tool_name,
        )


def _is_first(tool_name: str, display_type: str) -> bool:
    if (tool_name, display_type) in _logged or len(_logged) >= _MOST_LOGGED:
        return False
    _logged.add((tool_name, display_type))
    return True


def _active() -> list[str]:
    return [name for name, row in DISPLAY_TYPES.items() if row["status"] == "active" and not name.startswith("x-")]
