"""The tools of the garden."""

from __future__ import annotations

import json

from unseen_eighth.kit import Answer, Call, Failure, Json, Tool, choice, count, many, takes, words

LEAF = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SHOW: Json = {"type": "boolean", "default": False, "description": "Whether the person gets a display."}
LONGEST = 5000
KINDS = 37
BEDS = ("alpine bed", "bog", "desert house", "fern gully", "meadow", "orangery", "rose walk")
WIDTHS = {"thumb": 48, "page": 480, "poster": 1920}


def noted(one: Json, name: str) -> str:
    """Return what an item says under a name, where it says something."""
    return f" ({one[name]})" if name in one else ""


def find_seeds(call: Call) -> Answer:
    """Return a page of seeds, which have what was asked for in their names."""
    query, family, size = call.args["query"], call.args.get("family", "fern"), int(call.args.get("per_page", 7))
    grams, page = call.args.get("grams", {}), int(call.args.get("page", 1))
    known: list[Json] = [
        {"number": f"S{n:03}", "name": f"{family} {n}: {query}", "grams": round(0.5 + n * 1.75, 2), "bags": n * 5 % 7}
        for n in range(1, KINDS + 1)
    ]
    known = [one for one in known if grams.get("least", 0) <= one["grams"] <= grams.get("most", 1000)]
    found = known[(page - 1) * size : page * size]
    following = page + 1 if page * size < len(known) else None
    display: Json = {
        "type": "table",
        "title": f"{family}: {len(found)} of {len(known)}",
        "alt": (
            f"A table with {len(found)} of the {len(known)} kinds of seeds that the cold room has of this family, "
            "by their numbers, with the weight of a bag in grams and the bags that are left of each of them."
        ),
        "payload": {
            "columns": ["number", {"key": "name", "title": "Seed"}, {"key": "grams", "type": "number"}],
            "rows": found,
            "caption": f"Seeds for {query}",
            "row_header": "number",
            "total_rows": len(known),
        },
        "meta": {"truncated": len(found) < len(known), "source": "the cold room"},
    }
    said = [f"{one['number']} {one['name']} ({one['grams']} g)" for one in found] or ["There are no such seeds."]
    said += [f"Keeper: {call.args['keeper']}"] if call.args.get("keeper") is not None else []
    said += [f"The next page is {following}."] if following else []
    return Answer("\n".join(said), display, {"seeds": found, "total": len(known), "next_page": following})


def list_beds(call: Call) -> Answer:
    """Return the beds of the garden."""
    found = [one for one in BEDS if one.startswith(call.args.get("letter", ""))]
    return Answer("\n".join(found), data={"result": found})


def growth_chart(call: Call) -> Answer:
    """Return a chart of how a plant grew."""
    measured, mark = call.args["measured"], call.args.get("mark", "line")
    said = [f"week {one['week']}: {one['height']} cm{noted(one, 'note')}" for one in measured]
    highest = max((one["height"] for one in measured), default=0)
    display: Json = {
        "type": "chart",
        "alt": (
            f"{len(measured)} heights of one plant, measured from the ground to the tip of its uppermost leaf by the "
            f"same two hands on dry mornings, the greatest of them {highest} cm."
        ),
        "payload": {
            "mark": {"type": mark, "tooltip": True},
            "data": {"values": [{**one, "url": "none"} for one in measured]},
            "encoding": {
                "x": {"field": "week", "type": "quantitative", "title": "Weeks"},
                "y": {"field": "height", "type": "quantitative"},
            },
        },
    }
    if "heading" in call.args:
        display["title"] = call.args["heading"]
    return Answer("\n".join([f"{len(measured)} heights", *said]), display)


def plant_picture(call: Call) -> Answer:
    """Return a picture of a plant; those of the burnt album are gone."""
    plant, size, album = call.args["plant"], call.args.get("size", "page"), call.args.get("album", "web")
    if album == "burnt":
        raise Failure("NOT_FOUND", f"The album with '{plant}' burnt.", {"params": {"plant": plant}})
    src = LEAF if album == "inline" else f"https://garden.example/pictures/{size}.png"
    payload = {"src": src, "mime": "image/png", "width": WIDTHS[size]}
    return Answer(
        f"The picture is {WIDTHS[size]} pixels wide.",
        {"type": "image", "alt": f"A pressed leaf of this plant: {plant}", "payload": payload},
    )


