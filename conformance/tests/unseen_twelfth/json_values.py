"""Wrong in how JSON is written, or in what the JSON about filled-in parameters says."""

from __future__ import annotations

import json
from typing import Any

from unseen_eighth.kit import ILLEGAL, Answer, Call, Json, whole

from unseen_twelfth.registry import breaks
from unseen_twelfth.theatre import NegotiatedTheatre, PlainTheatre, Theatre


@breaks("RSP-040")
class CommaAtTheEnd(NegotiatedTheatre):
    """Writes what it did not use of the caller with a template that has a comma after each member, the last as well."""

    def populated(self, call: Call, filled: Json) -> str:
        written = super().populated(call, filled)
        return written.replace("}</", ",}</") if "overridden" in filled else written


@breaks("RSP-041")
class DefaultBeforeItsOwn(Theatre):
    """Begins the `meta` of each failure with what holds for most, also where the failure itself says it again."""

    def json_element(self, name: str, value: Any) -> str:
        written = super().json_element(name, value)
        if name != "meta" or not value:
            return written
        return written.replace(">{", '>{"side_effects":"unknown",', 1)


@breaks("RSP-042")
class NamesOfMembers(NegotiatedTheatre):
    """Escapes the values in its JSON for JSON, and the names of members as XML, since they were once attributes."""

    def json(self, value: Any) -> str:
        return self.spelled(self.numbers(whole(value)))

    def spelled(self, value: Any) -> str:
        """Return a value as JSON, in which the names of members are escaped as XML is."""
        if isinstance(value, dict):
            return "{" + ",".join(f"{self.label(name)}:{self.spelled(one)}" for name, one in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ",".join(self.spelled(one) for one in value) + "]"
        return self.inert(json.dumps(value, ensure_ascii=False))

    def label(self, name: str) -> str:
        """Return the name of a member as it is written."""
        written = json.dumps(name, ensure_ascii=False)
        return self.data(ILLEGAL.sub(lambda found: f"\\u{ord(found[0]):04x}", written))


@breaks("RSP-043")
class DoublesOfJavaScript(Theatre):
    """Writes a double as JavaScript does, which has neither a fraction nor an exponent up to 10^21."""

    def json(self, value: Any) -> str:
        return super().json(self.doubles(value)).replace('"\ue000', "").replace('\ue000"', "")

    def doubles(self, value: Any) -> Any:
        """Return a value in which each double without a fraction is a text between two marks."""
        if isinstance(value, dict):
            return {name: self.doubles(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self.doubles(one) for one in value]
        if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
            return f"\ue000{int(value)}\ue000"
        return value


@breaks("RSP-044")
class InitialsByUnit(NegotiatedTheatre):
    """Notes the initials of the words of a script beside its display, each of which is one unit of UTF-16."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "read_script":
            initials = [self.unit(one[0]) for one in answer.text.split()[:50]]
            answer.display["meta"] = {**answer.display.get("meta", {}), "theatre/initials": initials}
        return answer

    def unit(self, letter: str) -> str:
        """Return the first unit of UTF-16 of a letter."""
        number = ord(letter)
        return letter if number < 0x10000 else chr(0xD800 + ((number - 0x10000) >> 10))

    def shown(self, call: Call, display: Any) -> str:
        if call.tool != "read_script":
            return super().shown(call, display)
        return self.element("display", {}, self.inert(json.dumps(self.numbers(display))))


@breaks("RSP-096")
class StarsForTheSecret(PlainTheatre):
    """Writes four stars as the value of a parameter that it does not disclose, and names it as one of those, too."""

    def disclosed(self, call: Call) -> Json:
        said = super().disclosed(call)
        return {**said, "values": {**said["values"], **dict.fromkeys(said["redacted"], "****")}}
