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

    An author gives data that says something else than the text, or data of which a library then makes the text. What
    no author gives is the text itself as the member `result`, in which libraries wrap what a tool returns.
    """
    tool, data = exchange.call.tool, (exchange.result or {}).get("structuredContent")
    if tool is None or not _is_unlisted(exchange):
        return
    wrapped = data is not None and data in [{"result": said} for said in _readings(exchange)]
    if data is None or wrapped:
        seen = f"`structuredContent` of `{quoted(tool.name)}`, which lists no output schema: `{quoted(str(data))}`"
        expected = "the text alone: some hosts give the model the data in its place"
        yield either("XMCP-MCP-049", data is None, seen, expected)


def repeats_its_text(exchange: Exchange) -> bool:
    """Return whether a tool that promises no data sends its text as data: its author or the server can have done it."""
    data = (exchange.result or {}).get("structuredContent")
    return data is not None and _is_unlisted(exchange) and data in _readings(exchange)


def _is_unlisted(exchange: Exchange) -> bool:
    """Return whether data with this answer is of a tool that lists no output schema, and not of a failure."""
    tool, result = exchange.call.tool, exchange.result or {}
    return tool is not None and not tool.has_output_schema and result.get("isError") is not True


def _readings(exchange: Exchange) -> list[Any]:
    """Return the text of an answer, and the value that it has as JSON; nothing of an answer that cannot be read."""
    document = exchange.reading.document
    if document is None:
        return []
    text = document.llm_output or ""
    try:
        return [text, from_json(text)]
    except ValueError:
        return [text]


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
