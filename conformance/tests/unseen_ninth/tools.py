"""The tools of the workshop."""

from __future__ import annotations

import json

from unseen_eighth.kit import Answer, Call, Failure, Json, Tool, choice, count, many, takes, words

DOT = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SHOW: Json = {"type": "boolean", "default": False, "description": "Whether a display is made for the person."}
LONGEST = 5000
PARTS = 41
TRADES = ("bow maker", "luthier", "organ builder", "piano tuner", "saddler", "watchmaker")
WIDTHS = {"icon": 32, "half": 320, "full": 1280}


def said_of(one: Json, name: str) -> str:
    """Return what an item says under a name, where it says something."""
    return f" ({one[name]})" if name in one else ""


def search_parts(call: Call) -> Answer:
    """Return a page of parts, which have what was asked for in their names."""
    query, kind, size = call.args["query"], call.args.get("kind", "spring"), int(call.args.get("per_page", 6))
    price, page = call.args.get("price", {}), int(call.args.get("page", 1))
    known: list[Json] = [
        {"sku": f"P{n:03}", "name": f"{kind} {n}: {query}", "price": round(1.5 + n * 2.25, 2), "stock": n * 7 % 5}
        for n in range(1, PARTS + 1)
    ]
    known = [one for one in known if price.get("least", 0) <= one["price"] <= price.get("most", 100000)]
    found = known[(page - 1) * size : page * size]
    following = page + 1 if page * size < len(known) else None
    display: Json = {
        "type": "table",
        "title": f"{kind}: {len(found)} of {len(known)}",
        "alt": f"{len(found)} of {len(known)} parts of the kind {kind}, the first of them {found[:1]}."[:4000],
        "payload": {
            "columns": ["sku", {"key": "name", "title": "Part"}, {"key": "price", "type": "number", "align": "right"}],
            "rows": found,
            "caption": f"Parts for {query}",
            "row_header": "sku",
            "total_rows": len(known),
        },
        "meta": {"truncated": len(found) < len(known), "source": "the drawers"},
    }
    said = [f"{one['sku']} {one['name']} ({one['price']})" for one in found] or ["There is no such part."]
    said += [f"Maker: {call.args['maker']}"] if call.args.get("maker") is not None else []
    said += [f"The next page is {following}."] if following else []
    return Answer("\n".join(said), display, {"parts": found, "total": len(known), "next_page": following})


def list_trades(call: Call) -> Answer:
    """Return the trades that the workshop knows."""
    found = [one for one in TRADES if one.startswith(call.args.get("letter", ""))]
    return Answer("\n".join(found), data={"result": found})


def wear_chart(call: Call) -> Answer:
    """Return a chart of the wear of a part."""
    readings, kind = call.args["readings"], call.args.get("mark", "line")
    said = [f"{one['hour']} h: {one['wear']}{said_of(one, 'note')}" for one in readings]
    highest = max((one["wear"] for one in readings), default=0)
    display: Json = {
        "type": "chart",
        "alt": f"{len(readings)} readings of wear, the highest of them {highest}.",
        "payload": {
            "mark": {"type": kind, "point": True},
            "data": {"values": [{**one, "href": "none"} for one in readings]},
            "encoding": {
                "x": {"field": "hour", "type": "quantitative", "title": "Hours"},
                "y": {"field": "wear", "type": "quantitative"},
            },
        },
    }
    if "heading" in call.args:
        display["title"] = call.args["heading"]
    return Answer("\n".join([f"{len(readings)} readings", *said]), display)


def part_picture(call: Call) -> Answer:
    """Return a drawing of a part; those of the lost book are lost."""
    part, size, origin = call.args["part"], call.args.get("size", "half"), call.args.get("origin", "web")
    if origin == "lost":
        raise Failure("NOT_FOUND", f"The book with '{part}' is lost.", {"params": {"part": part}})
    src = DOT if origin == "inline" else f"https://workshop.example/drawings/{size}.png"
    payload = {"src": src, "mime": "image/png", "width": WIDTHS[size]}
    return Answer(
        f"The drawing is {WIDTHS[size]} pixels wide.",
        {"type": "image", "alt": f"A drawing in ink of this part: {part}", "payload": payload},
    )


