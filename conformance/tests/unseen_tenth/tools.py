"""The tools of the harbour."""

from __future__ import annotations

import json

from unseen_eighth.kit import Answer, Call, Failure, Json, Tool, choice, count, many, takes, words

SPECK = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SHOW: Json = {"type": "boolean", "default": False, "description": "True to show the person a display of the answer."}
LONGEST = 5500
BERTHS = 317
SIGNALS = ("Alfa", "Bravo", "Charlie", "Delta", "Echo", "Foxtrot")


def find_berths(call: Call) -> Answer:
    """Return some of the berths, from a place in the list on."""
    query, quay = call.args["query"], call.args.get("quay", "north")
    skip, limit = int(call.args.get("skip", 0)), int(call.args.get("limit", 4))
    depth = call.args.get("depth", {})
    known: list[Json] = [
        {"berth": f"{quay} {n}", "note": f"for {query}", "depth": round(0.4 + n * 0.05, 2), "free": n % 3 == 0}
        for n in range(1, BERTHS + 1)
    ]
    known = [one for one in known if depth.get("least", 0) <= one["depth"] <= depth.get("most", 100)]
    found = known[skip : skip + limit]
    left = max(len(known) - skip - limit, 0)
    display: Json = {
        "type": "table",
        "title": f"{len(found)} of {len(known)} berths",
        "alt": f"{len(found)} of {len(known)} berths on the {quay} quay.",
        "payload": {
            "columns": ["berth", {"key": "depth", "title": "Depth (m)", "type": "number", "align": "right"}, "note"],
            "rows": found,
            "total_rows": len(known),
            "truncated": len(found) < len(known),
        },
        "meta": {"truncated": len(found) < len(known), "harbour/quay": quay},
    }
    said = [f"{one['berth']}: {one['depth']} m, {one['note']}" for one in found] or [f"No berth {skip} on for {query}."]
    said += [f"{left} more; skip {skip + limit}."] if left else []
    return Answer("\n".join(said), display, {"berths": found, "known": len(known), "left": left})


def tide_chart(call: Call) -> Answer:
    """Return a chart of the height of the water."""
    heights, kind = call.args["heights"], call.args.get("mark", "line")
    said = f"{len(heights)} heights of the water"
    said += f", from {min(heights)} m to {max(heights)} m" if heights else ""
    display: Json = {
        "type": "chart",
        "alt": f"{said}, as a chart.",
        "payload": {
            "mark": kind,
            "data": {"values": [{"hour": n, "height": one, "transform": None} for n, one in enumerate(heights)]},
            "encoding": {
                "x": {"field": "hour", "type": "quantitative"},
                "y": {"field": "height", "type": "quantitative", "title": "Height (m)"},
            },
        },
    }
    if "heading" in call.args:
        display["title"] = call.args["heading"]
        said = f"{call.args['heading']}: {said}"
    return Answer(said + ".", display)


def harbour_map(call: Call) -> Answer:
    """Return a picture of a place in the harbour."""
    place, style = call.args["place"], call.args.get("style", "photo")
    src = SPECK if style == "sketch" else f"https://harbour.example/maps/{style}.png"
    picture: Json = {
        "type": "image",
        "alt": f"How this place looks from the water, as a {style}: {place}",
        "payload": {"src": src, "mime": "image/png", "width": call.args.get("width", 640)},
    }
    if style == "pilot":
        lights = {"lights": ["red", "green"], "at": [57.7, 11.9]}
        picture = {"type": "x-harbour-lights", "payload": lights, "alt": picture["alt"], "fallback": picture}
    return Answer(f"This is a {style} of the place.", picture)


def notice(call: Call) -> Answer:
    """Return a notice as it would hang on the board; of a long one, the beginning."""
    text, form = call.args["text"], call.args.get("form", "text")
    said = text[:LONGEST]
    payload: object = said
    if form == "code":
        payload = {"code": said}
        if "language" in call.args:
            payload["language"] = call.args["language"]
    elif form == "json":
        payload = {"letters": len(said), "lines": said.split("\n")[:20]}
    display: Json = {"type": form, "title": "A notice", "payload": payload}
    if said != text:
        display["meta"] = {"truncated": True}
    return Answer(said, display, cut=said != text)


