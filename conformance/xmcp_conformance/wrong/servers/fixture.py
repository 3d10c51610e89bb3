"""A miniature with the tool of the suite (section 1.7), and servers that damage what their tools return."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import dataclass, replace
from typing import Any
from xml.sax.saxutils import escape

import mcp_types

from xmcp_conformance.wrong.registry import breaks
from xmcp_models.registry import DISPLAY_META_KEY

from .miniature import Failure, Json, Miniature, Negotiated, Plain, ToolOutcome

EMIT = "xmcp_conformance_emit"
_SAFE = 2**53 - 1
_OF_ENVELOPES = {"type", "payload", "title", "alt", "fallback", "id", "meta"}


@dataclass(frozen=True, slots=True)
class Emitted(ToolOutcome):
    """What the tool of the suite returns: a text or a failure, a display, and what else is said of them."""

    format: str | None = None
    truncated: bool = False
    lossy: bool = False
    data: Json | None = None


class _Emits(Miniature):
    """The miniature with one tool more, which returns what its caller says."""

    def tools(self) -> dict[str, Json]:
        return {**super().tools(), EMIT: self.contract()}

    def contract(self) -> Json:
        """Return the input schema of the tool of the suite."""
        members = {"response": "object", "structured_content": "object", "for_user": "string", "show_user": "boolean"}
        properties = {name: {"type": kind} for name, kind in members.items()}
        return {"type": "object", "properties": properties, "required": ["response"], "additionalProperties": False}

    def displays(self) -> set[str]:
        return super().displays() | {EMIT}

    def outcome(self, name: str, arguments: Json, *, declared: bool) -> ToolOutcome:
        if name != EMIT:
            return super().outcome(name, arguments, declared=declared)
        try:
            given = self.without_null(name, arguments)
            self.refuse(name, given)
        except Failure as failure:
            return ToolOutcome(failure=failure)
        return self.returned(given, declared=declared)

    def returned(self, given: Json, *, declared: bool) -> Emitted:
        """Return what the tool returns for these arguments."""
        response = given["response"]
        shown = response.get("display") if self.shows(given) else None
        if "error" in response:
            return Emitted(failure=self.failure(response["error"]), envelope=shown)
        text = response["llm_output"]
        if isinstance(text, dict):
            units = "".join(chr(int(unit, 16)) for unit in text["$surrogates"])
            text = units.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        return Emitted(
            text=text if shown is None or declared else self.without_a_renderer(text),
            envelope=shown,
            note=given.get("for_user", ""),
            format=response.get("format"),
            truncated=response.get("truncated", False),
            lossy=response.get("lossy", False),
            data=given.get("structured_content"),
        )

    def failure(self, error: Json) -> Failure:
        """Return an error as a tool raises it."""
        said = {"retryable": json.dumps(error["retryable"]), "category": error["category"]}
        if "retry_after_ms" in error:
            said["retry_after_ms"] = str(error["retry_after_ms"])
        return Failure(error["code"], error["message"], said, error.get("meta"))

    def answer(self, name: str, arguments: Json, *, declared: bool) -> mcp_types.CallToolResult:
        if name != EMIT:
            return super().answer(name, arguments, declared=declared)
        outcome = self.outcome(name, arguments, declared=declared)
        failed = outcome.failure is not None
        shown = "" if outcome.envelope is None else self.display(outcome.envelope)
        if outcome.failure is not None:
            body = self.error(outcome.failure)
        elif isinstance(outcome, Emitted):
            body = self.marked(self.llm_output(self.in_document(outcome)), outcome)
        document = self.document(name, body + shown)
        if getattr(outcome, "lossy", False):
            document = self.lossy_root(document)
        result = self.result(document, failed=failed, note=outcome.note)
        return result.model_copy(update={"structured_content": getattr(outcome, "data", None)})

    def marked(self, element: str, outcome: Emitted) -> str:
        """Return the element with the text, with its attributes."""
        said = {"format": outcome.format, "truncated": "true" if outcome.truncated else None}
        written = "".join(f" {name}={self.attribute(value)}" for name, value in said.items() if value is not None)
        return element.replace("<llm_output", f"<llm_output{written}", 1)

    def lossy_root(self, document: str) -> str:
        """Return the document, marked as lossy."""
        return document.replace("<tool_response", '<tool_response lossy="true"', 1)

    def plain(self, outcome: ToolOutcome) -> mcp_types.CallToolResult:
        data = getattr(outcome, "data", None)
        return super().plain(outcome).model_copy(update={"structured_content": data} if data else {})

    def said(self, outcome: ToolOutcome) -> str:
        # JSON carries what XML cannot, but no unpaired surrogate.
        return super().said(outcome).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Emitting(_Emits, Negotiated):
    """The miniature with the tool of the suite, and the wire `negotiated`."""


class EmittingPlainly(_Emits, Plain):
    """The same with the wire `plain`."""


# -- the text ------------------------------------------------------------------------------------------------------


@breaks("XMCP-RSP-020", profile="fixture")
class EscapesTwice(Emitting):
    """Escapes the text before the emitter does."""

    def in_document(self, outcome: ToolOutcome) -> str:
        return escape(outcome.text)


@breaks("XMCP-RSP-020", profile="fixture")
class Trims(Emitting):
    """Leaves out white space at the ends of the text."""

    def in_document(self, outcome: ToolOutcome) -> str:
        return outcome.text.strip(" \n\t")


@breaks("XMCP-RSP-020", profile="fixture")
class Reindents(Emitting):
    """Writes the lines of the text without their indentation."""

    def in_document(self, outcome: ToolOutcome) -> str:
        return "\n".join(line.lstrip(" ") for line in outcome.text.split("\n"))


@breaks("XMCP-RSP-020", profile="fixture")
class Composes(Emitting):
    """Normalises the text to composed characters."""

    def in_document(self, outcome: ToolOutcome) -> str:
        return unicodedata.normalize("NFC", outcome.text)


@breaks("XMCP-RSP-020", profile="fixture")
class SplitsSurrogatePairs(Emitting):
    """Takes the two code units of a character beyond U+FFFF for two unpaired surrogates."""

    def in_document(self, outcome: ToolOutcome) -> str:
        units = outcome.text.encode("utf-16-be", "surrogatepass")
        return "".join(chr(int.from_bytes(units[at : at + 2], "big")) for at in range(0, len(units), 2))


@breaks("XMCP-RSP-020", profile="fixture")
class SwallowsSpaces(Emitting):
    """Writes a no-break space as a space."""

    def in_document(self, outcome: ToolOutcome) -> str:
        return outcome.text.replace("\u00a0", " ")


@breaks("XMCP-RSP-024", profile="fixture")
class WritesLineFeeds(Emitting):
    """Writes line ends as line feeds."""

    def in_document(self, outcome: ToolOutcome) -> str:
        return outcome.text.replace("\r\n", "\n").replace("\r", "\n")


@breaks("XMCP-RSP-026", profile="fixture")
class ForgetsLossy(Emitting):
    """Marks no text in which it replaced code points."""

    def lossy(self, text: str, legal: str) -> str:
        return ""


@breaks("XMCP-RSP-026", profile="fixture")
class WritesQuestionMarks(Emitting):
    """Replaces code points by question marks."""

    def legal(self, text: str) -> str:
        legal = super().legal(text)
        return "".join(one if one == two else "?" for one, two in zip(text, legal, strict=True))


@breaks("XMCP-RSP-029", profile="fixture")
class ForgetsWhatWasLost(Emitting):
    """Does not say that its values were marked as lossy where they came from."""

    def lossy_root(self, document: str) -> str:
        return document


@breaks("XMCP-RSP-082", profile="fixture")
class CutsAtItsBuffer(Emitting):
    """Writes the first 65,536 characters of a text."""

    def in_document(self, outcome: ToolOutcome) -> str:
        return outcome.text[:65_536]


@breaks("XMCP-MCP-020", profile="fixture")
class TrimsPlainText(Emitting):
    """Leaves out white space at the end of the text of a plain result."""

    def said(self, outcome: ToolOutcome) -> str:
        return super().said(outcome).rstrip(" \n\t")


# -- the JSON ------------------------------------------------------------------------------------------------------


@breaks("XMCP-RSP-043", profile="fixture")
class WritesDoubles(Emitting):
    """Writes an integer that no double holds as a double."""

    def safe(self, value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _SAFE:
            return float(value)
        return super().safe(value)


@breaks("XMCP-RSP-054", profile="fixture")
class DropsWhatItDoesNotKnow(Emitting):
    """Writes only the members of an envelope that it knows."""

    def display(self, envelope: Any) -> str:
        return super().display({name: value for name, value in envelope.items() if name in _OF_ENVELOPES})


@breaks("XMCP-RSP-054", profile="fixture")
class LeavesOutNull(Emitting):
    """Leaves out members of a vendor that are null."""

    def safe(self, value: Any) -> Any:
        if isinstance(value, dict):
            value = {name: item for name, item in value.items() if item is not None or "/" not in name}
        return super().safe(value)


@breaks("XMCP-RSP-054", profile="fixture")
class SortsLists(Emitting):
    """Writes lists of texts in alphabetical order."""

    def safe(self, value: Any) -> Any:
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return sorted(value)
        return super().safe(value)


@breaks("XMCP-RSP-054", profile="fixture")
class WritesJsonInJson(Emitting):
    """Writes the members of an envelope that it does not know as JSON in a text."""

    def display(self, envelope: Any) -> str:
        known = {name: value for name, value in envelope.items() if name in _OF_ENVELOPES}
        return super().display({**{name: json.dumps(value) for name, value in envelope.items()}, **known})


@breaks("XMCP-RSP-054", profile="fixture")
class TrimsTitles(Emitting):
    """Leaves out white space at the ends of a title."""

    def display(self, envelope: Any) -> str:
        title = {"title": envelope["title"].strip()} if "title" in envelope else {}
        return super().display({**envelope, **title})


# -- errors and the rest -------------------------------------------------------------------------------------------


@breaks("XMCP-CNF-013", profile="fixture")
class LosesTheWait(Emitting):
    """Writes no `retry_after_ms`."""

    def failure(self, error: Json) -> Failure:
        return super().failure({name: value for name, value in error.items() if name != "retry_after_ms"})


@breaks("XMCP-CNF-013", profile="fixture")
class ShowsNoFailure(Emitting):
    """Writes no display beside an error."""

    def returned(self, given: Json, *, declared: bool) -> Emitted:
        outcome = super().returned(given, declared=declared)
        return outcome if outcome.failure is None else replace(outcome, envelope=None)


@breaks("XMCP-CNF-013", profile="fixture")
class DropsPlainMembers(Emitting):
    """Sends in a plain result only the members of an envelope that it knows."""

    def members(self, outcome: ToolOutcome) -> Json:
        members = super().members(outcome)
        shown = members.get(DISPLAY_META_KEY)
        if shown is not None:
            members[DISPLAY_META_KEY] = {name: value for name, value in shown.items() if name in _OF_ENVELOPES}
        return members


@breaks("XMCP-CNF-013", profile="fixture")
class ForgetsTheUser(Emitting):
    """Leaves out what is for the user alone."""

    def returned(self, given: Json, *, declared: bool) -> Emitted:
        return replace(super().returned(given, declared=declared), note="")


@breaks("XMCP-CNF-012", profile="fixture")
class TakesTextsOnly(Emitting):
    """Lists an input schema without displays and errors."""

    def contract(self) -> Json:
        said = {"type": "object", "properties": {"llm_output": {"type": "string"}}, "required": ["llm_output"]}
        contract = super().contract()
        return {**contract, "properties": {**contract["properties"], "response": said}}
