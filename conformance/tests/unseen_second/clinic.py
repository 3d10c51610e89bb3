"""A right server of a clinic for animals, with tools of many shapes, from which the second set of servers is made.

It shares no code with the reference package, the suite, or the desk of the first set. A call goes through `outcome` and
`reply`; each step on the way is a method that knows the call, so that a server can go wrong in one place.
"""

from __future__ import annotations

import json
import math
import re
import sys
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import jsonschema_rs
import mcp_types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

Json = dict[str, Any]

PREFIX: str = json.loads((Path(__file__).parents[3] / "schemas" / "names.json").read_text())["prefix"]
EXTENSION = f"{PREFIX}tool-response"
LARGEST_INTEGER = 2**53 - 1
LARGEST_DOCUMENT = 8 * 1024 * 1024
NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SURROGATE = re.compile("[\ud800-\udfff]")
KNOWN = {
    "VALIDATION_FAIL": ("invalid_input", False),
    "INVALID_ARGUMENT": ("invalid_input", False),
    "MISSING_ARGUMENT": ("invalid_input", False),
    "NOT_FOUND": ("not_found", False),
    "UNKNOWN_TOOL": ("not_found", False),
    "CONFLICT": ("conflict", False),
    "FORBIDDEN_PARAM_OVERRIDE": ("permission_denied", False),
    "RATE_LIMIT": ("rate_limited", True),
    "UPSTREAM_UNAVAILABLE": ("unavailable", True),
    "NOT_IMPLEMENTED": ("unsupported", False),
    "RESULT_TOO_LARGE": ("too_large", False),
    "INTERNAL": ("internal", False),
    "TOOL_ERROR": ("internal", False),
}
"""The category of a code, and whether a retry helps."""

STRING: Json = {"type": "string"}
SHOW_USER: Json = {"type": "boolean", "default": False, "description": "Whether the person is shown a display."}


