"""Servers that look unusual and keep every sentence."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import mcp_types
from mcp.shared.exceptions import MCPError

from unseen_fourth.airport import Airport, NegotiatedAirport, PlainAirport, for_the_person
from unseen_fourth.registry import permitted
from unseen_fourth.routes import (
    ROUTES,
    STRING,
    Answer,
    Call,
    Failure,
    Json,
    Middleware,
    Outcome,
    Route,
    Step,
    airport_info,
    edited,
    record,
)

_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_TAG = re.compile(r"<\s*/?\s*(tool_response|llm_output|display|error|meta|server_populated)", re.IGNORECASE)


def picture() -> mcp_types.ImageContent:
    """Return a block with a picture of one pixel."""
    return mcp_types.ImageContent(type="image", data=_PIXEL, mime_type="image/png")


@permitted
class TheOtherSpelling(NegotiatedAirport):
    """Elements without content are empty-element tags, attributes stand in apostrophes with line feeds between them,
    and whatever is not a word is a reference in hexadecimal."""

    def attributes(self, values: Mapping[str, str]) -> str:
        return "".join(f"\n\t{name}\t=\n'{self.escaped(value)}'" for name, value in reversed([*values.items()]))

    def escaped(self, text: str) -> str:
        return re.sub(r"[^A-Za-z0-9 ]", lambda found: f"&#x{ord(found[0]):06x};", text)

    def element(self, name: str, attributes: Mapping[str, str], content: str) -> str:
        start = f"<{name}{self.attributes(attributes)}\n"
        return f"{start}>{content}</{name}\r\n>" if content else f"{start}/>"


@permitted
class CdataInPieces(Airport):
    """The writer flushes every seven characters: each piece is a CDATA section of its own if it can be one, and text
    otherwise, with empty sections between them."""

    def characters(self, call: Call, text: str) -> str:
        if _TAG.search(text):
            return self.escaped(text)
        pieces = (text[at : at + 7] for at in range(0, len(text), 7))
        written = (self.escaped(one) if re.search("]|\r", one) else f"<![CDATA[{one}]]>" for one in pieces)
        return "<![CDATA[]]>".join(written)


@permitted
class RefusesAtTheGate(NegotiatedAirport):
    """What fits the schema can still be nonsense for an airport: a flight to where it starts, an empty announcement, no
    bags. Such calls fail in words of the airport."""

    def chain(self) -> list[Middleware]:
        return [*super().chain(), self.refuse_nonsense]

    async def refuse_nonsense(self, call: Call, go: Step) -> Outcome:
        """Refuse what no schema forbids."""
        args = call.args
        if call.tool == "find_flights" and args["origin"] == (args.get("destination") or ""):
            field = {"pointer": "/destination", "reason": "same_as_origin", "message": "is where the flight starts"}
            raise Failure("INVALID_ARGUMENT", "That is not a flight.", {"fields": [field], "side_effects": "none"})
        empty = [name for name in ("message", "entry", "weights", "slots") if name in args and not args[name]]
        if empty and call.tool != "page_passenger":
            raise Failure("PRECONDITION_FAILED", "There has to be something.", {"params": {"empty": empty}})
        if str(args.get("day", "2026")) < "2020":
            raise Failure("X_AIRPORT_HISTORY", "Ask the museum, please.", category="museum")
        return await go(call)


@permitted
class OneAtATime(Airport):
    """Each tool has one desk: a call that comes while another one is there is told when to come again."""

    def __init__(self) -> None:
        super().__init__()
        self.busy: set[str] = set()

    def chain(self) -> list[Middleware]:
        *outer, pause = super().chain()
        return [*outer, self.queue, pause]

    async def queue(self, call: Call, go: Step) -> Outcome:
        """Let one call of a tool in."""
        if call.tool in self.busy:
            limit = {"scope": "desk", "dimension": "calls at a time", "max": 1}
            raise Failure(
                "RATE_LIMIT", "Somebody is at the desk.", {"limit": limit, "side_effects": "none"}, after_ms=60
            )
        self.busy.add(call.tool)
        try:
            return await go(call)
        finally:
            self.busy.discard(call.tool)


@permitted
class CounterForEachGate(NegotiatedAirport):
    """There is a tool for each of 240 gates, which nobody describes, and the list comes in pages of 25, the last of
    them empty."""

    def routes(self) -> dict[str, Route]:
        gates = (f"{pier}{number:02}" for pier in "ABCDEF" for number in range(1, 41))
        return {**ROUTES, **{f"gate_{gate}": Route("", {"type": "object"}, airport_info) for gate in gates}}

    def page(self, cursor: str | None, tools: list[mcp_types.Tool]) -> mcp_types.ListToolsResult:
        if cursor is not None and not re.fullmatch("from [0-9]{1,4}", cursor):
            raise MCPError(-32602, "The list has no such page.")
        first = int(cursor.removeprefix("from ")) if cursor else 0
        follows = f"from {first + 25}" if first < len(tools) else None
        return mcp_types.ListToolsResult(tools=tools[first : first + 25], next_cursor=follows)


@permitted
class ClosedForTheWinter(NegotiatedAirport):
    """The list of tools is empty."""

    def routes(self) -> dict[str, Route]:
        return {}


@permitted
class OneButton(Airport):
    """There is one tool, which takes anything and does the same; its text is empty."""

    def routes(self) -> dict[str, Route]:
        return {"press": Route("Press the button.", {"type": "object"}, lambda _call: Answer(""))}


@permitted
class OfficeInNarita(NegotiatedAirport):
    """Texts are Japanese and Arabic, with signs for the direction, full-width digits and a comma before decimals."""

    def chain(self) -> list[Middleware]:
        return [self.translate, *super().chain()]

    async def translate(self, call: Call, go: Step) -> Outcome:
        """Put failures into Japanese."""
        outcome = await go(call)
        if isinstance(outcome, Failure):
            outcome.message = f"申し訳ございません。\u200f{outcome.code.lower()}\u200e（エラー）"
            outcome.meta = {**(outcome.meta or {}), "localized": [{"locale": "ar-EG", "message": "عذرًا، حدث خطأ"}]}
        return outcome

    def routes(self) -> dict[str, Route]:
        routes = edited(super().routes(), "bag_weights", summary="手荷物の重さを合計します。", do=self.bags)
        return edited(
            routes, "airport_info", do=lambda _call: Answer("オタワ国際空港\u3000標高１１４ｍ\u2028\u202bمطار\u202c")
        )

    def bags(self, call: Call) -> Answer:
        """Add up the weights of bags."""
        whole = routes_of_the_house(call)
        total = f"{sum(call.args['weights']):.2f}".replace(".", ",")
        show = {
            **whole.show,
            "title": "手荷物\u2066(重さ)\u2069",
            "alt": f"合計 {total}",
            "meta": {"locale": "ja-JP-u-ca-japanese"},
        }
        return replace(whole, text=f"合計 {total}".translate({48 + n: 0xFF10 + n for n in range(10)}), show=show)


def routes_of_the_house(call: Call) -> Answer:
    """Return what the airport's own route answers."""
    return ROUTES[call.tool].do(call)


