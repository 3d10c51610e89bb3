"""Harbour offices that get plain results wrong."""

from __future__ import annotations

import mcp_types as types
from unseen_eighth.kit import Answer, Call, Failure, Json

from unseen_fourteenth.harbour import NegotiatedHarbour, PlainHarbour
from unseen_fourteenth.registry import breaks


@breaks("MCP-020")
class BlocksOfParagraphs(NegotiatedHarbour):
    """Sends each line of the text that is not empty as a block of its own, so that empty lines are lost."""

    def text_blocks(self, call: Call, answer: Answer) -> list[types.TextContent]:
        lines = [one for one in self.plain_text(answer.text).split("\n") if one]
        return [self.block(one) for one in lines] or [self.block("")]


@breaks("MCP-025", "MCP-048")
class FilledOrShown(NegotiatedHarbour):
    """Forgets the member for the filled-in parameters in `_meta` where there is a display."""

    def plain_meta(self, call: Call, answer: Answer) -> Json:
        meta = super().plain_meta(call, answer)
        if "display" in meta:
            meta.pop("server_populated", None)
        return meta


@breaks("MCP-048")
class ShortensToBytes(PlainHarbour):
    """Cuts each value in the text about the filled-in parameters after 200 bytes, which are fewer characters."""

    def filled_value(self, value: object) -> str:
        return super().filled_value(value).encode()[:200].decode(errors="ignore")


@breaks("MCP-047")
class ShortensTheAlt(NegotiatedHarbour):
    """Sends the first 160 characters of an `alt` to the person."""

    def alt_blocks(self, display: Json, text: str) -> list[types.TextContent]:
        blocks = super().alt_blocks(display, text)
        return [self.block(one.text[:160], aside=True) for one in blocks]


@breaks("MCP-023", "MCP-020")
class TagsTheFailure(PlainHarbour):
    """Writes the element `error` of a document as the text of a failure that can be tried again."""

    def error_text(self, call: Call, failure: Failure) -> str:
        return self.error_element(call, failure) if failure.retryable else super().error_text(call, failure)


@breaks("DSP-025")
class NoWordWithJson(NegotiatedHarbour):
    """Says nothing about a display to a client that declared nothing where the text is JSON."""

    def hint(self, call: Call, answer: Answer) -> str:
        return "" if answer.media else super().hint(call, answer)
