"""Print shops that get the text of their documents wrong, or the tags around it."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

from unseen_eighth.kit import ILLEGAL, LONE, Answer, Call, Failure
from unseen_eighth.writer import DATA

from unseen_thirteenth.printshop import NegotiatedPrintShop, PrintShop
from unseen_thirteenth.registry import breaks

SPACE = "https://printshop.example/ns"
RESERVED = ("tool_response", "llm_output", "display", "error", "meta", "server_populated")


@breaks("RSP-020", "MCP-020")
class ComposesAccents(NegotiatedPrintShop):
    """Its documents go through a typesetting library that composes letters and accents (NFC); its plain results do
    not.
    """

    def output_data(self, call: Call, answer: Answer) -> str:
        return self.data(unicodedata.normalize("NFC", self.legal(answer.text)))


@breaks("RSP-022", "RSP-020")
class SkipsWhatLooksEscaped(PrintShop):
    """Is afraid of escaping twice: an `&` that already begins one of the usual references is left as it is."""

    def output_data(self, call: Call, answer: Answer) -> str:
        said = re.sub(r"&(?!(?:amp|lt|gt|quot|apos|#13);)", "&amp;", self.legal(answer.text))
        return said.replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


@breaks("RSP-023")
class LeavesTheClosingBracket(PrintShop):
    """Escapes only what opens something (`&`, `<`) in the messages of errors, so that a `]]>` stands there as it is."""

    def message(self, call: Call, failure: Failure) -> str:
        return self.legal(failure.message).replace("&", "&amp;").replace("<", "&lt;").replace("\r", "&#13;")


@breaks("RSP-024", "RSP-020")
class BreaksLongLinesRaw(PrintShop):
    """Has a fast path for texts of more than 300 characters, which forgets the carriage returns."""

    def output_data(self, call: Call, answer: Answer) -> str:
        said = self.legal(answer.text)
        if len(said) <= 300:
            return self.data(said)
        return said.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@breaks("RSP-025", "RSP-001")
class ReferencesEscapes(PrintShop):
    """Writes a control character in the text for the model as a reference, such as `&#27;`, and thinks that it is
    safe so.
    """

    def output_says(self, call: Call, answer: Answer) -> dict[str, str]:
        said = super().output_says(call, answer)
        said.pop("lossy", None)
        return said

    def output_data(self, call: Call, answer: Answer) -> str:
        said = self.data(LONE.sub("\ufffd", answer.text))
        return ILLEGAL.sub(lambda found: f"&#{ord(found[0])};", said)


@breaks("RSP-026", "RSP-020")
class AsksInstead(PrintShop):
    """Puts a question mark in the place of what XML does not have, as `replace` does, and marks the element."""

    def output_data(self, call: Call, answer: Answer) -> str:
        return self.data(ILLEGAL.sub("?", answer.text))


@breaks("RSP-027")
class QuotesCapitalTags(PrintShop):
    """Writes a line with much markup as CDATA, unless it has a tag of a document, of which it knows the lower case
    alone.
    """

    def output_data(self, call: Call, answer: Answer) -> str:
        return "\n".join(self.line(one) for one in self.legal(answer.text).split("\n"))

    def line(self, said: str) -> str:
        """Return a line of a text."""
        tagged = any(f"<{name}" in said or f"</{name}" in said for name in RESERVED)
        if said.count("<") + said.count("&") < 2 or "\r" in said or tagged:
            return self.data(said)
        return "<![CDATA[" + said.replace("]]>", "]]]]><![CDATA[>") + "]]>"


@breaks("RSP-028")
class WritesDownTheRequest(PrintShop):
    """Notes the arguments in an attribute of its own namespace, as indented JSON whose line feeds stand there raw."""

    def document(self, call: Call, outcome: Answer | Failure) -> str:
        asked = json.dumps(call.args, indent=1)[:300].translate(str.maketrans({**DATA, '"': "&quot;"}))
        said = "".join(f' {key}="{self.value(one)}"' for key, one in self.root_says(call, outcome).items())
        inside = "".join(self.children(call, outcome))
        return f'<tool_response{said} xmlns:ps="{SPACE}" ps:asked="{asked}">{inside}</tool_response>'


@breaks("RSP-010")
class SaysNone(PrintShop):
    """Puts its documents together with a template; a failure without the display that was asked for says `None`
    there.
    """

    def children(self, call: Call, outcome: Answer | Failure) -> list[str]:
        elements = super().children(call, outcome)
        missing = call.wanted and outcome.display is None
        return [elements[0], f"{outcome.display}", *elements[1:]] if missing else elements


@breaks("RSP-007")
class NamesTheFunction(PrintShop):
    """Where arguments are refused, `tool_name` is the name of the Python function, with underscores for hyphens."""

    def root_says(self, call: Call, outcome: Answer | Failure) -> dict[str, str]:
        said = super().root_says(call, outcome)
        if isinstance(outcome, Failure) and outcome.code == "VALIDATION_FAIL":
            said["tool_name"] = said["tool_name"].replace("-", "_")
        return said


@breaks("RSP-082", "RSP-020", "MCP-020")
class SavesTokens(NegotiatedPrintShop):
    """Cuts a text of more than 1,000 characters in documents, ends it with an ellipsis, and marks nothing."""

    def output_data(self, call: Call, answer: Answer) -> str:
        said = self.legal(answer.text)
        return self.data(said if len(said) <= 1000 else said[:999] + "…")


@breaks("RSP-081")
class ListsEveryLine(PrintShop):
    """Adds an element of its own namespace for each line of a text, which are more than 256 for a long log."""

    def children(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        elements = super().children(call, outcome)
        if isinstance(outcome, Failure) or call.tool != "press_log":
            return elements
        lines = "".join(f'<ps:line n="{one}"/>' for one in range(outcome.text.count("\n") + 1))
        return [*elements, f'<ps:lines xmlns:ps="{SPACE}">{lines}</ps:lines>']
