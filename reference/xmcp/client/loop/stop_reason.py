"""How an answer without calls ends a chat. Pure."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from xmcp.chat.completions import Completion
from xmcp.chat.events import StopReason

DisplayMode: TypeAlias = Literal["exit", "continue"]
"""Whether a turn that showed everything ends the chat."""

_CUT: Final[dict[str, tuple[StopReason, str]]] = {
    "length": ("length", "The model reached its output limit: the answer is cut."),
    "content_filter": ("content_filter", "The vendor's content filter withheld the answer or a part of it."),
}


def ending(completion: Completion) -> tuple[StopReason, str | None]:
    """Why the chat ended, and what the application should be warned of. An answer is never empty without a word."""
    if completion.finish_reason in _CUT:
        return _CUT[completion.finish_reason]
    if not completion.text:
        return "empty", "The model answered with neither text nor calls."
    return "stop", None
