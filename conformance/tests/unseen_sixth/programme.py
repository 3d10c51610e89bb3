"""The tools of the theatre."""

from __future__ import annotations

import json

from unseen_sixth.parts import DATE, SHOW, Ask, Json, Reply, Trouble, fields, offered, one_of, text, whole

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
NUMBERED = fields("by", "number", by={"const": "number"}, number={"type": "string", "pattern": "^[0-9]{6}$"})
NAMED = fields("by", "name", by={"const": "name"}, name=text(3000))


class Programme:
    """The tools, one method each."""

    @offered(
        "Find plays.",
        fields(
            "words",
            words=text(400),
            genre=one_of("comedy", "tragedy", "opera"),
            on=DATE,
            most=whole(1, 30, default=3),
        ),
        fields("result", result={"type": "array", "items": {"type": "string"}}),
        wrapped_in="result",
        cacheable=True,
        provides="plays",
    )
    def plays(self, ask: Ask) -> Reply:
        """Return plays that nobody has written."""
        genre, count = ask.args.get("genre", "comedy"), int(ask.args.get("most", 3))
        found = [f"{genre} {number + 1}: {ask.args['words']}" for number in range(count)]
        return Reply("\n".join(found), data={"result": found})

    @offered(
        "Show which seats of a hall are free.",
        fields("hall", hall=one_of("stalls", "circle", "balcony"), rows=whole(0, 40, default=4), show_user=SHOW),
        display=True,
        depends_on=["plays"],
    )
    def seat_map(self, ask: Ask) -> Reply:
        """Return the free seats of each row."""
        hall, count = ask.args["hall"], int(ask.args.get("rows", 4))
        rows = [
            [f"{hall[0].upper()}{number + 1}", number * 7 % 20, f"{30 - number / 2:.2f}"] for number in range(count)
        ]
        said = "\n".join(f"Row {row}: {free} free at {price} EUR" for row, free, price in rows)
        columns = ["row", {"key": "free", "title": "Free", "type": "number", "align": "right"}, "price"]
        show = {
            "type": "table",
            "title": f"Seats: {hall}",
            "alt": f"A plan of {count} rows of the {hall}.",
            "payload": {"columns": columns, "rows": rows, "row_header": "row"},
            "meta": {"locale": "en", "source": "box office"},
        }
        return Reply(said or "No rows.", show)

    @offered(
        "Say what each of some friends pays.",
        fields(
            "price",
            "tickets",
            price={"type": "number", "minimum": 0, "maximum": 500},
            tickets=whole(1, 20),
            friends=whole(0, 20, default=1),
        ),
        fields("total", "each", total={"type": "number"}, each={"type": "number"}),
    )
    def share(self, ask: Ask) -> Reply:
        """Return the total and the share; nobody thought of no friends at all."""
        total = round(ask.args["price"] * ask.args["tickets"], 2)
        each = round(total / int(ask.args.get("friends", 1)), 2)
        return Reply(f"{total} EUR together, {each} EUR each.", data={"total": total, "each": each})

    @offered(
        "Lay out a note for the printed programme.",
        fields(
            "note",
            note=text(20000),
            kind=one_of("text", "markdown", "html", "code", "json", "file"),
            lang=one_of("en", "fr", "ja"),
            show_user=SHOW,
        ),
        display=True,
    )
    def programme_note(self, ask: Ask) -> Reply:
        """Return the note itself."""
        note, kind = ask.args["note"], ask.args.get("kind", "text")
        payload: object = note
        if kind == "code":
            payload = {"code": note, "language": "text"}
        elif kind == "json":
            payload = {"note": note, "lines": len(note.split("\n")), "lang": ask.args.get("lang")}
        elif kind == "file":
            payload = {"uri": "https://theatre.example/notes/7", "name": "note.txt", "size": len(note)}
        return Reply(note, {"type": kind, "title": "A note", "payload": payload})

    @offered(
        "Show who plays whom.",
        fields(
            "actors",
            actors={"type": "array", "items": text(80), "maxItems": 60},
            remark={"type": ["string", "null"], "maxLength": 500},
            show_user=SHOW,
        ),
        display=True,
    )
    def cast(self, ask: Ask) -> Reply:
        """Return the cast."""
        facts = [{"label": f"Role {number + 1}", "value": name} for number, name in enumerate(ask.args["actors"])]
        said = "".join(f"{fact['label']}: {fact['value']}\n" for fact in facts)
        remark = ask.args.get("remark") or "no remark"
        alt = f"A cast of {len(facts)}; {remark}"
        show = {"type": "facts", "title": f"{len(facts)} roles", "alt": alt, "payload": facts}
        return Reply(f"{said}Remark: {remark}", show)

    @offered(
        "Show the poster of a play.",
        fields("title", title=text(150), source=one_of("web", "inline"), wide=whole(1, 4000), show_user=SHOW),
        display=True,
        cacheable=True,
    )
    def poster(self, ask: Ask) -> Reply:
        """Return a picture."""
        title, wide = ask.args["title"], ask.args.get("wide", 300)
        src = PIXEL if ask.args.get("source") == "inline" else f"https://theatre.example/posters/{wide}.png"
        payload = {"src": src, "mime": "image/png", "width": wide, "height": 2 * wide}
        show = {"type": "image", "id": f"poster-{wide}", "alt": f"A red poster. It says: {title}", "payload": payload}
        return Reply(f"The poster of {title!s} is {wide} pixels wide.", show)

    @offered(
        "Draw the sales of some days.",
        fields(
            "sold",
            sold={"type": "array", "items": {"type": "number", "minimum": 0, "maximum": 5000}, "maxItems": 200},
            mark=one_of("bar", "line", "point"),
            show_user=SHOW,
        ),
        display=True,
    )
    def sales(self, ask: Ask) -> Reply:
        """Return a chart."""
        sold = ask.args["sold"]
        values = [{"day": number + 1, "sold": count, "href": "#"} for number, count in enumerate(sold)]
        encoding = {"x": {"field": "day", "type": "ordinal"}, "y": {"field": "sold", "type": "quantitative"}}
        show = {
            "type": "chart",
            "title": "Sales",
            "alt": f"Sales of {len(sold)} days.",
            "payload": {"mark": ask.args.get("mark", "bar"), "data": {"values": values}, "encoding": encoding},
        }
        return Reply(f"{sum(sold):.1f} tickets in {len(sold)} days.", show)

    @offered(
        "List the bookings of whoever asks.",
        fields(season=one_of("autumn", "spring"), most=whole(0, 12), show_user=SHOW),
        display=True,
        server_populated=["member_id", "home_hall", "card_token"],
    )
    def my_bookings(self, ask: Ask) -> Reply:
        """Return the bookings of a member."""
        member, season = ask.filled["member_id"], ask.args.get("season", "autumn")
        count = int(ask.args.get("most", 2))
        rows = [
            {"play": f"Play {number + 1}", "seat": f"{ask.filled['home_hall']}-{number}"} for number in range(count)
        ]
        said = "\n".join(f"{row['play']} at {row['seat']}" for row in rows)
        show = {"type": "table", "title": f"{count} bookings", "payload": rows, "alt": f"Your {season}."}
        return Reply(f"{member}, {season}: {count} bookings\n{said}", show)

    @offered(
        "Say how the stage is lit at a cue.",
        fields(
            "cue",
            "level",
            cue={"type": "string", "pattern": "^Q[0-9]{1,3}$", "examples": ["Q12"]},
            level=whole(0, 100),
            panel=one_of("metric", "facts", "group", "dial", "alarm"),
            also={"type": "array", "items": text(60), "maxItems": 6},
            show_user=SHOW,
        ),
        display=True,
    )
    def lights(self, ask: Ask) -> Reply:
        """Return the level of the lights."""
        cue, level, also = ask.args["cue"], int(ask.args["level"]), ask.args.get("also", [])
        metric: Json = {"type": "metric", "payload": {"label": cue, "value": level, "unit": "%"}}
        facts: Json = {"type": "facts", "payload": {"Cue": cue, "Level": level, "Bright": level > 50, "Spare": None}}
        more: list[Json] = [{"type": "text", "payload": one} for one in also]
        dial: Json = {
            "type": "x-theatre-dial",
            "payload": {"at": level},
            "alt": f"A dial at {level}.",
            "fallback": {**metric, "fallback": {"type": "text", "payload": f"{level} %"}},
            "meta": {"theatre/colour": "amber"},
        }
        shows: dict[str, Json] = {
            "metric": metric,
            "facts": facts,
            "group": {"type": "group", "payload": [metric, {"type": "group", "payload": [facts, *more]}]},
            "dial": dial,
            "alarm": {"type": "notification", "payload": {"message": f"{cue}!", "level": "warning"}},
        }
        return Reply(f"{cue}: {level} % {' '.join(also)}", shows[ask.args.get("panel", "metric")])

    @offered(
        "Find a booking by its number or by a name.",
        fields(
            "booking",
            booking={
                "oneOf": [NUMBERED, NAMED],
                "examples": [{"by": "number", "number": "004711"}, {"by": "name", "name": "Ada"}],
            },
            desk=one_of("main", "busy", "closed", "offline"),
            show_user=SHOW,
        ),
        display=True,
    )
    def find_booking(self, ask: Ask) -> Reply:
        """Return a booking, or one of several failures."""
        booking, desk = ask.args["booking"], ask.args.get("desk", "main")
        if desk == "busy":
            limit = {"scope": "desk", "dimension": "requests", "max": 5}
            raise Trouble("RATE_LIMIT", "The desk is busy.", {"limit": limit, "side_effects": "none"}, wait=2000)
        if desk == "closed":
            meta: Json = {"recovery": "ask_user", "theatre/opens": "10:00"}
            raise Trouble("X_THEATRE_CLOSED", "The desk opens at ten.", meta, category="conflict")
        if desk == "offline":
            raise Trouble("UPSTREAM_UNAVAILABLE", "The register is offline.", {"upstream_status": 503}, wait=500)
        if booking["by"] == "name" and booking["name"] != "Ada":
            name = booking["name"]
            raise Trouble("NOT_FOUND", f"Nobody booked as '{name}'.", {"params": {"name": name}})
        which = booking.get("number") or booking["name"]
        show = {"type": "json", "id": f"booking-{which}", "payload": {"booking": which, "seats": ["C1", "C2"]}}
        return Reply(f"Booking {which}: seats C1 and C2.", show)

    @offered(
        "Count what is in the store of props.",
        fields(
            "props",
            props={
                "type": "object",
                "additionalProperties": {"type": ["integer", "string", "boolean", "null"]},
                "maxProperties": 20,
                "examples": [{"crown": 2, "sword": "three", "skull": None}],
            },
            show_user=SHOW,
        ),
        display=True,
    )
    def store(self, ask: Ask) -> Reply:
        """Return the props as facts."""
        props = ask.args["props"]
        show = {"type": "facts", "title": f"{len(props)} props", "payload": dict(props)}
        return Reply("\n".join(f"{name}: {count}" for name, count in props.items()) or "Nothing.", show)

    @offered("Give a line of the script as data.", fields("line", line=text(2000), act=whole(1, 5)))
    def script(self, ask: Ask) -> Reply:
        """Return a line with its act."""
        line = {"act": ask.args.get("act", 1), "line": ask.args["line"]}
        return Reply(json.dumps(line, ensure_ascii=False), media="application/json")

    @offered(
        "Preview a call to the stage.",
        fields("who", who=text(100), minutes=whole(0, 60), loud={"type": "boolean"}),
    )
    def stage_call(self, ask: Ask) -> Reply:
        """Return what is said over the loudspeakers, and a hint for the person."""
        when = f"in {ask.args.get('minutes', 5)} minutes"
        aside = "Only you see that the loudspeaker of room 4 is broken." if ask.args.get("loud") else ""
        return Reply(f"{ask.args['who']} to the stage {when}, please.", aside=aside)

    @offered(
        "Reserve a seat.",
        fields("seat", seat={"type": "string", "pattern": "^[A-Z][0-9]{1,2}$", "examples": ["B7"]}, name=text(80)),
        reads=False,
    )
    def reserve(self, ask: Ask) -> Reply:
        """Reserve nothing; the row Z is always taken."""
        seat = ask.args["seat"]
        if seat.startswith("Z"):
            raise Trouble("CONFLICT", f"{seat} is taken.", {"params": {"seat": seat}, "side_effects": "none"})
        return Reply(f"{seat} is yours, {ask.args.get('name') or 'friend'}.")
