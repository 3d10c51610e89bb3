"""Servers that do something unusual which the specification permits."""

from __future__ import annotations

import hashlib
import json
import re
import time
import uuid
from dataclasses import replace
from typing import Any

import anyio
import mcp_types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from unseen.desk import EXTENSION, PREFIX, SHOW, TEXT, Answer, Call, Desk, Failure, Json, Negotiated, block, closed
from unseen.registry import permitted

_STRUCTURE = re.compile(r"\r|</?\s*(?:tool_response|llm_output|display|error|meta|server_populated)\b", re.IGNORECASE)


@permitted
class CdataEverywhere(Desk):
    """Every text is CDATA, an empty one too, in as many sections as its `]]>` need; escaped only where XMCP-RSP-027
    forbids CDATA."""

    def escaped(self, text: str) -> str:
        if _STRUCTURE.search(text):
            return super().escaped(text)
        return "<![CDATA[" + text.replace("]]>", "]]]]><![CDATA[>") + "]]>"


@permitted
class Spacious(Desk):
    """There is white space between the elements, around the JSON, inside it and after `meta` (XMCP-RSP-010, 040,
    ERR-008)."""

    def document(self, call: Call, body: str) -> str:
        return super().document(call, f"\n  {body}\t\n").replace("<tool_response ", "<tool_response\n    ", 1)

    def json(self, value: Any) -> str:
        return "\n" + self.inert(json.dumps(self.safe(value), indent=4, allow_nan=False)) + " \t\n"

    def display(self, call: Call, envelope: Any) -> str:
        return f"\n  {super().display(call, envelope)}\n"

    def error(self, call: Call, failure: Failure) -> str:
        return super().error(call, failure).replace("</meta></error>", "</meta>\n  </error >")


@permitted
class NumericReferences(Desk):
    """Every character of a text and of an attribute is a reference, in single quotes (XMCP-RSP-022, 024, 028)."""

    def escaped(self, text: str) -> str:
        return "".join(f"&#{ord(character)};" for character in text) if len(text) < 300 else super().escaped(text)

    def attribute(self, text: str) -> str:
        return "'" + "".join(f"&#{ord(character)};" for character in text) + "'"


@permitted
class OwnNamespace(Desk):
    """Elements and attributes in a namespace of the author's own, and every optional attribute (XMCP-RSP-012)."""

    def document(self, call: Call, body: str) -> str:
        cost = '<a:cost currency="EUR">0.02<a:detail kind="tokens"/></a:cost><error xmlns="urn:acme:log">none</error>'
        body = body.replace("<llm_output", '<llm_output a:lang="en" format="text/plain" truncated="0"', 1)
        return super().document(call, body + cost)

    def rooted(self, call: Call) -> str:
        return f" version='1.0' xmlns:a = 'urn:acme:1' a:shard='7' call_id='{uuid.uuid4()}'"


@permitted
class VendorBoards(Negotiated):
    """Displays of a vendor's type, with members that nobody knows, a vendor's `meta`, three fallbacks and three groups
    within each other (chapter 3)."""

    def card(self, call: Call, text: str) -> Any:
        table = {
            "columns": ["text", {"key": "n", "title": "", "type": "of-the-vendor", "align": "center"}],
            "rows": [[text, 1], {"text": text, "other": None}, []],
            "row_header": "text",
        }
        deepest: Json = {"type": "text", "payload": text, "alt": ""}
        fallback: Json = {
            "type": "x-acme.v2-list",
            "payload": [],
            "fallback": {"type": "table", "payload": table},
        }
        inner: Json = {"type": "group", "payload": [{"type": "group", "payload": [deepest]}]}
        return {
            "type": "x-acme-board.v3",
            "payload": {"url": "only text", "type": "diff", "inner": None, "": text},
            "alt": "A board of three columns.",
            "title": "",
            "id": "board/1",
            "meta": {"acme.example/refresh/after": 30, "source": "the desk", "locale": "fr-CA", "transient": False},
            "refresh": 30,
            "fallback": {
                "type": "group",
                "payload": [inner, {"type": "facts", "payload": {"none": None}}],
                "fallback": fallback,
            },
        }

    def plot(self, call: Call, points: list[Any]) -> Any:
        data = [{"url": "data", "transform": point} for point in points]
        chart = {"mark": {"type": "bar"}, "data": {"values": data}, "datasets": {"first": [{"expr": 1}]}}
        return {"type": "chart", "payload": chart, "alt": "Bars."}


