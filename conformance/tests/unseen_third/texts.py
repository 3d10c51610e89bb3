"""Servers that are wrong in how they write a document: chapter 2."""

from __future__ import annotations

import difflib
import re

from unseen_third.common import Answer, Call, Fault, Node, legal
from unseen_third.registry import breaks
from unseen_third.yard import LoudYard, Yard


@breaks("RSP-002")
class EntitiesForHtml(LoudYard):
    """Notices in HTML use `&nbsp;`, so that the template for their documents begins with a declaration of it."""

    def document(self, call: Call, answer: Answer) -> str:
        document = super().document(call, answer)
        html = isinstance(answer.display, dict) and answer.display["type"] == "html"
        return f'<!DOCTYPE tool_response [<!ENTITY nbsp "&#160;">]>\n{document}' if html else document


@breaks("RSP-006")
class CharsetInTheMediaType(Yard):
    """The media type of a text is written as in an HTTP header, with its charset."""

    def text_node(self, call: Call, answer: Answer) -> Node:
        node = super().text_node(call, answer)
        if "format" in node.attrs:
            node.attrs["format"] += "; charset=utf-8"
        return node


@breaks("RSP-007")
class AnswersUnderTheSuggestion(LoudYard):
    """For a tool that does not exist the closest name is suggested, and the variable with the name is used for it."""

    def nearest(self, name: str) -> str:
        """Return the name of a tool that is most like another."""
        return difflib.get_close_matches(name, self.tools(), n=1, cutoff=0)[0]

    def unknown(self, call: Call) -> Fault:
        return Fault("UNKNOWN_TOOL", f"There is no such tool. Did you mean {self.nearest(call.tool)}?")

    def tree(self, call: Call, answer: Answer) -> Node:
        root = super().tree(call, answer)
        if answer.fault is not None and answer.fault.code == "UNKNOWN_TOOL":
            root.attrs["tool_name"] = self.nearest(call.tool)
        return root


@breaks("RSP-009")
class OverridesApart(Yard):
    """What the caller tried to set was added later, and is written as a second `server_populated` after the first."""

    def tree(self, call: Call, answer: Answer) -> Node:
        root = super().tree(call, answer)
        if answer.filled is not None and "overridden" in answer.filled:
            kept = {name: item for name, item in answer.filled.items() if name != "overridden"}
            root.inside[-1] = self.json_node("server_populated", kept)
            root.inside.append(self.json_node("server_populated", {"overridden": answer.filled["overridden"]}))
        return root


@breaks("RSP-010")
class IndentedByNoBreakSpaces(LoudYard):
    """Documents with a display are laid out for the log, with an indent that was copied from a web page."""

    def children(self, call: Call, node: Node) -> str:
        if node.name != "tool_response" or len(node.inside) < 2:
            return super().children(call, node)
        return "".join(f"\n\u00a0\u00a0{self.written(call, one)}" for one in node.inside) + "\n"


@breaks("RSP-011")
class StatusOfTheServiceBehind(Yard):
    """An error that came from another service has its HTTP status in an attribute, besides the one in `meta`."""

    def error_node(self, call: Call, fault: Fault) -> Node:
        node = super().error_node(call, fault)
        if fault.meta and "upstream_status" in fault.meta:
            node.attrs["http_status"] = str(fault.meta["upstream_status"])
        return node


@breaks("RSP-020", "MCP-020")
class LinesOfTheirOwn(Yard):
    """In a document a text of several lines stands between line feeds, because it reads better in the log."""

    def characters(self, call: Call, node: Node, text: str) -> str:
        written = super().characters(call, node, text)
        return f"\n{written}\n" if node.name == "llm_output" and "\n" in text else written


@breaks("RSP-021", "RSP-020")
class LinksAreLinks(LoudYard):
    """An address in a text becomes a link, by the filter that the web pages of the yard use."""

    def characters(self, call: Call, node: Node, text: str) -> str:
        written = super().characters(call, node, text)
        if node.name != "llm_output":
            return written
        return re.sub(r"(https://[\w./-]*\w)", r'<a href="\1">\1</a>', written)


@breaks("RSP-022")
class OwnMessagesAreTrusted(LoudYard):
    """Messages of errors are the yard's own words and are not escaped; one of them quotes the caller."""

    def characters(self, call: Call, node: Node, text: str) -> str:
        if node.name != "error":
            return super().characters(call, node, text)
        return text.replace("]]>", "]]&gt;").replace("\r", "&#13;")


@breaks("RSP-024", "RSP-020")
class PageTemplate(Yard):
    """The text beside a display is written by the template engine, whose filter escapes markup and nothing else."""

    def characters(self, call: Call, node: Node, text: str) -> str:
        written = super().characters(call, node, text)
        return written.replace("&#13;", "\r") if node.name == "llm_output" and call.shown else written


@breaks("RSP-025")
class ReferencesForEverything(Yard):
    """Control characters in labels are written as references, as XML 1.1 allows it."""

    def text_node(self, call: Call, answer: Answer) -> Node:
        node = super().text_node(call, answer)
        if call.tool == "label_text" and re.search("[\x01-\x08\x0b\x0c\x0e-\x1f]", answer.text):
            node.text = re.sub("[^\x01-\x1f]", lambda found: legal(found[0]), answer.text)
            if "\ufffd" not in node.text:
                node.attrs.pop("lossy", None)
        return node

    def characters(self, call: Call, node: Node, text: str) -> str:
        written = super().characters(call, node, text)
        return re.sub("[\x01-\x08\x0b\x0c\x0e-\x1f]", lambda found: f"&#{ord(found[0])};", written)


@breaks("RSP-026")
class MarksTheDocument(LoudYard):
    """That characters of a text were replaced is known only when the document is complete, and marked on its root."""

    def tree(self, call: Call, answer: Answer) -> Node:
        root = super().tree(call, answer)
        if root.inside[0].attrs.pop("lossy", None):
            root.attrs["lossy"] = "true"
        return root


@breaks("RSP-027")
class GuardLooksForEndTags(Yard):
    """Text with a `<` is CDATA unless an end tag in it could be taken for one of the document; start tags were thought
    to be harmless."""

    def characters(self, call: Call, node: Node, text: str) -> str:
        risky = re.search(r"</\s*(tool_response|llm_output|display|error|meta|server_populated)|\r|]]>", text, re.I)
        if node.name != "llm_output" or "<" not in text or risky:
            return super().characters(call, node, text)
        return f"<![CDATA[{text}]]>"


@breaks("RSP-082")
class CutInTheTool(Yard):
    """The cut of long labels moved into the tool, where nobody told the writer of documents."""

    def text_node(self, call: Call, answer: Answer) -> Node:
        node = super().text_node(call, answer)
        node.attrs.pop("truncated", None)
        return node
