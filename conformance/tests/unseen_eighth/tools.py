"""The tools of the observatory."""

from __future__ import annotations

import json

from unseen_eighth.kit import Answer, Call, Failure, Json, Tool, choice, count, many, takes, words

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SHOW: Json = {"type": "boolean", "default": False, "description": "Whether the person sees a display."}
LONGEST = 6000
KNOWN = 34
CATALOGUES = {"Messier": 1774, "New General": 1888, "Index": 1895, "Hipparcos": 1997, "Gaia": 2016}


def find_objects(call: Call) -> Answer:
    """Return a page of objects that nobody has discovered."""
    query, kind, limit = call.args["query"], call.args.get("kind", "star"), int(call.args.get("limit", 5))
    faintest, at = call.args.get("max_magnitude", 30), int(call.args.get("cursor", "p0")[1:]) * limit
    known = [{"name": f"{kind} {n + 1}: {query}", "magnitude": round(n * 0.7 - 2, 1)} for n in range(KNOWN)]
    known = [one for one in known if one["magnitude"] <= faintest]
    found = known[at : at + limit]
    more = f"p{at // limit + 1}" if at + limit < len(known) else None
    display: Json = {
        "type": "table",
        "title": f"Objects: {query}"[:200],
        "alt": f"{len(found)} of {len(known)} objects, from the catalogues {call.args.get('catalogues', ['all'])}."[
            :900
        ],
        "payload": {
            "columns": ["name", {"key": "magnitude", "type": "number", "align": "right"}],
            "rows": [[one["name"], one["magnitude"]] for one in found],
            "total_rows": len(known),
        },
        "meta": {"truncated": len(found) < len(known), "observatory/kind": kind},
    }
    said = [f"{one['name']} ({one['magnitude']})" for one in found] or ["Nothing as bright as that."]
    return Answer(
        "\n".join([*said, *([f"More with the cursor {more}."] if more else [])]),
        display,
        {
            "objects": found,
            "next_cursor": more,
        },
    )


def list_catalogues(call: Call) -> Answer:
    """Return the names of catalogues."""
    since = call.args.get("since", 0)
    found = [name for name, year in CATALOGUES.items() if year >= since]
    return Answer("\n".join(found), data={"result": found})


def light_curve(call: Call) -> Answer:
    """Return a chart of the light of a star, with a line for the mean where there is one."""
    samples, band = call.args["samples"], call.args.get("band", "V")
    values = [{"n": number, "light": one, "url": band} for number, one in enumerate(samples)]
    mean = sum(samples) / len(samples) if samples else None
    rule: list[Json] = [] if mean is None else [{"mark": "rule", "encoding": {"y": {"datum": mean}}}]
    display = {
        "type": "chart",
        "title": call.args.get("label", f"Band {band}")[:200],
        "alt": f"A curve in the band {band}, from {min(samples)} to {max(samples)}." if samples else "An empty chart.",
        "payload": {
            "data": {"values": values},
            "layer": [
                {
                    "mark": "line",
                    "encoding": {
                        "x": {"field": "n", "type": "quantitative"},
                        "y": {"field": "light", "type": "quantitative"},
                    },
                },
                *rule,
            ],
        },
    }
    return Answer(f"{len(samples)} samples: {', '.join(str(one) for one in samples)}", display)


def sky_image(call: Call) -> Answer:
    """Return a picture of the sky; the archive has lost all of its plates."""
    target, width = call.args["target"], call.args.get("width", 640)
    if call.args.get("source") == "archive":
        raise Failure("NOT_FOUND", f"The archive has no plate of '{target}'.", {"params": {"target": target}})
    inline = call.args.get("source") == "inline"
    payload = {
        "src": PIXEL if inline else f"https://observatory.example/plates/{int(width)}.png",
        "mime": "image/png",
        "width": width,
    }
    display = {"type": "image", "alt": f"Stars around a dark cloud. The target is: {target}", "payload": payload}
    return Answer(f"The plate is {width} pixels wide.", display)


