"""Wrong in how a text, an element or an attribute is written."""

from __future__ import annotations

import re
from dataclasses import replace

import anyio
import mcp_types

from unseen_eighth.kit import ILLEGAL, Answer, Call, Failure
from unseen_eighth.observatory import NegotiatedObservatory, Observatory
from unseen_eighth.registry import breaks

OURS = "urn:observatory.example:night"


@breaks("RSP-001")
class NamespaceOfAnswers(NegotiatedObservatory):
    """Notes its mast in a namespace of its own on each root, and declares that namespace in successful ones alone."""

    def root_says(self, call: Call, outcome: Answer | Failure) -> dict[str, str]:
        said = {**super().root_says(call, outcome), "o:mast": "north"}
        return {**said, "xmlns:o": OURS} if isinstance(outcome, Answer) else said


@breaks("RSP-003")
class NoteOfTheQueue(Observatory):
    """Notes in a comment before the document that the call came while another one ran, to find slow nights."""

    def __init__(self) -> None:
        super().__init__()
        self.running = 0
        self.queued = False

    async def answer(self, call: Call) -> mcp_types.CallToolResult:
        queued, self.running = self.running > 0, self.running + 1
        try:
            await anyio.sleep(0.03)
            self.queued = queued
            return await super().answer(call)
        finally:
            self.running -= 1

    def document(self, call: Call, outcome: Answer | Failure) -> str:
        return ("<!-- queued -->" if self.queued else "") + super().document(call, outcome)


@breaks("RSP-004")
class SpooledWithAMark(NegotiatedObservatory):
    """Spools documents of more than three thousand bytes to a file as `utf-8-sig`, and sends its byte order mark."""

    def document(self, call: Call, outcome: Answer | Failure) -> str:
        written = super().document(call, outcome)
        return "\ufeff" + written if self.size(written) > 3000 else written


@breaks("RSP-005")
class NamespaceOfOldReaders(Observatory):
    """Puts the root into a default namespace after a handshake, since an earlier reader had asked for one."""

    def root_says(self, call: Call, outcome: Answer | Failure) -> dict[str, str]:
        said = super().root_says(call, outcome)
        return {"xmlns": "urn:xmcp:tool-response", **said} if call.handshake else said


@breaks("RSP-006")
class ShortMediaType(NegotiatedObservatory):
    """Writes `json` as the format of a text that is JSON, as the option of its formatter is called."""

    def output_says(self, call: Call, answer: Answer) -> dict[str, str]:
        said = super().output_says(call, answer)
        return {**said, "format": said["format"].rpartition("/")[2]} if "format" in said else said


@breaks("RSP-007")
class OneNameForAll(Observatory):
    """Keeps the name of the tool in the server while it waits for a dome: calls at the same time share the last one."""

    def __init__(self) -> None:
        super().__init__()
        self.current = ""

    async def answer(self, call: Call) -> mcp_types.CallToolResult:
        self.current = self.legal(call.tool[:128])
        await anyio.sleep(0.03)
        return await super().answer(call)

    def root_says(self, call: Call, outcome: Answer | Failure) -> dict[str, str]:
        return {**super().root_says(call, outcome), "tool_name": self.current}


@breaks("RSP-010")
class NoneIsWritten(NegotiatedObservatory):
    """Joins the parts of a document with `str`, so that `None` stands where a display tool sends no display."""

    def children(self, call: Call, outcome: Answer | Failure) -> list[str]:
        [first, *rest] = super().children(call, outcome)
        tool = self.tools().get(call.tool)
        shows = tool is not None and tool.meta.get("display") is True
        return [first, "None", *rest] if shows and outcome.display is None else [first, *rest]


@breaks("RSP-011")
class WarmFromTheSecond(Observatory):
    """Says with an attribute `warm` of no namespace on the root that a tool had been called before, for its board."""

    def root_says(self, call: Call, outcome: Answer | Failure) -> dict[str, str]:
        said = super().root_says(call, outcome)
        return {**said, "warm": "true"} if call.times > 1 else said


@breaks("RSP-020", "MCP-020")
class TidyTexts(NegotiatedObservatory):
    """Takes the white space at the ends of a text away when it writes a document; plain results have all of it."""

    def output_data(self, call: Call, answer: Answer) -> str:
        return self.data(self.legal(answer.text.strip()))


@breaks("RSP-022", "RSP-020", "RSP-001")
class NeverTwice(NegotiatedObservatory):
    """Leaves an ampersand that begins something like a reference as it is, so that nothing is escaped twice."""

    def output_data(self, call: Call, answer: Answer) -> str:
        return re.sub(r"&amp;(?=#?[A-Za-z0-9]+;)", "&", super().output_data(call, answer))


@breaks("RSP-023", "RSP-001")
class AngleToTheRight(Observatory):
    """Escapes `<` and `&` in the messages of failures and no `>`: a name with `]]>` that was not found has it raw."""

    def message(self, call: Call, failure: Failure) -> str:
        return super().message(call, failure).replace("&gt;", ">")


@breaks("RSP-024", "RSP-020")
class ReturnsInNames(Observatory):
    """Writes the text of one tool, that which spells, with an older helper, which leaves carriage returns raw."""

    def output_data(self, call: Call, answer: Answer) -> str:
        said = super().output_data(call, answer)
        return said.replace("&#13;", "\r") if call.tool == "spell" else said


@breaks("RSP-026", "RSP-020")
class QuestionMarks(NegotiatedObservatory):
    """Writes a question mark for what XML does not have in texts, and marks them as lossy, as its database does."""

    def output_data(self, call: Call, answer: Answer) -> str:
        return self.data(ILLEGAL.sub("?", answer.text))


@breaks("RSP-027")
class SourceAsItStands(NegotiatedObservatory):
    """Writes an entry of the log with a `<` in it as CDATA, without a look for tags of a document."""

    def output_data(self, call: Call, answer: Answer) -> str:
        if call.tool != "read_log" or "<" not in answer.text:
            return super().output_data(call, answer)
        parts = self.legal(answer.text).replace("]]>", "]]]]><![CDATA[>").split("\r")
        return "&#13;".join(f"<![CDATA[{part}]]>" for part in parts)


@breaks("RSP-082", "MCP-051")
class CutToFit(NegotiatedObservatory):
    """Makes an answer with half of the text until its document is small enough, and never marks it as truncated."""

    def fitting(self, call: Call, outcome: Answer | Failure) -> tuple[str, Answer | Failure]:
        if isinstance(outcome, Answer):
            while outcome.text and self.size(self.document(call, outcome)) > self.room(call):
                outcome = replace(outcome, text=outcome.text[: len(outcome.text) // 2], cut=False)
        return super().fitting(call, outcome)
