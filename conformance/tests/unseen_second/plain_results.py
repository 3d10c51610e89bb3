"""Servers that are wrong in their plain results: section 6.3."""

from __future__ import annotations

from typing import Any

import mcp_types

from unseen_second.clinic import Bad, Clinic, Json, NegotiatedClinic, Outcome, Visit, block
from unseen_second.registry import breaks


class PlainClinic(Clinic):
    """The clinic with the wire `plain`."""

    wire = "plain"


@breaks("MCP-020")
class BlankLinesAreNoBlocks(NegotiatedClinic):
    """The text of a plain result is cut into one block for each line, and a block without text is left out."""

    def for_the_model(self, visit: Visit, text: str) -> list[mcp_types.ContentBlock]:
        return [block(line) for line in text.split("\n") if line] or [block("")]


@breaks("MCP-047")
class VendorTextsAreDropped(NegotiatedClinic):
    """The text for hosts without displays is sent unless it belongs to a type of a vendor, which has no translation."""

    def alternative(self, visit: Visit, show: Any) -> str:
        vendor = isinstance(show, dict) and show["type"].startswith("x-")
        return "" if vendor else super().alternative(visit, show)


@breaks("MCP-048")
class ValuesCutForAColumn(NegotiatedClinic):
    """The block about filled-in parameters shows each value in twenty characters, as a column of a table does."""

    def filled_block(self, visit: Visit, filled: Json) -> mcp_types.TextContent:
        cut = {name: str(value)[:20] for name, value in filled["values"].items()}
        return super().filled_block(visit, {**filled, "values": cut})


@breaks("MCP-025", "TOL-021")
class FilledOnlyOnce(PlainClinic):
    """What was filled in is sent with the first call, and as the client now knows it, no more after that."""

    def members(self, visit: Visit, outcome: Outcome, mark: Json) -> Json:
        members = super().members(visit, outcome, mark)
        return {name: item for name, item in members.items() if visit.nth == 1 or not name.endswith("server_populated")}


@breaks("MCP-024")
class NoCategoryForOwnCodes(NegotiatedClinic):
    """The category of an error is looked up in the registry, and is null for a code of the clinic's own."""

    def error_member(self, visit: Visit, bad: Bad) -> Json:
        member = super().error_member(visit, bad)
        return {**member, "category": None} if bad.code.startswith("X_") else member
