"""Wrong in what a display is, or in when it is sent."""

from __future__ import annotations

import json
from typing import Any

import anyio
import mcp_types
from unseen_eighth.kit import Answer, Call, Json, Tool

from unseen_ninth.registry import breaks
from unseen_ninth.workshop import NegotiatedWorkshop, PlainWorkshop, Workshop


@breaks("DSP-002")
class UnderscoreInAType(PlainWorkshop):
    """Names the display of the gauge after the class that draws it, with an underscore."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "bench" and call.args.get("look") == "gauge":
            answer.display["type"] = "x-workshop-round_gauge"
        return answer


@breaks("DSP-005")
class ShelfAsId(NegotiatedWorkshop):
    """Takes the whole name of a shelf into the id of a display; a shelf can have a longer name than a display."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "open_card" and "shelf" in call.args:
            answer.display["id"] = f"shelf:{call.args['shelf']}"
        return answer


@breaks("DSP-010")
class AsksForARemark(Workshop):
    """Puts a form, a type of a later version, into the group of remarks where there are none yet."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "bench" and answer.display["type"] == "group" and not answer.display["payload"]:
            answer.display["payload"] = [{"type": "form", "payload": {"fields": ["remark"]}}]
        return answer


@breaks("DSP-011")
class AnswersWithinAnswers(NegotiatedWorkshop):
    """Shows each remark within a group that is in the group of the remark before, since it answers that one."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "bench" and answer.display["type"] == "group":
            inner: list[Json] = []
            for one in reversed(answer.display["payload"][:20]):
                inner = [one, {"type": "group", "payload": inner}] if inner else [one]
            answer.display["payload"] = inner
        return answer


@breaks("DSP-015")
class ManyWaysOut(Workshop):
    """Has a fallback for each renderer that it has met, five within each other, with the gauge of a bench."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "bench" and call.args.get("look") == "gauge":
            for name in ("lamp", "scale", "dial"):
                payload = {"at": call.args["load"]}
                answer.display["fallback"] = {
                    "type": f"x-workshop-{name}",
                    "payload": payload,
                    "fallback": answer.display["fallback"],
                }
        return answer


@breaks("DSP-014")
class SmoothedByTheRenderer(PlainWorkshop):
    """Lets the renderer smooth the area of a chart with a `transform` in a layer; lines and bars have none."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "wear_chart" and call.args.get("mark") == "area":
            payload = answer.display["payload"]
            smooth: Json = {"transform": [{"loess": "wear", "on": "hour"}], "mark": payload.pop("mark")}
            payload["layer"] = [{"mark": "point"}, smooth]
        return answer


@breaks("DSP-020")
class AsksAtEachCall(NegotiatedWorkshop):
    """Lists `show_user` as required with one tool, that for pictures, and takes calls without it all the same."""

    def listed(self, name: str, tool: Tool, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        if name == "part_picture":
            tool.takes["required"].append("show_user")
        return super().listed(name, tool, declared=declared, handshake=handshake)


@breaks("DSP-021")
class FalseIsAnAnswer(PlainWorkshop):
    """Sends a display where `show_user` is there, whatever it says; few callers send it to say no."""

    def keeps(self, call: Call, display: Any) -> bool:
        return display is not None and "show_user" in call.args


@breaks("DSP-021", "DSP-022")
class LastWishForAll(NegotiatedWorkshop):
    """Keeps the wish for a display in the server while it looks for a lamp: calls at the same time share the last."""

    def __init__(self) -> None:
        super().__init__()
        self.wish = False

    async def answer(self, call: Call) -> mcp_types.CallToolResult:
        self.wish = call.args.get("show_user") is True
        await anyio.sleep(0.02)
        return await super().answer(call)

    def keeps(self, call: Call, display: Any) -> bool:
        return display is not None and self.wish


@breaks("DSP-022")
class NothingToDraw(PlainWorkshop):
    """Sends no display of a table without rows, a chart without readings or a drawer without labels."""

    def served(self, call: Call, answer: Answer) -> Answer:
        empty = {
            "search_parts": lambda payload: not payload["rows"],
            "wear_chart": lambda payload: not payload["data"]["values"],
            "label-drawer": lambda payload: not payload,
            "my_jobs": lambda payload: not payload,
        }
        if answer.display is not None and call.tool in empty and empty[call.tool](answer.display["payload"]):
            answer.display = None
        return answer


@breaks("DSP-024", "DSP-021")
class NullMeansYes(Workshop):
    """Takes a `show_user` that is null for true with one tool, that for cards, since its test is `is not False`."""

    def set_aside(self, call: Call, tool: Tool) -> None:
        if call.tool == "open_card" and call.args.get("show_user", "") is None:
            call.args["show_user"] = True
        super().set_aside(call, tool)


@breaks("DSP-025")
class WordsAreHintEnough(NegotiatedWorkshop):
    """Says nothing of a display that a client perhaps cannot show where the display comes with words of its own."""

    def hint(self, call: Call, answer: Answer) -> str:
        return "" if answer.display is not None and "alt" in answer.display else super().hint(call, answer)


@breaks("DSP-043")
class ShownBefore(Workshop):
    """Sends a reference in the place of a display that it has sent before, as the person has seen it."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: set[str] = set()

    def understood(self, call: Call, display: Any) -> Any:
        said: Json = super().understood(call, display)
        written = json.dumps(said, sort_keys=True)
        if written not in self.sent:
            self.sent.add(written)
            return said
        return {"type": "x-xmcp-reference", "payload": {"type": said["type"], "bytes": len(written)}}
