"""Odd, but right."""

from __future__ import annotations

import html
from typing import Any

import mcp_types

from unseen_seventh.bakery import Bakery, NegotiatedBakery, PlainBakery, block
from unseen_seventh.counter import LONGEST
from unseen_seventh.kit import Goods, Json, Order, Refusal, Ware, many, takes, words
from unseen_seventh.registry import permitted


@permitted
class AtBakerStreet(NegotiatedBakery):
    """Has messages that look like a stack trace, an address and a password, and are about a van and a door."""

    async def outcome(self, order: Order) -> Goods | Refusal:
        outcome = await super().outcome(order)
        if isinstance(outcome, Refusal) and outcome.code.startswith("X_"):
            outcome.message = (
                "The van is at Baker Street (stop 12:7), file no. 9, line 3, in the queue; "
                "ask for rye@counter: the password of the day opens the door, and/or ring twice."
            )
        return outcome


@permitted
class StrangeNames(Bakery):
    """Has a tool whose parameters have names that are empty, or have slashes and tildes, or those of JSON Schema."""

    def wares(self) -> dict[str, Ware]:
        def run(order: Order) -> Goods:
            return Goods("; ".join(f"[{name}] {one}" for name, one in order.args.items()) or "Nothing was said.")

        names = ("", "a/b", "m~n", "dough type", "grüße", "__proto__", "$ref", "properties", "tool_name")
        schema = takes("", **{name: words(60) for name in names}, number={"type": "integer", "minimum": 0})
        schema["required"] = ["a/b"]
        return {**super().wares(), "Odd-Names_9": Ware("Take whatever has a strange name.", schema, run)}


@permitted
class LawyersSchema(PlainBakery):
    """Has a tool whose schema uses anchors, conditions, `contains`, `unevaluatedProperties`, and one that is true."""

    def wares(self) -> dict[str, Ware]:
        def run(order: Order) -> Goods:
            return Goods(f"A contract of {order.args['kind']} with {len(order.args.get('clauses', []))} clauses.")

        clauses = {"type": "array", "maxItems": 9, "items": {"$ref": "#word"}, "contains": {"minLength": 3}}
        schema: Json = {
            "type": "object",
            "$defs": {"word": {"$anchor": "word", "type": "string", "maxLength": 30}},
            "properties": {"kind": {"enum": ["lease", "sale"]}, "clauses": {**clauses, "minContains": 1}, "note": True},
            "required": ["kind"],
            "if": {"properties": {"kind": {"const": "sale"}}},
            "then": {"properties": {"price": {"type": "number", "exclusiveMinimum": 0}}, "required": ["price"]},
            "examples": [{"kind": "sale", "price": 9.5}, {"kind": "lease", "clauses": ["all"]}],
            "unevaluatedProperties": False,
        }
        return {**super().wares(), "shop.contract": Ware("Draft a contract.", schema, run)}


@permitted
class WaitsForever(NegotiatedBakery):
    """Says with a failure that goes away by itself that one has to wait as long as can be said."""

    async def outcome(self, order: Order) -> Goods | Refusal:
        outcome = await super().outcome(order)
        if isinstance(outcome, Refusal) and outcome.retryable:
            outcome.wait = 2**53 - 1
        return outcome


@permitted
class LongestCode(Bakery):
    """Has codes and categories of its own that are as long as they can be, retryable ones among them."""

    async def outcome(self, order: Order) -> Goods | Refusal:
        outcome = await super().outcome(order)
        if isinstance(outcome, Refusal) and outcome.code.startswith("X_BAKERY"):
            outcome.code = outcome.code.ljust(63, "Z")
            outcome.category = "the_oven_and_everything_that_is_hot_".ljust(63, "9")
            outcome.retryable, outcome.wait = True, None
        return outcome


@permitted
class NothingIsSaidOfTools(NegotiatedBakery):
    """Lists tools without annotations, so that none is known to be read-only, and none without it is cacheable."""

    def wares(self) -> dict[str, Ware]:
        wares = super().wares()
        for ware in wares.values():
            ware.meta.pop("cacheable", None)
        return wares

    def annotations(self, ware: Ware) -> mcp_types.ToolAnnotations | None:
        return None


@permitted
class PersonFirst(PlainBakery):
    """Sends what is for the person, and what it filled in, before the text for the model."""

    def plain_blocks(self, order: Order, outcome: Goods | Refusal) -> list[Any]:
        return [*self.more_blocks(order, outcome), *self.text_blocks(order, outcome)]


@permitted
class FailureInTwoBlocks(NegotiatedBakery):
    """Sends the message of a failure in one block and its code, in brackets, in the next one."""

    def text_blocks(self, order: Order, outcome: Goods | Refusal) -> list[Any]:
        if isinstance(outcome, Refusal):
            return [block(self.legal(outcome.message)), block(f"[{outcome.code}]")]
        return super().text_blocks(order, outcome)


@permitted
class AltInThePicture(PlainBakery):
    """Has the words for a picture in its payload, where an image can have them, and none on the envelope."""

    def served(self, order: Order, goods: Goods) -> Goods:
        if order.tool == "cake.picture":
            goods.display["payload"]["alt"] = goods.display.pop("alt")
        return goods