def read_log(call: Call) -> Answer:
    """Return an entry of the log; a long one is cut for both, and says so."""
    entry, form, shelf = call.args["entry"], call.args.get("form", "text"), call.args.get("shelf")
    said = entry[:LONGEST]
    payload: object = said
    if form == "code":
        payload = {"code": said, "filename": "night.log"}
    elif form == "json":
        payload = {"entry": said, "lines": said.split("\n")[:40]}
    display: Json = {"type": form, "title": "The log", "payload": payload}
    if said != entry:
        display["meta"] = {"truncated": True}
    if shelf is not None:
        display["id"] = f"shelf {shelf}"
    return Answer(said, display, cut=said != entry)


def my_time(call: Call) -> Answer:
    """Return the nights that were given to an observer."""
    since, most = call.args.get("since", "month"), int(call.args.get("most", 2))
    rows: list[Json] = [{"night": f"N{100 + n}", "hours": 6 + n, "at": call.filled["site"]} for n in range(most)]
    display = {"type": "table", "title": f"{most} nights", "payload": rows, "alt": f"Your nights of this {since}."}
    said = "".join(f"\n{row['night']}: {row['hours']} hours" for row in rows)
    return Answer(f"{call.filled['observer_id']}, this {since}: {most} nights{said}", display)


def check_frames(call: Call) -> Answer:
    """Return whether frames could be sent, and a reminder for the person alone."""
    frames = call.args["frames"]
    aside = "Only you can see this: the archive closes at noon." if call.args.get("remind") else ""
    note = f" {call.args['note']}" if "note" in call.args else ""
    return Answer(f"{len(frames)} frames can be sent: {', '.join(frames)}.{note}", aside=aside)


def exposure(call: Call) -> Answer:
    """Return how long each frame is exposed; nobody thought of no frames at all."""
    each = call.args["seconds"] / int(call.args.get("frames", 4))
    return Answer(f"{each:.3f} s for each frame.", data={"value": each})


def dome_status(call: Call) -> Answer:
    """Return one of several displays about a dome."""
    dome, azimuth, notes = call.args["dome"], int(call.args["azimuth"]), call.args.get("notes", [])
    metric: Json = {"type": "metric", "payload": {"label": dome, "value": azimuth, "unit": "degrees", "delta": "+1"}}
    views: dict[str, Json] = {
        "metric": metric,
        "facts": {"type": "facts", "payload": {"Dome": dome, "Azimuth": azimuth, "North": azimuth < 45, "Wind": None}},
        "notes": {
            "type": "group",
            "title": f"{len(notes)} notes",
            "payload": [{"type": "text", "payload": one} for one in notes[:20]],
        },
        "dial": {
            "type": "x-observatory-dial",
            "payload": {"at": azimuth},
            "alt": f"A dial at {azimuth}.",
            "fallback": {**metric, "fallback": {"type": "text", "payload": f"{azimuth} degrees"}},
        },
        "alarm": {"type": "notification", "payload": {"message": f"{dome} is open.", "level": "warning"}},
        "manual": {
            "type": "file",
            "payload": {"uri": f"https://observatory.example/{dome}.pdf", "name": "Manual", "size": 120045},
        },
    }
    said = " / ".join(notes)
    return Answer(f"{dome} looks to {azimuth} degrees. {said}".strip(" "), views[call.args.get("view", "metric")])


