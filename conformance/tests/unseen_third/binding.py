"""Servers that are wrong in how they speak MCP: sections 6.1 and 6.2."""

from __future__ import annotations

from typing import Any

import mcp_types

from unseen_third.common import PREFIX, Answer, Block, Call, Fault, Json, block
from unseen_third.registry import breaks
from unseen_third.yard import LoudYard, Yard


@breaks("MCP-005")
class WireIsNewerThanTheHandshake(Yard):
    """The member `wire` was added to the announcement of the stateless era, and forgotten in the other."""

    def announcement(self, *, handshake: bool) -> Json:
        said = super().announcement(handshake=handshake)
        return {name: item for name, item in said.items() if name != "wire" or not handshake}


@breaks("MCP-051")
class ContextIsTooLarge(Yard):
    """Of the two codes of the registry for what is too large, the developer took the other one."""

    def smaller(self, call: Call, fault: Fault | None) -> Fault:
        smaller = super().smaller(call, fault)
        return Fault("CONTEXT_TOO_LARGE", smaller.message) if fault is None else smaller


@breaks("MCP-015")
class ExactlyOneVersion(Yard):
    """What a client declares is compared with the list of the yard's own versions, so that a client which reads later
    ones as well counts as one that declared nothing."""

    def speaks(self, versions: list[Any]) -> bool:
        return versions == ["1.0"]


@breaks("MCP-042")
class FailuresHaveNoForm(Yard):
    """The results of failures are made by another function, which marks them with the version alone."""

    def result(self, call: Call, answer: Answer) -> mcp_types.CallToolResult:
        result = super().result(call, answer)
        if answer.fault is None or result.meta is None:
            return result
        return result.model_copy(update={"meta": {**result.meta, f"{PREFIX}result": {"version": "1.0"}}})


@breaks("MCP-001", "RSP-001")
class BlocksOfFourThousand(LoudYard):
    """Long texts are sent in blocks of four thousand characters, and a document is a text."""

    def document_blocks(self, call: Call, answer: Answer, document: str) -> list[Block]:
        first, *others = super().document_blocks(call, answer, document)
        pieces = [document[at : at + 4000] for at in range(0, len(document), 4000)]
        return [*map(block, pieces), *others] if len(pieces) > 1 else [first, *others]


@breaks("MCP-002")
class TheCallItselfWorked(LoudYard):
    """Refused arguments are an answer and no failure of the server, so that `isError` stays false."""

    def failed(self, call: Call, answer: Answer) -> bool:
        return super().failed(call, answer) and answer.fault is not None and answer.fault.code != "VALIDATION_FAIL"
