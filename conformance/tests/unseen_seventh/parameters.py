"""Wrong in what the list says of tools, or in the parameters that the bakery fills in."""

from __future__ import annotations

from typing import Any

import mcp_types

from unseen_seventh.bakery import Bakery, NegotiatedBakery, PlainBakery
from unseen_seventh.kit import Order, Refusal, Ware
from unseen_seventh.registry import breaks


@breaks("TOL-002")
class TakenFromTheTable(PlainBakery):
    """Takes `display` out of the metadata while it writes the list, so that a later list says nothing of displays."""

    def __init__(self) -> None:
        super().__init__()
        self.marks = {name: {"display": True} for name, ware in self.wares().items() if ware.meta.get("display")}

    def listed(self, name: str, ware: Ware, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        meta = {key: one for key, one in ware.meta.items() if key != "display"}
        if self.marks.get(name, {}).pop("display", False):
            meta["display"] = True
        ware.meta = meta
        return super().listed(name, ware, declared=declared, handshake=handshake)


@breaks("TOL-010", "TOL-011")
class MatchedByName(NegotiatedBakery):
    """Lets a tool depend on each that provides one of its parameters: the curve of an oven provides its own."""

    def wares(self) -> dict[str, Ware]:
        wares = super().wares()
        for ware in wares.values():
            sources = [name for name, one in wares.items() if one.meta.get("provides") in ware.takes["properties"]]
            ware.meta |= {"depends_on": sources} if sources else {}
        return wares


@breaks("TOL-023")
class RememberedCustomer(Bakery):
    """Ignores the customer that a caller sends, but remembers it, and fills it in for the next call."""

    remembered: Any = None

    def set_aside(self, order: Order, ware: Ware) -> None:
        super().set_aside(order, ware)
        if "customer_id" in order.filled and self.remembered is not None:
            order.filled["customer_id"] = self.remembered
        self.remembered = order.forged.get("customer_id", self.remembered)


@breaks("TOL-024")
class RefusedWithTheOthers(PlainBakery):
    """Names parameters that it fills in among the refused arguments where they were sent and another one is bad."""

    def unfit(self, order: Order, faults: list[tuple[list[str | int], str]]) -> Refusal:
        forged: list[tuple[list[str | int], str]] = [([name], "additionalproperties") for name in order.forged]
        return super().unfit(order, [*faults, *forged])
