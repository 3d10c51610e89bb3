"""Wrong in how JSON is written, or in what the JSON about filled-in parameters says."""

from __future__ import annotations

import json
from typing import Any

from unseen_eighth.kit import Answer, Call, Failure, Json, whole
from unseen_eighth.observatory import NegotiatedObservatory, Observatory
from unseen_eighth.registry import breaks


@breaks("RSP-040", "RSP-045")
class MeanOfNothing(Observatory):
    """Draws the line for the mean of no samples, too, and writes its NaN as Python does by default."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "light_curve" and not call.args["samples"]:
            answer.display["payload"]["layer"].append({"mark": "rule", "encoding": {"y": {"datum": float("nan")}}})
        return answer

    def json(self, value: Any) -> str:
        return self.inert(json.dumps(self.numbers(whole(value)), ensure_ascii=False, separators=(",", ":")))


@breaks("RSP-041")
class TitleInFront(NegotiatedObservatory):
    """Writes a title before the members of each display by hand, and so a second one where the tool gave one."""

    def shown(self, call: Call, display: Any) -> str:
        return self.element("display", {}, '{"title":"Observatory",' + self.json(display)[1:])


@breaks("RSP-042")
class ReferencesInMeta(Observatory):
    """Escapes the `meta` of failures as it escapes texts: `&lt;` stands in that JSON where a name had a `<`."""

    def failure(self, call: Call, failure: Failure) -> str:
        if failure.meta is None:
            return super().failure(call, failure)
        written = json.dumps(self.numbers(whole(failure.meta)), separators=(",", ":"))
        meta = self.element("meta", {}, self.data(written))
        return self.element("error", self.failure_says(call, failure), self.message(call, failure) + meta)


@breaks("RSP-043")
class QuotaAsANumber(NegotiatedObservatory):
    """Writes what it filled in without the step that makes texts of large whole numbers, as it knows each value."""

    def populated(self, call: Call, filled: Json) -> str:
        written = json.dumps(filled, ensure_ascii=False, separators=(",", ":"))
        return self.element("server_populated", {}, self.inert(written))


@breaks("RSP-044", "RSP-053")
class SpelledByUnits(NegotiatedObservatory):
    """Splits a name into units of UTF-16 to spell it, so that an emoji is two letters, each the half of a pair."""

    def shown(self, call: Call, display: Any) -> str:
        if call.tool != "spell":
            return super().shown(call, display)
        units = call.args["name"].encode("utf-16-be", "surrogatepass")
        letters = [units[at : at + 2].decode("utf-16-be", "surrogatepass") for at in range(0, len(units), 2)]
        rows = [[number + 1, letter] for number, letter in enumerate(letters)]
        payload = {**display["payload"], "rows": rows}
        return self.element("display", {}, self.inert(json.dumps({**display, "payload": payload})))


@breaks("RSP-095", "MCP-025")
class ListForNothing(NegotiatedObservatory):
    """Writes an empty list in the place of an empty object, as its language does, where all values are secret."""

    def disclosed(self, call: Call) -> Json:
        said = super().disclosed(call)
        return {**said, "values": said["values"] or []}

    def filled_block(self, call: Call, filled: Json) -> Any:
        return super().filled_block(call, {**filled, "values": filled["values"] or {}})
