"""The tools of the bakery."""

from __future__ import annotations

import json
from copy import deepcopy

from unseen_seventh.kit import Goods, Json, Order, Refusal, Ware, choice, count, many, takes, words

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SHOW: Json = {"type": "boolean", "default": False, "description": "Whether the person sees a display."}
PANEL = choice("metric", "facts", "notes", "dial", "alarm")
LONGEST = 6000


def breads(order: Order) -> Goods:
    """Return breads that nobody has baked."""
    grain, most = order.args.get("grain", "wheat"), int(order.args.get("most", 3))
    second = f" or {order.args['2nd_choice']}" if "2nd_choice" in order.args else ""
    found = [f"{grain}{second} bread {number + 1}: {order.args['words']}" for number in range(most)]
    return Goods("\n".join(found), data={"result": found})


def prices(order: Order) -> Goods:
    """Return what things cost at a counter."""
    counter, most = order.args["counter"], int(order.args.get("rows", 4))
    rows = [
        {"item": f"{counter} {number + 1}", "price": round(1.2 + number * 0.35, 2), "sold out": number % 5 == 4}
        for number in range(most)
    ]
    display = {
        "type": "table",
        "title": f"Prices: {counter}",
        "alt": f"The prices of {most} things at the counter for {counter}.",
        "payload": rows,
        "meta": {"locale": "en", "bakery/counter": counter},
    }
    return Goods("\n".join(f"{row['item']}: {row['price']} EUR" for row in rows) or "Nothing today.", display)


def card(order: Order) -> Goods:
    """Return the text of a recipe; a long one is cut for both, and says so."""
    whole, form, shelf = order.args["recipe"], order.args.get("form", "text"), order.args.get("shelf")
    recipe = whole[:LONGEST]
    payload: object = recipe
    if form == "code":
        payload = {"code": recipe, "filename": "recipe.txt"}
    elif form == "json":
        payload = {"recipe": recipe, "lines": recipe.split("\n")[:50], "shelf": shelf}
    display: Json = {"type": form, "title": "A recipe", "payload": payload}
    if shelf is not None:
        display["id"] = f"shelf {shelf}"
    return Goods(recipe, display, cut=recipe != whole)


def share(order: Order) -> Goods:
    """Return the grams of each portion; nobody thought of no portions at all."""
    each = order.args["grams"] / int(order.args.get("portions", 4))
    return Goods(f"{each:.2f} g for each portion.", data={"each": each})


def curve(order: Order) -> Goods:
    """Return a chart of the heat in an oven."""
    degrees = order.args["degrees"]
    values = [{"minute": 5 * number, "degrees": one, "href": "#"} for number, one in enumerate(degrees)]
    mark = order.args.get("mark", "line")
    display = {
        "type": "chart",
        "title": "Heat",
        "alt": f"The oven was at most {max(degrees)} degrees hot." if degrees else "The oven was not on.",
        "payload": {
            "mark": "point" if mark == "loaf" else mark,
            "data": {"values": values},
            "encoding": {
                "x": {"field": "minute", "type": "quantitative"},
                "y": {"field": "degrees", "type": "quantitative"},
            },
        },
    }
    return Goods(f"{len(degrees)} readings: {', '.join(str(one) for one in degrees)}", display)


def picture(order: Order) -> Goods:
    """Return a picture of a cake."""
    caption, wide = order.args["caption"], order.args.get("wide", 200)
    inline = order.args.get("source") == "inline"
    payload = {
        "src": PIXEL if inline else f"https://bakery.example/cakes/{wide}.png",
        "width": wide,
        "mime": "image/png",
    }
    display = {"type": "image", "alt": f"A cake with cherries. On it is written: {caption}", "payload": payload}
    return Goods(f"The cake on the picture is {wide} pixels wide.", display)


def mine(order: Order) -> Goods:
    """Return the orders of a customer."""
    customer, since, most = order.filled["customer_id"], order.args.get("since", "week"), int(order.args.get("most", 2))
    rows: list[Json] = [{"order": f"A{100 + number}", "at": order.filled["shop"]} for number in range(most)]
    said = "".join(f"\n{row['order']} at {row['at']}" for row in rows)
    display = {"type": "table", "title": f"{most} orders", "payload": rows, "alt": f"Your orders of this {since}."}
    return Goods(f"{customer}, this {since}: {most} orders{said}", display)


