"""Checks of how a failed call is answered (sections 4.1 and 4.4).

`input_validation` judges the codes of invalid calls; the reader judges what concerns the error element alone.
"""

from __future__ import annotations

from typing import Any

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either, obeyed
from xmcp_conformance.profiles.server.exchange import Exchange, Intent
from xmcp_conformance.reader.error_element import ErrorElement


@check("XMCP-ERR-001", profile="server")
def valid_call_without_result(exchange: Exchange) -> Observations:
    """Judge a valid call that ended with a JSON-RPC error or without an answer."""
    if exchange.call.intent is Intent.VALID:
        yield broken("XMCP-ERR-001", exchange.ended_with, "a result with a document that has `error`")


@check("XMCP-ERR-001", "XMCP-ERR-030", profile="server")
def error_of_call(error: ErrorElement) -> Observations:
    """Judge an error: one with the code INTERNAL has an `error_id`."""
    yield obeyed("XMCP-ERR-001")
    meta: dict[str, Any] = error.meta if isinstance(error.meta, dict) else {}
    if error.code == "INTERNAL" and error.meta_reads:
        marked = isinstance(meta.get("error_id"), str) and bool(meta["error_id"])
        seen = "INTERNAL without `error_id` in `meta`"
        yield either("XMCP-ERR-030", marked, seen, "an `error_id` to find in the log")
