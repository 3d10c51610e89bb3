"""Odd, but right."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any

import anyio
import mcp_types
from mcp.shared.exceptions import MCPError

from unseen_eighth.kit import PREFIX, TAG, Answer, Call, Failure, Json, Tool, choice, takes, whole, words
from unseen_eighth.observatory import NegotiatedObservatory, Observatory, PlainObservatory, block
from unseen_eighth.registry import permitted
from unseen_eighth.tools import PIXEL


@permitted
class ForeignMoons(NegotiatedObservatory):
    """Has attributes of its own on each element and elements of its own at the end, with odd prefixes and none."""

    def element(self, name: str, attributes: dict[str, str], content: str) -> str:
        odd = {"_-.9:tool_name": "<other> &\t", "_-.9:lossy": "perhaps"}
        return super().element(name, {**odd, **attributes}, content)

    def document(self, call: Call, outcome: Answer | Failure) -> str:
        moons = (
            '<moon xmlns="urn:observatory.example:moon" _-.9:phase="]]&gt;">A moon.<crater/></moon>'
            '<_-.9:display/><XMCP:light xmlns:XMCP="urn:observatory.example:late">{</XMCP:light>'
        )
        written = super().document(call, outcome).removesuffix("</tool_response>") + moons + "</tool_response>"
        return written.replace("<tool_response", '<tool_response xmlns:_-.9="urn:observatory.example:near"', 1)


@permitted
class LooseTags(Observatory):
    """Writes attributes in the reverse order between single quotes, and line feeds in tags and between elements."""

    def element(self, name: str, attributes: dict[str, str], content: str) -> str:
        noted = {key: self.value(one).replace("'", "&#39;") for key, one in reversed(attributes.items())}
        said = "".join(f"\n\t{key} = '{one}'" for key, one in noted.items())
        return f"<{name}{said}  >{content}</{name}\n>"

    def children(self, call: Call, outcome: Answer | Failure) -> list[str]:
        return ["\r\n \t", *(f"{one}\n\n" for one in super().children(call, outcome))]


@permitted
class EveryLetterByNumber(Observatory):
    """Writes `<`, `&`, `>` and all that is not ASCII as hexadecimal references, with zeros and in mixed case."""

    def data(self, said: str) -> str:
        escaped = said.replace("&", "&#x026;").replace("<", "&#60;").replace(">", "&#x003E;").replace("\r", "&#13;")
        return "".join(one if one.isascii() else f"&#x0{ord(one):X};" for one in escaped)

    def value(self, said: str) -> str:
        escaped = self.data(said).replace('"', "&#x22;").replace("\t", "&#x9;")
        return escaped.replace("\n", "&#x0a;")


@permitted
class SectionsAndReferences(NegotiatedObservatory):
    """Writes each text in pieces of seven characters, by turns as CDATA and as character data, where CDATA may be."""

    def output_data(self, call: Call, answer: Answer) -> str:
        return self.by_turns(self.legal(answer.text))

    def message(self, call: Call, failure: Failure) -> str:
        return self.by_turns(self.legal(failure.message))

    def by_turns(self, said: str) -> str:
        """Return a text as sections and references."""
        if TAG.search(said):
            return self.data(said)
        pieces = [said[at : at + 7] for at in range(0, len(said), 7)]
        return "".join(
            self.data(one) if number % 2 or "\r" in one or "]]" in one else f"<![CDATA[{one}]]>"
            for number, one in enumerate(pieces)
        )


@permitted
class RoomyJson(Observatory):
    """Writes JSON on many lines, with white space around it, and escapes solidi and all that is not ASCII."""

    def json(self, value: Any) -> str:
        written = json.dumps(self.numbers(whole(value)), indent="\t", separators=(" ,", " : "), allow_nan=False)
        return "\n \t" + self.inert(written).replace("/", "\\/") + "\n\n"


@permitted
class LastComesFirst(NegotiatedObservatory):
    """Answers slowly, and the first of several calls at the same time as the last one."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = 0

    async def answer(self, call: Call) -> mcp_types.CallToolResult:
        self.waiting += 1
        try:
            await anyio.sleep(max(0.02, 0.15 - 0.03 * self.waiting))
            return await super().answer(call)
        finally:
            self.waiting -= 1