def panel(order: Order) -> Goods:
    """Return one or two displays about an oven."""
    oven, heat, also = order.args["oven"], int(order.args["heat"]), order.args.get("also", [])
    metric: Json = {"type": "metric", "payload": {"label": oven, "value": heat, "unit": "degrees"}}
    notes = [{"type": "text", "payload": one} for one in also[:20]]
    shows: dict[str, Json] = {
        "metric": metric,
        "facts": {"type": "facts", "payload": {"Oven": oven, "Heat": heat, "Hot": heat > 200, "Loaf": None}},
        "notes": {"type": "group", "title": f"{len(also)} notes", "payload": notes},
        "dial": {
            "type": "x-bakery-dial",
            "payload": {"at": heat},
            "alt": f"A dial at {heat}.",
            "fallback": {**metric, "fallback": {"type": "text", "payload": f"{heat} degrees"}},
        },
        "alarm": {"type": "notification", "payload": {"message": f"{oven} is ready.", "level": "success"}},
    }
    display = shows[order.args.get("panel", "metric")]
    if "second" in order.args:
        display = {"type": "group", "payload": [display, deepcopy(shows[order.args["second"]])]}
    return Goods(f"{oven} is at {heat} degrees. {' / '.join(also)}", display)


def find(order: Order) -> Goods:
    """Return an order, or one of several failures."""
    asked, counter = order.args["order"], order.args.get("counter", "main")
    if counter == "busy":
        limit = {"scope": "counter", "dimension": "customers", "max": 3}
        busy = {"type": "notification", "payload": {"message": "Please wait a moment.", "level": "warning"}}
        meta: Json = {"limit": limit, "side_effects": "none"}
        raise Refusal("RATE_LIMIT", "There is a queue.", meta, wait=1500, display=busy)
    if counter == "closed":
        meta = {"recovery": "ask_user", "bakery/opens": "06:30"}
        raise Refusal("X_BAKERY_CLOSED", "This counter opens at half past six.", meta, category="conflict")
    if counter == "cold":
        raise Refusal("X_BAKERY_OVEN_COLD", "The oven went out.", {"side_effects": "none"}, category="internal")
    if counter == "offline":
        raise Refusal("UPSTREAM_UNAVAILABLE", "The book of orders does not answer.", {"upstream_status": 503})
    if asked["by"] == "name" and asked["name"] != "Lin":
        name = asked["name"]
        raise Refusal("NOT_FOUND", f"There is no order for '{name}'.", {"params": {"name": name}})
    which = asked.get("number") or asked["name"]
    return Goods(
        f"Order {which}: two loaves.", {"type": "json", "payload": {"order": which, "items": ["loaf", "loaf"]}}
    )


def label(order: Order) -> Goods:
    """Return a label as JSON."""
    said = {"label": order.args["label"], "grams": order.args.get("grams", 500), "box": [[1, 2], [3, 4]]}
    return Goods(json.dumps(said, ensure_ascii=False, separators=(",", ":")), media="application/json")


def announce(order: Order) -> Goods:
    """Return what is called into the shop, and a word for the person alone."""
    aside = "Only you can see this: the bell of the shop is broken." if order.args.get("bell") else ""
    return Goods(f"{order.args['what']} is ready in {order.args.get('minutes', 10)} minutes.", aside=aside)


def weigh(order: Order) -> Goods:
    """Return weights as a table."""
    rows = [[number + 1, grams] for number, grams in enumerate(order.args["grams"])]
    display = {"type": "table", "title": "Weights", "payload": {"columns": ["piece", "grams"], "rows": rows}}
    return Goods("\n".join(f"Piece {piece}: {grams} g" for piece, grams in rows), display)


def first(order: Order) -> Goods:
    """Return the dough that waits longest; nobody thought of an empty table."""
    return Goods(f"Next: {next(iter(order.args['waiting']))}")


def stamp(order: Order) -> Goods:
    """Return letters as a stamp needs them."""
    letters = order.args["letters"]
    return Goods(f"The stamp says: {letters}", {"type": "text", "title": "Stamp", "payload": letters[::-1]})


def stock(order: Order) -> Goods:
    """Return what is in the store."""
    goods = order.args["goods"]
    said = "\n".join(f"{name}: {json.dumps(one, ensure_ascii=False)}" for name, one in goods.items())
    return Goods(said, {"type": "facts", "payload": dict(goods)})


def place(order: Order) -> Goods:
    """Order nothing; cakes are always sold out."""
    if order.args["item"] == "cake":
        raise Refusal("CONFLICT", "The last cake is gone.", {"params": {"item": "cake"}, "side_effects": "none"})
    return Goods(f"{order.args.get('pieces', 1)} of {order.args['item']}, thank you.")


