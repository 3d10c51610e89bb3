"""Print shops that get plain results wrong."""

from __future__ import annotations

from typing import Any

from unseen_eighth.kit import PREFIX, Answer, Call, Failure, Json
from unseen_eighth.observatory import block

from unseen_thirteenth.printshop import NegotiatedPrintShop, PlainPrintShop
from unseen_thirteenth.registry import breaks


@breaks("MCP-020")
class OneBlockPerLine(NegotiatedPrintShop):
    """Sends a block for each line, as `splitlines` cuts them: carriage returns and a last line feed get lost."""

    def text_blocks(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        if isinstance(outcome, Failure):
            return super().text_blocks(call, outcome)
        return [block(line) for line in self.legal(outcome.text).splitlines()] or [block("")]


@breaks("MCP-047")
class SaysShortThingsOnly(PlainPrintShop):
    """Leaves the words for a display out where they have more than 500 characters, instead of sending the first 500."""

    def alt(self, call: Call, display: Any) -> str:
        said = "" if display is None else str(display.get("alt", ""))
        return said if len(said) <= 500 else ""


@breaks("MCP-024")
class WritesNulls(PlainPrintShop):
    """The JSON of an error comes from a data class and has `retry_after_ms` as `null` where nobody has to wait."""

    def plain_error(self, call: Call, failure: Failure) -> Json:
        return {"retry_after_ms": None, **super().plain_error(call, failure)}


@breaks("MCP-025")
class TellsWhoDeclared(PlainPrintShop):
    """Only a client that declared the extension gets in `_meta` what the shop filled in; the block goes to every
    client.
    """

    def plain_meta(self, call: Call, outcome: Answer | Failure) -> Json:
        meta = super().plain_meta(call, outcome)
        if not call.client:
            meta.pop(f"{PREFIX}server_populated", None)
        return meta


@breaks("MCP-048")
class CutsValuesByBytes(NegotiatedPrintShop):
    """Cuts a value in the block at 200 bytes, which are fewer than 200 characters where the text is German."""

    def filled_value(self, value: Any) -> str:
        return super().filled_value(value).encode()[:200].decode(errors="ignore")


@breaks("MCP-023")
class AppendsTheMeta(NegotiatedPrintShop):
    """The text of refused arguments ends with the element `meta` of the document that other clients get."""

    def text_blocks(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        if isinstance(outcome, Answer) or outcome.code != "VALIDATION_FAIL":
            return super().text_blocks(call, outcome)
        return [block(f"{outcome.code}: {outcome.message}{self.json_element('meta', outcome.meta)}")]
