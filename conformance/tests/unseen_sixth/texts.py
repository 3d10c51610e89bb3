"""Wrong in how a text, an element or an attribute is written."""

from __future__ import annotations

import re

import anyio
import mcp_types

from unseen_sixth.parts import Ask, Reply, Trouble
from unseen_sixth.registry import breaks
from unseen_sixth.theatre import NegotiatedTheatre, Theatre


@breaks("RSP-001")
class HallPrefix(Theatre):
    """Notes the hall in an attribute of the theatre's own namespace, and forgets to declare the prefix."""

    def about_root(self, ask: Ask, end: Reply | Trouble) -> dict[str, str]:
        said = super().about_root(ask, end)
        return {**said, "house:hall": "balcony"} if ask.args.get("hall") == "balcony" else said


@breaks("RSP-002")
class NamedEntities(NegotiatedTheatre):
    """Writes the document type of its old pages before documents whose note was asked for as HTML."""

    def document(self, ask: Ask, end: Reply | Trouble) -> str:
        kind = "<!DOCTYPE tool_response>" if ask.args.get("kind") == "html" else ""
        return kind + super().document(ask, end)


@breaks("RSP-004")
class SignedEncoding(NegotiatedTheatre):
    """Encodes documents with characters beyond ASCII as `utf-8-sig`, for a spreadsheet that could not read them."""

    def document(self, ask: Ask, end: Reply | Trouble) -> str:
        written = super().document(ask, end)
        return written if written.isascii() else "\ufeff" + written


@breaks("RSP-007")
class OneStage(Theatre):
    """Keeps the name of the tool on the server object while the answer waits, so calls at the same time swap names."""

    on_stage = ""

    async def answer(self, ask: Ask) -> mcp_types.CallToolResult:
        self.on_stage = ask.tool
        await anyio.sleep(0.02)
        return await super().answer(ask)

    def about_root(self, ask: Ask, end: Reply | Trouble) -> dict[str, str]:
        said = super().about_root(ask, end)
        return {**said, "tool_name": self.legal(self.on_stage)[:128]}


@breaks("RSP-010")
class NoneBetween(NegotiatedTheatre):
    """Fills a template with three places, and lets Python write the absent display of a list of bookings as `None`."""

    def pieces(self, ask: Ask, end: Reply | Trouble) -> list[str]:
        written = super().pieces(ask, end)
        if isinstance(end, Reply) and end.filled is not None and end.show is None:
            written.insert(1, str(end.show))
        return written


@breaks("RSP-020")
class TidyLines(Theatre):
    """Tidies notes for the model: blanks at the ends of lines go away, as in its editor."""

    def body(self, ask: Ask, said: str) -> str:
        return super().body(ask, re.sub(r"[ \t]+(?=\n|$)", "", said) if ask.tool == "programme_note" else said)


@breaks("RSP-023", "RSP-001")
class BareBrackets(NegotiatedTheatre):
    """Writes `>` as it is in the messages of failures, for there it never looked like a tag."""

    def message(self, ask: Ask, said: str) -> str:
        return super().message(ask, said).replace("&gt;", ">")


@breaks("RSP-024", "RSP-020")
class UnixLines(Theatre):
    """Writes the text of several lines with a splitter that ends every line with a line feed alone."""

    def body(self, ask: Ask, said: str) -> str:
        return super().body(ask, said.replace("\r\n", "\n"))


@breaks("RSP-025", "RSP-001")
class EscapedControls(NegotiatedTheatre):
    """Writes control characters of casts and notes as numeric references, which XML 1.0 does not allow either."""

    def for_model(self, ask: Ask, reply: Reply) -> str:
        if ask.tool not in {"cast", "programme_note"}:
            return super().for_model(ask, reply)
        written = re.sub(r"[\ud800-\udfff\ufffe\uffff]", "\ufffd", self.raw(reply.text))
        written = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", lambda found: f"&#{ord(found[0])};", written)
        return self.tag("llm_output", self.about_text(ask, reply), written)


@breaks("RSP-026")
class UnmarkedMessage(Theatre):
    """Marks a text in which characters were replaced, but not the message of a failure."""

    def about_trouble(self, ask: Ask, trouble: Trouble) -> dict[str, str]:
        said = super().about_trouble(ask, trouble)
        said.pop("lossy", None)
        return said


@breaks("RSP-027")
class SectionWithEnds(Theatre):
    """Writes texts with several `<` as CDATA unless they have an end tag of the text's own, as it is written."""

    def body(self, ask: Ask, said: str) -> str:
        if said.count("<") < 2 or "</llm_output>" in said or "\r" in said:
            return super().body(ask, said)
        return f"<![CDATA[{said.replace(']]>', ']]]]><![CDATA[>')}]]>"


@breaks("RSP-028")
class QuotedNote(Theatre):
    """Keeps the beginning of a text in an attribute of its own namespace, with its tabs and line feeds as they are."""

    def for_model(self, ask: Ask, reply: Reply) -> str:
        written = super().for_model(ask, reply)
        raw = self.raw(self.legal(reply.text[:80])).replace('"', "&quot;")
        return written.replace("<llm_output", f'<llm_output xmlns:t="urn:theatre.example" t:start="{raw}"', 1)


@breaks("RSP-082")
class ShortNotes(NegotiatedTheatre):
    """Cuts a text for the model after 1,500 characters, and forgets to say so in the document."""

    def for_model(self, ask: Ask, reply: Reply) -> str:
        if len(reply.text) <= 1500:
            return super().for_model(ask, reply)
        written = self.legal(reply.text)
        return self.tag("llm_output", self.about_text(ask, reply), self.body(ask, written[:1500] + "…"))
