"""The smallest server that conforms, written from the specification alone.

It shares no code with the reference implementation: that the suite passes both shows that the suite judges the
specification and not one code base. Every step of an answer is a method, so that a mutant breaks one
requirement by overriding one method.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import anyio.lowlevel
import jsonschema_rs
import mcp_types
from mcp import MCPError
from mcp.server import Server
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from xmcp_models.registry import (
    DISPLAY_META_KEY,
    ERROR_CODES,
    ERROR_META_KEY,
    EXTENSION_ID,
    POPULATED_META_KEY,
    RESULT_META_KEY,
    TOOL_META_KEY,
    VIEW_URI,
)

Json = dict[str, Any]
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SAFE = 2**53 - 1
_LONGEST_NAME = 128
_MCP_APPS, _VIEW_TYPE = "io.modelcontextprotocol/ui", "text/html;profile=mcp-app"
_FEWEST_BYTES, _MOST_BYTES = 4096, 2**23


class _Server(Server[Any]):
    """Announces its extensions in the handshake era too, where the capabilities have only `experimental` for them."""

    def __init__(self, name: str, experimental: dict[str, Any], **handlers: Any) -> None:
        super().__init__(name, **handlers)
        self.experimental = experimental

    def get_capabilities(self, *arguments: Any, **named: Any) -> mcp_types.ServerCapabilities:
        capabilities = super().get_capabilities(*arguments, **named)
        return capabilities.model_copy(update={"experimental": self.experimental})


class Failure(Exception):
    """A tool's failure, as it goes into `<error>`."""

    def __init__(self, code: str, message: str, attributes: dict[str, str] | None = None, meta: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.attributes = attributes or {}
        self.meta = meta


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The outcome of a call, before it is written.

    `populated` is what the server filled in, `note` a text for the user alone.
    """

    text: str = ""
    envelope: Any = None
    populated: Any = None
    failure: Failure | None = None
    note: str = ""


def _schema(needed: list[str] | None = None, **properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": needed or [], "additionalProperties": False}


_WRAPPED: Json = {
    "type": "object",
    "properties": {"result": {"type": "array"}},
    "required": ["result"],
    "x-fastmcp-wrap-result": True,
}


_TEXT: Json = {"type": "string"}
_WHOLE: Json = {"type": "integer"}
_FORM: Json = _schema(
    ["person", "tags"],
    person=_schema(["name"], name=_TEXT, town=_TEXT),
    tags={"type": "array", "items": _TEXT, "uniqueItems": True},
    labels={"type": "object", "additionalProperties": _TEXT},
    remark=_TEXT,
)
_LIMITS: Json = {
    **_schema(
        ["size", "count"],
        size={"enum": ["small", "large"]},
        count={**_WHOLE, "minimum": 1, "maximum": 9},
        code={**_TEXT, "pattern": "^[A-Z]{3}$"},
        label={**_TEXT, "minLength": 2, "maxLength": 8},
        first=_WHOLE,
        last=_WHOLE,
    ),
    "dependentRequired": {"first": ["last"]},
}
_TREE: Json = {
    **_schema(["root"], root={"$ref": "#/$defs/node"}),
    "$defs": {"node": _schema(["name"], name=_TEXT, children={"type": "array", "items": {"$ref": "#/$defs/node"}})},
}


def _texts(value: Any) -> Iterator[str]:
    """Yield the names of members and the values in a JSON value, in order, as texts."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    else:
        yield str(value)


def validator(schema: Json) -> Any:
    """Return the validator of a schema, made once: the kill matrix asks some ten thousand times for a few."""
    return _validator(json.dumps(schema))


@lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    return jsonschema_rs.validator_for(json.loads(schema))


class Miniature:
    """A few tools to which, together, every requirement for a server with the wire `always` applies."""

    wire = "always"
    turns = 10
    """The number of turns of the event loop that a call takes, so that two can be in flight at once."""

    def __init__(self) -> None:
        self.calls = 0
        self.in_flight = 0

    # -- the tools ---------------------------------------------------------------------------------------------

    def tools(self) -> dict[str, Json]:
        """Return the input schemas by the names of the tools, all of which are read-only."""
        text, show = {"type": "string"}, {"type": "boolean", "default": False}
        return {
            "echo": _schema(["text"], text=text),
            "pair": _schema(["left", "right"], left=text, right=text),
            "listing": _schema(),
            "orders": _schema(),
            "card": _schema(["text"], text=text, show_user=show),
            "picture": _schema(show_user=show),
            "busy": _schema(),
            "vendor_fault": _schema(),
            "crash": _schema(),
            "form": _FORM,
            "limits": _LIMITS,
            "tree": _TREE,
            "board": _schema(["title", "rows"], title=text, rows={"type": "array", "items": text}, show_user=show),
            "missing": _schema(["name"], name=text),
        }

    def displays(self) -> set[str]:
        """Return the names of the display tools."""
        return {"card", "picture", "board"}

    def metadata(self, name: str) -> Any:
        """Return the tool metadata, or `None`."""
        said: dict[str, Json] = {
            "listing": {"cacheable": True, "provides": "rows", "wrapped_in": "result"},
            "pair": {"depends_on": ["listing"]},
            "orders": {"server_populated": ["user_id", "api_key"]},
        }
        return {"display": True} if name in self.displays() else said.get(name)

    def run(self, name: str, arguments: Json) -> tuple[str, Any]:
        """Return the text for the model, and the envelope if it was asked for.

        Raises:
            Failure: the tool fails.
        """
        if name == "echo":
            return arguments["text"], None
        if name == "pair":
            return f"{arguments['left']}, {arguments['right']}", None
        if name in ("form", "limits", "tree"):
            return "; ".join(_texts(arguments)), None
        if name == "missing":
            raise Failure("NOT_FOUND", f"There is no {arguments['name']}.", meta={"acme/name": arguments["name"]})
        if name == "listing":
            return "<table><tr>&nbsp;</tr></table>", None
        if name == "orders":
            return "3 open orders.", None
        if name == "busy":
            raise Failure("RATE_LIMIT", "Too many calls; wait a moment.", self.busy(), {"side_effects": "none"})
        if name == "vendor_fault":
            raise Failure("X_ACME_OFF", "The machine is off.", self.vendor(), {"acme/machine": 7})
        if name == "crash":
            raise ZeroDivisionError("division by zero")
        if name == "board":
            text, envelope = ", ".join(arguments["rows"]), self.board(arguments["title"], arguments["rows"])
        elif name == "card":
            text, envelope = arguments["text"], self.card(arguments["text"])
        else:
            text, envelope = "a picture", self.picture()
        return f"Shown: {text}", envelope if self.shows(arguments) else None

    def data(self, name: str) -> Json | None:
        """Return the structured content of a successful call, if the tool has some."""
        return {"result": ["row"]} if name == "listing" else None

    def note(self, name: str) -> str:
        """Return the text that a tool has for the user alone."""
        return "Prices include tax." if name == "pair" else ""

    def shows(self, arguments: Json) -> bool:
        """Return whether the caller asked for a display."""
        return arguments.get("show_user") is True

    def set_aside(self, name: str, arguments: Json) -> tuple[Json, Json]:
        """Return the arguments that a caller may give, and those that only the server may fill in."""
        filled = (self.metadata(name) or {}).get("server_populated", ())
        forged = {key: value for key, value in arguments.items() if key in filled}
        return {key: value for key, value in arguments.items() if key not in forged}, forged

    def without_null(self, name: str, arguments: Json) -> Json:
        """Return the arguments without a `show_user` that has no value."""
        absent = name in self.displays() and arguments.get("show_user", False) is None
        return {key: value for key, value in arguments.items() if key != "show_user"} if absent else arguments

    def filled_in(self, name: str, forged: Json) -> Any:
        """Return what the server filled in, as `server_populated` has it; `None` where that is nothing."""
        if name != "orders":
            return None
        populated: Json = {"values": {"user_id": "u-17"}, "redacted": ["api_key"]}
        return {**populated, "overridden": list(forged)} if forged else populated

    def busy(self) -> dict[str, str]:
        """Return the attributes of an error that can be retried."""
        return {"retryable": "true", "retry_after_ms": "250", "category": "rate_limited"}

    def vendor(self) -> dict[str, str]:
        """Return the attributes of an error whose code is not registered."""
        return {"category": "unavailable"}

    def card(self, text: str) -> Any:
        """Return an envelope with many parts."""
        return {
            "type": "group",
            "title": "A card",
            "alt": "A table and a text.",
            "payload": [
                {"type": "table", "payload": [{"name": text, "size": 3, "serial": 2**60}]},
                {"type": "x-acme-note", "payload": text, "fallback": {"type": "text", "payload": text}},
            ],
            "meta": {"source": "miniature", "acme/kind": "card"},
        }

    def board(self, title: str, rows: list[str]) -> Any:
        """Return an envelope with a text of the caller as its title (at most 200 characters), column and rows."""
        return {
            "type": "table",
            "title": title[:200],
            "payload": [{title: row} for row in rows],
            "alt": f"{len(rows)} rows.",
        }

    def picture(self) -> Any:
        """Return a group of a chart and an image."""
        chart = {"mark": "bar", "data": {"values": [{"day": "Mon", "n": 3, "url": "only data"}]}, "encoding": {}}
        return {
            "type": "group",
            "payload": [
                {"type": "chart", "payload": chart, "alt": "Three on Monday."},
                {"type": "image", "payload": "data:image/png;base64,iVBORw0KGgo=", "alt": "A dot."},
            ],
        }

    # -- the document ------------------------------------------------------------------------------------------

    def document(self, name: str, body: str) -> str:
        """Return the root element around the parts."""
        attributes = {"tool_name": name, "version": "1.0", "call_id": f"call\t{self.calls}"}
        written = "".join(f" {key}={self.attribute(value)}" for key, value in attributes.items())
        return f"<tool_response{written}>{body}</tool_response>"

    def success(self, text: str, envelope: Any) -> str:
        """Return the parts of a response that succeeded."""
        return self.llm_output(text) + (self.display(envelope) if envelope is not None else "")

    def llm_output(self, text: str) -> str:
        """Return the element with the text for the model."""
        legal = self.legal(text)
        return f"<llm_output{self.lossy(text, legal)}>{self.character_data(legal)}</llm_output>"

    def legal(self, text: str) -> str:
        """Return the text with U+FFFD for what XML cannot carry."""
        return _ILLEGAL.sub("\ufffd", text)

    def lossy(self, text: str, legal: str) -> str:
        """Return the attribute that marks a text that lost something."""
        return "" if text == legal else ' lossy="true"'

    def character_data(self, text: str) -> str:
        """Return the text as CDATA where that is easier to read, else escaped."""
        return self.cdata(text) if text.startswith("<table>") else self.escaped(text)

    def cdata(self, text: str) -> str:
        """Return a CDATA section."""
        return f"<![CDATA[{text}]]>"

    def escaped(self, text: str) -> str:
        """Return character data with references."""
        return escape(text, {"\r": "&#13;"})

    def attribute(self, text: str) -> str:
        """Return the value of an attribute with its quotes."""
        return quoteattr(text)

    def display(self, envelope: Any) -> str:
        """Return the display element."""
        return f"<display>{self.json(envelope)}</display>"

    def server_populated(self, populated: Any) -> str:
        """Return the element that names what the server filled in."""
        return "" if populated is None else f"<server_populated>{self.json(populated)}</server_populated>"

    def error(self, failure: Failure) -> str:
        """Return the error element."""
        attributes = {"code": failure.code, **failure.attributes}
        written = "".join(f" {name}={self.attribute(value)}" for name, value in attributes.items())
        meta = "" if failure.meta is None else f"<meta>{self.json(failure.meta)}</meta>"
        message = self.legal(failure.message)
        return f"<error{written}{self.lossy(failure.message, message)}>{self.escaped(message)}{meta}</error>"

    def json(self, value: Any) -> str:
        """Return JSON that needs no escaping."""
        return self.inert(json.dumps(self.safe(value), allow_nan=False))

    def inert(self, text: str) -> str:
        """Return JSON without the characters that are markup in XML."""
        return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

    def safe(self, value: Any) -> Any:
        """Return the value with integers that every reader of JSON can represent."""
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _SAFE:
            return str(value)
        if isinstance(value, dict):
            return {key: self.safe(item) for key, item in value.items()}
        return [self.safe(item) for item in value] if isinstance(value, list) else value

    # -- failures ----------------------------------------------------------------------------------------------

    def refuse(self, name: str, arguments: Json) -> None:
        """Raise the failure of arguments that do not fit."""
        schema, fields = self.tools()[name], []
        for fault in validator(schema).iter_errors(arguments):
            where = [str(part) for part in fault.instance_path]
            kind: Any = fault.kind
            if kind.name == "required":
                where += [kind.property or self.lacking(schema, arguments)]
            elif kind.name == "additionalProperties":
                where += kind.unexpected[:1]
            written = "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in where)
            fields.append({"pointer": written, "message": "does not fit"})
        if fields:
            raise Failure("VALIDATION_FAIL", "The arguments do not fit.", meta=self.refused(fields))

    def lacking(self, schema: Json, arguments: Json) -> str:
        """Return the first argument that another one needs and that is not there: the validator does not name it."""
        needed: list[str] = [
            name
            for given in schema["dependentRequired"]
            if given in arguments
            for name in schema["dependentRequired"][given]
        ]
        return next(name for name in needed if name not in arguments)

    def refused(self, fields: list[Json]) -> Any:
        """Return the `meta` of such a failure."""
        return {"fields": fields, "side_effects": "none"}

    def unforeseen(self, error: Exception) -> Failure:
        """Return the failure for an unexpected exception."""
        return Failure("INTERNAL", f"The tool failed ({len(str(error))}).", meta={"error_id": self.error_id()})

    def error_id(self) -> str:
        """Return by which this failure is found in the log: another one for each call."""
        return f"e-{sha256(str(self.calls).encode()).hexdigest()[:12]}"

    def unknown(self, name: str) -> Failure:
        """Return the failure for a tool that does not exist."""
        return Failure("UNKNOWN_TOOL", f"There is no tool {name}.")

    # -- MCP ---------------------------------------------------------------------------------------------------

    def extensions(self) -> dict[str, Any]:
        """Return what is announced."""
        return {EXTENSION_ID: {"versions": ["1.0"], "wire": self.wire}}

    def announced(self, *, handshake: bool) -> dict[str, Any]:
        """Return what is announced in an era."""
        return self.extensions()

    def outcome(self, name: str, arguments: Json, *, declared: bool) -> ToolOutcome:
        """Make a call of a client that declared the extension, or did not, and return its outcome."""
        try:
            if name not in self.tools():
                raise self.unknown(name)
            given, forged = self.set_aside(name, self.without_null(name, arguments))
            self.refuse(name, given)
            text, envelope = self.run(name, given)
            if envelope is not None and not declared:
                text = self.without_a_renderer(text)
            return ToolOutcome(text, envelope, self.filled_in(name, forged), note=self.note(name))
        except Failure as failure:
            return ToolOutcome(failure=failure)
        except ZeroDivisionError as error:
            return ToolOutcome(failure=self.unforeseen(error))

    def without_a_renderer(self, text: str) -> str:
        """Return the text of a display tool for a client that may not show displays."""
        return f"{text}\nThis client may not be able to show it."

    def call(self, name: str, arguments: Json, *, declared: bool, handshake: bool, most: int = _MOST_BYTES) -> Any:
        """Answer a call of a client of either era, in the form that it reads; a document has at most `most` bytes."""
        self.calls += 1
        if self.reads_documents(declared=declared):
            return self.fitted(name, arguments, self.answer(name, arguments, declared=declared), most)
        outcome = self.outcome(name, arguments, declared=declared)
        data = None if outcome.failure else self.data(name)
        return self.plain(outcome).model_copy(update={"structured_content": data} if data else {})

    def answer(self, name: str, arguments: Json, *, declared: bool) -> mcp_types.CallToolResult:
        """Answer a call with a document."""
        outcome = self.outcome(name, arguments, declared=declared)
        if outcome.failure is not None:
            return self.result(self.document(name, self.error(outcome.failure)), failed=True)
        body = self.success(self.in_document(outcome), outcome.envelope) + self.server_populated(outcome.populated)
        result = self.result(self.document(name, body), failed=False, note=outcome.note)
        return result.model_copy(update={"structured_content": self.data(name)})

    def fitted(self, name: str, arguments: Json, result: Any, most: int) -> Any:
        """Return a result with a document of at most `most` bytes: an error in the place of a larger one."""
        if not isinstance(result, mcp_types.CallToolResult):
            return result
        block = result.content[0]
        if not isinstance(block, mcp_types.TextContent) or len(block.text.encode()) <= most:
            return result
        failure = self.outcome(name, arguments, declared=True).failure
        short = self.too_large() if failure is None else self.shortened(failure)
        return self.result(self.document(name, self.error(short)), failed=True)

    def too_large(self) -> Failure:
        """Return the failure in the place of a result that a client does not read."""
        return Failure("RESULT_TOO_LARGE", "The result is larger than the client reads.")

    def shortened(self, failure: Failure) -> Failure:
        """Return a failure that fits into 4,096 bytes."""
        meta = {key: failure.meta[key] for key in ("error_id", "side_effects") if key in (failure.meta or {})}
        return Failure(failure.code, failure.message[:500], failure.attributes, meta or None)

    def in_document(self, outcome: ToolOutcome) -> str:
        """Return the text for the model in a document."""
        return outcome.text

    def declared(self, capabilities: mcp_types.ClientCapabilities | None) -> Json:
        """Return the declaration of a client with these capabilities; empty where it declares nothing."""
        places = (capabilities.extensions, capabilities.experimental) if capabilities else ()
        return next((place[EXTENSION_ID] for place in places if place and EXTENSION_ID in place), {})

    def announces_apps(self, capabilities: mcp_types.ClientCapabilities | None) -> bool:
        """Return whether a client with these capabilities announces MCP Apps."""
        places = (capabilities.extensions, capabilities.experimental) if capabilities else ()
        announced = next((place[_MCP_APPS] for place in places if place and _MCP_APPS in place), None)
        return announced is not None and _VIEW_TYPE in announced.get("mimeTypes", [_VIEW_TYPE])

    def declares(self, capabilities: mcp_types.ClientCapabilities | None) -> bool:
        """Return whether a client with these capabilities declares the extension, and reads documents."""
        declared = self.declared(capabilities)
        return "1.0" in declared.get("versions", ()) and declared.get("documents") is not False

    def reads_documents(self, *, declared: bool) -> bool:
        """Return whether such a client gets documents."""
        return self.wire == "always" or (self.wire == "negotiated" and declared)

    def for_the_user(self, text: str) -> list[mcp_types.TextContent]:
        """Return the block for a text that is for the user alone, if there is a text."""
        annotations = mcp_types.Annotations(audience=["user"])
        return [mcp_types.TextContent(type="text", text=text, annotations=annotations)] if text else []

    def mark(self, form: str) -> Json:
        """Return what says which of the two forms a result has."""
        return {"version": "1.0", "form": form}

    def result(self, document: str, *, failed: bool, note: str = "") -> mcp_types.CallToolResult:
        """Return the MCP result around a document."""
        return mcp_types.CallToolResult(
            content=[mcp_types.TextContent(type="text", text=document), *self.for_the_user(note)],
            is_error=failed,
            _meta={RESULT_META_KEY: self.mark("document")},
        )

    # -- MCP for clients that do not read documents ------------------------------------------------------------

    def plain(self, outcome: ToolOutcome) -> mcp_types.CallToolResult:
        """Return the result for a client that does not read documents."""
        told = [mcp_types.TextContent(type="text", text=self.said(outcome)), *self.told_values(outcome)]
        return mcp_types.CallToolResult(
            content=[*told, *self.for_the_user(outcome.note), *self.for_the_user(self.alternative(outcome))],
            is_error=outcome.failure is not None,
            _meta=self.members(outcome),
        )

    def said(self, outcome: ToolOutcome) -> str:
        """Return the text for the model."""
        return outcome.text if outcome.failure is None else f"{outcome.failure.code}: {outcome.failure.message}"

    def told_values(self, outcome: ToolOutcome) -> list[mcp_types.TextContent]:
        """Return the block that says what the server filled in, if it did."""
        if outcome.populated is None:
            return []
        text = f"Filled in by the server: {json.dumps(outcome.populated)}"
        return [mcp_types.TextContent(type="text", text=text, _meta={POPULATED_META_KEY: True})]

    def alternative(self, outcome: ToolOutcome) -> str:
        """Return what a host without displays can show in the place of the display."""
        return str((outcome.envelope or {}).get("alt", ""))

    def members(self, outcome: ToolOutcome) -> Json:
        """Return the `_meta` of a plain result."""
        members: Json = {RESULT_META_KEY: self.mark("plain")}
        if outcome.failure is not None:
            members[ERROR_META_KEY] = self.error_value(outcome.failure)
        if outcome.envelope is not None:
            members[DISPLAY_META_KEY] = outcome.envelope
        if outcome.populated is not None:
            members[POPULATED_META_KEY] = outcome.populated
        return members

    def error_value(self, failure: Failure) -> Json:
        """Return an error as JSON values."""
        said = failure.attributes
        category = said.get("category") or ERROR_CODES.get(failure.code, {}).get("category", "internal")
        value: Json = {
            "code": failure.code,
            "message": failure.message,
            "retryable": said.get("retryable") == "true",
            "category": category,
        }
        if "retry_after_ms" in said:
            value["retry_after_ms"] = int(said["retry_after_ms"])
        return value if failure.meta is None else {**value, "meta": failure.meta}

    # -- MCP Apps ----------------------------------------------------------------------------------------------

    def view(self, *, handshake: bool) -> mcp_types.ReadResourceResult:
        """Return what `resources/read` of the view answers."""
        page = mcp_types.TextResourceContents(
            uri=VIEW_URI, mime_type=self.view_type(), text=self.page(), _meta={"ui": self.view_wishes()}
        )
        return mcp_types.ReadResourceResult(contents=[page])

    def view_type(self) -> str:
        """Return the media type of the view."""
        return _VIEW_TYPE

    def page(self) -> str:
        """Return the view: a page that shows nothing, for no check looks at what it does."""
        return "<!doctype html><title>A display</title>"

    def view_wishes(self) -> Json:
        """Return what the view asks the host for, beside a frame without a border."""
        return {"prefersBorder": False}

    # -- the server --------------------------------------------------------------------------------------------

    def server(self) -> Server[Any]:
        """Return the server object of the MCP SDK."""

        async def list_tools(context: Any, _params: Any) -> mcp_types.ListToolsResult:
            session = context.session
            handshake = session.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
            capabilities = session.client_capabilities
            declared, apps = self.declares(capabilities), self.announces_apps(capabilities)
            return self.catalogue(declared=declared, handshake=handshake, apps=apps)

        async def read_resource(context: Any, params: mcp_types.ReadResourceRequestParams) -> Any:
            if str(params.uri) != VIEW_URI:
                raise MCPError(code=mcp_types.INVALID_PARAMS, message="There is no such resource.")
            return self.view(handshake=context.session.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS)

        async def call_tool(context: Any, params: mcp_types.CallToolRequestParams) -> Any:
            session = context.session
            handshake = session.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
            return await self.handle(params.name, params.arguments or {}, session.client_capabilities, handshake)

        experimental = self.announced(handshake=True)
        server = _Server(
            type(self).__name__,
            experimental,
            on_list_tools=list_tools,
            on_call_tool=call_tool,
            on_read_resource=read_resource,
        )
        server.extensions.update(self.announced(handshake=False))
        return server

    async def handle(
        self, name: str, arguments: Json, capabilities: mcp_types.ClientCapabilities | None, handshake: bool
    ) -> Any:
        """Answer a request for a call, of a client with these capabilities.

        Raises:
            MCPError: the request is not made into a call.
        """
        if len(name) > _LONGEST_NAME:  # a document could not hold it
            raise MCPError(code=mcp_types.INVALID_PARAMS, message="There is no such tool.")
        self.in_flight += 1
        try:
            await self.pause(name)
            most = max(_FEWEST_BYTES, self.declared(capabilities).get("maxBytes", _MOST_BYTES))
            return self.call(name, arguments, declared=self.declares(capabilities), handshake=handshake, most=most)
        finally:
            self.in_flight -= 1

    async def pause(self, name: str) -> None:
        """Let other calls run before a tool does."""
        for _ in range(self.turns):
            await anyio.lowlevel.checkpoint()

    def catalogue(self, *, declared: bool, handshake: bool, apps: bool) -> mcp_types.ListToolsResult:
        """Return all tools as `tools/list` has them for a client of either era, with MCP Apps or without."""
        return mcp_types.ListToolsResult(tools=[self.listed_to(name, apps=apps) for name in self.tools()])

    def listed_to(self, name: str, *, apps: bool) -> mcp_types.Tool:
        """Return a tool as `tools/list` has it for a client with MCP Apps, or without."""
        listed = self.listed(name)
        if name not in self.displays() or not self.names_view(apps=apps):
            return listed
        return listed.model_copy(update={"meta": {**(listed.meta or {}), "ui": {"resourceUri": VIEW_URI}}})

    def names_view(self, *, apps: bool) -> bool:
        """Return whether display tools name the view to such a client."""
        return apps

    def listed(self, name: str) -> mcp_types.Tool:
        """Return a tool as `tools/list` has it."""
        metadata = self.metadata(name)
        return mcp_types.Tool(
            name=name,
            description=f"The tool {name}.",
            input_schema=self.tools()[name],
            output_schema=_WRAPPED if self.data(name) else None,
            annotations=mcp_types.ToolAnnotations(read_only_hint=True),
            _meta=None if metadata is None else {TOOL_META_KEY: metadata},
        )


class Negotiated(Miniature):
    """The same server with the wire `negotiated`."""

    wire = "negotiated"


class Plain(Miniature):
    """The same server with the wire `plain`: it needs no XML."""

    wire = "plain"
