"""Servers that are wrong in what they say of their tools, and in parameters that they fill in: chapter 5."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mcp_types

from unseen_second.clinic import STRING, Clinic, Good, Json, NegotiatedClinic, Tool, Visit
from unseen_second.registry import breaks


@breaks("TOL-010")
class HiddenByAFlag(Clinic):
    """A feature flag hides the search of patients from clients of the handshake era, and a tool depends on it still."""

    def listing(self, *, declared: bool, handshake: bool) -> list[mcp_types.Tool]:
        tools = super().listing(declared=declared, handshake=handshake)
        return [tool for tool in tools if not handshake or tool.name != "find_patients"]


@breaks("TOL-020")
class WardForClientsThatDeclare(Clinic):
    """To clients that declare the extension the ward is listed among the arguments, because they know what it is."""

    def listed(self, name: str, tool: Tool, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        if declared and name == "my_shifts":
            tool = replace(tool, takes={**tool.takes, "properties": {**tool.takes["properties"], "ward": STRING}})
        return super().listed(name, tool, declared=declared, handshake=handshake)


@breaks("TOL-023")
class WardFromTheCaller(NegotiatedClinic):
    """The defaults are merged in the wrong order for one of the parameters, so that the caller's ward wins."""

    def filled(self, visit: Visit) -> Json:
        filled = super().filled(visit)
        if "ward" in visit.forged:
            filled["values"]["ward"] = visit.forged["ward"]
            filled["overridden"] = [name for name in filled["overridden"] if name != "ward"]
        return filled


@breaks("TOL-024")
class RemovesWhileItIterates(Clinic):
    """The parameters that the server fills in are taken out of a list while it is walked, so that of several sent at
    once each second one stays, and is refused."""

    def set_aside(self, visit: Visit, tool: Tool) -> Visit:
        left = super().set_aside(visit, tool)
        for name in list(left.forged)[1::2]:
            left.args[name] = left.forged.pop(name)
        return left


@breaks("TOL-030")
class AnnotationsLostInTheCache(Clinic):
    """The list of tools is cached by a proxy after the first time, without the annotations, which it does not know."""

    def listed(self, name: str, tool: Tool, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        listed = super().listed(name, tool, declared=declared, handshake=handshake)
        return listed.model_copy(update={"annotations": None}) if self.lists > 1 and name == "lab_queue" else listed


@breaks("TOL-021", "MCP-025")
class ArchiveKnowsNoWard(Clinic):
    """The shifts that were cancelled come from the archive, through a view that has no ward."""

    def work_my_shifts(self, visit: Visit) -> Good:
        good = super().work_my_shifts(visit)
        if visit.args.get("status") != "cancelled" or good.filled is None:
            return good
        values: dict[str, Any] = {"staff_id": good.filled["values"]["staff_id"]}
        return replace(good, filled={**good.filled, "values": values})
