"""Servers whose documents go wrong: the markup around the parts, and the text in them (sections 2.1 to 2.3, 2.6)."""

from __future__ import annotations

import re
from typing import Any

from unseen.desk import Call, Desk, Failure
from unseen.registry import breaks


@breaks("RSP-001")
class QuotedNames(Desk):
    """A template puts the name of an unknown tool between quotes as it came: one with a quotation mark, `&` or `<`
    ends the attribute."""

    def failed_document(self, call: Call, failure: Failure) -> str:
        written = super().failed_document(call, failure)
        if failure.code != "UNKNOWN_TOOL":
            return written
        return re.sub(
            r"tool_name=(\"[^\"]*\"|'[^']*')", lambda _: f'tool_name="{self.spaced(call.name)}"', written, count=1
        )

    def spaced(self, name: str) -> str:
        # Raw white space in an attribute would be a fault of its own.
        return self.legal(name).replace("\t", "&#9;").replace("\n", "&#10;").replace("\r", "&#13;")


@breaks("RSP-001", "RSP-006")
class WriteBuffer(Desk):
    """The document goes through a buffer of 16 KiB of which only the first filling is sent: the end of a longer one
    is missing."""

    def document(self, call: Call, body: str) -> str:
        return super().document(call, body).encode()[:16384].decode(errors="ignore")


@breaks("RSP-002")
class EntityTable(Desk):
    """A template engine declares the entities of HTML as soon as a text seems to use one, such as `&nbsp;`."""

    def document(self, call: Call, body: str) -> str:
        written = super().document(call, body)
        used = re.search(r"&amp;[A-Za-z]+;", body)
        return f'<!DOCTYPE tool_response [<!ENTITY nbsp "&#160;">]>{written}' if used else written


@breaks("RSP-003")
class CacheComment(Desk):
    """A cache says in a comment that a document came from it: the second time that the same call is made."""

    def document(self, call: Call, body: str) -> str:
        written = super().document(call, body)
        return f"{written}<!-- from cache -->" if call.again > 1 else written


@breaks("RSP-005", "RSP-006")
class DisplayNamespace(Desk):
    """The class for responses with a display has the schema's file name as its default namespace."""

    def rooted(self, call: Call) -> str:
        return ' xmlns="urn:xmcp:tool_response"' if call.shows else ""


@breaks("RSP-009")
class ElementForEach(Desk):
    """What was overridden goes into a second `server_populated`: only where the caller sends such a parameter."""

    def told(self, call: Call, populated: dict[str, Any]) -> str:
        overridden = populated.pop("overridden", None)
        first = super().told(call, populated)
        return first if overridden is None else first + super().told(call, {"overridden": overridden})


@breaks("RSP-011", "RSP-006")
class CountedText(Desk):
    """A text of more than 4,096 characters gets an attribute `length` of the author's own."""

    def llm_output(self, call: Call, text: str) -> str:
        written = super().llm_output(call, text)
        return written.replace("<llm_output", f'<llm_output length="{len(text)}"', 1) if len(text) > 4096 else written


@breaks("RSP-023", "RSP-001")
class OpenMessages(Desk):
    """The messages of errors are escaped by a function of their own that knows `&` and `<`: a key with `]]>` that is
    not found is quoted as it is."""

    def message(self, call: Call, text: str) -> str:
        return text.replace("&", "&amp;").replace("<", "&lt;").replace("\r", "&#13;")


@breaks("RSP-026")
class MarkedByTitle(Desk):
    """Whether a note is lossy is asked of its title only, although its body loses characters too."""

    def llm_output(self, call: Call, text: str) -> str:
        written = super().llm_output(call, text)
        title = call.arguments.get("title", "") if call.name == "note" else text
        return written.replace(' lossy="true"', "", 1) if self.legal(title) == title else written


@breaks("RSP-027")
class ForgottenTags(Desk):
    """A text with a tag is written as CDATA unless it has a tag of the document: the test forgets `meta` and
    `server_populated`, and capital letters."""

    def character_data(self, call: Call, text: str) -> str:
        guarded = re.search(r"\r|\]\]>|</?(?:tool_response|llm_output|display|error)\b", text)
        return f"<![CDATA[{text}]]>" if "<" in text and not guarded else super().character_data(call, text)
