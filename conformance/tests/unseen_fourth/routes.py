"""The tools of the airport: what a call and its outcome are, and a table of routes with their handlers."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

Json = dict[str, Any]

_SCHEMAS = Path(__file__).parents[3] / "schemas"
PREFIX: str = json.loads((_SCHEMAS / "names.json").read_text())["prefix"]
REGISTERED: dict[str, Json] = {
    row["code"]: row for row in json.loads((_SCHEMAS / "registry" / "error_codes.json").read_text())["codes"]
}
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


# -- calls and outcomes ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Call:
    """A call on its way through the chain.

    `nth` counts the calls of the tool, `again` those with the same arguments. The chain fills in the `route`, `filled`
    with what the server adds, and `forged` with what the caller sent in the place of it.
    """

    tool: str
    args: Json
    declaration: Json = field(default_factory=dict)
    handshake: bool = False
    documents: bool = True
    nth: int = 1
    again: int = 1
    route: Route | None = None
    filled: Json = field(default_factory=dict)
    forged: Json = field(default_factory=dict)

    @property
    def declared(self) -> bool:
        """Return whether the client declared the extension."""
        return bool(self.declaration)

    @property
    def about(self) -> Json:
        """Return the metadata of the tool."""
        return (self.route.about if self.route is not None else None) or {}

    @property
    def shown(self) -> bool:
        """Return whether the caller wants a display of a tool that has one."""
        return self.about.get("display") is True and self.args.get("show_user") is True


@dataclass(frozen=True, slots=True)
class Answer:
    """What a handler that succeeded gives; `aside` is a text for the person alone."""

    text: str
    show: Any = None
    data: Json | None = None
    aside: str = ""
    media: str = ""
    filled: Json | None = None


class Failure(Exception):
    """What a handler that failed gives."""

    def __init__(
        self, code: str, message: str, meta: Json | None = None, *, category: str = "", after_ms: int | None = None
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.meta, self.category, self.after_ms = code, message, meta, category, after_ms

    @property
    def retryable(self) -> bool:
        """Return what the registry says of the code."""
        return bool(REGISTERED.get(self.code, {}).get("retryable", False))


Outcome = Answer | Failure
Handler = Callable[[Call], Answer]
Step = Callable[[Call], Awaitable[Outcome]]
Middleware = Callable[[Call, Step], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class Route:
    """What is said of a tool, and what does its work, after a `pause` in seconds."""

    summary: str
    takes: Json
    do: Handler
    gives: Json | None = None
    about: Json | None = None
    reads: bool = True
    pause: float = 0


def edited(routes: dict[str, Route], name: str, **changes: Any) -> dict[str, Route]:
    """Return the routes with one of them changed."""
    return {**routes, name: replace(routes[name], **changes)}


# -- schemas -----------------------------------------------------------------------------------------------------------

STRING: Json = {"type": "string"}
SHOW_USER: Json = {"type": "boolean", "default": False, "description": "Show the person a display."}
FLIGHT: Json = {"type": "string", "pattern": "^[A-Z]{2}[0-9]{1,4}$", "examples": ["AC101", "LH7"]}
DAY: Json = {"type": "string", "format": "date", "examples": ["2026-05-01"]}
EMAIL: Json = {"type": "string", "format": "email", "examples": ["ada@example.org"]}
PHONE: Json = {"type": "string", "pattern": "^[+][0-9]{6,15}$", "examples": ["+16135550123"]}


def choice(*values: Any) -> Json:
    """Return the schema of an enumeration."""
    return {"enum": [*values]}


def record(*needed: str, **properties: Json) -> Json:
    """Return the schema of an object with these properties and no others."""
    return {"type": "object", "properties": properties, "required": [*needed], "additionalProperties": False}


def many(items: Json, **more: Any) -> Json:
    """Return the schema of an array."""
    return {"type": "array", "items": items, **more}


# -- handlers ----------------------------------------------------------------------------------------------------------


def find_flights(call: Call) -> Answer:
    to, airlines = call.args.get("destination") or "YYZ", call.args.get("airlines") or ["AC"]
    on = f" on {call.args['day']}" if "day" in call.args else ""
    found = [
        f"{airlines[number % len(airlines)]}{101 + number} {call.args['origin']}-{to}{on}"
        for number in range(int(call.args.get("limit", 4)))
    ]
    return Answer("\n".join(found), data={"result": found})


def flight_status(call: Call) -> Answer:
    flight, lang = call.args["flight"], call.args.get("lang", "en")
    gate = None if flight.endswith("0") else f"B{len(flight)}"
    state = {"en": "boarding", "fr": "embarquement", "de": "Einsteigen"}[lang]
    data = {"flight": flight, "state": state, "gate": gate}
    return Answer(f"{flight}: {state}, gate {gate or 'open'}", data=data)


def departure_board(call: Call) -> Answer:
    terminal, lang, count = call.args["terminal"], call.args.get("lang", "en"), int(call.args.get("rows", 5))
    rows = [[f"AC{201 + number}", f"{6 + number // 4:02}:{number % 4 * 15:02}", number + 1] for number in range(count)]
    text = "\n".join(f"{flight} at {at}, gate {terminal}{gate}" for flight, at, gate in rows)
    columns = ["flight", {"key": "at", "title": "Time"}, {"key": "gate", "type": "number", "align": "right"}]
    show = {
        "type": "table",
        "title": f"Departures, terminal {terminal}",
        "alt": f"A board with {count} departures of terminal {terminal}.",
        "payload": {"columns": columns, "rows": rows, "row_header": "flight", "total_rows": count},
        "meta": {"locale": lang, "source": "tower"},
    }
    return Answer(text or "Nothing leaves.", show)


def assign_gate(call: Call) -> Answer:
    flight, gate, passengers = call.args["flight"], call.args["gate"], call.args.get("passengers", 0)
    if call.args.get("priority") == "emergency":
        meta: Json = {"upstream_status": 503, "side_effects": "none"}
        raise Failure("UPSTREAM_UNAVAILABLE", "The tower does not answer at the moment.", meta, after_ms=1500)
    if call.args.get("priority") == "vip":
        raise Failure("X_AIRPORT_CURFEW", "Guests of state wait until six.", category="permission_denied")
    if gate.startswith("F"):
        meta = {"params": {"gate": gate}, "side_effects": "none", "recovery": "fix_input"}
        raise Failure("CONFLICT", f"Gate {gate} is taken.", meta)
    if passengers > 853:
        limit = {"scope": "gate", "dimension": "passengers", "max": 853}
        meta = {"params": {"passengers": passengers}, "limit": limit}
        raise Failure("X_AIRPORT_CROWDED", "That many passengers do not fit.", meta, category="too_large")
    model = call.args.get("aircraft", {}).get("model", "any aircraft")
    return Answer(f"{flight} has gate {gate}, for {model}.")


def track_bag(call: Call) -> Answer:
    bag, camera = call.args["bag"], call.args.get("camera", "belt")
    if bag["by"] == "name" and bag["name"] not in {"Ada", "Lin"}:
        raise Failure("NOT_FOUND", f"There is no bag of '{bag['name']}'.", {"params": {"name": bag["name"]}})
    which = bag.get("tag") or bag["name"]
    picture = {"src": f"https://bags.example/{camera}/{which}.jpg", "width": 640, "height": 480, "mime": "image/jpeg"}
    show = {"type": "image", "id": f"bag-{which}", "alt": f"Bag {which}, seen by the {camera}.", "payload": picture}
    return Answer(f"Bag {which} is on the {camera}.", show)


def bag_weights(call: Call) -> Answer:
    weights, unit = call.args["weights"], call.args.get("unit", "kg")
    values = [{"bag": number + 1, "weight": weight} for number, weight in enumerate(weights)]
    encoding = {"x": {"field": "bag", "type": "ordinal"}, "y": {"field": "weight", "type": "quantitative"}}
    show = {
        "type": "chart",
        "title": f"Bags ({unit})",
        "alt": f"Bars for {len(weights)} bags.",
        "payload": {"mark": "bar", "data": {"values": values}, "encoding": encoding},
    }
    return Answer(f"{len(weights)} bags weigh {sum(weights):.2f} {unit}.", show)


def weather(call: Call) -> Answer:
    station, wind, celsius = call.args["station"], int(call.args["wind"]), call.args.get("celsius", 15)
    remarks, also = call.args.get("remarks") or "", call.args.get("also", [])
    metric = {"type": "metric", "payload": {"label": f"Wind at {station}", "value": wind, "unit": "kn"}}
    facts = {"type": "facts", "payload": {"Station": station, "Celsius": celsius, "Remarks": remarks or None}}
    more = [{"type": "text", "payload": f"See {one} too."} for one in also]
    level = "warning" if wind > 60 else "info"
    shows: dict[str, Json] = {
        "metric": {**metric, "alt": f"A gauge at {wind} knots. {remarks}".strip()},
        "facts": {**facts, "title": f"Weather at {station}"},
        "group": {"type": "group", "payload": [metric, facts, *more]},
        "gauge": {
            "type": "x-airport-gauge",
            "payload": {"from": 0, "to": 150, "at": wind},
            "alt": f"A needle at {wind} knots. {remarks}".strip(),
            "fallback": {**metric, "fallback": {"type": "text", "payload": f"{wind} kn"}},
            "meta": {"airport/colour": "amber"},
        },
        "notification": {"type": "notification", "payload": {"message": f"{wind} kn", "level": level}},
    }
    said = f" {remarks}" if remarks else ""
    return Answer(f"{station}: {wind} kn, {celsius} °C.{said}", shows[call.args.get("layout", "metric")])


def announce(call: Call) -> Answer:
    message, kind = call.args["message"], call.args.get("kind", "text")
    payload: Any = message
    if kind == "code":
        payload = {"code": message, "language": "text"}
    elif kind == "json":
        payload = {"lines": message.split("\n"), "languages": call.args.get("languages", [])}
    elif kind == "file":
        size = len(NOT_XML.sub("\ufffd", message).encode())
        payload = {"uri": "https://airport.example/announcements/1", "name": "announcement.txt", "size": size}
    return Answer(message, {"type": kind, "title": f"Announcement: {message[:60]}", "payload": payload})


def shift_log(call: Call) -> Answer:
    tags = "".join(f" #{tag}" for tag in call.args.get("tags", []))
    return Answer(f"{call.args.get('author') or 'someone'}: {call.args['entry']}{tags}")


def crew_roster(call: Call) -> Answer:
    role, day = call.args.get("role", "ground"), call.args.get("day", "2026-05-01")
    facts = [{"label": "Role", "value": role}, {"label": day, "value": "06:00 to 14:00"}]
    show = {"type": "facts", "title": "Your shift", "payload": facts}
    return Answer(f"{call.filled['staff_id']} works as {role} on {day}, 06:00 to 14:00.", show)


def page_passenger(call: Call) -> Answer:
    contact = call.args["contact"]
    at, message = call.args.get("at", "now"), call.args.get("message") or "Please come to your gate."
    aside = "Please keep your telephone switched on." if contact["kind"] == "phone" else ""
    return Answer(f"To {contact.get('address') or contact.get('number')}, {at}: {message}", aside=aside)


def fuel_plan(call: Call) -> Answer:
    fuel = round(call.args["distance_km"] * call.args["burn_kg_per_km"], 3)
    tanks = int(call.args.get("tanks", 2))
    each = round(fuel / tanks, 3)
    return Answer(f"{fuel} kg, {each} kg in each of {tanks} tanks.", data={"kg": fuel, "per_tank": each})


def slot_plan(call: Call) -> Answer:
    slots = dict(sorted(call.args["slots"].items(), key=lambda item: str(item[1])))
    text = "\n".join(f"{at} {flight}" for flight, at in slots.items())
    return Answer(text or "No slots.", {"type": "facts", "title": f"{len(slots)} slots", "payload": slots})


def airport_info(call: Call) -> Answer:
    info = {"code": "YOW", "name": "Ottawa", "terminals": ["A", "B", "C"], "elevation_m": 114}
    return Answer(json.dumps(info), media="application/json")


ROUTES: dict[str, Route] = {
    "find_flights": Route(
        "Find flights from one airport to another.",
        record(
            "origin",
            origin={"type": "string", "pattern": "^[A-Z]{3}$", "examples": ["YOW"]},
            destination={"type": ["string", "null"], "pattern": "^[A-Z]{3}$", "examples": ["FRA", None]},
            day=DAY,
            airlines=many(choice("AC", "LH", "NH", "QF"), uniqueItems=True),
            limit={"type": "integer", "minimum": 1, "maximum": 50, "default": 4},
        ),
        find_flights,
        record("result", result=many(STRING)),
        {"cacheable": True, "wrapped_in": "result", "provides": "flights"},
    ),
    "flight_status": Route(
        "Say how a flight is doing.",
        record("flight", flight=FLIGHT, lang=choice("en", "fr", "de")),
        flight_status,
        record("flight", "state", "gate", flight=STRING, state=STRING, gate={"type": ["string", "null"]}),
    ),
    "departure_board": Route(
        "List the next departures of a terminal.",
        record(
            "terminal",
            terminal=choice("A", "B", "C"),
            rows={"type": "integer", "minimum": 0, "maximum": 40, "default": 5},
            lang=choice("en", "fr", "ar"),
            show_user=SHOW_USER,
        ),
        departure_board,
        about={"display": True},
    ),
    "assign_gate": Route(
        "Give a flight a gate.",
        {
            **record(
                "flight",
                "gate",
                flight=FLIGHT,
                gate={"type": "string", "pattern": "^[A-F][0-9]{1,2}$", "examples": ["B12", "F3"]},
                aircraft={"$ref": "#/$defs/Aircraft"},
                passengers={"type": "integer", "minimum": 0},
                priority=choice("normal", "emergency", "vip"),
            ),
            "$defs": {
                "Aircraft": record(
                    "model",
                    model={"type": "string", "minLength": 1, "maxLength": 40},
                    seats={"type": "integer", "minimum": 1, "maximum": 900},
                    span_m={"type": "number", "exclusiveMinimum": 0, "maximum": 100},
                    tail={"type": ["string", "null"], "maxLength": 10},
                )
            },
        },
        assign_gate,
        reads=False,
    ),
    "track_bag": Route(
        "Find a bag by its tag or by the name of its owner.",
        record(
            "bag",
            bag={
                "oneOf": [
                    record("by", "tag", by={"const": "tag"}, tag={"type": "string", "pattern": "^[0-9]{10}$"}),
                    record("by", "name", by={"const": "name"}, name={"type": "string", "maxLength": 200}),
                ],
                "examples": [{"by": "tag", "tag": "0016123456"}, {"by": "name", "name": "Ada"}],
            },
            camera=choice("belt", "hall", "cart"),
            show_user=SHOW_USER,
        ),
        track_bag,
        about={"display": True},
    ),
    "bag_weights": Route(
        "Add up the weights of bags.",
        record(
            "weights",
            weights=many({"type": "number", "minimum": 0, "maximum": 200}, maxItems=300),
            unit=choice("kg", "lb"),
            show_user=SHOW_USER,
        ),
        bag_weights,
        about={"display": True},
    ),
    "weather": Route(
        "Report the weather at a station.",
        record(
            "station",
            "wind",
            station={"type": "string", "pattern": "^[A-Z]{4}$", "examples": ["CYOW"]},
            wind={"type": "integer", "minimum": 0, "maximum": 150},
            celsius={"type": "number", "minimum": -90, "maximum": 60},
            remarks={"type": ["string", "null"], "maxLength": 1000},
            also=many({"type": "string", "pattern": "^[A-Z]{4}$"}, maxItems=8),
            layout=choice("metric", "facts", "group", "gauge", "notification"),
            show_user=SHOW_USER,
        ),
        weather,
        about={"display": True},
    ),
    "announce": Route(
        "Lay out an announcement.",
        record(
            "message",
            message={"type": "string", "maxLength": 20000},
            kind=choice("text", "markdown", "html", "code", "json", "file"),
            languages=many(choice("en", "fr", "de", "ja", "ar"), uniqueItems=True),
            show_user=SHOW_USER,
        ),
        announce,
        about={"display": True},
    ),
    "shift_log": Route(
        "Write an entry of the log.",
        record(
            "entry",
            entry={"type": "string", "maxLength": 20000},
            author={"type": ["string", "null"], "maxLength": 60},
            tags=many({"type": "string", "maxLength": 20}, maxItems=10),
        ),
        shift_log,
        reads=False,
    ),
    "crew_roster": Route(
        "List the shifts of whoever asks.",
        record(role=choice("pilot", "cabin", "ground"), day=DAY, show_user=SHOW_USER),
        crew_roster,
        about={"display": True, "server_populated": ["staff_id", "base", "badge"]},
    ),
    "page_passenger": Route(
        "Preview a message to a passenger.",
        record(
            "contact",
            contact={
                "anyOf": [
                    record("kind", "address", kind={"const": "email"}, address=EMAIL),
                    record("kind", "number", kind={"const": "phone"}, number=PHONE),
                ],
                "examples": [{"kind": "email", "address": "ada@example.org"}],
            },
            at={"type": "string", "format": "date-time", "examples": ["2026-05-01T09:30:00Z"]},
            message={"type": ["string", "null"], "maxLength": 500},
        ),
        page_passenger,
        about={"depends_on": ["find_flights"]},
    ),
    "fuel_plan": Route(
        "Say how much fuel goes into each tank.",
        record(
            "distance_km",
            "burn_kg_per_km",
            distance_km={"type": "number", "minimum": 0, "maximum": 20000},
            burn_kg_per_km={"type": "number", "minimum": 0, "maximum": 50},
            tanks={"type": "integer", "minimum": 0, "maximum": 12, "default": 2},
        ),
        fuel_plan,
        record("kg", "per_tank", kg={"type": "number"}, per_tank={"type": "number"}),
    ),
    "slot_plan": Route(
        "Sort flights by their slots; this takes a moment.",
        record(
            "slots",
            slots={
                "type": "object",
                "patternProperties": {"^[A-Z]{2}[0-9]{1,4}$": {"type": "string", "format": "date-time"}},
                "additionalProperties": False,
                "maxProperties": 50,
                "examples": [{"AC101": "2026-05-01T09:30:00Z"}],
            },
            show_user=SHOW_USER,
        ),
        slot_plan,
        about={"display": True, "cacheable": True},
        pause=0.2,
    ),
    "airport_info": Route("Describe the airport.", record(), airport_info),
}
