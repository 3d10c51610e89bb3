"""The order of the events of one call (XMCP-REC-002)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

NEXT: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("tool_call",),
    "tool_call": ("tool_started", "tool_result", "tool_error"),
    "tool_started": ("tool_progress", "retry", "tool_result", "tool_error"),
    "tool_progress": ("tool_progress", "retry", "tool_result", "tool_error"),
    "retry": ("tool_progress", "retry", "tool_result", "tool_error"),
    "tool_result": ("tool_display",),
    "tool_error": ("tool_display",),
    "tool_display": ("tool_display",),
}
"""What can follow each type of event; the empty text is the beginning. Events of other types can stand anywhere."""
TYPES: Final = frozenset((*filter(None, NEXT), "llm_delta", "llm_reasoning", "warning", "usage", "done", "failed"))
"""The types of events of section 10.2; others are a client's own."""
