"""Wrong in plain results."""

from __future__ import annotations

from typing import Any

import mcp_types

from unseen_seventh.bakery import NegotiatedBakery, PlainBakery, block
from unseen_seventh.kit import PREFIX, Goods, Json, Order, Refusal
from unseen_seventh.registry import breaks


@breaks("MCP-020")
class NoOutput(NegotiatedBakery):
    """Writes `(no output)` where the text of a plain result is empty; the document has the empty text."""

    def text_blocks(self, order: Order, outcome: Goods | Refusal) -> list[Any]:
        empty = isinstance(outcome, Goods) and not outcome.text
        return [block("(no output)")] if empty else super().text_blocks(order, outcome)


@breaks("MCP-021", "DSP-022")
class MetaOfTheBlock(PlainBakery):
    """Puts the display into the `_meta` of the text block that it belongs to, and not into that of the result."""

    def plain_blocks(self, order: Order, outcome: Goods | Refusal) -> list[Any]:
        [first, *rest] = super().plain_blocks(order, outcome)
        if isinstance(outcome, Goods) and outcome.display is not None:
            held = super().plain_meta(order, outcome)[f"{PREFIX}display"]
            first = mcp_types.TextContent(type="text", text=first.text, _meta={f"{PREFIX}display": held})
        return [first, *rest]

    def plain_meta(self, order: Order, outcome: Goods | Refusal) -> Json:
        meta = super().plain_meta(order, outcome)
        return {key: one for key, one in meta.items() if isinstance(outcome, Refusal) or key != f"{PREFIX}display"}


@breaks("MCP-022")
class RegisteredOnly(NegotiatedBakery):
    """Sends a failure in `_meta` where its code is a registered one; of a code of its own there is the text alone."""

    def plain_meta(self, order: Order, outcome: Goods | Refusal) -> Json:
        meta = super().plain_meta(order, outcome)
        own = isinstance(outcome, Refusal) and outcome.code.startswith("X_")
        return {key: one for key, one in meta.items() if not own or key != f"{PREFIX}error"}


@breaks("MCP-023", "MCP-020")
class MetaInTheText(PlainBakery):
    """Ends the text of a failure with its `meta` as JSON between the tags that a document has for it."""

    def text_blocks(self, order: Order, outcome: Goods | Refusal) -> list[Any]:
        [said] = super().text_blocks(order, outcome)
        if isinstance(outcome, Goods) or outcome.meta is None:
            return [said]
        return [block(f"{said.text}<meta>{self.json(outcome.meta)}</meta>")]


@breaks("MCP-047")
class FiveHundredBytes(PlainBakery):
    """Sends the first 500 bytes of the words for a display, and not 500 characters: less where it is not ASCII."""

    def alt(self, order: Order, display: Any) -> str:
        said = "" if display is None else str(display.get("alt", ""))
        return said.encode("utf-8", "replace")[:500].decode("utf-8", "ignore")


@breaks("MCP-048")
class ThousandsApart(NegotiatedBakery):
    """Writes a number that it filled in with commas between thousands, so the block has not the value as it is."""

    def filled_value(self, value: Any) -> str:
        return f"{value:,}" if isinstance(value, int) else super().filled_value(value)
