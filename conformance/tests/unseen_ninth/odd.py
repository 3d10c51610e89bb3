"""Odd, but right."""

from __future__ import annotations

import json
import re
import time
import uuid
from dataclasses import replace
from typing import Any

import anyio
import mcp_types
from unseen_eighth.kit import ILLEGAL, TAG, Answer, Call, Failure, Json, Tool, takes, whole
from unseen_eighth.observatory import block

from unseen_ninth.registry import permitted
from unseen_ninth.tools import DOT
from unseen_ninth.workshop import NegotiatedWorkshop, PlainWorkshop, Workshop


@permitted
class EmptySections(Workshop):
    """Has empty CDATA sections at both ends of texts and messages, and each line that can be one as a section."""

    def output_data(self, call: Call, answer: Answer) -> str:
        return self.by_lines(self.legal(answer.text))

    def message(self, call: Call, failure: Failure) -> str:
        return self.by_lines(self.legal(failure.message))

    def by_lines(self, said: str) -> str:
        """Return a text with a section for each line."""
        if TAG.search(said):
            return self.data(said)
        lines = [
            self.data(one) if "\r" in one or "]]>" in one else f"<![CDATA[{one}]]>"
            for one in said.splitlines(keepends=True)
        ]
        return "".join(["<![CDATA[]]>", *lines, "<![CDATA[]]>"])


@permitted
class DeepForeigners(NegotiatedWorkshop):
    """Ends documents with elements of its own: sixty within each other, and two hundred attributes."""

    def document(self, call: Call, outcome: Answer | Failure) -> str:
        written = super().document(call, outcome)
        if "maxBytes" in call.client:
            return written
        many = "".join(f' f:n{number}="&#{100 + number};"' for number in range(140))
        foreign = (
            f'<f:error xmlns:f="urn:workshop.example:f" f:code="oops"{many}/>'
            f'<last xmlns="urn:workshop.example:last" xmlns:_="urn:workshop.example:l" _:{"_" * 60}="{"é" * 2048}"/>'
            '<g:g xmlns:g="urn:workshop.example:g">'
        )
        deep = '<g:llm_output g:lossy="true">' * 59 + "&lt;/tool_response>" + "</g:llm_output>" * 59 + "</g:g>"
        return written.removesuffix("</tool_response>") + foreign + deep + "</tool_response>"


@permitted
class EscapesAll(Workshop):
    """Writes each character of the names and texts in JSON as an escape, and numbers with a fraction as exponents."""

    def json(self, value: Any) -> str:
        return self.spelled(self.numbers(whole(value)))

    def spelled(self, value: Any) -> str:
        """Return a value as JSON with as many escapes as there can be."""
        match value:
            case str():
                units = value.encode("utf-16-be")
                return '"' + "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)) + '"'
            case dict():
                members = (f"{self.spelled(name)} : {self.spelled(one)}" for name, one in value.items())
                return "{" + "\n,".join(members) + "}"
            case list():
                return "[ " + "\t,".join(self.spelled(one) for one in value) + " ]"
            case float():
                return f"{value:.16E}"
        return json.dumps(value)


@permitted
class SlowLists(PlainWorkshop):
    """Needs most of a second for the list of trades, and for nothing else."""

    async def answer(self, call: Call) -> mcp_types.CallToolResult:
        if call.tool == "list_trades":
            await anyio.sleep(0.7)
        return await super().answer(call)


@permitted
class FourAtOnce(NegotiatedWorkshop):
    """Lets four good calls of a tool pass within a tenth of a second, and asks the others to wait until it is over."""

    def __init__(self) -> None:
        super().__init__()
        self.passed: dict[str, list[float]] = {}

    def faults(self, call: Call, tool: Tool) -> list[tuple[list[str | int], str]]:
        faults = super().faults(call, tool)
        if faults:
            return faults
        now = time.monotonic()
        recent = [one for one in self.passed.get(call.tool, []) if now - one < 0.1]
        if len(recent) >= 4:
            wait = max(1, round((recent[0] + 0.1 - now) * 1000) + 2)
            meta: Json = {"side_effects": "none", "limit": {"scope": "tool", "dimension": "calls", "max": 4}}
            raise Failure("RATE_LIMIT", "One call after the other, please.", meta, wait=wait)
        self.passed[call.tool] = [*recent, now]
        return faults


@permitted
class NeverTheSame(Workshop):
    """Says the number of the answer and something random in texts, and has another id and alt for each display."""

    def served(self, call: Call, answer: Answer) -> Answer:
        number = uuid.uuid4()
        if answer.media or self.tools()[call.tool].meta.get("cacheable"):
            return answer
        if answer.display is not None:
            answer.display |= {"id": f"{number}", "alt": f"The display with the number {number}."}
        return replace(answer, text=f"{answer.text}\n[{call.times}, {number.hex[:7]}]")


