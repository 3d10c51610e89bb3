"""Harbour offices that get displays wrong."""

from __future__ import annotations

from unseen_eighth.kit import Answer, Call, Failure, Tool

from unseen_fourteenth.harbour import NegotiatedHarbour, PlainHarbour
from unseen_fourteenth.registry import breaks


@breaks("DSP-005")
class WritesNoAltAsNull(NegotiatedHarbour):
    """Writes `alt` as `null` in the displays within a group, which come from a data class."""

    def inspect(self, call: Call, answer: Answer) -> None:
        super().inspect(call, answer)
        if answer.display["type"] == "group":
            answer.display["payload"] = [{**one, "alt": None} for one in answer.display["payload"]]


@breaks("DSP-006")
class MetaWithoutVendor(PlainHarbour):
    """Puts the flag of a vessel that is not German into the `meta` of the display under a name without a vendor."""

    def work(self, call: Call, tool: Tool) -> Answer:
        answer = super().work(call, tool)
        if call.tool == "cargo_manifest" and call.args["vessel"]["flag"] != "DE":
            answer.display["meta"]["flag"] = call.args["vessel"]["flag"]
        return answer


@breaks("DSP-011")
class GroupsWithinGroups(PlainHarbour):
    """Wraps the warnings into one more group for each level of danger, so that the highest levels are too deep."""

    def work(self, call: Call, tool: Tool) -> Answer:
        answer = super().work(call, tool)
        if call.tool == "weather_warning":
            for _ in range(1, int(call.args.get("level", 2))):
                answer.display = {"type": "group", "payload": [answer.display]}
        return answer


@breaks("DSP-015")
class FallbacksWithoutEnd(NegotiatedHarbour):
    """Wraps the gauge of fees into the dials of four further vendors where a rebate is given."""

    def work(self, call: Call, tool: Tool) -> Answer:
        answer = super().work(call, tool)
        if call.tool == "harbour_fees" and "rebates" in call.args:
            for name in ("x-harbour-dial", "x-harbour-clock", "x-harbour-hand", "x-harbour-sand"):
                payload = {"cents": 0}
                answer.display = {"type": name, "alt": "The fees", "payload": payload, "fallback": answer.display}
        return answer


@breaks("DSP-013", "DSP-004")
class MerchantPhotosByHttp(PlainHarbour):
    """Shows the photographs of merchant vessels from a server that knows `http:` only."""

    def inspect(self, call: Call, answer: Answer) -> None:
        super().inspect(call, answer)
        if call.tool == "find_vessel" and call.args["fleet"] == "merchant":
            answer.display["payload"]["src"] = answer.display["payload"]["src"].replace("https:", "http:")


@breaks("DSP-014")
class FiltersInTheChart(NegotiatedHarbour):
    """Draws the chart of the lock as layers, of which the second has a `transform`."""

    def work(self, call: Call, tool: Tool) -> Answer:
        answer = super().work(call, tool)
        if call.tool == "tideTable" and call.args["station"] == "lock":
            chart = answer.display["payload"]
            high = {
                "mark": "rule",
                "transform": [{"filter": "datum.level_cm > 200"}],
                "encoding": chart["encoding"],
            }
            line = {"mark": chart["mark"], "encoding": chart["encoding"]}
            answer.display["payload"] = {"data": chart["data"], "layer": [line, high]}
        return answer


@breaks("DSP-021")
class ShowsWhatFailed(PlainHarbour):
    """Sends the display of an error whether or not the call asked for one."""

    def run(self, call: Call) -> Answer:
        try:
            return super().run(call)
        except Failure as failure:
            if failure.code == "NOT_FOUND" and call.tool == "find_vessel":
                payload = {"message": "This vessel is not afloat.", "level": "warning"}
                failure.display = {"type": "notification", "payload": payload}
            raise


@breaks("DSP-022")
class NothingToShow(NegotiatedHarbour):
    """Sends no display for a table without rows, although it was asked for."""

    def inspect(self, call: Call, answer: Answer) -> None:
        super().inspect(call, answer)
        if answer.display["type"] == "table" and not answer.display["payload"]["rows"]:
            answer.display = None


@breaks("DSP-023", "DSP-022")
class DropsWhatIsInvalid(PlainHarbour):
    """Answers with the text alone where the display that was asked for is no envelope, as with a long title."""

    def inspect(self, call: Call, answer: Answer) -> None:
        try:
            super().inspect(call, answer)
        except Failure:
            answer.display = None
