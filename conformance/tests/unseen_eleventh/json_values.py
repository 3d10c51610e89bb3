"""Wrong in how JSON is written, or in what the JSON about filled-in parameters says."""

from __future__ import annotations

import json
from typing import Any

from unseen_eighth.kit import ILLEGAL, Call, Json, broken, whole
from unseen_eighth.writer import MOST

from unseen_eleventh.garden import Garden, NegotiatedGarden
from unseen_eleventh.registry import breaks


@breaks("RSP-040")
class PrefixAgainstHijacking(NegotiatedGarden):
    """Begins a display of the type `json` with the signs that keep a browser from running it as a script."""

    def shown(self, call: Call, display: Any) -> str:
        written = super().shown(call, display)
        return written.replace(">{", ">)]}',\n{", 1) if display["type"] == "json" else written


@breaks("RSP-041")
class TypeTwice(Garden):
    """Writes the type of a picture twice, as member and as what tells classes apart, which Jackson does by default."""

    def shown(self, call: Call, display: Any) -> str:
        written = super().shown(call, display)
        return written.replace(">{", '>{"type":"image",', 1) if display["type"] == "image" else written


@breaks("RSP-042", "RSP-027")
class DisplayInCdata(NegotiatedGarden):
    """Writes the JSON of a display that has a `<` or an `&` as CDATA, where nothing has to be escaped for XML."""

    def shown(self, call: Call, display: Any) -> str:
        written = json.dumps(self.numbers(whole(display)), ensure_ascii=False).replace("]]>", "]]\\u003e")
        written = ILLEGAL.sub(lambda found: f"\\u{ord(found[0]):04x}", written)
        if "<" not in written and "&" not in written:
            return super().shown(call, display)
        return self.element("display", {"lossy": "true"} if broken(display) else {}, f"<![CDATA[{written}]]>")


@breaks("RSP-043")
class ListsKeepLongs(NegotiatedGarden):
    """Writes a whole number that is too large as a text in an object, and as the number that it is in a list."""

    def numbers(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self.numbers(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self.numbers(one) if isinstance(one, dict | list) else one for one in value]
        large = isinstance(value, int) and not isinstance(value, bool) and abs(value) > MOST
        return str(value) if large else value


@breaks("RSP-095")
class OverriddenIsAFlag(Garden):
    """Says that something of the caller was not used, and not what."""

    def disclosed(self, call: Call) -> Json:
        said = super().disclosed(call)
        return {**said, "overridden": True} if "overridden" in said else said
