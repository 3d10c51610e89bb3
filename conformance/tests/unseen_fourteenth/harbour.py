"""A right server of a harbour office, the base of the fourteenth set."""

from __future__ import annotations

import json
import math
import re
import uuid
from copy import deepcopy
from dataclasses import replace
from typing import Any

import mcp_types as types
from jsonschema import Draft202012Validator, ValidationError, validators  # type: ignore[import-untyped]
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from unseen_eighth.kit import _SCHEMAS, ILLEGAL, PREFIX, Answer, Call, Failure, Json, Tool, broken, whole

from unseen_fourteenth.tools import TOOLS, compact

AGENT: Json = {
    "agent_id": "ag-77310",
    "office_note": (
        "Größere Schlepper melden sich <vor> der Brücke & warten; kleinere fahren über die Nordöffnung ein -> dort "
        "gilt für Öl und Getreide je ein eigenes Verfahren. Rückfragen bitte nur schriftlich an das Büro für "
        "Gefahrgüter, übermorgen früh zwischen fünf und zwölf, spätestens aber vor der nächsten Flut."
    ),
    "priority": False,
    "quota": 2**60 + 5,
    "relief": None,
    "harbour_key": "key-barnacle-55821",
}
SECRET = ("harbour_key",)
SAFE = 2**53 - 1
HINT = "(A display for the person came with this; this client is perhaps not able to show it.)"


def _pattern(_: Any, pattern: str, instance: Any, schema: Any) -> Any:
    """Check a pattern as ECMA-262 reads it: `$` is the end, not the place before a last line feed."""
    if isinstance(instance, str) and not re.search(pattern.replace("$", r"\Z"), instance):
        yield ValidationError(f"does not match {pattern}")


Arguments = validators.extend(Draft202012Validator, {"pattern": _pattern})
ENVELOPE = Draft202012Validator(json.loads((_SCHEMAS / "display_envelope.schema.json").read_text()))


def plain(value: Any) -> Any:
    """Return a value as the JSON of a document has it: whole texts, small integers, no NaN."""
    match value:
        case str():
            return whole(value)
        case bool() | None:
            return value
        case int():
            return value if abs(value) <= SAFE else str(value)
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {whole(key): plain(one) for key, one in value.items()}
        case list() | tuple():
            return [plain(one) for one in value]
    raise TypeError(f"{type(value).__name__} has no JSON form")


