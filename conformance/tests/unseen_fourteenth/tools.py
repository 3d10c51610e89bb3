"""The tools of the harbour office."""

from __future__ import annotations

import json
import math
import re
from typing import Any
from xml.sax.saxutils import escape

from unseen_eighth.kit import Answer, Call, Failure, Json, Tool, choice, count, many, takes, words

SHOW: Json = {"type": "boolean", "default": False, "description": "Whether the person is shown a display."}
BERTHS: dict[str, list[Json]] = {
    "inner": [
        {"berth": "N1", "depth_dm": 95, "free": True, "note": None},
        {"berth": "N2", "depth_dm": 110, "free": False, "note": "crane & conveyor <west side>"},
        {"berth": "N3", "depth_dm": 60, "free": True, "note": "fenders worn"},
    ],
    "outer": [
        {"berth": "A1", "depth_dm": 145, "free": True, "note": "tugs needed"},
        {"berth": "A2", "depth_dm": 150, "free": True, "note": None},
    ],
    "fishing": [{"berth": "F7", "depth_dm": 35, "free": False, "note": "ice >2 t on order"}],
}
TARIFF = {"quay": 1250, "pilot": 43000, "water": 85, "waste": 310}
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def compact(value: Any) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def list_berths(call: Call) -> Answer:
    basin, least = call.args["basin"], int(call.args.get("min_depth_dm", 0))
    berths = [one for one in BERTHS[basin] if one["depth_dm"] >= least]
    lines = [f"{one['berth']}: {one['depth_dm'] / 10} m, {'free' if one['free'] else 'taken'}" for one in berths]
    text = f"Berths of the {basin} basin:\n" + ("\n".join(lines) or "none of this depth")
    display = {
        "type": "table",
        "title": f"Berths, {basin} basin",
        "payload": {
            "columns": ["berth", {"key": "depth_dm", "title": "Depth (dm)", "type": "number"}, "free", "note"],
            "rows": berths,
            "row_header": "berth",
            "total_rows": len(BERTHS[basin]),
        },
        "meta": {"source": "harbour survey", "locale": "en"},
    }
    return Answer(text, display, {"basin": basin, "berths": berths})


def tide_table(call: Call) -> Answer:
    station, day, hours = call.args["station"], call.args["day"], int(call.args.get("hours", 6))
    base = {"mole": 180, "bridge": 150, "lock": 120}[station]
    levels = [{"hour": hour, "level_cm": base + round(90 * math.sin(hour / 2))} for hour in range(hours)]
    highest = max(levels, key=lambda one: one["level_cm"])
    text = f"Tide at the {station} on {day}, in cm: " + ", ".join(str(one["level_cm"]) for one in levels)
    encoding = {
        "x": {"field": "hour", "type": "quantitative"},
        "y": {"field": "level_cm", "type": "quantitative"},
    }
    said = f"A curve of {hours} hours at the {station}; the water is highest at {highest['hour']} o'clock. "
    display = {
        "type": "chart",
        "title": f"Tide, {station}",
        "alt": said + "The curve is drawn from the harmonic constants of the pilots' yearbook, without wind. " * 6,
        "payload": {"mark": "line", "data": {"values": levels}, "encoding": encoding},
        "fallback": {"type": "table", "payload": levels},
    }
    return Answer(text, display, {"station": station, "day": day, "levels": levels})


class TagFormatter:
    """Writes data as tags."""

    def name(self, key: str) -> tuple[str, str]:
        """Return the start and the end of the tag of a member."""
        if NAME.fullmatch(key) and not key.lower().startswith("xml"):
            return f"<{key}>", f"</{key}>"
        quoted = escape(key, {'"': "&quot;"})
        return f'<item key="{quoted}">', "</item>"

    def write(self, value: Any) -> str:
        """Return a value as tags."""
        match value:
            case dict():
                pairs = [(*self.name(key), self.write(one)) for key, one in value.items()]
                return "".join(f"{start}{inner}{end}" for start, end, inner in pairs)
            case list():
                return "".join(f"<item>{self.write(one)}</item>" for one in value)
            case str():
                return escape(value)
        return compact(value)


def cargo_manifest(call: Call, formatter: TagFormatter | None = None) -> Answer:
    vessel, holds, marks = call.args["vessel"], call.args["holds"], call.args.get("marks", {})
    total = sum(one["tonnes"] for one in holds)
    data: Json = {"vessel": vessel, "holds": holds, "marks": marks, "total_tonnes": total}
    display = {
        "type": "facts",
        "title": f"Manifest of {vessel['name']}",
        "alt": f"{len(holds)} holds with {total} tonnes altogether",
        "payload": marks,
        "meta": {"harbour.example/flag": vessel["flag"], "transient": False},
    }
    return Answer((formatter or TagFormatter()).write({"manifest": data}), display, data)


