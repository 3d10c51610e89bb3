"""A right server of an observatory, the base of the eighth set: a table of tools, and what is done around each of them.

It shares no code with the reference package, the suite, or the other sets. A server of the set overrides a step on the
way of a call, an element of the documents, a part of the plain result, or what the observatory says of itself.
"""

from __future__ import annotations

import json
import re
import uuid
from collections import Counter
from copy import deepcopy
from typing import Any

import jsonschema_rs
import mcp_types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from unseen_eighth.kit import PREFIX, Answer, Call, Failure, Json, Tool, whole
from unseen_eighth.tools import TOOLS
from unseen_eighth.writer import Writer

EXTENSION = f"{PREFIX}tool-response"
OBSERVER: Json = {
    "observer_id": "obs-141421",
    "site": "North Ridge, the hill beyond the lake",
    "priority": 0,
    "quota_ns": 86_400_000_000_000_000,
    "api_key": "key-aldebaran-57721",
}
SECRET = ("api_key",)
LIMIT = 8 * 1024 * 1024


class _Open(Server[Any]):
    """Says what the observatory announces, at the place that the era has for it."""

    observatory: Observatory

    def get_capabilities(self, *positional: Any, **named: Any) -> mcp_types.ServerCapabilities:
        handshake = named.get("protocol_version") is None
        said = super().get_capabilities(*positional, **named)
        return said.model_copy(update=self.observatory.announced(handshake=handshake))