def open_card(call: Call) -> Answer:
    """Return what is on the card of a job; of a long one, the beginning."""
    text, form = call.args["text"], call.args.get("form", "text")
    said = text[:LONGEST]
    payload: object = said
    if form == "code":
        payload = {"code": said, "language": call.args.get("language", "none")}
    elif form == "json":
        payload = [said.partition("\n")[0], {"letters": len(said), "rest": said.partition("\n")[2]}]
    display: Json = {"type": form, "title": "A card", "payload": payload}
    if said != text:
        display["meta"] = {"truncated": True}
    if "shelf" in call.args:
        display["id"] = f"shelf:{call.args['shelf']}"[:128]
    return Answer(said, display, cut=said != text)


def my_jobs(call: Call) -> Answer:
    """Return the jobs of whoever asks."""
    state, most = call.args.get("state", "open"), int(call.args.get("most", 3))
    jobs: list[Json] = [{"label": f"J{40 + n}", "value": f"{state}, since {n + 2} days"} for n in range(most)]
    display = {"type": "facts", "title": f"{most} jobs", "payload": jobs, "alt": f"{most} jobs: they are {state}."}
    said = "".join(f"\n{one['label']}: {one['value']}" for one in jobs)
    return Answer(f"{call.filled['customer_id']} has {most} jobs.{said}", display)


def check_order(call: Call) -> Answer:
    """Return whether an order could be sent, and a reminder for the person alone."""
    lines = call.args["lines"]
    aside = "For your eyes alone: we are closed on each second Monday." if call.args.get("remind") else ""
    said = [f"{one['sku']} x {one['quantity']}{said_of(one, 'remark')}" for one in lines]
    return Answer("\n".join([f"{len(lines)} lines can be ordered.", *said]), aside=aside)


def split_cost(call: Call) -> Answer:
    """Return what each of several owners pays; nobody thought of an instrument without owners."""
    each = call.args["amount"] / int(call.args.get("shares", 3))
    return Answer(f"{each:.2f} for each of them", data={"value": each})


def bench(call: Call) -> Answer:
    """Return one of several displays about a bench."""
    name, load, remarks = call.args["bench"], int(call.args["load"]), call.args.get("remarks", [])
    metric: Json = {"type": "metric", "payload": [{"label": name, "value": load, "unit": "%", "delta": -1.5}]}
    looks: dict[str, Json] = {
        "metric": metric,
        "facts": {"type": "facts", "payload": {"Bench": name, "Load": load, "Free": load < 100, "Owner": None}},
        "remarks": {
            "type": "group",
            "title": f"{len(remarks)} remarks",
            "payload": [{"type": "markdown", "payload": one} for one in remarks[:30]],
        },
        "gauge": {
            "type": "x-workshop-gauge",
            "payload": {"needle": load},
            "alt": f"A needle that points to {load}.",
            "fallback": {**metric, "fallback": {"type": "text", "payload": f"{load} percent"}},
        },
        "alarm": {"type": "notification", "payload": {"message": f"{name} is hot.", "level": "warning"}},
        "manual": {
            "type": "file",
            "payload": {"uri": f"https://workshop.example/{name}.pdf", "mime": "application/pdf", "size": 88012},
        },
    }
    said = "".join(f"\n- {one}" for one in remarks)
    return Answer(f"{name} has a load of {load} %.{said}", looks[call.args.get("look", "metric")])


def find_ticket(call: Call) -> Answer:
    """Return a ticket, or one of several failures."""
    ticket, desk = call.args["ticket"], call.args.get("desk", "front")
    if desk == "busy":
        limit = {"scope": "desk", "dimension": "people", "max": 2, "reset_at": "2027-03-01T08:00:00+01:00"}
        note = {"type": "notification", "payload": {"message": "Two people are before you.", "level": "info"}}
        raise Failure("RATE_LIMIT", "The desk is busy.", {"limit": limit}, wait=900, display=note)
    if desk == "shut":
        meta: Json = {"recovery": "ask_user", "workshop/opens": "Tuesday"}
        raise Failure("X_WORKSHOP_SHUT", "The desk is shut today.", meta, category="conflict")
    if desk == "dusty":
        raise Failure("X_WORKSHOP_DUSTY", "The tickets cannot be read.", category="unavailable")
    if desk == "offline":
        raise Failure("UPSTREAM_UNAVAILABLE", "The office does not answer.", {"upstream_status": 502}, wait=2000)
    if ticket["by"] == "owner":
        owner = ticket["owner"]
        raise Failure("NOT_FOUND", f"Nobody left anything as '{owner}'.", {"params": {"owner": owner}})
    number = ticket["number"]
    return Answer(f"{number}: a viola, on the shelf.", {"type": "json", "payload": {"ticket": number, "days": [2, 3]}})


