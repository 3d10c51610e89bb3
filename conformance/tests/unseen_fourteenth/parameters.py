"""Harbour offices that get arguments wrong, or the parameters that they fill in."""

from __future__ import annotations

from typing import Any

from unseen_eighth.kit import Answer, Call, Failure, Json, Tool

from unseen_fourteenth.harbour import Harbour, NegotiatedHarbour, PlainHarbour
from unseen_fourteenth.registry import breaks


@breaks("ERR-020")
class UsesWhatIsNested(PlainHarbour):
    """Answers a fault within an object or a list with the code `INVALID_ARGUMENT`."""

    def check(self, call: Call, tool: Tool) -> None:
        try:
            super().check(call, tool)
        except Failure as failure:
            fields = (failure.meta or {})["fields"]
            if all(one["pointer"].count("/") > 1 for one in fields):
                raise Failure("INVALID_ARGUMENT", failure.message, failure.meta) from failure
            raise


@breaks("ERR-020")
class IgnoresStrangers(Harbour):
    """Ignores members that the schema does not allow in the objects within the arguments."""

    def faults(self, call: Call, tool: Tool) -> list[Json]:
        return [
            one for one in super().faults(call, tool) if one["reason"] != "unknown" or one["pointer"].count("/") == 1
        ]


@breaks("ERR-021")
class CountsFromOne(NegotiatedHarbour):
    """Counts the items of a list from one in the pointers to refused arguments."""

    def pointer(self, path: list[Any]) -> str:
        return super().pointer([one + 1 if isinstance(one, int) else one for one in path])


@breaks("DSP-024", "DSP-021")
class NullIsYes(PlainHarbour):
    """Takes a `show_user` that is `null` for `true` in one of its tools, whose default it once was."""

    def set_aside(self, call: Call, tool: Tool) -> None:
        if call.tool == "weather_warning" and call.args.get("show_user", "") is None:
            call.args["show_user"] = True
        super().set_aside(call, tool)


@breaks("TOL-021")
class OverriddenIsEnough(NegotiatedHarbour):
    """Names a parameter for which the caller sent a value in `overridden` alone, not in `values` or `redacted`."""

    def disclosed(self, call: Call) -> Json:
        said = super().disclosed(call)
        said["values"] = {name: one for name, one in said["values"].items() if name not in call.forged}
        said["redacted"] = [name for name in said["redacted"] if name not in call.forged]
        return said


@breaks("TOL-023")
class BelievesTheAgent(PlainHarbour):
    """Calls the tool with the agent that the caller named, and says that it did not."""

    def work(self, call: Call, tool: Tool) -> Answer:
        filled = dict(call.filled)
        call.filled.update({name: one for name, one in call.forged.items() if name == "agent_id"})
        answer = super().work(call, tool)
        call.filled = filled
        return answer


@breaks("TOL-024")
class ChecksFirst(Harbour):
    """Validates the arguments before it sets the parameters aside which it fills in, unless they are `null`."""

    def set_aside(self, call: Call, tool: Tool) -> None:
        for name in tool.meta.get("server_populated", []):
            if call.args.get(name) is not None:
                self.check(call, tool)
        super().set_aside(call, tool)
