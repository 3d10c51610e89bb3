"""Wrong in how a document is sent, and to whom."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mcp_types
from unseen_eighth.kit import Answer, Call, Failure, Tool
from unseen_eighth.observatory import block

from unseen_ninth.registry import breaks
from unseen_ninth.workshop import NegotiatedWorkshop, Workshop


@breaks("MCP-001")
class InPieces(Workshop):
    """Sends a document of more than six thousand characters as several text blocks, as its queue has such a limit."""

    def document_blocks(self, call: Call, outcome: Answer | Failure, written: str) -> list[Any]:
        [_, *rest] = super().document_blocks(call, outcome, written)
        return [*(block(written[at : at + 6000]) for at in range(0, len(written), 6000)), *rest]


@breaks("MCP-002")
class FailedBefore(NegotiatedWorkshop):
    """Forgets to take `isError` back after a failure that nobody foresaw: the next document has it, too."""

    def __init__(self) -> None:
        super().__init__()
        self.shaken = False

    def failed(self, call: Call, outcome: Answer | Failure) -> bool:
        failed, shaken = super().failed(call, outcome), self.shaken
        self.shaken = isinstance(outcome, Failure) and outcome.code == "INTERNAL"
        return failed or (shaken and call.documents)


@breaks("MCP-004")
class EmptyData(NegotiatedWorkshop):
    """Sends empty data with arguments that were refused, for tools with an output schema, as old clients asked for."""

    empty = {
        "search_parts": {"parts": [], "total": 0, "next_page": None},
        "list_trades": {"result": []},
        "split_cost": {"value": 0},
    }

    def structured(self, call: Call, outcome: Answer | Failure) -> Any:
        if call.documents and isinstance(outcome, Failure) and outcome.code == "VALIDATION_FAIL":
            return self.empty.get(call.tool)
        return super().structured(call, outcome)


@breaks("MCP-014", "MCP-051")
class CharactersAsBytes(NegotiatedWorkshop):
    """Counts the characters of a document and not its bytes before it compares them with what the client accepts."""

    def size(self, written: str) -> int:
        return len(written)


@breaks("MCP-015")
class RefusalsInPlain(NegotiatedWorkshop):
    """Answers arguments that do not fit before it knows who asked, and so with a plain result."""

    async def answer(self, call: Call) -> mcp_types.CallToolResult:
        outcome = await self.outcome(call)
        if isinstance(outcome, Failure) and outcome.code == "VALIDATION_FAIL":
            call.documents = False
        return self.as_document(call, outcome) if call.documents else self.as_plain(call, outcome)


@breaks("MCP-044", "RSP-020")
class ReminderForBoth(Workshop):
    """Ends the text for the model with what is meant for the person alone, and sends that as a block as well."""

    def served(self, call: Call, answer: Answer) -> Answer:
        return replace(answer, text=f"{answer.text}\n{answer.aside}") if answer.aside else answer


@breaks("MCP-051", "DSP-022")
class DisplayGoesFirst(Workshop):
    """Leaves the display out where a document would be too large with it, and sends the text alone."""

    def fitting(self, call: Call, outcome: Answer | Failure) -> tuple[str, Answer | Failure]:
        if isinstance(outcome, Answer) and self.size(self.document(call, outcome)) > self.room(call):
            outcome = replace(outcome, display=None)
        return super().fitting(call, outcome)


@breaks("MCP-053")
class RenamedInside(NegotiatedWorkshop):
    """Says that a cost is in the member `result` of its data, which was renamed to `value` some time ago."""

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        tools["split_cost"].meta["wrapped_in"] = "result"
        return tools