def read_label(call: Call) -> Answer:
    """Return what is on a label; of a long one, the beginning."""
    text, form = call.args["text"], call.args.get("form", "text")
    said = text[:LONGEST]
    payload: object = said
    if form == "code":
        payload = {"code": said, "language": call.args.get("language", "none")}
    elif form == "json":
        payload = {"first": said.partition("\n")[0], "letters": len(said), "rest": [said.partition("\n")[2]]}
    display: Json = {"type": form, "title": "A label", "payload": payload}
    if said != text:
        display["meta"] = {"truncated": True}
    if "drawer" in call.args:
        display["id"] = f"drawer:{call.args['drawer']}"[:128]
    return Answer(said, display, cut=said != text)


def my_loans(call: Call) -> Answer:
    """Return the tools that whoever asks has borrowed."""
    state, most = call.args.get("state", "open"), int(call.args.get("most", 4))
    loans: list[Json] = [{"label": f"L{70 + n}", "value": f"{state}, for {n + 1} days"} for n in range(most)]
    display = {"type": "facts", "title": f"{most} loans", "payload": loans, "alt": f"{most} loans: they are {state}."}
    said = "".join(f"\n{one['label']}: {one['value']}" for one in loans)
    return Answer(f"{call.filled['gardener_id']} has {most} loans.{said}", display)


def check_loan(call: Call) -> Answer:
    """Return whether tools can be lent, and a reminder for the person alone."""
    lines = call.args["lines"]
    aside = "Only for you: bring back the secateurs before the first frost." if call.args.get("remind") else ""
    said = [f"{one['tool']} x {one['pieces']}{noted(one, 'remark')}" for one in lines]
    return Answer("\n".join([f"{len(lines)} kinds of tools can be lent.", *said]), aside=aside)


def share_water(call: Call) -> Answer:
    """Return the water for each of several beds; nobody thought of a garden without beds."""
    each = call.args["litres"] / int(call.args.get("beds", 4))
    return Answer(f"{each:.2f} l for each bed (price class $$ of $$$)", data={"value": each})


def greenhouse(call: Call) -> Answer:
    """Return one of several displays about a greenhouse."""
    name, damp = call.args["house"], int(call.args["damp"])
    metric: Json = {"type": "metric", "payload": [{"label": name, "value": damp, "unit": "%", "delta": 0.5}]}
    looks: dict[str, Json] = {
        "metric": metric,
        "facts": {"type": "facts", "payload": {"House": name, "Damp": damp, "Wet": damp > 80, "Keeper": None}},
        "dial": {
            "type": "x-garden-dial",
            "payload": {"needle": damp},
            "alt": f"A needle that points to {damp}.",
            "fallback": {**metric, "fallback": {"type": "text", "payload": f"{damp} percent"}},
        },
        "alarm": {"type": "notification", "payload": {"message": f"{name} is dry.", "level": "warning"}},
        "guide": {
            "type": "file",
            "payload": {"uri": f"https://garden.example/{name}.pdf", "mime": "application/pdf", "size": 70413},
        },
    }
    return Answer(f"The air of {name} has a damp of {damp} %.", looks[call.args.get("look", "metric")])


def pin_board(call: Call) -> Answer:
    """Return the notes that are pinned to the board."""
    notes = call.args["notes"]
    inner: list[Json] = [{"type": "markdown", "payload": one} for one in notes[:30]]
    display: Json = {"type": "group", "title": f"{len(notes)} notes", "payload": inner}
    return Answer("\n".join([f"{len(notes)} notes are on the board.", *(f"- {one}" for one in notes)]), display)


def count_seeds(call: Call) -> Answer:
    """Return the sum of what was counted."""
    counts = [int(one) for one in call.args["counts"]]
    said = ", ".join(str(one) for one in counts) or "nothing"
    display: Json = {"type": "json", "title": "Counted", "payload": {"counts": counts, "sum": sum(counts)}}
    return Answer(f"{said}: {sum(counts)} seeds", display)


def find_plant(call: Call) -> Answer:
    """Return a plant, or one of several failures."""
    plant, door = call.args["plant"], call.args.get("door", "main")
    if door == "crowded":
        limit = {"scope": "door", "dimension": "people", "max": 5, "reset_at": "2027-05-01T09:00:00+02:00"}
        note = {"type": "notification", "payload": {"message": "Five people are before you.", "level": "info"}}
        raise Failure("RATE_LIMIT", "There is a crowd at the door.", {"limit": limit}, wait=700, display=note)
    if door == "locked":
        meta: Json = {"recovery": "ask_user", "garden/opens": "in May"}
        raise Failure("X_GARDEN_LOCKED", "This door is locked in winter.", meta, category="conflict")
    if door == "jammed":
        raise Failure("X_GARDEN_JAMMED", "This door does not open.", category="unavailable")
    if door == "offline":
        raise Failure("UPSTREAM_UNAVAILABLE", "The herbarium does not answer.", {"upstream_status": 503}, wait=1500)
    if plant["by"] == "name":
        name = plant["name"]
        raise Failure("NOT_FOUND", f"Nothing grows here as '{name}'.", {"params": {"name": name}})
    number = plant["number"]
    return Answer(f"{number}: a fern, in the gully.", {"type": "json", "payload": {"plant": number, "rows": [3, 4]}})


