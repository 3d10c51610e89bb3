"""Checks of the MCP result around a document (section 6.2)."""

from __future__ import annotations

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.server.exchange import Exchange
from xmcp_conformance.reader import Document
from xmcp_models.registry import VERSION_META_KEY

from .errors import data_of_failure
from .required_form import RequiredForm

A_DOCUMENT = "a text block that holds one tool response document"
"""What the first block of a result has to be, in words for a report."""


@check("XMCP-MCP-001", "XMCP-MCP-020", profile="server")
def malformed_result(exchange: Exchange, form: RequiredForm) -> Observations:
    """Judge a result that is not a result of MCP."""
    plain = form is RequiredForm.PLAIN
    requirement, expected = ("XMCP-MCP-020", "a text block") if plain else ("XMCP-MCP-001", A_DOCUMENT)
    yield broken(requirement, exchange.malformed or "", expected)


@check("XMCP-MCP-002", "XMCP-MCP-003", "XMCP-MCP-004", profile="server")
def result_of_document(exchange: Exchange, document: Document) -> Observations:
    """Judge the MCP result around a document."""
    result = exchange.result or {}
    failed = document.error is not None
    flag = result.get("isError", False)
    yield either(
        "XMCP-MCP-002",
        flag is failed,
        f"isError={flag} with {'`error`' if failed else 'no `error`'} in the document",
        f"isError={failed}",
    )
    version = (result.get("_meta") or {}).get(VERSION_META_KEY)
    if document.version is not None:
        expected = f"`{VERSION_META_KEY}`: `{document.version}`"
        yield either("XMCP-MCP-003", version == document.version, f"`{quoted(str(version))}`", expected)
    if document.error is not None:
        yield from data_of_failure(document.error.code, result)
