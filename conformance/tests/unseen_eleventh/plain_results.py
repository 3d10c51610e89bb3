"""Wrong in plain results."""

from __future__ import annotations

import json
from typing import Any

from unseen_eighth.kit import PREFIX, Answer, Call, Failure, Json
from unseen_eighth.observatory import block

from unseen_eleventh.garden import NegotiatedGarden, PlainGarden
from unseen_eleventh.registry import breaks


@breaks("MCP-020", "RSP-020")
class TrimmedAtTheEnd(NegotiatedGarden):
    """Cuts white space off the end of a plain text, and not off that of a document."""

    def text_blocks(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        [first] = super().text_blocks(call, outcome)
        return [first] if isinstance(outcome, Failure) else [block(first.text.rstrip())]


@breaks("MCP-021", "DSP-001")
class DisplayAsStringInTheHandshake(PlainGarden):
    """Has a display as the text of its JSON in `_meta` after a handshake, where members were texts for long."""

    def plain_meta(self, call: Call, outcome: Answer | Failure) -> Json:
        meta = super().plain_meta(call, outcome)
        name = f"{PREFIX}display"
        return {**meta, name: json.dumps(meta[name])} if name in meta and call.handshake else meta


@breaks("MCP-022")
class TryAgainIsNoError(PlainGarden):
    """Sets `isError` only with a failure that does not go away by itself."""

    def failed(self, call: Call, outcome: Answer | Failure) -> bool:
        return isinstance(outcome, Failure) and not outcome.retryable


@breaks("MCP-024", "ERR-007")
class NullForNoMeta(NegotiatedGarden):
    """Has `meta` in each failure of a plain result, which is null where there is nothing to say."""

    def plain_error(self, call: Call, failure: Failure) -> Json:
        return {"meta": None, **super().plain_error(call, failure)}


@breaks("MCP-025", "TOL-021")
class KeyInCamelCase(PlainGarden):
    """Names the member about what it filled in as its serializer names all members."""

    def plain_meta(self, call: Call, outcome: Answer | Failure) -> Json:
        meta = super().plain_meta(call, outcome)
        if f"{PREFIX}server_populated" in meta:
            meta[f"{PREFIX}serverPopulated"] = meta.pop(f"{PREFIX}server_populated")
        return meta


@breaks("MCP-047")
class AltForASmallScreen(NegotiatedGarden):
    """Sends the first sixty characters of what a display says in words."""

    def alt(self, call: Call, display: Any) -> str:
        return super().alt(call, display)[:60]


@breaks("MCP-048")
class EscapedInTheBlock(PlainGarden):
    """Escapes what it filled in for HTML where it names it in a text."""

    def filled_value(self, value: Any) -> str:
        return super().filled_value(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
