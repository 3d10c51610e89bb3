"""Servers that look unusual and keep every sentence."""

from __future__ import annotations

import base64
import json
import random
import re
import time
from dataclasses import replace
from typing import Any

import anyio
import mcp_types
from mcp.shared.exceptions import MCPError

from unseen_second.clinic import (
    EXTENSION,
    Bad,
    Clinic,
    Good,
    Json,
    NegotiatedClinic,
    Outcome,
    Tool,
    Visit,
    for_the_person,
    strict,
)
from unseen_second.registry import permitted

_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_TAG = re.compile(r"<\s*/?\s*(tool_response|llm_output|display|error|meta|server_populated)", re.IGNORECASE)


def picture() -> mcp_types.ImageContent:
    """Return a block with a picture of one pixel."""
    return mcp_types.ImageContent(type="image", data=_PIXEL, mime_type="image/png")


@permitted
class EverythingInCdata(Clinic):
    """Texts and messages are CDATA sections, several in a row where one would end too early, unless a tag or a carriage
    return forbids it."""

    def escaped(self, text: str) -> str:
        if not text or "\r" in text or _TAG.search(text):
            return super().escaped(text)
        return f"<![CDATA[{text.replace(']]>', ']]]]><![CDATA[>')}]]>"


@permitted
class ApostrophesAroundAttributes(NegotiatedClinic):
    """Attributes are in reverse order, in apostrophes, on lines of their own, and the tags end with white space."""

    def attributes(self, values: Any) -> str:
        written = (f"\n  {name} = '{self.reference(value)}'" for name, value in reversed(list(values.items())))
        return "".join(written) + "\n"

    def reference(self, value: str) -> str:
        """Return a text with a reference for whatever is not a letter, a digit or an underscore of ASCII."""
        return re.sub("[^A-Za-z0-9_]", lambda found: f"&#x{ord(found[0]):X};", value)


@permitted
class NothingButAscii(Clinic):
    """Each character beyond ASCII is a numeric reference, and the five of XML are numeric too; a carriage return is
    written as the text wants it."""

    def escaped(self, text: str) -> str:
        return re.sub("[^\t\n -%'-;=?-~]", lambda found: f"&#{ord(found[0])};", text)

    def json_text(self, visit: Visit, value: Any) -> str:
        text = json.dumps(value, ensure_ascii=True, allow_nan=False)
        return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").replace("/", "\\/")


@permitted
class NamespacesOfItsOwn(Clinic):
    """Each element has attributes in a namespace of the clinic, and elements in two more stand at the end, one of them
    named `display`."""

    def attributes(self, values: Any) -> str:
        return super().attributes(values) + ' xmlns:c="https://clinic.example/ns" c:lossy="no" c:version="Rev. 7"'

    def parts(self, visit: Visit, outcome: Outcome) -> list[str]:
        trace = f'<t:trace xmlns:t="urn:trace"><t:span t:n="{visit.nth}"/>a &lt;b&gt;</t:trace>'
        return [*super().parts(visit, outcome), trace, '<display xmlns="urn:screens">main</display>']


@permitted
class RoomToBreathe(Clinic):
    """The parts stand on lines of their own, and JSON is indented with tabs, with white space around it."""

    def parts(self, visit: Visit, outcome: Outcome) -> list[str]:
        parts = [f"\n\n\t  {part}" for part in super().parts(visit, outcome)]
        return [*parts, "\n \n"]

    def json_text(self, visit: Visit, value: Any) -> str:
        compact = json.loads(super().json_text(visit, value))
        text = json.dumps(compact, indent="\t", ensure_ascii=True)
        return "\n \t" + text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026") + "\n"


@permitted
class ErrorsWithADisplay(Clinic):
    """A call that asked for a display and failed comes with one that tells the person what happened."""

    def parts(self, visit: Visit, outcome: Outcome) -> list[str]:
        parts = super().parts(visit, outcome)
        tool = self.tools().get(visit.tool)
        shows = visit.shown and tool is not None and bool((tool.about or {}).get("display"))
        if not isinstance(outcome, Bad) or not shows or "maxBytes" in visit.declaration:
            return parts
        show = {"type": "text", "title": "That did not work", "payload": "Please ask the front desk."}
        return [*parts, self.json_part(visit, "display", self.adapted(visit, show))]


