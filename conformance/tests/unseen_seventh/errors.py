"""Wrong in how a failure is told."""

from __future__ import annotations

import traceback
from typing import Any

from unseen_seventh.bakery import Bakery, NegotiatedBakery, PlainBakery
from unseen_seventh.kit import Goods, Json, Order, Refusal, Ware
from unseen_seventh.registry import breaks


@breaks("ERR-005")
class ZeroForNever(PlainBakery):
    """Says a wait of 0 with its own codes, which are not retryable, since a column of the log cannot be empty."""

    def plain_error(self, order: Order, refusal: Refusal) -> Json:
        said = super().plain_error(order, refusal)
        return {**said, "retry_after_ms": 0} if refusal.code.startswith("X_BAKERY_") else said


@breaks("ERR-006", "MCP-024")
class WordsOfTheException(NegotiatedBakery):
    """Takes the words of an exception as the message; that of an empty table, `StopIteration`, has none."""

    def surprise(self, order: Order, error: Exception) -> Refusal:
        refusal = super().surprise(order, error)
        refusal.message = str(error)
        return refusal


@breaks("ERR-010")
class StrangerIsAMistake(Bakery):
    """Gives the answer about a tool that is not there the category `invalid_input`, beside `UNKNOWN_TOOL`."""

    def stranger(self, order: Order) -> Goods:
        try:
            return super().stranger(order)
        except Refusal as refusal:
            refusal.category = "invalid_input"
            raise


@breaks("ERR-020")
class FractionsAreCut(NegotiatedBakery):
    """Makes whole numbers of all numbers that are to be whole before it checks them, so 2.5 pieces are 2."""

    def set_aside(self, order: Order, ware: Ware) -> None:
        super().set_aside(order, ware)
        for name, one in order.args.items():
            if isinstance(one, float) and ware.takes["properties"].get(name, {}).get("type") == "integer":
                order.args[name] = int(one)


@breaks("ERR-021")
class PlaceInTheSchema(PlainBakery):
    """Names an item of a list that does not fit by the place of its schema, such as `/grams/items`."""

    def named(self, order: Order, path: list[str | int], why: str) -> Json:
        return super().named(order, ["items" if isinstance(step, int) else step for step in path], why)


@breaks("ERR-022")
class DidYouMean(Bakery):
    """Answers a call of a tool that is not there with a text that lists the others, and no error, after a handshake."""

    def stranger(self, order: Order) -> Goods:
        if order.handshake and order.tool:
            return Goods(f"Did you mean one of these? {', '.join(self.wares())}")
        return super().stranger(order)


@breaks("ERR-031", "ERR-032")
class LinesOfTheCause(NegotiatedBakery):
    """Lists the lines of the stack trace in the `cause` of a failure that nobody foresaw."""

    def surprise(self, order: Order, error: Exception) -> Refusal:
        refusal = super().surprise(order, error)
        lines = "".join(traceback.format_exception(error)).splitlines()
        cause: Json = {"code": "INTERNAL", "lines": lines}
        refusal.meta = {**(refusal.meta or {}), "cause": cause}
        return refusal


@breaks("ERR-032")
class SchemaOnDisk(PlainBakery):
    """Says of an argument that does not fit in which file of the server its schema is."""

    def named(self, order: Order, path: list[str | int], why: str) -> Json:
        said: dict[str, Any] = super().named(order, path, why)
        file = f"/srv/bakery/releases/current/schemas/{order.tool}.json"
        return {**said, "message": f"{why}, says {file}"}