def my_berth(call: Call) -> Answer:
    """Return the boats of whoever asks."""
    season, most = call.args.get("season", "summer"), int(call.args.get("most", 2))
    boats: list[Json] = [{"label": f"Boat {n + 1}", "value": f"{season}, berth {n * 7 + 3}"} for n in range(most)]
    display = {"type": "facts", "title": f"{most} boats", "payload": boats, "alt": f"{most} boats: one {season}."}
    said = "".join(f"\n{one['label']}: {one['value']}" for one in boats)
    return Answer(f"{call.filled['owner_id']} has {most} boats.{said}", display)


def check_manifest(call: Call) -> Answer:
    """Return whether a cargo could be landed, and a word for the person alone."""
    cargo = call.args["cargo"]
    aside = "Between us: the crane is slow on Mondays." if call.args.get("whisper") else ""
    said = [f"{one['what']}: {one['tonnes']} t {' '.join(one.get('hazards', []))}".rstrip() for one in cargo]
    return Answer("\n".join([f"{len(cargo)} lots can be landed.", *said]), aside=aside)


def outline(hold: Json, depth: int = 0) -> str:
    """Return what is in a hold, line by line."""
    within = "".join("\n" + outline(one, depth + 1) for one in hold.get("holds", []))
    return f"{'  ' * depth}{hold['name']} ({hold.get('tonnes', 0)} t){within}"


def shown_hold(hold: Json, deepest: int) -> Json:
    """Return the display of a hold: a group, or the outline where it is empty or no group can be nested deeper."""
    if not hold.get("holds") or not deepest:
        return {"type": "text", "payload": outline(hold)}
    return {
        "type": "group",
        "title": hold["name"],
        "payload": [shown_hold(one, deepest - 1) for one in hold["holds"]],
    }


def stow(call: Call) -> Answer:
    """Return how a ship is stowed."""
    return Answer(outline(call.args["ship"]), shown_hold(call.args["ship"], 3))


def log_entry(call: Call) -> Answer:
    """Return an entry of the log of the harbour."""
    entry = call.args["entry"]
    said = "\n".join(f"{name} = {json.dumps(one, ensure_ascii=False)}" for name, one in entry.items())
    return Answer(said, {"type": "facts", "title": "The log", "payload": dict(entry)})


def hail(call: Call) -> Answer:
    """Return a call by radio as it would be spoken."""
    said = f"{call.args['to']}, this is {call.args['sender']}, channel {call.args.get('channel', 16)}.\n"
    said += call.args["message"]
    if call.args.get("relay") is not None:
        said += f"\nBy way of {call.args['relay']}."
    return Answer(said)


def pilot(call: Call) -> Answer:
    """Return when a pilot comes aboard, or one of several failures."""
    vessel, station = call.args["vessel"], call.args.get("station", "open")
    if station == "busy":
        limit = {"scope": "station", "dimension": "pilots", "max": 3, "reset_at": "2027-05-01T06:00:00Z"}
        note = {"type": "notification", "payload": {"message": "All pilots are out.", "level": "info"}}
        raise Failure("RATE_LIMIT", "All three pilots are out.", {"limit": limit}, wait=1200, display=note)
    if station == "fog":
        meta: Json = {"recovery": "ask_user", "harbour/sight": 80}
        raise Failure("X_HARBOUR_FOG", "Nobody sails in this fog.", meta, category="conflict")
    if station == "archive":
        name = vessel["name"]
        raise Failure("NOT_FOUND", f"No pilot was ever on '{name}'.", {"params": {"vessel": name}})
    if station == "offline":
        raise Failure("UPSTREAM_UNAVAILABLE", "The radio is silent.", {"upstream_status": 503}, wait=1500)
    if station == "slow":
        raise Failure("TIMEOUT", "The station took too long.", {"side_effects": "none"})
    shown: Json = {"type": "json", "payload": {"vessel": vessel["name"], "at": [6, 30]}, "id": "pilot"}
    return Answer(f"A pilot boards {vessel['name']} at 06:30.", shown)


