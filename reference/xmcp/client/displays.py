"""What a display does to a chat: whether it ends it, and what of it the model sees (semantics 4 and 6). Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from xmcp.wire import DisplayEnvelope, ToolResponse, encode
from xmcp.wire.emission import REFERENCE_TYPE

DisplayMode: TypeAlias = Literal["exit", "continue"]

BUDGET: Final = 4096
"""Bytes of a display's JSON that are still put before the model."""


def ends_chat(responses: Sequence[ToolResponse], mode: DisplayMode) -> bool:
    """Whether a turn's responses are the answer, so that the model is not asked again.

    They are when every call showed something and none failed. A failed call, or one that showed nothing, has told only
    the model, which therefore has to go on.
    """
    return (
        mode == "exit"
        and bool(responses)
        and all(response.error is None and response.display is not None for response in responses)
    )


def for_model(response: ToolResponse, document: str | None = None, budget: int = BUDGET) -> str:
    """The tool message for a response: `document`, as the server wrote it, or the response written anew.

    A display above `budget` is replaced by a reference with its type, title and size; the person sees the whole.
    """
    display = response.display
    if display is None or size(display) <= budget:
        return document if document is not None else encode(response, check=False)
    return encode(replace(response, display=reference(display)), check=False)


def reference(display: DisplayEnvelope) -> DisplayEnvelope:
    """What stands before the model for a display that is too large to repeat there."""
    return DisplayEnvelope(
        type=REFERENCE_TYPE,
        title=display.title,
        payload={
            "type": display.type,
            "bytes": size(display),
            "note": "Shown to the person; too large to repeat here.",
        },
    )


def size(display: DisplayEnvelope) -> int:
    """Bytes of the display as compact JSON in UTF-8."""
    return len(json.dumps(display.to_dict(), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))
