"""Mutants of sections 6.1 and 6.3: who gets documents, and what everybody else gets."""

from __future__ import annotations

from typing import Any

import mcp_types

from xmcp_conformance.wrong.registry import breaks
from xmcp_models.registry import DISPLAY_META_KEY, EXTENSION_ID, POPULATED_META_KEY

from .miniature import Failure, Json, Negotiated, ToolOutcome


@breaks("XMCP-MCP-005", profile="server")
class NegotiatesWithoutAWord(Negotiated):
    """Sends plain results to some clients and announces nothing of it."""

    def extensions(self) -> dict[str, Any]:
        return {EXTENSION_ID: {"versions": ["1.0"]}}


@breaks("XMCP-MCP-015", profile="server")
class OverlooksTheDeclaration(Negotiated):
    """Sends plain results to clients that declared the extension."""

    def reads_documents(self, *, declared: bool) -> bool:
        return False


@breaks("XMCP-MCP-050", profile="server")
class OverlooksThatNobodyReads(Negotiated):
    """Sends documents to a client that set `documents` to `false`."""

    def declares(self, capabilities: mcp_types.ClientCapabilities | None) -> bool:
        return "1.0" in self.declared(capabilities).get("versions", ())


@breaks("XMCP-VER-001", profile="server")
class TakesEachVersionForItsOwn(Negotiated):
    """Sends documents to a client that declared another version alone."""

    def declares(self, capabilities: mcp_types.ClientCapabilities | None) -> bool:
        declared = self.declared(capabilities)
        return bool(declared.get("versions")) and declared.get("documents") is not False


@breaks("XMCP-VER-002", profile="server")
class HalfADeclaration(Negotiated):
    """Sends a client that declared another version alone nothing in `_meta`, where others have the display."""

    async def handle(
        self, name: str, arguments: Json, capabilities: mcp_types.ClientCapabilities | None, handshake: bool
    ) -> Any:
        result = await super().handle(name, arguments, capabilities, handshake)
        versions = self.declared(capabilities).get("versions", ["1.0"])
        return result if "1.0" in versions else result.model_copy(update={"meta": None})


@breaks("XMCP-MCP-020", profile="server")
class KeepsTheCodeFromTheModel(Negotiated):
    """Tells the model what failed and not the code."""

    def said(self, outcome: ToolOutcome) -> str:
        return outcome.text if outcome.failure is None else outcome.failure.message


@breaks("XMCP-MCP-021", profile="server")
class RenamesTheDisplay(Negotiated):
    """Sends the display under a name of its own."""

    def members(self, outcome: ToolOutcome) -> Json:
        members = super().members(outcome)
        display = members.pop(DISPLAY_META_KEY, None)
        return members if display is None else {**members, "acme/view": display}


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


@breaks("XMCP-MCP-042", profile="server")
class PassesForADocument(Negotiated):
    """Marks a plain result as a document."""

    def mark(self, form: str) -> Json:
        return super().mark("document")


@breaks("XMCP-MCP-044", profile="server")
class TellsTheModelToo(Negotiated):
    """Writes what is for the user alone into the text for the model of a document."""

    def in_document(self, outcome: ToolOutcome) -> str:
        return f"{outcome.text}\n{outcome.note}".rstrip("\n")


@breaks("XMCP-MCP-047", profile="server")
class LeavesThePersonWithNothing(Negotiated):
    """Sends no block with the `alt` of a display."""

    def alternative(self, outcome: ToolOutcome) -> str:
        return ""


@breaks("XMCP-MCP-048", profile="server")
class KeepsTheValuesInMeta(Negotiated):
    """Says nowhere in the content what it filled in."""

    def told_values(self, outcome: ToolOutcome) -> list[mcp_types.TextContent]:
        return []


@breaks("XMCP-MCP-049", profile="server")
class SendsDataNobodyWasPromised(Negotiated):
    """Sends structured content that its tools do not list."""

    def plain(self, outcome: ToolOutcome) -> mcp_types.CallToolResult:
        data = {"result": outcome.text} if outcome.failure is None else None
        return super().plain(outcome).model_copy(update={"structured_content": data})


@breaks("XMCP-DSP-025", profile="server")
class SaysShownToEverybody(Negotiated):
    """Tells each model that the person sees the display."""

    def without_a_renderer(self, text: str) -> str:
        return text