def find_booking(call: Call) -> Answer:
    """Return a booking, or one of several failures."""
    asked, station = call.args["booking"], call.args.get("station", "main")
    if station == "busy":
        limit = {"scope": "station", "dimension": "observers", "max": 3, "reset_at": "2026-12-01T00:00:00Z"}
        wait = {"type": "notification", "payload": {"message": "Please wait a moment.", "level": "warning"}}
        raise Failure("RATE_LIMIT", "All seats of the station are taken.", {"limit": limit}, wait=1500, display=wait)
    if station == "closed":
        meta: Json = {"recovery": "ask_user", "observatory/opens": "dusk"}
        raise Failure("X_OBSERVATORY_CLOSED", "The station is open at night alone.", meta, category="conflict")
    if station == "fog":
        raise Failure("X_OBSERVATORY_FOG", "Nothing can be seen.", {"side_effects": "none"}, category="unavailable")
    if station == "offline":
        raise Failure("UPSTREAM_UNAVAILABLE", "The book does not answer.", {"upstream_status": 503}, wait=2500)
    if asked["by"] == "name":
        name = asked["name"]
        raise Failure("NOT_FOUND", f"There is no booking for '{name}'.", {"params": {"name": name}})
    which = asked["number"]
    return Answer(f"Booking {which}: two nights.", {"type": "json", "payload": {"booking": which, "nights": [1, 2]}})


def book_night(call: Call) -> Answer:
    """Book a night; the night of a long exposure is always taken."""
    observer, targets = call.args["observer"], call.args.get("targets", [])
    if call.args.get("hours", 1) > 8:
        meta: Json = {"params": {"date": call.args["date"]}, "side_effects": "none"}
        raise Failure("CONFLICT", "So many hours of this night are not free.", meta)
    said = "".join(f"\n{one['name']} ({one.get('priority', 'normal')})" for one in targets)
    return Answer(f"Booked on {call.args['date']} for {observer['name']}.{said}")


def to_degrees(call: Call) -> Answer:
    """Return an angle as JSON."""
    said = {"label": call.args["label"], "degrees": call.args.get("hours", 1) * 15, "axes": [[1, 0], [0, 1]]}
    return Answer(json.dumps(said, ensure_ascii=False, separators=(",", ":")), media="application/json")


def tag_object(call: Call) -> Answer:
    """Return the tags of an object."""
    tags = call.args["tags"]
    said = "\n".join(f"{name}: {json.dumps(one, ensure_ascii=False)}" for name, one in tags.items())
    return Answer(said, {"type": "facts", "title": "Tags", "payload": dict(tags)})


def spell(call: Call) -> Answer:
    """Return the letters of a name, one by one."""
    name = call.args["name"]
    rows = [[number + 1, letter] for number, letter in enumerate(name)]
    return Answer(f"Spelled: {name}", {"type": "table", "payload": {"columns": ["place", "letter"], "rows": rows}})


