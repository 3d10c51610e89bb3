"""Servers whose plain results go wrong (section 6.3)."""

from __future__ import annotations

import json

import mcp_types

from unseen.desk import PREFIX, Answer, Call, Failure, Json, Negotiated, Plain, block
from unseen.registry import breaks


@breaks("MCP-020")
class Chunks(Negotiated):
    """A text of more than 8,192 characters is sent as several blocks, which a reader joins with line feeds that the
    text does not have."""

    def plain_text(self, call: Call, text: str) -> list[mcp_types.ContentBlock]:
        return [block(text[at : at + 8192]) for at in range(0, len(text) or 1, 8192)]


@breaks("MCP-020")
class Trimmed(Negotiated):
    """The text of a plain result is trimmed: white space at the ends of an item or a note is lost."""

    def said(self, call: Call, outcome: Answer | Failure) -> str:
        return super().said(call, outcome).strip()


@breaks("MCP-021", "DSP-022")
class EmbeddedDisplay(Negotiated):
    """The charts of plain results are an embedded resource, as another extension has it, and not in `_meta`."""

    def plain_meta(self, call: Call, outcome: Answer | Failure, mark: Json) -> Json:
        members = super().plain_meta(call, outcome, mark)
        if call.name == "plot":
            members.pop(f"{PREFIX}display", None)
        return members

    def beside(self, call: Call, outcome: Answer | Failure) -> list[mcp_types.ContentBlock]:
        blocks = super().beside(call, outcome)
        if call.name != "plot" or isinstance(outcome, Failure) or outcome.envelope is None:
            return blocks
        text = json.dumps(outcome.envelope)
        shown = mcp_types.TextResourceContents(uri="ui://plot", mime_type="application/json", text=text)
        return [*blocks, mcp_types.EmbeddedResource(type="resource", resource=shown)]


@breaks("MCP-024")
class OwnCodes(Plain):
    """The category comes from the table of registered codes, which has none for the author's own: it is missing when
    seven or eight seats are reserved."""

    def error_value(self, call: Call, failure: Failure) -> Json:
        value = super().error_value(call, failure)
        if failure.code.startswith("X_"):
            del value["category"]
        return value


@breaks("MCP-025")
class CachedOrders(Plain):
    """The second time that the same orders are asked for they come from a cache, which keeps the blocks of a result
    and of its `_meta` only the mark."""

    def plain_meta(self, call: Call, outcome: Answer | Failure, mark: Json) -> Json:
        members = super().plain_meta(call, outcome, mark)
        if call.name == "orders" and call.again > 1:
            members.pop(f"{PREFIX}server_populated", None)
        return members


@breaks("MCP-023")
class DocumentOfFailure(Negotiated):
    """Failures that nobody foresaw are answered with a document, to whichever client."""

    def answer(self, call: Call) -> mcp_types.CallToolResult:
        outcome = self.outcome(call)
        if call.documents or not isinstance(outcome, Failure) or outcome.code != "INTERNAL":
            return super().answer(call)
        result = self.plain(call, outcome)
        return result.model_copy(update={"content": [block(self.failed_document(call, outcome))]})


@breaks("MCP-023")
class Delimited(Plain):
    """A text of more than 1,000 characters is put between `<llm_output>` tags, to set it apart for the model."""

    def plain_text(self, call: Call, text: str) -> list[mcp_types.ContentBlock]:
        return super().plain_text(call, f"<llm_output>{text}</llm_output>" if len(text) > 1000 else text)
