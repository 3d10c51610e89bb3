"""Wrong in plain results."""

from __future__ import annotations

from typing import Any

from unseen_eighth.kit import Answer, Call, Failure
from unseen_eighth.observatory import block

from unseen_ninth.registry import breaks
from unseen_ninth.workshop import NegotiatedWorkshop, PlainWorkshop


@breaks("MCP-020", "RSP-020")
class BlocksOfAThousand(NegotiatedWorkshop):
    """Sends a long plain text in blocks of a thousand characters, which have a line feed more when they are joined."""

    def text_blocks(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        [first] = super().text_blocks(call, outcome)
        if isinstance(outcome, Failure):
            return [first]
        return [block(first.text[at : at + 1000]) for at in range(0, max(len(first.text), 1), 1000)]


@breaks("MCP-023")
class TagForRetries(PlainWorkshop):
    """Puts the text of a failure that goes away by itself into the tag of an error, which its model had learnt."""

    def text_blocks(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        blocks = super().text_blocks(call, outcome)
        if isinstance(outcome, Failure) and outcome.retryable:
            said = f'<error code="{outcome.code}" retryable="true">{self.data(self.legal(outcome.message))}</error>'
            return [block(said)]
        return blocks


@breaks("MCP-048")
class FirstHundred(PlainWorkshop):
    """Names a value that it filled in by its first hundred characters, so that the block stays on the screen."""

    def filled_value(self, value: Any) -> str:
        said = super().filled_value(value)
        return said if len(said) <= 100 else said[:100] + "…"