_NUMBER = takes("by number", by={"const": "number"}, number={"type": "string", "pattern": "^[0-9]{5}$"})
_NAME = takes("by name", by={"const": "name"}, name=words(5000))
_BOOKING: Json = {
    "oneOf": [_NUMBER, _NAME],
    "examples": [{"by": "number", "number": "01234"}, {"by": "name", "name": "Vega"}],
}
_TAGS: Json = {
    "type": "object",
    "additionalProperties": {"type": ["integer", "string", "boolean", "null"]},
    "maxProperties": 15,
    "examples": [{"epoch": 2000, "class": "A0", "variable": True, "name": None}],
}
_OBJECT = takes("name magnitude", name={"type": "string"}, magnitude={"type": "number"})
_OBJECTS = takes(
    "objects next_cursor", objects={"type": "array", "items": _OBJECT}, next_cursor={"type": ["string", "null"]}
)
TOOLS: dict[str, Tool] = {
    "find_objects": Tool(
        "Find objects in the sky, page by page.",
        takes(
            "query",
            query=words(300),
            kind=choice("star", "galaxy", "comet"),
            max_magnitude={"type": "number", "minimum": -30, "maximum": 30},
            limit=count(1, 30),
            cursor={"type": "string", "pattern": "^p[0-9]{1,2}$", "examples": ["p1"]},
            catalogues=many(words(60), 10),
            show_user=SHOW,
        ),
        find_objects,
        gives=_OBJECTS,
        meta={"display": True, "depends_on": ["list_catalogues"]},
    ),
    "list_catalogues": Tool(
        "List the catalogues.",
        takes(since=count(1600, 2100)),
        list_catalogues,
        gives=takes("result", result={"type": "array", "items": {"type": "string"}}),
        meta={"wrapped_in": "result", "cacheable": True, "provides": "catalogues"},
    ),
    "light_curve": Tool(
        "Draw the light of a star.",
        takes(
            "samples",
            samples=many({"type": "number", "minimum": 0, "maximum": 100000}, 300),
            band=choice("U", "B", "V"),
            label=words(200),
            show_user=SHOW,
        ),
        light_curve,
        meta={"display": True, "depends_on": ["find_objects"]},
    ),
    "sky_image": Tool(
        "Show a plate of the sky.",
        takes(
            "target",
            target=words(1500),
            width=count(1, 4000),
            source=choice("web", "inline", "archive"),
            show_user=SHOW,
        ),
        sky_image,
        meta={"display": True, "cacheable": True},
    ),
    "read_log": Tool(
        "Lay out an entry of the log.",
        takes(
            "entry",
            entry=words(12000),
            form=choice("text", "markdown", "html", "code", "json"),
            shelf=words(40),
            show_user=SHOW,
        ),
        read_log,
        meta={"display": True},
    ),
    "my_time": Tool(
        "List the nights of whoever asks.",
        takes(since=choice("month", "year"), most=count(0, 9), show_user=SHOW),
        my_time,
        meta={"display": True, "server_populated": ["observer_id", "site", "priority", "quota_ns", "api_key"]},
    ),
    "check_frames": Tool(
        "Check frames before they are sent to the archive.",
        takes(
            "frames",
            frames=many({"type": "string", "pattern": "^F[0-9]{1,6}$", "examples": ["F7"]}, 20),
            note=words(300),
            remind={"type": "boolean"},
        ),
        check_frames,
        meta={"server_populated": ["api_key"]},
    ),
    "exposure": Tool(
        "Divide a time into frames.",
        takes("seconds", seconds={"type": "number", "minimum": 0, "maximum": 36000}, frames=count(0, 40)),
        exposure,
        gives=takes("value", value={"type": "number"}),
        meta={"wrapped_in": "value"},
    ),
    "dome_status": Tool(
        "Show a dome.",
        takes(
            "dome azimuth",
            dome={"type": "string", "pattern": "^D[0-9]{1,2}$", "examples": ["D4"]},
            azimuth=count(0, 359),
            view=choice("metric", "facts", "notes", "dial", "alarm", "manual"),
            notes=many(words(50), 60),
            show_user=SHOW,
        ),
        dome_status,
        meta={"display": True},
    ),
    "find_booking": Tool(
        "Find a booking by its number or by a name.",
        takes("booking", booking=_BOOKING, station=choice("main", "busy", "closed", "fog", "offline"), show_user=SHOW),
        find_booking,
        meta={"display": True},
    ),
    "book_night": Tool(
        "Book a night.",
        takes(
            "observer date",
            observer=takes("name", name=words(80), email={"type": "string", "format": "email"}),
            date={"type": "string", "format": "date", "examples": ["2026-12-24"]},
            hours=count(1, 12),
            targets=many(takes("name", name=words(60), priority=choice("low", "normal", "high")), 5),
        ),
        book_night,
        reads=False,
    ),
    "to_degrees": Tool(
        "Return an angle as data.",
        takes("label", label=words(1500), hours={"type": "number", "minimum": 0, "maximum": 24}),
        to_degrees,
    ),
    "tag_object": Tool("Tag an object.", takes("tags", tags=_TAGS, show_user=SHOW), tag_object, meta={"display": True}),
    "spell": Tool("Spell a name.", takes("name", name=words(150), show_user=SHOW), spell, meta={"display": True}),
}
