"""Wrong in the plain result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mcp_types

from unseen_sixth.parts import Ask, Json, Reply, Trouble
from unseen_sixth.registry import breaks
from unseen_sixth.theatre import NegotiatedTheatre, PlainTheatre, block


@breaks("MCP-020")
class CodelessRetries(NegotiatedTheatre):
    """Leaves the code out of the text of a failure that goes away by itself, so as not to alarm the model."""

    def model_blocks(self, ask: Ask, end: Reply | Trouble) -> list[Any]:
        if isinstance(end, Trouble) and end.retryable:
            return [block(end.message)]
        return super().model_blocks(ask, end)


@breaks("MCP-021", "DSP-022")
class NobodyToSee(NegotiatedTheatre):
    """Sends no display to a client that declared nothing, since such a client shows none; the text is the same."""

    def plain_meta(self, ask: Ask, end: Reply | Trouble) -> Json | None:
        if isinstance(end, Reply) and not ask.declared:
            end = replace(end, show=None)
        return super().plain_meta(ask, end)


@breaks("MCP-047")
class FirstSentence(PlainTheatre):
    """Sends the person only the first fifteen characters of the words for a display, which fit into a small window."""

    def alternative(self, ask: Ask, show: Any) -> str:
        return super().alternative(ask, show)[:15]


@breaks("MCP-022")
class NotYetFailed(PlainTheatre):
    """Does not count a failure as one where another attempt can help: `isError` is false."""

    def is_error(self, ask: Ask, end: Reply | Trouble) -> bool:
        return isinstance(end, Trouble) and not end.retryable


@breaks("MCP-024")
class OnlyIfRetryable(NegotiatedTheatre):
    """Writes `retryable` in a plain result as in a document, that is, not where it is false."""

    def plain_error(self, ask: Ask, trouble: Trouble) -> Json:
        said = super().plain_error(ask, trouble)
        return said if said["retryable"] else {name: one for name, one in said.items() if name != "retryable"}


@breaks("MCP-025", "TOL-021")
class FilledWhenShown(NegotiatedTheatre):
    """Puts what it filled in into `_meta` beside a display only; without one, it returns too early."""

    def plain_meta(self, ask: Ask, end: Reply | Trouble) -> Json | None:
        if isinstance(end, Reply) and end.show is None:
            end = replace(end, filled=None)
        return super().plain_meta(ask, end)


@breaks("MCP-023", "MCP-020")
class FailuresOnPaper(NegotiatedTheatre):
    """Writes what nobody foresaw as a document for every client, since that branch was written first."""

    def plain_result(self, ask: Ask, end: Reply | Trouble) -> mcp_types.CallToolResult:
        result = super().plain_result(ask, end)
        if isinstance(end, Trouble) and end.code == "INTERNAL":
            return result.model_copy(update={"content": [block(self.document(ask, end))]})
        return result


@breaks("MCP-048", "MCP-020")
class UnmarkedNote(PlainTheatre):
    """Forgets the mark on the block that names what it filled in, where the caller had sent a value for it."""

    def filled_block(self, ask: Ask, filled: Json) -> mcp_types.TextContent:
        said = super().filled_block(ask, filled)
        return said.model_copy(update={"meta": {"theatre.example/note": True}}) if ask.forged else said