def strict(*needed: str, **properties: Json) -> Json:
    """Return the schema of an object with these properties and no others."""
    return {"type": "object", "properties": properties, "required": [*needed], "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class Tool:
    """What is said of a tool: what it takes, what it gives, and its metadata."""

    description: str
    takes: Json
    gives: Json | None = None
    about: Json | None = None
    reads: bool = True


@dataclass(frozen=True, slots=True)
class Visit:
    """A call of a tool, and what is known of the caller.

    `nth` counts the calls of the tool, `again` those with the same arguments; `forged` has the values that the caller
    sent for parameters which the server fills in.
    """

    tool: str
    args: Json
    declaration: Json = field(default_factory=dict)
    handshake: bool = False
    documents: bool = True
    nth: int = 1
    again: int = 1
    forged: Json = field(default_factory=dict)

    @property
    def declared(self) -> bool:
        """Return whether the client declared the extension."""
        return bool(self.declaration)

    @property
    def shown(self) -> bool:
        """Return whether the caller wants a display."""
        return self.args.get("show_user") is True


@dataclass(frozen=True, slots=True)
class Good:
    """What a tool that succeeded gives; `aside` is a text for the person alone."""

    text: str
    show: Any = None
    data: Json | None = None
    aside: str = ""
    filled: Json | None = None
    media: str = ""


class Bad(Exception):
    """What a tool that failed gives; `extra` has attributes beside those that the code decides."""

    def __init__(self, code: str, message: str, meta: Json | None = None, **extra: str) -> None:
        super().__init__(message)
        self.code, self.message, self.meta, self.extra = code, message, meta, extra


Outcome = Good | Bad


class _Announcing(Server[Any]):
    """The handshake era has no member `extensions`, so the announcement is under `experimental` there."""

    said: Callable[[bool], Json]

    def get_capabilities(self, *positional: Any, **named: Any) -> mcp_types.ServerCapabilities:
        handshake = named.get("protocol_version") is None
        place = "experimental" if handshake else "extensions"
        return super().get_capabilities(*positional, **named).model_copy(update={place: self.said(handshake)})


class Clinic:
    """A clinic for animals with the wire `always`."""

    wire = "always"
    title = "clinic"

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.lists = 0

    # -- what there is -------------------------------------------------------------------------------------------

    def tools(self) -> dict[str, Tool]:
        """Return the tools by their names."""
        owner = strict("name", name={**STRING, "minLength": 1}, email={**STRING, "format": "email"})
        owner["properties"]["phone"] = {"type": ["string", "null"], "pattern": "^[+][0-9]{6,15}$"}
        species = {"enum": ["dog", "cat", "rabbit", "bird"]}
        patient = strict(
            "name",
            "species",
            "owner",
            name={**STRING, "minLength": 1, "maxLength": 80},
            species=species,
            born={**STRING, "format": "date"},
            owner={"$ref": "#/$defs/Owner"},
            allergies={"type": "array", "items": STRING, "uniqueItems": True},
        )
        email = strict("kind", "address", kind={"const": "email"}, address={**STRING, "format": "email"})
        sms = strict("kind", "number", kind={"const": "sms"}, number={**STRING, "pattern": "^[+][0-9]{6,15}$"})
        day = {**STRING, "format": "date", "examples": ["2026-03-01"]}
        found = strict("result", result={"type": "array", "items": STRING})
        return {
            "register_patient": Tool(
                "Add an animal to the register.",
                {**strict("patient", patient=patient), "$defs": {"Owner": owner}},
                strict("id", id=STRING),
                reads=False,
            ),
            "find_patients": Tool(
                "Find animals by a part of their names.",
                strict(
                    "query",
                    query={**STRING, "minLength": 1, "maxLength": 200},
                    species=species,
                    limit={"type": "integer", "minimum": 1, "maximum": 100, "default": 3},
                    after={"type": ["string", "null"]},
                ),
                found,
                {"cacheable": True, "wrapped_in": "result"},
            ),
            "visit_note": Tool(
                "Read a note back, as it will be filed.",
                strict(
                    "patient_id",
                    "note",
                    patient_id={**STRING, "pattern": "^P-[0-9]{4}$", "examples": ["P-0042"]},
                    note={**STRING, "maxLength": 20000},
                    language={"enum": ["en", "fr", "ja"]},
                ),
            ),
            "dose": Tool(
                "Compute a dose.",
                strict(
                    "weight_kg",
                    "drug",
                    weight_kg={"type": "number", "minimum": 0.1, "maximum": 120},
                    drug={"enum": ["amoxicillin", "meloxicam", "insulin"]},
                    per_day={"type": "integer", "minimum": 1, "maximum": 6},
                ),
                strict("mg", mg={"type": "number"}),
            ),
            "quote_drug": Tool(
                "Ask the supplier for a price.",
                strict(
                    "drug",
                    "quantity",
                    drug={**STRING, "examples": ["amoxicillin", "meloxicam"]},
                    quantity={"type": "integer", "minimum": 0, "maximum": 1000},
                    urgency={"enum": ["routine", "today", "emergency"]},
                ),
            ),
            "dilution": Tool(
                "Compute how much of a solution is the substance.",
                strict(
                    "part",
                    "whole",
                    part={"type": "number", "minimum": 0, "maximum": 1000},
                    whole={"type": "number", "minimum": 0, "maximum": 1000},
                ),
            ),
            "price_list": Tool(
                "List the prices of a number of things.",
                strict(
                    "quantities",
                    quantities={"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}},
                    currency={"enum": ["EUR", "USD", "JPY"]},
                    show_user=SHOW_USER,
                ),
                about={"display": True},
            ),
            "weight_chart": Tool(
                "Say how an animal's weight went.",
                strict(
                    "weights",
                    weights={
                        "type": "array",
                        "items": {"type": "number", "minimum": 0, "maximum": 1000},
                        "maxItems": 200,
                    },
                    show_user=SHOW_USER,
                ),
                about={"display": True},
            ),
            "photo": Tool(
                "Show a picture of an animal.",
                strict(
                    "src",
                    src={
                        **STRING,
                        "pattern": "^https://[A-Za-z0-9./_-]+$",
                        "maxLength": 300,
                        "examples": ["https://pictures.example/rex.png"],
                    },
                    caption={"type": ["string", "null"]},
                    show_user=SHOW_USER,
                ),
                about={"display": True},
            ),
            "vitals": Tool(
                "Report the pulse of an animal.",
                strict(
                    "layout",
                    "pulse",
                    layout={"enum": ["metric", "facts", "group", "vendor", "notification"]},
                    pulse={"type": "integer", "minimum": 0, "maximum": 400},
                    comment=STRING,
                    show_user=SHOW_USER,
                ),
                about={"display": True},
            ),
            "handout": Tool(
                "Lay out a text for the owner.",
                strict(
                    "body",
                    body=STRING,
                    kind={"enum": ["text", "markdown", "html", "code", "json", "file"]},
                    show_user=SHOW_USER,
                ),
                about={"display": True, "provides": "body"},
            ),
            "my_shifts": Tool(
                "List the shifts of whoever asks.",
                strict(status={"enum": ["planned", "done", "cancelled"]}, day=day),
                about={"server_populated": ["staff_id", "ward", "session_token"]},
            ),
            "remind": Tool(
                "Preview a reminder for an owner.",
                strict(
                    "channel",
                    "at",
                    channel={"oneOf": [email, sms]},
                    at={**STRING, "format": "date-time", "examples": ["2026-03-01T09:00:00Z"]},
                    message={"type": ["string", "null"], "maxLength": 500},
                ),
                about={"depends_on": ["find_patients"]},
            ),
            "lab_queue": Tool(
                "Say how long the laboratory takes.",
                strict(
                    "tests",
                    tests={"type": "array", "items": STRING, "uniqueItems": True, "minItems": 1, "maxItems": 20},
                ),
                strict("tests", "minutes", tests={"type": "array", "items": STRING}, minutes={"type": "integer"}),
                {"cacheable": True},
            ),
        }

    # -- the work of the tools -----------------------------------------------------------------------------------

    def work(self, visit: Visit) -> Good:
        """Do what a tool does."""
        good: Good = getattr(self, f"work_{visit.tool}")(visit)
        return good

    def work_register_patient(self, visit: Visit) -> Good:
        patient = visit.args["patient"]
        number = f"P-{1000 + self.calls['register_patient']}"
        return Good(f"{patient['name']} of {patient['owner']['name']} is {number}.", data={"id": number})

    def work_find_patients(self, visit: Visit) -> Good:
        most = int(visit.args.get("limit", 3))
        of = f", {visit.args['species']}" if "species" in visit.args else ""
        found = [f"{visit.args['query']}{of} #{number + 1}" for number in range(min(most, 5))]
        return Good("\n".join(found), data={"result": found})

    def work_visit_note(self, visit: Visit) -> Good:
        aside = "Notes in Japanese are read by Dr. Sato only." if visit.args.get("language") == "ja" else ""
        return Good(f"{visit.args['patient_id']}\n{visit.args['note']}", aside=aside)

    def work_dose(self, visit: Visit) -> Good:
        if visit.args["drug"] == "insulin":
            raise Bad("X_CLINIC_PRESCRIPTION", "Insulin needs a prescription.", category="permission_denied")
        each = {"amoxicillin": 10, "meloxicam": 0.2}[visit.args["drug"]]
        milligrams = round(visit.args["weight_kg"] * each / int(visit.args.get("per_day", 1)), 3)
        return Good(f"{milligrams} mg of {visit.args['drug']} each time.", data={"mg": milligrams})

    def work_quote_drug(self, visit: Visit) -> Good:
        drug, quantity, urgency = visit.args["drug"], int(visit.args["quantity"]), visit.args.get("urgency")
        if urgency == "emergency":
            raise self.unavailable(visit)
        if drug not in {"amoxicillin", "meloxicam"}:
            raise self.no_such_drug(visit, drug)
        if urgency == "today" and quantity > 500:
            raise self.too_many(visit, quantity)
        return Good(f"{quantity} packs of {drug} cost {quantity * 4} euros.")

    def unavailable(self, visit: Visit) -> Bad:
        """Return the failure of an urgent order."""
        meta = {"upstream_status": 503, "side_effects": "none"}
        message = "The supplier does not answer urgent requests now."
        return Bad("UPSTREAM_UNAVAILABLE", message, meta, retryable="true", retry_after_ms="1500")

    def no_such_drug(self, visit: Visit, drug: str) -> Bad:
        """Return the failure of an order of an unknown drug."""
        return Bad("NOT_FOUND", f"The supplier does not have '{drug}'.", {"params": {"drug": drug}})

    def too_many(self, visit: Visit, quantity: int) -> Bad:
        """Return the failure of an order that is too large for one day."""
        limit = {"scope": "clinic", "dimension": "packs", "max": 500, "reset_at": "2026-03-02T00:00:00Z"}
        meta = {"limit": limit, "params": {"quantity": quantity}}
        return Bad("CONFLICT", "No more than 500 packs come today.", meta, category="conflict")

    def work_dilution(self, visit: Visit) -> Good:
        share = float(visit.args["part"]) / float(visit.args["whole"])
        if math.isinf(share):
            raise OverflowError
        return Good(f"{share:.4f}")

    def work_price_list(self, visit: Visit) -> Good:
        rows = [
            {"item": item, "quantity": int(count), "price": int(count) * 3}
            for item, count in visit.args["quantities"].items()
        ]
        currency = visit.args.get("currency", "EUR")
        text = "\n".join(f"{row['item']}: {row['quantity']} for {row['price']} {currency}" for row in rows)
        return Good(text or "Nothing was asked for.", self.show_price_list(visit, rows, currency))

    def show_price_list(self, visit: Visit, rows: list[Json], currency: str) -> Any:
        """Return the display of the prices."""
        columns = ["item", {"key": "quantity", "type": "number"}, {"key": "price", "title": f"Price ({currency})"}]
        return {
            "type": "table",
            "title": f"{len(rows)} prices",
            "alt": f"A table of {len(rows)} prices in {currency}, three for each unit.",
            "payload": {"columns": columns, "rows": rows, "total_rows": len(rows)},
            "meta": {"locale": "en", "source": "price book"},
        }

    def work_weight_chart(self, visit: Visit) -> Good:
        weights = visit.args["weights"]
        heaviest = f", at most {max(weights)} kg" if weights else ""
        return Good(f"{len(weights)} weights{heaviest}.", self.show_weight_chart(visit, weights))

    def show_weight_chart(self, visit: Visit, weights: list[Any]) -> Any:
        """Return the display of the weights."""
        values = [{"visit": number + 1, "kg": weight} for number, weight in enumerate(weights)]
        encoding = {"x": {"field": "visit", "type": "ordinal"}, "y": {"field": "kg", "type": "quantitative"}}
        return {
            "type": "chart",
            "id": "weights",
            "alt": f"A line through the weights of {len(weights)} visits.",
            "payload": {"mark": "line", "data": {"values": values}, "encoding": encoding},
        }

    def work_photo(self, visit: Visit) -> Good:
        caption = visit.args.get("caption")
        return Good(
            f"A picture: {caption}" if caption else "A picture.", self.show_photo(visit, visit.args["src"], caption)
        )

    def show_photo(self, visit: Visit, src: str, caption: str | None) -> Any:
        """Return the display of a picture."""
        payload = {"src": src, "alt": caption or "An animal, without a caption.", "width": 640, "height": 480}
        return {"type": "image", "title": (caption or "A picture")[:200], "payload": payload}

    def work_vitals(self, visit: Visit) -> Good:
        pulse, comment = int(visit.args["pulse"]), visit.args.get("comment")
        said = f" {comment}" if comment else ""
        return Good(f"The pulse is {pulse}.{said}", self.show_vitals(visit, visit.args["layout"], pulse, comment))

    def show_vitals(self, visit: Visit, layout: str, pulse: int, comment: str | None) -> Any:
        """Return the display of a pulse."""
        metric = {"type": "metric", "payload": {"label": "Pulse", "value": pulse, "unit": "1/min"}}
        facts = {"type": "facts", "payload": {"Pulse": pulse, "Comment": comment}}
        level = "warning" if pulse > 180 else "info"
        return {
            "metric": metric,
            "facts": {**facts, "title": "Vitals"},
            "group": {"type": "group", "title": "Vitals", "payload": [metric, facts]},
            "vendor": {
                "type": "x-clinic-vitals",
                "payload": {"pulse": pulse, "comment": comment},
                "alt": f"A dial that points at {pulse}.",
                "fallback": {**metric, "fallback": {"type": "text", "payload": f"Pulse {pulse}"}},
                "meta": {"clinic/dial": True},
            },
            "notification": {"type": "notification", "payload": {"message": f"Pulse {pulse}", "level": level}},
        }[layout]

    def work_handout(self, visit: Visit) -> Good:
        body = visit.args["body"]
        return Good(body, self.show_handout(visit, visit.args.get("kind", "text"), body))

    def show_handout(self, visit: Visit, kind: str, body: str) -> Any:
        """Return the display of a handout."""
        size = len(self.legal(body).encode())
        payload = {
            "code": {"code": body, "language": "text"},
            "json": {"lines": body.splitlines(), "length": len(body)},
            "file": {"uri": "https://clinic.example/handouts/1", "name": "handout.txt", "size": size},
        }.get(kind, body)
        return {"type": kind, "title": self.headline(visit, body), "payload": payload}

    def headline(self, visit: Visit, body: str) -> str:
        """Return the title of a handout."""
        return f"Handout: {body[:60]}"

    def work_my_shifts(self, visit: Visit) -> Good:
        status = visit.args.get("status", "planned")
        on = f" on {visit.args['day']}" if "day" in visit.args else ""
        return Good(f"2 shifts are {status}{on}.", filled=self.filled(visit))

    def filled(self, visit: Visit) -> Json:
        """Return what the server filled in."""
        said: Json = {"values": {"staff_id": "s-204", "ward": "Small animals, second floor"}}
        said["redacted"] = ["session_token"]
        return {**said, "overridden": sorted(visit.forged)} if visit.forged else said

    def work_remind(self, visit: Visit) -> Good:
        channel = visit.args["channel"]
        to = channel.get("address") or channel.get("number")
        return Good(f"{visit.args['at']} to {to}: {visit.args.get('message') or 'Your visit is due.'}")

    def work_lab_queue(self, visit: Visit) -> Good:
        data = {"tests": visit.args["tests"], "minutes": 20 * len(visit.args["tests"])}
        return Good(json.dumps(data, ensure_ascii=False), data=data, media="application/json")

    # -- from a call to its outcome ------------------------------------------------------------------------------

    async def handle(self, visit: Visit) -> mcp_types.CallToolResult:
        """Answer a call."""
        if visit.tool == "lab_queue":
            await anyio.sleep(0.15)
        return self.reply(visit, self.outcome(visit))

    def outcome(self, visit: Visit) -> Outcome:
        """Make a call, whatever comes of it."""
        try:
            tool = self.found(visit)
            visit = self.set_aside(visit, tool)
            self.inspect(visit, tool)
            return self.dressed(visit, self.work(visit))
        except Bad as bad:
            return bad
        except MCPError:
            raise
        except Exception as error:
            return self.unforeseen(visit, error)

    def found(self, visit: Visit) -> Tool:
        """Return the tool of a call.

        Raises:
            Bad: there is no such tool.
            MCPError: no tool can have that name.
        """
        tool = self.tools().get(visit.tool)
        if tool is not None:
            return tool
        if not 1 <= len(visit.tool) <= 128:
            raise MCPError(-32602, "The name of a tool has 1 to 128 characters.")
        raise self.unknown(visit)

    def unknown(self, visit: Visit) -> Bad:
        """Return the failure of a tool that does not exist."""
        return Bad("UNKNOWN_TOOL", "The clinic has no tool of that name.")

    def set_aside(self, visit: Visit, tool: Tool) -> Visit:
        """Take out what the caller is not to send, and a `show_user` that is not set."""
        about = tool.about or {}
        ours = about.get("server_populated", [])
        forged = {name: value for name, value in visit.args.items() if name in ours}
        args = {name: value for name, value in visit.args.items() if name not in ours}
        if about.get("display") and args.get("show_user", False) is None:
            del args["show_user"]
        return replace(visit, args=args, forged=forged)

    def inspect(self, visit: Visit, tool: Tool) -> None:
        """Refuse arguments that do not fit."""
        fields = self.misfits(visit, tool)
        if fields:
            raise self.refusal(visit, fields)

    def misfits(self, visit: Visit, tool: Tool) -> list[Json]:
        """Return an entry for each argument that does not fit."""
        validator = jsonschema_rs.validator_for(self.judged_by(tool), validate_formats=True)
        fields: list[Json] = []
        for fault in validator.iter_errors(scrubbed(visit.args)):
            kind: Any = fault.kind
            path = [str(step) for step in fault.instance_path]
            missing = getattr(kind, "property", None)
            paths = [[*path, str(name)] for name in getattr(kind, "unexpected", [])]
            if not paths:
                paths = [[*path, missing] if isinstance(missing, str) else path]
            reason = type(kind).__name__.rpartition("_")[2].lower()
            fields += [{"pointer": self.pointer(one), "reason": reason, "message": "does not fit"} for one in paths]
        return fields

    def judged_by(self, tool: Tool) -> Json:
        """Return the schema by which arguments are judged."""
        return tool.takes

    def pointer(self, path: list[str]) -> str:
        """Return a JSON Pointer."""
        return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in path)

    def refusal(self, visit: Visit, fields: list[Json]) -> Bad:
        """Return the failure of arguments that do not fit."""
        return Bad("VALIDATION_FAIL", "Some arguments do not fit.", {"fields": fields, "side_effects": "none"})

    def unforeseen(self, visit: Visit, error: Exception) -> Bad:
        """Log an exception that nobody foresaw, and return the failure."""
        number = uuid.uuid4().hex[:12]
        sys.stderr.write(f"{number} {type(error).__name__} in {visit.tool}\n")
        return Bad("INTERNAL", "Something went wrong in the clinic.", {"error_id": number})

    def dressed(self, visit: Visit, good: Good) -> Good:
        """Drop a display that nobody asked for, or say that it is there."""
        if not visit.shown or good.show is None:
            return replace(good, show=None)
        return replace(good, text=good.text + self.hint(visit, good), show=self.adapted(visit, good.show))

    def hint(self, visit: Visit, good: Good) -> str:
        """Return what a client that did not declare the extension is told."""
        return "" if visit.declared else "\n(There is a display, too; your application may not be able to show it.)"

    def adapted(self, visit: Visit, show: Any) -> Any:
        """Add fallbacks for a client that named the types which it shows."""
        known = visit.declaration.get("displayTypes")
        if known is None or not isinstance(show, dict):
            return show
        if show.get("type") == "group":
            show = {**show, "payload": [self.adapted(visit, one) for one in show["payload"]]}
        if show["type"] in known or "fallback" in show:
            return show
        return {**show, "fallback": {"type": "text", "payload": str(show.get("alt", f"A {show['type']}."))}}

    # -- documents -----------------------------------------------------------------------------------------------

    def legal(self, text: str) -> str:
        """Return a text without code points that XML does not allow."""
        return NO_XML.sub("\ufffd", text)

    def quoted(self, value: str) -> str:
        """Return the value of an attribute with its quotes."""
        for raw, reference in (("&", "amp"), ("<", "lt"), (">", "gt"), ('"', "quot"), ("\t", "#9"), ("\n", "#10")):
            value = value.replace(raw, f"&{reference};")
        return f'"{value}"'.replace("\r", "&#13;")

    def attributes(self, values: Mapping[str, str]) -> str:
        """Return attributes."""
        return "".join(f" {name}={self.quoted(value)}" for name, value in values.items())

    def escaped(self, text: str) -> str:
        """Return character data."""
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return text.replace("\r", "&#13;")

    def model_text(self, visit: Visit, good: Good) -> str:
        """Return the element `llm_output`."""
        legal = self.legal(good.text)
        said = {"format": good.media} if good.media else {}
        if legal != good.text:
            said["lossy"] = "true"
        return f"<llm_output{self.attributes(said)}>{self.characters(visit, legal)}</llm_output>"

    def characters(self, visit: Visit, text: str) -> str:
        """Return the character data of `llm_output`."""
        return self.escaped(text)

    def clean(self, value: Any) -> Any:
        """Return a value that JSON in a document can hold."""
        if isinstance(value, str):
            return SURROGATE.sub("\ufffd", value)
        if isinstance(value, dict):
            return {self.clean(name): self.clean(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.clean(item) for item in value]
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST_INTEGER:
            return str(value)
        return value

    def json_text(self, visit: Visit, value: Any) -> str:
        """Return JSON in which nothing is markup."""
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
        return NO_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)

    def json_part(self, visit: Visit, name: str, value: Any) -> str:
        """Return an element that holds JSON."""
        said = {"lossy": "true"} if SURROGATE.search(json.dumps(value, ensure_ascii=False)) else {}
        return f"<{name}{self.attributes(said)}>{self.json_text(visit, self.clean(value))}</{name}>"

    def error_part(self, visit: Visit, bad: Bad) -> str:
        """Return the element `error`."""
        legal = self.legal(bad.message)
        said = self.error_attributes(visit, bad)
        if legal != bad.message:
            said["lossy"] = "true"
        meta = "" if bad.meta is None else self.json_part(visit, "meta", bad.meta)
        return f"<error{self.attributes(said)}>{self.message(visit, legal)}{meta}</error>"

    def error_attributes(self, visit: Visit, bad: Bad) -> dict[str, str]:
        """Return the attributes of an error."""
        return {"code": bad.code, **bad.extra}

    def message(self, visit: Visit, text: str) -> str:
        """Return the message of an error."""
        return self.escaped(text)

    def parts(self, visit: Visit, outcome: Outcome) -> list[str]:
        """Return the children of the root element."""
        if isinstance(outcome, Bad):
            return [self.error_part(visit, outcome)]
        parts = [self.model_text(visit, outcome)]
        if outcome.show is not None:
            parts.append(self.json_part(visit, "display", outcome.show))
        if outcome.filled is not None:
            parts.append(self.json_part(visit, "server_populated", outcome.filled))
        return parts

    def root(self, visit: Visit, outcome: Outcome) -> dict[str, str]:
        """Return the attributes of the root element."""
        legal = self.legal(visit.tool)
        return {"tool_name": legal} if legal == visit.tool else {"tool_name": legal, "lossy": "true"}

    def document(self, visit: Visit, outcome: Outcome) -> str:
        """Return a document."""
        root = self.attributes(self.root(visit, outcome))
        return f"<tool_response{root}>{''.join(self.parts(visit, outcome))}</tool_response>"

    def fitted(self, visit: Visit, outcome: Outcome) -> tuple[str, Outcome]:
        """Return a document that the client accepts, and its outcome."""
        document = self.document(visit, outcome)
        if not self.exceeds(visit, document):
            return document, outcome
        if isinstance(outcome, Good):
            outcome = Bad("RESULT_TOO_LARGE", "The answer is larger than your application accepts.")
        else:
            kept = {name: item for name, item in (outcome.meta or {}).items() if name in {"error_id", "side_effects"}}
            outcome = Bad(outcome.code, outcome.message[:400], kept or None, **outcome.extra)
        return self.document(visit, outcome), outcome

    def exceeds(self, visit: Visit, document: str) -> bool:
        """Return whether a document is larger than what can be sent."""
        most: int = max(visit.declaration.get("maxBytes", LARGEST_DOCUMENT), 4096)
        return len(document.encode()) > most

    # -- results -------------------------------------------------------------------------------------------------

    def reply(self, visit: Visit, outcome: Outcome) -> mcp_types.CallToolResult:
        """Return the result of a call."""
        return self.as_document(visit, outcome) if visit.documents else self.as_plain(visit, outcome)

    def as_document(self, visit: Visit, outcome: Outcome) -> mcp_types.CallToolResult:
        """Return a result whose first block is a document."""
        document, outcome = self.fitted(visit, outcome)
        return mcp_types.CallToolResult(
            content=self.blocks(visit, outcome, document),
            is_error=self.failed(visit, outcome),
            structured_content=self.data(visit, outcome),
            _meta=self.marked(visit, outcome, {"version": "1.0", "form": "document"}),
        )

    def blocks(self, visit: Visit, outcome: Outcome, document: str) -> list[mcp_types.ContentBlock]:
        """Return the blocks of a result with a document."""
        aside = outcome.aside if isinstance(outcome, Good) else ""
        return [block(document), *([for_the_person(aside)] if aside else [])]

    def failed(self, visit: Visit, outcome: Outcome) -> bool:
        """Return whether the result says that the call failed."""
        return isinstance(outcome, Bad)

    def data(self, visit: Visit, outcome: Outcome) -> Json | None:
        """Return the structured content; each tool that has data has an output schema."""
        if isinstance(outcome, Bad) or outcome.data is None:
            return None
        data: Json = self.clean(outcome.data)
        return data

    def marked(self, visit: Visit, outcome: Outcome, mark: Json) -> Json:
        """Return the `_meta` that every result has."""
        return {f"{PREFIX}result": mark}

    def as_plain(self, visit: Visit, outcome: Outcome) -> mcp_types.CallToolResult:
        """Return a plain result."""
        text = self.plain_text(visit, outcome)
        mark: Json = {"version": "1.0", "form": "plain"}
        if self.legal(text) != text:
            mark["lossy"] = True
        if isinstance(outcome, Good) and outcome.media:
            mark["format"] = outcome.media
        return mcp_types.CallToolResult(
            content=[*self.for_the_model(visit, self.legal(text)), *self.beside(visit, outcome)],
            is_error=self.failed(visit, outcome),
            structured_content=self.data(visit, outcome),
            _meta=self.members(visit, outcome, mark),
        )

    def plain_text(self, visit: Visit, outcome: Outcome) -> str:
        """Return the text for the model."""
        return outcome.text if isinstance(outcome, Good) else f"{outcome.code}: {outcome.message}"

    def for_the_model(self, visit: Visit, text: str) -> list[mcp_types.ContentBlock]:
        """Return the blocks with the text for the model."""
        return [block(text)]

    def beside(self, visit: Visit, outcome: Outcome) -> list[mcp_types.ContentBlock]:
        """Return the other blocks of a plain result."""
        if isinstance(outcome, Bad):
            return []
        blocks: list[mcp_types.ContentBlock] = []
        if outcome.filled is not None:
            blocks.append(self.filled_block(visit, outcome.filled))
        alt = self.alternative(visit, outcome.show)
        return [*blocks, *(for_the_person(self.legal(one)) for one in (outcome.aside, alt) if one)]

    def filled_block(self, visit: Visit, filled: Json) -> mcp_types.TextContent:
        """Return the block that names what the server filled in."""
        text = json.dumps(self.clean(filled), ensure_ascii=False)
        return mcp_types.TextContent(type="text", text=text, _meta={f"{PREFIX}server_populated": True})

    def alternative(self, visit: Visit, show: Any) -> str:
        """Return what a host without displays shows."""
        return str(show.get("alt", ""))[:500] if isinstance(show, dict) else ""

    def members(self, visit: Visit, outcome: Outcome, mark: Json) -> Json:
        """Return the `_meta` of a plain result."""
        members = self.marked(visit, outcome, mark)
        if isinstance(outcome, Bad):
            members[f"{PREFIX}error"] = self.error_member(visit, outcome)
            return members
        if outcome.show is not None:
            members[f"{PREFIX}display"] = self.clean(outcome.show)
        if outcome.filled is not None:
            members[f"{PREFIX}server_populated"] = self.clean(outcome.filled)
        return members

    def error_member(self, visit: Visit, bad: Bad) -> Json:
        """Return an error as JSON."""
        category, retryable = KNOWN.get(bad.code, ("internal", False))
        member: Json = {
            "code": bad.code,
            "message": self.legal(bad.message),
            "category": bad.extra.get("category", category),
            "retryable": {"true": True, "false": False}.get(bad.extra.get("retryable", ""), retryable),
        }
        if "retry_after_ms" in bad.extra:
            member["retry_after_ms"] = int(bad.extra["retry_after_ms"])
        return member if bad.meta is None else {**member, "meta": self.clean(bad.meta)}

    # -- MCP -----------------------------------------------------------------------------------------------------

    def announcement(self, *, handshake: bool) -> Json:
        """Return what the server announces, by the names of extensions."""
        return {EXTENSION: {"versions": ["1.0"], "wire": self.wire}}

    def declaration(self, context: Any) -> Json:
        """Return what the client declared, if that counts."""
        capabilities = context.session.client_capabilities
        for place in ("extensions", "experimental"):
            said = (getattr(capabilities, place, None) or {}).get(EXTENSION)
            if isinstance(said, dict) and any(re.match(r"1\.\d", str(one)) for one in said.get("versions", [])):
                return said
        return {}

    def sends_documents(self, declaration: Json) -> bool:
        """Return whether a client with this declaration gets documents."""
        if self.wire == "negotiated":
            return bool(declaration) and declaration.get("documents") is not False
        return self.wire == "always"

    def visit(self, context: Any, params: mcp_types.CallToolRequestParams) -> Visit:
        """Return the call that a request is."""
        args = dict(params.arguments or {})
        same = f"{params.name}?{json.dumps(args, sort_keys=True)}"
        self.calls.update((params.name, same))
        declaration = self.declaration(context)
        return Visit(
            tool=params.name,
            args=args,
            declaration=declaration,
            handshake=not context.protocol_version.startswith("2026"),
            documents=self.sends_documents(declaration),
            nth=self.calls[params.name],
            again=self.calls[same],
        )

    def listing(self, *, declared: bool, handshake: bool) -> list[mcp_types.Tool]:
        """Return the list of tools."""
        return [self.listed(name, tool, declared=declared, handshake=handshake) for name, tool in self.tools().items()]

    def listed(self, name: str, tool: Tool, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        """Return a tool as the list has it."""
        return mcp_types.Tool(
            name=name,
            description=tool.description,
            input_schema=tool.takes,
            output_schema=tool.gives,
            annotations=mcp_types.ToolAnnotations(read_only_hint=tool.reads),
            _meta=None if tool.about is None else {f"{PREFIX}tool": tool.about},
        )

    def server(self) -> Server[Any]:
        """Return the server object of the MCP SDK."""

        async def list_tools(context: Any, _params: Any) -> mcp_types.ListToolsResult:
            self.lists += 1
            handshake = not context.protocol_version.startswith("2026")
            declared = bool(self.declaration(context))
            return mcp_types.ListToolsResult(tools=self.listing(declared=declared, handshake=handshake))

        async def call_tool(context: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
            return await self.handle(self.visit(context, params))

        server = _Announcing(self.title, on_list_tools=list_tools, on_call_tool=call_tool)
        server.said = lambda handshake: self.announcement(handshake=handshake)
        return server


class NegotiatedClinic(Clinic):
    """The clinic with the wire `negotiated`."""

    wire = "negotiated"


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


def changed(tools: dict[str, Tool], name: str, **about: Any) -> dict[str, Tool]:
    """Return the tools with another metadata of one; a member that is `None` is left out."""
    said = {**(tools[name].about or {}), **about}
    kept = {key: value for key, value in said.items() if value is not None}
    return {**tools, name: replace(tools[name], about=kept or None)}