@permitted
class MuchMeta(PlainObservatory):
    """Adds members of its own to all that can have them: results, blocks, tools, the announcement and displays."""

    def announcement(self, *, handshake: bool) -> Json:
        return {**super().announcement(handshake=handshake), "documents": None, "observatory/since": [1891]}

    def plain_meta(self, call: Call, outcome: Answer | Failure) -> Json:
        meta = super().plain_meta(call, outcome)
        meta[f"{PREFIX}result"] |= {"documents": 0, "note": None}
        return {"observatory.example/night": {"moon": 0.3}, "example.org/ab": [], **meta}

    def plain_blocks(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        blocks = super().plain_blocks(call, outcome)
        for one in blocks:
            one.meta = {"observatory.example/block": True, **(one.meta or {})}
        return blocks

    def served(self, call: Call, answer: Answer) -> Answer:
        if answer.display is not None:
            meta = {"observatory/a/b-c": [0], "locale": "en-CA", **answer.display.get("meta", {})}
            answer.display |= {"payloads": [], "version": 2, "meta": meta}
        return answer

    def disclosed(self, call: Call) -> Json:
        return {**super().disclosed(call), "source": "the book", "overridden": sorted(call.forged)}

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        for tool in tools.values():
            tool.meta |= {"xml_formatter": "none at all", "colour": None, "observatory/old": {"display": "no"}}
        return tools


@permitted
class ThirtyMore(Observatory):
    """Has thirty tools more, and lists all of them on pages of one to nine with odd cursors."""

    def tools(self) -> dict[str, Tool]:
        def run(call: Call) -> Answer:
            return Answer(f"{call.tool} is closed. {call.args.get('why', '')}")

        schema = takes(why=words(90), who=choice("all", "some"))
        return {**super().tools(), **{f"closed-dome.{n:02}": Tool("Say no.", schema, run) for n in range(30)}}

    def page(self, params: Any, tools: list[mcp_types.Tool]) -> mcp_types.ListToolsResult:
        cursor = getattr(params, "cursor", None)
        known = re.fullmatch(r"☾ ([0-9]{1,3})/([1-9])", cursor or "☾ 0/1")
        if known is None:
            raise MCPError(-32602, "No page begins there.")
        start, most = int(known[1]), int(known[2])
        more = f"☾ {start + most}/{most % 9 + 1}" if start + most < len(tools) else None
        return mcp_types.ListToolsResult(tools=tools[start : start + most], next_cursor=more)


@permitted
class NamesAtTheEdge(PlainObservatory):
    """Has tools with names that are as long or as short as they can be, and take objects with any members."""

    def tools(self) -> dict[str, Tool]:
        def run(call: Call) -> Answer:
            return Answer("; ".join(f"[{name}] {one}" for name, one in call.args.items()) or "Nothing was said.")

        names = ("-", "_.", "X" * 128, "tool_response", "__proto__", "null")
        schemas: list[Json] = [
            {"type": "object", "additionalProperties": {"type": "integer"}},
            {"type": "object", "additionalProperties": words(40), "propertyNames": {"maxLength": 8}},
            takes("a/b", **{"a/b": words(9), "m~n": words(9), "": words(9)}),
        ]
        more = {one: Tool("Take this.", schemas[number % 3], run) for number, one in enumerate(names)}
        return {**super().tools(), **more}

    def faults(self, call: Call, tool: Tool) -> list[tuple[list[str | int], str]]:
        bounds = tool.takes.get("propertyNames")
        if bounds is None:
            return super().faults(call, tool)
        long: list[tuple[list[str | int], str]] = [([name], "name") for name in call.args if len(name) > 8]
        return [*super().faults(call, tool), *long]


@permitted
class StrangersAreNoCalls(NegotiatedObservatory):
    """Answers a call of a tool that is not there with the JSON-RPC error for bad parameters, and data beside it."""

    def stranger(self, call: Call) -> Answer:
        raise MCPError(-32602, "No such instrument, here or elsewhere.", data={"nearest": None})


@permitted
class NoForging(Observatory):
    """Refuses a call that sends a value for a parameter which it fills in, once the other arguments fit."""

    def faults(self, call: Call, tool: Tool) -> list[tuple[list[str | int], str]]:
        faults = super().faults(call, tool)
        if call.forged and not faults:
            meta: Json = {"params": {"names": sorted(call.forged)}, "side_effects": "none"}
            raise Failure("FORBIDDEN_PARAM_OVERRIDE", "That is not yours to say.", meta)
        return faults


@permitted
class OwnWeather(PlainObservatory):
    """Has a category of its own, a wait of nothing, all members of `meta`, and codes that are as long as can be."""

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if isinstance(outcome, Failure) and outcome.code.startswith("X_"):
            outcome.code = outcome.code.ljust(63, "9")
            outcome.category, outcome.retryable, outcome.wait = "weather_", True, 0
            outcome.meta = {
                "error_id": "☁" * 128,
                "params": {},
                "fields": [],
                "side_effects": "partial",
                "recovery": "give_up",
                "limit": {},
                "localized": [{"locale": "fr", "message": "Du brouillard."}],
                "help": [{"url": "http://observatory.example", "title": ""}],
                "cause": {"code": "Q", "cause": {"code": "a"}},
                "upstream_status": 599,
                "observatory/x/y": None,
            }
        return outcome


@permitted
class PlatesBeside(NegotiatedObservatory):
    """Sends a picture and a link to a resource with each success, after a document and between the other blocks."""

    def more(self) -> list[Any]:
        """Return the other blocks."""
        picture = mcp_types.ImageContent(type="image", data=PIXEL.partition(",")[2], mime_type="image/png")
        return [picture, mcp_types.ResourceLink(type="resource_link", name="plates", uri="observatory://plates/1")]

    def document_blocks(self, call: Call, outcome: Answer | Failure, written: str) -> list[Any]:
        [first, *rest] = super().document_blocks(call, outcome, written)
        return [first, *(self.more() if isinstance(outcome, Answer) else []), *rest]

    def plain_blocks(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        return [*(self.more() if isinstance(outcome, Answer) else []), *super().plain_blocks(call, outcome)]


@permitted
class NothingToSay(NegotiatedObservatory):
    """Says nothing to the model with three of its tools, whose data or display are all, in an empty-element tag."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool in ("exposure", "list_catalogues", "spell"):
            answer.text = ""
        return answer

    def element(self, name: str, attributes: dict[str, str], content: str) -> str:
        written = super().element(name, attributes, content)
        return written if content else written.replace(f"></{name}>", " />")


@permitted
class LineByLine(PlainObservatory):
    """Sends each line of a text as a block of its own, and a failure as its message and then its code."""

    def text_blocks(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        if isinstance(outcome, Failure):
            return [*(block(one) for one in self.legal(outcome.message).split("\n")), block(f"({outcome.code})")]
        return [block(one) for one in self.legal(outcome.text).split("\n")]


@permitted
class EdgesOfEnvelopes(Observatory):
    """Has displays at the edge of what is allowed: ids, titles, words, groups and fallbacks as long as they can be."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool == "dome_status" and call.args.get("view", "metric") in ("metric", "notes"):
            bare: Json = {"type": "x-observatory-0.a-b", "payload": [], "title": "", "alt": "", "id": " "}
            most: Json = {"type": "group", "payload": [{"type": "text", "payload": ""}] * 32}
            late: Json = {"type": "x-observatory-1", "payload": {}, "fallback": {"type": "json", "payload": [[None]]}}
            answer.display = {
                "type": "group",
                "payload": [{"type": "group", "payload": [most, bare, {"type": "facts", "payload": []}]}, late],
                "title": "\U0001f52d" * 200,
                "alt": "é" * 4000,
                "id": "\u202e" * 128,
                "meta": {"transient": True, "source": "", "observatory/9": [{"url": "#"}]},
                "fallback": {"type": "table", "payload": {"columns": [], "rows": []}},
            }
        return answer


@permitted
class OtherBooleans(Observatory):
    """Writes its version and an id of the call on the root, `1` for true, and `0` for false and not nothing."""

    def root_says(self, call: Call, outcome: Answer | Failure) -> dict[str, str]:
        said = super().root_says(call, outcome)
        return {"lossy": "0", "call_id": f"☾ {uuid.uuid4()}".ljust(256, "-"), **said, "version": "1.0"}

    def output_says(self, call: Call, answer: Answer) -> dict[str, str]:
        said = {"lossy": "0", "truncated": "0", **super().output_says(call, answer)}
        return {name: "1" if one == "true" else one for name, one in said.items()}

    def failure_says(self, call: Call, failure: Failure) -> dict[str, str]:
        said = {"retryable": "0", **super().failure_says(call, failure)}
        return {name: "1" if one == "true" else one for name, one in said.items()}


@permitted
class VersesAsMessages(NegotiatedObservatory):
    """Words its failures in verses of several lines with places, colons and brackets, and with markup that is text."""

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if isinstance(outcome, Failure) and outcome.code != "NOT_FOUND":
            outcome.message = (
                '  "Why do you ask?" said the mast & the moon;\n'
                "\tat the dome (door 3:14), at half past noon,\r\n"
                "  <star>no star</star> in file, no light on line 9,\n"
                '  {"ok": false}, but we are fine. ]]> '
            )
        return outcome


@permitted
class StrangeWrapper(PlainObservatory):
    """Wraps values in members with names that are no names in most languages, and calls one of them `null`."""

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        for name, wrapper in {"list_catalogues": "☾ / ~ \"'", "exposure": "null"}.items():
            [inside] = (tools[name].gives or {})["properties"].values()
            tools[name].gives = {"type": "object", "properties": {wrapper: inside}, "required": [wrapper]}
            tools[name].meta["wrapped_in"] = wrapper
        return tools

    def served(self, call: Call, answer: Answer) -> Answer:
        wrapper = self.tools()[call.tool].meta.get("wrapped_in")
        if wrapper and answer.data:
            [value] = answer.data.values()
            answer.data = {wrapper: value}
        return answer


@permitted
class ShownByReference(NegotiatedObservatory):
    """Has `show_user` in a definition that its schemas refer to, and says first that a display is perhaps not seen."""

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        for tool in tools.values():
            if "show_user" in tool.takes["properties"]:
                tool.takes["$defs"] = {"flag": tool.takes["properties"]["show_user"]}
                tool.takes["properties"]["show_user"] = {"$ref": "#/$defs/flag"}
        return tools

    def served(self, call: Call, answer: Answer) -> Answer:
        if self.keeps(call, answer.display) and not call.client:
            answer.text = f"It may be that your client cannot show the display, so tell what it says.\n\n{answer.text}"
        return answer

    def hint(self, call: Call, answer: Answer) -> str:
        return ""