@permitted
class NullInTheWrapper(Bakery):
    """Wraps the value null, which stands for no bread at all, as it wraps a list of breads."""

    def wares(self) -> dict[str, Ware]:
        wares = super().wares()
        wares["shop.breads"].gives = takes("result", result={"type": ["array", "null"], "items": {"type": "string"}})
        return wares

    def served(self, order: Order, goods: Goods) -> Goods:
        none = order.tool == "shop.breads" and order.args.get("grain") == "spelt"
        return Goods("null", data={"result": None}) if none else goods


@permitted
class NanIsAnAnswer(NegotiatedBakery):
    """Has a tool whose whole answer is a number, and `NaN` where there is nothing to take the mean of."""

    def wares(self) -> dict[str, Ware]:
        def run(order: Order) -> Goods:
            heats = order.args["heats"]
            return Goods(f"{sum(heats) / len(heats):.3f}" if heats else "NaN")

        schema = takes("heats", heats=many({"type": "number", "minimum": -50, "maximum": 400}, 40))
        return {**super().wares(), "oven.mean": Ware("Return the mean.", schema, run)}


@permitted
class DocumentsAsDisplays(NegotiatedBakery):
    """Shows recipes inside of a document, as the source of one, under the title `</display>`."""

    def served(self, order: Order, goods: Goods) -> Goods:
        if order.tool == "recipe.card":
            source = f'<tool_response tool_name="x"><llm_output>{goods.text}</llm_output><display>{{}}]]></display>'
            goods.display |= {"type": "html", "title": "</display>", "payload": source}
        return goods


@permitted
class EmptyFirstPage(PlainBakery):
    """Lists nothing on the first page of the list of tools, and then seven tools on each page."""

    def page(self, params: Any, tools: list[mcp_types.Tool]) -> mcp_types.ListToolsResult:
        cursor = getattr(params, "cursor", None)
        if cursor is None:
            return mcp_types.ListToolsResult(tools=[], next_cursor="shelf 0")
        start = int(cursor.removeprefix("shelf "))
        more = f"shelf {start + 7}" if start + 7 < len(tools) else None
        return mcp_types.ListToolsResult(tools=tools[start : start + 7], next_cursor=more)


@permitted
class EscapesForTheWeb(NegotiatedBakery):
    """Returns recipes for web pages as HTML, so that their texts have `&amp;` and `&#13;`, which is what they say."""

    def served(self, order: Order, goods: Goods) -> Goods:
        if order.tool == "recipe.card" and order.args.get("form") == "html":
            goods.text = html.escape(goods.text).replace("\r", "&#13;")
            goods.display["payload"] = goods.text
        return goods


@permitted
class WindowsLines(Bakery):
    """Ends each line of its texts, the last one too, with a carriage return and a line feed."""

    def served(self, order: Order, goods: Goods) -> Goods:
        if not goods.media:
            goods.text = goods.text.replace("\n", "\r\n") + "\r\n"
        return goods


@permitted
class RoomAroundTexts(NegotiatedBakery):
    """Has white space before and behind each text, with lines that have nothing else, as its printer needs it."""

    def served(self, order: Order, goods: Goods) -> Goods:
        if not goods.media:
            goods.text = f"\n \n   {goods.text}\t \n\n"
        return goods


@permitted
class LongValues(PlainBakery):
    """Fills in a long text beyond the first plane, an object and null, and says the first 200 characters of each."""

    def set_aside(self, order: Order, ware: Ware) -> None:
        super().set_aside(order, ware)
        if order.filled:
            shop = {"name": "Crust", "floors": [0, 1, None], "opens": {"mon": 6.5}, "note": "ü" * 240}
            order.filled |= {"customer_id": "k-" + "\U0001f950" * 300, "shop": shop, "credit_cents": None}

    def filled_value(self, value: Any) -> str:
        return super().filled_value(value)[:200]


@permitted
class OtherNames(Bakery):
    """Has the alias of a registered code, ids of failures with 128 characters, and a reason for none of the fields."""

    async def outcome(self, order: Order) -> Goods | Refusal:
        outcome = await super().outcome(order)
        if isinstance(outcome, Refusal) and outcome.code == "RATE_LIMIT":
            outcome.code = "RATE_LIMITED"
        return outcome

    def surprise(self, order: Order, error: Exception) -> Refusal:
        refusal = super().surprise(order, error)
        number = str((refusal.meta or {})["error_id"]).ljust(128, "-")
        self.book.append(number)
        refusal.meta = {"error_id": number}
        return refusal

    def named(self, order: Order, path: list[str | int], why: str) -> Json:
        return {"pointer": self.pointer(path), "message": why, "depth": len(path)}


@permitted
class NothingExplicitly(PlainBakery):
    """Says of each tool in its metadata what holds without it: no display, no dependencies, nothing filled in."""

    def wares(self) -> dict[str, Ware]:
        wares = super().wares()
        none: Json = {"display": False, "depends_on": [], "server_populated": [], "cacheable": False}
        for ware in wares.values():
            ware.meta = {**none, **ware.meta}
        return wares


@permitted
class DataForEverything(NegotiatedBakery):
    """Promises structured content for each tool by an output schema, and sends its text as data to every client."""

    def wares(self) -> dict[str, Ware]:
        wares = super().wares()
        for ware in wares.values():
            ware.gives = ware.gives or takes("said", said={"type": "string", "maxLength": 4 * LONGEST})
        return wares

    def served(self, order: Order, goods: Goods) -> Goods:
        goods.data = goods.data or {"said": goods.text}
        return goods
