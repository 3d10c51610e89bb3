"""Decide with which stop reason an answer without tool calls ends a chat. No I/O."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from xmcp.chat.completions import Completion
from xmcp.chat.events import StopReason
from xmcp.wire import XML_WHITE_SPACE

DisplayMode: TypeAlias = Literal["exit", "continue"]
"""Whether a turn whose displays answer the query ends the chat (`exit`), or the model is asked again (`continue`)."""

CUT: Final[dict[str, tuple[StopReason, str]]] = {
    "length": ("length", "The model reached its output limit: the answer is cut."),
    "content_filter": ("content_filter", "The vendor's content filter withheld the answer or a part of it."),
}


def ending(completion: Completion) -> tuple[StopReason, str | None]:
    """Return why the chat ended, and a warning for the application if the answer is cut, withheld or empty."""
    if completion.finish_reason in CUT:
        return CUT[completion.finish_reason]
    if not completion.text.strip(XML_WHITE_SPACE):
        return "empty", "The model answered with neither text nor calls."
    return "stop", None