def book_repair(call: Call) -> Answer:
    """Book a repair; one of more than thirty hours is always refused."""
    customer, wishes = call.args["customer"], call.args.get("wishes", [])
    if call.args.get("hours", 1) > 30:
        meta: Json = {"params": {"hours": call.args["hours"]}, "side_effects": "none"}
        raise Failure("CONFLICT", "No bench is free for so long.", meta)
    said = "".join(f"\n{one['what']}{', by all means' if one.get('firm') else ''}" for one in wishes)
    return Answer(f"{customer['name']} is booked for {call.args['day']}.{said}")


def quote_json(call: Call) -> Answer:
    """Return an offer as JSON."""
    rates = call.args.get("rates", {})
    said = {"label": call.args["label"], "hours": call.args.get("hours", 1), "rates": rates, "open": [True, None]}
    return Answer(json.dumps(said, ensure_ascii=False), media="application/json")


def label_drawer(call: Call) -> Answer:
    """Return the labels of a drawer."""
    labels = call.args["labels"]
    said = "\n".join(f"{name} = {json.dumps(one, ensure_ascii=False)}" for name, one in labels.items())
    return Answer(said or "No labels.", {"type": "facts", "title": "A drawer", "payload": dict(labels)})


def proof_note(call: Call) -> Answer:
    """Return a note as it would be printed."""
    said = f"{call.args['subject']}\n\n{call.args['body']}"
    if call.args.get("signature") is not None:
        said += f"\n\n{call.args['signature']}"
    return Answer(said + "".join(f"\n#{one}" for one in call.args.get("tags", [])))


