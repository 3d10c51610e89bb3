"""The tools of the theatre."""

from __future__ import annotations

import json

from unseen_eighth.kit import Answer, Call, Failure, Json, Tool, choice, count, many, takes, words

DOT = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SHOW: Json = {"type": "boolean", "default": False, "description": "Whether the person gets a display."}
LONGEST = 5000
SHOWS = 41
STAGES = ("Main House", "Studio <upstairs>", "Workshop & Paint Shop", "Rehearsal Room", "Courtyard (summer only)")
WIDTHS = {"small": 60, "page": 600, "wall": 2400}


def find_shows(call: Call) -> Answer:
    """Return a page of shows, which have what was asked for in their titles."""
    query, genre, size = call.args["query"], call.args.get("genre", "play"), int(call.args.get("per_page", 8))
    price, page = call.args.get("price", {}), int(call.args.get("page", 1))
    known: list[Json] = [
        {"number": f"P{n:03}", "title": f"{genre} {n}: {query}", "price": round(8 + n * 1.25, 2), "seats": n * 7 % 11}
        for n in range(1, SHOWS + 1)
    ]
    known = [one for one in known if price.get("least", 0) <= one["price"] <= price.get("most", 500)]
    found = known[(page - 1) * size : page * size]
    following = page + 1 if page * size < len(known) else None
    display: Json = {
        "type": "table",
        "title": f"{genre}: {len(found)} of {len(known)}",
        "alt": f"A table of {len(found)} shows out of {len(known)}, with the price and the free seats of each of them.",
        "payload": {
            "columns": ["number", {"key": "title", "title": "Show"}, {"key": "price", "type": "number"}],
            "rows": found,
            "caption": f"Shows for {query}",
            "row_header": "number",
            "total_rows": len(known),
        },
        "meta": {"truncated": len(found) < len(known), "source": "the box office"},
    }
    said = [f"{one['number']} {one['title']}, {one['price']} each" for one in found] or ["No such shows."]
    said += [f"From {call.args['since']} on."] if "since" in call.args else []
    said += [f"Only on {', '.join(call.args['weekdays'])}."] if call.args.get("weekdays") else []
    said += [f"There is more on page {following}."] if following else []
    return Answer("\n".join(said), display, {"shows": found, "total": len(known), "next_page": following})


def list_stages(call: Call) -> Answer:
    """Return the stages of the theatre."""
    found = [one for one in STAGES if one.lower().startswith(call.args.get("begins", ""))]
    return Answer("\n".join(found), data={"result": found})


def sales_chart(call: Call) -> Answer:
    """Return a chart of the seats that were sold."""
    sold, mark = call.args["sold"], call.args.get("mark", "line")
    said = [f"{one['night']}: {one['seats']}" + (f" ({one['note']})" if "note" in one else "") for one in sold]
    best = max((one["seats"] for one in sold), default=0)
    display: Json = {
        "type": "chart",
        "alt": f"The seats that were sold on each of {len(sold)} nights, of which the best one had {best}.",
        "payload": {
            "mark": {"type": mark, "tooltip": True},
            "data": {"values": [*sold]},
            "encoding": {
                "x": {"field": "night", "type": "temporal", "title": "Night"},
                "y": {"field": "seats", "type": "quantitative"},
            },
        },
    }
    if "heading" in call.args:
        display["title"] = call.args["heading"]
    return Answer("\n".join([f"{len(sold)} nights", *said]), display)


def show_poster(call: Call) -> Answer:
    """Return a poster; those that are lost cannot be shown."""
    title, size, source = call.args["title"], call.args.get("size", "page"), call.args.get("source", "web")
    if source == "lost":
        raise Failure("NOT_FOUND", f"The poster of '{title}' is lost.", {"params": {"title": title}})
    src = DOT if source == "inline" else f"https://theatre.example/posters/{size}.png"
    return Answer(
        f"The poster is {WIDTHS[size]} pixels wide.",
        {
            "type": "image",
            "alt": f"A poster, in red and black, of this show: {title}",
            "payload": {"src": src, "mime": "image/png", "width": WIDTHS[size]},
        },
    )