def speed_needed(call: Call) -> Answer:
    distance, minutes = call.args["distance_nm"], call.args["minutes"]
    at_once = math.nan if distance == 0 else math.inf
    value = round(distance * 60 / minutes, 3) if minutes else at_once
    text = "NaN" if math.isnan(value) else "Infinity" if math.isinf(value) else compact(value)
    return Answer(text, None, {"result": value})


def log_entry(call: Call) -> Answer:
    text = "\n".join([call.args["text"]] * int(call.args.get("repeat", 1)))
    most = int(call.args.get("max_chars", 300_000))
    return Answer(text[:most], cut=len(text) > most)


def find_vessel(call: Call) -> Answer:
    fleet, name = call.args["fleet"], call.args["name"]
    if fleet == "lost":
        display = {"type": "notification", "payload": {"message": f"{name} is not afloat.", "level": "warning"}}
        meta = {"params": {"name": name}, "side_effects": "none"}
        raise Failure("NOT_FOUND", f"No vessel of the lost fleet is called '{name}'.", meta, display=display)
    number = 100 + len(name)
    display = {
        "type": "image",
        "title": f"Vessel {number}",
        "payload": {"src": f"https://harbour.example/photos/{number}.png", "width": 640, "height": 480},
        "alt": f"A photograph of the {fleet} vessel with the number {number}, seen from the mole",
    }
    return Answer(f"{name} is in the {fleet} register.", display, {"fleet": fleet, "name": name, "number": number})


def my_moorings(call: Call) -> Answer:
    agent, status = call.filled["agent_id"], call.args.get("status", "all")
    moorings: list[Json] = [
        {"berth": "N3", "status": "open", "cents": 125000},
        {"berth": "A2", "status": "paid", "cents": 98000},
    ]
    kept = [one for one in moorings if status in ("all", one["status"])]
    lines = [f"{one['berth']} ({one['status']}): {one['cents'] / 100:.2f} EUR" for one in kept]
    display = {
        "type": "metric",
        "title": "Moorings",
        "payload": [{"label": one["berth"], "value": one["cents"], "unit": "cents"} for one in kept],
    }
    aside = "The harbour master asks you to collect your papers at window three before noon."
    return Answer(f"Agent {agent} has {len(kept)} moorings.\n" + "\n".join(lines), display, None, aside)


def pilot_roster(call: Call) -> Answer:
    watch, pilot = call.args["watch"], call.args.get("pilot", "P01")
    match watch:
        case "dog":
            raise Failure("NOT_FOUND", "No pilots are on watch at dusk.", {"params": {"watch": watch}})
        case "middle":
            meta: Json = {"params": {"tries": 3, "cached": False}, "side_effects": "none", "upstream_status": 503}
            raise Failure("UPSTREAM_UNAVAILABLE", "The pilots' station does not answer.", meta, wait=1500)
        case "captains":
            meta = {"recovery": "ask_user", "harbour.example/union": "pilots"}
            raise Failure("X_HARBOUR_STRIKE", "The pilots are on strike.", meta, category="unsupported")
        case "anchor":
            meta = {
                "cause": {"code": "PRECONDITION_FAILED"},
                "localized": [{"locale": "de", "message": "Der Lotse liegt noch vor Anker."}],
                "help": [{"title": "Pilotage", "url": "https://harbour.example/pilots"}],
            }
            raise Failure("CONFLICT", "The pilot is still at anchor.", meta)
        case "harbour":
            limit = {"scope": "tenant", "dimension": "requests", "max": 40, "reset_at": "2027-01-02T03:04:05Z"}
            raise Failure("RATE_LIMITED", "Too many questions about the roster.", {"limit": limit}, wait=700)
        case "budget":
            raise Failure("QUOTA_EXCEEDED", "The month's questions are used up.", {"side_effects": "none"})
    hours = {"first": "20-24", "morning": "04-08"}[watch]
    return Answer(f"{watch} watch ({hours}): {pilot}", None, {"watch": watch, "hours": hours, "pilot": pilot})


def weather_warning(call: Call) -> Answer:
    area, level = call.args["area"], int(call.args.get("level", 2))
    text = f"Wind warning of level {level} for the {area}."
    display = {
        "type": "group",
        "title": f"Warnings, {area}",
        "payload": [
            {"type": "notification", "payload": {"message": text, "level": "warning"}},
            {"type": "metric", "payload": {"label": "Beaufort", "value": level + 4}},
        ],
    }
    return Answer(text, display, {"area": area, "beaufort": level + 4})


def harbour_fees(call: Call) -> Answer:
    rebates = call.args.get("rebates", {})
    lines: list[Json] = []
    for one in call.args["lines"]:
        full = TARIFF[one["item"]] * int(one["quantity"])
        lines.append({**one, "cents": round(full * (100 - rebates.get(one["item"], 0)) / 100)})
    data = {"lines": lines, "cents": sum(int(one["cents"]) for one in lines)}
    display = {
        "type": "x-harbour-gauge",
        "title": "Fees",
        "alt": f"A gauge whose hand stands at {data['cents']} of the year's fees",
        "payload": {"cents": data["cents"]},
        "fallback": {"type": "table", "payload": lines},
    }
    return Answer(compact(data), display, data, media="application/json")


