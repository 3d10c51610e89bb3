"""Odd servers that break no sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import mcp_types
from mcp.shared.exceptions import MCPError

from unseen_fifth.instruments import ConeSearch, FindingChart, LightCurve
from unseen_fifth.kit import Json, Outcome, Problem, Success, Tool, Visit, legal
from unseen_fifth.observatory import Negotiated, Observatory, Plain
from unseen_fifth.registry import permitted
from unseen_fifth.writers import Paper, Slip, block

_TAGS = re.compile(r"</?\s*(tool_response|llm_output|display|error|meta|server_populated)", re.IGNORECASE)
_DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="


@permitted
class CdataWherePossible(Observatory):
    """Every text is a CDATA section, and several where it ends one, unless it has a carriage return
    or a tag of ours.
    """

    class _Paper(Paper):
        def escaped(self, said: str) -> str:
            if "\r" in said or _TAGS.search(said):
                return super().escaped(said)
            return "<![CDATA[" + said.replace("]]>", "]]]]><![CDATA[>") + "]]>"

    paper = _Paper


@permitted
class ReferencesEverywhere(Negotiated):
    """All characters of texts and attributes but letters, digits and line feeds are written as references."""

    class _Paper(Paper):
        longest_message = 200

        def escaped(self, said: str) -> str:
            return re.sub(r"[^A-Za-z0-9\n]", lambda found: self.reference(found[0]), said)

        def quoted(self, value: str) -> str:
            return '"' + re.sub(r"[^A-Za-z0-9_]", lambda found: self.reference(found[0]), value) + '"'

        def reference(self, one: str) -> str:
            return "&#13;" if one == "\r" else f"&#x{ord(one):X};"

    paper = _Paper


@permitted
class LooseMarkup(Observatory):
    """Attributes have single quotes and much space, children stand on lines of their own, JSON has space around it."""

    class _Paper(Paper):
        def attributes(self, values: Mapping[str, str]) -> str:
            pairs = [(name, self.quoted(value)[1:-1].replace("'", "&apos;")) for name, value in values.items()]
            return "".join(f"\n  {name} = '{value}'" for name, value in pairs) + " "

        def element(self, name: str, values: Mapping[str, str], content: str) -> str:
            return super().element(name, values, content).removesuffix(">") + "\n>"

        def json(self, value: Any) -> str:
            return f"\n\t{super().json(value)} \n"

        def inert(self, written: str) -> str:
            body = written.strip("\n\t ")
            return f"\n\t{super().inert(body)} \n"

        def parts(self, outcome: Outcome) -> list[str]:
            return ["\n", *(f"{part}\r\n\t" for part in super().parts(outcome))]

        def document(self, outcome: Outcome) -> str:
            return super().document(outcome) + "\n"

    paper = _Paper


@permitted
class OwnNamespace(Negotiated):
    """The root, the texts and the end of a document have attributes and elements of the observatory's own namespace."""

    class _Paper(Paper):
        def root_attributes(self, outcome: Outcome) -> dict[str, str]:
            own = {"xmlns:o": "https://sky.example/ns?a=1&b=2", "o:dome": "D1 <north> \t\n"}
            return {**own, **super().root_attributes(outcome)}

        def model_attributes(self, success: Success) -> dict[str, str]:
            return {**super().model_attributes(success), "o:lang": "en"}

        def parts(self, outcome: Outcome) -> list[str]:
            own = (
                '<o:log>night <o:entry n="1"/> &amp; day</o:log><display xmlns="https://sky.example/ns">none</display>'
            )
            return [*super().parts(outcome), own]

    paper = _Paper


@permitted
class AsciiJson(Observatory):
    """JSON in documents is indented and has nothing but ASCII, with escapes of two units for what
    is beyond the first.
    """

    class _Paper(Paper):
        def json(self, value: Any) -> str:
            return json.dumps(value, ensure_ascii=True, indent=2, sort_keys=True)

    paper = _Paper


@permitted
class BlockPerLine(Negotiated):
    """A plain result has a block for each line of its text."""

    class _Slip(Slip):
        def for_the_model(self, outcome: Outcome) -> list[mcp_types.ContentBlock]:
            return [block(line) for line in legal(self.said(outcome)).split("\n")]

    slip = _Slip


