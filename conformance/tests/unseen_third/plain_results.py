"""Servers that are wrong in their plain results: section 6.3."""

from __future__ import annotations

from typing import Any

import mcp_types

from unseen_third.common import PREFIX, Answer, Block, Call, Fault, Json
from unseen_third.registry import breaks
from unseen_third.yard import PlainYard, Yard


@breaks("MCP-020")
class OwnCodesMeanNothing(PlainYard):
    """A code of the yard's own means nothing to a model, so that the text of such an error is its message alone."""

    def plain_text(self, call: Call, answer: Answer) -> str:
        if answer.fault is not None and answer.fault.code.startswith("X_"):
            return answer.fault.message
        return super().plain_text(call, answer)


@breaks("MCP-022")
class NotFoundIsAnAnswer(Yard):
    """That something was not found is returned early, before the error is put into `_meta`."""

    def plain_members(self, call: Call, answer: Answer) -> Json:
        members = super().plain_members(call, answer)
        if answer.fault is not None and answer.fault.code == "NOT_FOUND":
            del members[f"{PREFIX}error"]
        return members


@breaks("MCP-024")
class NothingIsNull(PlainYard):
    """An error that has no `meta` is written with null in its place, as the yard's class for errors has it."""

    def error_member(self, call: Call, fault: Fault) -> Json:
        return {"meta": None, **super().error_member(call, fault)}


@breaks("MCP-025", "TOL-021")
class OldAdapterForTheHandshake(Yard):
    """The adapter for the handshake era copies the members of `_meta` that it knows, and this one is newer."""

    def plain_members(self, call: Call, answer: Answer) -> Json:
        members = super().plain_members(call, answer)
        return {
            name: item for name, item in members.items() if not call.handshake or name != f"{PREFIX}server_populated"
        }


@breaks("MCP-047", "MCP-020")
class WordsForBoth(Yard):
    """The words for a display are sent to the person and, as they may help, to the model."""

    def plain_blocks(self, call: Call, answer: Answer) -> list[Block]:
        blocks = super().plain_blocks(call, answer)
        words = self.in_words(call, answer)
        both = mcp_types.Annotations(audience=["user", "assistant"])
        changed: list[Any] = [
            one.model_copy(update={"annotations": both}) if words and getattr(one, "text", "") == words else one
            for one in blocks
        ]
        return changed


@breaks("MCP-048")
class SecretsAreNotMentioned(PlainYard):
    """The block about what was filled in is made from the values, so that a parameter without one is not in it."""

    def filled_block(self, call: Call, filled: Json) -> mcp_types.TextContent:
        return super().filled_block(call, {name: item for name, item in filled.items() if name != "redacted"})