_BERTH_LIST: Json = {
    "type": "object",
    "properties": {"basin": {"type": "string"}, "berths": {"type": "array", "items": {"type": "object"}}},
    "required": ["basin", "berths"],
}
_VESSEL = takes(
    "name imo flag",
    name={"type": "string", "minLength": 1, "maxLength": 300},
    imo={"type": "string", "pattern": "^IMO[0-9]{7}$"},
    flag=choice("DE", "DK", "NO", "PA"),
)
_HOLD = takes(
    "number goods tonnes",
    number=count(1, 9),
    goods=words(80),
    tonnes={"type": "number", "minimum": 0, "maximum": 50000},
)
_MARK: Json = {"type": ["string", "number", "boolean", "null"], "maxLength": 200}
_LINE = takes("item quantity", item=choice(*TARIFF), quantity=count(0, 1_000_000))
_DAY: Json = {"type": "string", "pattern": "^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"}
_SPEED: Json = {"type": "object", "properties": {"result": {"type": ["number", "null"]}}, "required": ["result"]}
_FEES: Json = {
    "type": "object",
    "properties": {"lines": many(_LINE | {"additionalProperties": True}, 20), "cents": {"type": "integer"}},
    "required": ["lines", "cents"],
}
FILLED = ["agent_id", "office_note", "priority", "quota", "relief", "harbour_key"]
WATCHES = ("first", "morning", "dog", "middle", "captains", "anchor", "harbour", "budget", "graveyard")

TOOLS: dict[str, Tool] = {
    "list_berths": Tool(
        "Berths of a basin",
        takes("basin", basin=choice(*BERTHS), min_depth_dm=count(0, 200), show_user=SHOW),
        list_berths,
        _BERTH_LIST,
        {"display": True, "provides": "berth_list", "cacheable": True},
    ),
    "tideTable": Tool(
        "Tides of a day",
        takes("station day", station=choice("mole", "bridge", "lock"), day=_DAY, hours=count(1, 24), show_user=SHOW),
        tide_table,
        None,
        {"display": True, "cacheable": True},
    ),
    "cargo_manifest": Tool(
        "Manifest of a vessel's cargo",
        takes(
            "vessel holds",
            vessel=_VESSEL,
            holds=many(_HOLD, 6),
            marks={"type": "object", "additionalProperties": _MARK, "maxProperties": 20},
            show_user=SHOW,
        ),
        cargo_manifest,
        None,
        {"display": True, "xml_formatter": "TagFormatter"},
    ),
    "speed_needed": Tool(
        "Speed to arrive in time, in knots",
        takes(
            "distance_nm minutes",
            distance_nm={"type": "number", "minimum": 0, "maximum": 1000},
            minutes=count(0, 1440),
        ),
        speed_needed,
        _SPEED,
        {"wrapped_in": "result"},
    ),
    "log_entry": Tool(
        "Repeat an entry for the log book",
        takes("text", text=words(2000), repeat=count(1, 100), max_chars=count(1, 300_000)),
        log_entry,
    ),
    "find_vessel": Tool(
        "Find a vessel in the register",
        takes(
            "fleet name",
            fleet=choice("naval", "merchant", "lost"),
            name={"type": "string", "minLength": 1, "maxLength": 400},
            show_user=SHOW,
        ),
        find_vessel,
        None,
        {"display": True},
    ),
    "my_moorings": Tool(
        "Moorings of the agent",
        takes("", status=choice("open", "paid", "all"), show_user=SHOW),
        my_moorings,
        None,
        {"display": True, "server_populated": FILLED},
    ),
    "pilot_roster": Tool(
        "Pilots on a watch",
        takes("watch", watch=choice(*WATCHES), pilot={"type": "string", "pattern": "^P[0-9]{2}$"}),
        pilot_roster,
    ),
    "weather_warning": Tool(
        "Warnings for an area",
        takes("area", area=choice("bay", "coast", "open_sea"), level=count(1, 5), show_user=SHOW),
        weather_warning,
        None,
        {"display": True, "depends_on": ["tideTable"]},
    ),
    "harbour_fees": Tool(
        "Fees of a stay",
        takes(
            "lines",
            lines=many(_LINE, 20) | {"minItems": 1},
            rebates={"type": "object", "additionalProperties": {"type": "number", "minimum": 0, "maximum": 100}},
            berth_list={"type": "object"},
            show_user=SHOW,
        ),
        harbour_fees,
        _FEES,
        {"display": True, "depends_on": ["list_berths"]},
    ),
}
