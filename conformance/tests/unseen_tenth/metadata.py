"""Wrong in what the harbour says of itself and of its tools, or in the parameters that it fills in."""

from __future__ import annotations

import mcp_types
from unseen_eighth.kit import Answer, Call, Failure, Json, Tool

from unseen_tenth.harbour import OWNER, Harbour, NegotiatedHarbour, PlainHarbour
from unseen_tenth.registry import breaks


@breaks("TOL-001")
class NullForNothing(Harbour):
    """Lists a tool that depends on nothing with null as what it depends on, after a handshake."""

    def listed(self, name: str, tool: Tool, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        if handshake and name == "hail":
            tool.meta["depends_on"] = None
        return super().listed(name, tool, declared=declared, handshake=handshake)


@breaks("TOL-011")
class RoundTheHarbour(NegotiatedHarbour):
    """Lists three tools that depend on each other in a circle, to clients that can make use of it."""

    def listed(self, name: str, tool: Tool, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        if declared and name == "find_berths":
            tool.meta["depends_on"] = ["harbour_map"]
        return super().listed(name, tool, declared=declared, handshake=handshake)


@breaks("TOL-021")
class ShownInstead(Harbour):
    """Writes nothing of what it filled in where there is a display, which has no room for more."""

    def children(self, call: Call, outcome: Answer | Failure) -> list[str]:
        children = super().children(call, outcome)
        return children[:2] if isinstance(outcome, Answer) and outcome.display is not None else children


@breaks("TOL-023")
class AsksInTheirName(NegotiatedHarbour):
    """Calls the tool with an owner that the caller sent as a text, and says that its own one was used."""

    def set_aside(self, call: Call, tool: Tool) -> None:
        super().set_aside(call, tool)
        if isinstance(call.forged.get("owner_id"), str):
            call.filled["owner_id"] = call.forged["owner_id"]

    def disclosed(self, call: Call) -> Json:
        said = super().disclosed(call)
        known = {name: OWNER[name] if name == "owner_id" else one for name, one in said["values"].items()}
        return {**said, "values": known}


@breaks("TOL-024")
class KnowsTheTypes(PlainHarbour):
    """Refuses a call that sends a value of another type for a parameter which it fills in, as one that does not fit."""

    def faults(self, call: Call, tool: Tool) -> list[tuple[list[str | int], str]]:
        faults = super().faults(call, tool)
        for name, one in call.forged.items():
            if type(one) is not type(OWNER[name]):
                faults.append(([name], "type"))
        return faults


@breaks("TOL-030")
class TwiceIsOnce(NegotiatedHarbour):
    """Says that a tool which lands a cargo is cacheable, since the second call of it changes nothing more."""

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        tools["land_cargo"].meta["cacheable"], tools["land_cargo"].idempotent = True, True
        return tools


@breaks("MCP-005")
class WireOnlyForNewOnes(NegotiatedHarbour):
    """Announces its versions alone after a handshake, and its wire in the other era alone."""

    def announcement(self, *, handshake: bool) -> Json:
        said = super().announcement(handshake=handshake)
        return {"versions": said["versions"]} if handshake else said


@breaks("MCP-053")
class NamedForStrangers(NegotiatedHarbour):
    """Names the member around a value only to clients that did not declare the extension, by a condition inverted."""

    def listed(self, name: str, tool: Tool, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        if declared:
            tool.meta.pop("wrapped_in", None)
        return super().listed(name, tool, declared=declared, handshake=handshake)