def read_script(call: Call) -> Answer:
    """Return a script; of a long one, the beginning."""
    text, form = call.args["text"], call.args.get("form", "text")
    said = text[:LONGEST]
    payload: object = said
    if form == "code":
        payload = {"code": said, "filename": "script.txt"}
        payload |= {"language": call.args["language"]} if "language" in call.args else {}
    elif form == "json":
        payload = {"first": said.partition("\n")[0], "letters": len(said), "rest": said.split("\n")[1:9]}
    display: Json = {"type": form, "title": "A script", "payload": payload}
    if said != text:
        display["meta"] = {"truncated": True}
    if "scene" in call.args:
        display["id"] = f"scene-{call.args['scene']}"
    return Answer(said, display, cut=said != text)


def my_bookings(call: Call) -> Answer:
    """Return what whoever asks has booked."""
    state, most = call.args.get("state", "paid"), int(call.args.get("most", 3))
    booked: list[Json] = [{"label": f"B{400 + n}", "value": f"{state}, row {n + 1}"} for n in range(most)]
    display: Json = {
        "type": "facts",
        "title": f"{most} bookings",
        "payload": booked,
        "alt": f"A list of {most} bookings, and the row of each of them.",
    }
    said = "".join(f"\n{one['label']}: {one['value']}" for one in booked)
    return Answer(f"{call.filled['customer_id']} has {most} bookings.{said}", display)


def callboard(call: Call) -> Answer:
    """Return the notices on the callboard, and a reminder for the person alone."""
    notices = call.args["notices"]
    inner: list[Json] = [
        {"type": "markdown", "title": f"For {one.get('group', 'all')}", "payload": one["text"]} for one in notices[:30]
    ]
    display: Json = {"type": "group", "title": f"{len(notices)} notices", "payload": inner}
    if len(notices) > 30:
        display["meta"] = {"truncated": True}
    said = [f"- {one['text']}" + (f" (until {one['until']})" if "until" in one else "") for one in notices]
    aside = "Just for you: hand in your dressing room key tonight." if call.args.get("remind") else ""
    return Answer("\n".join([f"{len(notices)} notices hang on the board.", "", *said]), display, aside=aside)


def split_takings(call: Call) -> Answer:
    """Return what each of several people gets; nobody thought of a night without anybody."""
    each = call.args["takings"] / int(call.args.get("shares", 5))
    return Answer(f"{each:.2f} for each", data={"value": each})


def stage_cue(call: Call) -> Answer:
    """Return one of several displays about a cue."""
    cue, level, fade = call.args["cue"], int(call.args["level"]), call.args.get("fade", 2.5)
    metric: Json = {"type": "metric", "payload": {"label": cue, "value": level, "unit": "%", "delta": -0.5}}
    looks: dict[str, Json] = {
        "metric": metric,
        "facts": {"type": "facts", "payload": {"Cue": cue, "Level": level, "Blackout": level == 0, "Operator": None}},
        "fader": {
            "type": "x-theatre-fader",
            "payload": {"at": level},
            "alt": f"A fader that stands at {level}.",
            "fallback": {**metric, "fallback": {"type": "text", "payload": f"{level} percent"}},
        },
        "alarm": {"type": "notification", "payload": {"message": f"{cue} is late.", "level": "warning"}},
        "sheet": {
            "type": "file",
            "payload": {"uri": f"https://theatre.example/{cue}.pdf", "mime": "application/pdf", "size": 48120},
        },
    }
    return Answer(f"{cue} goes to {level} % in {fade} seconds.", looks[call.args.get("look", "metric")])


