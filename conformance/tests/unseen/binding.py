"""Servers whose announcement or form of a result goes wrong (sections 6.1 and 6.2)."""

from __future__ import annotations

from typing import Any

import mcp_types

from unseen.desk import EXTENSION, Answer, Call, Failure, Json, Negotiated
from unseen.registry import breaks


@breaks("CNF-003")
class OneVersion(Negotiated):
    """In the handshake, `versions` is a string: that era's code was written when there was one version."""

    def announcement(self, *, handshake: bool) -> Json:
        said = super().announcement(handshake=handshake)
        return {EXTENSION: {**said[EXTENSION], "versions": "1.0"}} if handshake else said


@breaks("MCP-015")
class LooksInOnePlace(Negotiated):
    """Declarations are looked for under `extensions` only: a client of the handshake era, which has only
    `experimental`, gets plain results."""

    def declaration(self, capabilities: mcp_types.ClientCapabilities | None) -> Json:
        if capabilities is not None:
            capabilities = capabilities.model_copy(update={"experimental": None})
        return super().declaration(capabilities)


@breaks("MCP-015", "MCP-001")
class PlainFailures(Negotiated):
    """An unforeseen failure is answered by the outermost handler, which knows nothing of declarations: with a plain
    result."""

    def answer(self, call: Call) -> mcp_types.CallToolResult:
        outcome = self.outcome(call)
        if isinstance(outcome, Failure) and outcome.code == "INTERNAL":
            return self.plain(call, outcome)
        return super().answer(call)


@breaks("MCP-049")
class ParsedNumbers(Negotiated):
    """An adapter adds the number of a conversion as structured content that nobody promised, also for clients that
    did not declare the extension."""

    def data(self, call: Call, outcome: Answer | Failure) -> dict[str, Any] | None:
        if isinstance(outcome, Answer) and call.name == "convert":
            return {"result": outcome.text}
        return super().data(call, outcome)

    def metadata(self, name: str) -> Json | None:
        return {"wrapped_in": "result"} if name == "convert" else super().metadata(name)
