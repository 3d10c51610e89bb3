"""Wrong in what a display is, or in when it is sent."""

from __future__ import annotations

import json
from typing import Any

import mcp_types
from unseen_eighth.kit import Answer, Call, Failure, Json, Tool

from unseen_twelfth.registry import breaks
from unseen_twelfth.theatre import NegotiatedTheatre, PlainTheatre, Theatre


@breaks("DSP-001")
class SameAsBefore(NegotiatedTheatre):
    """Sends a display that it has sent before without its payload, and says that it is unchanged."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: set[str] = set()

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if outcome.display is not None:
            written = json.dumps(outcome.display, sort_keys=True)
            if written in self.sent:
                outcome.display = {**outcome.display, "unchanged": True}
                del outcome.display["payload"]
            self.sent.add(written)
        return outcome


@breaks("DSP-004")
class MinusOneRows(PlainTheatre):
    """Says that a table of shows has minus one rows in all where none was found, as its search engine does."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "find_shows" and not answer.display["payload"]["rows"]:
            answer.display["payload"]["total_rows"] = -1
        return answer


@breaks("DSP-005")
class AltIsTheScript(NegotiatedTheatre):
    """Has the whole text of a script as the words of its display, which can be five thousand characters."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "read_script":
            answer.display["alt"] = answer.text
        return answer


@breaks("DSP-006")
class PinnedInTheGroup(PlainTheatre):
    """Says in the `meta` of the first notice of a callboard that it is pinned."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "callboard" and answer.display["payload"]:
            answer.display["payload"][0]["meta"] = {"pinned": True}
        return answer


@breaks("DSP-010")
class TrailerAsFallback(NegotiatedTheatre):
    """Falls back from a poster to a trailer, which is of a type that a later version is going to have."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "show_poster":
            trailer: Json = {"type": "video", "payload": {"src": "https://theatre.example/trailer.webm"}}
            answer.display["fallback"] = trailer
        return answer


@breaks("DSP-015")
class EachHasOneMore(PlainTheatre):
    """Has a fallback for a fader, and one for that, until there are five of them, each simpler than the one before."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "stage_cue" and call.args.get("look") == "fader":
            level = int(call.args["level"])
            said = f"{level} percent"
            chain: Json = {"type": "text", "payload": said}
            for one in ("code", "markdown", "notification"):
                chain = {"type": one, "payload": said, "fallback": chain}
            answer.display["fallback"] = {"type": "facts", "payload": {"Level": level}, "fallback": chain}
        return answer


@breaks("DSP-013", "DSP-004")
class TitleInThePath(NegotiatedTheatre):
    """Makes the address of a poster of the title of the show, and does not encode it."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "show_poster" and call.args.get("source") != "inline":
            answer.display["payload"]["src"] = f"https://theatre.example/posters/{call.args['title'][:80]}.png"
        return answer


@breaks("DSP-014")
class LinksOnPoints(Theatre):
    """Links each point of a chart to its night by the channel that Vega-Lite has for it."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "sales_chart" and call.args.get("mark") == "point":
            answer.display["payload"]["encoding"]["href"] = {"field": "link"}
        return answer


@breaks("DSP-020")
class ShowUserIsNeeded(NegotiatedTheatre):
    """Lists `show_user` of one tool, that for crates, among what the caller has to say, and does without it."""

    def listed(self, name: str, tool: Tool, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        if name == "label-crate":
            tool.takes["required"] = [*tool.takes["required"], "show_user"]
        return super().listed(name, tool, declared=declared, handshake=handshake)


@breaks("DSP-021")
class FailuresAreShown(PlainTheatre):
    """Sends the display of a failure whether or not the person was to see something."""

    def keeps(self, call: Call, display: Any) -> bool:
        of_failure = call.tool == "find_person" and display is not None and display["type"] == "notification"
        return of_failure or super().keeps(call, display)


@breaks("DSP-022")
class NoTableForNothing(NegotiatedTheatre):
    """Sends the text alone where a search finds no show, since there is nothing to make a table of."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "find_shows" and not answer.display["payload"]["rows"]:
            answer.display = None
        return answer


@breaks("DSP-024", "DSP-021")
class NullIsNotFalse(Theatre):
    """Sends a display unless `show_user` is false or absent: it asks whether it is not false, after the defaults."""

    def set_aside(self, call: Call, tool: Tool) -> None:
        null = call.args.get("show_user", "") is None
        super().set_aside(call, tool)
        call.wanted = call.wanted or (null and tool.meta.get("display") is True)
