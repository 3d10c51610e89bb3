"""Wrong in how a failure is told."""

from __future__ import annotations

from unseen_eighth.kit import Answer, Call, Failure, Tool

from unseen_twelfth.registry import breaks
from unseen_twelfth.theatre import NegotiatedTheatre, PlainTheatre, Theatre


@breaks("ERR-022", "ERR-001")
class DidYouMean(PlainTheatre):
    """Answers the call of a tool that is not there with the names of its tools, as if that had been a success."""

    def stranger(self, call: Call) -> Answer:
        if not call.tool:
            return super().stranger(call)
        return Answer(f"There is no such tool. Did you mean one of these? {', '.join(self.tools())}")


@breaks("ERR-004", "RSP-006")
class WaitForever(Theatre):
    """Says the longest wait that its language has where nobody knows when a service is there again."""

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if isinstance(outcome, Failure) and outcome.code == "UPSTREAM_UNAVAILABLE":
            outcome.wait = 2**63 - 1
        return outcome


@breaks("ERR-006", "MCP-024")
class SaysWhatTheExceptionSays(PlainTheatre):
    """Has the message of the exception with a failure that nobody foresaw, which is empty."""

    def surprise(self, call: Call, error: Exception) -> Failure:
        failure = super().surprise(call, error)
        failure.message = ""
        return failure


@breaks("ERR-007")
class StatusZero(NegotiatedTheatre):
    """Says that the status of a service which did not answer was 0, as browsers do."""

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if isinstance(outcome, Failure) and outcome.code == "UPSTREAM_UNAVAILABLE":
            outcome.meta = {**(outcome.meta or {}), "upstream_status": 0}
        return outcome


@breaks("ERR-020")
class NestedIsTrusted(NegotiatedTheatre):
    """Looks for what is missing among the arguments, and not in the objects within them, which its tools run into."""

    def faults(self, call: Call, tool: Tool) -> list[tuple[list[str | int], str]]:
        return [one for one in super().faults(call, tool) if len(one[0]) == 1 or one[1] != "required"]


@breaks("ERR-020")
class NestedIsStripped(Theatre):
    """Strips members that it does not know from the objects within its arguments, and calls the tool."""

    def faults(self, call: Call, tool: Tool) -> list[tuple[list[str | int], str]]:
        return [one for one in super().faults(call, tool) if len(one[0]) == 1 or one[1] != "additionalproperties"]


@breaks("ERR-021")
class CountsFromOne(PlainTheatre):
    """Counts the items of a list from one where it names the argument that it refused."""

    def pointer(self, path: list[str | int]) -> str:
        return super().pointer([step + 1 if isinstance(step, int) else step for step in path])


@breaks("ERR-030")
class IdInTheMessage(NegotiatedTheatre):
    """Says the id of a failure that nobody foresaw at the end of its message alone."""

    def surprise(self, call: Call, error: Exception) -> Failure:
        failure = super().surprise(call, error)
        number = (failure.meta or {})["error_id"]
        return Failure("INTERNAL", f"{failure.message} Its number in the log is {number}.", {"side_effects": "none"})


@breaks("ERR-032")
class AddressWithAPassword(Theatre):
    """Says with a service that does not answer the address of its database, as it is in the settings."""

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if isinstance(outcome, Failure) and outcome.code == "UPSTREAM_UNAVAILABLE":
            outcome.message = "could not connect to postgresql://porter:Gr33nroom-88@db.theatre.example:5432/people"
        return outcome