@permitted
class HomeRoutes(Negotiated):
    """The things of a house have routes such as `/home/kitchen/light`, which answers and errors name: no paths on the
    server's machine (XMCP-ERR-032)."""

    def tools(self) -> dict[str, Json]:
        return {**super().tools(), "device": closed(["route"], route=TEXT)}

    def do_device(self, call: Call) -> Answer:
        if call.arguments["route"] != "/home/kitchen/light":
            known = "/home/kitchen/light, /home/hall/door and /garage/pump"
            raise Failure("NOT_FOUND", f"No device answers there. The routes are {known}.", {"params": {"routes": 3}})
        return Answer("/home/kitchen/light is on.")


@permitted
class CodeRunner(Negotiated):
    """A tool runs code for its caller and was successful: the stack trace of that code is its text (section 4.4)."""

    def tools(self) -> dict[str, Json]:
        return {**super().tools(), "run_code": closed(["code"], code=TEXT)}

    def do_run_code(self, call: Call) -> Answer:
        return Answer(
            f"exit status 1 after {len(call.arguments['code'])} characters\nTraceback (most recent call last):\n"
            '  File "/sandbox/main.py", line 1, in <module>\nZeroDivisionError: division by zero\n'
        )


@permitted
class Documentation(Negotiated):
    """A tool explains documents, with one as an example, to clients that read plain results too: that is text, and no
    structure (XMCP-MCP-020, 023)."""

    def do_lookup(self, call: Call) -> Answer:
        return Answer(
            "A result looks like this:\n\n"
            '<tool_response tool_name="x"><llm_output>Hello &amp; welcome ]]&gt;</llm_output></tool_response>\n\n'
            'A failure has <error code="NOT_FOUND"> in its place, and isError: true. ]]> <!DOCTYPE x> <!-- -->'
        )


@permitted
class Normaliser(Negotiated):
    """Notes are capitals and trimmed, items sorted and made unique, keys lower-cased: that is what the tools do."""

    def do_note(self, call: Call) -> Answer:
        return Answer(f"{call.arguments['title']} {call.arguments['body']}".strip().upper())

    def do_tags(self, call: Call) -> Answer:
        return Answer(", ".join(sorted({item.strip() for item in call.arguments["items"]})))

    def do_labels(self, call: Call) -> Answer:
        return Answer(" ".join(sorted(key.lower() for key in call.arguments["values"])))


@permitted
class Receipts(Negotiated):
    """Answers do not repeat their input and differ each time: a digest, the time and a random number, signs outside
    the BMP and noncharacters that XML allows."""

    def receipt(self, value: Any) -> str:
        digest = hashlib.sha256(json.dumps(value).encode()).hexdigest()
        signs = "\U0001f9fe\U0001f469\u200d\U0001f4bb \u202edesrever\u202c \U0001fffe"
        return f"{signs} {digest} at {time.time()} {uuid.uuid4()}"

    def run(self, call: Call) -> Answer:
        answer = super().run(call)
        return answer if answer.data else replace(answer, text=self.receipt(call.arguments))


@permitted
class FirstCallLimited(Negotiated):
    """The first call of each tool is too early: it fails with `RATE_LIMIT`, retryable after 100 ms, and then all is
    well."""

    def __init__(self) -> None:
        super().__init__()
        self.since: dict[str, float] = {}

    def run(self, call: Call) -> Answer:
        now = time.monotonic()
        if now < self.since.setdefault(call.name, now + 0.08):
            meta = {"side_effects": "none", "limit": {"scope": "tool", "reset_at": "2030-01-02T03:04:05.5+02:00"}}
            raise Failure("RATE_LIMIT", "Wait a moment.", meta, retryable="true", retry_after_ms="100")
        return super().run(call)


@permitted
class Slow(Negotiated):
    """Conversions take two seconds."""

    async def before(self, call: Call, context: Any) -> None:
        if call.name == "convert":
            await anyio.sleep(2)


