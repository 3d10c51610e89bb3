"""Wrong in how a document is sent, and to whom."""

from __future__ import annotations

from typing import Any

import mcp_types
from unseen_eighth.kit import PREFIX, Answer, Call, Failure, Json

from unseen_tenth.harbour import Harbour, NegotiatedHarbour
from unseen_tenth.registry import breaks


@breaks("MCP-014", "MCP-051")
class FailuresAreSmall(NegotiatedHarbour):
    """Never looks at the size of a failure, since failures are small; a name that was not found can be long."""

    def fitting(self, call: Call, outcome: Answer | Failure) -> tuple[str, Answer | Failure]:
        if isinstance(outcome, Failure):
            return self.document(call, outcome), outcome
        return super().fitting(call, outcome)


@breaks("MCP-051", "MCP-015")
class PlainWhereTooLarge(NegotiatedHarbour):
    """Sends the plain result where a document would be too large, as a plain result has no such limit."""

    async def answer(self, call: Call) -> mcp_types.CallToolResult:
        outcome = await self.outcome(call)
        if call.documents and isinstance(outcome, Answer) and self.size(self.document(call, outcome)) > self.room(call):
            call.documents = False
        return self.as_document(call, outcome) if call.documents else self.as_plain(call, outcome)


@breaks("MCP-042")
class GateInFront(NegotiatedHarbour):
    """Refuses arguments at a gate in front of the tools, which does not say what form its answers have."""

    def document_meta(self, call: Call, outcome: Answer | Failure) -> Json:
        return self.unmarked(super().document_meta(call, outcome), outcome)

    def plain_meta(self, call: Call, outcome: Answer | Failure) -> Json:
        return self.unmarked(super().plain_meta(call, outcome), outcome)

    def unmarked(self, meta: Json, outcome: Answer | Failure) -> Json:
        """Return what the gate says of a result."""
        refused = isinstance(outcome, Failure) and outcome.code == "VALIDATION_FAIL"
        return {name: one for name, one in meta.items() if not refused or name != f"{PREFIX}result"}


@breaks("MCP-004")
class LastGoodValue(Harbour):
    """Sends the value of the last good call of a tool as data with a failure that nobody foresaw."""

    def __init__(self) -> None:
        super().__init__()
        self.good: dict[str, Any] = {}

    def structured(self, call: Call, outcome: Answer | Failure) -> Any:
        said = super().structured(call, outcome)
        if isinstance(outcome, Failure):
            return self.good.get(call.tool) if outcome.code == "INTERNAL" else said
        self.good[call.tool] = said
        return said
