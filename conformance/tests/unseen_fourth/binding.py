"""Servers that are wrong in how they speak MCP: sections 6.1 and 6.2."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unseen_fourth.airport import Airport, NegotiatedAirport
from unseen_fourth.registry import breaks
from unseen_fourth.routes import Answer, Call, Failure, Json, Outcome


@breaks("MCP-014")
class SizeBeforeEscaping(Airport):
    """The size of an answer is that of its text and its display, before they are escaped."""

    def fits(self, call: Call, outcome: Outcome, document: str) -> bool:
        if isinstance(outcome, Failure):
            return super().fits(call, outcome, document)
        show = "" if outcome.show is None else self.json_text(self.clean(outcome.show))
        return len(self.legal(outcome.text).encode()) + len(show.encode()) <= self.largest(call) - 200


@breaks("MCP-051")
class CutInsteadOfRefused(NegotiatedAirport):
    """For a client that takes less, the text is cut and marked, and the display left out; an error was asked
    for."""

    def too_large(self, call: Call, answer: Answer) -> Outcome:
        return replace(answer, text=answer.text[:400], show=None)

    def llm_output(self, call: Call, answer: Answer) -> str:
        written = super().llm_output(call, answer)
        cut = len(answer.text) == 400 and "maxBytes" in call.declaration
        return written.replace("<llm_output", '<llm_output truncated="true"', 1) if cut else written


@breaks("MCP-015")
class FirstVersionOnly(NegotiatedAirport):
    """Of the versions that a client reads, the server looks at the first one; clients that read the next version, too,
    name that one first."""

    def speaks(self, versions: Any) -> bool:
        return super().speaks(versions[:1] if isinstance(versions, list) else versions)


@breaks("MCP-042")
class RefusedBeforeTheMark(NegotiatedAirport):
    """The mark is put on results by the inner layers, and calls that the validator refused never get there."""

    def marked(self, call: Call, outcome: Outcome, mark: Json) -> Json:
        refused = isinstance(outcome, Failure) and outcome.code == "VALIDATION_FAIL"
        return {} if refused else super().marked(call, outcome, mark)


@breaks("MCP-004")
class PooledResults(Airport):
    """Results come from a pool, one for each tool, and are not cleared: a call that fails has the data of the call
    before it."""

    def __init__(self) -> None:
        super().__init__()
        self.pool: dict[str, Json] = {}

    def data(self, call: Call, outcome: Outcome) -> Json | None:
        data = super().data(call, outcome)
        if data is not None:
            self.pool[call.tool] = data
        return self.pool.get(call.tool)
