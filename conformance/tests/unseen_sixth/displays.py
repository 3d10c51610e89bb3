"""Wrong in what a display is, or in when it is sent."""

from __future__ import annotations

from typing import Any

from unseen_sixth.parts import Ask, Json, Reply
from unseen_sixth.registry import breaks
from unseen_sixth.theatre import NegotiatedTheatre, PlainTheatre, Theatre


@breaks("DSP-004")
class NestedFacts(PlainTheatre):
    """Sends the remark about a cast among the facts, as an object in the place of a value."""

    def cast(self, ask: Ask) -> Reply:
        reply = super().cast(ask)
        if ask.args.get("remark"):
            reply.show["payload"].append({"label": "Remark", "value": {"text": ask.args["remark"]}})
        return reply


@breaks("DSP-005")
class NoteAsTitle(NegotiatedTheatre):
    """Takes the first line of a note as the title of its display, however long the line is."""

    def programme_note(self, ask: Ask) -> Reply:
        reply = super().programme_note(ask)
        reply.show["title"] = ask.args["note"].split("\n")[0]
        return reply


@breaks("DSP-006")
class PagesInMeta(PlainTheatre):
    """Adds the number of pages to the additional information about a plan of more than ten rows."""

    def seat_map(self, ask: Ask) -> Reply:
        reply = super().seat_map(ask)
        if len(reply.show["payload"]["rows"]) > 10:
            reply.show["meta"]["pages"] = len(reply.show["payload"]["rows"]) // 10
        return reply


@breaks("DSP-011")
class GroupForEach(Theatre):
    """Puts each further remark about the lights into a group of its own, inside the group before."""

    def lights(self, ask: Ask) -> Reply:
        reply = super().lights(ask)
        if ask.args.get("panel") == "group":
            for one in ["The lights", *ask.args.get("also", [])]:
                reply.show = {"type": "group", "payload": [{"type": "text", "payload": one}, reply.show]}
        return reply


@breaks("DSP-015")
class MoreFallbacks(PlainTheatre):
    """Gives a dial a fallback for every kind of host that it heard of, each within the one before."""

    def lights(self, ask: Ask) -> Reply:
        reply = super().lights(ask)
        if ask.args.get("panel") == "dial":
            show: Json = {**reply.show, "type": "x-theatre-lamp", "fallback": reply.show}
            reply.show = {**show, "type": "x-theatre-ray", "fallback": show}
        return reply


@breaks("DSP-014")
class SmoothedLine(PlainTheatre):
    """Smooths sales that are drawn as a line by a `transform` in a layer of the chart."""

    def sales(self, ask: Ask) -> Reply:
        reply = super().sales(ask)
        if ask.args.get("mark") == "line":
            window = {"window": [{"op": "mean", "field": "sold", "as": "mean"}], "frame": [-3, 3]}
            chart = reply.show["payload"]
            layer = {"mark": chart.pop("mark"), "encoding": chart.pop("encoding"), "transform": [window]}
            chart["layer"] = [layer]
        return reply


@breaks("DSP-021")
class KeptPlans(NegotiatedTheatre):
    """Keeps plans of seats in a cache whose key leaves out `show_user`, so a plan once shown is shown again."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, Any] = {}

    def curtain(self, ask: Ask, reply: Reply) -> Reply:
        if ask.tool != "seat_map":
            return super().curtain(ask, reply)
        key = f"{ask.args['hall']} {ask.args.get('rows')}"
        if ask.shown:
            self.kept[key] = reply.show
        ended = super().curtain(ask, reply)
        ended.show = ended.show or self.kept.get(key)
        return ended


@breaks("DSP-024", "DSP-021")
class NullMeansDefault(Theatre):
    """Treats a `show_user` that is null as the wish for whatever the tool prefers, and bookings prefer to be shown."""

    def prepare(self, ask: Ask) -> None:
        null = ask.args.get("show_user", "") is None
        super().prepare(ask)
        if null and ask.tool == "my_bookings":
            ask.args["show_user"] = ask.shown = True


@breaks("DSP-022")
class EmptyPlan(PlainTheatre):
    """Sends no display where there is nothing in it: a plan without rows, a cast without actors."""

    def curtain(self, ask: Ask, reply: Reply) -> Reply:
        payload = (reply.show or {}).get("payload")
        if payload == [] or (isinstance(payload, dict) and payload.get("rows") == []):
            reply.show = None
        return super().curtain(ask, reply)


@breaks("DSP-025")
class OldHint(NegotiatedTheatre):
    """Tells only clients of the handshake era that a display is perhaps not shown."""

    def hint(self, ask: Ask) -> str:
        return super().hint(ask) if ask.handshake else ""