@permitted
class FailsWithEverything(NegotiatedAirport):
    """A failure that the author of a tool made says all that can be said, and comes with pictures, data and, where the
    caller asked for one, a display."""

    def chain(self) -> list[Middleware]:
        return [*super().chain(), self.say_everything]

    async def say_everything(self, call: Call, go: Step) -> Outcome:
        """Add to what a failure says."""
        try:
            return await go(call)
        except Failure as failure:
            failure.meta = {
                **(failure.meta or {}),
                "side_effects": "partial",
                "recovery": "ask_user",
                "help": [{"url": "https://airport.example/?a=1&b=<2>"}],
                "cause": {"code": "TIMEOUT", "cause": {"code": "X"}},
                "airport.example/a/b/c": [[[None]], {"": -0.0}],
                "localized": [],
                "error_id": "#" * 128,
            }
            raise

    def parts(self, call: Call, outcome: Outcome) -> list[str]:
        parts = super().parts(call, outcome)
        if isinstance(outcome, Answer) or not call.shown or "maxBytes" in call.declaration:
            return parts
        show = self.adapted(call, {"type": "notification", "payload": {"message": "Sorry!", "level": "error"}})
        return [*parts, self.json_part(call, "display", show)]

    def blocks(self, call: Call, outcome: Outcome, document: str) -> list[mcp_types.ContentBlock]:
        blocks = super().blocks(call, outcome, document)
        return (
            [*blocks, picture(), for_the_person("Please ask at the desk.")] if self.by_the_author(outcome) else blocks
        )

    def data(self, call: Call, outcome: Outcome) -> Json | None:
        return {"free_gates": ["B1", "B2"]} if self.by_the_author(outcome) else super().data(call, outcome)

    def by_the_author(self, outcome: Outcome) -> bool:
        """Return whether this is the conflict to which the author of the tool added data."""
        return isinstance(outcome, Failure) and outcome.code == "CONFLICT"


