"""Wrong in how JSON is written, or in what the JSON about filled-in parameters says."""

from __future__ import annotations

import json
import re
from typing import Any

from unseen_eighth.kit import ROWS, Call, Failure, Json, broken, whole
from unseen_eighth.writer import MOST

from unseen_ninth.registry import breaks
from unseen_ninth.workshop import NegotiatedWorkshop, Workshop


@breaks("RSP-040")
class LinesInStrings(NegotiatedWorkshop):
    """Writes line feeds in the strings of a display as they are, so that its log of documents can be read."""

    def shown(self, call: Call, display: Any) -> str:
        return super().shown(call, display).replace("\\n", "\n")


@breaks("RSP-041")
class RecoveryAtTheEnd(Workshop):
    """Ends the `meta` of each failure with what helps according to the registry, also where it was already there."""

    def failure(self, call: Call, failure: Failure) -> str:
        if failure.meta is None:
            return super().failure(call, failure)
        helps = ROWS.get(failure.code, {}).get("recovery", "give_up")
        lossy = {"lossy": "true"} if broken(failure.meta) else {}
        more = f'"recovery":"{helps}"}}'
        begun = self.json(failure.meta)[:-1]
        meta = self.element("meta", lossy, begun + ("" if begun == "{" else ",") + more)
        return self.element("error", self.failure_says(call, failure), self.message(call, failure) + meta)


@breaks("RSP-042")
class OnlyWhatOpens(NegotiatedWorkshop):
    """Leaves `>` in the JSON of displays raw, except in `]]>`, since XML does not ask for more."""

    def shown(self, call: Call, display: Any) -> str:
        lossy = {"lossy": "true"} if broken(display) else {}
        return self.element("display", lossy, re.sub(r"(?<!\]\])\\u003e", ">", self.json(display)))


@breaks("RSP-043")
class DebtsAreNumbers(Workshop):
    """Writes a whole number as a text where it is too large, and never looks at those that are too small."""

    def numbers(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self.numbers(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self.numbers(one) for one in value]
        return str(value) if isinstance(value, int) and not isinstance(value, bool) and value > MOST else value


@breaks("RSP-044")
class HalfAnEmoji(NegotiatedWorkshop):
    """Entitles the table of parts with the first 61 units of UTF-16 of the query, and so with half an emoji."""

    def shown(self, call: Call, display: Any) -> str:
        if call.tool != "search_parts" or display["type"] != "table":
            return super().shown(call, display)
        units = whole(call.args["query"]).encode("utf-16-le")[: 2 * 61]
        said = {**self.numbers(whole(display)), "title": units.decode("utf-16-le", "surrogatepass")}
        return self.element("display", {}, self.inert(json.dumps(said)))


@breaks("RSP-096")
class MaskedAndNamed(NegotiatedWorkshop):
    """Discloses a mask for a secret of which the caller sent a value, beside its name among those not disclosed."""

    def disclosed(self, call: Call) -> Json:
        said = super().disclosed(call)
        return {**said, "values": {**said["values"], **{one: "****" for one in said["redacted"] if one in call.forged}}}
