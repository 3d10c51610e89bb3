"""Wrong in how a failure is told."""

from __future__ import annotations

from unseen_eighth.kit import Answer, Call, Failure, Tool
from unseen_eighth.observatory import NegotiatedObservatory, Observatory, PlainObservatory
from unseen_eighth.registry import breaks


@breaks("ERR-001", "RSP-009")
class LastKnownPage(Observatory):
    """Adds the last known page of the book as a text to the failure that the book does not answer."""

    def children(self, call: Call, outcome: Answer | Failure) -> list[str]:
        children = super().children(call, outcome)
        if isinstance(outcome, Failure) and outcome.code == "UPSTREAM_UNAVAILABLE":
            children.insert(0, self.output(call, Answer("As of yesterday: no bookings.")))
        return children


@breaks("ERR-003")
class PythonBooleans(NegotiatedObservatory):
    """Writes `retryable` with `str`, which is `True`, in documents."""

    def failure_says(self, call: Call, failure: Failure) -> dict[str, str]:
        said = super().failure_says(call, failure)
        return {**said, "retryable": str(failure.retryable)} if failure.retryable else said


@breaks("ERR-007")
class SecondsSinceTheEpoch(Observatory):
    """Says when a limit ends in seconds since 1970, as the service behind it does, and not as a date."""

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if isinstance(outcome, Failure) and "limit" in (outcome.meta or {}):
            outcome.meta = {**(outcome.meta or {}), "limit": {**(outcome.meta or {})["limit"], "reset_at": 1796083200}}
        return outcome


@breaks("ERR-008")
class AdviceAtTheEnd(NegotiatedObservatory):
    """Ends failures that go away by themselves with an advice, which stands behind their `meta`."""

    def failure(self, call: Call, failure: Failure) -> str:
        said = super().failure(call, failure)
        advice = " Please try again later."
        return said.removesuffix("</error>") + f"{advice}</error>" if failure.retryable and failure.meta else said


@breaks("ERR-020")
class Clamps(PlainObservatory):
    """Takes the nearest number that is allowed for one beyond the bounds of its schema, and calls the tool with it."""

    def set_aside(self, call: Call, tool: Tool) -> None:
        super().set_aside(call, tool)
        for name, schema in tool.takes["properties"].items():
            one = call.args.get(name)
            if "minimum" in schema and isinstance(one, int | float) and not isinstance(one, bool):
                call.args[name] = min(max(one, schema["minimum"]), schema["maximum"])


@breaks("ERR-021")
class FirstOfTheFaults(NegotiatedObservatory):
    """Stops at the first argument that does not fit, and names no other one."""

    def faults(self, call: Call, tool: Tool) -> list[tuple[list[str | int], str]]:
        return super().faults(call, tool)[:1]


@breaks("ERR-022")
class NotFoundEither(PlainObservatory):
    """Answers a call of a tool that is not there with the code for a booking that is not there."""

    def stranger(self, call: Call) -> Answer:
        try:
            return super().stranger(call)
        except Failure as failure:
            raise Failure("NOT_FOUND", failure.message, failure.meta) from failure


@breaks("ERR-030")
class LoggedBefore(Observatory):
    """Logs a failure of a tool that nobody foresaw once, and has no id for it when it comes again."""

    def __init__(self) -> None:
        super().__init__()
        self.logged: set[str] = set()

    def surprise(self, call: Call, error: Exception) -> Failure:
        failure = super().surprise(call, error)
        if call.tool in self.logged:
            failure.meta = {"side_effects": "unknown"}
        self.logged.add(call.tool)
        return failure


@breaks("ERR-032")
class WhereItLooked(NegotiatedObservatory):
    """Says with a booking or a plate that was not found in which file of its machine it has looked."""

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if isinstance(outcome, Failure) and outcome.code == "NOT_FOUND":
            outcome.message += " I have looked in /var/lib/observatory/2026.sqlite3."
        return outcome
