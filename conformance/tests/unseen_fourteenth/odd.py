"""Harbour offices that are unusual, and right."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any
from xml.sax.saxutils import quoteattr

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from unseen_eighth.kit import ILLEGAL, PREFIX, Answer, Call, Failure, Json, Tool

from unseen_fourteenth.harbour import AGENT, Harbour, NegotiatedHarbour, PlainHarbour, plain
from unseen_fourteenth.registry import permitted

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@permitted
class Indents(Harbour):
    """Writes each element of a document on a line of its own, with a tab before it."""

    def root(self, call: Call, children: list[str], failure: Failure | None) -> str:
        return super().root(call, [f"\n\t{one}" for one in children] + ["\n"], failure)


@permitted
class AddsPartsOfItsOwn(NegotiatedHarbour):
    """Adds attributes in a namespace of its own, and after the children elements in it, one of them called `error`."""

    def root(self, call: Call, children: list[str], failure: Failure | None) -> str:
        more = "<h:error>none</h:error><h:tide h:level='3'><h:display/></h:tide>"
        text = super().root(call, [*children, more], failure)
        return text.replace("<tool_response ", '<tool_response xmlns:h="urn:harbour" h:took="4" ', 1)


@permitted
class SectionsAlways(Harbour):
    """Writes texts as CDATA, and a `]]>` of the text over two sections, unless a section cannot have the text."""

    def text_element(self, call: Call, answer: Answer) -> str:
        tags = r"</?(?:tool_response|llm_output|display|error|meta|server_populated)"
        if "\r" in answer.text or ILLEGAL.search(answer.text) or re.search(tags, answer.text, re.IGNORECASE):
            return super().text_element(call, answer)
        text = super().text_element(call, replace(answer, text=""))
        inner = answer.text.replace("]]>", "]]]]><![CDATA[>")
        return text.replace("><", f"><![CDATA[{inner}]]><", 1)


@permitted
class WritesEveryAttribute(NegotiatedHarbour):
    """Writes every attribute with its default, and the booleans as `1` and `0`."""

    def root(self, call: Call, children: list[str], failure: Failure | None) -> str:
        text = super().root(call, children, failure)
        return text.replace("<tool_response ", f'<tool_response version="1.0" call_id="c-{call.times}" ', 1)

    def lossy(self, text: str) -> str:
        return ' lossy="1"' if ILLEGAL.search(text) else ' lossy="0"'

    def text_element(self, call: Call, answer: Answer) -> str:
        media, cut = answer.media or "text/plain", int(answer.cut)
        attributes = f' format="{media}" truncated="{cut}"{self.lossy(answer.text)}'
        return f"<llm_output{attributes}>{self.characters(answer.text)}</llm_output>"

    def error_attributes(self, failure: Failure) -> str:
        text = super().error_attributes(failure).replace(' retryable="true"', "")
        return f'{text} retryable="{int(failure.retryable)}"'


@permitted
class RefusesOverrides(Harbour):
    """Refuses a call with a value for a parameter that it fills in with `FORBIDDEN_PARAM_OVERRIDE`."""

    def set_aside(self, call: Call, tool: Tool) -> None:
        super().set_aside(call, tool)
        if call.forged:
            meta: Json = {"params": {"names": sorted(call.forged)}, "side_effects": "none"}
            raise Failure("FORBIDDEN_PARAM_OVERRIDE", "Only the office fills this in.", meta)


@permitted
class LacksAValue(NegotiatedHarbour):
    """Has no agent for calls about paid moorings, and answers these with `MISSING_SERVER_PARAM`."""

    def work(self, call: Call, tool: Tool) -> Answer:
        if call.tool == "my_moorings" and call.args.get("status") == "paid":
            raise Failure("MISSING_SERVER_PARAM", "The office knows no agent here.", {"params": {"name": "agent_id"}})
        return super().work(call, tool)


@permitted
class StrangersAreMalformed(PlainHarbour):
    """Answers the call of a tool that it does not have with a protocol error."""

    def stranger(self, call: Call) -> Answer:
        raise MCPError(-32602, f"Unknown tool: {call.tool[:40]}")


@permitted
class SaysMoreThanKnown(PlainHarbour):
    """Adds members that nobody knows to envelopes, to announcements, to the metadata of tools and to `fields`."""

    def announcement(self, *, handshake: bool) -> Json:
        return {**super().announcement(handshake=handshake), "hosts": ["mole"], "since": None}

    def listed(self, name: str, tool: Tool, client: Json) -> types.Tool:
        tool.meta = {**tool.meta, "colour": "blue", "cost": {"cents": 3}}
        return super().listed(name, tool, client)

    def inspect(self, call: Call, answer: Answer) -> None:
        answer.display = {**answer.display, "footer": None, "colours": ["blue"]}
        super().inspect(call, answer)

    def places(self, error: Any) -> list[tuple[list[Any], str, str]]:
        return [(path, "does not fit", message) for path, _, message in super().places(error)]

    def check(self, call: Call, tool: Tool) -> None:
        try:
            super().check(call, tool)
        except Failure as failure:
            failure.meta = {"fields": [{**one, "seen": None} for one in (failure.meta or {})["fields"]]}
            raise


@permitted
class KnowsBetter(Harbour):
    """Knows that a roster can be written at any moment: `NOT_FOUND` is retryable, at once; a station
    that does not answer is not."""

    def failure(self, call: Call, failure: Failure) -> types.CallToolResult:
        if failure.code == "NOT_FOUND":
            failure.retryable, failure.wait = True, 0
        elif failure.code == "UPSTREAM_UNAVAILABLE":
            failure.retryable, failure.wait = False, None
        return super().failure(call, failure)


@permitted
class CategoryOfItsOwn(PlainHarbour):
    """Gives a code of its own a category of its own, which is retryable, and adds members to the error."""

    def failure(self, call: Call, failure: Failure) -> types.CallToolResult:
        if failure.code == "X_HARBOUR_STRIKE":
            failure.category, failure.retryable, failure.wait = "labour_dispute", True, 2**53 - 1
        return super().failure(call, failure)

    def error(self, failure: Failure) -> Json:
        return {**super().error(failure), "harbour": "north"}


@permitted
class LinesAsBlocks(NegotiatedHarbour):
    """Sends each line of a text as a block, also the empty ones; every second one is for the user and the model."""

    def text_blocks(self, call: Call, answer: Answer) -> list[types.TextContent]:
        blocks = [self.block(one) for one in self.plain_text(answer.text).split("\n")]
        for one in blocks[1::2]:
            one.annotations = types.Annotations(audience=["user", "assistant"], priority=0.5)
        return blocks


@permitted
class RoomyJson(Harbour):
    """Writes JSON over many lines with white space around it, its members in reverse order, and `/` escaped."""

    def json(self, name: str, value: Any) -> str:
        turned = dict(reversed(plain(value).items()))
        text = json.dumps(turned, indent=2, ensure_ascii=True).replace("/", "\\/")
        return f"\n {self.inert(text)}\n"


@permitted
class ShowsWithoutAWord(NegotiatedHarbour):
    """Answers with an empty text where everything is in the display; writes an empty text as one tag."""

    def work(self, call: Call, tool: Tool) -> Answer:
        answer = super().work(call, tool)
        return replace(answer, text="") if call.tool == "weather_warning" else answer

    def text_element(self, call: Call, answer: Answer) -> str:
        return super().text_element(call, answer).replace("></llm_output>", "/>")


@permitted
class WritesReferences(NegotiatedHarbour):
    """Writes all but ASCII as references in hexadecimal, and attributes in single quotes."""

    def characters(self, text: str) -> str:
        text = ILLEGAL.sub("\ufffd", text)
        return "".join(self.reference(one) for one in text)

    def reference(self, one: str) -> str:
        if one in "\t\n" or (" " <= one <= "~" and one not in "&<>'\""):
            return one
        return "&#13;" if one == "\r" else f"&#x{ord(one):X};"

    def attribute(self, name: str, value: str) -> str:
        quoted = self.characters(value).replace("\t", "&#9;").replace("\n", "&#10;")
        return f"\n  {name} = '{quoted}'"


@permitted
class SendsThePicture(Harbour):
    """Sends a picture and a link after the text or the document of a vessel."""

    def success(self, call: Call, answer: Answer) -> types.CallToolResult:
        result = super().success(call, answer)
        if call.tool == "find_vessel":
            link = types.ResourceLink(type="resource_link", name="register", uri="https://harbour.example/register")
            result.content += [types.ImageContent(type="image", data=PNG, mime_type="image/png"), link]
        return result


@permitted
class ListsInPages(NegotiatedHarbour):
    """Lists three tools on a page, so that a tool can depend on one of another page."""

    async def _list(
        self, ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        whole = await super()._list(ctx, params)
        start = int(params.cursor) if params is not None and params.cursor else 0
        following = str(start + 3) if start + 3 < len(whole.tools) else None
        return types.ListToolsResult(tools=whole.tools[start : start + 3], next_cursor=following)


@permitted
class FilledComesFirst(PlainHarbour):
    """Puts the block about the filled-in parameters before the text, and everything in it as JSON."""

    def plain_blocks(self, call: Call, answer: Answer) -> list[types.ContentBlock]:
        blocks = super().plain_blocks(call, answer)
        return sorted(blocks, key=lambda one: one.meta is None)

    def filled_block(self, filled: Json) -> types.TextContent:
        text = json.dumps(filled, ensure_ascii=False, indent=1)
        return types.TextContent(type="text", text=text, _meta={f"{PREFIX}server_populated": True})


@permitted
class DisclosesNothing(NegotiatedHarbour):
    """Discloses no value of the parameters that it fills in, and has no member `values`."""

    def disclosed(self, call: Call) -> Json:
        said: Json = {"redacted": sorted(AGENT)}
        return {**said, "overridden": [*call.forged]} if call.forged else said


@permitted
class QuotesATrace(PlainHarbour):
    """Runs a program for its caller on the first watch, and answers with what that program said: a stack trace."""

    def work(self, call: Call, tool: Tool) -> Answer:
        answer = super().work(call, tool)
        if call.tool == "pilot_roster":
            frame = f"  File {quoteattr('/home/pilot/roster.py')}, line 3, in <module>"
            trace = f"Traceback (most recent call last):\n{frame}\n    1 / 0\nZeroDivisionError: division by zero"
            answer.text = f"{answer.text}\n{trace}"
        return answer


@permitted
class ConvertsNumbers(NegotiatedHarbour):
    """Converts a text of digits where a tool takes a whole number, so that `"3"` fits."""

    def check(self, call: Call, tool: Tool) -> None:
        for name, schema in tool.takes["properties"].items():
            value = call.args.get(name)
            if schema.get("type") == "integer" and isinstance(value, str) and re.fullmatch("0|[1-9][0-9]{0,6}", value):
                call.args[name] = int(value)
        super().check(call, tool)