_NUMBER = takes("by number", by={"const": "number"}, number={"type": "string", "pattern": "^T-[0-9]{4}$"})
_OWNER = takes("by owner", by={"const": "owner"}, owner=words(3000))
_TICKET: Json = {
    "oneOf": [_NUMBER, _OWNER],
    "examples": [{"by": "number", "number": "T-0042"}, {"by": "owner", "owner": "Ilse Marek"}],
}
_LABELS: Json = {
    "type": "object",
    "additionalProperties": {"type": ["string", "integer", "number", "boolean", "null"]},
    "maxProperties": 20,
    "examples": [{"screws": 40, "thread": "M2", "brass": True, "maker": None}],
}
_READING = takes(
    "hour wear",
    hour=count(0, 1_000_000),
    wear={"type": "number", "minimum": 0, "maximum": 1},
    note=words(200),
)
_LINE = takes(
    "sku quantity",
    sku={"type": "string", "pattern": "^P[0-9]{3}$", "examples": ["P007"]},
    quantity=count(1, 999),
    remark=words(300),
)
_PRICE = takes(
    least={"type": "number", "minimum": 0, "maximum": 100000},
    most={"type": "number", "minimum": 0, "maximum": 100000},
)
_PART = takes(
    "sku name price stock",
    sku={"type": "string"},
    name={"type": "string"},
    price={"type": "number"},
    stock={"type": "integer"},
)
_PARTS = takes(
    "parts total next_page",
    parts={"type": "array", "items": _PART},
    total={"type": "integer"},
    next_page={"type": ["integer", "null"]},
)
_MAYBE: Json = {"anyOf": [{"type": "string", "maxLength": 120}, {"type": "null"}], "default": None}
_CONTACT = takes("email", email={"type": "string", "format": "email"}, phone=words(30))
TOOLS: dict[str, Tool] = {
    "search_parts": Tool(
        "Search the drawers for parts, page by page.",
        takes(
            "query",
            query=words(400),
            kind=choice("spring", "pin", "gear"),
            price=_PRICE,
            maker=_MAYBE,
            page=count(1, 50),
            per_page=count(1, 25),
            show_user=SHOW,
        ),
        search_parts,
        gives=_PARTS,
        meta={"display": True, "provides": "parts"},
    ),
    "list_trades": Tool(
        "List the trades of the workshop.",
        takes(letter=choice("b", "l", "o", "p", "s", "w")),
        list_trades,
        gives=takes("result", result={"type": "array", "items": {"type": "string"}}),
        meta={"wrapped_in": "result", "cacheable": True},
        idempotent=True,
    ),
    "wear_chart": Tool(
        "Draw how a part wears.",
        takes(
            "readings",
            readings=many(_READING, 250),
            mark=choice("line", "bar", "area"),
            heading=words(200),
            show_user=SHOW,
        ),
        wear_chart,
        meta={"display": True, "depends_on": ["search_parts"]},
    ),
    "part_picture": Tool(
        "Show a drawing of a part.",
        takes(
            "part",
            part=words(2000),
            size=choice("icon", "half", "full"),
            origin=choice("web", "inline", "lost"),
            show_user=SHOW,
        ),
        part_picture,
        meta={"display": True, "cacheable": True, "depends_on": ["search_parts", "label-drawer"]},
    ),
    "open_card": Tool(
        "Open the card of a job.",
        takes(
            "text",
            text=words(15000),
            form=choice("text", "markdown", "html", "code", "json"),
            shelf={"type": "string", "minLength": 1, "maxLength": 200},
            language={"type": "string", "minLength": 1, "maxLength": 40},
            show_user=SHOW,
        ),
        open_card,
        meta={"display": True},
    ),
    "my_jobs": Tool(
        "List the jobs of whoever asks.",
        takes(state=choice("open", "done", "lost"), most=count(0, 12), show_user=SHOW),
        my_jobs,
        meta={"display": True, "server_populated": ["customer_id", "branch", "member", "ledger", "pin"]},
    ),
    "check_order": Tool(
        "Check an order before it is sent.",
        takes("lines", lines=many(_LINE, 25), remind={"type": "boolean"}),
        check_order,
        meta={"server_populated": ["pin"], "depends_on": ["search_parts"]},
    ),
    "split_cost": Tool(
        "Split a cost among owners.",
        takes("amount", amount={"type": "number", "minimum": 0, "maximum": 1000000}, shares=count(0, 50)),
        split_cost,
        gives=takes("value", value={"type": "number"}),
        meta={"wrapped_in": "value"},
    ),
    "bench": Tool(
        "Show a bench.",
        takes(
            "bench load",
            bench={"type": "string", "pattern": "^B[1-9]$", "examples": ["B3"]},
            load=count(0, 100),
            look=choice("metric", "facts", "remarks", "gauge", "alarm", "manual"),
            remarks=many(words(60), 40),
            show_user=SHOW,
        ),
        bench,
        meta={"display": True},
    ),
    "find_ticket": Tool(
        "Find a ticket by its number or by its owner.",
        takes("ticket", ticket=_TICKET, desk=choice("front", "busy", "shut", "dusty", "offline"), show_user=SHOW),
        find_ticket,
        meta={"display": True},
    ),
    "book_repair": Tool(
        "Book a repair.",
        takes(
            "customer day",
            customer=takes("name contact", name=words(80), contact=_CONTACT),
            day={"type": "string", "format": "date", "examples": ["2027-02-03"]},
            hours=count(1, 40),
            wishes=many(takes("what", what=words(80), firm={"type": "boolean"}), 6),
        ),
        book_repair,
        reads=False,
    ),
    "quote_json": Tool(
        "Return an offer as data.",
        takes(
            "label",
            label=words(2000),
            hours={"type": "number", "minimum": 0, "maximum": 200},
            rates={"type": "object", "additionalProperties": {"type": "number"}, "maxProperties": 10},
        ),
        quote_json,
    ),
    "label-drawer": Tool(
        "Label a drawer.", takes("labels", labels=_LABELS, show_user=SHOW), label_drawer, meta={"display": True}
    ),
    "proof_note": Tool(
        "Lay out a note as it would be printed.",
        takes(
            "subject body",
            subject=words(300),
            body=words(9000),
            signature=_MAYBE,
            tags={"type": "array", "items": words(40), "maxItems": 12, "uniqueItems": True},
        ),
        proof_note,
    ),
}