def dues(call: Call) -> Answer:
    """Return what each day costs; nobody thought of a stay of no days."""
    each = call.args["tonnage"] * 0.375 / int(call.args.get("days", 1))
    return Answer(f"{each:.2f} for each day", data={"value": each})


def flags(call: Call) -> Answer:
    """Return the flags that stand for the first letters."""
    found = list(SIGNALS[: int(call.args.get("most", 6))])
    return Answer("\n".join(found), data={"flags": found})


def bulletin(call: Call) -> Answer:
    """Return one of several displays about a quay."""
    quay, level, remarks = call.args["quay"], call.args["level"], call.args.get("remarks", [])
    metric: Json = {"type": "metric", "payload": {"label": quay, "value": level, "unit": "m", "delta": -0.25}}
    looks: dict[str, Json] = {
        "metric": metric,
        "facts": {"type": "facts", "payload": {"Quay": quay, "Level": level, "Flooded": level > 4, "Crane": None}},
        "remarks": {
            "type": "group",
            "title": f"{len(remarks)} remarks",
            "payload": [{"type": "markdown", "payload": one} for one in remarks],
        },
        "gauge": {
            "type": "x-harbour-gauge",
            "payload": {"float": level},
            "alt": f"A float at {level} metres.",
            "fallback": {**metric, "fallback": {"type": "text", "payload": f"{level} metres"}},
        },
        "storm": {"type": "notification", "payload": {"message": f"A storm is near {quay}.", "level": "warning"}},
        "almanac": {
            "type": "file",
            "payload": {"uri": f"https://harbour.example/{quay}.pdf", "mime": "application/pdf", "size": 70211},
        },
    }
    said = "".join(f"\n* {one}" for one in remarks)
    return Answer(f"The water at {quay} stands at {level} m.{said}", looks[call.args.get("look", "metric")])


def land_cargo(call: Call) -> Answer:
    """Land a cargo."""
    agent = call.args["agent"]
    said = "".join(f"\n{one['what']}: {one['tonnes']} t" for one in call.args["cargo"])
    return Answer(f"{agent['name']} lands on {call.args['day']}:{said}")


_LOT = takes(
    "what tonnes",
    what=words(120),
    tonnes={"type": "number", "exclusiveMinimum": 0, "maximum": 90000},
    hazards={"type": "array", "items": choice("flammable", "toxic", "live"), "maxItems": 3, "uniqueItems": True},
)
_HOLD = takes(
    "name",
    name=words(60),
    tonnes={"type": "number", "minimum": 0, "maximum": 50000},
    holds=many({"$ref": "#/$defs/hold"}, 6),
)
_DEEP: Json = {"name": "chest", "tonnes": 0.5}
for _name in ("locker", "lower hold", "hold", "barge"):
    _DEEP = {"name": _name, "holds": [_DEEP]}