@permitted
class OrderOfAMap(Airport):
    """As in a language whose maps have no order, members, attributes and tools come in another one each time."""

    def shuffled(self, value: Any) -> Any:
        """Return a value with the members of its objects in any order."""
        if isinstance(value, list):
            return [self.shuffled(one) for one in value]
        if not isinstance(value, dict):
            return value
        return {name: self.shuffled(value[name]) for name in random.sample([*value], len(value))}

    def attributes(self, values: Mapping[str, str]) -> str:
        return super().attributes(self.shuffled(dict(values)))

    def json_text(self, value: Any) -> str:
        return super().json_text(self.shuffled(value))

    def listing(self, *, declared: bool, handshake: bool) -> list[mcp_types.Tool]:
        tools = super().listing(declared=declared, handshake=handshake)
        return random.sample(tools, len(tools))


@permitted
class SchemasByHand(NegotiatedAirport):
    """Whoever wrote the schemas knows the whole standard: anchors, conditions, dependent schemas, schemas that are
    true, properties that are only named where something else is."""

    def routes(self) -> dict[str, Route]:
        board = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "https://airport.example/schemas/board",
            "$comment": "See the wiki.",
            "type": "object",
            "properties": {"show_user": ROUTES["departure_board"].takes["properties"]["show_user"], "terminal": True},
            "allOf": [
                {"$ref": "#rows"},
                {"properties": {"terminal": {"enum": ["A", "B", "C"]}}, "required": ["terminal"]},
            ],
            "dependentSchemas": {"rows": {"properties": {"lang": {"const": "en"}}}},
            "if": {"properties": {"terminal": {"const": "C"}}, "required": ["terminal"]},
            "then": {"properties": {"rows": {"maximum": 9}}},
            "unevaluatedProperties": False,
            "$defs": {
                "": {"$anchor": "rows", "properties": {"rows": {"type": "integer", "minimum": 0, "multipleOf": 3}}}
            },
        }
        fuel = record(
            "distance_km",
            "burn_kg_per_km",
            "tanks",
            distance_km={"exclusiveMinimum": 0, "type": "number", "maximum": 1e6},
        )
        fuel["properties"].update(
            burn_kg_per_km={"type": "number", "minimum": -1e3, "maximum": 1e3}, tanks={"enum": [1, 2.0, 4]}
        )
        pair = {"type": "array", "prefixItems": [STRING, {"type": "integer"}], "items": False, "minItems": 2}
        counted = record("pair", pair=pair, names={"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}})
        count = Route("Count.", counted, lambda call: Answer(str(len(call.args.get("names", {})))))
        routes = edited(ROUTES, "departure_board", takes=board)
        return {**edited(routes, "fuel_plan", takes=fuel), "count": count}


@permitted
class WeatherOfTheMoment(Airport):
    """No two answers are alike, and now and then the tower does not answer, which passes by itself."""

    def chain(self) -> list[Middleware]:
        return [*super().chain(), self.gusts]

    async def gusts(self, call: Call, go: Step) -> Outcome:
        """Vary what a tool answers."""
        if random.random() < 0.1:
            raise Failure("UPSTREAM_UNAVAILABLE", "Static.", {"side_effects": "none"}, after_ms=random.randrange(30))
        outcome = await go(call)
        if isinstance(outcome, Failure) or outcome.media or call.tool in {"announce", "shift_log"}:
            return outcome
        return replace(outcome, text=f"{outcome.text} (radar {random.choice('▁▂▃▅▇')} {random.random()})")


@permitted
class PictureBook(PlainAirport):
    """Plain results have a block for each line, for the model or for both, with pictures, links and sounds between
    them; an error has its code at its end."""

    def for_the_model(self, call: Call, text: str) -> list[mcp_types.ContentBlock]:
        blocks: list[mcp_types.ContentBlock] = []
        for number, line in enumerate(text.split("\n")):
            audience: Any = (["assistant"], ["user", "assistant"], [])[number % 3]
            said = mcp_types.Annotations(audience=audience, priority=number % 2)
            link = mcp_types.ResourceLink(type="resource_link", name="map", uri="airport://map")
            sound = mcp_types.AudioContent(type="audio", data="UklGRg==", mime_type="audio/wav")
            blocks += [mcp_types.TextContent(type="text", text=line, annotations=said), picture(), link, sound]
        return blocks

    def plain_text(self, call: Call, outcome: Outcome) -> str:
        return outcome.text if isinstance(outcome, Answer) else f"{outcome.message} {{{outcome.code}}}"


@permitted
class EverythingRequired(NegotiatedAirport):
    """The schemas are made for models in strict mode: each parameter has to be there, and null means that it is not
    set; only `show_user` can be left out."""

    def routes(self) -> dict[str, Route]:
        return {
            name: replace(one, takes=self.tightened(one.takes), do=self.loosened(one)) for name, one in ROUTES.items()
        }

    def tightened(self, takes: Json) -> Json:
        """Return a schema in which all is required."""
        properties = {
            name: one if name in takes["required"] or name == "show_user" else {"anyOf": [one, {"type": "null"}]}
            for name, one in takes["properties"].items()
        }
        needed = [name for name in properties if name != "show_user"]
        return {**takes, "properties": properties, "required": needed}

    def loosened(self, route: Route) -> Any:
        """Return a handler for arguments of which some are null."""

        def do(call: Call) -> Answer:
            return route.do(replace(call, args={name: item for name, item in call.args.items() if item is not None}))

        return do


@permitted
class TwoNamesForEverything(NegotiatedAirport):
    """A migration to names with dots is under way, so each tool is there twice; one of the new names is as long as
    names can be."""

    def names(self) -> dict[str, str]:
        """Return the new names by the old ones."""
        return {name: f"Airport-1.{name}.{'X' * (117 - len(name)) if name == 'weather' else '0'}" for name in ROUTES}

    def routes(self) -> dict[str, Route]:
        names = self.names()
        new = edited(ROUTES, "page_passenger", about={"depends_on": [names["find_flights"], "find_flights"]})
        return {**{names[name]: one for name, one in new.items()}, **ROUTES}


@permitted
class TitlesFullOfMarkup(Airport):
    """Displays have what their texts can have, and as much as they can: markup, ends of CDATA, control characters,
    groups and fallbacks three deep, members that nobody knows."""

    noise = "</display><error>]]>&amp;<!--\u0000\u2028\ufffe\U0001f6eb?>"

    def adapted(self, call: Call, show: Any) -> Any:
        show = {**show, "title": f"{self.noise}{'🛫' * (200 - len(self.noise))}", "alt": self.noise, "id": "<&>"}
        show.update({self.noise: None, "payload2": 1e300, "meta": {"transient": False, "a/b/c": None}})
        fall: Json = {"type": "x-a.b-c", "payload": [], "fallback": {"type": "text", "payload": self.noise}}
        group: Json = {"type": "group", "fallback": {"type": "x-0-0", "payload": {}, "fallback": fall}}
        within = {**group, "payload": [{**group, "payload": [super().adapted(call, show)] * 3}]}
        return within if show["type"] == "group" else {**group, "payload": [within]}


@permitted
class NumbersTheLongWay(Airport):
    """Every number is a double to the language, so that JSON has `5.0` and `1.5e+03`, and a wait has leading zeros."""

    def json_text(self, value: Any) -> str:
        return self.inert(self.written(value))

    def written(self, value: Any) -> str:
        """Return JSON."""
        if isinstance(value, dict):
            return (
                "{ " + " , ".join(f"{self.written(name)} : {self.written(one)}" for name, one in value.items()) + " }"
            )
        if isinstance(value, list):
            return "[ " + " , ".join(self.written(one) for one in value) + " ]"
        if isinstance(value, bool) or not isinstance(value, int | float):
            return json.dumps(value)
        return f"{value:.16e}" if abs(value) >= 100 else f"{float(value)!r}"

    def error_attributes(self, call: Call, failure: Failure) -> dict[str, str]:
        said = super().error_attributes(call, failure)
        if "retry_after_ms" in said:
            said["retry_after_ms"] = said["retry_after_ms"].zfill(16)
        return {**said, "retryable": "1" if failure.retryable else "0"}


@permitted
class AsManyAsThereCanBe(Airport):
    """To clients that set no limit, a document has 250 elements, 60 deep, and nearly 250 attributes, in namespaces that
    come and go, and one of its own elements is named as the root."""

    def parts(self, call: Call, outcome: Outcome) -> list[str]:
        parts = super().parts(call, outcome)
        if "maxBytes" in call.declaration:
            return parts
        deep = "".join(f'<d:p d:n="{n}">' for n in range(58)) + "</d:p>" * 58
        wide = "".join(f'<tool_response n="{n}"/>' for n in range(180))
        return [*parts, f'<d:deep xmlns:d="urn:d">{deep}</d:deep>', f'\n<w xmlns="urn:w">{wide} &amp; text </w>\n\n']


@permitted
class SignInFirst(NegotiatedAirport):
    """Nobody is signed in, and so each call that fits fails, politely, with a page where to sign in."""

    def chain(self) -> list[Middleware]:
        return [*super().chain(), self.authorize]

    async def authorize(self, call: Call, go: Step) -> Outcome:
        """Refuse each call."""
        page = {"url": "https://airport.example/sign-in?next=%2Fdesk", "title": "Sign in"}
        meta: Json = {"help": [page], "side_effects": "none", "recovery": "ask_user"}
        raise Failure("AUTH_REQUIRED", "Please sign in first.", meta)


@permitted
class NobodyOnDuty(NegotiatedAirport):
    """The session that knows the staff is gone, so that there is no value to fill in; what the caller sent is refused
    before that is found out. Other tools work."""

    async def fill_in(self, call: Call, go: Step) -> Outcome:
        if call.tool != "crew_roster":
            return await super().fill_in(call, go)

        async def without_values(inner: Call) -> Outcome:
            return await self.validate(inner, self.nobody)

        return await super().fill_in(call, without_values)

    async def nobody(self, call: Call) -> Outcome:
        """Fail as a tool without its parameters does."""
        if call.forged:
            names = {"names": sorted(call.forged)}
            raise Failure("FORBIDDEN_PARAM_OVERRIDE", "Those are filled in by the airport.", {"params": names})
        raise Failure("MISSING_SERVER_PARAM", "Nobody is on duty.", {"side_effects": "none"})