def find_person(call: Call) -> Answer:
    """Return where a person is, unless one cannot get through the door."""
    person, door = call.args["person"], call.args.get("door", "stage")
    if door == "crowded":
        limit: Json = {"scope": "server", "dimension": "requests", "max": 6, "reset_at": "2027-03-04T19:30:00+01:00"}
        note: Json = {"type": "notification", "payload": {"message": "Six people wait here.", "level": "info"}}
        raise Failure("RATE_LIMIT", "The foyer is full.", {"limit": limit}, wait=900, display=note)
    if door == "dark":
        meta: Json = {"recovery": "ask_user", "theatre/opens": "at seven"}
        raise Failure("X_THEATRE_DARK", "The house is dark today.", meta, category="conflict")
    if door == "jammed":
        raise Failure("X_THEATRE_JAMMED", "The iron door does not move.", category="unavailable")
    if door == "offline":
        raise Failure("UPSTREAM_UNAVAILABLE", "The porter does not answer.", {"upstream_status": 502}, wait=2500)
    if person["by"] == "name":
        name = person["name"]
        raise Failure("NOT_FOUND", f"Nobody here is called '{name}'.", {"params": {"name": name}})
    number = person["number"]
    return Answer(f"{number} is in the wings.", {"type": "json", "payload": {"person": number, "places": ["wings", 2]}})


def book_rehearsal(call: Call) -> Answer:
    """Book a rehearsal, and return a receipt as JSON; one for more than twenty is always refused."""
    leader, people = call.args["leader"], call.args.get("people", 2)
    if people > 20:
        raise Failure("CONFLICT", "No room holds so many.", {"params": {"people": people}, "side_effects": "none"})
    receipt = {
        "leader": leader["name"],
        "reach": leader["contact"].get("phone", leader["contact"]["email"]),
        "day": call.args["day"],
        "scenes": [f"{one['scene']}, {one.get('minutes', 30)} minutes" for one in call.args.get("scenes", [])],
        "note": call.args.get("note"),
    }
    return Answer(json.dumps(receipt, ensure_ascii=False), media="application/json")


def label_crate(call: Call) -> Answer:
    """Return the labels of a crate with props."""
    labels = call.args["labels"]
    said = "\n".join(f"{name} = {json.dumps(one, ensure_ascii=False)}" for name, one in labels.items())
    return Answer(said or "No labels.", {"type": "facts", "title": "A crate", "payload": dict(labels)})


