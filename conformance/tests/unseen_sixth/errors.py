"""Wrong in how a failure is told."""

from __future__ import annotations

import re
import traceback

import mcp_types

from unseen_sixth.parts import Ask, Json, Reply, Trouble
from unseen_sixth.registry import breaks
from unseen_sixth.theatre import NegotiatedTheatre, PlainTheatre, Theatre


@breaks("ERR-006", "MCP-024")
class NameIsTheMessage(NegotiatedTheatre):
    """Raises the name itself as the message where nobody booked by it, and an empty name is an empty message."""

    def find_booking(self, ask: Ask) -> Reply:
        try:
            return super().find_booking(ask)
        except Trouble as trouble:
            if trouble.code == "NOT_FOUND":
                raise Trouble("NOT_FOUND", ask.args["booking"]["name"], trouble.meta) from None
            raise


@breaks("ERR-007")
class StatusInWords(Theatre):
    """Passes on the status of the register as the text that came from its header."""

    def for_trouble(self, ask: Ask, trouble: Trouble) -> str:
        if trouble.meta and "upstream_status" in trouble.meta:
            trouble.meta["upstream_status"] = f"{trouble.meta['upstream_status']} Service Unavailable"
        return super().for_trouble(ask, trouble)


@breaks("ERR-010")
class NotYourInput(PlainTheatre):
    """Says of a name that nobody booked by that the input was invalid, with the code for what is not found."""

    def plain_error(self, ask: Ask, trouble: Trouble) -> Json:
        said = super().plain_error(ask, trouble)
        return {**said, "category": "invalid_input"} if trouble.code == "NOT_FOUND" else said


@breaks("ERR-020")
class AnyDay(NegotiatedTheatre):
    """Checks arguments without formats, so that any text is a day."""

    def judged(self, ask: Ask) -> Json:
        takes = super().judged(ask)
        day = {name: value for name, value in takes["properties"].items() if value.get("format") == "date"}
        return {**takes, "properties": {**takes["properties"], **{name: {"type": "string"} for name in day}}}


@breaks("ERR-021")
class CountsFromOne(PlainTheatre):
    """Counts the items of a list from one in the pointers to arguments that do not fit."""

    def pointer(self, path: list[str | int]) -> str:
        return super().pointer([step + 1 if isinstance(step, int) else step for step in path])


@breaks("ERR-021")
class MissingHasNoPlace(Theatre):
    """Names the object around a missing argument, since that is where its validator stood when it missed it."""

    def refused(self, ask: Ask, faults: list[tuple[list[str | int], str]]) -> Trouble:
        return super().refused(ask, [(path[:-1] if why == "required" else path, why) for path, why in faults])


@breaks("ERR-022")
class NoSuchThing(PlainTheatre):
    """Says of a tool that it does not have what it says of a name that nobody booked by, `NOT_FOUND`."""

    def stranger(self, ask: Ask) -> Exception:
        return Trouble("NOT_FOUND", "There is nothing of that name.") if ask.tool else super().stranger(ask)


@breaks("ERR-030")
class UnnumberedSurprise(NegotiatedTheatre):
    """Writes the number of a failure that nobody foresaw into its journal, and says it to nobody."""

    def surprise(self, ask: Ask, error: Exception) -> Trouble:
        super().surprise(ask, error)
        return Trouble("INTERNAL", "Something fell from the rigging.", {"side_effects": "unknown"})


@breaks("ERR-031")
class TraceForHelp(PlainTheatre):
    """Sends the trace of a failure that nobody foresaw along, so that whoever reports it can paste it."""

    def surprise(self, ask: Ask, error: Exception) -> Trouble:
        trouble = super().surprise(ask, error)
        trace = re.sub(r'File ".*[/\\]', 'File "', "".join(traceback.format_exception(error)))
        return Trouble(trouble.code, trouble.message, {**(trouble.meta or {}), "theatre/trace": trace})


@breaks("MCP-004")
class FieldsForPrograms(Theatre):
    """Repeats the arguments that did not fit as structured content, by itself, for clients that read no XML."""

    def paper_result(self, ask: Ask, end: Reply | Trouble) -> mcp_types.CallToolResult:
        result = super().paper_result(ask, end)
        if isinstance(end, Trouble) and end.meta and "fields" in end.meta:
            return result.model_copy(update={"structured_content": {"fields": end.meta["fields"]}})
        return result
