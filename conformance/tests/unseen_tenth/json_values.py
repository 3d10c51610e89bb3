"""Wrong in how JSON is written."""

from __future__ import annotations

import json
import re
from typing import Any

from unseen_eighth.kit import Call, Failure, Json, broken, whole

from unseen_tenth.harbour import Harbour, NegotiatedHarbour
from unseen_tenth.registry import breaks


class Speller(Harbour):
    """Writes the JSON of displays value by value."""

    def shown(self, call: Call, display: Any) -> str:
        written = self.spelled(self.numbers(whole(display)))
        return self.element("display", {"lossy": "true"} if broken(display) else {}, written)

    def spelled(self, value: Any) -> str:
        """Return a value as JSON."""
        match value:
            case dict():
                return "{" + ",".join(f"{self.member(name)}:{self.spelled(one)}" for name, one in value.items()) + "}"
            case list():
                return "[" + ",".join(self.spelled(one) for one in value) + "]"
            case float():
                return self.fraction(value)
        return self.inert(json.dumps(value, ensure_ascii=False))

    def member(self, name: str) -> str:
        """Return the name of a member."""
        return self.inert(json.dumps(name, ensure_ascii=False))

    def fraction(self, number: float) -> str:
        """Return a number that has a fraction."""
        return json.dumps(number, allow_nan=False)


@breaks("RSP-040")
class NothingBeforeThePoint(Speller):
    """Writes numbers between -1 and 1 in displays as its calculator does, with nothing before the point."""

    def fraction(self, number: float) -> str:
        return re.sub(r"^(-?)0\.", r"\1.", super().fraction(number))


@breaks("RSP-041")
class WindComesFirst(NegotiatedHarbour):
    """Begins the display of a log entry with the wind by hand, also where the entry has the wind itself."""

    def shown(self, call: Call, display: Any) -> str:
        written = super().shown(call, display)
        if call.tool != "log-entry" or not display["payload"]:
            return written
        return written.replace('"payload":{', '"payload":{"wind":null,', 1)


@breaks("RSP-042")
class NamesAreText(Speller):
    """Writes the names of members in displays with the escape for XML, and the values as JSON without markup."""

    def member(self, name: str) -> str:
        return self.data(json.dumps(name))


@breaks("RSP-043")
class TwoToThe53(NegotiatedHarbour):
    """Takes 2^53 for the largest whole number that a double can hold, and so for a number that it can write."""

    def numbers(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self.numbers(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self.numbers(one) for one in value]
        large = isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**53
        return str(value) if large else value


@breaks("RSP-044")
class LowBeforeHigh(Harbour):
    """Writes the two halves of a pair in the wrong order in the `meta` of failures, with escapes of its own making."""

    def failure(self, call: Call, failure: Failure) -> str:
        if failure.meta is None:
            return super().failure(call, failure)
        written = self.inert(json.dumps(self.numbers(whole(failure.meta)), separators=(",", ":")))
        written = re.sub(r"(?<!\\)(\\ud[89ab]..)(\\ud[c-f]..)", r"\2\1", written)
        meta = self.element("meta", {"lossy": "true"} if broken(failure.meta) else {}, written)
        return self.element("error", self.failure_says(call, failure), self.message(call, failure) + meta)


@breaks("RSP-096")
class NullForASecret(NegotiatedHarbour):
    """Discloses null in the place of a secret where nothing else was filled in, beside the name of the secret."""

    def disclosed(self, call: Call) -> Json:
        said = super().disclosed(call)
        return {**said, "values": said["values"] or dict.fromkeys(said["redacted"])}
