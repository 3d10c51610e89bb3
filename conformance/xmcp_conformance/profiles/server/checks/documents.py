"""Checks of a document and the call that it answers: its text, its tool name, replaced code points (chapter 2).

What concerns a document alone, the reader judges.
"""

from __future__ import annotations

import re

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.server.exchange import Exchange, ToolCall
from xmcp_conformance.reader import MOST_BYTES, Document, looks_like_a_document
from xmcp_conformance.reader.strict_json import strings

from .mcp_results import A_DOCUMENT

LONGEST = 2 * MOST_BYTES
"""Maximum number of characters of a document that the suite reads: it keeps all tokens of the document in memory."""

_MARKUP = re.compile("[<&]")
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@check("XMCP-MCP-001", "XMCP-RSP-022", "XMCP-RSP-081", profile="server")
def document_text(exchange: Exchange) -> Observations:
    """Judge whether the result has a text that can be read as a document."""
    text = exchange.text
    attempt = text is not None and looks_like_a_document(text)
    yield either("XMCP-MCP-001", attempt, exchange.first_block, A_DOCUMENT)
    if text is None or not attempt:
        return
    if len(text) > LONGEST:
        seen = f"a document of {len(text):,} characters, which is not judged further"
        yield broken("XMCP-RSP-081", seen, f"at most {MOST_BYTES:,} bytes")
    elif _is_unescaped(exchange.call.trap, text):
        # What a parser makes of the rest is chance: it can see elements where there was text, or any other fault.
        yield broken("XMCP-RSP-022", f"the text `{quoted(exchange.call.trap)}` as it is", "`&lt;` and `&amp;`")


def _is_unescaped(trap: str, text: str) -> bool:
    """Return whether markup that the suite sent as text is in `llm_output` without being escaped."""
    if not _MARKUP.search(trap):
        return False
    before, found, _ = text.partition(trap)
    return bool(found) and before.rfind("<llm_output") > max(before.rfind("<display"), before.rfind("<![CDATA["))


@check("XMCP-RSP-007", profile="server")
def tool_name(call: ToolCall, document: Document) -> Observations:
    """Judge whether a document names the tool by the name by which it was called."""
    if document.tool_name:
        same = document.tool_name == call.name
        yield either("XMCP-RSP-007", same, f"`{quoted(document.tool_name)}`", f"`{quoted(call.name)}`")


@check("XMCP-RSP-026", profile="server")
def replaced_code_points(exchange: Exchange, document: Document) -> Observations:
    """Judge code points that XML cannot carry: those that the suite sent, and those in `structuredContent`."""
    text = document.llm_output
    if text is None:
        return
    trap = exchange.call.trap
    for source in (trap, *strings((exchange.result or {}).get("structuredContent"))):
        replaced = _ILLEGAL.sub("\ufffd", source)
        if replaced != source and replaced in text:
            marked = "llm_output" in document.lossy
            yield either("XMCP-RSP-026", marked, f"`{quoted(replaced)}` without a mark", 'lossy="true" on `llm_output`')
    left_out = _ILLEGAL.sub("", trap)
    if left_out != trap and left_out in text:
        yield broken("XMCP-RSP-026", f"`{quoted(left_out)}`: code points left out", "U+FFFD in their place")