class Observatory(Writer):
    """An observatory with the wire `always`."""

    wire = "always"

    def __init__(self) -> None:
        self.log: list[str] = []
        self.seen: Counter[str] = Counter()

    def tools(self) -> dict[str, Tool]:
        """Return the tools by their names."""
        return deepcopy(TOOLS)

    # -- the way of a call ---------------------------------------------------------------------------------------

    async def outcome(self, call: Call) -> Answer | Failure:
        """Return what became of a call."""
        outcome: Answer | Failure
        try:
            outcome = self.serve(call)
        except Failure as failure:
            outcome = failure
            if not self.keeps(call, failure.display):
                failure.display = None
        except MCPError:
            raise
        except Exception as error:
            outcome = self.surprise(call, error)
        if outcome.display is not None:
            outcome.display = self.understood(call, outcome.display)
        return outcome

    def serve(self, call: Call) -> Answer:
        """Call a tool."""
        tools = self.tools()
        if call.tool not in tools:
            return self.stranger(call)
        tool = tools[call.tool]
        self.set_aside(call, tool)
        faults = self.faults(call, tool)
        if faults:
            raise self.unfit(call, faults)
        answer = self.served(call, tool.run(call))
        if tool.meta.get("server_populated"):
            answer.filled = self.disclosed(call)
        if not self.keeps(call, answer.display):
            answer.display = None
        answer.text += self.hint(call, answer)
        return answer

    def stranger(self, call: Call) -> Answer:
        """Refuse the call of a tool that the observatory does not have."""
        if not call.tool:
            raise MCPError(-32602, "A call names a tool.")
        raise Failure("UNKNOWN_TOOL", "The observatory has no such tool.", {"side_effects": "none"})

    def surprise(self, call: Call, error: Exception) -> Failure:
        """Write a failure that nobody foresaw into the log."""
        number = uuid.uuid4().hex
        self.log.append(f"{number} {type(error).__name__} in {call.tool}")
        return Failure("INTERNAL", "Clouds came up, and nobody knows why.", {"error_id": number})

    def set_aside(self, call: Call, tool: Tool) -> None:
        """Fill in what the caller cannot say, and take a `show_user` that is null for an absent one."""
        for name in tool.meta.get("server_populated", []):
            call.filled[name] = OBSERVER[name]
            if name in call.args:
                call.forged[name] = call.args.pop(name)
        if tool.meta.get("display") and call.args.get("show_user", "") is None:
            del call.args["show_user"]
        call.wanted = tool.meta.get("display") is True and call.args.get("show_user") is True

    def faults(self, call: Call, tool: Tool) -> list[tuple[list[str | int], str]]:
        """Return the path of each argument that does not fit, and why it does not."""
        found: list[tuple[list[str | int], str]] = []
        judge = jsonschema_rs.validator_for(tool.takes, validate_formats=True)
        for error in judge.iter_errors(whole(call.args)):
            kind: Any = error.kind
            reason = type(kind).__name__.rpartition("_")[2].lower()
            names = [*getattr(kind, "unexpected", [])]
            missing = getattr(kind, "property", None)
            names += [missing] if isinstance(missing, str) else []
            path = [*error.instance_path]
            found += [([*path, name], reason) for name in names] or [(path, reason)]
        return found

    def unfit(self, call: Call, faults: list[tuple[list[str | int], str]]) -> Failure:
        """Return the failure of arguments that do not fit."""
        named = [self.named(call, path, why) for path, why in faults]
        meta: Json = {"fields": named, "side_effects": "none"}
        return Failure("VALIDATION_FAIL", f"{len(faults)} arguments do not fit.", meta)

    def named(self, call: Call, path: list[str | int], why: str) -> Json:
        """Return one entry of `fields`."""
        return {"pointer": self.pointer(path), "reason": why, "message": f"This does not fit: {why}."}

    def pointer(self, path: list[str | int]) -> str:
        """Return a JSON Pointer."""
        return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)

    def served(self, call: Call, answer: Answer) -> Answer:
        """Return what a tool returned."""
        return answer

    def keeps(self, call: Call, display: Any) -> bool:
        """Return whether a display is sent."""
        return display is not None and call.wanted

    def hint(self, call: Call, answer: Answer) -> str:
        """Return what a client that did not declare the extension is told about a display."""
        if answer.display is None or call.client:
            return ""
        return "\n(There is a display for the person, which this client perhaps cannot show.)"

    def understood(self, call: Call, display: Any) -> Any:
        """Return a display with a fallback for each type that the client does not know."""
        types = call.client.get("displayTypes")
        if not isinstance(types, list):
            return display
        if display["type"] == "group":
            display = {**display, "payload": [self.understood(call, one) for one in display["payload"]]}
        known = display["type"] in types or "fallback" in display
        return display if known else {**display, "fallback": self.fallback(call, display)}

    def fallback(self, call: Call, display: Any) -> Json:
        """Return what is shown in the place of a display."""
        return {"type": "text", "payload": display.get("alt") or f"There is a {display['type']} here."}

    def disclosed(self, call: Call) -> Json:
        """Return what is said of the parameters that the observatory filled in."""
        said: Json = {
            "values": {name: one for name, one in call.filled.items() if name not in SECRET},
            "redacted": [name for name in call.filled if name in SECRET],
        }
        return {**said, "overridden": sorted(call.forged)} if call.forged else said

    # -- sizes ---------------------------------------------------------------------------------------------------

    def fitting(self, call: Call, outcome: Answer | Failure) -> tuple[str, Answer | Failure]:
        """Return a document that is small enough, and what it says."""
        written = self.document(call, outcome)
        if self.size(written) <= self.room(call):
            return written, outcome
        outcome = self.too_large(call) if isinstance(outcome, Answer) else self.shorter(outcome)
        return self.document(call, outcome), outcome

    def room(self, call: Call) -> int:
        """Return the bytes that the client accepts."""
        most = call.client.get("maxBytes")
        if isinstance(most, bool) or not isinstance(most, int | float):
            return LIMIT
        return int(min(max(most, 4096), LIMIT))

    def too_large(self, call: Call) -> Failure:
        """Return the failure in the place of an answer that is too large."""
        return Failure("RESULT_TOO_LARGE", "The answer is too large for this client.", {"side_effects": "none"})

    def shorter(self, failure: Failure) -> Failure:
        """Return a failure that fits into 4,096 bytes."""
        old = failure.meta or {}
        meta: Json = {name: one for name, one in old.items() if name in ("error_id", "side_effects", "recovery")}
        fields: list[Json] = []
        for one in old.get("fields", []):
            slim = {"pointer": one["pointer"], "message": "Bad."}
            if self.size(self.json([*fields, slim])) <= 1500:
                fields.append(slim)
        meta |= {"fields": fields} if fields else {}
        short = Failure(failure.code, failure.message[:200], meta, category=failure.category, wait=failure.wait)
        short.retryable = failure.retryable
        return short

    # -- results -------------------------------------------------------------------------------------------------

    async def answer(self, call: Call) -> mcp_types.CallToolResult:
        """Answer a call."""
        outcome = await self.outcome(call)
        return self.as_document(call, outcome) if call.documents else self.as_plain(call, outcome)

    def as_document(self, call: Call, outcome: Answer | Failure) -> mcp_types.CallToolResult:
        """Return a result with a document."""
        written, outcome = self.fitting(call, outcome)
        return mcp_types.CallToolResult(
            content=self.document_blocks(call, outcome, written),
            is_error=self.failed(call, outcome),
            structured_content=self.structured(call, outcome),
            _meta=self.document_meta(call, outcome),
        )

    def document_blocks(self, call: Call, outcome: Answer | Failure, written: str) -> list[Any]:
        """Return the blocks of a result with a document."""
        aside = outcome.aside if isinstance(outcome, Answer) else ""
        return [block(written), *([block(whole(aside), "user")] if aside else [])]

    def document_meta(self, call: Call, outcome: Answer | Failure) -> Json:
        """Return the `_meta` of a result with a document."""
        return {f"{PREFIX}result": {"version": "1.0", "form": "document"}}

    def failed(self, call: Call, outcome: Answer | Failure) -> bool:
        """Return what `isError` says."""
        return isinstance(outcome, Failure)

    def structured(self, call: Call, outcome: Answer | Failure) -> Any:
        """Return the structured content."""
        return whole(outcome.data) if isinstance(outcome, Answer) else None

    def as_plain(self, call: Call, outcome: Answer | Failure) -> mcp_types.CallToolResult:
        """Return a plain result."""
        return mcp_types.CallToolResult(
            content=self.plain_blocks(call, outcome),
            is_error=self.failed(call, outcome),
            structured_content=self.structured(call, outcome),
            _meta=self.plain_meta(call, outcome),
        )

    def plain_blocks(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        """Return the blocks of a plain result."""
        return [*self.text_blocks(call, outcome), *self.more_blocks(call, outcome)]

    def text_blocks(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        """Return the blocks that are the text for the model."""
        if isinstance(outcome, Failure):
            return [block(f"{outcome.code}: {self.legal(outcome.message)}")]
        return [block(self.legal(outcome.text))]

    def more_blocks(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        """Return the other blocks of a plain result."""
        blocks: list[Any] = []
        if isinstance(outcome, Answer):
            blocks += [self.filled_block(call, outcome.filled)] if outcome.filled is not None else []
            blocks += [block(whole(outcome.aside), "user")] if outcome.aside else []
        alt = self.alt(call, outcome.display)
        return [*blocks, block(whole(alt), "user")] if alt else blocks

    def filled_block(self, call: Call, filled: Json) -> mcp_types.TextContent:
        """Return the block that names what the observatory filled in."""
        said = [f"{name}: {self.filled_value(one)}" for name, one in filled.get("values", {}).items()]
        said += [f"{name}: (secret)" for name in filled.get("redacted", [])]
        said += [f"{name} as you sent it was not used" for name in filled.get("overridden", [])]
        line = "The observatory filled in: " + "; ".join(said)
        return mcp_types.TextContent(type="text", text=line, _meta={f"{PREFIX}server_populated": True})

    def filled_value(self, value: Any) -> str:
        """Return a value as a text."""
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def alt(self, call: Call, display: Any) -> str:
        """Return a display in words."""
        return "" if display is None else str(display.get("alt", ""))[:500]

    def plain_meta(self, call: Call, outcome: Answer | Failure) -> Json:
        """Return the `_meta` of a plain result."""
        mark: Json = {"version": "1.0", "form": "plain"}
        meta: Json = {f"{PREFIX}result": mark}
        if outcome.display is not None:
            meta[f"{PREFIX}display"] = self.numbers(whole(outcome.display))
        if isinstance(outcome, Failure):
            meta[f"{PREFIX}error"] = self.plain_error(call, outcome)
            return meta
        if outcome.media:
            mark["format"] = outcome.media
        if outcome.cut:
            mark["truncated"] = True
        if self.legal(outcome.text) != outcome.text:
            mark["lossy"] = True
        if outcome.filled is not None:
            meta[f"{PREFIX}server_populated"] = self.numbers(whole(outcome.filled))
        return meta

    def plain_error(self, call: Call, failure: Failure) -> Json:
        """Return a failure as JSON."""
        said: Json = {
            "code": failure.code,
            "message": self.legal(failure.message),
            "category": failure.category,
            "retryable": failure.retryable,
        }
        if failure.retryable and failure.wait is not None:
            said["retry_after_ms"] = failure.wait
        return said if failure.meta is None else {**said, "meta": self.numbers(whole(failure.meta))}

    # -- MCP -----------------------------------------------------------------------------------------------------

    def announced(self, *, handshake: bool) -> Json:
        """Return what the capabilities say of the extension."""
        return {"experimental" if handshake else "extensions": {EXTENSION: self.announcement(handshake=handshake)}}

    def announcement(self, *, handshake: bool) -> Json:
        """Return the announcement."""
        return {"versions": ["1.0"], "wire": self.wire}

    places: tuple[str, ...] = ("extensions", "experimental")
    """Where a client declares the extension."""

    def declaration(self, context: Any) -> Json:
        """Return what the client declared; nothing where it reads other versions alone."""
        for place in self.places:
            said = (getattr(context.session.client_capabilities, place, None) or {}).get(EXTENSION)
            versions = said.get("versions") if isinstance(said, dict) else None
            if isinstance(versions, list) and any(re.fullmatch(r"1\.[0-9]{1,4}", str(one)) for one in versions):
                return {**said} if isinstance(said, dict) else {}
        return {}

    def gets_documents(self, call: Call) -> bool:
        """Return whether the client gets documents."""
        if self.wire == "negotiated":
            return bool(call.client) and call.client.get("documents") is not False
        return self.wire == "always"

    def list_of(self, *, declared: bool, handshake: bool) -> list[mcp_types.Tool]:
        """Return the tools as a client sees them."""
        return [self.listed(name, one, declared=declared, handshake=handshake) for name, one in self.tools().items()]

    def listed(self, name: str, tool: Tool, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        """Return a tool as the list has it."""
        return mcp_types.Tool(
            name=name,
            description=tool.title,
            input_schema=tool.takes,
            output_schema=tool.gives,
            annotations=self.annotations(tool, handshake=handshake),
            _meta={f"{PREFIX}tool": tool.meta} if tool.meta else None,
        )

    def annotations(self, tool: Tool, *, handshake: bool) -> mcp_types.ToolAnnotations | None:
        """Return the annotations of a tool."""
        return mcp_types.ToolAnnotations(read_only_hint=tool.reads, idempotent_hint=tool.idempotent)

    def page(self, params: Any, tools: list[mcp_types.Tool]) -> mcp_types.ListToolsResult:
        """Return the list of tools, or a page of it."""
        return mcp_types.ListToolsResult(tools=tools)

    def server(self) -> Server[Any]:
        """Return the server object of the MCP SDK."""

        def old(context: Any) -> bool:
            return not str(context.protocol_version).startswith("2026")

        async def list_tools(context: Any, params: Any) -> mcp_types.ListToolsResult:
            return self.page(params, self.list_of(declared=bool(self.declaration(context)), handshake=old(context)))

        async def call_tool(context: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
            args = dict(params.arguments or {})
            self.seen[params.name] += 1
            call = Call(params.name, args, self.declaration(context), old(context), times=self.seen[params.name])
            call.documents = self.gets_documents(call)
            return await self.answer(call)

        server = _Open("observatory", on_list_tools=list_tools, on_call_tool=call_tool)
        server.observatory = self
        return server


class NegotiatedObservatory(Observatory):
    """The observatory with the wire `negotiated`."""

    wire = "negotiated"


class PlainObservatory(Observatory):
    """The observatory with the wire `plain`."""

    wire = "plain"


def block(said: str, *audience: Any) -> mcp_types.TextContent:
    """Return a text block."""
    noted = mcp_types.Annotations(audience=[*audience]) if audience else None
    return mcp_types.TextContent(type="text", text=said, annotations=noted)
