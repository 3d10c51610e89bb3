"""Wrong in how a failure is told."""

from __future__ import annotations

from unseen_eighth.kit import Answer, Call, Failure, Json, Tool

from unseen_ninth.registry import breaks
from unseen_ninth.workshop import NegotiatedWorkshop, PlainWorkshop, Workshop


@breaks("ERR-001", "MCP-002")
class StillBusy(Workshop):
    """Answers a call that fails at the same busy desk again with a text for the model, so that it stops to ask."""

    def __init__(self) -> None:
        super().__init__()
        self.busy = 0

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        self.busy += isinstance(outcome, Failure) and outcome.code == "RATE_LIMIT"
        return outcome

    def children(self, call: Call, outcome: Answer | Failure) -> list[str]:
        children = super().children(call, outcome)
        if isinstance(outcome, Failure) and outcome.code == "RATE_LIMIT" and self.busy > 1:
            children[0] = self.output(call, Answer("RATE_LIMIT: the desk is still busy. Do something else first."))
        return children


@breaks("ERR-004")
class ClockRunsOn(Workshop):
    """Reckons the wait of a busy desk from its first failure on, and gets below zero, since that moment is over."""

    def __init__(self) -> None:
        super().__init__()
        self.failures = 0

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if isinstance(outcome, Failure) and outcome.code == "RATE_LIMIT" and outcome.wait is not None:
            outcome.wait -= 1000 * self.failures
            self.failures += 1
        return outcome


@breaks("ERR-006", "MCP-024")
class NameAsMessage(NegotiatedWorkshop):
    """Has nothing but the name that was not found as the message, which is empty where the name was."""

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if isinstance(outcome, Failure) and outcome.code == "NOT_FOUND":
            [outcome.message] = (outcome.meta or {})["params"].values()
        return outcome


@breaks("ERR-008")
class StopAfterMeta(NegotiatedWorkshop):
    """Puts the `meta` of a failure that nobody foresaw before the full stop that ends its message."""

    def failure(self, call: Call, failure: Failure) -> str:
        said = super().failure(call, failure)
        if failure.code != "INTERNAL" or failure.meta is None:
            return said
        return said.replace(".<meta", "<meta", 1).removesuffix("</error>") + ".</error>"


@breaks("ERR-020")
class FirstOfEachList(PlainWorkshop):
    """Looks only at the first item of each list when it checks arguments, since all items are alike."""

    def faults(self, call: Call, tool: Tool) -> list[tuple[list[str | int], str]]:
        return [one for one in super().faults(call, tool) if not any(isinstance(step, int) and step for step in one[0])]


@breaks("ERR-020")
class ExtrasWithin(NegotiatedWorkshop):
    """Takes arguments that it does not know within other arguments, and only there, as if they were not sent."""

    def faults(self, call: Call, tool: Tool) -> list[tuple[list[str | int], str]]:
        return [one for one in super().faults(call, tool) if len(one[0]) == 1 or one[1] != "additionalproperties"]


@breaks("ERR-021")
class CountsFromOne(NegotiatedWorkshop):
    """Counts the items of a list from one when it names those that it refuses."""

    def pointer(self, path: list[str | int]) -> str:
        return super().pointer([step + 1 if isinstance(step, int) else step for step in path])


@breaks("ERR-022")
class StrangersTwice(PlainWorkshop):
    """Answers whoever calls a tool that is not there a second time with `FORBIDDEN`, to end the guessing."""

    def __init__(self) -> None:
        super().__init__()
        self.guesses = 0

    def stranger(self, call: Call) -> Answer:
        self.guesses += 1
        if self.guesses > 1 and call.tool:
            raise Failure("FORBIDDEN", "Ask for the list of tools.", {"side_effects": "none"})
        return super().stranger(call)


@breaks("ERR-030")
class IdAmongParams(Workshop):
    """Has the id of a failure that nobody foresaw among the `params` of its message, as with each other variable."""

    def surprise(self, call: Call, error: Exception) -> Failure:
        failure = super().surprise(call, error)
        failure.meta = {"params": failure.meta, "side_effects": "none"}
        return failure


@breaks("ERR-032")
class AddressWithPassword(NegotiatedWorkshop):
    """Says which address of the office does not answer, with the password that is in it."""

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if isinstance(outcome, Failure) and outcome.code == "UPSTREAM_UNAVAILABLE":
            params: Json = {"address": "postgresql://workshop:Tr0mbone-1887@10.3.0.7:5432/tickets"}
            outcome.meta = {**(outcome.meta or {}), "params": params}
        return outcome