def book_tour(call: Call) -> Answer:
    """Book a tour; one for more than twenty is always refused."""
    visitor, stops = call.args["visitor"], call.args.get("stops", [])
    if call.args.get("people", 1) > 20:
        meta: Json = {"params": {"people": call.args["people"]}, "side_effects": "none"}
        raise Failure("CONFLICT", "No guide is free for so many.", meta)
    said = "".join(f"\n{one['bed']}{', without steps' if one.get('flat') else ''}" for one in stops)
    return Answer(f"{visitor['name']} is booked for {call.args['day']}.{said}")


def seed_json(call: Call) -> Answer:
    """Return a bag of seeds as JSON."""
    rates = call.args.get("rates", {})
    said = {"label": call.args["label"], "grams": call.args.get("grams", 1), "rates": rates, "viable": [True, None]}
    return Answer(json.dumps(said, ensure_ascii=False), media="application/json")


def label_tray(call: Call) -> Answer:
    """Return the labels of a tray."""
    labels = call.args["labels"]
    said = "\n".join(f"{name} = {json.dumps(one, ensure_ascii=False)}" for name, one in labels.items())
    return Answer(said or "No labels.", {"type": "facts", "title": "A tray", "payload": dict(labels)})


def write_note(call: Call) -> Answer:
    """Return a note as it would be pinned to the board."""
    said = f"{call.args['subject']}\n\n{call.args['body']}"
    if call.args.get("signature") is not None:
        said += f"\n\n{call.args['signature']}"
    return Answer(said + "".join(f"\n#{one}" for one in call.args.get("tags", [])))


