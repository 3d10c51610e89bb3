"""Harbour offices that get the metadata of tools wrong."""

from __future__ import annotations

from copy import deepcopy

import mcp_types as types
from unseen_eighth.kit import Json, Tool

from unseen_fourteenth.harbour import Harbour, NegotiatedHarbour, PlainHarbour
from unseen_fourteenth.registry import breaks


@breaks("TOL-002", "DSP-020")
class FormattedToolsAreForModels(NegotiatedHarbour):
    """Leaves `display` out of the metadata of the tool with a formatter, which shows displays all the same."""

    def listed(self, name: str, tool: Tool, client: Json) -> types.Tool:
        if "xml_formatter" in tool.meta:
            del tool.meta["display"]
        return super().listed(name, tool, client)


@breaks("TOL-010")
class QualifiesTheNames(Harbour):
    """Names the tool that another one depends on with the prefix that a gateway gives it."""

    def listed(self, name: str, tool: Tool, client: Json) -> types.Tool:
        if "depends_on" in tool.meta:
            tool.meta["depends_on"] = [f"harbour.{one}" for one in tool.meta["depends_on"]]
        return super().listed(name, tool, client)


@breaks("TOL-011")
class DependsInACircle(PlainHarbour):
    """Three of its tools depend on each other in a circle: warnings, tides and manifests."""

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        tools["tideTable"].meta["depends_on"] = ["list_berths", "cargo_manifest"]
        tools["cargo_manifest"].meta["depends_on"] = ["weather_warning"]
        return tools


@breaks("TOL-020")
class OffersWhatItFills(NegotiatedHarbour):
    """Lists one of the parameters that it fills in as a property of the input schema, for clients to display."""

    def listed(self, name: str, tool: Tool, client: Json) -> types.Tool:
        if name == "my_moorings":
            tool.takes = deepcopy(tool.takes)
            tool.takes["properties"]["relief"] = {"type": ["string", "null"], "description": "Filled in by the office."}
        return super().listed(name, tool, client)


@breaks("DSP-020", "DSP-024")
class AsksForADecision(NegotiatedHarbour):
    """Makes `show_user` required in the input schema of one of its display tools."""

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        tools["find_vessel"].takes["required"].append("show_user")
        return tools


@breaks("MCP-053")
class WrapsInSilence(NegotiatedHarbour):
    """Lists `wrapped_in` to clients that declared nothing, and leaves it out for those that did."""

    def listed(self, name: str, tool: Tool, client: Json) -> types.Tool:
        if client:
            tool.meta.pop("wrapped_in", None)
        return super().listed(name, tool, client)