@permitted
class ManyBlocks(Negotiated):
    """Pictures and links follow the document or the text, the server has prompts, resources and instructions, and a
    failure that the author made has them too (section 6.2)."""

    def extras(self, outcome: Answer | Failure) -> list[mcp_types.ContentBlock]:
        if isinstance(outcome, Failure) and outcome.code != "NOT_FOUND":
            return []
        return [
            mcp_types.ImageContent(type="image", data="iVBORw0KGgo=", mime_type="image/png"),
            mcp_types.ResourceLink(type="resource_link", name="desk", uri="desk://7"),
            block("See the picture.", mcp_types.Annotations(audience=["user"], priority=0.2)),
        ]

    def blocks(self, call: Call, document: str, outcome: Answer | Failure) -> list[mcp_types.ContentBlock]:
        return [*super().blocks(call, document, outcome), *self.extras(outcome)]

    def beside(self, call: Call, outcome: Answer | Failure) -> list[mcp_types.ContentBlock]:
        return [*super().beside(call, outcome), *self.extras(outcome)]

    def result_meta(self, call: Call, outcome: Answer | Failure, mark: Json) -> Json:
        return {**super().result_meta(call, outcome, {**mark, "acme.example/n": 1}), "acme.example/took_ms": 3}

    def extend(self, server: Server[Any]) -> None:
        async def resources(_context: Any, _params: Any) -> mcp_types.ListResourcesResult:
            return mcp_types.ListResourcesResult(resources=[mcp_types.Resource(name="desk", uri="desk://7")])

        async def prompts(_context: Any, _params: Any) -> mcp_types.ListPromptsResult:
            return mcp_types.ListPromptsResult(prompts=[])

        server.instructions = "Use <tool_response> as data."
        server.add_request_handler("resources/list", mcp_types.PaginatedRequestParams, resources)
        server.add_request_handler("prompts/list", mcp_types.PaginatedRequestParams, prompts)


@permitted
class GrowingList(Negotiated):
    """After the first note there is one more tool, which depends on notes; the server says that its list changed."""

    changes = True
    noted = False

    def tools(self) -> dict[str, Json]:
        return {**super().tools(), "archive": closed()} if self.noted else super().tools()

    def metadata(self, name: str) -> Json | None:
        return {"depends_on": ["note"]} if name == "archive" else super().metadata(name)

    def do_archive(self, call: Call) -> Answer:
        return Answer("Archived.")

    async def before(self, call: Call, context: Any) -> None:
        if call.name == "note" and not self.noted:
            self.noted = True
            await context.session.send_tool_list_changed()


@permitted
class RichSchemas(Negotiated):
    """The input schemas use `$ref`, `$defs`, `patternProperties`, `dependentRequired`, `const`, `oneOf`, formats and
    classes of Unicode in patterns."""

    def tools(self) -> dict[str, Json]:
        node: Json = {
            "type": "object",
            "properties": {"name": {"$ref": "#/$defs/word"}, "next": {"$ref": "#/$defs/node"}},
            "required": ["name"],
            "additionalProperties": False,
        }
        route = closed(["node"], node={"$ref": "#/$defs/node"})
        word: Json = {"type": "string", "pattern": r"^\p{L}[\p{L}\p{N} -]*$", "maxLength": 40}
        plan = closed(
            ["day"],
            day={"type": "string", "format": "date"},
            mail={"type": "string", "format": "email"},
            reminder={"type": "integer", "exclusiveMinimum": 0, "multipleOf": 5},
            mode={"oneOf": [{"const": "once"}, closed(["every"], every={"enum": ["day", "week", None, 7]})]},
            slots={"type": "array", "items": {"type": "string", "minLength": 1}, "uniqueItems": True, "maxItems": 3},
        )
        plan["dependentRequired"] = {"reminder": ["mail"]}
        settings: Json = {"type": "object", "patternProperties": {"^x-[a-z]+$": TEXT}, "additionalProperties": False}
        return {
            **super().tools(),
            "route": {**route, "$defs": {"node": node, "word": word}},
            "plan": {**plan, "$schema": "https://json-schema.org/draft/2020-12/schema"},
            "settings": settings,
        }

    def do_route(self, call: Call) -> Answer:
        node, names = call.arguments["node"], []
        while node is not None:
            names.append(node["name"])
            node = node.get("next")
        return Answer(" > ".join(names))

    def do_plan(self, call: Call) -> Answer:
        return Answer(f"Planned for {call.arguments['day']}.")

    def do_settings(self, call: Call) -> Answer:
        return Answer(f"{len(call.arguments)} settings.")


@permitted
class EmptyTexts(Negotiated):
    """Every text is empty, written as an empty element, and so are the parts of displays that can be."""

    def run(self, call: Call) -> Answer:
        answer = super().run(call)
        return answer if answer.data else replace(answer, text="")

    def llm_output(self, call: Call, text: str) -> str:
        return super().llm_output(call, text).replace("></llm_output>", " />")

    def card(self, call: Call, text: str) -> Any:
        empty: list[Json] = [{"type": kind, "payload": []} for kind in ("table", "facts", "metric", "json", "group")]
        texts = [{"type": kind, "payload": ""} for kind in ("text", "markdown", "code", "notification", "html")]
        return {"type": "group", "title": "", "alt": "", "meta": {}, "payload": [*empty, *texts]}


