"""Checks of what a client gets that declared `maxBytes` (section 6.1), beside what it got without that."""

from __future__ import annotations

from typing import Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.server.clients import LEAST
from xmcp_conformance.profiles.server.exchange import Exchange, Twin
from xmcp_conformance.reader import Document

_TOO_LARGE: Final = "RESULT_TOO_LARGE"


@check("XMCP-MCP-014", profile="server")
def document_size(exchange: Exchange) -> Observations:
    """Judge the size of a document for a client that declared `LEAST`."""
    seen = f"a document of {exchange.size:,} bytes"
    yield either("XMCP-MCP-014", exchange.size <= LEAST, seen, f"at most {LEAST:,}, which the client declared")


@check("XMCP-MCP-051", profile="server")
def answer_that_fits(document: Document, before: Twin) -> Observations:
    """Judge the answer to a call whose document was larger than `LEAST` without the declaration.

    A server that gives less today, is busy, or fails in another way than before can be right: nobody knows what
    changed.
    """
    code = document.error.code if document.error is not None else None
    if code == (before.code or _TOO_LARGE):
        yield obeyed("XMCP-MCP-051")
    elif document.error is None:
        if not before.failed and _is_cut(document, before.text or ""):
            yield broken("XMCP-MCP-051", "a text that was cut", f"the error `{_TOO_LARGE}`")
        elif before.has_display and not document.has_display and document.llm_output == before.text:
            yield broken("XMCP-MCP-051", "the same text without its display", f"the error `{_TOO_LARGE}`")
    elif not document.error.retryable and (not before.failed or code == _TOO_LARGE):
        yield broken("XMCP-MCP-051", f"the error `{quoted(str(code))}`", f"the error `{before.code or _TOO_LARGE}`")


@check("XMCP-MCP-004", profile="server")
def data_of_what_is_too_large(exchange: Exchange, document: Document, before: Twin) -> Observations:
    """Judge whether an error that only the declaration brought about comes without structured content."""
    if document.error is not None and document.error.code == _TOO_LARGE and not before.failed:
        structured = (exchange.result or {}).get("structuredContent")
        yield either("XMCP-MCP-004", structured is None, f"`structuredContent` beside `{_TOO_LARGE}`", "none")


def _is_cut(document: Document, before: str) -> bool:
    """Return whether a text says that it was cut, and is the beginning of the one before."""
    text = (document.llm_output or "").rstrip(" .…")
    return document.truncated and len(text) < len(before) and before.startswith(text)
