"""Wrong in how a text, an element or an attribute is written."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from unseen_eighth.kit import ILLEGAL, Answer, Call, Failure, Json
from unseen_eighth.writer import INERT

from unseen_twelfth.registry import breaks
from unseen_twelfth.theatre import NegotiatedTheatre, Theatre

OURS = "urn:theatre.example:notes"
INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
LOWER = re.compile(r"<\s*/?\s*(?:tool_response|llm_output|display|error|meta|server_populated)")


@breaks("RSP-004")
class RouterDeclares(NegotiatedTheatre):
    """Begins the answer that there is no such tool with an XML declaration, as the router writes it with a library."""

    def document(self, call: Call, outcome: Answer | Failure) -> str:
        written = super().document(call, outcome)
        unknown = isinstance(outcome, Failure) and outcome.code == "UNKNOWN_TOOL"
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{written}' if unknown else written


@breaks("RSP-005")
class CrashHandlerRoot(Theatre):
    """Leaves failures that nobody foresaw to the handler of its framework, whose documents have the root `response`."""

    def document(self, call: Call, outcome: Answer | Failure) -> str:
        written = super().document(call, outcome)
        if isinstance(outcome, Failure) and outcome.code == "INTERNAL":
            return "<response" + written.removeprefix("<tool_response").removesuffix("tool_response>") + "response>"
        return written


@breaks("RSP-006")
class CharsetInTheFormat(NegotiatedTheatre):
    """Writes the format of a text that is JSON as a header of HTTP has it, with the charset behind it."""

    def output_says(self, call: Call, answer: Answer) -> dict[str, str]:
        said = super().output_says(call, answer)
        return {**said, "format": f"{said['format']}; charset=utf-8"} if "format" in said else said


@breaks("RSP-007")
class NameOfTheLastRun(Theatre):
    """Notes the name of a tool when it has run, and so names the one before where arguments do not fit."""

    def __init__(self) -> None:
        super().__init__()
        self.last = ""

    def served(self, call: Call, answer: Answer) -> Answer:
        self.last = call.tool
        return super().served(call, answer)

    def root_says(self, call: Call, outcome: Answer | Failure) -> dict[str, str]:
        said = super().root_says(call, outcome)
        refused = isinstance(outcome, Failure) and outcome.code == "VALIDATION_FAIL"
        return {**said, "tool_name": self.last} if refused and self.last else said


@breaks("RSP-009")
class BookBeforeDisplay(NegotiatedTheatre):
    """Writes what it filled in before the display, where there are both."""

    def children(self, call: Call, outcome: Answer | Failure) -> list[str]:
        [first, *rest] = super().children(call, outcome)
        return [first, *rest[::-1]]


@breaks("RSP-010")
class ArrayInTheTemplate(Theatre):
    """Puts the list of elements into a template of JavaScript as it is, which joins them with commas."""

    def document(self, call: Call, outcome: Answer | Failure) -> str:
        content = ",".join(self.children(call, outcome))
        return self.element("tool_response", self.root_says(call, outcome), content)


@breaks("RSP-020", "MCP-020")
class EscapedAgainFromTheShelf(NegotiatedTheatre):
    """Keeps the texts of tools that are cacheable as they were written, and escapes one again when it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.shelf: dict[str, str] = {}

    def output_data(self, call: Call, answer: Answer) -> str:
        written = super().output_data(call, answer)
        if not self.tools()[call.tool].meta.get("cacheable"):
            return written
        key = json.dumps([call.tool, call.args], sort_keys=True)
        if key in self.shelf:
            return self.data(self.shelf[key])
        self.shelf[key] = written
        return written


@breaks("RSP-020", "MCP-020")
class DropsWhatIsInvisible(NegotiatedTheatre):
    """Takes bidirectional controls and signs without a width out of texts when it writes a document."""

    def output_data(self, call: Call, answer: Answer) -> str:
        return super().output_data(call, replace(answer, text=INVISIBLE.sub("", answer.text)))


@breaks("RSP-022", "RSP-001")
class HarmlessAmpersands(Theatre):
    """Leaves an ampersand in a text as it is where no letter and no `#` comes after it, as HTML lets one do."""

    def output_data(self, call: Call, answer: Answer) -> str:
        return re.sub("&amp;(?![A-Za-z#])", "&", super().output_data(call, answer))


@breaks("RSP-024", "RSP-020")
class LoneReturns(Theatre):
    """Writes a carriage return as a reference only before a line feed, since it thinks of line ends of Windows."""

    def output_data(self, call: Call, answer: Answer) -> str:
        return re.sub("&#13;(?!\n)", "\r", super().output_data(call, answer))


@breaks("RSP-025", "RSP-001")
class NoncharactersInJson(NegotiatedTheatre):
    """Trusts its JSON library with what XML does not have, which escapes controls, and neither U+FFFE nor U+FFFF."""

    def inert(self, written: str) -> str:
        return written.translate(INERT)


@breaks("RSP-026", "RSP-020", "MCP-020")
class OneForARun(NegotiatedTheatre):
    """Writes one U+FFFD for several code points in a row that XML does not have, and marks the element."""

    def output_data(self, call: Call, answer: Answer) -> str:
        return self.data(re.sub(f"(?:{ILLEGAL.pattern})+", "\ufffd", answer.text))


@breaks("RSP-027")
class GuardOfLowerCase(NegotiatedTheatre):
    """Writes a text with a `<` as CDATA, unless it has a tag of documents in lower case."""

    def output_data(self, call: Call, answer: Answer) -> str:
        said = self.legal(answer.text)
        if "<" not in said or LOWER.search(said):
            return super().output_data(call, answer)
        sections = said.replace("]]>", "]]]]><![CDATA[>").split("\r")
        return "&#13;".join(f"<![CDATA[{one}]]>" for one in sections)


@breaks("RSP-081")
class ArgumentsForReplay(Theatre):
    """Has all arguments as JSON in an attribute of its own on the root, however long they are."""

    def root_says(self, call: Call, outcome: Answer | Failure) -> dict[str, str]:
        said: Json = super().root_says(call, outcome)
        return {**said, "xmlns:t": OURS, "t:arguments": json.dumps(call.args)}


@breaks("RSP-082", "RSP-020", "MCP-020")
class CutForTheModel(NegotiatedTheatre):
    """Cuts a text after three thousand characters when it writes a document, and does not mark that."""

    def output_data(self, call: Call, answer: Answer) -> str:
        return super().output_data(call, replace(answer, text=answer.text[:3000]))