@permitted
class UnknownToolsAreProtocolErrors(NegotiatedClinic):
    """The call of a tool that does not exist is answered by a protocol error, as other servers do it."""

    def unknown(self, visit: Visit) -> Bad:
        raise MCPError(-32602, f"Unknown tool: {self.legal(visit.tool[:64])}")


@permitted
class RefusesForgedParameters(NegotiatedClinic):
    """The policy for parameters that the server fills in is to refuse calls that have them, once the rest fits."""

    def work_my_shifts(self, visit: Visit) -> Good:
        if visit.forged:
            meta: Json = {"params": {"names": sorted(visit.forged)}, "side_effects": "none", "recovery": "fix_input"}
            raise Bad("FORBIDDEN_PARAM_OVERRIDE", "These are not yours to set.", meta, category="permission_denied")
        return super().work_my_shifts(visit)


@permitted
class EveryFourthQuoteWaits(Clinic):
    """The supplier answers three questions, and wants a moment before the next; arguments are checked before that."""

    def work_quote_drug(self, visit: Visit) -> Good:
        if visit.nth % 4 == 0:
            limit = {"scope": "clinic", "dimension": "requests", "max": 3, "reset_at": "2026-03-01T00:00:00+01:00"}
            raise Bad(
                "RATE_LIMIT",
                "One moment, please.",
                {"limit": limit, "side_effects": "none"},
                retryable="1",
                retry_after_ms="0025",
                category="rate_limited",
            )
        return super().work_quote_drug(visit)


@permitted
class NeverTheSameTwice(NegotiatedClinic):
    """Texts end with a clock and a random number, lists have a random order, also the list of tools, and no two calls
    take the same time."""

    def work(self, visit: Visit) -> Good:
        good = super().work(visit)
        if good.media or visit.tool == "handout":
            return good
        return replace(good, text=f"{good.text}\n[{time.time_ns()}, {random.random()}]")

    def work_find_patients(self, visit: Visit) -> Good:
        found = super().work_find_patients(visit).text.split("\n")
        random.shuffle(found)
        return Good("\n".join(found), data={"result": found})

    def listing(self, *, declared: bool, handshake: bool) -> list[mcp_types.Tool]:
        tools = super().listing(declared=declared, handshake=handshake)
        random.shuffle(tools)
        return tools

    async def handle(self, visit: Visit) -> mcp_types.CallToolResult:
        await anyio.sleep(random.uniform(0, 0.03))
        return await super().handle(visit)


@permitted
class NumbersAsText(Clinic):
    """Models write numbers in quotation marks; what can be converted without loss fits."""

    def set_aside(self, visit: Visit, tool: Tool) -> Visit:
        left = super().set_aside(visit, tool)
        for name, schema in tool.takes["properties"].items():
            value = left.args.get(name)
            wanted = schema.get("type") in ("integer", "number")
            if wanted and isinstance(value, str) and re.fullmatch("-?(0|[1-9][0-9]{0,8})", value):
                left.args[name] = int(value)
        return left


@permitted
class AToolThatNeverWorks(Clinic):
    """One tool was switched off and says so at length, with everything that an error can say."""

    def tools(self) -> dict[str, Tool]:
        return {**super().tools(), "export_register": Tool("Export the register (switched off).", {"type": "object"})}

    def work_export_register(self, visit: Visit) -> Good:
        raise Bad(
            "X_CLINIC_SWITCHED_OFF_IN_2024",
            "The export was switched off.\n\nSee the page about it: it has moved.",
            {
                "error_id": "é" * 128,
                "params": {"year": 2024, "nested": {"deep": [None, True, 1.5]}},
                "side_effects": "none",
                "recovery": "give_up",
                "localized": [
                    {"locale": "ja", "message": "エクスポートは停止しました。"},
                    {"locale": "fr", "message": "Arrêté."},
                ],
                "help": [{"url": "http://clinic.example/export?why=1&now", "title": "<Why>"}],
                "cause": {"code": "NOT_IMPLEMENTED", "clinic": 7},
                "upstream_status": 599,
                "clinic.example/ticket/id": None,
            },
            category="retired",
            retryable="0",
        )


