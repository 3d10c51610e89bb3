"""Wrong in what is announced, in how a document is sent, and to whom."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mcp_types
from unseen_eighth.kit import Answer, Call, Failure, Json, Tool
from unseen_eighth.observatory import EXTENSION, LIMIT, block

from unseen_twelfth.registry import breaks
from unseen_twelfth.theatre import NegotiatedTheatre, PlainTheatre, Theatre


@breaks("CNF-002")
class ExperimentalForever(NegotiatedTheatre):
    """Announces the extension under `experimental` without a handshake, too, where it did so before."""

    def announced(self, *, handshake: bool) -> Json:
        return {"experimental": {EXTENSION: self.announcement(handshake=handshake)}}


@breaks("MCP-001", "RSP-001")
class FourThousandPerBlock(Theatre):
    """Sends a document of more than four thousand characters in several text blocks, one after the other."""

    def document_blocks(self, call: Call, outcome: Answer | Failure, written: str) -> list[Any]:
        [_, *rest] = super().document_blocks(call, outcome, written)
        return [*(block(written[at : at + 4000]) for at in range(0, len(written), 4000)), *rest]


@breaks("MCP-004")
class DataOfTheLastCall(Theatre):
    """Sends the data of the last call of a tool again where the arguments of the next one do not fit."""

    def __init__(self) -> None:
        super().__init__()
        self.last: dict[str, Any] = {}

    def structured(self, call: Call, outcome: Answer | Failure) -> Any:
        data = super().structured(call, outcome)
        if isinstance(outcome, Failure):
            return self.last.get(call.tool) if outcome.code == "VALIDATION_FAIL" else data
        self.last[call.tool] = data
        return data


@breaks("MCP-014", "MCP-051")
class LimitOfTheHandshake(NegotiatedTheatre):
    """Looks for the size that a client accepts in what it said with a handshake, and in no request after that."""

    def room(self, call: Call) -> int:
        return super().room(call) if call.handshake else LIMIT


@breaks("MCP-015")
class RefusalsArePlain(NegotiatedTheatre):
    """Refuses arguments before it looks at who calls, and so with a plain result to each client."""

    async def answer(self, call: Call) -> mcp_types.CallToolResult:
        if call.documents and call.tool in (tools := self.tools()):
            look = replace(call, args=dict(call.args))
            self.set_aside(look, tools[call.tool])
            call.documents = not self.faults(look, tools[call.tool])
        return await super().answer(call)


@breaks("MCP-053")
class WrapperWasRenamed(PlainTheatre):
    """Lists an earlier name of the member that holds what each one gets of the takings."""

    def listed(self, name: str, tool: Tool, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        if name == "split_takings":
            tool.meta["wrapped_in"] = "result"
        return super().listed(name, tool, declared=declared, handshake=handshake)


@breaks("MCP-044", "RSP-020", "MCP-020")
class AsideForTheModel(NegotiatedTheatre):
    """Writes what is for the person alone at the end of the text in a document, and sends it as a block as well."""

    def output_data(self, call: Call, answer: Answer) -> str:
        said = f"{answer.text}\n{answer.aside}" if answer.aside else answer.text
        return super().output_data(call, replace(answer, text=said))
