"""Wrong in plain results."""

from __future__ import annotations

from typing import Any

from unseen_eighth.kit import Answer, Call, Failure, Json
from unseen_eighth.observatory import block

from unseen_tenth.harbour import PlainHarbour
from unseen_tenth.registry import breaks


@breaks("MCP-020")
class WhatToDoFirst(PlainHarbour):
    """Begins the text of a failure that goes away by itself with what to do, in the place of its code."""

    def text_blocks(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        if isinstance(outcome, Failure) and outcome.retryable:
            return [block(f"Try it again: {self.legal(outcome.message)}")]
        return super().text_blocks(call, outcome)


@breaks("MCP-024")
class WaitIsNull(PlainHarbour):
    """Says null for the wait before a retry where nobody knows how long it is."""

    def plain_error(self, call: Call, failure: Failure) -> Json:
        said = super().plain_error(call, failure)
        return {**said, "retry_after_ms": failure.wait} if failure.retryable else said


@breaks("MCP-047")
class FirstOfTheWords(PlainHarbour):
    """Sends the first hundred and twenty letters of the words for a display to the person, as a status line has."""

    def alt(self, call: Call, display: Any) -> str:
        return super().alt(call, display)[:120]


@breaks("MCP-048")
class GroupedDigits(PlainHarbour):
    """Groups the digits of the numbers that it filled in, for whoever reads them in the block."""

    def filled_value(self, value: Any) -> str:
        return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else super().filled_value(value)
