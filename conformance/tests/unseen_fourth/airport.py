"""A right server of an airport, the base of the fourth set of servers: a table of routes behind a chain of layers.

It shares no code with the reference package, the suite, or the other sets. A request becomes a `Call`, which passes the
chain on its way to the handler of its route; the outcome passes the chain on its way back, and is then written as a
document or as a plain result. A server of the set changes a route, puts something into the chain, or changes a writer.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import anyio
import jsonschema_rs
import mcp_types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from unseen_fourth.routes import (
    NOT_XML,
    PREFIX,
    REGISTERED,
    ROUTES,
    Answer,
    Call,
    Failure,
    Json,
    Middleware,
    Outcome,
    Route,
    Step,
)

EXTENSION = f"{PREFIX}tool-response"
SAFE_INTEGER = 2**53 - 1
LARGEST = 8 * 1024 * 1024
SURROGATE = re.compile("[\ud800-\udfff]")
STAFF: Json = {"staff_id": "s-3141", "base": "Main hall, second floor", "badge": "kestrel-2718-blue"}


class _Announcing(Server[Any]):
    """The handshake era has no member `extensions`, so the announcement is under `experimental` there."""

    said: Callable[[bool], Json]

    def get_capabilities(self, *positional: Any, **named: Any) -> mcp_types.ServerCapabilities:
        handshake = named.get("protocol_version") is None
        place = "experimental" if handshake else "extensions"
        return super().get_capabilities(*positional, **named).model_copy(update={place: self.said(handshake)})


class Airport:
    """An airport with the wire `always`."""

    wire = "always"
    title = "airport"

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.lists = 0

    def routes(self) -> dict[str, Route]:
        """Return the routes by the names of their tools."""
        return ROUTES

    # -- the chain -----------------------------------------------------------------------------------------------

    def chain(self) -> list[Middleware]:
        """Return the layers, the outermost first."""
        return [self.recover, self.find_route, self.fill_in, self.validate, self.present, self.pause]

    async def run(self, call: Call) -> Outcome:
        """Send a call through the chain."""

        def linked(layer: Middleware, inner: Step) -> Step:
            return lambda call: layer(call, inner)

        step: Step = self.work
        for layer in reversed(self.chain()):
            step = linked(layer, step)
        return await step(call)

    async def work(self, call: Call) -> Outcome:
        """Call the handler."""
        return self.routed(call).do(call)

    async def recover(self, call: Call, go: Step) -> Outcome:
        """Turn what was raised into an outcome."""
        try:
            return await go(call)
        except Failure as failure:
            return failure
        except MCPError:
            raise
        except Exception as error:
            return self.unforeseen(call, error)

    def unforeseen(self, call: Call, error: Exception) -> Failure:
        """Log an exception that nobody foresaw."""
        number = uuid.uuid4().hex
        sys.stderr.write(f"{number} {type(error).__name__} in {call.tool}\n")
        return Failure("INTERNAL", "Something broke in the tower.", {"error_id": number})

    async def find_route(self, call: Call, go: Step) -> Outcome:
        """Find the route of a call."""
        route = self.routes().get(call.tool)
        if route is not None:
            return await go(replace(call, route=route))
        if not call.tool:
            raise MCPError(-32602, "A tool has a name.")
        raise self.no_such_tool(call)

    def no_such_tool(self, call: Call) -> Failure:
        """Return the failure of a call without a route."""
        return Failure("UNKNOWN_TOOL", "The airport has no such tool.")

    def routed(self, call: Call) -> Route:
        """Return the route of a call that passed the router."""
        if call.route is None:
            raise LookupError(call.tool)
        return call.route

    async def fill_in(self, call: Call, go: Step) -> Outcome:
        """Set aside what the server fills in, and a `show_user` that is null."""
        ours = call.about.get("server_populated", [])
        forged = {name: value for name, value in call.args.items() if name in ours}
        args = {name: value for name, value in call.args.items() if name not in ours}
        if call.about.get("display") and "show_user" in args and args["show_user"] is None:
            del args["show_user"]
        filled = {name: STAFF[name] for name in ours}
        call = replace(call, args=args, forged=forged, filled=filled)
        outcome = await go(call)
        if isinstance(outcome, Failure) or not ours:
            return outcome
        return replace(outcome, filled=self.populated(call))

    def populated(self, call: Call) -> Json:
        """Return what is said of the parameters that the server filled in."""
        said: Json = {
            "values": {name: value for name, value in call.filled.items() if name != "badge"},
            "redacted": ["badge"],
        }
        return {**said, "overridden": sorted(call.forged)} if call.forged else said

    async def validate(self, call: Call, go: Step) -> Outcome:
        """Refuse arguments that do not fit."""
        faults = self.misfits(call)
        if faults:
            raise self.refusal(call, faults)
        return await go(call)

    def misfits(self, call: Call) -> list[tuple[list[str | int], str]]:
        """Return the path and the reason of each argument that does not fit."""
        found: list[tuple[list[str | int], str]] = []
        for error in self.validator(call).iter_errors(scrubbed(call.args)):
            kind: Any = error.kind
            path: list[str | int] = [*error.instance_path]
            reason = type(kind).__name__.rpartition("_")[2].lower()
            names = [*getattr(kind, "unexpected", [])] or [getattr(kind, "property", None)]
            found += [([*path, name] if isinstance(name, str) else path, reason) for name in names]
        return found

    def validator(self, call: Call) -> Any:
        """Return the validator of the arguments."""
        return jsonschema_rs.validator_for(self.routed(call).takes, validate_formats=True)

    def refusal(self, call: Call, faults: list[tuple[list[str | int], str]]) -> Failure:
        """Return the failure of arguments that do not fit."""
        fields = [
            {"pointer": self.pointer(path), "reason": reason, "message": "does not fit"} for path, reason in faults
        ]
        meta: Json = {"fields": fields, "side_effects": "none"}
        return Failure("VALIDATION_FAIL", self.refusal_text(call, faults), meta)

    def refusal_text(self, call: Call, faults: list[tuple[list[str | int], str]]) -> str:
        """Return the message of that failure."""
        return f"{len(faults)} of the arguments do not fit the schema of the tool."

    def pointer(self, path: list[str | int]) -> str:
        """Return a JSON Pointer."""
        return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)

    async def present(self, call: Call, go: Step) -> Outcome:
        """Drop a display that nobody asked for, or tell the model of it."""
        outcome = await go(call)
        if isinstance(outcome, Failure) or outcome.show is None:
            return outcome
        if not call.shown:
            return replace(outcome, show=None)
        return replace(outcome, text=outcome.text + self.hint(call), show=self.adapted(call, outcome.show))

    def hint(self, call: Call) -> str:
        """Return what a client that did not declare the extension is told."""
        return "" if call.declared else "\n[There is a display as well, which your application may be unable to show.]"

    def adapted(self, call: Call, show: Any) -> Any:
        """Add fallbacks for a client that named the types which it shows."""
        known = call.declaration.get("displayTypes")
        if not isinstance(known, list):
            return show
        if show["type"] == "group":
            show = {**show, "payload": [self.adapted(call, one) for one in show["payload"]]}
        if show["type"] in known or "fallback" in show:
            return show
        return {**show, "fallback": {"type": "text", "payload": str(show.get("alt", f"A {show['type']}."))}}

    async def pause(self, call: Call, go: Step) -> Outcome:
        """Take the time that the tool takes."""
        await anyio.sleep(self.routed(call).pause)
        return await go(call)

    # -- documents -----------------------------------------------------------------------------------------------

    def legal(self, text: str) -> str:
        """Return a text without code points that XML does not allow."""
        return NOT_XML.sub("\ufffd", text)

    def quoted(self, value: str) -> str:
        """Return the value of an attribute, in its quotes."""
        for raw, name in (("&", "amp"), ("<", "lt"), (">", "gt"), ('"', "quot"), ("\t", "#9"), ("\n", "#10")):
            value = value.replace(raw, f"&{name};")
        return '"' + value.replace("\r", "&#13;") + '"'

    def attributes(self, values: Mapping[str, str]) -> str:
        """Return attributes."""
        return "".join(f" {name}={self.quoted(value)}" for name, value in values.items())

    def escaped(self, text: str) -> str:
        """Return character data."""
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return text.replace("\r", "&#13;")

    def element(self, name: str, attributes: Mapping[str, str], content: str) -> str:
        """Return an element."""
        return f"<{name}{self.attributes(attributes)}>{content}</{name}>"

    def llm_output(self, call: Call, answer: Answer) -> str:
        """Return the element for the model."""
        legal = self.legal(answer.text)
        said = {"format": answer.media} if answer.media else {}
        if legal != answer.text:
            said["lossy"] = "true"
        return self.element("llm_output", said, self.characters(call, legal))

    def characters(self, call: Call, text: str) -> str:
        """Return the character data of `llm_output`."""
        return self.escaped(text)

    def clean(self, value: Any) -> Any:
        """Return a value as JSON in a document can hold it."""
        if isinstance(value, str):
            return SURROGATE.sub("\ufffd", value)
        if isinstance(value, dict):
            return {self.clean(name): self.clean(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.clean(item) for item in value]
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) > SAFE_INTEGER:
            return str(value)
        return value

    def json_text(self, value: Any) -> str:
        """Return JSON in which nothing is markup."""
        return self.inert(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))

    def inert(self, text: str) -> str:
        """Return the text of JSON without markup."""
        text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
        return NOT_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)

    def json_part(self, call: Call, name: str, value: Any) -> str:
        """Return an element that holds JSON."""
        lossy = SURROGATE.search(json.dumps(value, ensure_ascii=False)) is not None
        return self.element(name, {"lossy": "true"} if lossy else {}, self.json_text(self.clean(value)))

    def error(self, call: Call, failure: Failure) -> str:
        """Return the element of a failure."""
        legal = self.legal(failure.message)
        said = self.error_attributes(call, failure)
        if legal != failure.message:
            said["lossy"] = "true"
        meta = "" if failure.meta is None else self.json_part(call, "meta", failure.meta)
        return self.element("error", said, self.message(call, legal) + meta)

    def error_attributes(self, call: Call, failure: Failure) -> dict[str, str]:
        """Return the attributes of a failure."""
        said = {"code": failure.code}
        if failure.category:
            said["category"] = failure.category
        if failure.retryable:
            said["retryable"] = "true"
        if failure.after_ms is not None:
            said["retry_after_ms"] = str(failure.after_ms)
        return said

    def message(self, call: Call, text: str) -> str:
        """Return the character data of the message of a failure."""
        return self.escaped(text)

    def parts(self, call: Call, outcome: Outcome) -> list[str]:
        """Return the children of the root element."""
        if isinstance(outcome, Failure):
            return [self.error(call, outcome)]
        parts = [self.llm_output(call, outcome)]
        if outcome.show is not None:
            parts.append(self.json_part(call, "display", outcome.show))
        if outcome.filled is not None:
            parts.append(self.json_part(call, "server_populated", outcome.filled))
        return parts

    def root(self, call: Call, outcome: Outcome) -> dict[str, str]:
        """Return the attributes of the root element."""
        legal = self.legal(call.tool[:128])
        return {"tool_name": legal} if legal == call.tool[:128] else {"tool_name": legal, "lossy": "true"}

    def document(self, call: Call, outcome: Outcome) -> str:
        """Return a document."""
        return self.element("tool_response", self.root(call, outcome), "".join(self.parts(call, outcome)))

    def fitted(self, call: Call, outcome: Outcome) -> tuple[str, Outcome]:
        """Return a document that the client accepts, and its outcome."""
        document = self.document(call, outcome)
        if self.fits(call, outcome, document):
            return document, outcome
        outcome = self.too_large(call, outcome) if isinstance(outcome, Answer) else self.shortened(outcome)
        return self.document(call, outcome), outcome

    def fits(self, call: Call, outcome: Outcome, document: str) -> bool:
        """Return whether the client accepts a document of that size."""
        return len(document.encode()) <= self.largest(call)

    def largest(self, call: Call) -> int:
        """Return the size of the largest document that the client accepts."""
        most = call.declaration.get("maxBytes", LARGEST)
        return max(int(most), 4096) if isinstance(most, int | float) else LARGEST

    def too_large(self, call: Call, answer: Answer) -> Outcome:
        """Return what takes the place of an answer that is too large."""
        return Failure("RESULT_TOO_LARGE", "The answer is larger than what your application accepts.")

    def shortened(self, failure: Failure) -> Failure:
        """Return a failure that fits into 4,096 bytes."""
        kept = {name: item for name, item in (failure.meta or {}).items() if name in {"error_id", "side_effects"}}
        short = Failure(failure.code, failure.message[:400], kept or None, category=failure.category)
        short.after_ms = failure.after_ms
        return short

    # -- results -------------------------------------------------------------------------------------------------

    def reply(self, call: Call, outcome: Outcome) -> mcp_types.CallToolResult:
        """Return the result of a call."""
        return self.as_document(call, outcome) if call.documents else self.as_plain(call, outcome)

    def as_document(self, call: Call, outcome: Outcome) -> mcp_types.CallToolResult:
        """Return a result whose first block is a document."""
        document, outcome = self.fitted(call, outcome)
        return mcp_types.CallToolResult(
            content=self.blocks(call, outcome, document),
            is_error=self.failed(call, outcome),
            structured_content=self.data(call, outcome),
            _meta=self.marked(call, outcome, {"version": "1.0", "form": "document"}),
        )

    def blocks(self, call: Call, outcome: Outcome, document: str) -> list[mcp_types.ContentBlock]:
        """Return the blocks of a result with a document."""
        aside = outcome.aside if isinstance(outcome, Answer) else ""
        return [block(document), *([for_the_person(aside)] if aside else [])]

    def failed(self, call: Call, outcome: Outcome) -> bool:
        """Return what the result says in `isError`."""
        return isinstance(outcome, Failure)

    def data(self, call: Call, outcome: Outcome) -> Json | None:
        """Return the structured content; each tool that has data lists an output schema."""
        return None if isinstance(outcome, Failure) else outcome.data

    def marked(self, call: Call, outcome: Outcome, mark: Json) -> Json:
        """Return the `_meta` that every result has."""
        return {f"{PREFIX}result": mark}

    def as_plain(self, call: Call, outcome: Outcome) -> mcp_types.CallToolResult:
        """Return a plain result."""
        text = self.plain_text(call, outcome)
        mark: Json = {"version": "1.0", "form": "plain"}
        if self.legal(text) != text:
            mark["lossy"] = True
        if isinstance(outcome, Answer) and outcome.media:
            mark["format"] = outcome.media
        return mcp_types.CallToolResult(
            content=[*self.for_the_model(call, self.legal(text)), *self.beside(call, outcome)],
            is_error=self.failed(call, outcome),
            structured_content=self.data(call, outcome),
            _meta=self.members(call, outcome, mark),
        )

    def plain_text(self, call: Call, outcome: Outcome) -> str:
        """Return the text for the model."""
        return outcome.text if isinstance(outcome, Answer) else f"{outcome.code}: {outcome.message}"

    def for_the_model(self, call: Call, text: str) -> list[mcp_types.ContentBlock]:
        """Return the blocks with that text."""
        return [block(text)]

    def beside(self, call: Call, outcome: Outcome) -> list[mcp_types.ContentBlock]:
        """Return the other blocks of a plain result."""
        if isinstance(outcome, Failure):
            return []
        blocks: list[mcp_types.ContentBlock] = []
        if outcome.filled is not None:
            blocks += self.populated_blocks(call, outcome.filled)
        texts = (outcome.aside, self.alternative(call, outcome.show))
        return [*blocks, *(for_the_person(self.legal(text)) for text in texts if text)]

    def populated_blocks(self, call: Call, filled: Json) -> list[mcp_types.ContentBlock]:
        """Return the block that says what the server filled in."""
        text = json.dumps(filled, ensure_ascii=False)
        return [mcp_types.TextContent(type="text", text=text, _meta={f"{PREFIX}server_populated": True})]

    def alternative(self, call: Call, show: Any) -> str:
        """Return what a host without displays can show."""
        return "" if show is None else str(show.get("alt", ""))[:500]

    def members(self, call: Call, outcome: Outcome, mark: Json) -> Json:
        """Return the `_meta` of a plain result."""
        members = self.marked(call, outcome, mark)
        if isinstance(outcome, Failure):
            members[f"{PREFIX}error"] = self.error_member(call, outcome)
            return members
        if outcome.show is not None:
            members[f"{PREFIX}display"] = self.clean(outcome.show)
        if outcome.filled is not None:
            members[f"{PREFIX}server_populated"] = self.clean(outcome.filled)
        return members

    def error_member(self, call: Call, failure: Failure) -> Json:
        """Return a failure as JSON."""
        category = failure.category or REGISTERED.get(failure.code, {}).get("category", "internal")
        member: Json = {
            "code": failure.code,
            "message": self.legal(failure.message),
            "category": category,
            "retryable": failure.retryable,
        }
        if failure.after_ms is not None:
            member["retry_after_ms"] = failure.after_ms
        return member if failure.meta is None else {**member, "meta": self.clean(failure.meta)}

    # -- MCP -----------------------------------------------------------------------------------------------------

    def announcement(self, *, handshake: bool) -> Json:
        """Return what the server announces, by the names of extensions."""
        return {EXTENSION: {"versions": ["1.0"], "wire": self.wire}}

    def declaration(self, context: Any) -> Json:
        """Return what the client declared, if that counts."""
        capabilities = context.session.client_capabilities
        for place in ("extensions", "experimental"):
            said = (getattr(capabilities, place, None) or {}).get(EXTENSION)
            if isinstance(said, dict) and self.speaks(said.get("versions", [])):
                return said
        return {}

    def speaks(self, versions: Any) -> bool:
        """Return whether one of these versions is one that the server speaks."""
        return isinstance(versions, list) and any(re.match(r"1\.[0-9]", str(one)) for one in versions)

    def sends_documents(self, declaration: Json) -> bool:
        """Return whether a client with this declaration gets documents."""
        if self.wire == "negotiated":
            return bool(declaration) and declaration.get("documents") is not False
        return self.wire == "always"

    def incoming(self, context: Any, params: mcp_types.CallToolRequestParams) -> Call:
        """Return the call that a request is."""
        args = dict(params.arguments or {})
        same = f"{params.name}?{json.dumps(args, sort_keys=True)}"
        self.calls.update((params.name, same))
        declaration = self.declaration(context)
        return Call(
            tool=params.name,
            args=args,
            declaration=declaration,
            handshake=not context.protocol_version.startswith("2026"),
            documents=self.sends_documents(declaration),
            nth=self.calls[params.name],
            again=self.calls[same],
        )

    async def handle(self, call: Call) -> mcp_types.CallToolResult:
        """Answer a call."""
        outcome = await self.run(call)
        return self.reply(replace(call, route=self.routes().get(call.tool)), outcome)

    def listing(self, *, declared: bool, handshake: bool) -> list[mcp_types.Tool]:
        """Return the list of tools."""
        return [self.listed(name, one, declared=declared, handshake=handshake) for name, one in self.routes().items()]

    def listed(self, name: str, route: Route, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        """Return a tool as the list has it."""
        return mcp_types.Tool(
            name=name,
            description=route.summary,
            input_schema=route.takes,
            output_schema=route.gives,
            annotations=mcp_types.ToolAnnotations(read_only_hint=route.reads),
            _meta=None if route.about is None else {f"{PREFIX}tool": route.about},
        )

    def page(self, cursor: str | None, tools: list[mcp_types.Tool]) -> mcp_types.ListToolsResult:
        """Return a page of the list."""
        return mcp_types.ListToolsResult(tools=tools)

    def server(self) -> Server[Any]:
        """Return the server object of the MCP SDK."""

        async def list_tools(context: Any, params: Any) -> mcp_types.ListToolsResult:
            self.lists += 1
            handshake = not context.protocol_version.startswith("2026")
            tools = self.listing(declared=bool(self.declaration(context)), handshake=handshake)
            return self.page(getattr(params, "cursor", None), tools)

        async def call_tool(context: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
            return await self.handle(self.incoming(context, params))

        server = _Announcing(self.title, on_list_tools=list_tools, on_call_tool=call_tool)
        server.said = lambda handshake: self.announcement(handshake=handshake)
        return server


class NegotiatedAirport(Airport):
    """The airport with the wire `negotiated`."""

    wire = "negotiated"


class PlainAirport(Airport):
    """The airport with the wire `plain`."""

    wire = "plain"


def scrubbed(value: Any) -> Any:
    """Return a value without the unpaired surrogates that the validator cannot hold."""
    if isinstance(value, str):
        return SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {scrubbed(name): scrubbed(item) for name, item in value.items()}
    return [scrubbed(item) for item in value] if isinstance(value, list) else value


def block(text: str) -> mcp_types.TextContent:
    """Return a block for everyone."""
    return mcp_types.TextContent(type="text", text=text)


def for_the_person(text: str) -> mcp_types.TextContent:
    """Return a block for the person alone."""
    return mcp_types.TextContent(type="text", text=text, annotations=mcp_types.Annotations(audience=["user"]))
