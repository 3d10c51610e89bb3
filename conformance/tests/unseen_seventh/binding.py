"""Wrong in what the bakery says of itself, or in how a document is sent."""

from __future__ import annotations

import mcp_types

from unseen_seventh.bakery import EXTENSION, Bakery, NegotiatedBakery, PlainBakery
from unseen_seventh.kit import PREFIX, Goods, Json, Order, Refusal, whole
from unseen_seventh.registry import breaks


@breaks("CNF-002")
class StillExperimental(NegotiatedBakery):
    """Announces the extension under `experimental` in the stateless era, too, and nowhere else."""

    def announced(self, *, handshake: bool) -> Json:
        return {"experimental": {EXTENSION: self.announcement(handshake=handshake)}}


@breaks("CNF-003", "MCP-042")
class AheadOfItself(Bakery):
    """Announces version 1.1 alone in the handshake, while its documents and the mark of its results say 1.0."""

    def announcement(self, *, handshake: bool) -> Json:
        return {**super().announcement(handshake=handshake), "versions": ["1.1"] if handshake else ["1.0"]}


@breaks("MCP-001")
class LongOnesAttached(Bakery):
    """Sends documents of more than four thousand bytes as an embedded resource in the place of a text."""

    def first_block(self, order: Order, written: str) -> mcp_types.TextContent | mcp_types.EmbeddedResource:
        if self.size(written) <= 4000:
            return mcp_types.TextContent(type="text", text=written)
        media = "application/vnd.xmcp.tool-response+xml"
        held = mcp_types.TextResourceContents(uri="bakery://answers/last", mime_type=media, text=written)
        return mcp_types.EmbeddedResource(type="resource", resource=held)


@breaks("MCP-002")
class CutIsAFailure(NegotiatedBakery):
    """Sets `isError` with the text of a recipe that was cut, since it is not the whole answer."""

    def failed(self, order: Order, outcome: Goods | Refusal) -> bool:
        cut = isinstance(outcome, Goods) and outcome.cut and order.documents
        return cut or super().failed(order, outcome)


@breaks("MCP-004")
class NumberAsData(Bakery):
    """Repeats the number of a failure that nobody foresaw as structured content, for a board of the operators."""

    def structured(self, order: Order, outcome: Goods | Refusal) -> Json | None:
        if isinstance(outcome, Refusal) and outcome.code == "INTERNAL":
            return {"error_id": (outcome.meta or {})["error_id"]}
        said: Json | None = super().structured(order, outcome)
        return said


@breaks("MCP-014")
class WholePages(NegotiatedBakery):
    """Rounds what a client accepts up to whole pages of eight kilobytes before it compares the size of a document."""

    def room(self, order: Order) -> int:
        return -(-super().room(order) // 8192) * 8192


@breaks("MCP-051", "MCP-015")
class PlainWhereTooLarge(NegotiatedBakery):
    """Sends a plain result, which has no limit, where the document of a successful call is too large for the client."""

    def as_document(self, order: Order, outcome: Goods | Refusal) -> mcp_types.CallToolResult:
        if isinstance(outcome, Goods) and self.size(self.document(order, outcome)) > self.room(order):
            return self.as_plain(order, outcome)
        return super().as_document(order, outcome)


@breaks("MCP-042")
class FormOfFailures(PlainBakery):
    """Says the form `document` with failures, whose mark is a constant of the older code, in plain results."""

    def plain_meta(self, order: Order, outcome: Goods | Refusal) -> Json:
        meta = super().plain_meta(order, outcome)
        if isinstance(outcome, Refusal):
            meta[f"{PREFIX}result"] = {"version": "1.0", "form": "document"}
        return meta


@breaks("MCP-044", "RSP-020")
class BothInOneText(NegotiatedBakery):
    """Joins what is for the person alone to the text for the model in documents; plain results keep them apart."""

    def output_data(self, order: Order, goods: Goods) -> str:
        aside = self.data(whole(goods.aside))
        return super().output_data(order, goods) + (f"\n{aside}" if aside else "")
