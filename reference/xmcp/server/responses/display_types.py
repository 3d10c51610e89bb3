"""Advice for the author of a tool whose display has a type that this specification does not define."""

from __future__ import annotations

import logging
from difflib import get_close_matches
from typing import Final

from xmcp_models.registry import DISPLAY_TYPES

logger = logging.getLogger("xmcp.server")

_MOST_LOGGED: Final = 200
"""Maximum number of pairs of tool and type that are remembered; a program can make up names."""

_logged: set[tuple[str, str]] = set()


def advise_on_type(tool_name: str, display_type: str) -> None:
    """Log a warning, once for each tool and type, where a display's type is neither registered nor a vendor's."""
    if display_type in DISPLAY_TYPES or display_type.startswith("x-"):
        return
    if (tool_name, display_type) in _logged or len(_logged) >= _MOST_LOGGED:
        return
    _logged.add((tool_name, display_type))
    near = get_close_matches(display_type, [name for name in DISPLAY_TYPES if not name.startswith("x-")], n=2)
    known = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"Registered are {', '.join(_active())}."
    logger.warning(
        "The tool %s showed a display of the type %r, which is not registered: clients show its `fallback` or its "
        "plain JSON. %s A type of your own has the form 'x-vendor-name'.",
        tool_name,
        display_type,
        known,
    )


def _active() -> list[str]:
    return [name for name, row in DISPLAY_TYPES.items() if row["status"] == "active" and not name.startswith("x-")]
