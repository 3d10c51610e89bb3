"""Mutants of chapters 1, 5 and 6: what is announced, listed, and put around a document."""

from __future__ import annotations

from typing import Any

import mcp_types

from xmcp_conformance.wrong.registry import breaks
from xmcp_models.registry import EXTENSION_ID

from .miniature import Failure, Json, Miniature


@breaks("XMCP-CNF-002", profile="server")
class AnnouncesNothing(Miniature):
    """Does not announce the extension."""

    def extensions(self) -> dict[str, Any]:
        return {}


@breaks("XMCP-CNF-003", profile="server")
class AnnouncesAVersionAsText(Miniature):
    """Announces one version where a list belongs."""

    def extensions(self) -> dict[str, Any]:
        return {EXTENSION_ID: {"versions": "1.0", "wire": self.wire}}


@breaks("XMCP-TOL-001", profile="server")
class DependsOnAText(Miniature):
    """Lists metadata of the wrong type."""

    def metadata(self, name: str) -> Any:
        return {**(super().metadata(name) or {}), "depends_on": "echo"}


@breaks("XMCP-TOL-002", profile="server")
class DoesNotSayThatItDisplays(Miniature):
    """Displays with a tool that is not listed as a display tool."""

    def metadata(self, name: str) -> Any:
        return None if name == "card" else super().metadata(name)


@breaks("XMCP-TOL-010", profile="server")
class DependsOnAToolOfNobody(Miniature):
    """Lists a dependency on a tool that it does not have."""

    def metadata(self, name: str) -> Any:
        return {"depends_on": ["listing", "nowhere"]} if name == "pair" else super().metadata(name)


@breaks("XMCP-TOL-011", profile="server")
class DependsInACircle(Miniature):
    """Lists two tools that each come after the other."""

    def metadata(self, name: str) -> Any:
        return {**super().metadata(name), "depends_on": ["pair"]} if name == "listing" else super().metadata(name)


@breaks("XMCP-TOL-020", profile="server")
class LetsTheCallerSayWhoHeIs(Miniature):
    """Lists a parameter that it fills in as one that a caller can give."""

    def tools(self) -> dict[str, Json]:
        tools = super().tools()
        tools["orders"]["properties"]["user_id"] = {"type": "string"}
        return tools


@breaks("XMCP-TOL-021", profile="server")
class DoesNotSayWhatItFilledIn(Miniature):
    """Fills parameters in without a word."""

    def server_populated(self, populated: Any) -> str:
        return ""


@breaks("XMCP-TOL-023", profile="server")
class BelievesTheCaller(Miniature):
    """Fills a parameter in with what the caller sent for it."""

    def filled_in(self, name: str, forged: Json) -> Any:
        populated = super().filled_in(name, forged)
        if "user_id" in forged:
            populated["values"]["user_id"] = forged["user_id"]
        return populated


@breaks("XMCP-TOL-024", profile="server")
class RefusesWhatItFillsIn(Miniature):
    """Holds what only it fills in against the input schema."""

    def set_aside(self, name: str, arguments: Json) -> tuple[Json, Json]:
        return arguments, {}


@breaks("XMCP-TOL-030", profile="server")
class CachesWhatMayWrite(Miniature):
    """Lists a tool as cacheable that is not marked read-only."""

    def listed(self, name: str) -> mcp_types.Tool:
        listed = super().listed(name)
        return listed.model_copy(update={"annotations": None}) if name == "listing" else listed


@breaks("XMCP-MCP-053", profile="server")
class DoesNotSayThatItWraps(Miniature):
    """Wraps the value of a tool into an object, and does not say in its metadata where the value is."""

    def metadata(self, name: str) -> Any:
        metadata = super().metadata(name)
        return {key: said for key, said in metadata.items() if key != "wrapped_in"} if metadata else metadata


@breaks("XMCP-MCP-001", profile="server")
class AnswersInPlainText(Miniature):
    """Sends the text without a document around it."""

    def document(self, name: str, body: str) -> str:
        return "all is well"


@breaks("XMCP-MCP-002", profile="server")
class NeverSaysThatItFailed(Miniature):
    """Leaves `isError` false for an error."""

    def result(self, document: str, *, failed: bool, note: str = "") -> mcp_types.CallToolResult:
        return super().result(document, failed=False, note=note)


@breaks("XMCP-MCP-004", profile="server")
class StructuresAnError(Miniature):
    """Puts an error into `structuredContent`."""

    def result(self, document: str, *, failed: bool, note: str = "") -> mcp_types.CallToolResult:
        result = super().result(document, failed=failed, note=note)
        return result.model_copy(update={"structured_content": {"error": "failed"}}) if failed else result


@breaks("XMCP-MCP-014", profile="server")
class SendsMoreThanTheClientReads(Miniature):
    """Sends each document as large as it is."""

    def fitted(self, name: str, arguments: Json, result: Any, most: int) -> Any:
        return result


@breaks("XMCP-MCP-051", profile="server")
class HasAWordOfItsOwnForTooLarge(Miniature):
    """Answers with a code of its own where a document would be too large."""

    def too_large(self) -> Failure:
        return Failure("X_ACME_TOO_LONG", "That is too long.", self.vendor())


@breaks("XMCP-MCP-061", profile="server")
class NamesItsViewToEverybody(Miniature):
    """Names its view to clients that did not announce MCP Apps."""

    def names_view(self, *, apps: bool) -> bool:
        return True


@breaks("XMCP-MCP-062", profile="server")
class HasAViewThatHostsDoNotRun(Miniature):
    """Gives its view the media type of any page."""

    def view_type(self) -> str:
        return "text/html"


@breaks("XMCP-MCP-063", profile="server")
class HasAViewThatPhonesHome(Miniature):
    """Asks the host to let its view connect to a domain."""

    def view_wishes(self) -> Json:
        return {"csp": {"connectDomains": ["https://acme.example"]}}
