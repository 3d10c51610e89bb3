"""Wrong in how JSON is written inside documents."""

from __future__ import annotations

import json
from typing import Any

from unseen_sixth.parts import HALF, Ask, Json, Reply
from unseen_sixth.registry import breaks
from unseen_sixth.theatre import NegotiatedTheatre, Theatre


@breaks("RSP-040", "RSP-045")
class MeanOfNothing(Theatre):
    """Adds the mean of the sales to the chart; that of no days is written as `NaN`."""

    def sales(self, ask: Ask) -> Reply:
        reply = super().sales(ask)
        sold = ask.args["sold"]
        reply.show["payload"]["description"] = "With the mean."
        reply.show["payload"]["width"] = sum(sold) / len(sold) if sold else 0
        if not sold:
            reply.show["payload"]["width"] = float("nan")
        return reply

    def dumped(self, value: Any) -> str:
        return self.inert(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


@breaks("RSP-041")
class RepeatedRole(Theatre):
    """Writes the facts of a cast as one object by hand, with `Role` as the name of every member."""

    def dumped(self, value: Any) -> str:
        if isinstance(value, dict) and value.get("type") == "facts" and isinstance(value["payload"], list):
            pairs = (f'"Role":{super(RepeatedRole, self).dumped(fact["value"])}' for fact in value["payload"])
            written = super().dumped({**value, "payload": {}})
            return written.replace('"payload":{}', f'"payload":{{{",".join(pairs)}}}')
        return super().dumped(value)


@breaks("RSP-042")
class AmpersandInTitles(Theatre):
    """Escapes the JSON of a display by the function for texts, so that an ampersand in it becomes `&amp;`."""

    def json_tag(self, name: str, value: Any) -> str:
        if name != "display":
            return super().json_tag(name, value)
        lossy = HALF.search(json.dumps(value, ensure_ascii=False)) is not None
        written = json.dumps(self.plainly(value), ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")
        written = written.replace("\x7f", "\\u007f").replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")
        return self.tag(name, {"lossy": "true"} if lossy else {}, written.replace("&", "&amp;"))


@breaks("RSP-044", "RSP-053")
class HalfMask(Theatre):
    """Puts the first UTF-16 unit of a mask, which is half a character, before the titles of seats in the circle."""

    def seat_map(self, ask: Ask) -> Reply:
        reply = super().seat_map(ask)
        if ask.args["hall"] == "circle":
            reply.show["title"] = "MASK " + reply.show["title"]
        return reply

    def json_tag(self, name: str, value: Any) -> str:
        return super().json_tag(name, value).replace('"MASK ', '"\\ud83c ')


@breaks("RSP-096")
class StarredToken(NegotiatedTheatre):
    """Shows stars for the token among the values as well, when the person sees the bookings."""

    def disclosed(self, ask: Ask) -> Json:
        said = super().disclosed(ask)
        return {**said, "values": {**said["values"], "card_token": "***"}} if ask.shown else said
