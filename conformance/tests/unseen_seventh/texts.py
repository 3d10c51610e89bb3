"""Wrong in how a text, an element or an attribute is written."""

from __future__ import annotations

import json
import re

import anyio
import mcp_types

from unseen_seventh.bakery import Bakery, NegotiatedBakery
from unseen_seventh.counter import LONGEST
from unseen_seventh.kit import Goods, Order, Refusal
from unseen_seventh.registry import breaks

OURS = "urn:bakery.example"
TAG = re.compile(r"</?\s*(?:tool_response|llm_output|display|error|meta|server_populated)", re.IGNORECASE)


@breaks("RSP-001")
class ArgumentsAsAttributes(Bakery):
    """Notes each short argument in an attribute of its own namespace on the root; `b:2nd_choice` is no name in XML."""

    def root_says(self, order: Order, outcome: Goods | Refusal) -> dict[str, str]:
        said = super().root_says(order, outcome)
        ware = self.wares().get(order.tool)
        known = ware.takes["properties"] if ware else {}
        noted = {
            f"b:{name}": self.legal(one)
            for name, one in order.args.items()
            if name in known and isinstance(one, str) and len(one) <= 20
        }
        return {**said, "xmlns:b": OURS, **noted} if noted else said


@breaks("RSP-004")
class SecondOven(Bakery):
    """Sends a call that comes while another one runs to a second worker, whose serializer writes an XML declaration."""

    running = 0
    busy = False

    async def answer(self, order: Order) -> mcp_types.CallToolResult:
        second, self.running = self.running > 0, self.running + 1
        try:
            await anyio.sleep(0.03)
            self.busy = second
            return await super().answer(order)
        finally:
            self.running -= 1

    def document(self, order: Order, outcome: Goods | Refusal) -> str:
        start = '<?xml version="1.0" encoding="UTF-8"?>' if self.busy else ""
        return start + super().document(order, outcome)


@breaks("RSP-082", "RSP-006")
class HowMuchIsMissing(NegotiatedBakery):
    """Writes the number of missing characters into `truncated`, where a long recipe was cut, in the place of `true`."""

    def output_says(self, order: Order, goods: Goods) -> dict[str, str]:
        said = super().output_says(order, goods)
        return {**said, "truncated": str(len(order.args["recipe"]) - LONGEST)} if goods.cut else said


@breaks("RSP-007")
class WithoutTheDepartment(Bakery):
    """Names the tool without what stands before its dot in the documents of arguments that do not fit."""

    def root_says(self, order: Order, outcome: Goods | Refusal) -> dict[str, str]:
        said = super().root_says(order, outcome)
        if isinstance(outcome, Refusal) and outcome.code == "VALIDATION_FAIL":
            said["tool_name"] = said["tool_name"].rpartition(".")[2]
        return said


@breaks("RSP-009")
class FilledInFirst(NegotiatedBakery):
    """Writes `server_populated` before the display of a customer's orders, as the steps of its work are."""

    def children(self, order: Order, outcome: Goods | Refusal) -> list[str]:
        return sorted(super().children(order, outcome), key=lambda one: one.startswith("<display"))


@breaks("RSP-020")
class EscapedAgain(NegotiatedBakery):
    """Keeps escaped texts in a cache, and escapes what comes from it: in a second document each `&amp;` is text."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, str] = {}

    def output_data(self, order: Order, goods: Goods) -> str:
        key = f"{order.tool} {json.dumps(order.args, sort_keys=True)} {len(goods.text)}"
        if key in self.kept:
            return self.data(self.kept[key])
        self.kept[key] = super().output_data(order, goods)
        return self.kept[key]


@breaks("RSP-021", "RSP-020")
class BoldCustomer(Bakery):
    """Writes the customer in the text as an element where the caller had sent another one, so that it is noticed."""

    def output_data(self, order: Order, goods: Goods) -> str:
        said, name = super().output_data(order, goods), str(order.filled.get("customer_id"))
        return said.replace(name, f"<b>{name}</b>") if "customer_id" in order.forged else said


@breaks("RSP-022", "RSP-001")
class HarmlessAmpersands(Bakery):
    """Leaves an ampersand as it is where white space follows, as HTML allows it, in texts for the model."""

    def output_data(self, order: Order, goods: Goods) -> str:
        return re.sub(r"&amp;(?=\s)", "&", super().output_data(order, goods))


@breaks("RSP-023", "RSP-001")
class JsonNeedsLess(NegotiatedBakery):
    """Escapes `<`, `&` and carriage returns in texts that are JSON, and no `>`: a label with `]]>` has it raw."""

    def output_data(self, order: Order, goods: Goods) -> str:
        said = super().output_data(order, goods)
        return said.replace("&gt;", ">") if goods.media == "application/json" else said


@breaks("RSP-024", "RSP-020")
class ReturnsInMessages(NegotiatedBakery):
    """Writes a carriage return in the name that was not found raw in the message; `meta` and plain results have it."""

    def message(self, order: Order, refusal: Refusal) -> str:
        return super().message(order, refusal).replace("&#13;", "\r")


@breaks("RSP-025", "RSP-001")
class TwoReferences(Bakery):
    """Writes what is not ASCII in a text as references, one for each unit of UTF-16: two surrogates for an emoji."""

    def output_data(self, order: Order, goods: Goods) -> str:
        said = super().output_data(order, goods)
        units = (said[at].encode("utf-16-be").hex(" ", 2).split() for at in range(len(said)))
        return "".join(
            one if one.isascii() else "".join(f"&#{int(unit, 16)};" for unit in pair)
            for one, pair in zip(said, units, strict=True)
        )


@breaks("RSP-026", "RSP-020")
class DroppedAndMarked(NegotiatedBakery):
    """Drops control characters from a text for the model and marks it as lossy, with no U+FFFD in their place."""

    def output_data(self, order: Order, goods: Goods) -> str:
        return self.data(self.legal(re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f]", "", goods.text)))


@breaks("RSP-027", "RSP-024", "RSP-020")
class ReturnsInSections(Bakery):
    """Writes texts with a `<` and no tag of a document as CDATA, their carriage returns as they are."""

    def output_data(self, order: Order, goods: Goods) -> str:
        said = self.legal(goods.text)
        if "<" not in said or TAG.search(said):
            return super().output_data(order, goods)
        return f"<![CDATA[{said.replace(']]>', ']]]]><![CDATA[>')}]]>"


@breaks("RSP-028")
class TabsStay(Bakery):
    """Notes the first words of a text argument in an attribute of its own namespace, with tabs as they came."""

    def output(self, order: Order, goods: Goods) -> str:
        asked = next((one for one in order.args.values() if isinstance(one, str)), "")
        noted = self.value(self.legal(asked[:60])).replace("&#9;", "\t")
        start = f'<llm_output xmlns:b="{OURS}" b:asked="{noted}"'
        return start + super().output(order, goods).removeprefix("<llm_output")


@breaks("RSP-081")
class IndexedTexts(NegotiatedBakery):
    """Repeats a text in lower case in an attribute of its own namespace, for a search; a long one is too long there."""

    def output_says(self, order: Order, goods: Goods) -> dict[str, str]:
        indexed = self.legal(goods.text).lower()
        return {**super().output_says(order, goods), "xmlns:b": OURS, "b:index": indexed}
