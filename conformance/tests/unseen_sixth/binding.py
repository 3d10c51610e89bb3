"""Wrong in the announcement, in the sizes, or in the result around a document."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unseen_sixth.parts import Ask, Json, Reply, Trouble
from unseen_sixth.registry import breaks
from unseen_sixth.theatre import NegotiatedTheatre, PlainTheatre, Theatre


@breaks("MCP-005")
class WireOfOldTimes(NegotiatedTheatre):
    """Leaves the wire out of the announcement of the handshake era, which its older code writes."""

    def announcement(self, *, handshake: bool) -> Json:
        said = super().announcement(handshake=handshake)
        return {"versions": said["versions"]} if handshake else said


@breaks("MCP-014", "MCP-051")
class WeighsTheText(Theatre):
    """Measures a document before the display is in it, against the bytes that the client accepts."""

    def measured(self, written: str) -> int:
        before, _, rest = written.partition("<display")
        return super().measured(before + rest.partition("</display>")[2])


@breaks("MCP-014")
class LongFailures(NegotiatedTheatre):
    """Compares the size of answers with what the client accepts, and sends failures however long they are."""

    def fitting(self, ask: Ask, end: Reply | Trouble) -> tuple[str, Reply | Trouble]:
        return (self.document(ask, end), end) if isinstance(end, Trouble) else super().fitting(ask, end)


@breaks("MCP-051")
class CutToSize(Theatre):
    """Cuts a text that is too large for the client, marks it, and calls that a success."""

    def too_large(self, ask: Ask, reply: Reply) -> Reply | Trouble:
        return replace(reply, text=reply.text[:300], show=None, cut=True, aside="", data=reply.data)


@breaks("MCP-015")
class ModernOnly(NegotiatedTheatre):
    """Sends documents in the stateless era only; its code for the handshake asks another member for the declaration."""

    def on_paper(self, ask: Ask) -> bool:
        return super().on_paper(ask) and not ask.handshake


@breaks("MCP-042")
class UnsignedFailures(PlainTheatre):
    """Says the version and the form with answers, and forgets both with arguments that do not fit."""

    def plain_meta(self, ask: Ask, end: Reply | Trouble) -> Json | None:
        meta = super().plain_meta(ask, end) or {}
        if isinstance(end, Trouble) and end.code == "VALIDATION_FAIL":
            return {name: one for name, one in meta.items() if not name.endswith("/result")}
        return meta


@breaks("MCP-044")
class OverheardAside(Theatre):
    """Repeats what is for the person alone at the end of the text for the model."""

    def for_model(self, ask: Ask, reply: Reply) -> str:
        return super().for_model(ask, replace(reply, text=f"{reply.text}\n{reply.aside}") if reply.aside else reply)


@breaks("MCP-001")
class AsideFirst(NegotiatedTheatre):
    """Puts what is for the person alone before the document."""

    def paper_blocks(self, ask: Ask, end: Reply | Trouble, written: str) -> list[Any]:
        return super().paper_blocks(ask, end, written)[::-1]
