"""Servers that are right and odd: each does what a sentence allows and few servers do.

`ODD` has them by name. The docstring of each quotes what allows it.
"""

from __future__ import annotations

import re
from typing import Any

import mcp_types
from mcp import MCPError

from xmcp_conformance.wrong.servers.miniature import Failure, Json, Miniature

_OURS = re.compile(r"</?(?:tool_response|llm_output|display|error|meta|server_populated)\b", re.IGNORECASE)


class WritesCdata(Miniature):
    """XMCP-RSP-022: "write every `&` and `<` of the text as a reference, or the text as CDATA"."""

    def character_data(self, text: str) -> str:
        # XMCP-RSP-027: no carriage return and no tag of ours in CDATA.
        if "\r" in text or _OURS.search(text):
            return self.escaped(text)
        return self.cdata(text.replace("]]>", "]]]]><![CDATA[>"))


class WritesNumbersForCharacters(Miniature):
    """XMCP-RSP-022: "write every `&` and `<` of the text as a reference" - `&#60;` is one, as `&lt;` is."""

    def escaped(self, text: str) -> str:
        return "".join(f"&#{ord(one)};" if not one.isascii() or one in "<>&\r" else one for one in text)


class WritesAttributesBackwards(Miniature):
    """XMCP-RSP-007 and 008 name attributes: XML gives them no order, and either kind of quotes."""

    def document(self, name: str, body: str) -> str:
        written = super().document(name, body)
        start, end = written.index(" tool_name"), written.index(">")
        attributes = re.findall(r' \w+="[^"]*"| \w+=\'[^\']*\'', written[start:end])
        return written[:start] + "".join(reversed(attributes)) + written[end:]


class LeavesTheVersionOut(Miniature):
    """Section 2.2: "An absent `version` means `1.0`"; `call_id` is for programs that store documents."""

    def document(self, name: str, body: str) -> str:
        return f"<tool_response tool_name={self.attribute(name)}>{body}</tool_response>"


class IndentsTheChildren(Miniature):
    """XMCP-RSP-010: "Text between the children of the root element MUST be white space only"."""

    def document(self, name: str, body: str) -> str:
        return super().document(name, f"\n  {body}\n")


class AddsElementsOfItsOwn(Miniature):
    """XMCP-RSP-012: "MAY add elements in a namespace of its own [...], and attributes in such a namespace"."""

    def document(self, name: str, body: str) -> str:
        written = super().document(name, f'{body}<a:cost a:unit="ms">3</a:cost>')
        return written.replace("<tool_response", '<tool_response xmlns:a="urn:acme" a:trace="7"', 1)


class SaysOneForTrue(Miniature):
    """XMCP-ERR-003: "an XML Schema boolean" - `1` is one, as `true` is."""

    def busy(self) -> dict[str, str]:
        return {**super().busy(), "retryable": "1"}


class WritesPrettyJson(Miniature):
    """XMCP-RSP-040: "exactly one JSON value [...], and nothing else but white space around it"."""

    def inert(self, text: str) -> str:
        return f"\n  {super().inert(text)}\n"


class TellsOnlyHowLongTheTextWas(Miniature):
    """XMCP-RSP-020 is about the tool's own text: no sentence wants a tool to repeat its arguments."""

    def run(self, name: str, arguments: Json) -> tuple[str, Any]:
        text, envelope = super().run(name, arguments)
        return f"{len(text)} characters.", envelope


class SaysSomethingElseEachTime(Miniature):
    """A tool is a program: no sentence wants two equal calls to have equal answers."""

    def run(self, name: str, arguments: Json) -> tuple[str, Any]:
        text, envelope = super().run(name, arguments)
        return f"{text} (answer {self.calls})", envelope


