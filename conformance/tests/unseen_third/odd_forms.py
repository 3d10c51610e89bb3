"""Servers that look unusual in what they write and list, and keep every sentence."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import mcp_types

from unseen_third.common import (
    CATEGORIES,
    PREFIX,
    Answer,
    Block,
    Call,
    Fault,
    Json,
    Node,
    Spec,
    closed,
    inert,
    picture,
    with_meta,
)
from unseen_third.emitting import EmittingYard
from unseen_third.registry import permitted
from unseen_third.yard import LoudYard, PlainYard, Yard

_TAG = re.compile(r"<\s*/?\s*(tool_response|llm_output|display|error|meta|server_populated)", re.IGNORECASE)


@permitted
class PiecesOfEverySpelling(LoudYard):
    """A text is written in pieces of nine characters: as references with zeros in front, as CDATA, as it is."""

    def characters(self, call: Call, node: Node, text: str) -> str:
        written = ""
        for nth, piece in enumerate(text[at : at + 9] for at in range(0, len(text), 9)):
            if nth % 3 == 1 and not re.search(r"\r|]]>", piece) and not _TAG.search(piece):
                written += f"<![CDATA[{piece}]]>"
            elif nth % 3 == 2:
                written += "".join(f"&#x000{ord(one):X};" for one in piece)
            else:
                written += super().characters(call, node, piece)
        return written

    def quoted(self, call: Call, value: str) -> str:
        return "'" + "".join(one if one.isalnum() else f"&#{ord(one):05};" for one in value) + "'"


@permitted
class SpellsOutEachDefault(Yard):
    """Attributes say what would hold without them, in each of the ways to write a boolean; some are of XML itself."""

    def tree(self, call: Call, answer: Answer) -> Node:
        root = super().tree(call, answer)
        schema = {
            "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
            "xsi:noNamespaceSchemaLocation": "tool_response.xsd",
        }
        root.attrs = {
            "version": "1.0",
            "call_id": f"{call.nth}",
            "lossy": "0",
            "xml:lang": "en",
            **schema,
            **root.attrs,
        }
        for node in root.inside:
            node.attrs = {"lossy": "false", "xml:space": "preserve", **node.attrs}
        return root

    def text_node(self, call: Call, answer: Answer) -> Node:
        node = super().text_node(call, answer)
        node.attrs = {"truncated": "0", "format": "text/plain", **node.attrs}
        return node

    def error_node(self, call: Call, fault: Fault) -> Node:
        category = CATEGORIES.get(fault.code, "internal")
        node = super().error_node(call, fault)
        node.attrs = {"category": category, "retryable": "1" if category == "unavailable" else "0", **node.attrs}
        return node


@permitted
class EveryKindOfBlock(Yard):
    """A result has a picture, a sound, a link and two files after its text, and in a plain result also before it."""

    def extras(self) -> list[Block]:
        """Return a block of each kind."""
        person = mcp_types.Annotations(audience=["user"], priority=0.1)
        readme = mcp_types.TextResourceContents(uri="yard://readme", text="Mind the gap.", mime_type="text/plain")
        plan = mcp_types.BlobResourceContents(uri="yard://plan", blob="UERG", mime_type="application/pdf")
        return [
            picture(),
            mcp_types.AudioContent(type="audio", data="UklGRg==", mime_type="audio/wav"),
            mcp_types.ResourceLink(type="resource_link", name="rules", uri="https://yard.example/rules", size=12),
            mcp_types.EmbeddedResource(type="resource", resource=readme, annotations=person),
            mcp_types.EmbeddedResource(type="resource", resource=plan),
        ]

    def document_blocks(self, call: Call, answer: Answer, document: str) -> list[Block]:
        extras = [] if answer.fault else self.extras()
        return [*super().document_blocks(call, answer, document), *extras]

    def plain_blocks(self, call: Call, answer: Answer) -> list[Block]:
        extras = [] if answer.fault else self.extras()
        return [*extras[:3], *super().plain_blocks(call, answer), *extras[3:]]


@permitted
class SchemasOfDraftSeven(LoudYard):
    """The schemas name an older draft and use what it had: `definitions`, a list under `items`, `additionalItems`."""

    def tools(self) -> dict[str, Spec]:
        draft = {"$schema": "http://json-schema.org/draft-07/schema#"}
        specs = super().tools()
        specs = {name: replace(spec, takes={**draft, **spec.takes}) for name, spec in specs.items()}
        wagon = {"$ref": "#/definitions/Wagon"}
        pair = {"type": "array", "items": [wagon, wagon], "additionalItems": False, "minItems": 2}
        definitions = {"Wagon": {"allOf": [{"type": "string"}, {"pattern": "^W[0-9]+$"}]}}
        takes = {**draft, **closed("pair", pair=pair), "definitions": definitions}
        return {**specs, "couple": Spec("Say how two wagons are coupled.", takes)}

    def couple(self, call: Call) -> Answer:
        return Answer(" and ".join(call.args["pair"]))


@permitted
class TreesOfTrains(Yard):
    """One schema refers to itself, one is a union at the top of an argument, and one has constants of every type."""

    def tools(self) -> dict[str, Spec]:
        car = closed("id", id={"type": "integer", "multipleOf": 5}, behind={"$ref": "#/$defs/Car"})
        first = {"type": ["string", "integer", "boolean", "null", "array", "object"], "not": {"const": "never"}}
        constants: Json = {"enum": [None, True, 1.5, "x", [], {"a": 1}]}
        takes = closed("car", car={"$ref": "#/$defs/Car"}, first=first, mark=constants, rest={})
        takes["$defs"] = {"Car": car}
        return {**super().tools(), "count_cars": Spec("Count the cars of a train.", takes)}

    def count_cars(self, call: Call) -> Answer:
        count, car = 0, call.args["car"]
        while car is not None:
            count, car = count + 1, car.get("behind")
        return Answer(str(count))


@permitted
class CamelsAndCommas(LoudYard):
    """The yard of another country: names in camel case, messages and texts in German, slashes escaped in JSON."""

    def camels(self) -> dict[str, str]:
        """Return the names of the tools by those in camel case."""
        return {re.sub("_(.)", lambda found: found[1].upper(), name): name for name in super().tools()}

    def tools(self) -> dict[str, Spec]:
        specs = with_meta(super().tools(), "shunt_plan", depends_on=["findWagons"])
        return {camel: replace(specs[name], about="Güterbahnhof.") for camel, name in self.camels().items()}

    def work(self, call: Call) -> Answer:
        return super().work(replace(call, tool=self.camels()[call.tool]))

    def gauge_ratio(self, call: Call) -> Answer:
        return Answer(super().gauge_ratio(call).text.replace(".", ","))

    def complaint(self, reason: str) -> str:
        return "passt nicht: „größer“ oder „kürzer“ als erlaubt"

    def refusal(self, call: Call, fields: list[Json]) -> Fault:
        fault = super().refusal(call, fields)
        return Fault(fault.code, f"{len(fields)} Argument(e) ungültig\u00a0– bitte prüfen.", fault.meta)

    def json_text(self, call: Call, value: Any) -> str:
        return super().json_text(call, value).replace("/", "\\/")


@permitted
class CatalogueInPages(Yard):
    """There are a hundred and fifty reports more, listed in pages of nineteen tools with cursors that mean nothing."""

    def tools(self) -> dict[str, Spec]:
        return {
            **super().tools(),
            **{f"report_{n:03}": Spec(f"Report no. {n}.", {"type": "object"}) for n in range(150)},
        }

    def work(self, call: Call) -> Answer:
        return Answer(f"{call.tool} is empty.") if call.tool.startswith("report_") else super().work(call)

    def page(self, cursor: str | None, *, declared: bool, handshake: bool) -> mcp_types.ListToolsResult:
        whole = super().page(None, declared=declared, handshake=handshake).tools
        start = len(cursor) if cursor else 0
        following = start + 19
        return mcp_types.ListToolsResult(
            tools=whole[start:following], next_cursor="~" * following if following < len(whole) else None
        )


@permitted
class NothingToOffer(Yard):
    """The yard was closed; the list of tools is empty, and each call is one of a tool that does not exist."""

    def tools(self) -> dict[str, Spec]:
        return {}


@permitted
class TerseNames(LoudYard):
    """The tools are called a to n, and say neither what they do nor what their arguments mean."""

    def tools(self) -> dict[str, Spec]:
        specs = with_meta(super().tools(), "shunt_plan", depends_on=["a"])
        return {"abcdefghijklmn"[nth]: replace(spec, about="") for nth, spec in enumerate(specs.values())}

    def work(self, call: Call) -> Answer:
        names = [*super().tools()]
        return super().work(replace(call, tool=names["abcdefghijklmn".index(call.tool)]))


@permitted
class DataIsTheText(PlainYard):
    """No client gets documents or structured content: the text of what has data is JSON on many lines, and an error
    has its code at the end."""

    def tools(self) -> dict[str, Spec]:
        specs = {name: replace(spec, gives=None) for name, spec in super().tools().items()}
        return with_meta(specs, "find_wagons", wrapped_in=None)

    def work(self, call: Call) -> Answer:
        answer = super().work(call)
        if answer.data is None:
            return answer
        text = json.dumps(answer.data, indent=4, ensure_ascii=True)
        return replace(answer, text=text, data=None, media="application/json")

    def plain_text(self, call: Call, answer: Answer) -> str:
        if answer.fault is None:
            return answer.text
        return f"It did not work.\n\n{answer.fault.message}\n({answer.fault.code})"


@permitted
class AwkwardColumns(LoudYard):
    """The data of a chart have columns with the names of what a chart cannot contain, and a mark of three words."""

    def show_loads(self, call: Call, loads: list[Any], unit: str) -> Any:
        rows = [{"url": n, "transform": load, "params": {"expr": [n]}, "mark": "image"} for n, load in enumerate(loads)]
        x, y = {"field": "url", "type": "ordinal"}, {"field": "transform", "type": "quantitative", "title": "config"}
        layer = {"data": {"name": "usermeta"}, "mark": {"type": "line", "point": True}, "encoding": {"x": x, "y": y}}
        show = super().show_loads(call, loads, unit)
        return {**show, "payload": {"datasets": {"usermeta": rows}, "data": {"values": rows}, "layer": [layer]}}


@permitted
class AnnotatesEverything(Yard):
    """Tools, blocks and results have whatever MCP lets them have, and members of vendors beside it."""

    def listed(self, name: str, spec: Spec, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        listed = super().listed(name, spec, declared=declared, handshake=handshake)
        hints = mcp_types.ToolAnnotations(
            title="„Güter“ \u202bמטען\u202c", read_only_hint=spec.reads, destructive_hint=False, open_world_hint=True
        )
        meta = {**(listed.meta or {}), "yard.example/owner": ["north", None], "yard.example/since": 1887}
        return listed.model_copy(update={"annotations": hints, "title": "🚂" * 40, "meta": meta})

    def result(self, call: Call, answer: Answer) -> mcp_types.CallToolResult:
        result = super().result(call, answer)
        noted: list[Any] = []
        for one in result.content:
            said = one.annotations or mcp_types.Annotations(audience=["assistant"], priority=1)
            noted.append(
                one.model_copy(update={"annotations": said, "meta": {**(one.meta or {}), "yard.example/n": 1}})
            )
        form = {**(result.meta or {})[f"{PREFIX}result"], "took": {"ms": 3}, "host": None}
        meta = {**(result.meta or {}), f"{PREFIX}result": form, "yard.example/trace": "00-4bf92f"}
        return result.model_copy(update={"content": noted, "meta": meta})


@permitted
class OffersTheTestTool(EmittingYard):
    """The tool for tests is offered, and writes its JSON with each character beyond ASCII as an escape."""

    def json_text(self, call: Call, value: Any) -> str:
        return inert(json.dumps(self.portable(value), separators=(" , ", " : "), allow_nan=False))