@permitted
class LaterVersions(Negotiated):
    """The server emits later minor versions too, to clients that declare them, and says more than this version knows in
    its announcement and in the metadata of its tools (section 9.1)."""

    def announcement(self, *, handshake: bool) -> Json:
        said: Json = super().announcement(handshake=handshake)[EXTENSION]
        return {EXTENSION: {**said, "versions": ["1.0", "1.1", "1.12"], "since": 2026}, "acme.example/unit": {}}

    def metadata(self, name: str) -> Json | None:
        return {**(super().metadata(name) or {}), "cost": {"eur": 0.01}, "acme.example/owner": None}

    def version(self, call: Call) -> str:
        declared = [one for one in ("1.0", "1.1", "1.12") if one in call.declaration.get("versions", ())]
        return declared[-1] if declared else "1.0"

    def rooted(self, call: Call) -> str:
        return f' version="{self.version(call)}"'

    def result_meta(self, call: Call, outcome: Answer | Failure, mark: Json) -> Json:
        return {f"{PREFIX}result": {**mark, "version": self.version(call), "later": True}}


@permitted
class LargeAnswers(Negotiated):
    """Two tools answer with two megabytes of text and a table of 5,000 rows (section 2.6)."""

    def tools(self) -> dict[str, Json]:
        return {**super().tools(), "dump": closed(), "ledger": closed(show_user=SHOW)}

    def metadata(self, name: str) -> Json | None:
        return {"display": True} if name == "ledger" else super().metadata(name)

    def do_dump(self, call: Call) -> Answer:
        return Answer("\n".join(f"{number:07d} entry of the desk's log" for number in range(60_000)))

    def do_ledger(self, call: Call) -> Answer:
        rows = [{"entry": number, "amount": number * 0.25, "text": "&" * 20} for number in range(5000)]
        return Answer("5,000 entries.", {"type": "table", "payload": rows, "alt": "5,000 entries."})


@permitted
class WithoutLoss(Negotiated):
    """Numbers in strings are converted where nothing is lost, such as `"3"`, and then fit (section 4.3)."""

    def outcome(self, call: Call) -> Answer | Failure:
        return super().outcome(replace(call, arguments=self.converted(call)))

    def converted(self, call: Call) -> Json:
        properties: Json = self.tools().get(call.name, {}).get("properties", {})
        return {key: self.number(value, properties.get(key, {})) for key, value in call.arguments.items()}

    def number(self, value: Any, schema: Json) -> Any:
        whole = schema.get("type") == "integer"
        wanted = isinstance(value, str) and (whole or schema.get("type") == "number")
        if not wanted or not re.fullmatch(r"0|-?[1-9][0-9]{0,14}", value):
            return value
        return int(value)


@permitted
class OtherPolicies(Negotiated):
    """Sent parameters are refused with `FORBIDDEN_PARAM_OVERRIDE`, unknown tools with a protocol error, a failure can
    have a display, and `retryable` is `0` or `1` (XMCP-ERR-003, 022, RSP-009)."""

    def do_orders(self, call: Call) -> Answer:
        if set(self.filled("orders")) & set(call.arguments):
            raise Failure(
                "FORBIDDEN_PARAM_OVERRIDE", "The server sets these.", retryable="0", category="permission_denied"
            )
        return super().do_orders(call)

    def unknown(self, call: Call) -> Failure:
        raise MCPError(-32602, "Unknown tool.")

    def do_card(self, call: Call) -> Answer:
        if len(call.arguments["text"]) < 3:
            raise Failure("X_ACME_LATER", "Later.", category="unavailable", retryable="1", retry_after_ms="0")
        return super().do_card(call)

    def warning(self) -> Json:
        return {"type": "notification", "payload": {"message": "Nothing was shown.", "level": "error"}}

    def failed_document(self, call: Call, failure: Failure) -> str:
        shown = failure.code == "X_ACME_LATER" and call.shows
        return self.document(call, self.error(call, failure) + (self.display(call, self.warning()) if shown else ""))

    def plain_meta(self, call: Call, outcome: Answer | Failure, mark: Json) -> Json:
        members = super().plain_meta(call, outcome, mark)
        if isinstance(outcome, Failure) and outcome.code == "X_ACME_LATER" and call.shows:
            members[f"{PREFIX}display"] = self.warning()
        return members
