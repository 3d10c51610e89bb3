"""Servers that are wrong in how they write the text of a document: chapter 2."""

from __future__ import annotations

import re
from typing import Any

import mcp_types

from unseen_second.clinic import NO_XML, Clinic, Good, NegotiatedClinic, Outcome, Visit
from unseen_second.registry import breaks


@breaks("RSP-001")
class UndeclaredTracePrefix(Clinic):
    """Every fourth call of a tool is sampled for a trace, whose id goes into an attribute with a prefix that nobody
    bound."""

    def document(self, visit: Visit, outcome: Outcome) -> str:
        document = super().document(visit, outcome)
        if visit.nth % 4:
            return document
        return document.replace("<tool_response ", '<tool_response otel:trace="4bf92f35" ', 1)


@breaks("RSP-004")
class DeclarationBeforeNonAscii(Clinic):
    """The serializer adds an XML declaration as soon as the document is not plain ASCII, as ElementTree does."""

    def document(self, visit: Visit, outcome: Outcome) -> str:
        document = super().document(visit, outcome)
        return document if document.isascii() else f"<?xml version='1.0' encoding='utf-8'?>\n{document}"


@breaks("RSP-006")
class EmptyCallIdInTheHandshake(Clinic):
    """`call_id` comes from the metadata of the request, which the handshake era does not have, and is empty then."""

    def root(self, visit: Visit, outcome: Outcome) -> dict[str, str]:
        root = super().root(visit, outcome)
        return {**root, "call_id": "" if visit.handshake else f"c-{visit.nth}"}


@breaks("RSP-007")
class NameOfTheLastRequest(Clinic):
    """The name of the tool is kept on the server while a call runs, so that a call during a slow one renames it."""

    name = ""

    async def handle(self, visit: Visit) -> mcp_types.CallToolResult:
        self.name = visit.tool
        return await super().handle(visit)

    def root(self, visit: Visit, outcome: Outcome) -> dict[str, str]:
        return {**super().root(visit, outcome), "tool_name": self.legal(self.name)}


@breaks("RSP-011")
class CacheHitAttribute(Clinic):
    """A hit of the cache is marked on the root element, with an attribute that the specification does not have."""

    def root(self, visit: Visit, outcome: Outcome) -> dict[str, str]:
        root = super().root(visit, outcome)
        hit = visit.tool in {"find_patients", "lab_queue"} and visit.again > 1
        return {**root, "cached": "true"} if hit else root


@breaks("RSP-020", "RSP-026")
class TerminalFilterEatsControls(Clinic):
    """Notes pass a filter for terminal codes, which drops each control character and says nothing of it."""

    def work_visit_note(self, visit: Visit) -> Good:
        good = super().work_visit_note(visit)
        return Good(re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f]", "", good.text), aside=good.aside)


@breaks("RSP-021", "RSP-020")
class LineBreaksAsElements(Clinic):
    """French notes pass the filter `linebreaksbr` of a template engine, which turns line feeds into elements."""

    def characters(self, visit: Visit, text: str) -> str:
        written = super().characters(visit, text)
        french = visit.tool == "visit_note" and visit.args.get("language") == "fr"
        return written.replace("\n", "<br/>") if french else written


@breaks("RSP-022", "RSP-020")
class KeepsWhatLooksEscaped(Clinic):
    """The escaper of handouts leaves alone what already looks like a reference, in order not to escape it twice."""

    def characters(self, visit: Visit, text: str) -> str:
        if visit.tool != "handout":
            return super().characters(visit, text)
        text = re.sub("&(?!(?:amp|lt|gt|quot|apos);)", "&amp;", text)
        return text.replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


@breaks("RSP-023", "RSP-001")
class BracketsInMessages(Clinic):
    """The messages of errors are escaped by a shorter function, which thinks that only `&` and `<` matter."""

    def message(self, visit: Visit, text: str) -> str:
        return text.replace("&", "&amp;").replace("<", "&lt;").replace("\r", "&#13;")


@breaks("RSP-024", "RSP-020")
class OnlyWindowsLineEnds(Clinic):
    """Carriage returns are written as references where a line feed follows; a lone one is forgotten."""

    def escaped(self, text: str) -> str:
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return text.replace("\r\n", "&#13;\n")


@breaks("RSP-026")
class QuestionMarksForControls(Clinic):
    """A handout in code has a question mark for what XML cannot hold, as an encoder with `errors="replace"` writes."""

    def model_text(self, visit: Visit, good: Good) -> str:
        if visit.tool != "handout" or visit.args.get("kind") != "code":
            return super().model_text(visit, good)
        return f"<llm_output>{self.characters(visit, NO_XML.sub('?', good.text))}</llm_output>"


@breaks("RSP-027")
class CdataGuardKnowsLowerCase(Clinic):
    """Text with several angle brackets goes into CDATA unless it has a tag of the document, in lower case."""

    def characters(self, visit: Visit, text: str) -> str:
        guarded = re.search("</?(tool_response|llm_output|display|error|meta|server_populated)[ />]|\r|]]>", text)
        if text.count("<") < 1 or guarded:
            return super().characters(visit, text)
        return f"<![CDATA[{text}]]>"


@breaks("RSP-028", "RSP-007")
class NameWithRawWhiteSpace(NegotiatedClinic):
    """The attributes are written by `html.escape`, which knows nothing of line feeds; only the name of a tool that does
    not exist can have one."""

    def quoted(self, value: str) -> str:
        for raw, reference in (("&", "amp"), ("<", "lt"), (">", "gt"), ('"', "quot")):
            value = value.replace(raw, f"&{reference};")
        return f'"{value}"'


@breaks("RSP-081")
class WholeRecordsOnTheLastPage(Clinic):
    """The largest page of patients loads each with the whole record, which nobody noticed with pages of ten."""

    def work_find_patients(self, visit: Visit) -> Good:
        good = super().work_find_patients(visit)
        if visit.args.get("limit") != 100:
            return good
        record = "2025-11-03 seen, well. " * 5000
        return Good("\n".join(f"{good.text}\n{record}" for _ in range(80)), data=good.data)

    def exceeds(self, visit: Visit, document: str) -> bool:
        most: Any = visit.declaration.get("maxBytes")
        return most is not None and super().exceeds(visit, document)
