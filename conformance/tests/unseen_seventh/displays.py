"""Wrong in what a display is, or in when it is sent."""

from __future__ import annotations

import json
from typing import Any

import anyio
import mcp_types

from unseen_seventh.bakery import Bakery, NegotiatedBakery, PlainBakery, block
from unseen_seventh.kit import Goods, Json, Order, Refusal, Ware
from unseen_seventh.registry import breaks


@breaks("DSP-001")
class TwoAtOnce(NegotiatedBakery):
    """Sends a list of two displays, in either form, where two panels of an oven are asked for, and not a group."""

    def understood(self, order: Order, display: Any) -> Any:
        said = super().understood(order, display)
        return said["payload"] if order.tool == "oven.panel" and "second" in order.args else said

    def alt(self, order: Order, display: Any) -> str:
        return "" if isinstance(display, list) else super().alt(order, display)


@breaks("DSP-003", "DSP-004")
class BareWeight(PlainBakery):
    """Shows a single weight as JSON whose payload is the number itself."""

    def served(self, order: Order, goods: Goods) -> Goods:
        if order.tool == "dough.weigh" and len(order.args["grams"]) == 1:
            goods.display = {"type": "json", "title": "Weight", "payload": order.args["grams"][0]}
        return goods


@breaks("DSP-004")
class EveryNote(Bakery):
    """Shows each note about an oven, however many: more than thirty-two are too many for a group."""

    def served(self, order: Order, goods: Goods) -> Goods:
        if order.tool == "oven.panel" and goods.display["type"] == "group" and "second" not in order.args:
            goods.display["payload"] = [{"type": "text", "payload": one} for one in order.args.get("also", [])]
        return goods


@breaks("DSP-005")
class ShelfIsTheId(NegotiatedBakery):
    """Takes the name of the shelf as the id of a recipe's display, also where that name is empty."""

    def served(self, order: Order, goods: Goods) -> Goods:
        if order.tool == "recipe.card" and "shelf" in order.args:
            goods.display["id"] = order.args["shelf"]
        return goods


@breaks("DSP-006")
class DashForSlash(PlainBakery):
    """Adds a member `bakery-theme` to the `meta` of the fallbacks that it makes for clients which list their types."""

    def fallback(self, order: Order, display: Any) -> Json:
        return {**super().fallback(order, display), "meta": {"bakery-theme": "warm"}}


@breaks("DSP-012")
class AltOfThePeak(Bakery):
    """Describes a chart by its peak, and leaves the `alt` out where there are no readings."""

    def served(self, order: Order, goods: Goods) -> Goods:
        if order.tool == "oven.curve" and not order.args["degrees"]:
            del goods.display["alt"]
        return goods


@breaks("DSP-014")
class LoafMarks(NegotiatedBakery):
    """Draws readings as pictures of a loaf, with the mark `image` in a layer, where the mark `loaf` is asked for."""

    def served(self, order: Order, goods: Goods) -> Goods:
        if order.tool == "oven.curve" and order.args.get("mark") == "loaf":
            chart = goods.display["payload"]
            chart["layer"] = [{"mark": chart.pop("mark")}, {"mark": {"type": "image", "width": 12, "height": 8}}]
        return goods


@breaks("DSP-020")
class RequiredByAllOf(Bakery):
    """Inherits a form for shops by `allOf` in the schema of the price list, which requires `show_user`."""

    def wares(self) -> dict[str, Ware]:
        wares = super().wares()
        wares["shop.prices"].takes["allOf"] = [{"type": "object", "required": ["show_user"]}]
        return wares


@breaks("DSP-021")
class QueueForAll(PlainBakery):
    """Shows the notification about a queue to everybody who fails because of it, whether asked for or not."""

    def keeps(self, order: Order, display: Any) -> bool:
        return super().keeps(order, display) or (display is not None and display["type"] == "notification")

    def served(self, order: Order, goods: Goods) -> Goods:
        goods.display = goods.display if order.wanted else None
        return goods


@breaks("DSP-022")
class OneArtist(Bakery):
    """Draws one display at a time, and leaves out that of a call which comes while another one is drawn."""

    drawing = False

    async def outcome(self, order: Order) -> Goods | Refusal:
        if order.args.get("show_user") is not True:
            return await super().outcome(order)
        free, self.drawing = not self.drawing, True
        try:
            await anyio.sleep(0.03)
            outcome = await super().outcome(order)
        finally:
            self.drawing = self.drawing and not free
        if isinstance(outcome, Goods) and not free:
            outcome.display = None
        return outcome


@breaks("DSP-024", "MCP-020")
class NullIsAHint(PlainBakery):
    """Tells a client that it perhaps cannot show a display where `show_user` is null and no display is sent."""

    def set_aside(self, order: Order, ware: Ware) -> None:
        unset = ware.meta.get("display") and order.args.get("show_user", "") is None
        super().set_aside(order, ware)
        order.filled |= {"unset": True} if unset and not ware.meta.get("server_populated") else {}

    def hint(self, order: Order, goods: Goods) -> str:
        if order.filled.get("unset") and not order.client:
            return super().hint(order, Goods("", display={}))
        return super().hint(order, goods)


@breaks("DSP-025")
class HintForThePerson(PlainBakery):
    """Says that a client perhaps cannot show a display in a block for the person alone, and not to the model."""

    def hint(self, order: Order, goods: Goods) -> str:
        return ""

    def more_blocks(self, order: Order, outcome: Goods | Refusal) -> list[Any]:
        said = super().hint(order, outcome).strip() if isinstance(outcome, Goods) else ""
        more: list[mcp_types.TextContent] = [block(said, "user")] if said else []
        return [*super().more_blocks(order, outcome), *more]


@breaks("DSP-043")
class ReferenceAsFallback(Bakery):
    """Gives a reference as the fallback of a type that is not among those which the client listed."""

    def fallback(self, order: Order, display: Any) -> Json:
        size = len(json.dumps(display, ensure_ascii=False).encode("utf-8", "replace"))
        return {"type": "x-xmcp-reference", "payload": {"type": display["type"], "bytes": size}}
