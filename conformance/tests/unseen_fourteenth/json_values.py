"""Harbour offices that get the JSON within documents wrong."""

from __future__ import annotations

import json
from typing import Any

from unseen_eighth.kit import Answer, Call, Json, Tool

from unseen_fourteenth.harbour import Harbour, NegotiatedHarbour, plain
from unseen_fourteenth.registry import breaks


def _wide(value: Any) -> Any:
    match value:
        case bool():
            return value
        case int():
            return value if abs(value) < 2**63 else str(value)
        case dict():
            return {key: _wide(one) for key, one in value.items()}
        case list():
            return [_wide(one) for one in value]
    return plain(value)


@breaks("RSP-043")
class TrustsSixtyFourBits(Harbour):
    """Writes an integer as a number as long as 64 bits hold it, in what it says of the filled-in parameters."""

    def json(self, name: str, value: Any) -> str:
        if name != "server_populated":
            return super().json(name, value)
        return self.inert(json.dumps(_wide(value), separators=(",", ":")))


@breaks("RSP-042")
class EscapesJsonAsText(NegotiatedHarbour):
    """Writes `&`, `<` and `>` in the `meta` of an error as references of XML, not as escapes of JSON."""

    def json(self, name: str, value: Any) -> str:
        if name != "meta":
            return super().json(name, value)
        return self.characters(json.dumps(plain(value), separators=(",", ":")))


@breaks("RSP-041", "RSP-040")
class SaysOverriddenTwice(Harbour):
    """Appends a member `overridden` for each parameter that the caller sent, in one object."""

    def json(self, name: str, value: Any) -> str:
        if name != "server_populated" or "overridden" not in value:
            return super().json(name, value)
        rest = {key: one for key, one in value.items() if key != "overridden"}
        more = "".join(f',"overridden":["{one}"]' for one in value["overridden"])
        return f"{super().json(name, rest)[:-1]}{more}}}"


@breaks("RSP-040", "RSP-045")
class WritesBareNan(NegotiatedHarbour):
    """Shows in the table of berths a mean depth, which is a bare `NaN` in the document where no berth is left."""

    def work(self, call: Call, tool: Tool) -> Answer:
        answer = super().work(call, tool)
        if call.tool == "list_berths":
            rows = answer.display["payload"]["rows"]
            mean = sum(one["depth_dm"] for one in rows) / len(rows) if rows else None
            answer.display["meta"]["harbour.example/mean"] = mean
        return answer

    def json(self, name: str, value: Any) -> str:
        return super().json(name, value).replace('"harbour.example/mean":null', '"harbour.example/mean":NaN')


@breaks("RSP-095")
class OneIsNoList(NegotiatedHarbour):
    """Writes the single name in `redacted` as a text, without the list around it."""

    def disclosed(self, call: Call) -> Json:
        said = super().disclosed(call)
        return {**said, "redacted": said["redacted"][0] if len(said["redacted"]) == 1 else said["redacted"]}


@breaks("RSP-096")
class MasksAndRedacts(Harbour):
    """Lists a sensitive parameter both in `redacted` and, masked, in `values`, when the caller sent one."""

    def disclosed(self, call: Call) -> Json:
        said = super().disclosed(call)
        if call.forged:
            said["values"] |= dict.fromkeys(said["redacted"], "***")
        return said


@breaks("RSP-006", "RSP-026")
class ShoutsTrue(Harbour):
    """Writes the attribute `lossy` with the `True` of Python."""

    def lossy(self, text: str) -> str:
        return super().lossy(text).replace("true", "True")