@permitted
class CodesOfItsOwn(PlainWorkshop):
    """Has codes of its own where registered ones would do, an alias of one, and knows better what can be done."""

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if not isinstance(outcome, Failure):
            return outcome
        match outcome.code:
            case "NOT_FOUND":
                outcome.code, outcome.retryable, outcome.wait = "X_WORKSHOP_WHO_IS_THAT", True, 2**53 - 1
            case "RATE_LIMIT":
                outcome.code, outcome.retryable, outcome.wait = "RATE_LIMITED", False, None
            case "UPSTREAM_UNAVAILABLE":
                outcome.code, outcome.category = "X_WORKSHOP_1", "weather_or_rust_2"
                outcome.retryable, outcome.wait = True, None
        return outcome


@permitted
class EmptyPages(NegotiatedWorkshop):
    """Lists its tools from the last to the first, without descriptions, on pages of which every other one is empty."""

    def listed(self, name: str, tool: Tool, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        said = super().listed(name, tool, declared=declared, handshake=handshake)
        said.description, said.title = None, f"{name[::-1]} 🎻"
        return said

    def page(self, params: Any, tools: list[mcp_types.Tool]) -> mcp_types.ListToolsResult:
        at = len(getattr(params, "cursor", None) or "")
        found = tools[::-1][(at - 1) * 2 : (at + 1) * 2] if at % 2 else []
        more = "\t" * (at + 1) if at <= len(tools) // 2 + 1 else None
        return mcp_types.ListToolsResult(tools=found, next_cursor=more)


@permitted
class DraftSeven(Workshop):
    """Writes its input schemas in draft 7, with definitions, `allOf` and conditions that change nothing."""

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        for tool in tools.values():
            tool.takes = {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "$comment": "Written by hand.",
                **tool.takes,
                "allOf": [True, {"if": {"minProperties": 1}, "then": {"type": "object"}}],
            }
            for name, one in tool.takes["properties"].items():
                if one.get("type") == "array":
                    tool.takes.setdefault("definitions", {})[f"{name} ~ item"] = one["items"]
                    one["items"] = {"$ref": f"#/definitions/{name}%20~0%20item"}
        return tools


@permitted
class TakesDigits(PlainWorkshop):
    """Takes a text of digits for a whole number, as nothing is lost, and refuses each other text."""

    def set_aside(self, call: Call, tool: Tool) -> None:
        super().set_aside(call, tool)
        for name, schema in tool.takes["properties"].items():
            one = call.args.get(name)
            if schema.get("type") == "integer" and isinstance(one, str) and re.fullmatch("0|-?[1-9][0-9]{0,8}", one):
                call.args[name] = int(one)


@permitted
class RefusesControls(NegotiatedWorkshop):
    """Refuses to write a text that XML cannot have, and fails with a code of its own in the place of it."""

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if isinstance(outcome, Answer) and ILLEGAL.search(outcome.text):
            meta: Json = {"side_effects": "none", "recovery": "fix_input"}
            return Failure("X_WORKSHOP_NOT_PRINTABLE", "This cannot be printed.", meta, category="invalid_input")
        if isinstance(outcome, Failure) and ILLEGAL.search(outcome.message):
            outcome.message = "This failed, and the reason cannot be printed."
        return outcome


@permitted
class DataOfTheAuthors(NegotiatedWorkshop):
    """Gives data of their own with tools that have no output schema, and with the failure that nothing was found."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool in ("proof_note", "bench"):
            answer.data = {"printed on": "both sides", "pages": [len(answer.text) // 900 + 1], "error": None}
        return answer

    def structured(self, call: Call, outcome: Answer | Failure) -> Any:
        if isinstance(outcome, Failure) and outcome.code == "NOT_FOUND":
            return {"looked in": ["the drawers", "the attic"]}
        return super().structured(call, outcome)


@permitted
class CutsEarly(NegotiatedWorkshop):
    """Cuts each text of more than 700 characters, in either form, says so, and keeps the displays as they are."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if answer.media or len(answer.text) <= 700:
            return answer
        return replace(answer, text=answer.text[:700], cut=True)


@permitted
class SpeaksArabic(NegotiatedWorkshop):
    """Has its messages, its hints and the descriptions of its tools in Arabic, with marks of direction."""

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if isinstance(outcome, Failure) and outcome.code != "NOT_FOUND":
            outcome.message = "\u202bلم ينجح الطلب\u202c: انتظر قليلا\u200f."
            localized = [{"locale": "ar", "message": "لم ينجح"}, {"locale": "de", "message": "Das ging nicht."}]
            outcome.meta = {**(outcome.meta or {}), "localized": localized}
        return outcome

    def named(self, call: Call, path: list[str | int], why: str) -> Json:
        return {"pointer": self.pointer(path), "message": "غير صالح"}

    def hint(self, call: Call, answer: Answer) -> str:
        if answer.display is None or call.client:
            return ""
        return "\n\u2067قد لا يتمكن هذا العميل من إظهار العرض للمستخدم.\u2069"

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        for tool in tools.values():
            tool.title = "أداة من الورشة\u200f"
        return tools


@permitted
class OtherForms(Workshop):
    """Has the other form of each display: texts for objects, lists for members, and data with strange names."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if answer.display is None:
            return answer
        inner: Json = {"type": "text", "payload": ""}
        shapes: dict[str, Any] = {
            "table": [{"Part": call.tool}, {"url": 1e300, "": [None]}, {}],
            "chart": {
                "datasets": {"rows": [{"config": {"url": "data:,"}}]},
                "data": {"name": "rows"},
                "hconcat": [{"mark": "tick", "encoding": {"x": {"field": "href", "title": "transform"}}}],
            },
            "image": DOT,
            "code": "\tint *a = &b; // </code>",
            "facts": [{"label": "", "value": 0.1}, {"label": "", "value": None}, {"label": "\n", "value": False}],
            "metric": {"label": "", "value": "∞", "delta": "±0", "unit": ""},
            "notification": "<b>Hot!</b>",
            "file": {"uri": "urn:isbn:9780201896831", "size": 0, "name": "../etc/passwd"},
        }
        kind = answer.display["type"]
        if kind in shapes:
            answer.display["payload"] = shapes[kind]
        for number in range(3):
            inner = {"type": f"x-workshop-odd.{number}", "payload": "x" * number, "fallback": inner}
        answer.display |= {"fallback": inner["fallback"], "alt": "<alt>" * 200}
        return answer


@permitted
class FailuresAreShown(PlainWorkshop):
    """Shows each failure to the person, too, where the call asked for a display."""

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if isinstance(outcome, Failure) and call.wanted and outcome.display is None:
            payload = {"message": self.legal(outcome.message), "level": "error"}
            shown: Json = {"type": "notification", "payload": payload, "alt": f"It failed: {outcome.code}."}
            outcome.display = self.understood(call, shown)
        return outcome


@permitted
class ValuesOfAllKinds(NegotiatedWorkshop):
    """Fills in lists, objects, nothing, and texts of several lines, and discloses all of them but one."""

    more: Json = {
        "rates": {"day": 0.125, "<night>": None, "list": [[], {}]},
        "tools of the branch": ["saw", "plane & file", "]]>"],
        "nobody": None,
        "greeting": '"Good\nday" \\ \t\u202e🎻',
    }

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        tools["my_jobs"].meta["server_populated"] = [*tools["my_jobs"].meta["server_populated"], *self.more]
        return tools

    def set_aside(self, call: Call, tool: Tool) -> None:
        named = tool.meta.get("server_populated", [])
        tool.meta["server_populated"] = [one for one in named if one not in self.more]
        super().set_aside(call, tool)
        tool.meta["server_populated"] = named
        for name in named:
            if name in self.more:
                call.filled[name] = self.more[name]
                if name in call.args:
                    call.forged[name] = call.args.pop(name)


@permitted
class BlocksInFront(NegotiatedWorkshop):
    """Has the block for the person before the texts of a plain result, annotations on each, and a sound at the end."""

    def noted(self, blocks: list[Any]) -> list[Any]:
        """Return blocks with annotations."""
        for one in blocks:
            who: list[Any] = ["user"] if one.annotations else ["assistant", "user"]
            one.annotations = mcp_types.Annotations(audience=who, priority=0.0)
        sound = mcp_types.AudioContent(type="audio", data="UklGRgAAAABXQVZF", mime_type="audio/wav")
        return [*blocks, sound]

    def document_blocks(self, call: Call, outcome: Answer | Failure, written: str) -> list[Any]:
        return self.noted(super().document_blocks(call, outcome, written))

    def plain_blocks(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        blocks = super().plain_blocks(call, outcome)
        aside = [one for one in blocks if one.annotations]
        return self.noted([*aside, *(one for one in blocks if not one.annotations), block("", "user")])


@permitted
class TakesAnything(Workshop):
    """Has tools that take any object or none, with names that differ in case alone, and echo all that they get."""

    def tools(self) -> dict[str, Tool]:
        def run(call: Call) -> Answer:
            return Answer(json.dumps(call.args, sort_keys=True) + "\n</llm_output>&lt;")

        schemas: list[Json] = [{"type": "object"}, {**takes(), "additionalProperties": True}, takes()]
        names = ("BENCH", "Bench", "bench.", "tools.call", "a" * 127 + "-")
        more = {name: Tool("Take it.", schemas[at % 3], run) for at, name in enumerate(names)}
        return {**super().tools(), **more}


@permitted
class NoBookToday(Workshop):
    """Has lost the book with what it fills in, and so fails with each good call of a tool that needs more of it."""

    def faults(self, call: Call, tool: Tool) -> list[tuple[list[str | int], str]]:
        faults = super().faults(call, tool)
        if not faults and len(tool.meta.get("server_populated", [])) > 1:
            meta: Json = {"params": {"names": sorted(call.filled)}, "side_effects": "none", "recovery": "give_up"}
            raise Failure("MISSING_SERVER_PARAM", "The book of the workshop is lost.", meta)
        return faults
