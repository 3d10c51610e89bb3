"""What the model sees of a response: the whole document, unless a part is above its budget (semantics 6). Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Final

from xmcp.wire import DisplayEnvelope, ToolResponse, encode
from xmcp.wire.emission import REFERENCE_TYPE

DISPLAY_BUDGET: Final = 4096
RESULT_BUDGET: Final = 512 * 1024

_TAIL: Final = 5
"""A cut text keeps a fifth of its budget for its end: that is where logs and programs say how it went."""


@dataclass(frozen=True, slots=True)
class Budgets:
    """Most bytes that are put before the model: of a display's JSON, and of the text of one response, in UTF-8."""

    display: int = DISPLAY_BUDGET
    result: int = RESULT_BUDGET


def for_model(response: ToolResponse, document: str | None = None, budgets: Budgets = Budgets()) -> str:
    """The tool message for a response: `document`, as the server wrote it, or the response written anew.

    A display above its budget is replaced by a reference with its type, title and size; the person sees the whole.
    Of a text above its budget the beginning and the end are kept, with a note between them; the document then says
    that it is `truncated`.
    """
    display, text = response.display, response.llm_output
    seen = response
    if display is not None and size(display) > budgets.display:
        seen = replace(seen, display=reference(display))
    if text is not None and _above(text, budgets.result):
        seen = replace(seen, llm_output=cut(text, budgets.result), truncated=True)
    if response.error is not None and _above(response.error.message, budgets.result):
        seen = replace(seen, error=replace(response.error, message=cut(response.error.message, budgets.result)))
    most = 2 * (budgets.result + budgets.display)
    if seen is response and document is not None and not _above(document, most):
        return document
    written = encode(seen, check=False)
    if not _above(written, most):
        return written
    # What is left are data beside the text: parameters that the server filled in, and the details of an error.
    error = seen.error and replace(seen.error, meta=None)
    return encode(replace(seen, error=error, server_populated=None, truncated=True), check=False)


def cut(text: str, budget: int) -> str:
    """The beginning and the end of `text`, in about `budget` bytes of UTF-8, with a note of what was left out."""
    data = text.encode("utf-8", "replace")
    tail = budget // _TAIL
    head = budget - tail
    left_out = len(data) - head - tail
    note = f"\n[... {left_out} bytes of this result were left out here: it is too large. Ask for less. ...]\n"
    end = data[len(data) - tail :].decode("utf-8", "ignore") if tail else ""
    return f"{data[:head].decode('utf-8', 'ignore')}{note}{end}"


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


def _above(text: str, budget: int) -> bool:
    # A character is one to four bytes: most texts are decided by their length alone.
    return len(text) > budget or (4 * len(text) > budget and len(text.encode("utf-8", "replace")) > budget)
