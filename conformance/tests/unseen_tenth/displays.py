"""Wrong in what a display is, or in when it is sent."""

from __future__ import annotations

from typing import Any

from unseen_eighth.kit import Answer, Call, Failure, Tool
from unseen_eighth.observatory import block

from unseen_tenth.harbour import Harbour, NegotiatedHarbour, PlainHarbour
from unseen_tenth.registry import breaks
from unseen_tenth.tools import shown_hold


@breaks("DSP-004")
class OneIsNoList(PlainHarbour):
    """Shows a table of one row with that row in the place of a list, as its converter does with lists of one."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "find_berths" and len(answer.display["payload"]["rows"]) == 1:
            [answer.display["payload"]["rows"]] = answer.display["payload"]["rows"]
        return answer


@breaks("DSP-006")
class SkippedInMeta(NegotiatedHarbour):
    """Says in the `meta` of a table how many berths were skipped, where some were, in a member without a vendor."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "find_berths" and call.args.get("skip"):
            answer.display["meta"]["skipped"] = int(call.args["skip"])
        return answer


@breaks("DSP-010")
class MapAsAWayOut(PlainHarbour):
    """Has a map, a type that is only reserved, as the first way out where a client does not know its lights."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "harbour_map" and "fallback" in answer.display:
            map_of_it = {"type": "map", "payload": {"at": [57.7, 11.9]}, "fallback": answer.display["fallback"]}
            answer.display["fallback"] = map_of_it
        return answer


@breaks("DSP-011")
class HoldsWithinHolds(Harbour):
    """Shows each hold of a ship as a group within the group of the hold around it, as deep as the ship is."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "stow":
            answer.display = shown_hold(call.args["ship"], 20)
        return answer


@breaks("DSP-012")
class HeadingSaysIt(NegotiatedHarbour):
    """Has no words for a chart that has a heading, since the heading says what it is."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "tide_chart" and "heading" in call.args:
            del answer.display["alt"]
        return answer


@breaks("DSP-013", "DSP-004")
class PlaceInTheAddress(PlainHarbour):
    """Writes the name of a place into the address of its picture as it is, with the spaces that are in it."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "harbour_map" and call.args.get("style", "photo") == "photo":
            answer.display["payload"]["src"] = f"https://harbour.example/maps/{call.args['place']}.png"
        return answer


@breaks("DSP-014")
class ZoomForMany(Harbour):
    """Lets the person zoom into a chart of more than sixty heights, with the member that Vega-Lite has for it."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "tide_chart" and len(call.args["heights"]) > 60:
            answer.display["payload"]["params"] = [{"name": "zoom", "select": "interval", "bind": "scales"}]
        return answer


@breaks("DSP-021")
class FailuresAreForThePerson(NegotiatedHarbour):
    """Sends the display that comes with a failure to each caller, since a person always wants to know of it."""

    def keeps(self, call: Call, display: Any) -> bool:
        note = call.tool == "pilot" and display is not None and display["type"] == "notification"
        return note or super().keeps(call, display)


@breaks("DSP-022")
class DisplayAlone(NegotiatedHarbour):
    """Writes no element for an empty text where there is a display to fill the document."""

    def children(self, call: Call, outcome: Answer | Failure) -> list[str]:
        children = super().children(call, outcome)
        alone = isinstance(outcome, Answer) and not outcome.text and outcome.display is not None
        return children[1:] if alone else children


@breaks("DSP-024")
class HintForNull(Harbour):
    """Says that a display is perhaps not shown where `show_user` is not false, also where it is null: there is none."""

    def set_aside(self, call: Call, tool: Tool) -> None:
        null = call.args.get("show_user", "") is None
        super().set_aside(call, tool)
        if null and "show_user" not in call.args:
            call.times = 0

    def hint(self, call: Call, answer: Answer) -> str:
        return self.perhaps() if not call.times and not call.client else super().hint(call, answer)


@breaks("DSP-025")
class HintForThePerson(NegotiatedHarbour):
    """Says that a display is perhaps not shown in a block for the person alone, and not to the model."""

    def hint(self, call: Call, answer: Answer) -> str:
        return ""

    def more_blocks(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        blocks = super().more_blocks(call, outcome)
        if isinstance(outcome, Failure) or outcome.display is None or call.client:
            return blocks
        return [*blocks, block(self.perhaps().strip(), "user")]
