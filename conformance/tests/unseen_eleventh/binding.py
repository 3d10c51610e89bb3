"""Wrong in how a document is sent, and to whom."""

from __future__ import annotations

from typing import Any

from unseen_eighth.kit import Answer, Call, Failure
from unseen_eighth.observatory import block

from unseen_eleventh.garden import Garden, NegotiatedGarden
from unseen_eleventh.registry import breaks


@breaks("MCP-001", "RSP-001", "RSP-006")
class NoticeOfTheEngine(Garden):
    """Begins the answer of a display tool that was called without `show_user` with what PHP prints about that."""

    def document_blocks(self, call: Call, outcome: Answer | Failure, written: str) -> list[Any]:
        [first, *rest] = super().document_blocks(call, outcome, written)
        display = call.tool in (tools := self.tools()) and tools[call.tool].meta.get("display")
        if not display or "show_user" in call.args or isinstance(outcome, Failure):
            return [first, *rest]
        return [block(f'Warning: Undefined array key "show_user" on line 41\n{first.text}'), *rest]


@breaks("MCP-002")
class EmptyIsFailed(Garden):
    """Sets `isError` where there is no text for the model; the document is one of an empty text all the same."""

    def failed(self, call: Call, outcome: Answer | Failure) -> bool:
        return super().failed(call, outcome) or (isinstance(outcome, Answer) and not outcome.text)


@breaks("MCP-004")
class NullAfterACrash(NegotiatedGarden):
    """Sends the value of a tool with an output schema as null after a failure that nobody foresaw."""

    def structured(self, call: Call, outcome: Answer | Failure) -> Any:
        if call.tool == "share_water" and isinstance(outcome, Failure) and outcome.code == "INTERNAL":
            return {"value": None}
        return super().structured(call, outcome)


@breaks("MCP-015")
class DeclarationsAreSwept(NegotiatedGarden):
    """Sweeps its table of declarations at each fifteenth call, and answers that one as nobody had declared anything."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def gets_documents(self, call: Call) -> bool:
        self.calls += 1
        return super().gets_documents(call) and self.calls % 15 != 0
