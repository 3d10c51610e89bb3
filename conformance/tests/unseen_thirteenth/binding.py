"""Print shops that get what travels in MCP wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mcp_types
from unseen_eighth.kit import PREFIX, Answer, Call, Failure, Json, Tool

from unseen_thirteenth.printshop import NegotiatedPrintShop, PrintShop
from unseen_thirteenth.registry import breaks


@breaks("CNF-003")
class NumbersItsVersions(PrintShop):
    """Reads its versions from YAML without quotation marks: in the stateless era, 1.0 is a number in the
    announcement.
    """

    def announcement(self, *, handshake: bool) -> Json:
        said = super().announcement(handshake=handshake)
        return said if handshake else {**said, "versions": [1.0]}


@breaks("MCP-014", "MCP-051")
class CountsCharacters(PrintShop):
    """Compares `maxBytes` with the number of characters of a document, of which some have three bytes each."""

    def size(self, written: str) -> int:
        return len(written)


@breaks("MCP-051")
class CutsWhatIsTooLarge(NegotiatedPrintShop):
    """Halves the text of a document until the client accepts it, and marks it as cut, where it has to answer with an
    error.
    """

    def fitting(self, call: Call, outcome: Answer | Failure) -> tuple[str, Answer | Failure]:
        shorter = outcome
        while isinstance(shorter, Answer) and shorter.text:
            written = self.document(call, shorter)
            if self.size(written) <= self.room(call):
                return written, shorter
            shorter = replace(shorter, text=shorter.text[: len(shorter.text) // 2], cut=True)
        return super().fitting(call, outcome)


@breaks("MCP-015")
class AnswersFailuresPlainly(NegotiatedPrintShop):
    """Writes documents for answers alone: whoever declared the extension gets a failure as a plain result."""

    async def answer(self, call: Call) -> mcp_types.CallToolResult:
        outcome = await self.outcome(call)
        if call.documents and isinstance(outcome, Answer):
            return self.as_document(call, outcome)
        return self.as_plain(call, outcome)


@breaks("MCP-042")
class MarksWhatItsToolsMade(NegotiatedPrintShop):
    """Failures that arise around a tool and not in it (no such tool, a bug) come without the mark in `_meta`."""

    def document_meta(self, call: Call, outcome: Answer | Failure) -> Json:
        return self.marked(outcome, super().document_meta(call, outcome))

    def plain_meta(self, call: Call, outcome: Answer | Failure) -> Json:
        return self.marked(outcome, super().plain_meta(call, outcome))

    def marked(self, outcome: Answer | Failure, meta: Json) -> Json:
        """Return the `_meta` of a result without the mark, where no tool made the result."""
        if isinstance(outcome, Failure) and outcome.code in ("UNKNOWN_TOOL", "INTERNAL"):
            del meta[f"{PREFIX}result"]
        return meta


@breaks("MCP-053")
class CallsItTheValue(PrintShop):
    """Wraps a list in the member `result`, and says in the metadata that the member is called `value`."""

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        tools["impose"].meta["wrapped_in"] = "value"
        return tools


@breaks("MCP-004")
class ExplainsRefusals(NegotiatedPrintShop):
    """Where arguments do not fit, it sends what its validator found as structured content beside the error."""

    def structured(self, call: Call, outcome: Answer | Failure) -> Any:
        if isinstance(outcome, Failure) and outcome.code == "VALIDATION_FAIL":
            return {"error": {"code": outcome.code, "fields": (outcome.meta or {}).get("fields", [])}}
        return super().structured(call, outcome)
