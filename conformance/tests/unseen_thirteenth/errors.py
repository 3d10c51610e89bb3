"""Print shops that get errors wrong."""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import Any

from unseen_eighth.kit import Answer, Call, Failure, Json, Tool

from unseen_thirteenth.printshop import NegotiatedPrintShop, PlainPrintShop, PrintShop
from unseen_thirteenth.registry import breaks


@breaks("ERR-004")
class WaitsInFractions(PrintShop):
    """Keeps waits in seconds and multiplies them, so that `retry_after_ms` is `2500.0`."""

    def failure_says(self, call: Call, failure: Failure) -> dict[str, str]:
        said = super().failure_says(call, failure)
        if "retry_after_ms" in said:
            said["retry_after_ms"] = str(int(said["retry_after_ms"]) / 1000 * 1000.0)
        return said


@breaks("ERR-006")
class RepeatsTheException(PrintShop):
    """The message of an unforeseen failure is the text of the exception, and some exceptions have none."""

    def surprise(self, call: Call, error: Exception) -> Failure:
        failure = super().surprise(call, error)
        failure.message = str(error)
        return failure


@breaks("ERR-007", "MCP-024")
class KnowsNoReason(NegotiatedPrintShop):
    """Has words for some of the reasons why an argument is refused; for one that nobody knows, `reason` is `null`."""

    reasons = ("type", "enum", "required", "minimum", "maximum", "maxlength", "maxitems", "format")

    def named(self, call: Call, path: list[str | int], why: str) -> Json:
        return {**super().named(call, path, why), "reason": why if why in self.reasons else None}


@breaks("ERR-010")
class CategorizesByStatus(NegotiatedPrintShop):
    """Takes the category from the class of the HTTP status: a conflict is 409, and so `invalid_input` like all from
    400.
    """

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if isinstance(outcome, Failure) and outcome.code == "CONFLICT":
            outcome.category = "invalid_input"
        return outcome


@breaks("ERR-011")
class LeavesCategoriesToTheRegistry(PrintShop):
    """Writes no category into a document, since the registry has it, also for a code of its own that is not
    registered.
    """

    def failure_says(self, call: Call, failure: Failure) -> dict[str, str]:
        said = super().failure_says(call, failure)
        del said["category"]
        return said


@breaks("ERR-020")
class ClampsNumbers(PlainPrintShop):
    """Means well with whole numbers that are out of range, and takes the nearest one that is not."""

    def set_aside(self, call: Call, tool: Tool) -> None:
        super().set_aside(call, tool)
        for name, schema in tool.takes["properties"].items():
            value: Any = call.args.get(name)
            if schema.get("type") == "integer" and isinstance(value, int) and not isinstance(value, bool):
                call.args[name] = min(max(value, schema["minimum"]), schema["maximum"])


@breaks("ERR-021")
class NamesTheParent(NegotiatedPrintShop):
    """The pointer of a missing argument is that of the object in which it is missing, as validators report it."""

    def faults(self, call: Call, tool: Tool) -> list[tuple[list[str | int], str]]:
        return [(path[:-1] if why == "required" else path, why) for path, why in super().faults(call, tool)]


@breaks("ERR-022")
class GuessesTools(PlainPrintShop):
    """Calls the tool with the most similar name; where none is similar, the code is `NOT_FOUND`."""

    def stranger(self, call: Call) -> Answer:
        for name in difflib.get_close_matches(call.tool, self.tools(), 1, 0.8) if call.tool else []:
            return self.serve(replace(call, tool=name))
        if call.tool:
            raise Failure("NOT_FOUND", "The print shop does not know what to call.", {"side_effects": "none"})
        return super().stranger(call)


@breaks("ERR-030")
class KeepsIdsFromHosts(NegotiatedPrintShop):
    """A plain result of an unforeseen failure comes without the `meta` of the error, where its id is."""

    def plain_error(self, call: Call, failure: Failure) -> Json:
        said = super().plain_error(call, failure)
        if failure.code == "INTERNAL":
            said.pop("meta", None)
        return said


@breaks("ERR-032")
class ShowsWhereItLooked(PrintShop):
    """Says in the `params` of a failed search in which file of its disk it looked."""

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if isinstance(outcome, Failure) and outcome.code == "NOT_FOUND" and outcome.meta is not None:
            outcome.meta["params"]["file"] = "/var/lib/printshop/jobs/index-2026.sqlite3"
        return outcome