class TakesTextsForNumbers(Miniature):
    """Section 4.3: "A value that the server converts without loss, such as `"1"` to `1`", fits."""

    def set_aside(self, name: str, arguments: Json) -> tuple[Json, Json]:
        given, forged = super().set_aside(name, arguments)
        properties = self.tools()[name]["properties"]
        return {key: self.converted(value, properties.get(key, {})) for key, value in given.items()}, forged

    def converted(self, value: Any, schema: Json) -> Any:
        is_number = schema.get("type") == "integer" and isinstance(value, str) and value.isdecimal()
        return int(value) if is_number else value


class HasNoSuchTool(Miniature):
    """XMCP-ERR-022: "with an error whose code is `UNKNOWN_TOOL`, or with a protocol error"."""

    def unknown(self, name: str) -> Failure:
        raise MCPError(code=-32602, message=f"Unknown tool: {name}")


class NamesArgumentsTwice(Miniature):
    """XMCP-ERR-021: "MUST name each argument that was refused in `fields`" - more than once is naming, too."""

    def refused(self, fields: list[Json]) -> Any:
        return super().refused([*fields, *fields])


class ForbidsOverrides(Miniature):
    """XMCP-TOL-023 forbids to use the value; section 5.3 lets a server refuse with FORBIDDEN_PARAM_OVERRIDE."""

    def filled_in(self, name: str, forged: Json) -> Any:
        if forged:
            raise Failure("FORBIDDEN_PARAM_OVERRIDE", "Only the server fills these in.", meta={"side_effects": "none"})
        return super().filled_in(name, forged)


class NamesARoute(Miniature):
    """XMCP-ERR-032: "a path on the server's machine" - a route of a web service is none."""

    def unknown_name(self, name: str) -> str:
        return f"GET /api/v1/lights/kitchen has no {name}."

    def run(self, name: str, arguments: Json) -> tuple[str, Any]:
        if name == "missing":
            raise Failure("NOT_FOUND", self.unknown_name(arguments["name"]))
        return super().run(name, arguments)


class AddsMembersOfItsOwn(Miniature):
    """XMCP-DSP-006 and section 4.2: a member of `meta` can carry a vendor prefix."""

    def picture(self) -> Any:
        return {**super().picture(), "meta": {"acme/paper": {"size": "a4", "nested": [None]}}}

    def refused(self, fields: list[Json]) -> Any:
        return {**super().refused(fields), "acme/rule": 7}


class SendsMoreBlocks(Miniature):
    """XMCP-MCP-001: "The first block in `content` MUST be a text block whose text is one document"."""

    def result(self, document: str, *, failed: bool, note: str = "") -> mcp_types.CallToolResult:
        result = super().result(document, failed=failed, note=note)
        image = mcp_types.ImageContent(type="image", data="iVBORw0KGgo=", mime_type="image/png")
        return result.model_copy(update={"content": [*result.content, image]})


class IsBusyAtTimes(Miniature):
    """XMCP-ERR-001: a call that fails is answered with `error`; a server may limit how often a tool is called."""

    def run(self, name: str, arguments: Json) -> tuple[str, Any]:
        if name == "echo" and self.calls % 3 == 0:
            raise Failure("RATE_LIMIT", "Too many calls; wait a moment.", self.busy(), {"side_effects": "none"})
        return super().run(name, arguments)


ODD: dict[str, type[Miniature]] = {
    odd.__name__: odd
    for odd in (
        WritesCdata,
        WritesNumbersForCharacters,
        WritesAttributesBackwards,
        LeavesTheVersionOut,
        IndentsTheChildren,
        AddsElementsOfItsOwn,
        SaysOneForTrue,
        WritesPrettyJson,
        TellsOnlyHowLongTheTextWas,
        SaysSomethingElseEachTime,
        TakesTextsForNumbers,
        HasNoSuchTool,
        NamesArgumentsTwice,
        ForbidsOverrides,
        NamesARoute,
        AddsMembersOfItsOwn,
        SendsMoreBlocks,
        IsBusyAtTimes,
    )
}
