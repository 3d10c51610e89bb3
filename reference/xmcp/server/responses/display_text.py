"""The text for the model beside a display, where no author wrote it: a summary, or the data (XMCP-DSP-025).

The tool writes it for the client that called. Where the result reaches another client, from a proxied server, a task or
a cache, a mark says which of the two it is, and `read_by` writes the other one in its place. Pure functions.
"""

from __future__ import annotations

from typing import Any, Final

from fastmcp.tools.base import ToolResult

from xmcp.server.formatter_binding import writes_data_only
from xmcp.server.responses.mcp_results import (
    attributes_of,
    display_of,
    is_document,
    is_models_text,
    result_of,
    text_block,
)
from xmcp.server.responses.returned_values import data_of, summary_of
from xmcp.wire import ToolResponse
from xmcp.xml_formatters import XMLFormatter
from xmcp_models.registry import RESULT_META_KEY

DISPLAY_TEXT: Final = "display_text"
"""Name of the mark among the attributes of a result, and in what is sent to a client that did not declare itself."""
SUMMARY: Final = "summary"
DATA: Final = "data"


def is_written_by_server(value: Any, formatter: XMLFormatter | None) -> bool:
    """Tell whether neither the author of `value`, which has a display, nor a formatter of theirs writes the text."""
    if isinstance(value, ToolResponse):
        return value.llm_output is None
    return formatter is None or writes_data_only(formatter)


def mark_text(result: ToolResult, *, is_shown: bool) -> None:
    """Note in a result with a display that the server wrote the text, for a client that shows displays or does not."""
    attributes = {**attributes_of(result), DISPLAY_TEXT: SUMMARY if is_shown else DATA}
    result.meta = {**(result.meta or {}), RESULT_META_KEY: attributes}


def read_by(result: ToolResult, *, declared: bool) -> ToolResult:
    """Return `result` with the text beside its display that a client reads which declared the extension, or did not.

    A summary that a middleware has changed since is kept: the data could have what it left out.
    """
    attributes = attributes_of(result)
    written = attributes.get(DISPLAY_TEXT)
    if written not in (SUMMARY, DATA) or (written == SUMMARY) is declared or result.is_error or is_document(result):
        return result
    texts = [at for at, block in enumerate(result.content) if is_models_text(block)]
    display = display_of(result)
    if display is None or not texts:
        return result
    summary = summary_of(display)
    if written == SUMMARY and [result.content[at] for at in texts] != [text_block(summary.text)]:
        return result
    told = data_of(display) if written == SUMMARY else summary
    kept = [block for at, block in enumerate(result.content) if at not in texts]
    kept.insert(texts[0], text_block(told.text))
    about = {"format": told.format, "truncated": told.truncated, "lossy": attributes.get("lossy")}
    mark = {name: value for name, value in about.items() if value}
    retold = result_of(kept, result.structured_content, {**(result.meta or {}), RESULT_META_KEY: mark}, is_error=False)
    mark_text(retold, is_shown=declared)
    return retold
