"""Wrong in plain results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mcp_types
from unseen_eighth.kit import PREFIX, Answer, Call, Failure, Json, whole
from unseen_eighth.observatory import block

from unseen_twelfth.registry import breaks
from unseen_twelfth.theatre import NegotiatedTheatre, PlainTheatre


@breaks("MCP-020", "RSP-020")
class BlockPerParagraph(NegotiatedTheatre):
    """Sends each paragraph of a plain text as a block of its own, without the empty lines between them."""

    def text_blocks(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        blocks = super().text_blocks(call, outcome)
        return blocks if isinstance(outcome, Failure) else [block(one) for one in blocks[0].text.split("\n\n")]


@breaks("MCP-021", "DSP-022")
class OneOrTheOther(PlainTheatre):
    """Sends what it filled in in the place of a display, where there are both: the one map replaces the other."""

    def plain_meta(self, call: Call, outcome: Answer | Failure) -> Json:
        meta = super().plain_meta(call, outcome)
        if f"{PREFIX}server_populated" in meta:
            meta.pop(f"{PREFIX}display", None)
        return meta


@breaks("MCP-022")
class RouterKnowsNoMeta(PlainTheatre):
    """Answers the call of a tool that is not there as MCP has it, with a text and `isError` alone."""

    def plain_meta(self, call: Call, outcome: Answer | Failure) -> Json:
        meta = super().plain_meta(call, outcome)
        if isinstance(outcome, Failure) and outcome.code == "UNKNOWN_TOOL":
            del meta[f"{PREFIX}error"]
        return meta


@breaks("MCP-024")
class OmitsWhatIsFalse(NegotiatedTheatre):
    """Leaves `retryable` out of an error where it is false, since its struct says `omitempty`."""

    def plain_error(self, call: Call, failure: Failure) -> Json:
        said = super().plain_error(call, failure)
        return {name: one for name, one in said.items() if one is not False}


@breaks("MCP-048")
class OnlyWhatCanBeTold(PlainTheatre):
    """Names in the text about what it filled in only the parameters whose values it discloses."""

    def filled_block(self, call: Call, filled: Json) -> mcp_types.TextContent:
        return super().filled_block(call, {**filled, "redacted": []})


@breaks("MCP-020", "MCP-047")
class WordsForBoth(NegotiatedTheatre):
    """Sends the words of a picture as a block for the person and for the model."""

    def more_blocks(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        if outcome.display is None or outcome.display["type"] != "image":
            return super().more_blocks(call, outcome)
        others = super().more_blocks(call, replace(outcome, display=None) if isinstance(outcome, Answer) else outcome)
        return [*others, block(whole(self.alt(call, outcome.display)), "user", "assistant")]
