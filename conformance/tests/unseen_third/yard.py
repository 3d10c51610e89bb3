"""A right server of a freight yard, from which the third set of servers is made.

It shares no code with the reference package, the suite, or the servers of the other sets. A tool is a method with its
schemas above it. It returns an `Answer`, or raises a `Fault`; from that comes a tree of `Node`s for a document, or the
parts of a plain result. Each step is a method that knows the call, so that a server can go wrong in one place.
"""

from __future__ import annotations

import json
import math
import re
import sys
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import jsonschema_rs
import mcp_types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from unseen_third.common import (
    CATEGORIES,
    CUT,
    EXTENSION,
    LARGEST,
    PREFIX,
    SAFE_INTEGER,
    SHOW_USER,
    TEXT,
    Answer,
    Block,
    Call,
    Fault,
    Json,
    Node,
    Spec,
    block,
    clean,
    closed,
    escaped,
    for_person,
    has_lone,
    inert,
    legal,
    marked,
    number,
    tool,
    words,
)


class _Yards(Server[Any]):
    """The server object of the SDK, with an announcement in the place that each era has for it."""

    said: Callable[[bool], Json]

    def get_capabilities(self, *positional: Any, **named: Any) -> mcp_types.ServerCapabilities:
        handshake = named.get("protocol_version") is None
        return super().get_capabilities(*positional, **named).model_copy(update=self.said(handshake))


PARTY = closed("name", name={**TEXT, "minLength": 1, "maxLength": 120}, vat={"type": ["string", "null"]})
ROAD = closed("mode plate", mode={"const": "road"}, plate={**TEXT, "pattern": "^[A-Z]{1,3} [0-9]{1,4}$"})
RAIL = closed("mode train", mode={"const": "rail"}, train={"type": "integer", "minimum": 1, "maximum": 99999})
GOODS = closed("name tonnes", name=TEXT, tonnes={"type": "number", "exclusiveMinimum": 0, "maximum": 100})
CONSIGNMENT = closed(
    "shipper goods",
    shipper={"$ref": "#/$defs/Party"},
    consignee={"$ref": "#/$defs/Party"},
    goods={"type": "array", "items": GOODS, "minItems": 1, "maxItems": 20},
)


