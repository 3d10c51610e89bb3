"""Servers that are wrong in what they show, and when: chapter 3."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unseen_fourth.airport import Airport, NegotiatedAirport
from unseen_fourth.registry import breaks
from unseen_fourth.routes import Answer, Call, Json, Outcome, Step


@breaks("DSP-003", "DSP-004")
class NilMap(Airport):
    """A map without slots was never made, and the language writes such a map as `null`."""

    def adapted(self, call: Call, show: Any) -> Any:
        show = super().adapted(call, show)
        return {**show, "payload": None} if show["payload"] == {} else show


@breaks("DSP-004")
class LogicalAlignment(NegotiatedAirport):
    """The Arabic board is aligned as style sheets do it for both directions of writing, at the end."""

    def adapted(self, call: Call, show: Any) -> Any:
        show = super().adapted(call, show)
        if call.tool != "departure_board" or call.args.get("lang") != "ar":
            return show
        columns = [{**one, "align": "end"} if isinstance(one, dict) else one for one in show["payload"]["columns"]]
        return {**show, "payload": {**show["payload"], "columns": columns}}


@breaks("DSP-005")
class CutBeforeThePrefix(Airport):
    """A title is cut to 200 characters, and then gets its first word."""

    def adapted(self, call: Call, show: Any) -> Any:
        if call.tool == "announce":
            show = {**show, "title": f"Announcement: {call.args['message'][:200]}"}
        return super().adapted(call, show)


@breaks("DSP-006")
class PageOfTheBoard(NegotiatedAirport):
    """A board of more than twenty rows says in `meta` which page it is, under the name that its query has."""

    def adapted(self, call: Call, show: Any) -> Any:
        show = super().adapted(call, show)
        if call.tool != "departure_board" or len(show["payload"]["rows"]) <= 20:
            return show
        return {**show, "meta": {**show["meta"], "page": 1}}


@breaks("DSP-011")
class StationsAreFolded(Airport):
    """Further stations are folded into the group, one after the other, each time with what there was before as a
    group."""

    def adapted(self, call: Call, show: Any) -> Any:
        if call.tool == "weather" and show["type"] == "group":
            folded: Json = {"type": "group", "payload": show["payload"][:2]}
            for one in show["payload"][2:]:
                folded = {"type": "group", "payload": [folded, one]}
            show = folded
        return super().adapted(call, show)


@breaks("DSP-013", "DSP-004")
class CartsDrawTheirLabels(Airport):
    """Carts have no camera; they give the label of a bag as an SVG."""

    def adapted(self, call: Call, show: Any) -> Any:
        if call.tool == "track_bag" and call.args.get("camera") == "cart":
            label = "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'/%3E"
            show = {**show, "payload": {**show["payload"], "src": label, "mime": "image/svg+xml"}}
        return super().adapted(call, show)


@breaks("DSP-015")
class FallbackForEachLanguage(Airport):
    """An announcement in several languages has the next language as the fallback of each."""

    def adapted(self, call: Call, show: Any) -> Any:
        if call.tool == "announce":
            for language in reversed(call.args.get("languages", [])):
                said: Json = {"type": "text", "title": f"Announcement ({language})", "payload": "…"}
                show = {**show, "fallback": {**said, "fallback": show["fallback"]} if "fallback" in show else said}
        return super().adapted(call, show)


@breaks("DSP-021")
class PointerIsNotNil(NegotiatedAirport):
    """The handler of the weather, written in Go, asks whether `show_user` is there, and not what it says."""

    async def present(self, call: Call, go: Step) -> Outcome:
        if call.tool == "weather" and "show_user" in call.args:
            call = replace(call, args={**call.args, "show_user": True})
        return await super().present(call, go)


@breaks("DSP-022")
class OnlyWhatTheClientShows(Airport):
    """A display of a type that the client did not name is left out, because the client could not show it."""

    def adapted(self, call: Call, show: Any) -> Any:
        known = call.declaration.get("displayTypes")
        left_out = isinstance(known, list) and show["type"] not in known
        return None if left_out else super().adapted(call, show)


@breaks("DSP-024")
class OlderChainForSlowRoutes(NegotiatedAirport):
    """Slow routes run in a worker with a chain of its own, to which nobody added the filter for null."""

    async def fill_in(self, call: Call, go: Step) -> Outcome:
        if self.routed(call).pause:
            return await go(call)
        return await super().fill_in(call, go)


@breaks("DSP-025")
class HintIsNotTranslated(NegotiatedAirport):
    """The hint about a display comes from the catalogue of texts, and is empty in the languages without it."""

    def hint(self, call: Call) -> str:
        return super().hint(call) if call.args.get("lang", "en") == "en" else ""


@breaks("DSP-043")
class ReferenceTheSecondTime(Airport):
    """A display that was sent before is not sent again: the second time there is a reference to it, which saves
    tokens."""

    async def present(self, call: Call, go: Step) -> Outcome:
        outcome = await super().present(call, go)
        if not isinstance(outcome, Answer) or outcome.show is None or call.again == 1:
            return outcome
        size = len(self.json_text(self.clean(outcome.show)).encode())
        note = {"type": outcome.show["type"], "bytes": size, "note": "Shown before."}
        return replace(outcome, show={"type": "x-xmcp-reference", "payload": note})
