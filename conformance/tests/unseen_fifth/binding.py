"""Wrong servers: the binding to MCP."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mcp_types

from unseen_fifth.kit import Json, Outcome, Success, Tool, Visit, legal
from unseen_fifth.observatory import EXTENSION, Negotiated, Observatory, Plain
from unseen_fifth.registry import breaks
from unseen_fifth.writers import Paper, Slip


@breaks("CNF-003")
class OneVersion(Observatory):
    """In the handshake the announcement has its only version as a text, like the protocol's own version beside it."""

    def announcement(self, *, handshake: bool) -> Json:
        said = super().announcement(handshake=handshake)
        return {**said, "versions": said["versions"][0]} if handshake else said


@breaks("MCP-014")
class UnmeasuredDisplay(Observatory):
    """What a client accepts is compared with the size of the text for the model, from before there were displays."""

    class _Paper(Paper):
        def fits(self, outcome: Outcome, document: str) -> bool:
            if isinstance(outcome, Success) and outcome.display is not None:
                return len(self.model(outcome).encode()) <= self.budget()
            return super().fits(outcome, document)

    paper = _Paper


@breaks("MCP-051", "DSP-022")
class DisplayDropped(Observatory):
    """Where a document is too large because of its display, the display is left out, so that the model has the text."""

    class _Paper(Paper):
        def smaller(self, outcome: Outcome) -> Any:
            if isinstance(outcome, Success) and outcome.display is not None:
                bare = replace(outcome, display=None)
                return bare if self.fits(bare, self.document(bare)) else super().smaller(outcome)
            return super().smaller(outcome)

    paper = _Paper


@breaks("MCP-015")
class ExtensionsOnly(Negotiated):
    """A declaration is looked for under `extensions` alone, where clients with a handshake have no place for it."""

    def declaration(self, context: Any) -> Json:
        declared: Any = getattr(context.session.client_capabilities, "extensions", None) or {}
        said = declared.get(EXTENSION)
        return said if isinstance(said, dict) and self.speaks(said.get("versions")) else {}


@breaks("MCP-015")
class CachedAsPlain(Negotiated):
    """The cache keeps the plain form of an answer because it is smaller, and gives it out for a
    call that comes again.
    """

    def written(self, visit: Visit, tool: type[Tool] | None, outcome: Outcome) -> mcp_types.CallToolResult:
        cached = visit.again > 1 and tool is not None and bool((tool.about or {}).get("cacheable"))
        return super().written(replace(visit, documents=visit.documents and not cached), tool, outcome)


@breaks("MCP-042")
class FormatInPlace(Plain):
    """The tool that answers with JSON builds the mark of its result by itself, with the media type and no version."""

    class _Slip(Slip):
        def mark(self, outcome: Outcome) -> Json:
            said = super().mark(outcome)
            return {name: value for name, value in said.items() if name != "version" or "format" not in said}

    slip = _Slip


@breaks("MCP-044")
class AsideInText(Negotiated):
    """In documents the text of every block is joined for the model, the aside for the person too."""

    class _Paper(Paper):
        def model_text(self, success: Success) -> str:
            written = super().model_text(success)
            return f"{written}\n{self.escaped(legal(success.aside))}" if success.aside else written

    paper = _Paper
