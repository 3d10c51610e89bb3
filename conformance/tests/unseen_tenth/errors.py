"""Wrong in how a failure is told."""

from __future__ import annotations

import re
import traceback
from typing import Any

from unseen_eighth.kit import Answer, Call, Failure, Json, Tool

from unseen_tenth.harbour import Harbour, NegotiatedHarbour, PlainHarbour
from unseen_tenth.registry import breaks


@breaks("ERR-005")
class FogLifts(Harbour):
    """Says with the failure for fog, which no retry is to follow, when the fog is going to lift."""

    def failure_says(self, call: Call, failure: Failure) -> dict[str, str]:
        said = super().failure_says(call, failure)
        return {**said, "retry_after_ms": "5400000"} if failure.code == "X_HARBOUR_FOG" else said


@breaks("ERR-007", "MCP-024")
class NothingToSayOfIt(NegotiatedHarbour):
    """Names an argument that is missing with a reason and without a message, as `missing` says it all."""

    def named(self, call: Call, path: list[str | int], why: str) -> Json:
        said = super().named(call, path, why)
        return {"pointer": said["pointer"], "reason": "missing"} if why == "required" else said


@breaks("ERR-008", "RSP-006")
class HelpInside(Harbour):
    """Ends the failure of a silent radio with an element of its own, after `meta` and not after the failure."""

    def failure(self, call: Call, failure: Failure) -> str:
        said = super().failure(call, failure)
        if failure.code != "UPSTREAM_UNAVAILABLE":
            return said
        return said.removesuffix("</error>") + '<h:help xmlns:h="urn:harbour.example:help"/></error>'


@breaks("ERR-010")
class AliasHasNoRow(PlainHarbour):
    """Has the other name of the code for too many calls, and looks its category up in a table of first names."""

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if isinstance(outcome, Failure) and outcome.code == "RATE_LIMIT":
            outcome.code, outcome.category = "RATE_LIMITED", "internal"
        return outcome


@breaks("ERR-011")
class CategoriesOfTheRegistry(NegotiatedHarbour):
    """Writes the category that the registry has for a code, and none with a code of its own."""

    def failure_says(self, call: Call, failure: Failure) -> dict[str, str]:
        said = super().failure_says(call, failure)
        return {name: one for name, one in said.items() if name != "category" or not failure.code.startswith("X_")}


@breaks("ERR-020")
class RoundsDown(PlainHarbour):
    """Makes a whole number of each number that is to be one, and so takes 2.5 for 2."""

    def set_aside(self, call: Call, tool: Tool) -> None:
        super().set_aside(call, tool)
        for name, schema in tool.takes["properties"].items():
            one = call.args.get(name)
            if schema.get("type") == "integer" and isinstance(one, float):
                call.args[name] = int(one)


@breaks("ERR-021")
class NamesWhatLacksIt(NegotiatedHarbour):
    """Names the object within the arguments that lacks something, and not the argument that is missing there."""

    def faults(self, call: Call, tool: Tool) -> list[tuple[list[str | int], str]]:
        faults = super().faults(call, tool)
        return [(path[:-1] if why == "required" and len(path) > 1 else path, why) for path, why in faults]


@breaks("ERR-030")
class NothingForOthers(NegotiatedHarbour):
    """Has no `meta` with a failure that nobody foresaw in plain results, whose readers would not ask for the log."""

    def plain_error(self, call: Call, failure: Failure) -> Json:
        said = super().plain_error(call, failure)
        return {name: one for name, one in said.items() if name != "meta" or failure.code != "INTERNAL"}


@breaks("ERR-031")
class TraceInParams(Harbour):
    """Has the trace of a failure that nobody foresaw among the `params` of the message, without the directories."""

    def surprise(self, call: Call, error: Exception) -> Failure:
        failure = super().surprise(call, error)
        trace = re.sub(r'File ".*[/\\]', 'File "', "".join(traceback.format_exception(error)))
        failure.meta = {**(failure.meta or {}), "params": {"trace": trace}}
        return failure


@breaks("ERR-032")
class FileOfTheSchema(PlainHarbour):
    """Says of each argument that it refuses in which file of its machine the schema is that it does not fit."""

    def named(self, call: Call, path: list[str | int], why: str) -> Any:
        said = super().named(call, path, why)
        return {**said, "message": f"It does not fit /srv/harbour/schemas/{call.tool}.json: {why}."}