_NUMBER = takes("by number", by={"const": "number"}, number={"type": "string", "pattern": "^G-[0-9]{4}$"})
_NAME = takes("by name", by={"const": "name"}, name=words(3000))
_PLANT: Json = {
    "oneOf": [_NUMBER, _NAME],
    "examples": [{"by": "number", "number": "G-0107"}, {"by": "name", "name": "Osmunda regalis"}],
}
_LABELS: Json = {
    "type": "object",
    "additionalProperties": {"type": ["string", "integer", "number", "boolean", "null"]},
    "maxProperties": 20,
    "examples": [{"sown": 60, "soil": "peat", "shade": True, "keeper": None}],
}
_HEIGHT = takes(
    "week height",
    week=count(0, 100_000),
    height={"type": "number", "minimum": 0, "maximum": 10_000},
    note=words(200),
)
_LINE = takes(
    "tool pieces",
    tool={"type": "string", "pattern": "^T[0-9]{3}$", "examples": ["T012"]},
    pieces=count(1, 99),
    remark=words(300),
)
_GRAMS = takes(
    least={"type": "number", "minimum": 0, "maximum": 1000},
    most={"type": "number", "minimum": 0, "maximum": 1000},
)
_SEED = takes(
    "number name grams bags",
    number={"type": "string"},
    name={"type": "string"},
    grams={"type": "number"},
    bags={"type": "integer"},
)
_SEEDS = takes(
    "seeds total next_page",
    seeds={"type": "array", "items": _SEED},
    total={"type": "integer"},
    next_page={"type": ["integer", "null"]},
)
_MAYBE: Json = {"anyOf": [{"type": "string", "maxLength": 120}, {"type": "null"}], "default": None}
_CONTACT = takes("email", email={"type": "string", "format": "email"}, phone=words(30))
TOOLS: dict[str, Tool] = {
    "find_seeds": Tool(
        "Search the cold room for seeds, page by page.",
        takes(
            "query",
            query=words(400),
            family=choice("fern", "grass", "rose"),
            grams=_GRAMS,
            keeper=_MAYBE,
            page=count(1, 50),
            per_page=count(1, 25),
            show_user=SHOW,
        ),
        find_seeds,
        gives=_SEEDS,
        meta={"display": True, "provides": "seeds"},
    ),
    "list_beds": Tool(
        "List the beds of the garden.",
        takes(letter=choice("a", "b", "d", "f", "m", "o", "r")),
        list_beds,
        gives=takes("result", result={"type": "array", "items": {"type": "string"}}),
        meta={"wrapped_in": "result", "cacheable": True},
        idempotent=True,
    ),
    "growth_chart": Tool(
        "Draw how a plant grew.",
        takes(
            "measured",
            measured=many(_HEIGHT, 200),
            mark=choice("line", "bar", "point"),
            heading=words(200),
            show_user=SHOW,
        ),
        growth_chart,
        meta={"display": True, "depends_on": ["find_seeds"]},
    ),
    "plant_picture": Tool(
        "Show a picture of a plant.",
        takes(
            "plant",
            plant=words(2000),
            size=choice("thumb", "page", "poster"),
            album=choice("web", "inline", "burnt"),
            show_user=SHOW,
        ),
        plant_picture,
        meta={"display": True, "cacheable": True, "depends_on": ["find_seeds", "label-tray"]},
    ),
    "read_label": Tool(
        "Read a label.",
        takes(
            "text",
            text=words(15000),
            form=choice("text", "markdown", "html", "code", "json"),
            drawer={"type": "string", "minLength": 1, "maxLength": 100},
            language={"type": "string", "minLength": 1, "maxLength": 40},
            show_user=SHOW,
        ),
        read_label,
        meta={"display": True},
    ),
    "my_loans": Tool(
        "List the tools that whoever asks has borrowed.",
        takes(state=choice("open", "late", "lost"), most=count(0, 12), show_user=SHOW),
        my_loans,
        meta={"display": True, "server_populated": ["gardener_id", "plot", "staff", "badge", "gate_code"]},
    ),
    "check_loan": Tool(
        "Check what is to be lent.",
        takes("lines", lines=many(_LINE, 25), remind={"type": "boolean"}),
        check_loan,
        meta={"server_populated": ["gate_code"]},
    ),
    "share_water": Tool(
        "Share water among beds.",
        takes("litres", litres={"type": "number", "exclusiveMinimum": 0, "maximum": 1_000_000}, beds=count(0, 60)),
        share_water,
        gives=takes("value", value={"type": "number"}),
        meta={"wrapped_in": "value"},
    ),
    "greenhouse": Tool(
        "Show a greenhouse.",
        takes(
            "house damp",
            house={"type": "string", "pattern": "^H[1-9]$", "examples": ["H4"]},
            damp=count(0, 100),
            look=choice("metric", "facts", "dial", "alarm", "guide"),
            show_user=SHOW,
        ),
        greenhouse,
        meta={"display": True},
    ),
    "pin_board": Tool(
        "Show notes on the board.",
        takes("notes", notes=many(words(60), 40), show_user=SHOW),
        pin_board,
        meta={"display": True},
    ),
    "count_seeds": Tool(
        "Add up what was counted.",
        takes("counts", counts=many(count(0, 2**63 - 1), 30), show_user=SHOW),
        count_seeds,
        meta={"display": True},
    ),
    "find_plant": Tool(
        "Find a plant by its number or by its name.",
        takes("plant", plant=_PLANT, door=choice("main", "crowded", "locked", "jammed", "offline"), show_user=SHOW),
        find_plant,
        meta={"display": True},
    ),
    "book_tour": Tool(
        "Book a tour.",
        takes(
            "visitor day",
            visitor=takes("name contact", name=words(80), contact=_CONTACT),
            day={"type": "string", "format": "date", "examples": ["2027-06-05"]},
            people=count(1, 30),
            stops=many(takes("bed", bed=words(80), flat={"type": "boolean"}), 6),
        ),
        book_tour,
        reads=False,
    ),
    "seed_json": Tool(
        "Return a bag of seeds as data.",
        takes(
            "label",
            label=words(2000),
            grams={"type": "number", "minimum": 0, "maximum": 200},
            rates={"type": "object", "additionalProperties": {"type": "number"}, "maxProperties": 10},
        ),
        seed_json,
    ),
    "label-tray": Tool(
        "Label a tray.", takes("labels", labels=_LABELS, show_user=SHOW), label_tray, meta={"display": True}
    ),
    "write_note": Tool(
        "Lay out a note as it would be pinned to the board.",
        takes(
            "subject body",
            subject=words(300),
            body=words(9000),
            signature=_MAYBE,
            tags={"type": "array", "items": words(40), "maxItems": 12, "uniqueItems": True},
        ),
        write_note,
    ),
}
