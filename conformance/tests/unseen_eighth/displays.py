"""Wrong in what a display is, or in when it is sent."""

from __future__ import annotations

import json
from typing import Any

import mcp_types

from unseen_eighth.kit import Answer, Call, Json, Tool
from unseen_eighth.observatory import NegotiatedObservatory, Observatory, PlainObservatory
from unseen_eighth.registry import breaks


@breaks("DSP-001", "DSP-023")
class OmitsWhatIsEmpty(PlainObservatory):
    """Leaves a payload out that is empty, since its struct of a display says `omitempty` for each member."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if answer.display is not None and not answer.display["payload"]:
            del answer.display["payload"]
        return answer


@breaks("DSP-004")
class RuledLines(Observatory):
    """Puts null between each ten rows of a table of objects, where its own renderer draws a line."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "find_objects":
            rows = answer.display["payload"]["rows"]
            for at in range(10 * ((len(rows) - 1) // 10), 0, -10):
                rows.insert(at, None)
        return answer


@breaks("DSP-005")
class WholeQuestion(NegotiatedObservatory):
    """Takes the whole of what was searched for into the title of a table, however long it is."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "find_objects":
            answer.display["title"] = f"Objects that match: {call.args['query']}"
        return answer


@breaks("DSP-010")
class TypeOfLater(PlainObservatory):
    """Sends the dial of a dome as the type `progress`, which a later version is going to have."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "dome_status" and call.args.get("view") == "dial":
            payload = {"value": call.args["azimuth"], "max": 359}
            answer.display = {"type": "progress", "payload": payload, "alt": answer.display["alt"]}
        return answer


@breaks("DSP-014")
class ColourOfTheBand(NegotiatedObservatory):
    """Colours a chart by its band with the member `config`, as one does in Vega-Lite, where a band is asked for."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "light_curve" and "band" in call.args:
            answer.display["payload"]["config"] = {"line": {"color": "purple" if call.args["band"] == "U" else "navy"}}
        return answer


@breaks("DSP-020")
class NothingToShowToOldOnes(Observatory):
    """Leaves `show_user` out of the schemas that it lists after a handshake, and takes it all the same."""

    def listed(self, name: str, tool: Tool, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        if handshake:
            tool.takes["properties"].pop("show_user", None)
        return super().listed(name, tool, declared=declared, handshake=handshake)


@breaks("DSP-021")
class RemembersTheWish(PlainObservatory):
    """Remembers for which tools a person wanted to see something, and shows it from then on without being asked."""

    def __init__(self) -> None:
        super().__init__()
        self.wishes: set[str] = set()

    def keeps(self, call: Call, display: Any) -> bool:
        if call.wanted:
            self.wishes.add(call.tool)
        return display is not None and call.tool in self.wishes


@breaks("DSP-022")
class TextOnTheShelf(NegotiatedObservatory):
    """Keeps answers of the tool that is cacheable without their displays, and takes later ones from there."""

    def __init__(self) -> None:
        super().__init__()
        self.shelf: dict[str, str] = {}

    def served(self, call: Call, answer: Answer) -> Answer:
        if not self.tools()[call.tool].meta.get("cacheable"):
            return answer
        key = json.dumps([call.tool, {name: one for name, one in call.args.items() if name != "show_user"}])
        if key in self.shelf:
            return Answer(self.shelf[key], data=answer.data)
        self.shelf[key] = answer.text
        return answer


@breaks("DSP-024")
class NullIsNoBoolean(PlainObservatory):
    """Checks the arguments of one tool, that for tags, before it takes a `show_user` that is null for an absent one."""

    def set_aside(self, call: Call, tool: Tool) -> None:
        unset = call.tool == "tag_object" and call.args.get("show_user", "") is None
        super().set_aside(call, tool)
        if unset:
            call.args["show_user"] = None


@breaks("DSP-025")
class SaysItOnce(NegotiatedObservatory):
    """Says only once that a client perhaps cannot show a display, since one hint is enough for a conversation."""

    def __init__(self) -> None:
        super().__init__()
        self.said = False

    def hint(self, call: Call, answer: Answer) -> str:
        hint = "" if self.said else super().hint(call, answer)
        self.said = self.said or bool(hint)
        return hint


@breaks("DSP-043")
class SavesTokens(Observatory):
    """Sends a reference in the place of each display of more than four thousand bytes, to save the client the work."""

    def understood(self, call: Call, display: Any) -> Any:
        said: Json = super().understood(call, display)
        size = self.size(json.dumps(said, ensure_ascii=False, separators=(",", ":")))
        if size <= 4096:
            return said
        reference = {"type": "x-xmcp-reference", "payload": {"type": said["type"], "bytes": size}}
        return {**reference, "title": said["title"]} if "title" in said else reference
