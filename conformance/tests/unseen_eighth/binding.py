"""Wrong in how a document is sent, and to whom."""

from __future__ import annotations

from typing import Any

from unseen_eighth.kit import Answer, Call, Failure
from unseen_eighth.observatory import NegotiatedObservatory, Observatory
from unseen_eighth.registry import breaks


@breaks("MCP-001")
class PersonBeforeDocument(Observatory):
    """Sends the block for the person alone, where there is one, before the document, as it is shown first."""

    def document_blocks(self, call: Call, outcome: Answer | Failure, written: str) -> list[Any]:
        return super().document_blocks(call, outcome, written)[::-1]


@breaks("MCP-004")
class FieldsAsData(NegotiatedObservatory):
    """Repeats the arguments that were refused as structured content, for the forms of its own client."""

    def structured(self, call: Call, outcome: Answer | Failure) -> Any:
        if call.documents and isinstance(outcome, Failure) and "fields" in (outcome.meta or {}):
            return {"fields": [one["pointer"] for one in (outcome.meta or {})["fields"]]}
        return super().structured(call, outcome)


@breaks("MCP-014")
class TextIsMeasured(NegotiatedObservatory):
    """Compares the size of the text for the model with what the client accepts; nobody thought of the display."""

    def fitting(self, call: Call, outcome: Answer | Failure) -> tuple[str, Answer | Failure]:
        if isinstance(outcome, Answer) and self.size(outcome.text) <= self.room(call):
            return self.document(call, outcome), outcome
        return super().fitting(call, outcome)


@breaks("MCP-051")
class LargeFailures(NegotiatedObservatory):
    """Says `RESULT_TOO_LARGE` in the place of a failure, too, whose document is too large for the client."""

    def shorter(self, failure: Failure) -> Failure:
        return Failure("RESULT_TOO_LARGE", "The answer is too large for this client.", {"side_effects": "none"})


@breaks("MCP-015")
class ExtensionsAlone(NegotiatedObservatory):
    """Looks for the declaration under `extensions` alone, where no client can have it after a handshake."""

    places = ("extensions",)
