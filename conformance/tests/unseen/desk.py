"""A right server with a dozen tools of different shapes, from which the unseen servers are made.

It shares no code with the reference package or with the suite's miniature. Every step of an answer is a method that
knows the call, so that a server can go wrong in one place and under one condition.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import jsonschema_rs
import mcp_types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

Json = dict[str, Any]

PREFIX = "io.github.xmcp-spec/"
EXTENSION = f"{PREFIX}tool-response"
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SAFE = 2**53 - 1
_CATEGORIES = {
    "VALIDATION_FAIL": "invalid_input",
    "NOT_FOUND": "not_found",
    "UNKNOWN_TOOL": "not_found",
    "RATE_LIMIT": "rate_limited",
    "RATE_LIMITED": "rate_limited",
    "QUOTA_EXCEEDED": "rate_limited",
    "CONNECTION_FAILED": "unavailable",
    "CIRCUIT_OPEN": "unavailable",
    "FORBIDDEN_PARAM_OVERRIDE": "permission_denied",
    "RESULT_TOO_LARGE": "too_large",
    "INVALID_ARGUMENT": "invalid_input",
}

TEXT: Json = {"type": "string"}
SHOW: Json = {"type": "boolean", "default": False}


def closed(needed: list[str] | None = None, **properties: Json) -> Json:
    """Return the schema of an object that has these members and no other."""
    return {"type": "object", "properties": properties, "required": needed or [], "additionalProperties": False}


class Failure(Exception):
    """A failure that the tool's author foresaw."""

    def __init__(self, code: str, message: str, meta: Json | None = None, **attributes: str) -> None:
        super().__init__(message)
        self.code, self.message, self.meta, self.attributes = code, message, meta, attributes


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool answers, before it is written; `note` is for the user alone."""

    text: str
    envelope: Any = None
    data: Json | None = None
    note: str = ""
    populated: Json | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A call, and what is known of its client; `nth` counts the calls of the tool, `again` the same calls."""

    name: str
    arguments: Json
    declared: bool = False
    documents: bool = True
    handshake: bool = False
    nth: int = 1
    again: int = 1
    declaration: Json = field(default_factory=dict)

    @property
    def shows(self) -> bool:
        return self.arguments.get("show_user") is True


class _Server(Server[Any]):
    """Announces the extension under `experimental` too, the only place that the handshake era has."""

    announce: Callable[[bool], Json]

    def get_capabilities(self, *arguments: Any, **named: Any) -> mcp_types.ServerCapabilities:
        handshake = named.get("protocol_version") is None
        said = self.announce(handshake)
        capabilities = super().get_capabilities(*arguments, **named)
        return capabilities.model_copy(update={"experimental": said} if handshake else {"extensions": said})


