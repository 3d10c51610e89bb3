"""Checks of the MCP result of a call: what is around a document, and data beside any text (section 6.2)."""

from __future__ import annotations

from typing import Any

from pydantic_core import from_json

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.server.exchange import Exchange
from xmcp_conformance.reader import Document

from .errors import data_of_failure
from .required_form import RequiredForm
from .result_member import result_member

A_DOCUMENT = "a text block that holds one tool response document"
"""What the first block of a result has to be, in words for a report."""


@check("XMCP-MCP-001", "XMCP-MCP-020", profile="server")
def malformed_result(exchange: Exchange, form: RequiredForm) -> Observations:
    """Judge a result that is not a result of MCP."""
    plain = form is RequiredForm.PLAIN
    requirement, expected = ("XMCP-MCP-020", "a text block") if plain else ("XMCP-MCP-001", A_DOCUMENT)
    yield broken(requirement, exchange.malformed or "", expected)


@check("XMCP-MCP-049", profile="server")
def unlisted_data(exchange: Exchange) -> Observations:
    """Judge data for a client that did not declare the extension, of a tool that promises it none.

    Data that says something else than the text was given by the tool's author.
    """
    tool, result = exchange.call.tool, exchange.result or {}
    if tool is None or tool.has_output_schema or result.get("isError") is True:
        return
    data, document = result.get("structuredContent"), exchange.reading.document
    repeats = data is not None and document is not None and _says(document.llm_output or "", data)
    if data is None or repeats:
        seen = f"`structuredContent` of `{quoted(tool.name)}`, which lists no output schema: `{quoted(str(data))}`"
        expected = "the text alone: some hosts give the model the data in its place"
        yield either("XMCP-MCP-049", data is None, seen, expected)


def _says(text: str, data: Any) -> bool:
    """Return whether a text is data as JSON, or the only member of it, which libraries wrap as `result`."""
    try:
        said = from_json(text)
    except ValueError:
        said = text
    return data in (said, {"result": said}, {"result": text})


@check("XMCP-MCP-002", "XMCP-MCP-004", "XMCP-MCP-042", profile="server")
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
    if document.version is not None:
        yield from result_member(result.get("_meta") or {}, "document", [document.version])
    if document.error is not None:
        yield from data_of_failure(document.error.code, result)
