"""Servers that are wrong in how they fail: chapter 4."""

from __future__ import annotations

import re
from dataclasses import replace

from unseen_second.clinic import Bad, Clinic, Good, Json, NegotiatedClinic, Outcome, Tool, Visit
from unseen_second.registry import breaks


@breaks("ERR-001", "MCP-002")
class FrameworkCatchesFirst(Clinic):
    """The tools of numbers run in another framework, whose default handler turns an exception into the text of a result
    with `isError`, before the clinic's own handler sees it."""

    def work(self, visit: Visit) -> Good:
        try:
            return super().work(visit)
        except ArithmeticError as error:
            return Good(f"Error executing tool {visit.tool}: {error}")

    def failed(self, visit: Visit, outcome: Outcome) -> bool:
        caught = isinstance(outcome, Good) and outcome.text.startswith("Error executing tool")
        return caught or super().failed(visit, outcome)


@breaks("ERR-007", "MCP-024")
class ResetInWords(NegotiatedClinic):
    """The time at which a limit ends is written for people, where the schema wants a date and a time."""

    def too_many(self, visit: Visit, quantity: int) -> Bad:
        bad = super().too_many(visit, quantity)
        limit = {**(bad.meta or {})["limit"], "reset_at": "tomorrow at 7"}
        return Bad(bad.code, bad.message, {"limit": limit}, **bad.extra)


@breaks("ERR-010", "MCP-024")
class CategoryBySeverity(Clinic):
    """A refusal of several arguments is classified by a rule for bulk imports, and gets another category."""

    def refusal(self, visit: Visit, fields: list[Json]) -> Bad:
        bad = super().refusal(visit, fields)
        return Bad(bad.code, bad.message, bad.meta, category="unsupported") if len(fields) > 1 else bad


@breaks("ERR-020")
class TrueIsOne(Clinic):
    """The check of integers is `isinstance(value, int)`, so that `true` is one dose each day."""

    def judged_by(self, tool: Tool) -> Json:
        takes = dict(super().judged_by(tool))
        relaxed = {
            name: {"anyOf": [kept, {"type": "boolean"}]} if kept.get("type") == "integer" else kept
            for name, kept in takes["properties"].items()
        }
        return {**takes, "properties": relaxed}


@breaks("ERR-020")
class LengthsAreForTheDatabase(NegotiatedClinic):
    """`maxLength` is left to the database, which cuts a query without a word."""

    def judged_by(self, tool: Tool) -> Json:
        takes = dict(super().judged_by(tool))
        loose = {
            name: {rule: said for rule, said in kept.items() if rule != "maxLength"}
            for name, kept in takes["properties"].items()
        }
        return {**takes, "properties": loose}

    def work_find_patients(self, visit: Visit) -> Good:
        return super().work_find_patients(replace(visit, args={**visit.args, "query": visit.args["query"][:200]}))


@breaks("ERR-021")
class FailsFast(Clinic):
    """The validator stops at the first argument of those that do not fit, unless some are missing."""

    def refusal(self, visit: Visit, fields: list[Json]) -> Bad:
        missing = [one for one in fields if one["reason"] == "required"]
        return super().refusal(visit, fields if missing else fields[:1])


@breaks("ERR-021", "ERR-007")
class PointersWithoutEscapes(Clinic):
    """A JSON Pointer is the path joined by slashes, also where the key of a map has a slash or a tilde."""

    def pointer(self, path: list[str]) -> str:
        return "".join(f"/{step}" for step in path)


@breaks("ERR-022")
class NegativeCacheOfTools(Clinic):
    """That a tool does not exist is remembered, and told by the cache the second time, as any miss of the cache."""

    def unknown(self, visit: Visit) -> Bad:
        if visit.nth > 1:
            return Bad("NOT_FOUND", "Nothing was found under that key.")
        return super().unknown(visit)


@breaks("ERR-030")
class NotANumberHasNoId(NegotiatedClinic):
    """Nothing in nothing is caught apart from other divisions by zero, by a line that logs no id."""

    def unforeseen(self, visit: Visit, error: Exception) -> Bad:
        bad = super().unforeseen(visit, error)
        nothing = visit.tool == "dilution" and not visit.args["part"]
        return Bad("INTERNAL", "Something went wrong in the clinic.") if nothing else bad


@breaks("ERR-031", "ERR-032")
class TraceFromTheSecondCrashOn(Clinic):
    """Repeated failures raise the level of the log, and with it the stack trace goes into the answer."""

    crashes = 0

    def unforeseen(self, visit: Visit, error: Exception) -> Bad:
        self.crashes += 1
        bad = super().unforeseen(visit, error)
        if self.crashes < 2:
            return bad
        where = 'Traceback (most recent call last):\n  File "/opt/clinic/app/mixing.py", line 88, in share\n'
        return Bad(
            bad.code, bad.message, {**(bad.meta or {}), "clinic/detail": f"{where}{type(error).__name__}: {error}"}
        )


@breaks("ERR-032", "ERR-031")
class GuardTellsWhereItStands(Clinic):
    """Price sheets are files; the guard against `..` in a drug's name says which path it refused."""

    def no_such_drug(self, visit: Visit, drug: str) -> Bad:
        if ".." not in drug and "/" not in drug:
            return super().no_such_drug(visit, drug)
        tail = re.sub(r"[^A-Za-z0-9.]+", "_", drug)[:40]
        message = f"/srv/clinic/data/prices/{tail}.json is outside of /srv/clinic/data/prices."
        return Bad("NOT_FOUND", message)