class Desk:
    """Tools of an office; `always` sends documents to every client."""

    wire = "always"
    changes = False
    """Whether the list of tools can change."""

    def __init__(self) -> None:
        self.counted: Counter[str] = Counter()
        self.listings = 0

    # -- the tools ---------------------------------------------------------------------------------------------

    def tools(self) -> dict[str, Json]:
        """Return the input schemas by the names of the tools."""
        address = closed(["city"], city=TEXT, street=TEXT)
        return {
            "note": closed(["title", "body"], title=TEXT, body=TEXT, mood={"enum": ["calm", "busy", "urgent"]}),
            "tags": closed(["items"], items={"type": "array", "items": TEXT}),
            "labels": closed(["values"], values={"type": "object", "additionalProperties": TEXT}),
            "person": closed(["person"], person=closed(["name", "address"], name=TEXT, address=address)),
            "convert": closed(
                ["amount", "unit"],
                amount={"type": "number", "minimum": 0, "maximum": 1000},
                unit={"type": "string", "enum": ["kg", "lb", "oz"]},
            ),
            "lookup": closed(["key"], key=TEXT),
            "divide": closed(["dividend", "divisor"], dividend={"type": "integer"}, divisor={"type": "integer"}),
            "orders": closed(status={"enum": ["open", "done"]}),
            "search": closed(["query"], query=TEXT, limit={"type": "integer", "minimum": 1, "maximum": 50}),
            "reserve": closed(["seats"], seats={"type": "integer", "minimum": 1, "maximum": 8}),
            "card": closed(["text"], text=TEXT, caption=TEXT, show_user=SHOW),
            "plot": closed(
                ["points"],
                points={"type": "array", "items": {"type": "number"}},
                smooth={"type": "boolean"},
                show_user=SHOW,
            ),
        }

    def metadata(self, name: str) -> Json | None:
        """Return the metadata of a tool."""
        said: dict[str, Json] = {
            "orders": {"server_populated": ["user_id", "api_key"]},
            "search": {"cacheable": True, "wrapped_in": "result"},
            "reserve": {"depends_on": ["search"]},
            "card": {"display": True},
            "plot": {"display": True},
        }
        return said.get(name)

    def run(self, call: Call) -> Answer:
        """Return the answer of a tool."""
        answer: Answer = getattr(self, f"do_{call.name}")(call)
        return answer

    def do_note(self, call: Call) -> Answer:
        mood = call.arguments.get("mood")
        note = "Notes are kept for 30 days." if mood == "urgent" else ""
        return Answer(f"{call.arguments['title']}\n{call.arguments['body']}" + (f"\n{mood}" if mood else ""), note=note)

    def do_tags(self, call: Call) -> Answer:
        return Answer("; ".join(call.arguments["items"]))

    def do_labels(self, call: Call) -> Answer:
        return Answer("\n".join(f"{key}: {value}" for key, value in call.arguments["values"].items()))

    def do_person(self, call: Call) -> Answer:
        person = call.arguments["person"]
        return Answer(f"{person['name']}, {person['address']['city']}")

    def do_convert(self, call: Call) -> Answer:
        return Answer(f"{call.arguments['amount']} {call.arguments['unit']}")

    def do_lookup(self, call: Call) -> Answer:
        if call.arguments["key"] != "alpha":
            raise Failure("NOT_FOUND", f"There is no entry '{call.arguments['key']}'.")
        return Answer("The first letter.")

    def do_divide(self, call: Call) -> Answer:
        return Answer(str(call.arguments["dividend"] // call.arguments["divisor"]))

    def do_orders(self, call: Call) -> Answer:
        forged = [key for key in ("user_id", "api_key") if key in call.arguments]
        populated: Json = {"values": {"user_id": "u-17"}, "redacted": ["api_key"]}
        return Answer("3 orders.", populated={**populated, "overridden": forged} if forged else populated)

    def do_search(self, call: Call) -> Answer:
        found = [f"{call.arguments['query']} ({n + 1})" for n in range(min(call.arguments.get("limit", 2), 3))]
        return Answer("\n".join(found), data={"result": found})

    def do_reserve(self, call: Call) -> Answer:
        if call.arguments["seats"] > 6:
            raise Failure("X_ACME_FULL", "There are only six seats.", category="conflict")
        return Answer(f"{call.arguments['seats']} reserved.")

    def do_card(self, call: Call) -> Answer:
        text = call.arguments["text"]
        return Answer(f"The card says: {text}", self.card(call, text))

    def card(self, call: Call, text: str) -> Any:
        """Return the envelope of a card."""
        return {
            "type": "group",
            "title": ("Card: " + text)[:200],
            "alt": (f"A table with {len(text)} characters in its first row: " + text)[:4000],
            "payload": [
                {"type": "table", "payload": [{"text": text, "length": len(text)}]},
                {"type": "text", "payload": call.arguments.get("caption", "no caption")},
            ],
        }

    def do_plot(self, call: Call) -> Answer:
        points = call.arguments["points"]
        return Answer(f"{len(points)} points.", self.plot(call, points))

    def plot(self, call: Call, points: list[Any]) -> Any:
        """Return the envelope of a chart."""
        values = [{"x": number, "y": point} for number, point in enumerate(points)]
        return {
            "type": "chart",
            "alt": f"A chart of {len(points)} points.",
            "payload": {"mark": "line", "data": {"values": values}, "encoding": {"y": {"field": "y"}}},
        }

    # -- arguments ---------------------------------------------------------------------------------------------

    def filled(self, name: str) -> tuple[str, ...]:
        """Return the parameters that the server fills in."""
        return tuple((self.metadata(name) or {}).get("server_populated", ()))

    def given(self, call: Call) -> Json:
        """Return the arguments that the schema is to judge."""
        filled, shows = self.filled(call.name), (self.metadata(call.name) or {}).get("display")
        absent = {"show_user"} if shows and call.arguments.get("show_user", False) is None else set[str]()
        return {key: value for key, value in call.arguments.items() if key not in filled and key not in absent}

    def refuse(self, call: Call) -> None:
        """Raise the failure of arguments that do not fit the schema."""
        validator = jsonschema_rs.validator_for(self.tools()[call.name], validate_formats=True)
        fields = [one for fault in validator.iter_errors(self.given(call)) for one in self.fields_of(fault)]
        if fields:
            raise Failure("VALIDATION_FAIL", self.refusal(call, fields), meta=self.refused(call, fields))

    def fields_of(self, fault: jsonschema_rs.ValidationError) -> list[Json]:
        """Return an entry for each argument that a fault is about."""
        kind: Any = fault.kind
        missing, unexpected = getattr(kind, "property", None), list(getattr(kind, "unexpected", []))
        names = unexpected or ([missing] if isinstance(missing, str) else [None])
        reason = "unexpected" if unexpected else "missing" if missing else "unfit"
        path = [str(step) for step in fault.instance_path]
        return [
            {
                "pointer": self.pointer(path if name is None else [*path, str(name)]),
                "message": reason,
                "reason": reason,
            }
            for name in names
        ]

    def pointer(self, path: list[str]) -> str:
        """Return a JSON Pointer."""
        return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in path)

    def refusal(self, call: Call, fields: list[Json]) -> str:
        """Return the message for refused arguments."""
        return f"{len(fields)} arguments do not fit."

    def refused(self, call: Call, fields: list[Json]) -> Json:
        """Return the `meta` for refused arguments."""
        return {"fields": fields, "side_effects": "none"}

    # -- outcomes ----------------------------------------------------------------------------------------------

    def outcome(self, call: Call) -> Answer | Failure:
        """Make the call."""
        try:
            if call.name not in self.tools():
                raise self.unknown(call)
            self.refuse(call)
            answer = self.run(call)
        except Failure as failure:
            return failure
        except MCPError:
            raise
        except Exception as error:
            return self.unforeseen(call, error)
        if not self.sends_display(call):
            return replace(answer, envelope=None)
        envelope = self.with_fallback(call, self.safe(answer.envelope), answer.text)
        return replace(answer, text=self.shown_text(call, answer), envelope=envelope)

    def sends_display(self, call: Call) -> bool:
        """Return whether the display is sent."""
        return call.shows

    def with_fallback(self, call: Call, envelope: Any, text: str) -> Any:
        """Add a fallback for a client that named the types it shows, and not this one."""
        known = call.declaration.get("displayTypes")
        if not isinstance(envelope, dict) or known is None or envelope["type"] in known or "fallback" in envelope:
            return envelope
        return {**envelope, "fallback": {"type": "text", "payload": text}}

    def shown_text(self, call: Call, answer: Answer) -> str:
        """Return the text beside a display."""
        if answer.envelope is None or call.declared:
            return answer.text
        return f"{answer.text}\nThis client may not be able to show the display."

    def unknown(self, call: Call) -> Failure:
        """Return the failure of a tool that does not exist.

        Raises:
            MCPError: the name cannot be the name of a tool.
        """
        if not 0 < len(call.name) <= 128:
            raise MCPError(-32602, "A tool's name has 1 to 128 characters.")
        return Failure("UNKNOWN_TOOL", "There is no tool of that name.")

    def unforeseen(self, call: Call, error: Exception) -> Failure:
        """Return the failure of an exception that nobody foresaw."""
        number = uuid.uuid4().hex
        sys.stderr.write(f"{number} {type(error).__name__} in {call.name}\n")
        return Failure("INTERNAL", "The tool failed; the server's log says why.", {"error_id": number})

    # -- documents ---------------------------------------------------------------------------------------------

    def document(self, call: Call, body: str) -> str:
        """Return the root element around its parts."""
        name = self.legal(call.name)
        lossy = "" if name == call.name else ' lossy="true"'
        return f"<tool_response tool_name={self.attribute(name)}{lossy}{self.rooted(call)}>{body}</tool_response>"

    def rooted(self, call: Call) -> str:
        """Return further attributes of the root element."""
        return ""

    def succeeded(self, call: Call, answer: Answer) -> str:
        """Return the parts of an answer."""
        shown = "" if answer.envelope is None else self.display(call, answer.envelope)
        told = "" if answer.populated is None else self.told(call, answer.populated)
        return self.llm_output(call, answer.text) + shown + told

    def llm_output(self, call: Call, text: str) -> str:
        """Return the text for the model."""
        legal = self.legal(text)
        return f"<llm_output{self.lossy(text, legal)}>{self.character_data(call, legal)}</llm_output>"

    def legal(self, text: str) -> str:
        """Return the text with U+FFFD for what XML does not allow."""
        return _ILLEGAL.sub("\ufffd", text)

    def lossy(self, text: str, legal: str) -> str:
        """Return the attribute that marks a loss."""
        return "" if text == legal else ' lossy="true"'

    def character_data(self, call: Call, text: str) -> str:
        """Return the text of `llm_output` with references."""
        return self.escaped(text)

    def escaped(self, text: str) -> str:
        """Return character data."""
        return escape(text, {"\r": "&#13;"})

    def attribute(self, text: str) -> str:
        """Return the value of an attribute with its quotes."""
        return quoteattr(text)

    def display(self, call: Call, envelope: Any) -> str:
        """Return the display."""
        return f"<display>{self.json(envelope)}</display>"

    def told(self, call: Call, populated: Json) -> str:
        """Return what the server filled in."""
        return f"<server_populated>{self.json(populated)}</server_populated>"

    def error(self, call: Call, failure: Failure) -> str:
        """Return the error."""
        attributes = {"code": failure.code, **failure.attributes}
        written = "".join(f" {key}={self.attribute(value)}" for key, value in attributes.items())
        legal = self.legal(failure.message)
        meta = "" if failure.meta is None else f"<meta>{self.json(failure.meta)}</meta>"
        return f"<error{written}{self.lossy(failure.message, legal)}>{self.message(call, legal)}{meta}</error>"

    def message(self, call: Call, text: str) -> str:
        """Return the message of an error."""
        return self.escaped(text)

    def json(self, value: Any) -> str:
        """Return JSON in which nothing is markup."""
        return self.inert(json.dumps(self.safe(value), allow_nan=False))

    def inert(self, text: str) -> str:
        """Return JSON without the characters of markup."""
        return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

    def safe(self, value: Any) -> Any:
        """Return the value with numbers that every reader can hold."""
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _SAFE:
            return str(value)
        if isinstance(value, dict):
            return {key: self.safe(item) for key, item in value.items()}
        return [self.safe(item) for item in value] if isinstance(value, list) else value

    def failed_document(self, call: Call, failure: Failure) -> str:
        """Return the document of a failure."""
        return self.document(call, self.error(call, failure))

    def written(self, call: Call, outcome: Answer | Failure) -> tuple[str, Answer | Failure]:
        """Return the document, and what it says where the client accepts only a smaller one."""
        if isinstance(outcome, Answer):
            document = self.document(call, self.succeeded(call, outcome))
            if not self.too_large(call, document):
                return document, outcome
            outcome = Failure("RESULT_TOO_LARGE", "The result is larger than the client accepts.")
        document = self.failed_document(call, outcome)
        if self.too_large(call, document):
            kept = {key: value for key, value in (outcome.meta or {}).items() if key in {"error_id", "side_effects"}}
            outcome = Failure(outcome.code, outcome.message[:500], kept or None, **outcome.attributes)
            document = self.failed_document(call, outcome)
        return document, outcome

    def too_large(self, call: Call, document: str) -> bool:
        """Return whether the client does not accept so large a document."""
        most = call.declaration.get("maxBytes")
        return most is not None and len(document.encode()) > max(most, 4096)

    # -- results -----------------------------------------------------------------------------------------------

    def answer(self, call: Call) -> mcp_types.CallToolResult:
        """Return the result of a call."""
        outcome = self.outcome(call)
        if not call.documents:
            return self.plain(call, outcome)
        document, outcome = self.written(call, outcome)
        return mcp_types.CallToolResult(
            content=self.blocks(call, document, outcome),
            is_error=self.is_error(call, outcome),
            structured_content=self.data(call, outcome),
            _meta=self.result_meta(call, outcome, {"version": "1.0", "form": "document"}),
        )

    def is_error(self, call: Call, outcome: Answer | Failure) -> bool:
        """Return whether the call failed."""
        return isinstance(outcome, Failure)

    def data(self, call: Call, outcome: Answer | Failure) -> Json | None:
        """Return the structured content."""
        return outcome.data if isinstance(outcome, Answer) else None

    def result_meta(self, call: Call, outcome: Answer | Failure, mark: Json) -> Json:
        """Return the `_meta` of a result."""
        return {f"{PREFIX}result": mark}

    def blocks(self, call: Call, document: str, outcome: Answer | Failure) -> list[mcp_types.ContentBlock]:
        """Return the blocks of a result with a document."""
        return [block(document), *self.for_the_user(outcome.note if isinstance(outcome, Answer) else "")]

    def for_the_user(self, text: str) -> list[mcp_types.ContentBlock]:
        """Return the block for a text that is for the user alone."""
        return [block(text, mcp_types.Annotations(audience=["user"]))] if text else []

    def plain(self, call: Call, outcome: Answer | Failure) -> mcp_types.CallToolResult:
        """Return the plain result."""
        text = self.said(call, outcome)
        mark: Json = {"version": "1.0", "form": "plain"}
        if self.legal(text) != text:
            mark["lossy"] = True
        return mcp_types.CallToolResult(
            content=[*self.plain_text(call, self.legal(text)), *self.beside(call, outcome)],
            is_error=self.is_error(call, outcome),
            structured_content=self.data(call, outcome),
            _meta=self.plain_meta(call, outcome, mark),
        )

    def said(self, call: Call, outcome: Answer | Failure) -> str:
        """Return the text of a plain result."""
        return outcome.text if isinstance(outcome, Answer) else f"{outcome.code}: {outcome.message}"

    def plain_text(self, call: Call, text: str) -> list[mcp_types.ContentBlock]:
        """Return the blocks for the model."""
        return [block(text)]

    def beside(self, call: Call, outcome: Answer | Failure) -> list[mcp_types.ContentBlock]:
        """Return the blocks of a plain result beside the text."""
        if isinstance(outcome, Failure):
            return []
        alt = self.alternative(outcome.envelope)
        return [*self.told_block(call, outcome.populated), *self.for_the_user(outcome.note), *self.for_the_user(alt)]

    def alternative(self, envelope: Any) -> str:
        """Return what a host without displays shows."""
        return str(envelope.get("alt", ""))[:500] if isinstance(envelope, dict) else ""

    def told_block(self, call: Call, populated: Json | None) -> list[mcp_types.ContentBlock]:
        """Return the block that says what the server filled in."""
        if populated is None:
            return []
        text = f"Filled in by the server: {json.dumps(populated)}"
        return [mcp_types.TextContent(type="text", text=text, _meta={f"{PREFIX}server_populated": True})]

    def plain_meta(self, call: Call, outcome: Answer | Failure, mark: Json) -> Json:
        """Return the `_meta` of a plain result."""
        members = self.result_meta(call, outcome, mark)
        if isinstance(outcome, Failure):
            members[f"{PREFIX}error"] = self.error_value(call, outcome)
            return members
        if outcome.envelope is not None:
            members[f"{PREFIX}display"] = outcome.envelope
        if outcome.populated is not None:
            members[f"{PREFIX}server_populated"] = outcome.populated
        return members

    def error_value(self, call: Call, failure: Failure) -> Json:
        """Return an error as JSON."""
        said = failure.attributes
        value: Json = {
            "code": failure.code,
            "message": self.legal(failure.message),
            "retryable": said.get("retryable") in {"true", "1"},
            "category": said.get("category") or _CATEGORIES.get(failure.code, "internal"),
        }
        if "retry_after_ms" in said:
            value["retry_after_ms"] = int(said["retry_after_ms"])
        return value if failure.meta is None else {**value, "meta": failure.meta}

    # -- MCP ---------------------------------------------------------------------------------------------------

    def announcement(self, *, handshake: bool) -> Json:
        """Return what the server announces, by the names of the extensions."""
        return {EXTENSION: {"versions": ["1.0"], "wire": self.wire}}

    def declaration(self, capabilities: mcp_types.ClientCapabilities | None) -> Json:
        """Return the declaration of a client, if it has one of a version that this server emits."""
        for place in (capabilities.extensions, capabilities.experimental) if capabilities else ():
            said = (place or {}).get(EXTENSION)
            if isinstance(said, dict) and any(str(one).startswith("1.") for one in said.get("versions", ())):
                return said
        return {}

    def reads_documents(self, declaration: Json) -> bool:
        """Return whether a client with this declaration gets documents."""
        wanted = bool(declaration) and declaration.get("documents") is not False
        return self.wire == "always" or (self.wire == "negotiated" and wanted)

    def called(self, context: Any, params: mcp_types.CallToolRequestParams) -> Call:
        """Return the call that a request is."""
        arguments = params.arguments or {}
        same = f"{params.name} {json.dumps(arguments, sort_keys=True)}"
        self.counted.update((params.name, same))
        declaration = self.declaration(context.session.client_capabilities)
        return Call(
            params.name,
            arguments,
            declared=bool(declaration),
            documents=self.reads_documents(declaration),
            handshake=not context.protocol_version.startswith("2026"),
            nth=self.counted[params.name],
            again=self.counted[same],
            declaration=declaration,
        )

    async def before(self, call: Call, context: Any) -> None:
        """Wait for whatever the call has to wait for."""

    def listed(self, name: str, *, declared: bool) -> mcp_types.Tool:
        """Return a tool as `tools/list` has it."""
        metadata = self.metadata(name)
        return mcp_types.Tool(
            name=name,
            description=f"The tool {name}.",
            input_schema=self.tools()[name],
            output_schema=self.output_schema(name),
            annotations=mcp_types.ToolAnnotations(read_only_hint=True),
            _meta=None if metadata is None else {f"{PREFIX}tool": metadata},
        )

    def output_schema(self, name: str) -> Json | None:
        """Return the output schema of a tool."""
        return closed(["result"], result={"type": "array"}) if name == "search" else None

    def catalogue(self, *, declared: bool) -> list[mcp_types.Tool]:
        """Return the list of tools."""
        return [self.listed(name, declared=declared) for name in self.tools()]

    def server(self) -> Server[Any]:
        """Return the server object of the MCP SDK."""

        async def list_tools(context: Any, _params: Any) -> mcp_types.ListToolsResult:
            self.listings += 1
            declared = bool(self.declaration(context.session.client_capabilities))
            return mcp_types.ListToolsResult(tools=self.catalogue(declared=declared))

        async def call_tool(context: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
            call = self.called(context, params)
            await self.before(call, context)
            return self.answer(call)

        server = _Server(type(self).__name__, on_list_tools=list_tools, on_call_tool=call_tool)
        server.announce = lambda handshake: self.announcement(handshake=handshake)
        self.extend(server)
        return server

    def extend(self, server: Server[Any]) -> None:
        """Add what else the server has."""


class Negotiated(Desk):
    """The same tools with the wire `negotiated`."""

    wire = "negotiated"


class Plain(Desk):
    """The same tools with the wire `plain`."""

    wire = "plain"


def block(text: str, annotations: mcp_types.Annotations | None = None) -> mcp_types.TextContent:
    """Return a text block."""
    return mcp_types.TextContent(type="text", text=text, annotations=annotations)
