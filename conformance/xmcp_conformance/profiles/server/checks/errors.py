"""Checks of how a failed call is answered (sections 4.1, 4.4 and 6.3).

`input_validation` judges the codes of invalid calls; the reader judges what concerns the error element alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either, obeyed
from xmcp_conformance.profiles.server.exchange import Exchange, Intent
from xmcp_conformance.reader.checks.error_element import NEVER_BUILT_BY_AN_AUTHOR, ErrorElement
from xmcp_models.registry import ERROR_META_KEY


@check("XMCP-ERR-001", profile="server")
def valid_call_without_result(exchange: Exchange) -> Observations:
    """Judge a valid call that ended with a JSON-RPC error or without an answer."""
    if exchange.call.intent is Intent.VALID:
        yield broken("XMCP-ERR-001", exchange.ended_with, "a result with an error")


@check("XMCP-ERR-001", "XMCP-ERR-030", profile="server")
def error_of_call(error: ErrorElement) -> Observations:
    """Judge an error: one with the code INTERNAL has an `error_id`."""
    yield obeyed("XMCP-ERR-001")
    meta: dict[str, Any] = error.meta if isinstance(error.meta, dict) else {}
    if error.code == "INTERNAL" and error.meta_reads:
        marked = isinstance(meta.get("error_id"), str) and bool(meta["error_id"])
        seen = "INTERNAL without `error_id` in `meta`"
        yield either("XMCP-ERR-030", marked, seen, "an `error_id` to find in the log")


@check("XMCP-MCP-004", profile="server")
def data_of_failure(code: object, result: Mapping[str, Any]) -> Observations:
    """Judge whether an error that no author built comes without structured content; `code` is the code of the error."""
    if code in NEVER_BUILT_BY_AN_AUTHOR:
        structured = result.get("structuredContent")
        yield either("XMCP-MCP-004", structured is None, f"`structuredContent` beside `{code}`", "none")


@check("XMCP-MCP-004", "XMCP-MCP-022", profile="server")
def failure_marks(result: Mapping[str, Any], meta: Mapping[str, Any]) -> Observations:
    """Judge whether `isError` and the error in `_meta` agree, and the data beside the error."""
    has_error, flag = ERROR_META_KEY in meta, result.get("isError") is True
    if has_error or flag:
        seen = f"isError={flag} {'with' if has_error else 'without'} `{ERROR_META_KEY}`"
        yield either("XMCP-MCP-022", has_error and flag, seen, f"isError=True with `{ERROR_META_KEY}`")
        error = meta.get(ERROR_META_KEY)
        code = error.get("code") if isinstance(error, Mapping) else None
        yield from data_of_failure(code if isinstance(code, str) else None, result)