class Yard:
    """The yard with the wire `negotiated`."""

    wire = "negotiated"

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.lists = 0

    # -- the tools -----------------------------------------------------------------------------------------------

    @tool(
        Spec(
            "Find wagons by a part of their number or name.",
            closed(
                "query",
                query={**TEXT, "minLength": 1, "maxLength": 100},
                kind=words("flat", "tank", "hopper", "box"),
                limit={"type": "integer", "minimum": 1, "maximum": 50, "default": 5},
                after={"type": ["string", "null"], "description": "The last wagon of the page before."},
            ),
            closed("result", result={"type": "array", "items": TEXT}),
            {"cacheable": True, "wrapped_in": "result"},
        )
    )
    def find_wagons(self, call: Call) -> Answer:
        kind = call.args.get("kind", "any")
        first = 1 if call.args.get("after") is None else 4
        wagons = [
            f"{call.args['query']} ({kind}) no. {n}" for n in range(first, first + int(call.args.get("limit", 5)))
        ]
        return Answer("\n".join(wagons), data={"result": wagons})

    @tool(
        Spec(
            "Book a slot at the ramp.",
            {
                **closed(
                    "consignment arrival carrier",
                    consignment=CONSIGNMENT,
                    arrival={**TEXT, "format": "date-time", "examples": ["2026-05-04T06:30:00Z"]},
                    carrier={"oneOf": [ROAD, RAIL]},
                    note={"type": ["string", "null"], "maxLength": 400},
                ),
                "$defs": {"Party": PARTY},
            },
            closed("slot", slot=TEXT),
            reads=False,
        )
    )
    def book_slot(self, call: Call) -> Answer:
        slot = f"S-{1000 + self.calls['book_slot']}"
        shipper = call.args["consignment"]["shipper"]["name"]
        return Answer(f"Slot {slot} for {shipper}, arriving {call.args['arrival']}.", data={"slot": slot})

    @tool(
        Spec(
            "Compute the net weight of a wagon.",
            closed(
                "gross_kg tare_kg",
                gross_kg={"type": "number", "exclusiveMinimum": 0, "maximum": 90000},
                tare_kg={"type": "number", "minimum": 0, "maximum": 40000},
                scale=words("north", "south"),
            ),
            closed("net_kg", net_kg={"type": "number"}),
        )
    )
    def weigh(self, call: Call) -> Answer:
        net = round(call.args["gross_kg"] - call.args["tare_kg"], 3)
        if net < 0:
            raise self.too_light(call)
        return Answer(f"The net weight is {net} kg.", data={"net_kg": net})

    def too_light(self, call: Call) -> Fault:
        """Return the fault of a wagon that weighs less than when it is empty."""
        params = {"gross_kg": call.args["gross_kg"], "tare_kg": call.args["tare_kg"]}
        return Fault("PRECONDITION_FAILED", "The wagon weighs less than it does empty.", {"params": params})

    @tool(Spec("Say how full the yard is.", closed()))
    def yard_status(self, call: Call) -> Answer:
        return Answer("12 of 16 tracks are free.\nThe hump is open.")

    @tool(
        Spec(
            "Lay out the text of a label, word for word.",
            closed(
                "text",
                text={**TEXT, "maxLength": 20000},
                copies={"type": "integer", "minimum": 1, "maximum": 5, "default": 1},
                language=words("en", "de", "zh"),
                hazard={"type": "boolean", "default": False},
            ),
        )
    )
    def label_text(self, call: Call) -> Answer:
        aside = "Ask the safety desk for gloves before you touch this." if call.args.get("hazard") else ""
        copies = int(call.args.get("copies", 1))
        text = call.args["text"] if copies == 1 else f"{call.args['text']}\n({copies} copies)"
        return Answer(text[:CUT], aside=aside, cut=len(text) > CUT)

    @tool(
        Spec(
            "List the containers of a train with their weights, negative for corrections.",
            closed(
                "containers",
                containers={
                    "type": "object",
                    "patternProperties": {"^[A-Z]{4}[0-9]{7}$": {"type": "integer"}},
                    "additionalProperties": False,
                    "maxProperties": 200,
                    "examples": [{"MSCU1234567": 12000}],
                },
                show_user=SHOW_USER,
            ),
            meta={"display": True},
        )
    )
    def manifest(self, call: Call) -> Answer:
        rows = [{"container": name, "kg": number(kg)} for name, kg in call.args["containers"].items()]
        text = "\n".join(f"{row['container']}: {row['kg']} kg" for row in rows)
        return Answer(text or "The train is empty.", self.show_manifest(call, rows))

    def show_manifest(self, call: Call, rows: list[Json]) -> Any:
        """Return the display of a manifest."""
        columns = ["container", {"key": "kg", "title": "Weight (kg)", "type": "number", "align": "right"}]
        return {
            "type": "table",
            "title": "Manifest",
            "alt": f"A table of {len(rows)} containers with the weight of each.",
            "payload": {"columns": columns, "rows": rows, "caption": "By container", "total_rows": len(rows)},
            "meta": {"source": "train list", "locale": "en"},
        }

    @tool(
        Spec(
            "Say how the load of a track went.",
            closed(
                "loads",
                loads={"type": "array", "items": {"type": "number", "minimum": 0, "maximum": 5000}, "maxItems": 100},
                unit=words("t", "kg"),
                show_user=SHOW_USER,
            ),
            meta={"display": True},
        )
    )
    def load_chart(self, call: Call) -> Answer:
        loads, unit = call.args["loads"], call.args.get("unit", "t")
        peak = f" with a peak of {max(loads)} {unit}" if loads else ""
        return Answer(f"{len(loads)} loads{peak}.", self.show_loads(call, loads, unit))

    def show_loads(self, call: Call, loads: list[Any], unit: str) -> Any:
        """Return the display of loads."""
        axis = {"field": "load", "type": "quantitative", "title": f"Load ({unit})"}
        return {
            "type": "chart",
            "id": "loads",
            "alt": f"A bar for each of {len(loads)} loads, in {unit}.",
            "payload": {
                "mark": "bar",
                "data": {"values": [{"hour": hour, "load": load} for hour, load in enumerate(loads)]},
                "encoding": {"x": {"field": "hour", "type": "ordinal"}, "y": axis},
            },
        }

    @tool(
        Spec(
            "Show the picture of a camera.",
            closed(
                src={
                    **TEXT,
                    "pattern": "^https://[a-z0-9./_-]+$",
                    "maxLength": 300,
                    "examples": ["https://cameras.example/gate-2.png"],
                },
                caption={"type": ["string", "null"]},
                zoom={"type": "integer", "minimum": 0, "maximum": 4, "default": 1},
                show_user=SHOW_USER,
            ),
            meta={"display": True},
        )
    )
    def camera(self, call: Call) -> Answer:
        src, caption = call.args.get("src", "https://cameras.example/overview.png"), call.args.get("caption")
        return Answer(f"{caption or 'A picture'} is at {src}.", self.show_camera(call, src, caption))

    def show_camera(self, call: Call, src: str, caption: str | None) -> Any:
        """Return the display of a picture."""
        width = 320 * (1 + int(call.args.get("zoom", 1)))
        payload = {"src": src, "alt": caption or "The yard from above.", "width": width, "height": 240}
        return {"type": "image", "title": self.heading(call, caption or "Camera"), "payload": payload}

    def heading(self, call: Call, text: str) -> str:
        """Return a text as a title."""
        return text[:200]

    @tool(
        Spec(
            "Lay out a notice for the board.",
            closed(
                "body",
                body=TEXT,
                kind=words("text", "markdown", "html", "code", "json", "file", "notification"),
                title={**TEXT, "maxLength": 120},
                show_user=SHOW_USER,
            ),
            meta={"display": True, "provides": "body"},
        )
    )
    def notice(self, call: Call) -> Answer:
        return Answer(call.args["body"], self.show_notice(call, call.args.get("kind", "text"), call.args["body"]))

    def show_notice(self, call: Call, kind: str, body: str) -> Any:
        """Return the display of a notice."""
        payload = {
            "code": {"code": body, "language": "text", "filename": "notice.txt"},
            "json": {"lines": body.split("\n")},
            "file": {"uri": "https://yard.example/notices/1", "name": "notice.txt", "mime": "text/plain"},
            "notification": {"message": body, "level": "info"},
        }.get(kind, body)
        return {"type": kind, "title": call.args.get("title", "Notice"), "payload": payload}

    @tool(
        Spec(
            "Report what a track is used for.",
            closed(
                "track",
                track={"type": "integer", "minimum": 0, "maximum": 40},
                layout=words("facts", "metric", "group", "dial"),
                remark=TEXT,
                show_user=SHOW_USER,
            ),
            meta={"display": True},
        )
    )
    def track_board(self, call: Call) -> Answer:
        track, remark = int(call.args["track"]), call.args.get("remark", "")
        said = f" {remark}" if remark else ""
        return Answer(
            f"Track {track} has {track * 3 % 17} wagons.{said}",
            self.show_track(call, track, call.args.get("layout", "facts")),
        )

    def show_track(self, call: Call, track: int, layout: str) -> Any:
        """Return the display of a track."""
        wagons = track * 3 % 17
        metric = {"type": "metric", "payload": {"label": f"Track {track}", "value": wagons, "unit": "wagons"}}
        facts = {"type": "facts", "title": "Track", "payload": {"Track": track, "Wagons": wagons, "Reserved": False}}
        dial = {
            "type": "x-yard-dial",
            "alt": f"A dial at {wagons} of 16.",
            "payload": {"wagons": wagons, "of": 16},
            "fallback": {**metric, "fallback": {"type": "text", "payload": f"{wagons} of 16"}},
            "meta": {"yard/colour": "green", "transient": False},
        }
        group = {"type": "group", "payload": [facts, {"type": "group", "payload": [metric]}]}
        return {"facts": facts, "metric": metric, "group": group, "dial": dial}[layout]

    @tool(
        Spec(
            "List the gate passes of whoever asks.",
            closed(
                status=words("valid", "expired", "revoked"),
                since={**TEXT, "format": "date", "examples": ["2026-05-01"]},
            ),
            meta={"server_populated": ["user_id", "depot", "gate_key"]},
        )
    )
    def my_gate_passes(self, call: Call) -> Answer:
        text = f"2 {call.args.get('status', 'valid')} passes for Depot Nord, gates 1 to 9."
        return Answer(text, filled=self.filled(call))

    def filled(self, call: Call) -> Json:
        """Return what the yard filled in."""
        filled: Json = {"values": {"user_id": "u-3307", "depot": "Depot Nord, gates 1 to 9"}, "redacted": ["gate_key"]}
        return {**filled, "overridden": sorted(call.forged)} if call.forged else filled

    @tool(
        Spec(
            "Quote a tariff.",
            closed(
                "commodity tonnes",
                commodity={**TEXT, "examples": ["grain", "timber", "steel"]},
                tonnes={"type": "integer", "minimum": 1, "maximum": 5000},
                priority=words("normal", "express", "overnight"),
            ),
        )
    )
    def tariff(self, call: Call) -> Answer:
        commodity, tonnes = call.args["commodity"], int(call.args["tonnes"])
        if call.args.get("priority") == "express":
            raise self.rates_down(call)
        if call.args.get("priority") == "overnight":
            raise self.closed_at_night(call)
        if commodity not in {"grain", "timber", "steel"}:
            raise self.no_tariff(call, commodity)
        if tonnes > 3000:
            raise self.too_much(call, tonnes)
        return Answer(f"{tonnes} t of {commodity} cost {tonnes * 7} euros.")

    def rates_down(self, call: Call) -> Fault:
        """Return the fault that the service with the rates does not answer."""
        meta = {"upstream_status": 503, "side_effects": "none", "cause": {"code": "TIMEOUT"}}
        message = "The service with the express rates does not answer."
        return Fault("UPSTREAM_UNAVAILABLE", message, meta, retryable=True, wait_ms=2500)

    def closed_at_night(self, call: Call) -> Fault:
        """Return the fault that nothing runs at night."""
        help_at = [{"title": "Opening hours", "url": "https://yard.example/hours"}]
        return Fault("X_YARD_NIGHT_BAN", "No train runs at night.", {"help": help_at}, category="conflict")

    def no_tariff(self, call: Call, commodity: str) -> Fault:
        """Return the fault that there is no tariff for something."""
        return Fault("NOT_FOUND", f"There is no tariff for '{commodity}'.", {"params": {"commodity": commodity}})

    def too_much(self, call: Call, tonnes: int) -> Fault:
        """Return the fault that a train is too heavy."""
        limit = {"scope": "train", "dimension": "tonnes", "max": 3000, "reset_at": "2026-05-05T00:00:00+02:00"}
        return Fault("CONFLICT", "No train may be that heavy.", {"limit": limit, "params": {"tonnes": tonnes}})

    @tool(
        Spec(
            "Divide the gauge of a track by the loading gauge.",
            closed(
                "track_mm loading_mm",
                track_mm={"type": "number", "minimum": 0, "maximum": 3000},
                loading_mm={"type": "number", "minimum": 0, "maximum": 6000},
            ),
        )
    )
    def gauge_ratio(self, call: Call) -> Answer:
        ratio = float(call.args["track_mm"]) / float(call.args["loading_mm"])
        if math.isinf(ratio):
            raise OverflowError
        return Answer(f"{ratio:.5f}")

    @tool(
        Spec(
            "Plan in which order wagons are shunted; takes a moment.",
            closed(
                "wagons",
                wagons={"type": "array", "items": TEXT, "uniqueItems": True, "minItems": 1, "maxItems": 20},
                target={"anyOf": [{"type": "integer", "minimum": 1, "maximum": 40}, {"const": "any"}]},
            ),
            closed("order moves", order={"type": "array", "items": TEXT}, moves={"type": "integer"}),
            {"depends_on": ["find_wagons"]},
        )
    )
    def shunt_plan(self, call: Call) -> Answer:
        data = {"order": [clean(one) for one in reversed(call.args["wagons"])], "moves": 2 * len(call.args["wagons"])}
        return Answer(json.dumps(data, ensure_ascii=False), data=data, media="application/json")

    # -- from a call to an answer --------------------------------------------------------------------------------

    def tools(self) -> dict[str, Spec]:
        """Return what is said of each tool."""
        members = [pair for one in reversed(type(self).__mro__) for pair in vars(one).items()]
        return {name: member.spec for name, member in members if hasattr(member, "spec")}

    def work(self, call: Call) -> Answer:
        """Do what a tool does."""
        answer: Answer = getattr(self, call.tool)(call)
        return answer

    async def answer(self, call: Call) -> Answer:
        """Answer a call, whatever comes of it."""
        try:
            spec = self.known(call)
            call = self.prepared(call, spec)
            fields = self.misfits(call, spec)
            if fields:
                raise self.refusal(call, fields)
            if call.tool == "shunt_plan":
                await anyio.sleep(0.2)
            return self.finished(call, self.work(call))
        except Fault as fault:
            return Answer(fault=fault)
        except MCPError:
            raise
        except Exception as error:
            return Answer(fault=self.unforeseen(call, error))

    def known(self, call: Call) -> Spec:
        """Return what is said of the tool of a call."""
        spec = self.tools().get(call.tool)
        if spec is None and not 1 <= len(call.tool) <= 128:
            raise MCPError(-32602, "A tool has a name of 1 to 128 characters.")
        if spec is None:
            raise self.unknown(call)
        return spec

    def unknown(self, call: Call) -> Fault:
        """Return the fault that there is no such tool."""
        return Fault("UNKNOWN_TOOL", "The yard has no such tool.")

    def prepared(self, call: Call, spec: Spec) -> Call:
        """Return a call without what the yard fills in itself, and without a `show_user` that is null."""
        meta = spec.meta or {}
        ours = meta.get("server_populated", [])
        args = {name: value for name, value in call.args.items() if name not in ours}
        if meta.get("display") and "show_user" in args and args["show_user"] is None:
            del args["show_user"]
        return replace(call, args=args, forged={name: call.args[name] for name in ours if name in call.args})

    def misfits(self, call: Call, spec: Spec) -> list[Json]:
        """Return what is wrong with the arguments."""
        fields: list[Json] = []
        for error in jsonschema_rs.validator_for(spec.takes, validate_formats=True).iter_errors(clean(call.args)):
            kind: Any = error.kind
            where = [str(step) for step in error.instance_path]
            names = [str(one) for one in getattr(kind, "unexpected", [])]
            missing = getattr(kind, "property", None)
            names += [missing] if isinstance(missing, str) else []
            reason = type(kind).__name__.rpartition("_")[2]
            paths = [[*where, name] for name in names] or [where]
            said = {"reason": reason, "message": self.complaint(reason)}
            fields += [{"pointer": self.pointer(path), **said} for path in paths]
        return fields

    def pointer(self, path: list[str]) -> str:
        """Return the JSON Pointer of a path."""
        return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in path)

    def complaint(self, reason: str) -> str:
        """Return what is said of an argument that does not fit."""
        return f"does not fit: {reason}"

    def refusal(self, call: Call, fields: list[Json]) -> Fault:
        """Return the fault of arguments that do not fit."""
        meta = {"fields": fields, "side_effects": "none"}
        return Fault("VALIDATION_FAIL", "Some of the arguments are not as the schema wants them.", meta)

    def unforeseen(self, call: Call, error: Exception) -> Fault:
        """Log an error that nobody foresaw, and return a fault."""
        number = uuid.uuid4().hex[:16]
        sys.stderr.write(f"{number}: {type(error).__name__} in {call.tool}\n")
        return Fault("INTERNAL", "The yard made a mistake.", {"error_id": number})

    def finished(self, call: Call, answer: Answer) -> Answer:
        """Leave a display out that nobody asked for, or make it fit the client."""
        if not call.shown or answer.display is None:
            answer.display = None
            return answer
        answer.text += self.hint(call)
        answer.display = self.fitting(call, answer.display)
        return answer

    def hint(self, call: Call) -> str:
        """Return what a client is told that did not declare the extension."""
        return "" if call.declaration else "\n[A display was sent as well, which your client may be unable to show.]"

    def fitting(self, call: Call, display: Any) -> Any:
        """Return a display with fallbacks for the types that the client does not know."""
        known = call.declaration.get("displayTypes")
        if known is None:
            return display
        if display["type"] == "group":
            display = {**display, "payload": [self.fitting(call, one) for one in display["payload"]]}
        if display["type"] in known or "fallback" in display:
            return display
        return {**display, "fallback": {"type": "text", "payload": display.get("alt", f"({display['type']})")}}

    # -- documents -----------------------------------------------------------------------------------------------

    def tree(self, call: Call, answer: Answer) -> Node:
        """Return the elements of a document."""
        attrs = marked({"tool_name": legal(call.tool)}, call.tool)
        if answer.lossy:
            attrs["lossy"] = "true"
        root = Node("tool_response", attrs)
        if answer.fault is not None:
            root.inside.append(self.error_node(call, answer.fault))
        else:
            root.inside.append(self.text_node(call, answer))
        if answer.display is not None:
            root.inside.append(self.json_node("display", answer.display))
        if answer.filled is not None:
            root.inside.append(self.json_node("server_populated", answer.filled))
        return root

    def text_node(self, call: Call, answer: Answer) -> Node:
        """Return `llm_output`."""
        attrs = {"format": answer.media} if answer.media else {}
        if answer.cut:
            attrs["truncated"] = "true"
        return Node("llm_output", marked(attrs, answer.text), text=legal(answer.text))

    def error_node(self, call: Call, fault: Fault) -> Node:
        """Return `error`."""
        attrs = {"code": fault.code}
        if fault.category is not None:
            attrs["category"] = fault.category
        if fault.retryable is not None:
            attrs["retryable"] = "true" if fault.retryable else "false"
        if fault.wait_ms is not None:
            attrs["retry_after_ms"] = str(fault.wait_ms)
        meta = [] if fault.meta is None else [self.json_node("meta", fault.meta)]
        return Node("error", marked(attrs, fault.message), text=legal(fault.message), inside=meta)

    def json_node(self, name: str, value: Any) -> Node:
        """Return an element that holds JSON."""
        return Node(name, {"lossy": "true"} if has_lone(value) else {}, json=value, is_json=True)

    def written(self, call: Call, node: Node) -> str:
        """Return an element as text."""
        attrs = "".join(f" {name}={self.quoted(call, value)}" for name, value in node.attrs.items())
        inside = self.json_text(call, node.json) if node.is_json else self.characters(call, node, node.text or "")
        return f"<{node.name}{attrs}>{inside}{self.children(call, node)}</{node.name}>"

    def children(self, call: Call, node: Node) -> str:
        """Return the elements in an element as text."""
        return "".join(self.written(call, one) for one in node.inside)

    def quoted(self, call: Call, value: str) -> str:
        """Return the value of an attribute in quotation marks."""
        value = escaped(value).replace('"', "&quot;").replace("\t", "&#9;").replace("\n", "&#10;")
        return f'"{value}"'

    def characters(self, call: Call, node: Node, text: str) -> str:
        """Return character data."""
        return escaped(text)

    def json_text(self, call: Call, value: Any) -> str:
        """Return JSON in which XML finds nothing to read."""
        text = json.dumps(self.portable(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return inert(text)

    def portable(self, value: Any) -> Any:
        """Return a value without integers that are too large, and without what JSON does not have."""
        if isinstance(value, dict):
            return {clean(name): self.portable(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.portable(item) for item in value]
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) > SAFE_INTEGER:
            return str(value)
        return clean(value)

    def document(self, call: Call, answer: Answer) -> str:
        """Return a document."""
        return self.written(call, self.tree(call, answer))

    def limited(self, call: Call, answer: Answer) -> tuple[str, Answer]:
        """Return a document that is small enough for the client, and the answer that it has."""
        text = self.document(call, answer)
        if not self.too_large(call, text):
            return text, answer
        answer = Answer(fault=self.smaller(call, answer.fault))
        return self.document(call, answer), answer

    def too_large(self, call: Call, document: str) -> bool:
        """Return whether a document is larger than the client wants it."""
        most: int = max(call.declaration.get("maxBytes", LARGEST), 4096)
        return len(document.encode()) > most

    def smaller(self, call: Call, fault: Fault | None) -> Fault:
        """Return the fault of an answer that is too large."""
        if fault is None:
            return Fault("RESULT_TOO_LARGE", "The answer is larger than what your client takes.")
        short = {name: item for name, item in (fault.meta or {}).items() if name in {"error_id", "side_effects"}}
        options = {"retryable": fault.retryable, "wait_ms": fault.wait_ms, "category": fault.category}
        return Fault(fault.code, fault.message[:400], short or None, **options)  # type: ignore[arg-type]

    # -- results -------------------------------------------------------------------------------------------------

    def result(self, call: Call, answer: Answer) -> mcp_types.CallToolResult:
        """Return the result of a call."""
        if call.documents:
            document, answer = self.limited(call, answer)
            content, members = self.document_blocks(call, answer, document), {}
            form: Json = {"version": "1.0", "form": "document"}
        else:
            content, members = self.plain_blocks(call, answer), self.plain_members(call, answer)
            form = self.plain_form(call, answer)
        return mcp_types.CallToolResult(
            content=content,
            is_error=self.failed(call, answer),
            structured_content=self.data(call, answer),
            _meta={f"{PREFIX}result": form, **members},
        )

    def failed(self, call: Call, answer: Answer) -> bool:
        """Return whether a result says that its call failed."""
        return answer.fault is not None

    def data(self, call: Call, answer: Answer) -> Json | None:
        """Return the structured content."""
        return None if answer.data is None else clean(answer.data)

    def document_blocks(self, call: Call, answer: Answer, document: str) -> list[Block]:
        """Return the blocks of a result with a document."""
        return [block(document), *([for_person(answer.aside)] if answer.aside else [])]

    def plain_form(self, call: Call, answer: Answer) -> Json:
        """Return what a plain result says of its form."""
        form: Json = {"version": "1.0", "form": "plain"}
        text = self.plain_text(call, answer)
        said = {"truncated": answer.cut, "lossy": answer.lossy or legal(text) != text, "format": answer.media}
        return {**form, **{name: item for name, item in said.items() if item}}

    def plain_text(self, call: Call, answer: Answer) -> str:
        """Return the text of a plain result."""
        return answer.text if answer.fault is None else f"{answer.fault.code}: {answer.fault.message}"

    def plain_blocks(self, call: Call, answer: Answer) -> list[Block]:
        """Return the blocks of a plain result."""
        blocks: list[Block] = [block(legal(self.plain_text(call, answer)))]
        if answer.filled is not None:
            blocks.append(self.filled_block(call, answer.filled))
        return [*blocks, *(for_person(legal(one)) for one in (answer.aside, self.in_words(call, answer)) if one)]

    def filled_block(self, call: Call, filled: Json) -> mcp_types.TextContent:
        """Return the block that names what was filled in."""
        said = [f"{name} = {value}" for name, value in clean(filled["values"]).items()]
        said += [f"{name} (not disclosed)" for name in filled.get("redacted", [])]
        text = f"Filled in by the yard: {'; '.join(said)}"
        return mcp_types.TextContent(type="text", text=text, _meta={f"{PREFIX}server_populated": True})

    def in_words(self, call: Call, answer: Answer) -> str:
        """Return a display in words."""
        return str(answer.display.get("alt", ""))[:500] if isinstance(answer.display, dict) else ""

    def plain_members(self, call: Call, answer: Answer) -> Json:
        """Return the members of `_meta` that take the place of elements."""
        members: Json = {}
        if answer.fault is not None:
            members["error"] = self.error_member(call, answer.fault)
        if answer.display is not None:
            members["display"] = self.portable(answer.display)
        if answer.filled is not None:
            members["server_populated"] = self.portable(answer.filled)
        return {f"{PREFIX}{name}": member for name, member in members.items()}

    def error_member(self, call: Call, fault: Fault) -> Json:
        """Return an error as JSON."""
        category = fault.category or CATEGORIES.get(fault.code, "internal")
        retryable = category in {"rate_limited", "unavailable"} and fault.code != "QUOTA_EXCEEDED"
        member: Json = {"code": fault.code, "message": legal(fault.message), "category": category}
        member["retryable"] = retryable if fault.retryable is None else fault.retryable
        if fault.wait_ms is not None:
            member["retry_after_ms"] = fault.wait_ms
        return member if fault.meta is None else {**member, "meta": self.portable(fault.meta)}

    # -- MCP -----------------------------------------------------------------------------------------------------

    def announcement(self, *, handshake: bool) -> Json:
        """Return the entry under the name of the extension."""
        return {"versions": ["1.0"], "wire": self.wire}

    def capabilities(self, *, handshake: bool) -> Json:
        """Return the capabilities that MCP's SDK does not know of."""
        return {"experimental" if handshake else "extensions": {EXTENSION: self.announcement(handshake=handshake)}}

    def declaration(self, context: Any) -> Json:
        """Return what the client declared, where that counts."""
        capabilities = context.session.client_capabilities
        for place in ("extensions", "experimental"):
            said = (getattr(capabilities, place, None) or {}).get(EXTENSION)
            if isinstance(said, dict) and isinstance(said.get("versions"), list) and self.speaks(said["versions"]):
                return said
        return {}

    def speaks(self, versions: list[Any]) -> bool:
        """Return whether one of the versions is one of the yard's."""
        return any(re.fullmatch(r"1\.(0|[1-9][0-9]{0,3})", str(one)) for one in versions)

    def sends_documents(self, declaration: Json) -> bool:
        """Return whether a client gets documents."""
        if self.wire == "negotiated":
            return bool(declaration) and declaration.get("documents") is not False
        return self.wire == "always"

    def listed(self, name: str, spec: Spec, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        """Return a tool as the list has it."""
        return mcp_types.Tool(
            name=name,
            description=spec.about,
            input_schema=spec.takes,
            output_schema=spec.gives,
            annotations=mcp_types.ToolAnnotations(read_only_hint=spec.reads),
            _meta=None if spec.meta is None else {f"{PREFIX}tool": spec.meta},
        )

    def page(self, cursor: str | None, *, declared: bool, handshake: bool) -> mcp_types.ListToolsResult:
        """Return a page of the list of tools."""
        listed = [self.listed(*one, declared=declared, handshake=handshake) for one in self.tools().items()]
        return mcp_types.ListToolsResult(tools=listed)

    async def handle(self, call: Call) -> mcp_types.CallToolResult:
        """Answer a call with a result."""
        return self.result(call, await self.answer(call))

    def received(self, context: Any, params: mcp_types.CallToolRequestParams) -> Call:
        """Return the call that a request makes."""
        args = dict(params.arguments or {})
        same = f"{params.name} {json.dumps(args, sort_keys=True)}"
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

    def server(self) -> Server[Any]:
        """Return the server object of the MCP SDK."""

        async def list_tools(context: Any, params: Any) -> mcp_types.ListToolsResult:
            self.lists += 1
            handshake = not context.protocol_version.startswith("2026")
            cursor = None if params is None else params.cursor
            return self.page(cursor, declared=bool(self.declaration(context)), handshake=handshake)

        async def call_tool(context: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
            return await self.handle(self.received(context, params))

        server = _Yards("yard", on_list_tools=list_tools, on_call_tool=call_tool)
        server.said = lambda handshake: self.capabilities(handshake=handshake)
        return server


class LoudYard(Yard):
    """The yard with the wire `always`."""

    wire = "always"


class PlainYard(Yard):
    """The yard with the wire `plain`."""

    wire = "plain"
