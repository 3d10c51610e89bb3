"""Mutants of sections 6.1 and 6.3: who gets documents, and what everybody else gets."""

from __future__ import annotations

from typing import Any

import mcp_types

from xmcp_conformance.wrong.registry import breaks
from xmcp_models.registry import ERROR_META_KEY, EXTENSION_ID, PLAIN_META_KEY, POPULATED_META_KEY, VERSION_META_KEY

from .miniature import Failure, Json, Negotiated, ToolOutcome


@breaks("XMCP-MCP-005", profile="server")
class NegotiatesWithoutAWord(Negotiated):
    """Sends plain results to some clients and announces nothing of it."""

    def extensions(self) -> dict[str, Any]:
        return {EXTENSION_ID: {"versions": ["1.0"]}}


@breaks("XMCP-MCP-015", profile="server")
class OverlooksTheDeclaration(Negotiated):
    """Sends plain results to clients that declared the extension."""

    def reads_documents(self, capabilities: mcp_types.ClientCapabilities | None) -> bool:
        return False


@breaks("XMCP-MCP-020", profile="server")
class KeepsTheCodeFromTheModel(Negotiated):
    """Tells the model what failed and not the code."""

    def said(self, outcome: ToolOutcome) -> str:
        return outcome.text if outcome.failure is None else outcome.failure.message


@breaks("XMCP-MCP-021", profile="server")
class ShowsTheDisplayTwice(Negotiated):
    """Sends the display as `structuredContent` too."""

    def plain(self, outcome: ToolOutcome) -> mcp_types.CallToolResult:
        return super().plain(outcome).model_copy(update={"structured_content": outcome.envelope})


@breaks("XMCP-MCP-022", profile="server")
class CallsAFailureASuccess(Negotiated):
    """Leaves `isError` false for an error."""

    def plain(self, outcome: ToolOutcome) -> mcp_types.CallToolResult:
        return super().plain(outcome).model_copy(update={"is_error": False})


@breaks("XMCP-MCP-023", profile="server")
class TagsThePlainText(Negotiated):
    """Leaves the tags of a document around the text."""

    def said(self, outcome: ToolOutcome) -> str:
        said = super().said(outcome)
        return f"<llm_output>{self.escaped(said)}</llm_output>" if outcome.failure is None else said


@breaks("XMCP-MCP-024", profile="server")
class SaysYesInJson(Negotiated):
    """Writes whether an error can be retried as a text."""

    def error_value(self, failure: Failure) -> Json:
        value = super().error_value(failure)
        return {**value, "retryable": "yes" if value["retryable"] else "no"}


@breaks("XMCP-MCP-025", profile="server")
class RenamesWhatItFilledIn(Negotiated):
    """Sends what it filled in under a name of its own."""

    def members(self, outcome: ToolOutcome) -> Json:
        members = super().members(outcome)
        populated = members.pop(POPULATED_META_KEY, None)
        return members if populated is None else {**members, "acme/filled-in": populated}


@breaks("XMCP-MCP-026", profile="server")
class SaysNotThatItIsPlain(Negotiated):
    """Puts no version into the `_meta` of an error."""

    def members(self, outcome: ToolOutcome) -> Json:
        members = super().members(outcome)
        return {name: members[name] for name in members if name != PLAIN_META_KEY or ERROR_META_KEY not in members}


@breaks("XMCP-MCP-027", profile="server")
class PassesForADocument(Negotiated):
    """Marks a plain result as a document."""

    def members(self, outcome: ToolOutcome) -> Json:
        return {**super().members(outcome), VERSION_META_KEY: "1.0"}