def finite(value: Any) -> Any:
    """Return data for programs, with `null` for NaN and the infinities."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {whole(key): finite(one) for key, one in value.items()}
        case list():
            return [finite(one) for one in value]
    return whole(value)


class Announcing(Server[Any]):
    """A server that announces the extension in both eras."""

    harbour: Harbour

    def get_capabilities(
        self,
        notification_options: Any = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> types.ServerCapabilities:
        """Return the capabilities: the announcement is in `experimental` with a handshake, else in `extensions`."""
        handshake = protocol_version not in MODERN_PROTOCOL_VERSIONS
        capabilities = super().get_capabilities(notification_options, protocol_version=protocol_version)
        for place, value in self.harbour.capabilities(handshake=handshake).items():
            setattr(capabilities, place, value)
        return capabilities


class Harbour:
    """A harbour office with the wire `always`."""

    wire = "always"
    version = "1.0"

    def __init__(self) -> None:
        self.log: list[str] = []
        self.times: dict[str, int] = {}

    # What the server says of itself and of its tools.

    def announcement(self, *, handshake: bool) -> Json:
        """Return what the server announces."""
        return {"versions": [self.version], "wire": self.wire}

    def capabilities(self, *, handshake: bool) -> dict[str, Any]:
        """Return the capabilities that hold the announcement."""
        entry = {f"{PREFIX}tool-response": self.announcement(handshake=handshake)}
        return {"experimental": entry} if handshake else {"extensions": entry}

    def tools(self) -> dict[str, Tool]:
        """Return the tools; each call gets a copy."""
        return deepcopy(TOOLS)

    def listed(self, name: str, tool: Tool, client: Json) -> types.Tool:
        """Return a tool as the list has it."""
        hints = types.ToolAnnotations(read_only_hint=tool.reads, idempotent_hint=tool.idempotent)
        meta = {f"{PREFIX}tool": tool.meta} if tool.meta else None
        return types.Tool(
            name=name,
            title=tool.title,
            description=f"{tool.title}, as the harbour office knows it.",
            input_schema=tool.takes,
            output_schema=tool.gives,
            annotations=hints,
            _meta=meta,
        )

    def server(self) -> Server[Any]:
        """Return a server that can be run once."""
        server = Announcing("harbour office", version="1", on_list_tools=self._list, on_call_tool=self._call)
        server.harbour = self
        return server

    async def _list(
        self, ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        client = self.client(self.declared(ctx))
        return types.ListToolsResult(tools=[self.listed(name, one, client) for name, one in self.tools().items()])

    # Who asks.

    def declared(self, ctx: ServerRequestContext[Any, Any]) -> Json:
        """Return what the client declared, in either place; nothing is an empty object."""
        said = ctx.session.client_capabilities
        for place in (said.extensions, said.experimental) if said else ():
            if place and f"{PREFIX}tool-response" in place:
                return place[f"{PREFIX}tool-response"]
        return {}

    def client(self, declared: Json) -> Json:
        """Return the declaration, or nothing where the client reads no version of this major version."""
        versions = declared.get("versions")
        if isinstance(versions, list) and any(str(one).startswith("1.") for one in versions):
            return declared
        return {}

    def documents(self, client: Json) -> bool:
        """Return whether this client gets documents."""
        if self.wire == "negotiated":
            return bool(client) and client.get("documents") is not False
        return self.wire == "always"

    def room(self, client: Json) -> int | None:
        """Return how many bytes a document for this client can have."""
        most = client.get("maxBytes")
        return max(int(most), 4096) if isinstance(most, int | float) else None

    # The way of a call.

    async def _call(
        self, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        client = self.client(self.declared(ctx))
        handshake = ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS
        self.times[params.name] = self.times.get(params.name, 0) + 1
        args = deepcopy(params.arguments or {})
        call = Call(params.name, args, client, handshake, self.documents(client), self.times[params.name])
        return self.answer(call)

    def answer(self, call: Call) -> types.CallToolResult:
        """Return the result of a call."""
        try:
            return self.success(call, self.run(call))
        except Failure as failure:
            return self.failure(call, failure)

    def run(self, call: Call) -> Answer:
        """Return what the tool answers, or raise a failure."""
        tool = self.tools().get(call.tool)
        try:
            if tool is None:
                return self.stranger(call)
            self.set_aside(call, tool)
            self.check(call, tool)
            answer = self.work(call, tool)
            answer.data = finite(answer.data)
            if not call.wanted:
                answer.display = None
            elif tool.meta.get("display"):
                self.inspect(call, answer)
            if call.filled:
                answer.filled = self.disclosed(call)
            return answer
        except Failure as failure:
            failure.display = failure.display if call.wanted else None
            raise
        except MCPError:
            raise
        except Exception as error:
            raise self.surprise(call, error) from error

    def work(self, call: Call, tool: Tool) -> Answer:
        """Call the function of a tool."""
        return tool.run(call)

    def stranger(self, call: Call) -> Answer:
        """Answer the call of a tool that there is not."""
        if not call.tool:
            raise MCPError(-32602, "A call names a tool.")
        raise Failure("UNKNOWN_TOOL", "The harbour office has no such tool.", {"side_effects": "none"})

    def set_aside(self, call: Call, tool: Tool) -> None:
        """Take out of the arguments what the caller does not decide, and fill that in."""
        for name in tool.meta.get("server_populated", []):
            call.filled[name] = deepcopy(AGENT[name])
            if name in call.args:
                call.forged[name] = call.args.pop(name)
        if tool.meta.get("display") and call.args.get("show_user", "") is None:
            del call.args["show_user"]
        call.wanted = tool.meta.get("display") is True and call.args.get("show_user") is True

    def check(self, call: Call, tool: Tool) -> None:
        """Refuse arguments that do not fit."""
        fields = self.faults(call, tool)
        if fields:
            message = f"{len(fields)} of the arguments do not fit: " + "; ".join(
                f"{one['pointer'] or '/'} {one['message']}" for one in fields
            )
            raise Failure("VALIDATION_FAIL", message[:3000], {"fields": fields, "side_effects": "none"})

    def faults(self, call: Call, tool: Tool) -> list[Json]:
        """Return what is wrong with the arguments, one entry for each."""
        found: dict[str, Json] = {}
        for error in Arguments(tool.takes).iter_errors(call.args):
            for path, reason, message in self.places(error):
                pointer = self.pointer(path)
                found.setdefault(pointer, {"pointer": pointer, "reason": reason, "message": message})
        return list(found.values())

    def places(self, error: ValidationError) -> list[tuple[list[Any], str, str]]:
        """Return where a fault is: a missing argument where it would be."""
        path, at = list(error.absolute_path), error.instance
        if error.validator == "required":
            return [([*path, name], "missing", "is missing") for name in error.validator_value if name not in at]
        if error.validator == "additionalProperties" and error.validator_value is False:
            known = error.schema["properties"]
            return [([*path, name], "unknown", "is not known") for name in at if name not in known]
        return [(path, str(error.validator), f"does not fit `{error.validator}`")]

    def pointer(self, path: list[Any]) -> str:
        """Return a JSON Pointer."""
        return "".join("/" + str(one).replace("~", "~0").replace("/", "~1") for one in path)

    def inspect(self, call: Call, answer: Answer) -> None:
        """Refuse a display that is no envelope; add a fallback for a client that does not know its type."""
        display = plain(answer.display) if answer.display is not None else None
        errors = [*ENVELOPE.iter_errors(display)]
        if errors:
            wrong = [
                {"pointer": self.pointer(list(one.absolute_path)), "reason": str(one.validator), "message": "is wrong"}
                for one in errors
            ]
            raise Failure("INVALID_PAYLOAD", "The tool made no valid display.", {"params": {"envelope": wrong}})
        known = call.client.get("displayTypes")
        if isinstance(known, list) and answer.display["type"] not in known and "fallback" not in answer.display:
            answer.display = self.with_fallback(answer.display)

    def with_fallback(self, display: Json) -> Json:
        """Return a display with a text in its place."""
        said = display.get("alt") or f"{display.get('title', '')} {compact(display['payload'])}".strip()
        return {**display, "fallback": {"type": "text", "payload": said}}

    def surprise(self, call: Call, error: Exception) -> Failure:
        """Return the failure that nobody foresaw."""
        number = uuid.uuid4().hex
        self.log.append(f"{number} {type(error).__name__} in {call.tool}")
        return Failure("INTERNAL", "Something went overboard in the harbour office.", {"error_id": number})

    def disclosed(self, call: Call) -> Json:
        """Return what is said of the parameters that were filled in."""
        said: Json = {
            "values": {name: one for name, one in call.filled.items() if name not in SECRET},
            "redacted": [name for name in call.filled if name in SECRET],
        }
        return {**said, "overridden": [*call.forged]} if call.forged else said

    # Results.

    def success(self, call: Call, answer: Answer) -> types.CallToolResult:
        """Return the result of a call that succeeded."""
        hint = self.hint(call, answer)
        if hint:
            answer = replace(answer, text=f"{answer.text}\n{hint}", media="")
        if call.documents:
            text = self.document(call, answer, None)
            if self.too_large(call, text):
                raise Failure("RESULT_TOO_LARGE", "The answer is longer than this client takes; ask for less.")
            blocks = self.document_blocks(call, text, answer)
            return self.result(call, blocks, {}, answer, "document")
        return self.result(call, self.plain_blocks(call, answer), self.plain_meta(call, answer), answer, "plain")

    def failure(self, call: Call, failure: Failure) -> types.CallToolResult:
        """Return the result of a call that failed."""
        if call.documents:
            text = self.document(call, None, failure)
            if self.too_large(call, text):
                failure = self.shortened(failure)
                text = self.document(call, None, failure)
            return self.result(call, [self.block(text)], {}, failure, "document")
        blocks: list[types.ContentBlock] = [self.block(whole(self.error_text(call, failure)))]
        meta: Json = {"error": plain(self.error(failure))}
        if failure.display is not None:
            meta["display"] = plain(failure.display)
            blocks += self.alt_blocks(failure.display, failure.message)
        return self.result(call, blocks, meta, failure, "plain")

    def hint(self, call: Call, answer: Answer) -> str:
        """Return what a client that declared nothing is told of a display."""
        return HINT if answer.display is not None and not call.client else ""

    def too_large(self, call: Call, text: str) -> bool:
        """Return whether a document is larger than the client takes."""
        most = self.room(call.client)
        return most is not None and len(text.encode()) > most

    def shortened(self, failure: Failure) -> Failure:
        """Return a failure that fits into 4,096 bytes."""
        kept = {
            name: one for name, one in (failure.meta or {}).items() if name in ("error_id", "side_effects", "recovery")
        }
        short = Failure(failure.code, failure.message[:500], kept or None, category=failure.category, wait=failure.wait)
        short.retryable = failure.retryable
        return short

    def result(
        self, call: Call, blocks: list[types.ContentBlock], meta: Json, of: Answer | Failure, form: str
    ) -> types.CallToolResult:
        """Return a result of one of the two forms."""
        said = {"result": self.said(call, of, form), **meta}
        return types.CallToolResult(
            content=blocks,
            structured_content=self.structured(call, of),
            is_error=isinstance(of, Failure),
            _meta={f"{PREFIX}{name}": one for name, one in said.items()},
        )

    def said(self, call: Call, of: Answer | Failure, form: str) -> Json:
        """Return the member `result` of `_meta`."""
        said: Json = {"version": self.version, "form": form}
        if form == "plain" and isinstance(of, Answer):
            said |= {"truncated": True} if of.cut else {}
            said |= {"lossy": True} if ILLEGAL.search(of.text) else {}
            said |= {"format": of.media} if of.media else {}
        return said

    def structured(self, call: Call, of: Answer | Failure) -> Json | None:
        """Return the data: to a client that declared nothing only where the list promises them."""
        if isinstance(of, Failure) or of.data is None:
            return None
        return of.data if call.client or self.tools()[call.tool].gives else None

    def block(self, text: str, *, aside: bool = False) -> types.TextContent:
        """Return a text block."""
        return types.TextContent(
            type="text", text=text, annotations=types.Annotations(audience=["user"]) if aside else None
        )

    # Documents.

    def document_blocks(self, call: Call, text: str, answer: Answer) -> list[types.ContentBlock]:
        """Return a document, and after it the block for the person."""
        blocks: list[types.ContentBlock] = [self.block(text)]
        return [*blocks, self.block(answer.aside, aside=True)] if answer.aside else blocks

    def document(self, call: Call, answer: Answer | None, failure: Failure | None) -> str:
        """Return a document."""
        return self.root(call, self.children(call, answer, failure), failure)

    def children(self, call: Call, answer: Answer | None, failure: Failure | None) -> list[str]:
        """Return the elements of a document in their order."""
        children: list[str] = []
        if failure is not None:
            children.append(self.error_element(call, failure))
            display, filled = failure.display, None
        else:
            assert answer is not None
            children.append(self.text_element(call, answer))
            display, filled = answer.display, answer.filled
        if display is not None:
            children.append(self.json_element("display", display))
        if filled is not None:
            children.append(self.json_element("server_populated", filled))
        return children

    def root(self, call: Call, children: list[str], failure: Failure | None) -> str:
        """Return the root element around its children."""
        name = self.tool_name(call, failure)
        attributes = self.attribute("tool_name", name) + self.lossy(name)
        return f"<tool_response{attributes}>{''.join(children)}</tool_response>"

    def tool_name(self, call: Call, failure: Failure | None) -> str:
        """Return the name by which the tool was called."""
        return call.tool[:128]

    def text_element(self, call: Call, answer: Answer) -> str:
        """Return the element `llm_output`."""
        attributes = self.attribute("format", answer.media) if answer.media else ""
        attributes += ' truncated="true"' if self.marks_cut(answer) else ""
        attributes += self.lossy(answer.text)
        return f"<llm_output{attributes}>{self.characters(answer.text)}</llm_output>"

    def marks_cut(self, answer: Answer) -> bool:
        """Return whether the text is marked as cut."""
        return answer.cut

    def lossy(self, text: str) -> str:
        """Return the attribute that says that characters were replaced."""
        return ' lossy="true"' if ILLEGAL.search(text) else ""

    def characters(self, text: str) -> str:
        """Return a text as character data."""
        text = ILLEGAL.sub("\ufffd", text)
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return text.replace("\r", "&#13;")

    def attribute(self, name: str, value: str) -> str:
        """Return an attribute."""
        quoted = self.characters(value).replace('"', "&quot;").replace("\t", "&#9;").replace("\n", "&#10;")
        return f' {name}="{quoted}"'

    def json_element(self, name: str, value: Any) -> str:
        """Return an element with JSON in it."""
        lossy = ' lossy="true"' if broken(value) else ""
        return f"<{name}{lossy}>{self.json(name, value)}</{name}>"

    def json(self, name: str, value: Any) -> str:
        """Return a value as JSON that needs no escapes of XML."""
        return self.inert(json.dumps(plain(value), separators=(",", ":")))

    def inert(self, text: str) -> str:
        """Return JSON without the characters that are markup."""
        return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

    def error_element(self, call: Call, failure: Failure) -> str:
        """Return the element `error`."""
        attributes = self.error_attributes(failure) + self.lossy(failure.message)
        meta = self.json_element("meta", failure.meta) if failure.meta else ""
        return f"<error{attributes}>{self.characters(failure.message)}{meta}</error>"

    def error_attributes(self, failure: Failure) -> str:
        """Return the attributes of an error."""
        text = self.attribute("code", failure.code)
        if failure.retryable:
            text += ' retryable="true"'
        if failure.wait is not None:
            text += self.attribute("retry_after_ms", str(failure.wait))
        return text + self.attribute("category", failure.category)

    # Plain results.

    def error(self, failure: Failure) -> Json:
        """Return an error as JSON."""
        said: Json = {
            "code": failure.code,
            "message": failure.message,
            "retryable": failure.retryable,
            "category": failure.category,
        }
        said |= {"retry_after_ms": failure.wait} if failure.wait is not None else {}
        return said | ({"meta": failure.meta} if failure.meta else {})

    def error_text(self, call: Call, failure: Failure) -> str:
        """Return what the model reads of an error."""
        return f"{failure.code}: {failure.message}"

    def plain_text(self, text: str) -> str:
        """Return a text as the document would have it."""
        return ILLEGAL.sub("\ufffd", text)

    def plain_blocks(self, call: Call, answer: Answer) -> list[types.ContentBlock]:
        """Return the blocks of a plain result."""
        blocks: list[types.ContentBlock] = [*self.text_blocks(call, answer)]
        if answer.filled is not None:
            blocks.append(self.filled_block(plain(answer.filled)))
        if answer.display is not None:
            blocks += self.alt_blocks(answer.display, answer.text)
        if answer.aside:
            blocks.append(self.block(answer.aside, aside=True))
        return blocks

    def text_blocks(self, call: Call, answer: Answer) -> list[types.TextContent]:
        """Return the blocks for the model."""
        return [self.block(self.plain_text(answer.text))]

    def alt_blocks(self, display: Json, text: str) -> list[types.TextContent]:
        """Return the block with the words of a display, where the text does not have them."""
        said = whole(display.get("alt", ""))
        return [self.block(said[:500], aside=True)] if said and said not in text else []

    def filled_block(self, filled: Json) -> types.TextContent:
        """Return the block that names what was filled in."""
        said = [f"{name} = {self.filled_value(one)}" for name, one in filled.get("values", {}).items()]
        said += [f"{name} = (not disclosed)" for name in filled.get("redacted", [])]
        said += [f"{name} as sent was not used" for name in filled.get("overridden", [])]
        text = "The office filled in: " + "; ".join(said)
        return types.TextContent(type="text", text=text, _meta={f"{PREFIX}server_populated": True})

    def filled_value(self, value: Any) -> str:
        """Return a value as the block has it."""
        return value if isinstance(value, str) else compact(value)

    def plain_meta(self, call: Call, answer: Answer) -> Json:
        """Return the members of `_meta` beside `result`."""
        meta: Json = {}
        if answer.display is not None:
            meta["display"] = plain(answer.display)
        if answer.filled is not None:
            meta["server_populated"] = plain(answer.filled)
        return meta


class NegotiatedHarbour(Harbour):
    """The harbour office with the wire `negotiated`."""

    wire = "negotiated"


class PlainHarbour(Harbour):
    """The harbour office with the wire `plain`."""

    wire = "plain"