_NUMBER = takes("by number", by={"const": "number"}, number={"type": "string", "pattern": "^[0-9]{5}$"})
_NAME = takes("by name", by={"const": "name"}, name=words(2500))
_ORDER: Json = {
    "oneOf": [_NUMBER, _NAME],
    "examples": [{"by": "number", "number": "01234"}, {"by": "name", "name": "Lin"}],
}
_GOODS: Json = {
    "type": "object",
    "additionalProperties": {"type": ["integer", "string", "boolean", "null"]},
    "maxProperties": 15,
    "examples": [{"flour": 25, "yeast": "enough", "salt": None}],
}
WARES: dict[str, Ware] = {
    "shop.breads": Ware(
        "Find breads.",
        takes(
            "words",
            words=words(300),
            grain=choice("rye", "wheat", "spelt"),
            most=count(1, 25),
            **{"2nd_choice": choice("oat", "barley")},
        ),
        breads,
        gives=takes("result", result={"type": "array", "items": {"type": "string"}}),
        meta={"wrapped_in": "result", "cacheable": True, "provides": "breads"},
    ),
    "shop.prices": Ware(
        "Show what things cost.",
        takes("counter", counter=choice("bread", "cake", "coffee"), rows=count(0, 30), show_user=SHOW),
        prices,
        meta={"display": True, "depends_on": ["shop.breads"]},
    ),
    "recipe.card": Ware(
        "Lay out a recipe.",
        takes(
            "recipe",
            recipe=words(12000),
            form=choice("text", "markdown", "html", "code", "json"),
            shelf=words(40),
            show_user=SHOW,
        ),
        card,
        meta={"display": True},
    ),
    "recipe.share": Ware(
        "Divide dough into portions.",
        takes("grams", grams={"type": "number", "minimum": 0, "maximum": 100000}, portions=count(0, 50)),
        share,
        gives=takes("each", each={"type": "number"}),
    ),
    "oven.curve": Ware(
        "Draw how hot an oven was.",
        takes(
            "degrees",
            degrees=many({"type": "number", "minimum": 0, "maximum": 400}, 150),
            mark=choice("line", "bar", "loaf"),
            show_user=SHOW,
        ),
        curve,
        meta={"display": True, "provides": "degrees"},
    ),
    "cake.picture": Ware(
        "Show a cake.",
        takes("caption", caption=words(1500), source=choice("web", "inline"), wide=count(1, 2000), show_user=SHOW),
        picture,
        meta={"display": True, "cacheable": True},
    ),
    "orders.mine": Ware(
        "List the orders of whoever asks.",
        takes(since=choice("week", "month"), most=count(0, 9), show_user=SHOW),
        mine,
        meta={"display": True, "server_populated": ["customer_id", "shop", "credit_cents", "token"]},
    ),
    "oven.panel": Ware(
        "Show an oven.",
        takes(
            "oven heat",
            oven={"type": "string", "pattern": "^O[0-9]{1,2}$", "examples": ["O7"]},
            heat=count(0, 350),
            panel=PANEL,
            second=PANEL,
            also=many(words(50), 60),
            show_user=SHOW,
        ),
        panel,
        meta={"display": True},
    ),
    "orders.find": Ware(
        "Find an order by its number or by a name.",
        takes("order", order=_ORDER, counter=choice("main", "busy", "closed", "cold", "offline"), show_user=SHOW),
        find,
        meta={"display": True},
    ),
    "label.print": Ware("Return a label as data.", takes("label", label=words(1500), grams=count(1, 9999)), label),
    "shop.announce": Ware(
        "Preview an announcement.",
        takes("what", what=words(120), minutes=count(0, 60), bell={"type": "boolean"}),
        announce,
    ),
    "dough.weigh": Ware(
        "List the weights of pieces of dough.",
        takes("grams", grams=many({"type": "integer"}, 80), show_user=SHOW),
        weigh,
        meta={"display": True},
    ),
    "dough.first": Ware("Say which dough is next.", takes("waiting", waiting=many(words(60), 10)), first),
    "cookie.stamp": Ware(
        "Make the stamp for a cookie.",
        takes("letters", letters=words(150), show_user=SHOW),
        stamp,
        meta={"display": True},
    ),
    "stock.count": Ware(
        "Count the store.", takes("goods", goods=_GOODS, show_user=SHOW), stock, meta={"display": True}
    ),
    "orders.place": Ware(
        "Order something.", takes("item", item=choice("loaf", "roll", "cake"), pieces=count(1, 12)), place, reads=False
    ),
}
