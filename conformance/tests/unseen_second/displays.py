"""Servers that are wrong in what they show, and when: chapter 3."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unseen_second.clinic import Clinic, Good, Json, NegotiatedClinic, Outcome, Tool, Visit
from unseen_second.registry import breaks


@breaks("DSP-004")
class AlarmLevel(Clinic):
    """A pulse of 300 and more makes a notification of the level that the alarms of the clinic have."""

    def show_vitals(self, visit: Visit, layout: str, pulse: int, comment: str | None) -> Any:
        show = super().show_vitals(visit, layout, pulse, comment)
        if layout == "notification" and pulse >= 300:
            show["payload"]["level"] = "critical"
        return show


@breaks("DSP-011")
class NestedAlarms(Clinic):
    """Each step of the alarm wraps the group in another one, and the highest pulse has gone through all of them."""

    def show_vitals(self, visit: Visit, layout: str, pulse: int, comment: str | None) -> Any:
        show = super().show_vitals(visit, layout, pulse, comment)
        for _ in range(pulse // 100 if layout == "group" else 0):
            show = {"type": "group", "payload": [show]}
        return show


@breaks("DSP-015")
class FallbackForEachRelease(Clinic):
    """For clients that list their types, the dial falls back through all that it looked like in earlier releases."""

    def adapted(self, visit: Visit, show: Any) -> Any:
        if "displayTypes" not in visit.declaration or show["type"] != "x-clinic-vitals":
            return super().adapted(visit, show)
        chain: Json = {"type": "text", "payload": "A dial."}
        for release in (1, 2, 3, 4):
            chain = {"type": f"x-clinic-vitals{release}", "payload": show["payload"], "fallback": chain}
        return {**show, "fallback": chain}


@breaks("DSP-014")
class SmoothedInALayer(Clinic):
    """From three weights on, a second layer smooths them with a transform."""

    def show_weight_chart(self, visit: Visit, weights: list[Any]) -> Any:
        show = super().show_weight_chart(visit, weights)
        if len(weights) >= 3:
            drawn = {name: show["payload"].pop(name) for name in ("mark", "encoding")}
            show["payload"]["layer"] = [drawn, {**drawn, "transform": [{"loess": "kg", "on": "visit"}]}]
        return show


@breaks("DSP-020")
class ShowUserRequiredInTheHandshake(Clinic):
    """The schemas for the handshake era are made by an older library, to which a parameter with a default is
    required."""

    def listed(self, name: str, tool: Tool, *, declared: bool, handshake: bool) -> Any:
        if handshake and name == "vitals":
            tool = replace(tool, takes={**tool.takes, "required": [*tool.takes["required"], "show_user"]})
        return super().listed(name, tool, declared=declared, handshake=handshake)


@breaks("DSP-021")
class PreferenceThatSticks(Clinic):
    """A caller that once asked for the display of a price list is taken to want it for the rest of the session."""

    wanted = False

    def dressed(self, visit: Visit, good: Good) -> Good:
        self.wanted = self.wanted or (visit.tool == "price_list" and visit.shown)
        if visit.tool == "price_list" and self.wanted and "show_user" not in visit.args:
            visit = replace(visit, args={**visit.args, "show_user": True})
        return super().dressed(visit, good)


@breaks("DSP-022")
class DisplayLostInTheCache(NegotiatedClinic):
    """The cache of the vitals keeps texts only, so that the same call has no display the second time."""

    def outcome(self, visit: Visit) -> Outcome:
        outcome = super().outcome(visit)
        if visit.tool == "vitals" and visit.again > 1 and isinstance(outcome, Good):
            return replace(outcome, show=None)
        return outcome


@breaks("DSP-024", "ERR-020", "DSP-021")
class NullIsNotFalse(Clinic):
    """The check for the display of a handout is `is not False`, and null is not."""

    def set_aside(self, visit: Visit, tool: Tool) -> Visit:
        left = super().set_aside(visit, tool)
        if visit.tool == "handout" and "show_user" in visit.args and visit.args["show_user"] is None:
            left.args["show_user"] = True
        return left


@breaks("DSP-025")
class HintOnlyWhereClientsDeclare(NegotiatedClinic):
    """The hint about the display hangs on the member `extensions`; a client of the handshake era never gets it."""

    def hint(self, visit: Visit, good: Good) -> str:
        return "" if visit.handshake else super().hint(visit, good)


@breaks("DSP-043")
class ReferenceForLargeDisplays(Clinic):
    """A gateway in front replaces a display of more than two kilobytes by a reference, to save tokens."""

    def adapted(self, visit: Visit, show: Any) -> Any:
        show = super().adapted(visit, show)
        size = len(self.json_text(visit, self.clean(show)).encode())
        if size <= 2048:
            return show
        return {"type": "x-xmcp-reference", "payload": {"type": show["type"], "bytes": size}}