@permitted
class ToolByTool(Plain):
    """The list of tools has one tool on each page, from the last to the first."""

    def page(self, cursor: str | None, tools: list[mcp_types.Tool]) -> mcp_types.ListToolsResult:
        last = len(tools) - 1
        at = min(int(cursor), last) if cursor and cursor.isascii() and cursor.isdecimal() else last
        return mcp_types.ListToolsResult(tools=[tools[at]], next_cursor=str(at - 1) if at else None)


@permitted
class ForgeryRefused(Negotiated):
    """Whoever sends a value that the server fills in is refused, once the other arguments are seen to fit."""

    def badge(self, visit: Visit, tool: type[Tool], forged: Json) -> Json:
        if forged:
            said = "The observatory fills these parameters in by itself."
            raise Problem("FORBIDDEN_PARAM_OVERRIDE", said, params={"names": sorted(forged)}, side_effects="none")
        return super().badge(visit, tool, forged)


@permitted
class NumbersInQuotes(Observatory):
    """A number that comes as a text of decimal digits is taken as the number, for integers and other numbers."""

    def set_aside(self, visit: Visit, tool: type[Tool]) -> tuple[Json, Json]:
        args, forged = super().set_aside(visit, tool)
        for name, param in tool.params().items():
            value = args.get(name)
            if param.schema.get("type") in ("integer", "number") and isinstance(value, str):
                args[name] = int(value) if re.fullmatch("0|-?[1-9][0-9]{0,17}", value) else value
        return args, forged


@permitted
class NoSuchRequest(Negotiated):
    """A call of a tool that is not there is answered with a protocol error."""

    def missing(self, visit: Visit) -> type[Tool]:
        raise MCPError(-32602, "There is no such tool under this dome.")


@permitted
class NoticeOfFailure(Negotiated):
    """A call that wants a display and fails has a notification for the person beside its error."""

    async def perform(self, visit: Visit, tool: type[Tool]) -> Outcome:
        try:
            return await super().perform(visit, tool)
        except Problem as problem:
            if self.wanted(visit, tool, visit.args) and problem.code != "VALIDATION_FAIL":
                notice = {"type": "notification", "payload": {"message": "It did not work.", "level": "error"}}
                problem.display = self.adapted(visit, notice)
            raise


@permitted
class EverythingSaid(Observatory):
    """Whatever has a default is said, with booleans in digits: the version, an id of the call, and
    what was not done.
    """

    class _Paper(Paper):
        def root_attributes(self, outcome: Outcome) -> dict[str, str]:
            said = {"version": "1.0", "call_id": f"night-{self.visit.nth}", "lossy": "false"}
            return said | super().root_attributes(outcome)

        def model_attributes(self, success: Success) -> dict[str, str]:
            return {"format": "text/plain", "truncated": "false", "lossy": "false"} | super().model_attributes(success)

        def error_attributes(self, problem: Problem) -> dict[str, str]:
            said = {"retryable": "0", "lossy": "false", "category": problem.kind} | super().error_attributes(problem)
            return {**said, "retryable": "1" if problem.retryable else "0"}

    paper = _Paper


@permitted
class JsonForModels(Negotiated):
    """Tools with data give the model the JSON of them, beside the structured content."""

    def shown(self, visit: Visit, tool: type[Tool], args: Json, success: Success) -> Success:
        if success.data is not None:
            said = json.dumps(success.data, ensure_ascii=False)
            success = replace(success, text=said, media="application/json")
        return super().shown(visit, tool, args, success)


@permitted
class ShortTexts(Negotiated):
    """A text ends after two hundred characters, and says that it was cut; a hint stands behind the cut."""

    def shown(self, visit: Visit, tool: type[Tool], args: Json, success: Success) -> Success:
        if len(success.text) > 200 and not success.media:
            success = replace(success, text=success.text[:200], cut=True)
        return super().shown(visit, tool, args, success)


@permitted
class PicturesBehind(Negotiated):
    """Behind its text an answer about a picture has a small copy of it, a link, and a remark for the person alone."""

    class _Paper(Paper):
        def asides(self, outcome: Outcome) -> list[mcp_types.ContentBlock]:
            return [*super().asides(outcome), *_beside(self.tool, outcome)]

    class _Slip(Slip):
        def asides(self, outcome: Outcome) -> list[mcp_types.ContentBlock]:
            return [*super().asides(outcome), *_beside(self.tool, outcome)]

    paper = _Paper
    slip = _Slip