_ENTRY: Json = {
    "type": "object",
    "properties": {"wind": count(0, 12)},
    "additionalProperties": {"type": ["string", "integer", "boolean", "null"], "maxLength": 400},
    "maxProperties": 12,
    "examples": [{"wind": 5, "pilot aboard": True, "sea & swell": "moderate", "ice": None, "ships": 31}],
}
_BERTH = takes(
    "berth note depth free",
    berth={"type": "string"},
    note={"type": "string"},
    depth={"type": "number"},
    free={"type": "boolean"},
)
_DEPTH = takes(
    least={"type": "number", "minimum": 0, "maximum": 100}, most={"type": "number", "minimum": 0, "maximum": 100}
)
_MAYBE: Json = {"anyOf": [{"type": "string", "maxLength": 150}, {"type": "null"}], "default": None}
TOOLS: dict[str, Tool] = {
    "find_berths": Tool(
        "Find berths on a quay, some at a time.",
        takes(
            "query",
            query=words(250),
            quay=choice("north", "south", "fishing"),
            depth=_DEPTH,
            skip={**count(0, 400), "default": 0},
            limit={**count(1, 300), "default": 4},
            show_user=SHOW,
        ),
        find_berths,
        gives=takes(
            "berths known left",
            berths={"type": "array", "items": _BERTH},
            known={"type": "integer"},
            left={"type": "integer"},
        ),
        meta={"display": True, "provides": "berths"},
    ),
    "tide_chart": Tool(
        "Draw the height of the water.",
        takes(
            "heights",
            heights=many({"type": "number", "minimum": -5, "maximum": 15}, 200),
            mark=choice("line", "bar", "tick"),
            heading=words(150),
            show_user=SHOW,
        ),
        tide_chart,
        meta={"display": True, "depends_on": ["find_berths"]},
    ),
    "harbour_map": Tool(
        "Show a place in the harbour.",
        takes(
            "place",
            place=words(1200),
            style=choice("photo", "sketch", "pilot"),
            width={"type": "number", "exclusiveMinimum": 0, "maximum": 4096},
            show_user=SHOW,
        ),
        harbour_map,
        meta={"display": True, "cacheable": True, "depends_on": ["tide_chart"]},
    ),
    "notice": Tool(
        "Lay out a notice for the board.",
        takes(
            "text",
            text=words(14000),
            form=choice("text", "markdown", "html", "code", "json"),
            language={"type": "string", "minLength": 1, "maxLength": 30, "examples": ["python"]},
            show_user=SHOW,
        ),
        notice,
        meta={"display": True},
    ),
    "my_berth": Tool(
        "List the boats of whoever asks.",
        takes(season=choice("summer", "winter"), most=count(0, 10), show_user=SHOW),
        my_berth,
        meta={"display": True, "server_populated": ["owner_id", "address", "resident", "ledger", "code"]},
    ),
    "check_manifest": Tool(
        "Check a cargo before it is landed.",
        takes("cargo", cargo=many(_LOT, 20), whisper={"type": "boolean"}),
        check_manifest,
        meta={"server_populated": ["code"], "depends_on": ["find_berths", "log-entry"]},
    ),
    "stow": Tool(
        "Show how a ship is stowed, hold within hold.",
        {
            **takes("ship", ship={"$ref": "#/$defs/hold", "examples": [_DEEP]}, show_user=SHOW),
            "$defs": {"hold": _HOLD},
        },
        stow,
        meta={"display": True},
    ),
    "log-entry": Tool(
        "Lay out an entry of the log.", takes("entry", entry=_ENTRY, show_user=SHOW), log_entry, meta={"display": True}
    ),
    "hail": Tool(
        "Word a call by radio.",
        takes(
            "to sender message",
            to=words(80),
            sender=words(80),
            message=words(9000),
            channel=count(1, 88),
            relay=_MAYBE,
        ),
        hail,
    ),
    "pilot": Tool(
        "Say when a pilot comes aboard.",
        takes(
            "vessel",
            vessel=takes("name", name=words(3000), flag=choice("home", "foreign")),
            station=choice("open", "busy", "fog", "archive", "offline", "slow"),
            show_user=SHOW,
        ),
        pilot,
        meta={"display": True},
    ),
    "dues": Tool(
        "Reckon the dues of a stay.",
        takes("tonnage", tonnage={"type": "number", "minimum": 0, "maximum": 500000}, days=count(0, 90)),
        dues,
        gives=takes("value", value={"type": "number"}),
        meta={"wrapped_in": "value"},
    ),
    "flags": Tool(
        "List the flags of the first letters.",
        takes(most=count(0, 6)),
        flags,
        gives=takes("flags", flags={"type": "array", "items": {"type": "string"}}),
        meta={"wrapped_in": "flags", "cacheable": True},
        idempotent=True,
    ),
    "bulletin": Tool(
        "Show a quay.",
        takes(
            "quay level",
            quay={"type": "string", "pattern": "^Q[1-9]$", "examples": ["Q4"]},
            level={"type": "number", "minimum": -5, "maximum": 15},
            look=choice("metric", "facts", "remarks", "gauge", "storm", "almanac"),
            remarks=many(words(70), 30),
            show_user=SHOW,
        ),
        bulletin,
        meta={"display": True},
    ),
    "land_cargo": Tool(
        "Land a cargo.",
        takes(
            "agent day cargo",
            agent=takes("name", name=words(80), email={"type": "string", "format": "email"}),
            day={"type": "string", "format": "date", "examples": ["2027-05-06"]},
            cargo=many(_LOT, 20),
        ),
        land_cargo,
        reads=False,
    ),
}
