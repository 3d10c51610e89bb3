"""Mutants of chapter 2: documents that are written wrongly."""

from __future__ import annotations

from typing import Any

from xmcp_conformance.wrong.registry import breaks

from .miniature import Json, Miniature, ToolOutcome


@breaks("XMCP-RSP-001", profile="server")
class MisspellsTheEndTag(Miniature):
    """Ends the document with a tag that nothing began."""

    def document(self, name: str, body: str) -> str:
        return super().document(name, body).replace("</tool_response>", "</tool_respons>")


@breaks("XMCP-RSP-002", profile="server")
class WritesADoctype(Miniature):
    """Begins with a document type declaration."""

    def document(self, name: str, body: str) -> str:
        return "<!DOCTYPE tool_response>" + super().document(name, body)


@breaks("XMCP-RSP-003", profile="server")
class WritesAComment(Miniature):
    """Signs its work in a comment."""

    def document(self, name: str, body: str) -> str:
        return super().document(name, body) + "<!-- made by a mutant -->"


@breaks("XMCP-RSP-004", profile="server")
class WritesAnXmlDeclaration(Miniature):
    """Begins with an XML declaration."""

    def document(self, name: str, body: str) -> str:
        return '<?xml version="1.0" encoding="UTF-8"?>' + super().document(name, body)


@breaks("XMCP-RSP-005", profile="server")
class NamesTheRootDifferently(Miniature):
    """Calls the root element `response`."""

    def document(self, name: str, body: str) -> str:
        return super().document(name, body).replace("tool_response", "response")


@breaks("XMCP-RSP-006", profile="server")
class GivesAFormatThatIsNoMediaType(Miniature):
    """Writes a `format` that the schema does not allow."""

    def llm_output(self, text: str) -> str:
        return super().llm_output(text).replace("<llm_output", '<llm_output format="plain text"')


@breaks("XMCP-RSP-007", profile="server")
class ForgetsWhichToolItWas(Miniature):
    """Writes the same `tool_name` for every tool."""

    def document(self, name: str, body: str) -> str:
        return super().document("tool", body)


@breaks("XMCP-RSP-008", profile="server")
class SpellsTheVersionOut(Miniature):
    """Writes `version="one"`."""

    def document(self, name: str, body: str) -> str:
        return super().document(name, body).replace('version="1.0"', 'version="one"')


@breaks("XMCP-RSP-009", profile="server")
class PutsTheDisplayFirst(Miniature):
    """Writes `display` before `llm_output`."""

    def success(self, text: str, envelope: Any) -> str:
        return (self.display(envelope) if envelope is not None else "") + self.llm_output(text)


@breaks("XMCP-RSP-010", profile="server")
class WritesTextBetweenChildren(Miniature):
    """Leaves a word outside every child element."""

    def document(self, name: str, body: str) -> str:
        return super().document(name, "result: " + body)


@breaks("XMCP-RSP-011", profile="server")
class InventsAnAttribute(Miniature):
    """Adds an attribute of its own without a namespace."""

    def document(self, name: str, body: str) -> str:
        return super().document(name, body).replace(" version=", ' lang="en" version=')


@breaks("XMCP-RSP-021", profile="server")
class WritesParagraphs(Miniature):
    """Puts elements into the text for the model."""

    def character_data(self, text: str) -> str:
        return f"<p>{super().character_data(text)}</p>"


@breaks("XMCP-RSP-020", profile="server")
class KeepsTheEscapedText(Miniature):
    """Keeps what it wrote in a cache, and escapes it again when the same text comes once more."""

    def __init__(self) -> None:
        super().__init__()
        self._written: dict[str, str] = {}

    def escaped(self, text: str) -> str:
        written = super().escaped(self._written.get(text, text))
        return self._written.setdefault(text, written) if text not in self._written else written


@breaks("XMCP-RSP-022", profile="server")
class LeavesAmpersands(Miniature):
    """Does not escape `&`."""

    def escaped(self, text: str) -> str:
        return text.replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