def _beside(tool: type[Tool] | None, outcome: Outcome) -> list[mcp_types.ContentBlock]:
    if tool is not FindingChart or isinstance(outcome, Problem):
        return []
    person = mcp_types.Annotations(audience=["user"])
    return [
        mcp_types.ImageContent(type="image", data=_DOT, mime_type="image/png"),
        mcp_types.ResourceLink(type="resource_link", name="archive", uri="https://sky.example/archive"),
        mcp_types.TextContent(type="text", text="Click on the picture for more of the sky.", annotations=person),
    ]


@permitted
class PicturesSpeak(Observatory):
    """A client that shows charts and pictures gets them with an empty text for the model, in an
    element that is empty.
    """

    def shown(self, visit: Visit, tool: type[Tool], args: Json, success: Success) -> Success:
        success = super().shown(visit, tool, args, success)
        silent = visit.declared and success.display is not None and tool in (LightCurve, FindingChart)
        return replace(success, text="") if silent else success

    class _Paper(Paper):
        def element(self, name: str, values: Mapping[str, str], content: str) -> str:
            return super().element(name, values, content) if content else f"<{name}{self.attributes(values)}/>"

    paper = _Paper


@permitted
class ControlsRefused(Observatory):
    """A text with characters that XML does not allow is not sent: the call fails, and says where
    the first of them is.
    """

    def shown(self, visit: Visit, tool: type[Tool], args: Json, success: Success) -> Success:
        at = next((at for at, one in enumerate(success.text) if legal(one) != one), None)
        if at is not None:
            said = f"Character {at} of the answer cannot be sent."
            raise Problem("TOOL_ERROR", said, params={"at": at}, side_effects="none")
        return super().shown(visit, tool, args, success)


@permitted
class OwnMembers(Negotiated):
    """Displays, marks, metadata, errors and what was filled in have members of the observatory's own."""

    def adapted(self, visit: Visit, display: Json) -> Json:
        own = {"theme": {"night": True}, "meta": {**display.get("meta", {}), "sky.example/dome/1": 1}}
        return {**super().adapted(visit, display), **own}

    def announcement(self, *, handshake: bool) -> Json:
        return {**super().announcement(handshake=handshake), "domes": 3, "maxBytes": 10}

    def metadata(self, tool: type[Tool], *, declared: bool, handshake: bool) -> Json | None:
        return {**(tool.about or {}), "dome": "D1", "sky.example/night": None}

    def said_of(self, tool: type[Tool], forged: Json) -> Json:
        return {**super().said_of(tool, forged), "by": "the observatory"}

    class _Paper(Paper):
        def meta(self, problem: Problem) -> str:
            problem.meta.setdefault("sky.example/dome", {"lights": [None, 1.5, "<off>"]})
            return super().meta(problem)

        def mark(self, outcome: Outcome) -> Json:
            return {**super().mark(outcome), "dome": "D1"}

    paper = _Paper


class _Tagged(ConeSearch):
    about = {"cacheable": True, "provides": "stars", "xml_formatter": "StarTags"}

    def run(self) -> Success:
        success = super().run()
        data: Json = success.data or {}
        stars = "".join(f'<item key="{number + 1}">{star}</item>' for number, star in enumerate(data["stars"]))
        return replace(success, text=f"<stars>{stars}</stars><next_page>{data['next_page']}</next_page>")


@permitted
class StarTags(Negotiated):
    """The search writes its data as nested tags, with the number of a star in an attribute, because it is no name."""

    swapped = (_Tagged,)


@permitted
class NothingToShow(Plain):
    """A server of the first level has no displays, no metadata and no wrapped data; the code ends
    the text of an error.
    """

    def tools(self) -> dict[str, type[Tool]]:
        bare = {name: tool for name, tool in super().tools().items() if not tool.shows() and not tool.fills()}
        return {name: tool for name, tool in bare.items() if "wrapped_in" not in (tool.about or {})}

    def metadata(self, tool: type[Tool], *, declared: bool, handshake: bool) -> Json | None:
        return None

    class _Slip(Slip):
        def said(self, outcome: Outcome) -> str:
            return outcome.text if isinstance(outcome, Success) else f"{outcome}\n({outcome.code})"

    slip = _Slip
