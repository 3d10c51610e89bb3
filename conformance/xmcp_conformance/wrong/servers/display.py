"""Mutants of chapter 3: envelopes that are wrong, and displays at the wrong time."""

from __future__ import annotations

from typing import Any

from xmcp_conformance.wrong.registry import breaks

from .miniature import Json, Miniature


@breaks("XMCP-DSP-001", profile="server")
class ForgetsThePayload(Miniature):
    """Sends an envelope without a payload."""

    def picture(self) -> Any:
        return {"type": "text"}


@breaks("XMCP-DSP-002", profile="server")
class NamesTypesFreely(Miniature):
    """Uses a type with a space and a capital letter."""

    def picture(self) -> Any:
        return {"type": "Text box", "payload": "hello"}


@breaks("XMCP-DSP-003", profile="server")
class SendsANumberAsPayload(Miniature):
    """Sends a payload that is a number."""

    def picture(self) -> Any:
        return {"type": "text", "payload": 5}


@breaks("XMCP-DSP-004", profile="server")
class SendsATableOfTexts(Miniature):
    """Sends a table that is one string."""

    def picture(self) -> Any:
        return {"type": "table", "payload": "a,b,c"}


@breaks("XMCP-DSP-005", profile="server")
class SendsANullTitle(Miniature):
    """Sends `null` for a member that has no value."""

    def picture(self) -> Any:
        return {"type": "text", "payload": "hello", "title": None}


@breaks("XMCP-DSP-006", profile="server")
class UsesAnyMetaKey(Miniature):
    """Puts a key of its own into `meta` without a vendor prefix."""

    def picture(self) -> Any:
        return {"type": "text", "payload": "hello", "meta": {"colour": "red"}}


@breaks("XMCP-DSP-010", profile="server")
class UsesAReservedType(Miniature):
    """Uses a type that waits for a later version."""

    def picture(self) -> Any:
        return {"type": "map", "payload": {"lat": 1, "lon": 2}}


@breaks("XMCP-DSP-011", profile="server")
class NestsGroups(Miniature):
    """Puts four groups into each other."""

    def picture(self) -> Any:
        envelope: Json = {"type": "text", "payload": "deep"}
        for _ in range(4):
            envelope = {"type": "group", "payload": [envelope]}
        return envelope


@breaks("XMCP-DSP-015", profile="server")
class NestsFallbacks(Miniature):
    """Nests fallbacks four deep."""

    def picture(self) -> Any:
        envelope: Json = {"type": "text", "payload": "last"}
        for _ in range(4):
            envelope = {"type": "text", "payload": "not yet", "fallback": envelope}
        return envelope


@breaks("XMCP-DSP-012", profile="server")
class SaysNothingOfAChart(Miniature):
    """Sends a chart without `alt`."""

    def picture(self) -> Any:
        return {"type": "chart", "payload": {"mark": "bar", "data": {"values": []}}}


@breaks("XMCP-DSP-013", profile="server")
class LoadsAnImageOverHttp(Miniature):
    """Names an image by an `http:` URI."""

    def picture(self) -> Any:
        return {"type": "image", "payload": "http://example.org/a.png", "alt": "A dot."}


@breaks("XMCP-DSP-014", profile="server")
class FetchesTheDataOfAChart(Miniature):
    """Lets a chart load its data."""

    def picture(self) -> Any:
        chart = {"mark": "bar", "data": {"url": "https://example.org/data.csv"}}
        return {"type": "chart", "payload": chart, "alt": "Data."}


@breaks("XMCP-DSP-043", profile="server")
class ShowsAReference(Miniature):
    """Sends what a client puts before the model in place of a display."""

    def picture(self) -> Any:
        return {"type": "x-xmcp-reference", "payload": {"type": "table", "bytes": 70000}}


@breaks("XMCP-DSP-020", profile="server")
class HidesTheSwitch(Miniature):
    """Does not list `show_user` for a display tool."""

    def tools(self) -> dict[str, Json]:
        tools = super().tools()
        del tools["picture"]["properties"]["show_user"]
        return tools


@breaks("XMCP-DSP-021", profile="server")
class ShowsUnasked(Miniature):
    """Sends the display whether or not the caller wants it."""

    def shows(self, arguments: Json) -> bool:
        return True


@breaks("XMCP-DSP-024", profile="server")
class RefusesAnUnsetSwitch(Miniature):
    """Takes `null` for a value of `show_user` that does not fit."""

    def without_null(self, name: str, arguments: Json) -> Json:
        return arguments


@breaks("XMCP-DSP-022", profile="server")
class LeavesTheModelOut(Miniature):
    """Sends the display alone."""

    def success(self, text: str, envelope: Any) -> str:
        return super().success(text, envelope) if envelope is None else self.display(envelope)
