"""The check of what stays of the members of a server's error in the document for the model (sections 6.4 and 11.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.error_categories import CATEGORY_OF
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.reader.checks.error_element import ErrorElement

from .documents import answered_calls


@check("XMCP-CLI-003", "XMCP-MCP-043", profile="client")
def _members_of_errors_stay(trace: TraceIndex) -> Observations:
    """Judge what a program acts on; the message, and whether a retry can help, are judged by others."""
    for call, is_document, answer, reply in answered_calls(trace):
        error, told = answer.error, reply.error
        if error is None or told is None or told.code != error.get("code") or answer.protocol_error is not None:
            continue
        if not (is_document or answer.plain):
            continue  # XMCP-MCP-040
        id_ = "XMCP-CLI-003" if is_document else "XMCP-MCP-043"
        for name, sent, kept in _members(error, told):
            seen = f"{call} is answered by an error with `{name}` {quoted(str(kept))}"
            yield either(
                id_, kept == sent, seen, f"{quoted(str(sent))}, as the server sent it", where=call.turn.next_at
            )


def _members(error: Mapping[str, Any], told: ErrorElement) -> Iterator[tuple[str, Any, Any]]:
    """Yield each member that a server sent and no emitter changes: its name, what it was, and what it is now."""
    if error.get("retryable") is True and "retry_after_ms" in error:
        yield "retry_after_ms", error["retry_after_ms"], told.retry_after_ms
    if "side_effects" in error:
        meta = told.meta if isinstance(told.meta, Mapping) else {}
        yield "side_effects", error["side_effects"], meta.get("side_effects")
    if "category" in error and error["code"] not in CATEGORY_OF:  # that of a registered code is the registry's
        yield "category", error["category"], told.category or "internal"  # XMCP-ERR-013
