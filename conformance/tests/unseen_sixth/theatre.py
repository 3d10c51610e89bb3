"""A right server of a theatre, the base of the sixth set: methods with decorators, and a table made of them.

It shares no code with the reference package, the suite, or the other sets. A server of the set overrides a tool, an
element of the documents, a part of the plain result, or what the theatre says of itself.
"""

from __future__ import annotations

import json
import re
import uuid
from collections import Counter
from dataclasses import replace
from typing import Any

import jsonschema_rs
import mcp_types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from unseen_sixth.paper import Paper
from unseen_sixth.parts import HALF, PREFIX, Ask, Entry, Json, Reply, Trouble
from unseen_sixth.programme import Programme

EXTENSION = f"{PREFIX}tool-response"
MEMBER: Json = {"member_id": "m-271828", "home_hall": "the old circle", "card_token": "tok-ruby-31415"}


class _Speaking(Server[Any]):
    """Says what the theatre announces, at the place that the era has for it."""

    theatre: Theatre

    def get_capabilities(self, *positional: Any, **named: Any) -> mcp_types.ServerCapabilities:
        handshake = named.get("protocol_version") is None
        said = super().get_capabilities(*positional, **named)
        return said.model_copy(update=self.theatre.announced(handshake=handshake))


class Theatre(Programme, Paper):
    """A theatre with the wire `always`."""

    wire = "always"

    def __init__(self) -> None:
        self.journal: list[str] = []
        self.asked: Counter[str] = Counter()

    def table(self) -> dict[str, Entry]:
        """Return what the list says of each tool."""
        found: dict[str, Entry] = {}
        for owner in reversed(type(self).__mro__):
            found |= {name: one.entry for name, one in vars(owner).items() if hasattr(one, "entry")}
        return found

    def entry(self, ask: Ask) -> Entry:
        """Return the entry of the tool that is asked."""
        return self.table()[ask.tool]

    # -- calls ---------------------------------------------------------------------------------------------------

    async def perform(self, ask: Ask) -> Reply | Trouble:
        """Call a tool and take what it says, whichever way it ends."""
        try:
            return self.play(ask)
        except Trouble as trouble:
            return trouble
        except MCPError:
            raise
        except Exception as error:
            return self.surprise(ask, error)

    def play(self, ask: Ask) -> Reply:
        """Call a tool."""
        if ask.tool not in self.table():
            raise self.stranger(ask)
        self.prepare(ask)
        faults = self.faults(ask)
        if faults:
            raise self.refused(ask, faults)
        reply: Reply = getattr(self, ask.tool)(ask)
        if self.entry(ask).about.get("server_populated"):
            reply.filled = self.disclosed(ask)
        return self.curtain(ask, reply)

    def stranger(self, ask: Ask) -> Exception:
        """Return the failure of a tool that the theatre does not have."""
        if not ask.tool:
            return MCPError(-32602, "A call names a tool.")
        return Trouble("UNKNOWN_TOOL", "The theatre has no such tool.", {"side_effects": "none"})

    def surprise(self, ask: Ask, error: Exception) -> Trouble:
        """Write a failure that nobody foresaw into the journal."""
        number = uuid.uuid4().hex
        self.journal.append(f"{number} {type(error).__name__} in {ask.tool}")
        return Trouble("INTERNAL", "Something fell from the rigging.", {"error_id": number})

    def prepare(self, ask: Ask) -> None:
        """Set aside what the theatre fills in, and a `show_user` that is null."""
        about = self.entry(ask).about
        for name in about.get("server_populated", []):
            ask.filled[name] = MEMBER[name]
            if name in ask.args:
                ask.forged[name] = ask.args.pop(name)
        if about.get("display") and ask.args.get("show_user", "") is None:
            del ask.args["show_user"]
        ask.shown = about.get("display") is True and ask.args.get("show_user") is True

    def disclosed(self, ask: Ask) -> Json:
        """Return what is said of the parameters that the theatre filled in."""
        said: Json = {
            "values": {name: one for name, one in ask.filled.items() if name != "card_token"},
            "redacted": ["card_token"],
        }
        if ask.forged:
            said["overridden"] = sorted(ask.forged)
        return said

    def faults(self, ask: Ask) -> list[tuple[list[str | int], str]]:
        """Return the path of each argument that does not fit, and why."""
        found: list[tuple[list[str | int], str]] = []
        judge = jsonschema_rs.validator_for(self.judged(ask), validate_formats=True)
        for error in judge.iter_errors(whole_text(ask.args)):
            kind: Any = error.kind
            names = [*getattr(kind, "unexpected", [])]
            if isinstance(getattr(kind, "property", None), str):
                names.append(kind.property)
            path = [*error.instance_path]
            reason = type(kind).__name__.rpartition("_")[2].lower()
            found += [([*path, name], reason) for name in names] or [(path, reason)]
        return found

    def judged(self, ask: Ask) -> Json:
        """Return the schema that the arguments have to fit."""
        return self.entry(ask).takes

    def refused(self, ask: Ask, faults: list[tuple[list[str | int], str]]) -> Trouble:
        """Return the failure of arguments that do not fit."""
        named = [
            {"pointer": self.pointer(path), "reason": why, "message": f"This is a fault: {why}."}
            for path, why in faults
        ]
        meta: Json = {"fields": named, "side_effects": "none"}
        return Trouble("VALIDATION_FAIL", f"{len(faults)} arguments do not fit.", meta)

    def pointer(self, path: list[str | int]) -> str:
        """Return a JSON Pointer."""
        return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)

    def curtain(self, ask: Ask, reply: Reply) -> Reply:
        """Drop a display that nobody asked for, and tell the model about one that perhaps nobody sees."""
        if reply.show is None or not ask.shown:
            reply.show = None
            return reply
        reply.show = self.known(ask, reply.show)
        return replace(reply, text=reply.text + self.hint(ask))

    def hint(self, ask: Ask) -> str:
        """Return what is added for a client that did not declare the extension."""
        return "" if ask.declared else "\n(There is a display too, but your application may not be able to show it.)"

    def known(self, ask: Ask, show: Any) -> Any:
        """Return a display with a fallback for types that the client does not know."""
        types = ask.declared.get("displayTypes")
        if not isinstance(types, list):
            return show
        if show["type"] == "group":
            show = {**show, "payload": [self.known(ask, one) for one in show["payload"]]}
        if show["type"] in types or "fallback" in show:
            return show
        return {**show, "fallback": {"type": "text", "payload": show.get("alt") or f"This is a {show['type']}."}}

    # -- results -------------------------------------------------------------------------------------------------

    def paper_result(self, ask: Ask, end: Reply | Trouble) -> mcp_types.CallToolResult:
        """Return a result with a document."""
        written, end = self.fitting(ask, end)
        return mcp_types.CallToolResult(
            content=self.paper_blocks(ask, end, written),
            is_error=self.is_error(ask, end),
            structured_content=self.data(ask, end),
            _meta=self.paper_meta(ask, end),
        )

    def paper_blocks(self, ask: Ask, end: Reply | Trouble, written: str) -> list[Any]:
        """Return the blocks of a result with a document."""
        aside = end.aside if isinstance(end, Reply) else ""
        return [block(written), *([block(aside, "user")] if aside else [])]

    def paper_meta(self, ask: Ask, end: Reply | Trouble) -> Json | None:
        """Return the `_meta` of a result with a document."""
        return {f"{PREFIX}result": {"version": "1.0", "form": "document"}}

    def is_error(self, ask: Ask, end: Reply | Trouble) -> bool:
        """Return what a result says in `isError`."""
        return isinstance(end, Trouble)

    def data(self, ask: Ask, end: Reply | Trouble) -> Json | None:
        """Return the structured content."""
        return end.data if isinstance(end, Reply) else None

    def plain_result(self, ask: Ask, end: Reply | Trouble) -> mcp_types.CallToolResult:
        """Return a plain result."""
        return mcp_types.CallToolResult(
            content=[*self.model_blocks(ask, end), *self.other_blocks(ask, end)],
            is_error=self.is_error(ask, end),
            structured_content=self.data(ask, end),
            _meta=self.plain_meta(ask, end),
        )

    def model_blocks(self, ask: Ask, end: Reply | Trouble) -> list[Any]:
        """Return the blocks that are the text for the model."""
        return [block(self.legal(end.text if isinstance(end, Reply) else f"{end.code}: {end.message}"))]

    def other_blocks(self, ask: Ask, end: Reply | Trouble) -> list[Any]:
        """Return the other blocks of a plain result."""
        if isinstance(end, Trouble):
            return []
        blocks = [self.filled_block(ask, end.filled)] if end.filled is not None else []
        aside = end.aside, self.alternative(ask, end.show)
        return blocks + [block(self.legal(one), "user") for one in aside if one]

    def filled_block(self, ask: Ask, filled: Json) -> mcp_types.TextContent:
        """Return the block that names what the theatre filled in."""
        said = [f"{name} = {one}" for name, one in filled["values"].items()]
        hidden = [f"{name} (not disclosed)" for name in filled["redacted"]]
        ignored = [f"{name} as you sent it was ignored" for name in filled.get("overridden", [])]
        line = f"Filled in by the theatre: {'; '.join([*said, *hidden, *ignored])}"
        return mcp_types.TextContent(type="text", text=line, _meta={f"{PREFIX}server_populated": True})

    def alternative(self, ask: Ask, show: Any) -> str:
        """Return the words that a host without displays can show."""
        return "" if show is None else str(show.get("alt", ""))[:500]

    def plain_meta(self, ask: Ask, end: Reply | Trouble) -> Json | None:
        """Return the `_meta` of a plain result."""
        mark: Json = {"version": "1.0", "form": "plain"}
        meta: Json = {f"{PREFIX}result": mark}
        if isinstance(end, Trouble):
            return {**meta, f"{PREFIX}error": self.plain_error(ask, end)}
        mark |= {"format": end.media} if end.media else {}
        mark |= {"truncated": True} if end.cut else {}
        mark |= {"lossy": True} if self.legal(end.text) != end.text else {}
        if end.show is not None:
            meta[f"{PREFIX}display"] = self.plainly(end.show)
        if end.filled is not None:
            meta[f"{PREFIX}server_populated"] = self.plainly(end.filled)
        return meta

    def plain_error(self, ask: Ask, trouble: Trouble) -> Json:
        """Return a failure as JSON."""
        said: Json = {
            "code": trouble.code,
            "message": self.legal(trouble.message),
            "category": trouble.category,
            "retryable": trouble.retryable,
        }
        if trouble.retryable and trouble.wait is not None:
            said["retry_after_ms"] = trouble.wait
        if trouble.meta is not None:
            said["meta"] = self.plainly(trouble.meta)
        return said

    # -- MCP -----------------------------------------------------------------------------------------------------

    def announced(self, *, handshake: bool) -> Json:
        """Return what the capabilities say of the extension."""
        return {"experimental" if handshake else "extensions": {EXTENSION: self.announcement(handshake=handshake)}}

    def announcement(self, *, handshake: bool) -> Json:
        """Return the announcement."""
        return {"versions": ["1.0"], "wire": self.wire}

    def declaration(self, context: Any) -> Json:
        """Return what the client declared; nothing where it speaks another version."""
        for place in ("extensions", "experimental"):
            said = (getattr(context.session.client_capabilities, place, None) or {}).get(EXTENSION)
            versions = said.get("versions") if isinstance(said, dict) else None
            if isinstance(versions, list) and any(re.match(r"1\.[0-9]", str(one)) for one in versions):
                return {**said} if isinstance(said, dict) else {}
        return {}

    def on_paper(self, ask: Ask) -> bool:
        """Return whether the client gets documents."""
        if self.wire == "negotiated":
            return bool(ask.declared) and ask.declared.get("documents") is not False
        return self.wire == "always"

    async def answer(self, ask: Ask) -> mcp_types.CallToolResult:
        """Answer a call."""
        end = await self.perform(ask)
        return self.paper_result(ask, end) if ask.documents else self.plain_result(ask, end)

    def listed(self, name: str, entry: Entry, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        """Return a tool as the list has it."""
        return mcp_types.Tool(
            name=name,
            description=entry.summary,
            input_schema=entry.takes,
            output_schema=entry.gives,
            annotations=mcp_types.ToolAnnotations(read_only_hint=entry.reads),
            _meta={f"{PREFIX}tool": entry.about} if entry.about else None,
        )

    def page(self, params: Any, tools: list[mcp_types.Tool]) -> mcp_types.ListToolsResult:
        """Return the list of tools, or a page of it."""
        return mcp_types.ListToolsResult(tools=tools)

    def server(self) -> Server[Any]:
        """Return the server object of the MCP SDK."""

        def old(context: Any) -> bool:
            return not str(context.protocol_version).startswith("2026")

        async def list_tools(context: Any, params: Any) -> mcp_types.ListToolsResult:
            declared = bool(self.declaration(context))
            tools = [
                self.listed(name, entry, declared=declared, handshake=old(context))
                for name, entry in self.table().items()
            ]
            return self.page(params, tools)

        async def call_tool(context: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
            args = dict(params.arguments or {})
            same = f"{params.name} {json.dumps(args, sort_keys=True)}"
            self.asked[same] += 1
            ask = Ask(params.name, args, self.declaration(context), old(context), again=self.asked[same])
            ask.documents = self.on_paper(ask)
            return await self.answer(ask)

        server = _Speaking("theatre", on_list_tools=list_tools, on_call_tool=call_tool)
        server.theatre = self
        return server


class NegotiatedTheatre(Theatre):
    """The theatre with the wire `negotiated`."""

    wire = "negotiated"


class PlainTheatre(Theatre):
    """The theatre with the wire `plain`."""

    wire = "plain"


def whole_text(value: Any) -> Any:
    """Return a value without halves of surrogate pairs, which the validator cannot hold."""
    if isinstance(value, str):
        return HALF.sub("\ufffd", value)
    if isinstance(value, dict):
        return {whole_text(name): whole_text(one) for name, one in value.items()}
    return [whole_text(one) for one in value] if isinstance(value, list) else value


def block(said: str, *audience: Any) -> mcp_types.TextContent:
    """Return a text block."""
    noted = mcp_types.Annotations(audience=[*audience]) if audience else None
    return mcp_types.TextContent(type="text", text=said, annotations=noted)
