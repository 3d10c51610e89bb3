"""A right server of an observatory, the base of the fifth set of servers.

It shares no code with the reference package, the suite, or the other sets. The tools are classes (`instruments`), of
which each call makes an object; `Paper` or `Slip` (`writers`) writes its outcome. A server of the set swaps a tool for
a subclass of it, hands out another writer, or does one step of the observatory itself in another way.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from collections import Counter
from dataclasses import replace
from typing import Any, ClassVar

import anyio
import jsonschema_rs
import mcp_types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from unseen_fifth.instruments import TOOLS
from unseen_fifth.kit import PREFIX, Json, Outcome, Problem, Success, Tool, Visit, whole
from unseen_fifth.writers import Paper, Slip

EXTENSION = f"{PREFIX}tool-response"
BADGE: Json = {
    "observer_id": "obs-2718",
    "site": "Hawk Hill, dome D2, control room on the upper floor next to the stairs, where the kettle is",
    "token": "orion-5521-violet",
}
Place = list[str | int]
Fault = tuple[Place, str]


class _Announcing(Server[Any]):
    """The handshake era has no member `extensions`, so the announcement is under `experimental` there."""

    observatory: Observatory

    def get_capabilities(self, *positional: Any, **named: Any) -> mcp_types.ServerCapabilities:
        handshake = named.get("protocol_version") is None
        capabilities = super().get_capabilities(*positional, **named)
        return self.observatory.announced(capabilities, handshake=handshake)


class Observatory:
    """An observatory with the wire `always`."""

    wire: ClassVar[str] = "always"
    swapped: ClassVar[tuple[type[Tool], ...]] = ()
    paper: ClassVar[type[Paper]] = Paper
    slip: ClassVar[type[Slip]] = Slip

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def tools(self) -> dict[str, type[Tool]]:
        """Return the tools by name; a swapped one takes the place of the usual one."""
        return {tool.name: tool for tool in (*TOOLS, *self.swapped)}

    # -- a call --------------------------------------------------------------------------------------------------

    async def answer(self, visit: Visit) -> mcp_types.CallToolResult:
        """Answer a call."""
        tool = self.tools().get(visit.tool)
        try:
            outcome: Outcome = await self.perform(visit, tool or self.missing(visit))
        except Problem as problem:
            outcome = problem
        except MCPError:
            raise
        except Exception as error:
            outcome = self.unforeseen(visit, error)
        return self.written(visit, tool, outcome)

    def written(self, visit: Visit, tool: type[Tool] | None, outcome: Outcome) -> mcp_types.CallToolResult:
        """Write an outcome in the form that the client gets."""
        return (self.paper if visit.documents else self.slip)(visit, tool).result(outcome)

    def missing(self, visit: Visit) -> type[Tool]:
        """Refuse a call of a tool that is not there."""
        if not visit.tool:
            raise MCPError(-32602, "A tool has a name.")
        raise Problem("UNKNOWN_TOOL", "The observatory has no such tool.", side_effects="none")

    def unforeseen(self, visit: Visit, error: Exception) -> Problem:
        """Log an exception that nobody foresaw."""
        number = uuid.uuid4().hex
        sys.stderr.write(f"{number} {type(error).__name__} in {visit.tool}\n")
        return Problem("INTERNAL", "Something broke under the dome.", error_id=number)

    async def perform(self, visit: Visit, tool: type[Tool]) -> Outcome:
        """Do what the tool does."""
        args, forged = self.set_aside(visit, tool)
        faults = self.faults(visit, tool, args)
        if faults:
            raise self.refusal(visit, faults)
        await anyio.sleep(tool.pause)
        success = tool(visit, args, self.badge(visit, tool, forged)).run()
        if tool.fills():
            success = replace(success, filled=self.said_of(tool, forged))
        return self.shown(visit, tool, args, success)

    def set_aside(self, visit: Visit, tool: type[Tool]) -> tuple[Json, Json]:
        """Return the arguments to check, and those that are the server's to fill in."""
        forged = {name: value for name, value in visit.args.items() if name in tool.fills()}
        args = {name: value for name, value in visit.args.items() if name not in forged}
        if tool.shows() and "show_user" in args and args["show_user"] is None:
            args = self.unset(visit, args)
        return args, forged

    def unset(self, visit: Visit, args: Json) -> Json:
        """Return arguments without a `show_user` that is null."""
        return {name: value for name, value in args.items() if name != "show_user"}

    def badge(self, visit: Visit, tool: type[Tool], forged: Json) -> Json:
        """Return what the server fills in."""
        return {name: BADGE[name] for name in tool.fills()}

    def said_of(self, tool: type[Tool], forged: Json) -> Json:
        """Return what is said of the parameters that the server filled in."""
        said: Json = {"values": {name: BADGE[name] for name in tool.fills() if name != "token"}, "redacted": ["token"]}
        return {**said, "overridden": sorted(forged)} if forged else said

    # -- arguments -----------------------------------------------------------------------------------------------

    def faults(self, visit: Visit, tool: type[Tool], args: Json) -> list[Fault]:
        """Return the place and the reason of each argument that does not fit."""
        found: list[Fault] = []
        for error in self.validator(tool).iter_errors(whole(args)):
            kind: Any = error.kind
            place: Place = [*error.instance_path]
            reason = type(kind).__name__.rpartition("_")[2].lower()
            names = [*getattr(kind, "unexpected", [])] or [getattr(kind, "property", None)]
            found += [([*place, name] if isinstance(name, str) else place, reason) for name in names]
        return found

    def validator(self, tool: type[Tool]) -> Any:
        """Return the validator of the arguments."""
        return jsonschema_rs.validator_for(tool.takes(), validate_formats=True)

    def pointer(self, place: Place) -> str:
        """Return a JSON Pointer."""
        return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in place)

    def refusal(self, visit: Visit, faults: list[Fault]) -> Problem:
        """Return the problem of arguments that do not fit."""
        fields = [{"pointer": self.pointer(place), "reason": why, "message": "does not fit"} for place, why in faults]
        said = f"{len(faults)} of the arguments do not fit the tool."
        return Problem("VALIDATION_FAIL", said, fields=fields, side_effects="none")

    # -- displays ------------------------------------------------------------------------------------------------

    def wanted(self, visit: Visit, tool: type[Tool], args: Json) -> bool:
        """Return whether the caller wants a display."""
        return tool.shows() and args.get("show_user") is True

    def shown(self, visit: Visit, tool: type[Tool], args: Json, success: Success) -> Success:
        """Drop a display that nobody asked for, or tell the model of it."""
        if success.display is None or not self.wanted(visit, tool, args):
            return replace(success, display=None)
        display = self.adapted(visit, success.display)
        hint = "" if visit.declared else self.hint(visit, args)
        return replace(success, text=success.text + hint, display=display)

    def hint(self, visit: Visit, args: Json) -> str:
        """Return what a client that did not declare the extension is told."""
        return "\n[There is a display too, which your application is perhaps not able to show.]"

    def adapted(self, visit: Visit, display: Json) -> Json:
        """Add fallbacks for a client that named the types which it shows."""
        known = visit.declaration.get("displayTypes")
        if not isinstance(known, list):
            return display
        if display["type"] == "group":
            display = {**display, "payload": [self.adapted(visit, one) for one in display["payload"]]}
        if display["type"] in known or "fallback" in display:
            return display
        instead = str(display.get("alt") or display.get("title") or f"A {display['type']}.")
        return {**display, "fallback": {"type": "text", "payload": instead}}

    # -- MCP -----------------------------------------------------------------------------------------------------

    def announcement(self, *, handshake: bool) -> Json:
        """Return what the server says of the extension."""
        return {"versions": ["1.0"], "wire": self.wire}

    def announced(self, capabilities: Any, *, handshake: bool) -> mcp_types.ServerCapabilities:
        """Return the capabilities with the announcement."""
        said = {EXTENSION: self.announcement(handshake=handshake)}
        changed: mcp_types.ServerCapabilities = capabilities.model_copy(
            update={"experimental" if handshake else "extensions": said}
        )
        return changed

    def declaration(self, context: Any) -> Json:
        """Return what the client declared, if that counts."""
        capabilities = context.session.client_capabilities
        for place in ("extensions", "experimental"):
            said = (getattr(capabilities, place, None) or {}).get(EXTENSION)
            if isinstance(said, dict) and self.speaks(said.get("versions")):
                return said
        return {}

    def speaks(self, versions: Any) -> bool:
        """Return whether one of these versions is one that the server speaks."""
        return isinstance(versions, list) and any(re.fullmatch(r"1\.[0-9]+", str(one)) for one in versions)

    def sends_documents(self, declaration: Json, *, handshake: bool) -> bool:
        """Return whether a client with this declaration gets documents."""
        if self.wire == "negotiated":
            return bool(declaration) and declaration.get("documents") is not False
        return self.wire == "always"

    def visit(self, context: Any, params: mcp_types.CallToolRequestParams) -> Visit:
        """Return the call that a request is."""
        args = dict(params.arguments or {})
        same = f"{params.name}?{json.dumps(args, sort_keys=True)}"
        self.calls.update((params.name, same))
        declaration, handshake = self.declaration(context), self.handshake(context)
        return Visit(
            tool=params.name,
            args=args,
            declaration=declaration,
            handshake=handshake,
            documents=self.sends_documents(declaration, handshake=handshake),
            nth=self.calls[params.name],
            again=self.calls[same],
        )

    def handshake(self, context: Any) -> bool:
        """Return whether the client speaks the era with a handshake."""
        return not context.protocol_version.startswith("2026")

    def listed(self, tool: type[Tool], *, declared: bool, handshake: bool) -> mcp_types.Tool:
        """Return a tool as the list has it."""
        about = self.metadata(tool, declared=declared, handshake=handshake)
        return mcp_types.Tool(
            name=tool.name,
            description=tool.summary(),
            input_schema=tool.takes(),
            output_schema=tool.gives,
            annotations=mcp_types.ToolAnnotations(read_only_hint=tool.reads),
            _meta=None if about is None else {f"{PREFIX}tool": about},
        )

    def metadata(self, tool: type[Tool], *, declared: bool, handshake: bool) -> Json | None:
        """Return the metadata of a tool."""
        return tool.about

    def page(self, cursor: str | None, tools: list[mcp_types.Tool]) -> mcp_types.ListToolsResult:
        """Return a page of the list."""
        return mcp_types.ListToolsResult(tools=tools)

    def server(self) -> Server[Any]:
        """Return the server object of the MCP SDK."""

        async def list_tools(context: Any, params: Any) -> mcp_types.ListToolsResult:
            declared, handshake = bool(self.declaration(context)), self.handshake(context)
            tools = [self.listed(tool, declared=declared, handshake=handshake) for tool in self.tools().values()]
            return self.page(getattr(params, "cursor", None), tools)

        async def call_tool(context: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
            return await self.answer(self.visit(context, params))

        server = _Announcing("observatory", on_list_tools=list_tools, on_call_tool=call_tool)
        server.observatory = self
        return server


class Negotiated(Observatory):
    """The observatory with the wire `negotiated`."""

    wire = "negotiated"


class Plain(Observatory):
    """The observatory with the wire `plain`."""

    wire = "plain"
