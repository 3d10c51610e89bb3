"""Wrong in how a failure is told."""

from __future__ import annotations

from unseen_eighth.kit import Answer, Call, Failure, Json, Tool

from unseen_eleventh.garden import Garden, NegotiatedGarden, PlainGarden
from unseen_eleventh.registry import breaks


@breaks("ERR-020", "ERR-001")
class AsksWhatIsMissing(NegotiatedGarden):
    """Asks for arguments that are missing in a text for the model, as if the call had been a success."""

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if isinstance(outcome, Failure) and outcome.code == "VALIDATION_FAIL":
            missing = [one["pointer"][1:] for one in (outcome.meta or {})["fields"] if one["reason"] == "required"]
            if missing:
                return Answer("Please call again and say also: " + ", ".join(missing))
        return outcome


@breaks("ERR-003", "RSP-006")
class TriesLeft(Garden):
    """Writes how often a call can be tried again in the place of whether it can."""

    def failure_says(self, call: Call, failure: Failure) -> dict[str, str]:
        said = super().failure_says(call, failure)
        return {**said, "retryable": "3"} if "retryable" in said else said


@breaks("ERR-004", "RSP-006")
class WaitAsDouble(NegotiatedGarden):
    """Writes the wait for a service that does not answer as the double that its configuration has, with a fraction."""

    def failure_says(self, call: Call, failure: Failure) -> dict[str, str]:
        said = super().failure_says(call, failure)
        if failure.code == "UPSTREAM_UNAVAILABLE" and failure.wait is not None:
            said["retry_after_ms"] = f"{failure.wait:.1f}"
        return said


@breaks("ERR-007", "ERR-021", "MCP-024")
class FieldsByName(PlainGarden):
    """Has an object in `fields`, with a list of messages for each name, as web frameworks of PHP do."""

    def unfit(self, call: Call, faults: list[tuple[list[str | int], str]]) -> Failure:
        failure = super().unfit(call, faults)
        fields: dict[str, list[str]] = {}
        for path, why in faults:
            fields.setdefault(".".join(str(step) for step in path), []).append(f"This does not fit: {why}.")
        failure.meta = {**(failure.meta or {}), "fields": fields}
        return failure


@breaks("ERR-008", "ERR-006")
class MixedContentOrder(NegotiatedGarden):
    """Writes the message of refused arguments after `meta`: the class for the element has lost the order of both."""

    def failure(self, call: Call, failure: Failure) -> str:
        if failure.code != "VALIDATION_FAIL" or failure.meta is None:
            return super().failure(call, failure)
        content = self.json_element("meta", failure.meta) + self.message(call, failure)
        return self.element("error", self.failure_says(call, failure), content)


@breaks("ERR-010", "MCP-024")
class CrashIsUnavailable(PlainGarden):
    """Says that a failure which nobody foresaw is one of the category `unavailable`, as its status is 503."""

    def surprise(self, call: Call, error: Exception) -> Failure:
        failure = super().surprise(call, error)
        failure.category = "unavailable"
        return failure


@breaks("ERR-020")
class JudgedOnce(NegotiatedGarden):
    """Remembers that the arguments of a tool did fit, by the name of the tool alone, and looks no more."""

    def __init__(self) -> None:
        super().__init__()
        self.fit: set[str] = set()

    def faults(self, call: Call, tool: Tool) -> list[tuple[list[str | int], str]]:
        faults = [] if call.tool in self.fit else super().faults(call, tool)
        if not faults:
            self.fit.add(call.tool)
        return faults


@breaks("ERR-020")
class BordersIncluded(Garden):
    """Takes the border itself for a number that has to be above it."""

    def faults(self, call: Call, tool: Tool) -> list[tuple[list[str | int], str]]:
        return [one for one in super().faults(call, tool) if not one[1].startswith("exclusive")]


@breaks("ERR-021")
class PascalPointers(NegotiatedGarden):
    """Names arguments as the members of its own classes are named, with a capital at the beginning."""

    def pointer(self, path: list[str | int]) -> str:
        return super().pointer([step[:1].upper() + step[1:] if isinstance(step, str) else step for step in path])


@breaks("ERR-021")
class ExtrasAtTheParent(PlainGarden):
    """Names the object around an argument that it does not know, and not the argument."""

    def named(self, call: Call, path: list[str | int], why: str) -> Json:
        return super().named(call, path[:-1] if why == "additionalproperties" else path, why)


@breaks("ERR-031", "ERR-032")
class GoroutineOnCrash(PlainGarden):
    """Ends the message of a failure that nobody foresaw with what Go prints when it panics."""

    def surprise(self, call: Call, error: Exception) -> Failure:
        failure = super().surprise(call, error)
        failure.message += (
            "\npanic: runtime error: integer divide by zero\n\ngoroutine 41 [running]:\n"
            "garden/water.Share(0x0, 0xc0000a4018)\n\t/srv/garden/water/share.go:57 +0x1d\n"
            "main.main()\n\t/srv/garden/main.go:112 +0x2a5\n"
        )
        return failure


@breaks("ERR-032")
class SocketInTheMessage(NegotiatedGarden):
    """Says with a service that does not answer at which socket it looked for it."""

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if isinstance(outcome, Failure) and outcome.code == "UPSTREAM_UNAVAILABLE":
            outcome.message = "connect ENOENT /var/lib/garden/run/herbarium.sock"
        return outcome
