"""Wrong in how a text, an element or an attribute is written."""

from __future__ import annotations

import json
import re
import unicodedata
from urllib.parse import quote

from unseen_eighth.kit import Answer, Call, Failure, whole

from unseen_ninth.registry import breaks
from unseen_ninth.workshop import NegotiatedWorkshop, Workshop

OURS = "urn:workshop.example:notes"


class Noting(NegotiatedWorkshop):
    """Notes an argument of a tool in an attribute of its own on the root."""

    noted = ("", "")

    def root_says(self, call: Call, outcome: Answer | Failure) -> dict[str, str]:
        said = super().root_says(call, outcome)
        tool, name = self.noted
        if call.tool != tool or isinstance(outcome, Failure):
            return said
        note = call.args[name]
        said |= {"xmlns:w": OURS, f"w:{name}": self.legal(note)}
        return said if self.legal(note) == note else {**said, "lossy": "true"}


@breaks("RSP-001")
class QuotesInQuotes(Noting):
    """Notes what was searched for in an attribute of its own, with an escape for texts that leaves quotes alone."""

    noted = ("search_parts", "query")

    def value(self, said: str) -> str:
        return super().value(said).replace("&quot;", '"')


@breaks("RSP-003")
class SaysThatItIsEmpty(Workshop):
    """Writes a comment into the element of an empty text, so that nobody takes it for a fault of the writer."""

    def output_data(self, call: Call, answer: Answer) -> str:
        return super().output_data(call, answer) or "<!-- no text -->"


@breaks("RSP-006")
class ArgumentsAsId(NegotiatedWorkshop):
    """Makes the id of a call from the name of the tool and its arguments, without a look at how long it can be."""

    def root_says(self, call: Call, outcome: Answer | Failure) -> dict[str, str]:
        said = super().root_says(call, outcome)
        if isinstance(outcome, Failure):
            return said
        asked = quote(json.dumps(whole(call.args), ensure_ascii=False))
        return {**said, "call_id": f"{call.tool}?{asked}"[:2000]}


@breaks("RSP-007")
class NameOfTheFunction(Workshop):
    """Writes the name of the function behind the tool, in which a hyphen is an underscore, into its failures."""

    def root_says(self, call: Call, outcome: Answer | Failure) -> dict[str, str]:
        said = super().root_says(call, outcome)
        if isinstance(outcome, Failure) and call.tool in self.tools():
            said["tool_name"] = call.tool.replace("-", "_")
        return said


@breaks("RSP-008", "RSP-006")
class VersionOfThePackage(NegotiatedWorkshop):
    """Writes the failures that nobody foresaw with a small writer of its own, which has `1.0.0` as the version."""

    def root_says(self, call: Call, outcome: Answer | Failure) -> dict[str, str]:
        said = super().root_says(call, outcome)
        unforeseen = isinstance(outcome, Failure) and outcome.code == "INTERNAL"
        return {**said, "version": "1.0.0"} if unforeseen else said


@breaks("RSP-020", "MCP-020")
class Composed(NegotiatedWorkshop):
    """Composes letters and their accents in the texts of documents (NFC), and nowhere else."""

    def output_data(self, call: Call, answer: Answer) -> str:
        return self.data(unicodedata.normalize("NFC", self.legal(answer.text)))


@breaks("RSP-020", "MCP-020")
class EscapedForTheStore(NegotiatedWorkshop):
    """Takes texts of more than 4,096 characters from a store of files, in which they are already escaped."""

    def output_data(self, call: Call, answer: Answer) -> str:
        said = super().output_data(call, answer)
        return self.data(said) if len(answer.text) > 4096 else said


@breaks("RSP-022", "RSP-001")
class LooseAngles(Workshop):
    """Escapes a `<` only before what could be the name of a tag, as HTML has it: `a < b` has it raw."""

    def output_data(self, call: Call, answer: Answer) -> str:
        return re.sub("&lt;(?![A-Za-z/!?])", "<", super().output_data(call, answer))


@breaks("RSP-023", "RSP-001")
class NothingToEscape(NegotiatedWorkshop):
    """Writes a text without `&` and `<` as it is, for speed, also where `]]>` is in it."""

    def output_data(self, call: Call, answer: Answer) -> str:
        said = self.legal(answer.text)
        if "&" in said or "<" in said:
            return super().output_data(call, answer)
        return said.replace("\r", "&#13;")


@breaks("RSP-024", "RSP-020")
class PairsAsTheyCome(Workshop):
    """Leaves a carriage return before a line feed raw, as it is only the end of a line; a lone one is a reference."""

    def data(self, said: str) -> str:
        return super().data(said).replace("&#13;\n", "\r\n")


@breaks("RSP-025", "RSP-001")
class LastOfThePlane(Workshop):
    """Replaces control characters and halves of pairs; nobody told it that U+FFFE and U+FFFF are not in XML either."""

    def legal(self, said: str) -> str:
        return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]", "\ufffd", said)


@breaks("RSP-026")
class UnmarkedMessages(NegotiatedWorkshop):
    """Replaces what XML does not have in the messages of failures, and marks only texts as lossy."""

    def failure_says(self, call: Call, failure: Failure) -> dict[str, str]:
        said = super().failure_says(call, failure)
        said.pop("lossy", None)
        return said


@breaks("RSP-027")
class LowerCaseTags(Workshop):
    """Writes a note with a `<` in it as CDATA, unless it has tags of a document in lower case."""

    def output_data(self, call: Call, answer: Answer) -> str:
        said = self.legal(answer.text)
        tags = re.search("</?(?:tool_response|llm_output|display|error|meta|server_populated)", said)
        if call.tool != "proof_note" or "<" not in said or tags:
            return super().output_data(call, answer)
        sections = said.replace("]]>", "]]]]><![CDATA[>").split("\r")
        return "&#13;".join(f"<![CDATA[{one}]]>" for one in sections)


@breaks("RSP-028")
class SubjectOnTwoLines(Noting):
    """Notes the subject of a note in an attribute of its own, with its line feeds and tabs as they are."""

    noted = ("proof_note", "subject")

    def value(self, said: str) -> str:
        return super().value(said).replace("&#10;", "\n").replace("&#9;", "\t")


@breaks("RSP-081")
class ArgumentsOnTheRoot(Workshop):
    """Notes all arguments as JSON in an attribute of its own on the root, beyond the 4,096 bytes of a value."""

    def root_says(self, call: Call, outcome: Answer | Failure) -> dict[str, str]:
        said = super().root_says(call, outcome)
        if isinstance(outcome, Failure):
            return said
        return {**said, "xmlns:w": OURS, "w:arguments": json.dumps(whole(call.args))}


@breaks("RSP-082")
class ShownInFull(NegotiatedWorkshop):
    """Marks a text that was cut only where no display is sent, since the person sees that it was cut."""

    def output_says(self, call: Call, answer: Answer) -> dict[str, str]:
        said = super().output_says(call, answer)
        if answer.display is not None:
            said.pop("truncated", None)
        return said
