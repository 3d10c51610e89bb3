"""Servers that are wrong in how they fail: chapter 4."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import jsonschema_rs

from unseen_fourth.airport import Airport, NegotiatedAirport
from unseen_fourth.registry import breaks
from unseen_fourth.routes import Answer, Call, Failure, Outcome, Step


@breaks("ERR-001", "MCP-002")
class PageOfTheProxy(Airport):
    """The tower is behind a proxy; when it does not answer, the proxy's page is the text, and the status makes the
    result a failed one."""

    html = "<html><head><title>503 Service Unavailable</title></head><body>nginx/1.27.0</body></html>"

    async def recover(self, call: Call, go: Step) -> Outcome:
        outcome = await super().recover(call, go)
        down = isinstance(outcome, Failure) and outcome.code == "UPSTREAM_UNAVAILABLE"
        return Answer(self.html) if down else outcome

    def failed(self, call: Call, outcome: Outcome) -> bool:
        return super().failed(call, outcome) or (isinstance(outcome, Answer) and outcome.text == self.html)


@breaks("ERR-005")
class WaitForTheGate(Airport):
    """A gate that is taken is free in ten minutes, which the failure says; but for the writer a conflict is final."""

    def error_attributes(self, call: Call, failure: Failure) -> dict[str, str]:
        said = super().error_attributes(call, failure)
        return {**said, "retry_after_ms": "600000"} if failure.code == "CONFLICT" else said


@breaks("ERR-007")
class HelpOnThisSite(Airport):
    """The page about gates that are taken has the address that it has on the airport's own site."""

    async def recover(self, call: Call, go: Step) -> Outcome:
        outcome = await super().recover(call, go)
        if isinstance(outcome, Failure) and outcome.code == "CONFLICT":
            outcome.meta = {**(outcome.meta or {}), "help": [{"title": "Gates", "url": "/help/gates"}]}
        return outcome


@breaks("ERR-008")
class TicketAfterTheFact(Airport):
    """The number of the ticket is known when the failure is written already, and goes before its end tag."""

    def error(self, call: Call, failure: Failure) -> str:
        written = super().error(call, failure)
        if failure.code != "INTERNAL":
            return written
        return written.replace("</error>", f" (ticket {4000 + call.nth})</error>")


@breaks("ERR-010")
class CategoryOfTheStatus(Airport):
    """What is not found has the category that the HTTP library has for it."""

    def error_attributes(self, call: Call, failure: Failure) -> dict[str, str]:
        said = super().error_attributes(call, failure)
        return {**said, "category": "client_error"} if failure.code == "NOT_FOUND" else said


@breaks("ERR-020")
class FormatsAreAnnotations(Airport):
    """The validator takes `format` for an annotation, as it does until somebody installs the package of formats."""

    def validator(self, call: Call) -> Any:
        return jsonschema_rs.validator_for(self.routed(call).takes, validate_formats=False)


@breaks("ERR-020")
class ReferencesAreNotFollowed(NegotiatedAirport):
    """The validator is made from the properties of a schema, without its definitions; what is a reference is left to
    the handler."""

    def validator(self, call: Call) -> Any:
        takes = self.routed(call).takes
        properties = {
            name: one if "$ref" not in one else {"type": "object"} for name, one in takes["properties"].items()
        }
        return jsonschema_rs.validator_for({**takes, "properties": properties}, validate_formats=True)


@breaks("ERR-021")
class BracketsForItems(Airport):
    """A pointer is the path of the validator with slashes for its points; items of lists keep their brackets."""

    def pointer(self, path: list[str | int]) -> str:
        parts = (
            f"[{step}]" if isinstance(step, int) else super(BracketsForItems, self).pointer([step]) for step in path
        )
        return "".join(parts)


@breaks("ERR-022")
class RouterIgnoresCase(NegotiatedAirport):
    """Routes are found in any mix of upper and lower case, and with hyphens, as in a web framework: a tool that the
    list does not have works."""

    async def find_route(self, call: Call, go: Step) -> Outcome:
        route = self.routes().get(re.sub("[- ]", "_", call.tool.lower()))
        if route is None or call.tool in self.routes():
            return await super().find_route(call, go)
        return await go(replace(call, route=route))


@breaks("ERR-030")
class CodeOfTheException(Airport):
    """An exception that nobody foresaw has a code made of the name of its class."""

    def unforeseen(self, call: Call, error: Exception) -> Failure:
        failure = super().unforeseen(call, error)
        failure.code = re.sub("(?<=[a-z])(?=[A-Z])", "_", type(error).__name__).upper()
        failure.category = "internal"
        return failure


@breaks("ERR-031")
class PanicIsPassedOn(Airport):
    """The part that plans fuel is written in Go; when it panics, its last words are among the parameters."""

    def unforeseen(self, call: Call, error: Exception) -> Failure:
        failure = super().unforeseen(call, error)
        panic = "panic: runtime error: integer divide by zero\n\ngoroutine 17 [running]:\nmain.eachTank(...)\n\t"
        panic += "fuel/plan.go:88 +0x1d\nmain.(*server).call(0xc0001a2000)\n\tserver.go:203 +0x4a5\nexit status 2"
        failure.meta = {**(failure.meta or {}), "params": {"detail": panic}}
        return failure


@breaks("ERR-032")
class AddressWithPassword(NegotiatedAirport):
    """The HTTP client's message has the whole address of the tower, with the user and the password before the host."""

    async def recover(self, call: Call, go: Step) -> Outcome:
        outcome = await super().recover(call, go)
        if isinstance(outcome, Failure) and outcome.code == "UPSTREAM_UNAVAILABLE":
            outcome.message = "POST https://gates:Kestrel-7Qx2@tower.airport.example/v2/gates: 503 Service Unavailable"
        return outcome
