"""Servers that are wrong in their plain results: section 6.3."""

from __future__ import annotations

from html import escape

import mcp_types

from unseen_fourth.airport import NegotiatedAirport, PlainAirport
from unseen_fourth.registry import breaks
from unseen_fourth.routes import Call, Failure, Json, Outcome


@breaks("MCP-020")
class EscapedWithoutADocument(NegotiatedAirport):
    """The escaper moved from the writer of documents to the tools of texts, so that plain results have `&lt;` too."""

    def plain_text(self, call: Call, outcome: Outcome) -> str:
        text = super().plain_text(call, outcome)
        return escape(text, quote=False) if call.tool in {"announce", "shift_log"} else text


@breaks("MCP-024")
class OmitsWhatIsFalse(PlainAirport):
    """The structure of an error leaves out what has the zero of its type, and `false` is one."""

    def error_member(self, call: Call, failure: Failure) -> Json:
        return {name: value for name, value in super().error_member(call, failure).items() if value}


@breaks("MCP-048")
class TheyReadTheMember(NegotiatedAirport):
    """A client that declared the extension and reads no documents is sent what was filled in as a member alone, because
    it knows it."""

    def populated_blocks(self, call: Call, filled: Json) -> list[mcp_types.ContentBlock]:
        return [] if call.declared else super().populated_blocks(call, filled)


@breaks("MCP-023", "MCP-020")
class OneWriterForErrors(NegotiatedAirport):
    """There is one writer for errors, and in a plain result the text of an error that came from a tool is what it
    writes."""

    def plain_text(self, call: Call, outcome: Outcome) -> str:
        if isinstance(outcome, Failure) and outcome.code not in {"VALIDATION_FAIL", "UNKNOWN_TOOL"}:
            return self.error(call, outcome)
        return super().plain_text(call, outcome)
