"""Servers that are wrong in how they speak MCP: sections 6.1 and 6.2."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mcp_types

from unseen_second.clinic import (
    EXTENSION,
    PREFIX,
    Bad,
    Clinic,
    Good,
    Json,
    NegotiatedClinic,
    Outcome,
    Tool,
    Visit,
    changed,
)
from unseen_second.registry import breaks


@breaks("CNF-003")
class OneVersionIsNoList(NegotiatedClinic):
    """The announcement of the handshake era is written by older code, from the time of a single version."""

    def announcement(self, *, handshake: bool) -> Json:
        return {EXTENSION: {"versions": "1.0" if handshake else ["1.0"], "wire": self.wire}}


@breaks("MCP-014")
class CountsCharacters(Clinic):
    """The size of an answer is counted in characters, which is less than its bytes where it is not ASCII."""

    def exceeds(self, visit: Visit, document: str) -> bool:
        most: Any = max(visit.declaration.get("maxBytes", 8388608), 4096)
        return bool(len(document) > most)


@breaks("MCP-051")
class LargeErrorsAreTooLarge(Clinic):
    """The guard for large answers does not look at what they are: a failure with a long message becomes the failure of
    being too large."""

    def fitted(self, visit: Visit, outcome: Outcome) -> tuple[str, Outcome]:
        document, fitted = super().fitted(visit, outcome)
        if not isinstance(outcome, Bad) or fitted is outcome:
            return document, fitted
        bad = Bad("RESULT_TOO_LARGE", "The answer is larger than your application accepts.")
        return self.document(visit, bad), bad


@breaks("MCP-015")
class SmallClientsArePlain(NegotiatedClinic):
    """A client that names the size of what it accepts is taken for a small device, which gets no documents."""

    def sends_documents(self, declaration: Json) -> bool:
        return super().sends_documents(declaration) and "maxBytes" not in declaration


@breaks("MCP-053")
class WrapperLeftOutWhereItIsNeeded(NegotiatedClinic):
    """The flag for clients that declared the extension is the wrong way round where the wrapped value is listed."""

    def listed(self, name: str, tool: Tool, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        if declared and name == "find_patients":
            tool = changed({name: tool}, name, wrapped_in=None)[name]
        return super().listed(name, tool, declared=declared, handshake=handshake)


@breaks("MCP-049")
class TextAsDataInTheHandshake(NegotiatedClinic):
    """For clients of the handshake era an adapter wraps each text into `structuredContent`, as its framework does."""

    def data(self, visit: Visit, outcome: Outcome) -> Json | None:
        data = super().data(visit, outcome)
        if data is not None or isinstance(outcome, Bad) or not visit.handshake:
            return data
        return {"result": self.legal(outcome.text)}


@breaks("MCP-004")
class ErrorsAsDataWhereDataIsPromised(Clinic):
    """Tools with an output schema always send `structuredContent`: for arguments that do not fit, the error."""

    def data(self, visit: Visit, outcome: Outcome) -> Json | None:
        tool = self.tools().get(visit.tool)
        if isinstance(outcome, Bad) and outcome.code == "VALIDATION_FAIL" and tool is not None and tool.gives:
            return {"error": {"code": outcome.code, "message": outcome.message}}
        return super().data(visit, outcome)


@breaks("MCP-044", "RSP-020")
class AsideIsReadAloud(NegotiatedClinic):
    """The texts of a result are joined for the document, also the one that was for the person alone."""

    def model_text(self, visit: Visit, good: Good) -> str:
        return super().model_text(visit, replace(good, text=f"{good.text}\n{good.aside}") if good.aside else good)


@breaks("MCP-023", "MCP-015", "MCP-042")
class CacheSharedByBothForms(NegotiatedClinic):
    """The cache of the laboratory has whole results, under the arguments alone: whoever asks second gets the form of
    whoever asked first."""

    def __init__(self) -> None:
        super().__init__()
        self.results: dict[str, mcp_types.CallToolResult] = {}

    def reply(self, visit: Visit, outcome: Outcome) -> mcp_types.CallToolResult:
        if visit.tool != "lab_queue" or isinstance(outcome, Bad):
            return super().reply(visit, outcome)
        key = f"{PREFIX}{visit.args}"
        return self.results.setdefault(key, super().reply(visit, outcome))
