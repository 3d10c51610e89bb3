"""Checks of the form of an answer: which clients get documents, and which get plain results (section 6.1)."""

from __future__ import annotations

from enum import Enum, auto

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.server.catalogue import Catalogue, announced_versions, announced_wire
from xmcp_conformance.profiles.server.exchange import Exchange
from xmcp_models.registry import VERSION

from . import plain_results


class RequiredForm(Enum):
    """The form in which a server must answer a client (sections 6.1 to 6.3)."""

    DOCUMENT = auto()
    """A document: the wire is `always`, or not announced."""
    UNDECLARED = auto()
    """A document: the wire is `always`, and the client declared nothing."""
    NEGOTIATED = auto()
    """A document: the wire is `negotiated`, and the client declared that it reads documents."""
    PLAIN = auto()
    """A plain result: the wire is `plain`, or it is `negotiated` and the client declared nothing."""
    EITHER = auto()
    """Either of the two: the server cannot be expected to know what the client declared."""


def required_form(catalogue: Catalogue, *, declared: bool, known: bool) -> RequiredForm:
    """Return the form in which a server must answer a client.

    Args:
        catalogue: what the server announced to that client.
        declared: whether the client declared the extension, in the version of this suite.
        known: whether the server can know what the client declared.
    """
    wire = announced_wire(catalogue)
    if wire == "plain":
        return RequiredForm.PLAIN
    if wire != "negotiated":
        return RequiredForm.DOCUMENT if declared else RequiredForm.UNDECLARED
    if not declared:
        return RequiredForm.PLAIN
    supported = VERSION in (announced_versions(catalogue) or ())
    return RequiredForm.NEGOTIATED if known and supported else RequiredForm.EITHER


@check("XMCP-MCP-001", "XMCP-MCP-005", "XMCP-MCP-015", "XMCP-MCP-023", profile="server")
def answer_form(exchange: Exchange, form: RequiredForm, is_document: bool) -> Observations:
    """Judge whether the answer has the required form."""
    if form is RequiredForm.NEGOTIATED and not is_document and plain_results.has_a_document_later(exchange):
        yield broken("XMCP-MCP-001", f"{exchange.first_block} before the document", "the document as the first block")
    elif form is RequiredForm.NEGOTIATED:
        expected = "a document, for the client declared the extension"
        yield either("XMCP-MCP-015", is_document, exchange.first_block, expected)
    if form is RequiredForm.UNDECLARED and not is_document:
        seen = f"{exchange.first_block}; a client that declares the extension gets a document"
        yield broken("XMCP-MCP-005", seen, "the wire `negotiated` or `plain` in the announcement, or a document")
    if form is RequiredForm.PLAIN:
        tagged = plain_results.document_markup(exchange)
        seen = f"the text `{quoted(tagged or '')}`"
        yield either("XMCP-MCP-023", tagged is None, seen, "text without tags around it")
        if tagged is None:
            yield obeyed("XMCP-MCP-005")
