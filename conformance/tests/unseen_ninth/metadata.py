"""Wrong in what the workshop says of itself and of its tools, or in the parameters that it fills in."""

from __future__ import annotations

import mcp_types
from unseen_eighth.kit import Call, Json, Tool

from unseen_ninth.registry import breaks
from unseen_ninth.workshop import NegotiatedWorkshop, PlainWorkshop, Workshop


@breaks("TOL-020")
class ListedForOthers(NegotiatedWorkshop):
    """Lists a parameter that it fills in itself in a schema for clients which did not declare the extension."""

    def listed(self, name: str, tool: Tool, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        if name == "my_jobs" and not declared:
            tool.takes["properties"]["branch"] = {"type": "string", "description": "It is filled in for you."}
        return super().listed(name, tool, declared=declared, handshake=handshake)


@breaks("TOL-021")
class OverriddenInstead(Workshop):
    """Names a parameter that the caller sent, too, only as overridden, and no longer with its value."""

    def disclosed(self, call: Call) -> Json:
        said = super().disclosed(call)
        return {**said, "values": {name: one for name, one in said["values"].items() if name not in call.forged}}


@breaks("TOL-024")
class NullIsNotSent(PlainWorkshop):
    """Sets what the caller sent for a parameter of the workshop aside, unless it is null: then it is an argument."""

    def set_aside(self, call: Call, tool: Tool) -> None:
        super().set_aside(call, tool)
        null = [name for name, one in call.forged.items() if one is None]
        for name in null:
            call.args[name] = call.forged.pop(name)


@breaks("CNF-003")
class VersionIsANumber(NegotiatedWorkshop):
    """Announces its version as a number after a handshake, from a file of settings in which it has no quotes."""

    def announcement(self, *, handshake: bool) -> Json:
        said = super().announcement(handshake=handshake)
        return {**said, "versions": [1.0]} if handshake else said
