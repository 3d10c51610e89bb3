"""Servers that are wrong in how they write JSON in a document: sections 2.4 and 2.7."""

from __future__ import annotations

import json
from typing import Any

from unseen_fourth.airport import SURROGATE, Airport, NegotiatedAirport
from unseen_fourth.registry import breaks
from unseen_fourth.routes import Call, Json


@breaks("RSP-040")
class GroupAsLines(Airport):
    """A group is streamed to the writer one display after the other, as lines of JSON."""

    def json_part(self, call: Call, name: str, value: Any) -> str:
        if name != "display" or value["type"] != "group":
            return super().json_part(call, name, value)
        return self.element(name, {}, "\n".join(self.json_text(self.clean(one)) for one in value["payload"]))


@breaks("RSP-041")
class LocaleIsAppended(NegotiatedAirport):
    """The language that the caller chose is spliced into the text of the JSON, where the board has said it already."""

    def json_part(self, call: Call, name: str, value: Any) -> str:
        part = super().json_part(call, name, value)
        if name != "display" or "lang" not in call.args:
            return part
        spliced = json.dumps({"locale": call.args["lang"]}, separators=(",", ":"))
        return part.replace("}</display>", f',"meta":{spliced}}}</display>')


@breaks("RSP-042")
class AmpersandsAreEntities(Airport):
    """The option that makes JSON inert covers angle brackets; ampersands were fixed later, by an entity."""

    def inert(self, text: str) -> str:
        return super().inert(text).replace("\\u0026", "&amp;")


@breaks("RSP-043")
class MetaIsPassedOn(Airport):
    """Displays go through a function for large integers; the `meta` of a failure is serialized where it arises."""

    def json_part(self, call: Call, name: str, value: Any) -> str:
        if name != "meta":
            return super().json_part(call, name, value)
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return self.element(name, {}, self.inert(SURROGATE.sub("\ufffd", text)))


@breaks("RSP-044")
class TitleOfThirtyNineUnits(Airport):
    """The title of an announcement is cut by a language that counts UTF-16: what remains can end with half an emoji."""

    def json_part(self, call: Call, name: str, value: Any) -> str:
        if name != "display" or call.tool != "announce":
            return super().json_part(call, name, value)
        units = self.clean(value["title"]).encode("utf-16-be")[:78]
        title = units.decode("utf-16-be", "surrogatepass")
        half = f"\\u{ord(title[-1]):04x}" if "\ud800" <= title[-1] <= "\udbff" else ""
        kept = title[:-1] + "\ue000" if half else title
        part = super().json_part(call, name, {**value, "title": kept})
        return part.replace("\ue000", half, 1) if half else part


@breaks("RSP-095")
class ListOfOneIsNoList(Airport):
    """What was filled in comes from an XML service through a converter, in which a list of one thing is the thing."""

    def populated(self, call: Call) -> Json:
        said = super().populated(call)
        if len(call.forged) == 1:
            said["overridden"] = said["overridden"][0]
        return said