@permitted
class NamesWithDotsAndDashes(NegotiatedClinic):
    """The tools have the names of a larger system, with dots and dashes, and one is as long as a name can be."""

    def names(self) -> dict[str, str]:
        """Return the names in the clinic by those in the larger system."""
        short = super().tools()
        return {f"clinic.v2.{name}-{'x' * (117 - len(name)) if name == 'dose' else 'EU'}": name for name in short}

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        tools["remind"] = replace(tools["remind"], about={"depends_on": ["clinic.v2.find_patients-EU"]})
        return {name: tools[short] for name, short in self.names().items()}

    def work(self, visit: Visit) -> Good:
        return super().work(replace(visit, tool=self.names()[visit.tool]))


@permitted
class RoutesAreNoPaths(Clinic):
    """The message about an unknown drug quotes the address of the supplier's interface, and a fraction."""

    def no_such_drug(self, visit: Visit, drug: str) -> Bad:
        message = "GET /v2/drugs/{name} at the supplier said 404 and/or nothing; 1/2 of such names are misspelt."
        help_at = [{"url": "https://supplier.example/usr/share/names.html"}]
        return Bad("NOT_FOUND", message, {"params": {"drug": drug}, "help": help_at, "upstream_status": 404})


@permitted
class SchemasOfALawyer(Clinic):
    """The input schemas use references, `allOf`, `not`, tuples and conditions, and one says nothing."""

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        weight = {"properties": {"weight_kg": {"type": "number", "exclusiveMinimum": 0, "not": {"minimum": 121}}}}
        drug: Json = {"properties": {"drug": {"$ref": "#/$defs/Name"}}, "required": ["drug"]}
        dose = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "allOf": [{**weight, "required": ["weight_kg"]}, {"$ref": "#/$defs/Drug"}],
            "properties": {"per_day": {"enum": [1, 2, 3, None]}},
            "if": {"properties": {"per_day": {"const": 3}}, "required": ["per_day"]},
            "then": {"properties": {"weight_kg": {"minimum": 1}}},
            "$defs": {"Drug": drug, "Name": {"anyOf": [{"const": "amoxicillin"}, {"const": "meloxicam"}]}},
        }
        pair = {"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}], "items": False, "minItems": 2}
        return {
            **tools,
            "dose": replace(tools["dose"], takes=dose),
            "compare": Tool("Compare two weights.", strict("pair", pair=pair)),
            "anything": Tool(
                "Take anything at all.", {"type": "object", "additionalProperties": True, "properties": {}}
            ),
        }

    def work_dose(self, visit: Visit) -> Good:
        times = visit.args.get("per_day") or 1
        return super().work_dose(replace(visit, args={**visit.args, "per_day": times}))

    def work_compare(self, visit: Visit) -> Good:
        first, second = visit.args["pair"]
        return Good("heavier" if first > second else "not heavier")

    def work_anything(self, visit: Visit) -> Good:
        return Good(f"{len(visit.args)} arguments came.")


@permitted
class MembersUpsideDown(Clinic):
    """JSON has its members in reverse order and its letters as escapes, and displays have members that nobody knows."""

    def json_text(self, visit: Visit, value: Any) -> str:
        ordered = json.dumps(self.reversed(value), separators=(" ,", ": "), allow_nan=False)
        text = ordered.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
        return text.replace("e", "\\u0065") if not re.search(r"\\|\de|true|false|null", text) else text

    def reversed(self, value: Any) -> Any:
        """Return a value with the members of its objects in reverse order."""
        if isinstance(value, list):
            return [self.reversed(item) for item in value]
        if isinstance(value, dict):
            return {name: self.reversed(item) for name, item in reversed(value.items())}
        return value

    def adapted(self, visit: Visit, show: Any) -> Any:
        return {**super().adapted(visit, show), "Theme": None, "": [], "x": {"type": 7}}


@permitted
class SaysMoreThanAsked(Clinic):
    """Whatever can have members that nobody knows has some, descriptions are as long as books, and blocks with pictures
    and for the person follow each document."""

    def announcement(self, *, handshake: bool) -> Json:
        entry = {"versions": ["1.0"], "wire": self.wire, "since": 2026, "contact": {"name": "front desk"}}
        return {EXTENSION: entry, "example.clinic/other": {}}

    def listed(self, name: str, tool: Tool, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        about = {**(tool.about or {}), "rooms": [1, 2], "xml_formatter": "Clinic <2>", "clinic": None}
        long = replace(tool, description=f"{tool.description} {'Ask before you call. ' * 1000}", about=about)
        return super().listed(name, long, declared=declared, handshake=handshake)

    def marked(self, visit: Visit, outcome: Outcome, mark: Json) -> Json:
        more = {**mark, "took_ms": 3, "host": None}
        return {**super().marked(visit, outcome, more), "clinic.example/trace": "7f"}

    def blocks(self, visit: Visit, outcome: Outcome, document: str) -> list[mcp_types.ContentBlock]:
        blocks = super().blocks(visit, outcome, document)
        thanks = for_the_person("Thank you for your visit! The café is open until 18:00 today.")
        return blocks if isinstance(outcome, Bad) else [*blocks, picture(), thanks]


@permitted
class OneBlockForEachLine(NegotiatedClinic):
    """The text of a plain result is a block for each line, some for both audiences, with pictures between them; an
    error has its code after its message."""

    def for_the_model(self, visit: Visit, text: str) -> list[mcp_types.ContentBlock]:
        pictures = [] if text.startswith("Sorry!") else [picture()]
        blocks: list[mcp_types.ContentBlock] = [*pictures]
        for number, line in enumerate(text.split("\n")):
            both = mcp_types.Annotations(audience=["user", "assistant"], priority=0.5)
            model = mcp_types.Annotations(audience=["assistant"])
            said = (both, model, None)[number % 3]
            blocks += [mcp_types.TextContent(type="text", text=line, annotations=said), *pictures]
        return blocks

    def plain_text(self, visit: Visit, outcome: Outcome) -> str:
        if isinstance(outcome, Good):
            return outcome.text
        return f"Sorry! {outcome.message} ({outcome.code}, {len(outcome.message)} characters)"


@permitted
class UpToTheBorders(Clinic):
    """Displays go as far as they are allowed to: titles, texts, groups, fallbacks, names of types, pictures as data."""

    def show_photo(self, visit: Visit, src: str, caption: str | None) -> Any:
        data = f"data:image/png;base64,{base64.b64encode(base64.b64decode(_PIXEL)).decode()}"
        return {"type": "image", "title": "𝒂" * 200, "id": "i" * 128, "alt": "🐈" * 4000, "payload": data}

    def show_vitals(self, visit: Visit, layout: str, pulse: int, comment: str | None) -> Any:
        leaf = {"type": "metric", "payload": [{"label": "", "value": "", "delta": -0.5}]}
        fall: Json = {"type": "html", "payload": "<b>&amp;</b>"}
        for letter in "ab":
            fall = {"type": f"x-{letter * 60}.1", "payload": {}, "fallback": fall}
        group: Json = {"type": "group", "payload": [leaf] * 32}
        group = {"type": "group", "payload": [{"type": "group", "payload": [group]}]}
        table = {"type": "table", "payload": {"columns": [], "rows": [[], {}], "total_rows": 2**53 - 1}}
        return {
            "metric": leaf,
            "facts": {"type": "facts", "payload": [{"label": "", "value": None}, {"label": "", "value": False}]},
            "group": group,
            "vendor": {"type": "x-c.9", "payload": [], "fallback": fall},
            "notification": table,
        }[layout]


@permitted
class JustInTime(NegotiatedClinic):
    """Calls run one after the other, in an order that is drawn, and a call that waits long is answered all the same."""

    def __init__(self) -> None:
        super().__init__()
        self.turn = anyio.Lock()

    async def handle(self, visit: Visit) -> mcp_types.CallToolResult:
        await anyio.sleep(random.uniform(0, 0.02))
        async with self.turn:
            return await super().handle(visit)
