"""Print shops that get their displays wrong, or send them at the wrong time."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from unseen_eighth.kit import Answer, Call, Tool, whole

from unseen_thirteenth.printshop import NegotiatedPrintShop, PlainPrintShop, PrintShop
from unseen_thirteenth.registry import breaks


@breaks("DSP-001")
class OmitsTheEmpty(PlainPrintShop):
    """Leaves members that are empty out of an envelope, as `omitempty` does: a glossary without words has no
    payload.
    """

    def understood(self, call: Call, display: Any) -> Any:
        return {name: one for name, one in super().understood(call, display).items() if one not in ({}, [], "")}


@breaks("DSP-002")
class NamesTypesAfterInks(PrintShop):
    """The type of a swatch is made of the name of its ink; of one ink the name has an underscore."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "swatch":
            answer.display["type"] = f"x-inkwell-{call.args['ink']}"
        return answer


@breaks("DSP-004")
class ShoutsLevels(NegotiatedPrintShop):
    """Takes the level of an urgent notification from its logging library, which calls it `critical`."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "thank_customer" and call.args["tone"] == "urgent":
            answer.display["payload"]["level"] = "critical"
        return answer


@breaks("DSP-005")
class TitlesWithTheText(PlainPrintShop):
    """The title of a proof is its whole text, which can have more than 200 characters."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "set_text":
            answer.display["title"] = f"Proof: {answer.text}"
        return answer


@breaks("DSP-011")
class FoldsGroups(PrintShop):
    """Puts the signatures into one more group for each fold, and there can be six folds."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "impose":
            for fold in range(call.args.get("folds", 1)):
                answer.display = {"type": "group", "title": f"Fold {fold + 1}", "payload": [answer.display]}
        return answer


@breaks("DSP-013", "DSP-004")
class DrawsVectors(NegotiatedPrintShop):
    """The last fallback of a swatch is a small drawing in a `data:` URI, and the drawing is SVG."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "swatch":
            drawing = "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4="
            image = {"type": "image", "payload": drawing, "alt": "A square of ink."}
            answer.display["fallback"]["fallback"] = image
        return answer


@breaks("DSP-014")
class ZoomsLongCharts(PrintShop):
    """A chart of more than 24 hours can be zoomed, by a selection in `params`."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "press_load" and call.args.get("hours", 12) > 24:
            zoom = [{"name": "zoom", "select": "interval", "bind": "scales"}]
            answer.display["payload"] = {**answer.display["payload"], "params": zoom}
        return answer


@breaks("DSP-021")
class RemembersTheWish(NegotiatedPrintShop):
    """Takes `show_user` for a preference: who asked once for a display of a tool gets it with later calls too."""

    def __init__(self) -> None:
        super().__init__()
        self.wished: set[str] = set()

    def set_aside(self, call: Call, tool: Tool) -> None:
        super().set_aside(call, tool)
        if call.wanted:
            self.wished.add(call.tool)
        call.wanted = call.tool in self.wished


@breaks("DSP-022")
class ShowsChangesOnly(PrintShop):
    """Does not send a display that is the same as the last one of this tool: the person has it already."""

    def __init__(self) -> None:
        super().__init__()
        self.last: dict[str, str] = {}

    def keeps(self, call: Call, display: Any) -> bool:
        if not super().keeps(call, display):
            return False
        said = json.dumps(display, sort_keys=True)
        before, self.last[call.tool] = self.last.get(call.tool), said
        return said != before


@breaks("DSP-024", "DSP-021")
class TakesNullForYes(PrintShop):
    """Shows a display unless `show_user` is `false` or absent, so that `null` counts as a wish."""

    def set_aside(self, call: Call, tool: Tool) -> None:
        null = tool.meta.get("display") is True and call.args.get("show_user", False) is None
        super().set_aside(call, tool)
        call.wanted = call.wanted or null


@breaks("DSP-025")
class SparesJson(NegotiatedPrintShop):
    """Says nothing of displays that are perhaps not shown where the text is JSON, which a sentence would spoil."""

    def hint(self, call: Call, answer: Answer) -> str:
        return "" if answer.media else super().hint(call, answer)


@breaks("DSP-043")
class RefersToLargeDisplays(PrintShop):
    """Spares its clients the work: in the place of a display of more than 3,000 bytes it sends a reference."""

    def served(self, call: Call, answer: Answer) -> Answer:
        size = len(json.dumps(whole(answer.display), ensure_ascii=False, separators=(",", ":")).encode())
        if answer.display is not None and size > 3000:
            display = deepcopy(answer.display)
            payload = {"type": display["type"], "bytes": size, "note": "Too large to send."}
            answer.display = {"type": "x-xmcp-reference", "title": display["title"], "payload": payload}
        return answer
