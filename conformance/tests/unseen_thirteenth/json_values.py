"""Print shops that get the JSON of their documents wrong."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from unseen_eighth.kit import ILLEGAL, Call, Failure, Json, broken, whole
from unseen_eighth.writer import MOST

from unseen_thirteenth.printshop import SECRET, NegotiatedPrintShop, PrintShop
from unseen_thirteenth.registry import breaks


@breaks("RSP-040", "RSP-045")
class AveragesNothing(PrintShop):
    """The fill of no signatures is 0/0, which its JSON library writes as `NaN` into the display."""

    def shown(self, call: Call, display: Any) -> str:
        if call.tool != "impose" or call.args["pages"]:
            return super().shown(call, display)
        display = deepcopy(display)
        display["payload"][0]["payload"][1]["value"] = float("nan")
        return self.element("display", {}, self.inert(json.dumps(whole(display), ensure_ascii=False)))


@breaks("RSP-041")
class DescribesTwice(PrintShop):
    """Appends a short `alt` to the JSON of each chart, also where the chart has one already."""

    def shown(self, call: Call, display: Any) -> str:
        if display["type"] != "chart":
            return super().shown(call, display)
        return self.element("display", {}, self.json(display)[:-1] + ',"alt":"A chart of sheets by the hour."}')


@breaks("RSP-042")
class EscapesMetaAsMarkup(PrintShop):
    """Passes the `meta` of an error through the XML library: `&lt;` and `&amp;` stand there, where `\\u003c` has to."""

    def failure(self, call: Call, failure: Failure) -> str:
        meta = ""
        if failure.meta is not None:
            written = json.dumps(self.numbers(whole(failure.meta)), ensure_ascii=False, separators=(",", ":"))
            written = ILLEGAL.sub(lambda found: f"\\u{ord(found[0]):04x}", written)
            meta = self.element("meta", {"lossy": "true"} if broken(failure.meta) else {}, self.data(written))
        return self.element("error", self.failure_says(call, failure), self.message(call, failure) + meta)


@breaks("RSP-042")
class ReplacesTheFirstOne(PrintShop):
    """Was ported from JavaScript, where `replace(">", ...)` replaces one alone: a second `>` of a display stays."""

    def shown(self, call: Call, display: Any) -> str:
        written = json.dumps(self.numbers(whole(display)), ensure_ascii=False, separators=(",", ":"))
        written = written.replace("&", "\\u0026").replace("<", "\\u003c").replace("]]>", "]]\\u003e")
        written = ILLEGAL.sub(lambda found: f"\\u{ord(found[0]):04x}", written.replace(">", "\\u003e", 1))
        return self.element("display", {"lossy": "true"} if broken(display) else {}, written)


@breaks("RSP-043")
class KnowsNoNegatives(PrintShop):
    """Writes whole numbers above 2^53-1 as strings, and forgets that they can be as large below zero."""

    def numbers(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self.numbers(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self.numbers(one) for one in value]
        large = isinstance(value, int) and not isinstance(value, bool) and value > MOST
        return str(value) if large else value


@breaks("RSP-044", "RSP-053")
class HalvesPictures(PrintShop):
    """Cuts the notes in the table of papers at 60 code units of UTF-16, in the middle of an emoji."""

    def shown(self, call: Call, display: Any) -> str:
        if call.tool != "list_papers":
            return super().shown(call, display)
        display = deepcopy(display)
        for row in display["payload"]["rows"]:
            units = row["note"].encode("utf-16-le", "surrogatepass")[:120]
            row["note"] = units.decode("utf-16-le", "surrogatepass")
        written = json.dumps(self.numbers(display), ensure_ascii=True, separators=(",", ":"))
        return self.element("display", {}, self.inert(written))


@breaks("RSP-096")
class MasksAndLists(NegotiatedPrintShop):
    """Shows a secret parameter as `***` among the values, and lists it as redacted too."""

    def disclosed(self, call: Call) -> Json:
        said = super().disclosed(call)
        said["values"] |= {name: "***" for name in call.filled if name in SECRET}
        return said
