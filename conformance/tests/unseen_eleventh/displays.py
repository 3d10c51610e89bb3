"""Wrong in what a display is, or in when it is sent."""

from __future__ import annotations

import json
import re
from typing import Any

import anyio
import mcp_types
from unseen_eighth.kit import Answer, Call, Json, Tool

from unseen_eleventh.garden import Garden, NegotiatedGarden, PlainGarden
from unseen_eleventh.registry import breaks


@breaks("DSP-001")
class NoticesInAList(Garden):
    """Sends a notification as a list with one in it, since its page can show several of them."""

    def shown(self, call: Call, display: Any) -> str:
        return super().shown(call, [display] if display["type"] == "notification" else display)


@breaks("DSP-004")
class ChartAsString(PlainGarden):
    """Makes a text of the specification of a chart, as its chart library has it, before it is in the payload."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "growth_chart":
            answer.display["payload"] = json.dumps(answer.display["payload"])
        return answer


@breaks("DSP-005")
class IdOfNoDrawer(NegotiatedGarden):
    """Has an id in each display of a label, which is the empty text where no drawer was named."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "read_label":
            answer.display.setdefault("id", "")
        return answer


@breaks("DSP-006")
class CachedInMeta(PlainGarden):
    """Says in the `meta` of a display that it came from the cache where it was sent before."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: set[str] = set()

    def understood(self, call: Call, display: Any) -> Any:
        said: Json = super().understood(call, display)
        written = json.dumps(said, sort_keys=True)
        if written in self.sent:
            return {**said, "meta": {**said.get("meta", {}), "cached": True}}
        self.sent.add(written)
        return said


@breaks("DSP-011")
class HalvesOfHalves(NegotiatedGarden):
    """Lays out the notes of a board by halves, groups in groups, until there are two notes in each."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "pin_board":
            answer.display["payload"] = self.halves(answer.display["payload"])
        return answer

    def halves(self, notes: list[Json]) -> list[Json]:
        """Return notes, or two groups with half of them each."""
        if len(notes) <= 2:
            return notes
        middle = len(notes) // 2
        return [{"type": "group", "payload": self.halves(half)} for half in (notes[:middle], notes[middle:])]


@breaks("DSP-012")
class NoWordsForNoHeights(PlainGarden):
    """Has words for a chart only where there is a greatest height that they can speak of."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "growth_chart" and not call.args["measured"]:
            del answer.display["alt"]
        return answer


@breaks("DSP-014")
class DataOnRequest(NegotiatedGarden):
    """Lets the renderer fetch the data of a chart with more than twenty heights."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "growth_chart" and len(call.args["measured"]) > 20:
            answer.display["payload"]["data"] = {"url": "https://garden.example/heights.json"}
        return answer


@breaks("DSP-020")
class ShowUserInWords(NegotiatedGarden):
    """Lists `show_user` of one tool, that for trays, as one of two texts, as forms of the web send it."""

    def listed(self, name: str, tool: Tool, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        if name == "label-tray":
            tool.takes["properties"]["show_user"] = {"type": "string", "enum": ["true", "false"]}
        return super().listed(name, tool, declared=declared, handshake=handshake)


@breaks("DSP-022")
class OnePencil(NegotiatedGarden):
    """Draws one display at a time, and answers with the text alone while the pencil is in use by another call."""

    def __init__(self) -> None:
        super().__init__()
        self.drawing = 0
        self.without: set[int] = set()

    async def answer(self, call: Call) -> mcp_types.CallToolResult:
        if call.args.get("show_user") is not True:
            return await super().answer(call)
        if self.drawing:
            self.without.add(id(call))
        self.drawing += 1
        try:
            await anyio.sleep(0.02)
            return await super().answer(call)
        finally:
            self.drawing -= 1
            self.without.discard(id(call))

    def keeps(self, call: Call, display: Any) -> bool:
        return super().keeps(call, display) and id(call) not in self.without


@breaks("DSP-022", "DSP-023")
class FailsToDrawQuietly(Garden):
    """Logs that a display with a control character in it could not be drawn, and sends the text alone."""

    def keeps(self, call: Call, display: Any) -> bool:
        return super().keeps(call, display) and not re.search(r"\\u00[01]", json.dumps(display))


@breaks("DSP-024")
class NullUnboxed(NegotiatedGarden):
    """Unboxes a `show_user` that is null with one tool, that for greenhouses, which nobody foresaw."""

    def set_aside(self, call: Call, tool: Tool) -> None:
        if call.tool == "greenhouse" and call.args.get("show_user", "") is None:
            raise TypeError("show_user is null")
        super().set_aside(call, tool)


@breaks("DSP-025")
class HintForShortTexts(NegotiatedGarden):
    """Says that a client can perhaps not show a display only after texts of at most two hundred characters."""

    def hint(self, call: Call, answer: Answer) -> str:
        return super().hint(call, answer) if len(answer.text) <= 200 else ""