_NUMBER = takes("by number", by={"const": "number"}, number={"type": "string", "pattern": "^C-[0-9]{3}$"})
_NAME = takes("by name", by={"const": "name"}, name=words(2500))
_PERSON: Json = {
    "oneOf": [_NUMBER, _NAME],
    "examples": [{"by": "number", "number": "C-014"}, {"by": "name", "name": "Yorick"}],
}
_DATE: Json = {"type": "string", "format": "date", "examples": ["2027-03-04"]}
_CONTACT = takes("email", email={"type": "string", "format": "email", "maxLength": 100}, phone=words(30))
_LEADER = takes("name contact", name=words(80), contact={"$ref": "#/$defs/contact"})
_SCENE: Json = {"type": "string", "pattern": "^[IVX]{1,4}\\.[0-9]{1,2}$", "examples": ["III.2"]}
_NIGHT = takes("night seats", night={"$ref": "#/$defs/night"}, seats=count(0, 100_000), note=words(200))
_NOTICE = takes("text", text=words(80), group=choice("cast", "crew", "all"), until=_DATE)
_LABELS: Json = {
    "type": "object",
    "additionalProperties": {"type": ["string", "integer", "number", "boolean", "null"]},
    "maxProperties": 20,
    "examples": [{"skulls": 2, "owner": "the wardrobe", "fragile": True, "weight": 3.75, "returned": None}],
}
_PRICE = takes(
    least={"type": "number", "minimum": 0, "maximum": 500},
    most={"type": "number", "minimum": 0, "maximum": 500},
)
_SHOW = takes(
    "number title price seats",
    number={"type": "string"},
    title={"type": "string"},
    price={"type": "number"},
    seats={"type": "integer"},
)
_FOUND = takes(
    "shows total next_page",
    shows={"type": "array", "items": _SHOW},
    total={"type": "integer"},
    next_page={"type": ["integer", "null"]},
)
TOOLS: dict[str, Tool] = {
    "find_shows": Tool(
        "Search the shows of the season, page by page.",
        takes(
            "query",
            query=words(400),
            genre=choice("play", "opera", "ballet"),
            price=_PRICE,
            since=_DATE,
            weekdays={**many(choice("Tuesday", "Friday", "Sunday"), 3), "uniqueItems": True},
            page=count(1, 50),
            per_page=count(1, 25),
            show_user=SHOW,
        ),
        find_shows,
        gives=_FOUND,
        meta={"display": True, "provides": "shows"},
    ),
    "list_stages": Tool(
        "List the stages of the theatre.",
        takes(begins=choice("main", "studio", "work", "rehearsal", "court", "opera")),
        list_stages,
        gives=takes("result", result={"type": "array", "items": {"type": "string"}}),
        meta={"wrapped_in": "result", "cacheable": True},
        idempotent=True,
    ),
    "sales_chart": Tool(
        "Draw how many seats were sold.",
        {
            **takes(
                "sold", sold=many(_NIGHT, 150), mark=choice("line", "bar", "point"), heading=words(200), show_user=SHOW
            ),
            "$defs": {"night": _DATE},
        },
        sales_chart,
        meta={"display": True, "depends_on": ["find_shows"]},
    ),
    "show_poster": Tool(
        "Show the poster of a show.",
        takes(
            "title",
            title=words(1500),
            size=choice("small", "page", "wall"),
            source=choice("web", "inline", "lost"),
            show_user=SHOW,
        ),
        show_poster,
        meta={"display": True, "cacheable": True, "depends_on": ["find_shows", "label-crate"]},
    ),
    "read_script": Tool(
        "Read a script.",
        takes(
            "text",
            text=words(16000),
            form=choice("text", "markdown", "html", "code", "json"),
            scene=_SCENE,
            language={"type": "string", "minLength": 1, "maxLength": 40},
            show_user=SHOW,
        ),
        read_script,
        meta={"display": True},
    ),
    "my_bookings": Tool(
        "List what whoever asks has booked.",
        takes(state=choice("paid", "held", "returned"), most=count(0, 10), show_user=SHOW),
        my_bookings,
        meta={
            "display": True,
            "server_populated": ["customer_id", "seat_note", "subscriber", "club_card", "companion", "card_token"],
        },
    ),
    "callboard": Tool(
        "Lay out notices as they would hang on the callboard.",
        takes("notices", notices=many(_NOTICE, 40), remind={"type": "boolean"}, show_user=SHOW),
        callboard,
        meta={"display": True, "server_populated": ["card_token"]},
    ),
    "split_takings": Tool(
        "Split the takings of a night.",
        takes("takings", takings={"type": "number", "exclusiveMinimum": 0, "maximum": 1_000_000}, shares=count(0, 40)),
        split_takings,
        gives=takes("value", value={"type": "number"}),
        meta={"wrapped_in": "value"},
    ),
    "stage_cue": Tool(
        "Show a cue of the lighting desk.",
        takes(
            "cue level",
            cue={"type": "string", "pattern": "^Q[0-9]{1,3}$", "examples": ["Q42"]},
            level=count(0, 100),
            fade={"type": "number", "minimum": 0, "maximum": 60},
            look=choice("metric", "facts", "fader", "alarm", "sheet"),
            show_user=SHOW,
        ),
        stage_cue,
        meta={"display": True},
    ),
    "find_person": Tool(
        "Find a person by number or by name.",
        takes("person", person=_PERSON, door=choice("stage", "crowded", "dark", "jammed", "offline"), show_user=SHOW),
        find_person,
        meta={"display": True},
    ),
    "book_rehearsal": Tool(
        "Book a rehearsal.",
        {
            **takes(
                "leader day",
                leader=_LEADER,
                day=_DATE,
                people=count(1, 30),
                scenes=many(takes("scene", scene=_SCENE, minutes=count(5, 240)), 8),
                note={"anyOf": [words(300), {"type": "null"}], "default": None},
            ),
            "$defs": {"contact": _CONTACT},
        },
        book_rehearsal,
        reads=False,
    ),
    "label-crate": Tool(
        "Label a crate with props.",
        takes("labels", labels=_LABELS, show_user=SHOW),
        label_crate,
        meta={"display": True},
    ),
}
