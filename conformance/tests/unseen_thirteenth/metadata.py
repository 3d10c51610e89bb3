"""Print shops that get the metadata of tools wrong, or the parameters that they fill in."""

from __future__ import annotations

import mcp_types
from unseen_eighth.kit import Call, Json, Tool

from unseen_thirteenth.printshop import CUSTOMER, SECRET, NegotiatedPrintShop, PlainPrintShop, PrintShop
from unseen_thirteenth.registry import breaks


@breaks("TOL-001")
class WritesEveryKey(PrintShop):
    """The metadata of tools that can be cached come from a data class, with `null` for every key that was not set."""

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        for tool in tools.values():
            if tool.meta.get("cacheable"):
                tool.meta = {"depends_on": None, "provides": None, "wrapped_in": None, **tool.meta}
        return tools


@breaks("TOL-010")
class ForgetsARename(NegotiatedPrintShop):
    """One tool depends on a tool by the name that it had before it was renamed."""

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        tools["job_ticket"].meta["depends_on"] = ["list_papers", "impose_pages"]
        return tools


@breaks("TOL-021")
class DropsTheFalse(NegotiatedPrintShop):
    """Leaves the values out that count as false in Python, so that a parameter with `false` or `null` is not named."""

    def disclosed(self, call: Call) -> Json:
        said = super().disclosed(call)
        return {**said, "values": {name: one for name, one in said["values"].items() if one}}


@breaks("TOL-023")
class TakesWhatFits(PrintShop):
    """What the caller sends for a parameter that it fills in counts, if it is of the same type as the shop's own
    value.
    """

    def set_aside(self, call: Call, tool: Tool) -> None:
        super().set_aside(call, tool)
        for name, value in list(call.forged.items()):
            if name not in SECRET and type(value) is type(CUSTOMER[name]):
                call.filled[name] = value
                del call.forged[name]


@breaks("TOL-024")
class ValidatesFirst(PlainPrintShop):
    """Validates the arguments before it sets aside what the caller sent for parameters that the shop fills in."""

    def faults(self, call: Call, tool: Tool) -> list[tuple[list[str | int], str]]:
        sent: list[tuple[list[str | int], str]] = [([name], "additionalproperties") for name in call.forged]
        return [*super().faults(call, tool), *sent]


@breaks("TOL-030")
class HintsInTheNewEra(PrintShop):
    """Lists no annotations to clients with a handshake, so that nothing says there that its cacheable tools only
    read.
    """

    def annotations(self, tool: Tool, *, handshake: bool) -> mcp_types.ToolAnnotations | None:
        return None if handshake else super().annotations(tool, handshake=handshake)
