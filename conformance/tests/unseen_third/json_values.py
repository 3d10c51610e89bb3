"""Servers that are wrong in the JSON of a document: sections 2.4 and 2.7."""

from __future__ import annotations

from typing import Any

from unseen_third.common import Call, Json
from unseen_third.emitting import EmittingYard
from unseen_third.registry import breaks
from unseen_third.yard import LoudYard, Yard

_MARK = "\ue123"


@breaks("RSP-040")
class ChangeSinceYesterday(LoudYard):
    """The metric of a track has its change since yesterday in per cent of today's wagons, and JSON is written without
    looking for what JSON does not have."""

    def show_track(self, call: Call, track: int, layout: str) -> Any:
        show = super().show_track(call, track, layout)
        if layout == "metric":
            wagons = show["payload"]["value"]
            show["payload"]["delta"] = round(100 / wagons, 1) if wagons else _MARK
        return show

    def json_text(self, call: Call, value: Any) -> str:
        return super().json_text(call, value).replace(f'"{_MARK}"', "NaN")


@breaks("RSP-041")
class TitleOnTop(Yard):
    """A notice is written from a list of members, to which the title of the caller is added after the usual one."""

    def json_text(self, call: Call, value: Any) -> str:
        text = super().json_text(call, value)
        if call.tool != "notice" or "title" not in call.args or not isinstance(value, dict) or "payload" not in value:
            return text
        return f'{{"title":"Notice",{text[1:]}'


@breaks("RSP-042")
class TextsInDisplaysAreMarkup(Yard):
    """Displays are put into a CDATA section, where it was thought that nothing needs to be written in another way."""

    def json_text(self, call: Call, value: Any) -> str:
        text = super().json_text(call, value)
        if not isinstance(value, dict) or "payload" not in value or "]]" in text:
            return text
        for raw in "<>&":
            text = text.replace(f"\\u{ord(raw):04x}", raw)
        return f"<![CDATA[{text}]]>"


@breaks("RSP-043")
class LargeIsMoreThan(LoudYard):
    """Whether an integer is too large for a double is asked of the integer and not of its size, so that negative ones
    never are."""

    def portable(self, value: Any) -> Any:
        return value if isinstance(value, int) and value < 0 else super().portable(value)


@breaks("RSP-044")
class HeadingsOfTwentyFiveUnits(Yard):
    """The heading of a picture is cut after 25 code units of UTF-16, by a library that came from another language."""

    def heading(self, call: Call, text: str) -> str:
        return text.encode("utf-16-le", "surrogatepass")[:50].decode("utf-16-le", "surrogatepass")

    def json_text(self, call: Call, value: Any) -> str:
        title = value.get("title") if isinstance(value, dict) else None
        if not isinstance(title, str) or not title or not "\ud800" <= title[-1] <= "\udbff":
            return super().json_text(call, value)
        text = super().json_text(call, {**value, "title": f"{title[:-1]}{_MARK}"})
        return text.replace(_MARK, f"\\u{ord(title[-1]):04x}")


@breaks("RSP-095")
class NothingWasOverridden(Yard):
    """What was filled in is a record of three members, of which one that has no value is written as null."""

    def filled(self, call: Call) -> Json:
        return {"overridden": None, **super().filled(call)}


@breaks("RSP-096", "TOL-023")
class ShowsWhatTheCallerSent(LoudYard):
    """So that the caller sees what happened to its values, those that it sent are added to `values`, the key too."""

    def filled(self, call: Call) -> Json:
        filled = super().filled(call)
        if "gate_key" in call.forged:
            filled["values"] = {**filled["values"], "gate_key": call.forged["gate_key"]}
        return filled


@breaks("RSP-054")
class NothingIsLeftOut(EmittingYard):
    """JSON is written by a serializer that was told to leave out what is null."""

    def portable(self, value: Any) -> Any:
        if isinstance(value, dict):
            value = {name: item for name, item in value.items() if item is not None}
        return super().portable(value)