@breaks("XMCP-RSP-023", profile="server")
class LeavesTheEndOfCdata(Miniature):
    """Writes `]]>` as it is."""

    def escaped(self, text: str) -> str:
        return super().escaped(text).replace("]]&gt;", "]]>")


@breaks("XMCP-RSP-024", profile="server")
class LeavesCarriageReturns(Miniature):
    """Writes a carriage return as it is, so that every parser reads a line feed."""

    def escaped(self, text: str) -> str:
        return super().escaped(text).replace("&#13;", "\r")


@breaks("XMCP-RSP-025", profile="server")
class LeavesControlCharacters(Miniature):
    """Writes what XML cannot carry."""

    def legal(self, text: str) -> str:
        return text


@breaks("XMCP-RSP-026", profile="server")
class DoesNotSayThatItReplaced(Miniature):
    """Replaces code points without the mark."""

    def lossy(self, text: str, legal: str) -> str:
        return ""


@breaks("XMCP-RSP-027", profile="server")
class WrapsTagsInCdata(Miniature):
    """Puts text with a tag of ours into CDATA, where the raw text looks like structure."""

    def character_data(self, text: str) -> str:
        forged = "</tool_response>" in text and "]]>" not in text
        return self.cdata(text) if forged else super().character_data(text)


@breaks("XMCP-RSP-028", profile="server")
class LeavesTabsInAttributes(Miniature):
    """Writes a tab in an attribute as it is."""

    def attribute(self, text: str) -> str:
        return super().attribute(text).replace("&#9;", "\t")


@breaks("XMCP-RSP-040", profile="server")
class WritesPythonForJson(Miniature):
    """Writes the repr of a Python object."""

    def json(self, value: Any) -> str:
        return self.inert(repr(self.safe(value)))


@breaks("XMCP-RSP-041", profile="server")
class WritesAMemberTwice(Miniature):
    """Writes `type` twice in one object."""

    def inert(self, text: str) -> str:
        return super().inert(text).replace('{"type":', '{"type": "text", "type":', 1)


@breaks("XMCP-RSP-042", profile="server")
class WritesJsonAsItIs(Miniature):
    """Leaves `<`, `>` and `&` in JSON."""

    def inert(self, text: str) -> str:
        return text


@breaks("XMCP-RSP-043", profile="server")
class WritesIntegersOfAnySize(Miniature):
    """Writes 2^60 as a number."""

    def safe(self, value: Any) -> Any:
        return value


@breaks("XMCP-RSP-044", profile="server")
class WritesHalfACharacter(Miniature):
    """Writes the escape of a lone surrogate."""

    def inert(self, text: str) -> str:
        return super().inert(text).replace('"Mon"', '"Mon\\ud83d"')


@breaks("XMCP-RSP-081", profile="server")
class AddsHundredsOfElements(Miniature):
    """Writes more elements, in a namespace of its own, than every reader takes."""

    def document(self, name: str, body: str) -> str:
        notes = '<n xmlns="a"/>' * 260 if name == "listing" else ""
        return super().document(name, body + notes)


@breaks("XMCP-RSP-082", profile="server")
class CutsWhatItKept(Miniature):
    """Keeps its texts in a column of 4,096 characters, and reads them from there the second time."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: set[str] = set()

    def in_document(self, outcome: ToolOutcome) -> str:
        text = super().in_document(outcome)
        if text in self._kept:
            return text[:4_096]
        self._kept.add(text)
        return text


@breaks("XMCP-RSP-095", profile="server")
class ListsValuesWithoutNames(Miniature):
    """Reports the values that it filled in as a list; the schema has an object."""

    def filled_in(self, name: str, forged: Json) -> Any:
        return (
            {**filled, "values": list(filled["values"].values())}
            if (filled := super().filled_in(name, forged))
            else None
        )


@breaks("XMCP-RSP-096", profile="server")
class TellsWhatItRedacts(Miniature):
    """Lists a parameter as redacted, and reports its value too."""

    def filled_in(self, name: str, forged: Json) -> Any:
        return {**filled, "redacted": ["api_key", "user_id"]} if (filled := super().filled_in(name, forged)) else None
