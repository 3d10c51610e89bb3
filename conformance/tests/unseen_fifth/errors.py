"""Wrong servers: errors."""

from __future__ import annotations

import traceback
from typing import Any

import jsonschema_rs

from unseen_fifth.instruments import CheckRequest, ConeSearch
from unseen_fifth.kit import Json, Problem, Success, Tool, Visit
from unseen_fifth.observatory import Fault, Negotiated, Observatory, Plain
from unseen_fifth.registry import breaks
from unseen_fifth.writers import Paper, Slip


@breaks("ERR-003")
class PythonTrue(Observatory):
    """Whether a retry helps is a boolean of the program, and is put into its attribute as the program prints it."""

    class _Paper(Paper):
        def error_attributes(self, problem: Problem) -> dict[str, str]:
            said = super().error_attributes(problem)
            return {**said, "retryable": str(problem.retryable)} if problem.retryable else said

    paper = _Paper


class _BacklogWaits(CheckRequest):
    def run(self) -> Success:
        if self.priority == "backlog":
            raise Problem("QUOTA_EXCEEDED", "The backlog is full until Monday.", wait_ms=86400000)
        return super().run()


@breaks("ERR-005")
class BacklogWaits(Plain):
    """The error of a full backlog has the time until Monday, as if the call could be made again by itself then."""

    swapped = (_BacklogWaits,)


class _Untranslated(CheckRequest):
    MESSAGES: Any = {"fr": "Une nuit est plus courte.", "de": "Eine Nacht ist kürzer."}

    def run(self) -> Success:
        if self.hours > 10 and self.priority == "normal":
            said = [{"locale": lang, "message": message} for lang, message in self.MESSAGES.items()]
            chosen = self.MESSAGES.get(self.lang, "")
            raise Problem("X_OBSERVATORY_TOO_LONG", chosen, category="too_large", localized=said)
        return super().run()


@breaks("ERR-006")
class Untranslated(Observatory):
    """The message for too many hours is looked up by language; the table has the translations and not the original."""

    swapped = (_Untranslated,)


class _StatusText(CheckRequest):
    def run(self) -> Success:
        try:
            return super().run()
        except Problem as problem:
            if "upstream_status" in problem.meta:
                problem.meta["upstream_status"] = str(problem.meta["upstream_status"])
            raise


@breaks("ERR-007")
class StatusText(Negotiated):
    """The status of the dome's own server is passed on as the text that its header had."""

    swapped = (_StatusText,)


@breaks("ERR-008")
class CountedFaults(Observatory):
    """An error that refuses several arguments ends with a hint where to look, which stands behind what it speaks of."""

    class _Paper(Paper):
        def meta(self, problem: Problem) -> str:
            written, fields = super().meta(problem), problem.meta.get("fields", [])
            return f"{written} See the {len(fields)} fields above." if len(fields) > 1 else written

    paper = _Paper


@breaks("ERR-010")
class PlainCategories(Negotiated):
    """Plain results take the category of an error from a table of their own, in which whatever was
    not found is input.
    """

    class _Slip(Slip):
        def error(self, problem: Problem) -> Json:
            said = super().error(problem)
            return {**said, "category": "invalid_input"} if problem.code == "NOT_FOUND" else said

    slip = _Slip


@breaks("ERR-020")
class ItemsUnchecked(Observatory):
    """Lists are checked only as far as being lists of objects: the validator of the items did not know references."""

    def validator(self, tool: type[Tool]) -> Any:
        takes = tool.takes()
        for schema in takes["properties"].values():
            if schema.get("items", {}).get("type") == "object":
                loose = {**schema, "items": {"type": "object"}}
                takes = {**takes, "properties": {**takes["properties"], "exposures": loose}}
        return jsonschema_rs.validator_for(takes, validate_formats=True)

    async def perform(self, visit: Visit, tool: type[Tool]) -> Any:
        try:
            return await super().perform(visit, tool)
        except (KeyError, TypeError, ValueError):
            return Success("The plan is empty.")


@breaks("ERR-020")
class OneStarMore(Negotiated):
    """The search compares the limit with the length of a page that has one star more, to know
    whether a page follows.
    """

    def validator(self, tool: type[Tool]) -> Any:
        if tool is not ConeSearch:
            return super().validator(tool)
        takes = tool.takes()
        limit = {**takes["properties"]["limit"], "maximum": 61}
        return jsonschema_rs.validator_for({**takes, "properties": {**takes["properties"], "limit": limit}})


@breaks("ERR-021")
class UnknownUnnamed(Plain):
    """A parameter that the tool does not have is reported for the object as a whole, because it has no place in it."""

    def refusal(self, visit: Visit, faults: list[Fault]) -> Problem:
        places = [(place[:-1] if why == "additionalproperties" else place, why) for place, why in faults]
        return super().refusal(visit, places)


@breaks("ERR-022")
class OldNotFound(Negotiated):
    """Clients that begin with a handshake get the code for a missing tool that the server had before there was a
    registry.
    """

    def missing(self, visit: Visit) -> type[Tool]:
        if visit.handshake and visit.tool:
            raise Problem("NOT_FOUND", "The observatory has no such tool.", side_effects="none")
        return super().missing(visit)


@breaks("ERR-030")
class ArithmeticWithoutId(Plain):
    """Divisions by zero have a handler of their own, which was written before errors had ids."""

    def unforeseen(self, visit: Visit, error: Exception) -> Problem:
        if isinstance(error, ArithmeticError):
            return Problem("INTERNAL", "The arithmetic failed.", side_effects="none")
        return super().unforeseen(visit, error)


@breaks("ERR-031")
class TraceForOldClients(Negotiated):
    """What nobody foresaw is told to clients with a handshake in full, since these were only the
    author's own at first.
    """

    def unforeseen(self, visit: Visit, error: Exception) -> Problem:
        problem = super().unforeseen(visit, error)
        if visit.handshake:
            problem.meta["observatory/trace"] = "".join(traceback.format_exception(error))
        return problem
