"""Checks of a document and the call that it answers: its text, its tool name, replaced code points (chapter 2).

What concerns a document alone, the reader judges.
"""

from __future__ import annotations

import json
import re

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.server.exchange import Exchange, ToolCall
from xmcp_conformance.reader import MOST_BYTES, Document, looks_like_a_document, read
from xmcp_conformance.reader.strict_json import strings

from .mcp_results import A_DOCUMENT

LONGEST = 2 * MOST_BYTES
"""Maximum number of characters of a document that the suite reads: it keeps all tokens of the document in memory."""

_LONGEST_NAME = 128
_LONGEST_STAND_IN = 12
"""Maximum number of characters that are looked at in the place of one, such as those of `&#xFFFF;`."""
_MARKUP = re.compile("[<&]")
_END = "</tool_response>"
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@check("XMCP-MCP-001", "XMCP-RSP-022", "XMCP-RSP-042", "XMCP-RSP-081", profile="server")
def document_text(exchange: Exchange) -> Observations:
    """Judge whether the result has a text that can be read as a document."""
    text = exchange.text
    attempt = text is not None and looks_like_a_document(text)
    pieces = _pieces(exchange) if attempt else 0
    seen = f"a document in {pieces} text blocks" if pieces else exchange.first_block
    yield either("XMCP-MCP-001", attempt and not pieces, seen, A_DOCUMENT)
    if text is None or not attempt or pieces:
        return
    if len(text) > LONGEST:
        seen = f"a document of {len(text):,} characters, which is not judged further"
        yield broken("XMCP-RSP-081", seen, f"at most {MOST_BYTES:,} bytes")
        return
    for trap in exchange.call.traps:
        if (fault := _unescaped(trap, exchange.call.traps, text)) is not None:
            # What a parser makes of the rest is chance: it can see elements where there was text, or any other fault.
            requirement, expected = fault
            yield broken(requirement, f"the text `{quoted(trap)}` as it is", expected)
            return


def _pieces(exchange: Exchange) -> int:
    """Return in how many text blocks a document comes, if it is in more than one; 0 otherwise."""
    content = (exchange.result or {}).get("content")
    blocks = content if isinstance(content, list) else []
    texts = [str(one.get("text")) for one in blocks if isinstance(one, dict) and one.get("type") == "text"]
    if len(texts) < 2 or texts[0].rstrip().endswith(_END):
        return 0
    ends = next((number for number, text in enumerate(texts, 1) if text.rstrip().endswith(_END)), 0)
    whole = "".join(texts[:ends])
    return ends if whole and len(whole) <= LONGEST and read(whole).document is not None else 0


def _unescaped(trap: str, sent: tuple[str, ...], text: str) -> tuple[str, str] | None:
    """Return the requirement that markup breaks which the suite sent as text and which is not escaped, if it is not."""
    if not _MARKUP.search(trap):
        return None
    for written in dict.fromkeys((trap, json.dumps(trap)[1:-1], json.dumps(trap, ensure_ascii=False)[1:-1])):
        before, found, _ = text.partition(written)
        if found:
            for other in sent:  # the tags in these open nothing
                before = before.replace(other, "")
            last = max(_OPENED, key=lambda opened: before.rfind(opened))
            return _OPENED[last] if last in before else None
    return None


_AS_TEXT = ("XMCP-RSP-022", "`&lt;` and `&amp;`")
_AS_JSON = ("XMCP-RSP-042", "`\\u003c` and `\\u0026`")
_OPENED: dict[str, tuple[str, str] | None] = {
    "<llm_output": _AS_TEXT,
    "<error": _AS_TEXT,
    "<display": _AS_JSON,
    "<meta": _AS_JSON,
    "<server_populated": _AS_JSON,
    "<![CDATA[": None,
}
"""For each place in which text can stand, the requirement that says how its markup is written."""


@check("XMCP-RSP-007", profile="server")
def tool_name(call: ToolCall, document: Document) -> Observations:
    """Judge whether a document names the tool by the name by which it was called, if the attribute can hold it.

    A tab or a line end that was written as it is was read as a space: that is the subject of XMCP-RSP-028.
    """
    if document.tool_name and len(call.name) <= _LONGEST_NAME:
        named, called = (re.sub("[\t\n\r]", " ", name) for name in (document.tool_name, call.name))
        same = named == called
        yield either("XMCP-RSP-007", same, f"`{quoted(document.tool_name)}`", f"`{quoted(call.name)}`")


@check("XMCP-RSP-026", profile="server")
def replaced_code_points(exchange: Exchange, document: Document) -> Observations:
    """Judge code points that XML cannot carry: those that the suite sent, and those in `structuredContent`."""
    traps = exchange.call.traps
    if document.error is not None:
        said = document.error.message
        for trap in traps:
            if (replaced := _ILLEGAL.sub("\ufffd", trap).strip()) != trap.strip() and replaced in said:
                seen = f"`{quoted(replaced)}` without a mark"
                yield either("XMCP-RSP-026", "error" in document.lossy, seen, 'lossy="true" on `error`')
    text = document.llm_output
    if text is None:
        return
    for source in (*traps, *strings((exchange.result or {}).get("structuredContent"))):
        replaced = _ILLEGAL.sub("\ufffd", source)
        if replaced != source and replaced in text:
            marked = "llm_output" in document.lossy
            yield either("XMCP-RSP-026", marked, f"`{quoted(replaced)}` without a mark", 'lossy="true" on `llm_output`')
    for trap in traps:
        left_out = _ILLEGAL.sub("", trap)
        # What begins or ends with such a code point is in a text without it, whatever stands for it there.
        if left_out != trap and trap[0] == left_out[:1] and trap[-1] == left_out[-1:] and left_out in text:
            yield broken("XMCP-RSP-026", f"`{quoted(left_out)}`: code points left out", "U+FFFD in their place")
        elif (instead := _instead(trap, text)) is not None:
            yield broken("XMCP-RSP-026", f"`{quoted(instead)}` in the place of a code point", "U+FFFD in its place")


def _instead(trap: str, text: str) -> str | None:
    """Return what stands in a text for the first code point of a trap that XML cannot carry, unless that is U+FFFD.

    A tool that writes its argument as JSON, or as a program does, changes quotation marks, backslashes and line ends as
    well: only a trap that has all of these shows what was made of the others alone.
    """
    first, *pieces = _ILLEGAL.split(trap)
    if not pieces or not all(sign in trap for sign in '"\\\n'):
        return None
    rest = text.partition(first)[2]
    found = re.match("".join(f"(.{{1,{_LONGEST_STAND_IN}}}?){re.escape(piece)}" for piece in pieces), rest, re.DOTALL)
    return next((instead for instead in found.groups() if instead != "\ufffd"), None) if found else None
