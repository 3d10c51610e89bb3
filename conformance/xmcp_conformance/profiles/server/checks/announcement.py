"""Checks of the announcement: the extension and the versions that it lists (section 6.1)."""

from __future__ import annotations

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.server.catalogue import Catalogue, announced_versions
from xmcp_conformance.reader import Document
from xmcp_models.registry import EXTENSION_ID

WIRES = ("always", "negotiated", "plain")


@check("XMCP-CNF-002", "XMCP-CNF-003", "XMCP-MCP-005", profile="server")
def extension_entry(catalogue: Catalogue) -> Observations:
    """Judge whether the extension is announced, with a list of versions and the wire."""
    announced = catalogue.extensions.get(EXTENSION_ID)
    yield either(
        "XMCP-CNF-002",
        EXTENSION_ID in catalogue.extensions,
        f"the extensions {quoted(', '.join(catalogue.extensions) or '(none)')}",
        f"an entry `{EXTENSION_ID}`",
    )
    if EXTENSION_ID in catalogue.extensions:
        listed = announced_versions(catalogue) is not None
        yield either("XMCP-CNF-003", listed, f"`{quoted(str(announced))}`", 'such as {"versions": ["1.0"]}')
        wire = announced.get("wire") if isinstance(announced, dict) else None
        expected = f"`wire` with the value {' or '.join(f'`{one}`' for one in WIRES)}"
        yield either("XMCP-MCP-005", wire in WIRES, f"`{quoted(str(announced))}`", expected)


@check("XMCP-CNF-003", profile="server")
def document_version(document: Document, announced: list[str]) -> Observations:
    """Judge whether a document has one of the versions that the server announced."""
    if document.version is not None:
        seen, expected = f"a document of version {document.version}", f"one of {quoted(', '.join(announced))}"
        yield either("XMCP-CNF-003", document.version in announced, seen, expected)
