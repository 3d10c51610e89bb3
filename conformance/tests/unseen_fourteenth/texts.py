"""Harbour offices that get the text of a document wrong, or what is around it."""

from __future__ import annotations

import re

from unseen_eighth.kit import ILLEGAL, Answer, Call, Failure, Tool

from unseen_fourteenth.harbour import Harbour, NegotiatedHarbour
from unseen_fourteenth.registry import breaks
from unseen_fourteenth.tools import TagFormatter, cargo_manifest


@breaks("RSP-022", "RSP-020")
class KeepsEntities(NegotiatedHarbour):
    """Leaves an `&` alone where it already looks like the beginning of a reference, so as not to escape twice."""

    def characters(self, text: str) -> str:
        text = ILLEGAL.sub("\ufffd", text)
        text = re.sub(r"&(?!(?:amp|lt|gt|quot|apos);)", "&amp;", text)
        return text.replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


@breaks("RSP-024", "RSP-020")
class KeepsLinesOfWindows(Harbour):
    """Writes a carriage return as a reference only where it stands alone, and raw before a line feed."""

    def characters(self, text: str) -> str:
        return super().characters(text).replace("&#13;\n", "\r\n")


@breaks("RSP-026")
class RepairsMessagesSilently(NegotiatedHarbour):
    """Replaces the characters that XML does not have in the message of an error, without marking the element."""

    def error_element(self, call: Call, failure: Failure) -> str:
        failure.message = ILLEGAL.sub("\ufffd", failure.message)
        return super().error_element(call, failure)


@breaks("RSP-027")
class SectionsWithTags(Harbour):
    """Writes a text with `<` as CDATA, and looks for the tags of documents in lower case only."""

    def text_element(self, call: Call, answer: Answer) -> str:
        text = answer.text
        tag = re.search(r"</?(?:tool_response|llm_output|display|error|meta|server_populated)\b", text)
        if text.count("<") < 1 or tag or "\r" in text or "]]>" in text or ILLEGAL.search(text):
            return super().text_element(call, answer)
        attributes = (self.attribute("format", answer.media) if answer.media else "") + (
            ' truncated="true"' if answer.cut else ""
        )
        return f"<llm_output{attributes}><![CDATA[{text}]]></llm_output>"


@breaks("RSP-082")
class MarksBigCutsOnly(NegotiatedHarbour):
    """Marks a text as cut only where more than one line of it is left."""

    def marks_cut(self, answer: Answer) -> bool:
        return answer.cut and "\n" in answer.text


@breaks("RSP-007")
class CallsToolsByTitle(Harbour):
    """Writes the title of the tool into `tool_name` of the documents with refused arguments."""

    def tool_name(self, call: Call, failure: Failure | None) -> str:
        if failure is not None and failure.code == "VALIDATION_FAIL":
            return self.tools()[call.tool].title
        return super().tool_name(call, failure)


@breaks("RSP-092", "MCP-020")
class SaysInf(NegotiatedHarbour):
    """Writes an infinity as Python does, `inf`."""

    def work(self, call: Call, tool: Tool) -> Answer:
        answer = super().work(call, tool)
        if answer.text == "Infinity":
            answer.text = "inf"
        return answer


class _Slugs(TagFormatter):
    def name(self, key: str) -> tuple[str, str]:
        slug = re.sub(r"[^A-Za-z0-9_.-]", "_", key)
        return super().name(slug)


@breaks("RSP-090")
class SlugsForTags(NegotiatedHarbour):
    """Its formatter turns each character of a member's name that no tag can have into `_`."""

    def work(self, call: Call, tool: Tool) -> Answer:
        if call.tool == "cargo_manifest":
            return cargo_manifest(call, _Slugs())
        return super().work(call, tool)


@breaks("RSP-011", "RSP-006")
class TimesItsFailures(Harbour):
    """Writes on the root of a document with a retryable error how long the call took, in an attribute of its own."""

    def root(self, call: Call, children: list[str], failure: Failure | None) -> str:
        text = super().root(call, children, failure)
        if failure is not None and failure.retryable:
            return text.replace("<tool_response ", '<tool_response took_ms="3" ', 1)
        return text
