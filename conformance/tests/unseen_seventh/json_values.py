"""Wrong in how JSON is written, or in what the JSON about filled-in parameters says."""

from __future__ import annotations

import json
from typing import Any

from unseen_seventh.bakery import Bakery, NegotiatedBakery, PlainBakery
from unseen_seventh.kit import Json, Order
from unseen_seventh.registry import breaks


@breaks("RSP-040")
class CommaTakenBack(Bakery):
    """Writes a comma after each row of a price list and takes the last sign back, which is `[` where no row is."""

    def shown(self, order: Order, display: Any) -> str:
        if order.tool != "shop.prices" or not isinstance(display["payload"], list):
            return super().shown(order, display)
        rows = "[" + "".join(f"{self.json(row)}," for row in display["payload"])
        written = self.json({**display, "payload": "-"})
        return self.element("display", {}, written.replace('"payload":"-"', f'"payload":{rows[:-1]}]'))


@breaks("RSP-041")
class BothValues(NegotiatedBakery):
    """Writes the values that were filled in behind those that the caller sent for them: each name is there twice."""

    def populated(self, order: Order, filled: Json) -> str:
        pairs = [*order.forged.items(), *order.filled.items()]
        said = ",".join(f"{self.json(name)}:{self.json(one)}" for name, one in pairs if name in filled["values"])
        written = self.json({**filled, "values": "-"})
        return self.element("server_populated", {}, written.replace('"values":"-"', f'"values":{{{said}}}'))


@breaks("RSP-043")
class ListsAreNotVisited(Bakery):
    """Makes texts of large whole numbers in objects alone: a weight in a row of a table, which is a list, stays."""

    def numbers(self, value: Any) -> Any:
        return value if isinstance(value, list) else super().numbers(value)


@breaks("RSP-044", "RSP-053")
class MirroredUnits(NegotiatedBakery):
    """Turns the letters of a stamp round by units of UTF-16, so that an emoji is two escapes in the wrong order."""

    def shown(self, order: Order, display: Any) -> str:
        if order.tool != "cookie.stamp":
            return super().shown(order, display)
        units = order.args["letters"].encode("utf-16-be", "surrogatepass")
        mirrored = [units[at : at + 2] for at in range(len(units) - 2, -1, -2)]
        said = "".join(f"\\u{one.hex()}" if one[0] else json.dumps(chr(one[1]))[1:-1] for one in mirrored)
        written = self.json({**display, "payload": "-"})
        return self.element("display", {}, written.replace('"payload":"-"', f'"payload":"{self.inert(said)}"'))


@breaks("RSP-095", "MCP-025")
class OverriddenAddsUp(PlainBakery):
    """Appends the names that a caller sent to one list of the server: the second time each is in `overridden` twice."""

    def __init__(self) -> None:
        super().__init__()
        self.overridden: list[str] = []

    def disclosed(self, order: Order) -> Json:
        self.overridden += order.forged
        said = super().disclosed(order)
        return {**said, "overridden": [*self.overridden]} if order.forged else said
