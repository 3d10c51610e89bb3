"""Servers whose displays go wrong (chapter 3)."""

from __future__ import annotations

import json
from typing import Any

from unseen.desk import SHOW, TEXT, Answer, Call, Desk, Json, Negotiated, Plain, closed
from unseen.registry import breaks


class _Shop(Desk):
    """One more display tool, `panel`, whose arguments are a subclass's."""

    arguments: Json = {}
    needed: tuple[str, ...] = ()

    def tools(self) -> dict[str, Json]:
        return {**super().tools(), "panel": closed(list(self.needed), **self.arguments, show_user=SHOW)}

    def metadata(self, name: str) -> Json | None:
        return {"display": True} if name == "panel" else super().metadata(name)

    def do_panel(self, call: Call) -> Answer:
        return Answer("A panel.", self.panel(call.arguments))

    def panel(self, arguments: Json) -> Any:
        """Return the envelope."""
        raise NotImplementedError


@breaks("DSP-001", "RSP-040")
class CachedAsText(Desk):
    """A display is cached as JSON text, which is encoded once more when the same call comes a second time."""

    def display(self, call: Call, envelope: Any) -> str:
        return super().display(call, json.dumps(envelope) if call.again > 1 else envelope)


@breaks("DSP-002")
class KindAsType(_Shop):
    """The argument `layout` becomes the type of the display: `key-value`, the last of its values, is no type's name."""

    arguments = {"layout": {"type": "string", "enum": ["facts", "json", "key-value"]}}
    needed = ("layout",)

    def panel(self, arguments: Json) -> Any:
        return {"type": arguments["layout"], "payload": {"layout": arguments["layout"]}}


@breaks("DSP-003", "DSP-004")
class NothingToPlot(Plain):
    """A chart without points has the payload `null`, from a function that returns early."""

    def plot(self, call: Call, points: list[Any]) -> Any:
        envelope = super().plot(call, points)
        return {**envelope, "type": "x-acme-plot", "payload": envelope["payload"] if points else None}


@breaks("DSP-005")
class WholeTitles(Desk):
    """The text of a card is its title, however long: more than 200 characters are too many."""

    def card(self, call: Call, text: str) -> Any:
        return {**super().card(call, text), "title": text}


@breaks("DSP-005")
class NullCaptions(Negotiated):
    """Inside a group, the table has the caption as its title: where the optional argument is missing, `null`."""

    def card(self, call: Call, text: str) -> Any:
        envelope = super().card(call, text)
        table, *others = envelope["payload"]
        return {**envelope, "payload": [{**table, "title": call.arguments.get("caption")}, *others]}


@breaks("DSP-006")
class ReadingTime(Desk):
    """The fallback of a long card, from 1,000 characters, has a reading time in `meta`, a member without prefix."""

    def card(self, call: Call, text: str) -> Any:
        envelope = super().card(call, text)
        if len(text) < 1000:
            return envelope
        return {**envelope, "fallback": {"type": "text", "payload": text, "meta": {"readingTime": len(text) // 1000}}}


@breaks("DSP-010")
class Comparison(_Shop):
    """Two texts that differ are shown as a `diff`, a type that the registry reserves; equal ones as text."""

    arguments = {"before": TEXT, "after": TEXT}
    needed = ("before", "after")

    def panel(self, arguments: Json) -> Any:
        same = {"type": "text", "payload": "No difference."}
        if arguments["before"] == arguments["after"]:
            return same
        return {"type": "diff", "payload": dict(arguments), "fallback": {**same, "payload": "They differ."}}


@breaks("DSP-012")
class OptionalDescription(_Shop):
    """The `alt` of a picture is the argument `description`, which can be left out: then the picture has none."""

    arguments = {"description": TEXT}

    def panel(self, arguments: Json) -> Any:
        said = {"alt": arguments["description"][:4000]} if arguments.get("description") else {}
        return {"type": "image", "payload": "data:image/png;base64,iVBORw0KGgo=", **said}


@breaks("DSP-014")
class SmoothLines(Desk):
    """A smoothed line is computed by the renderer: with `smooth`, the second layer has a `transform`."""

    def plot(self, call: Call, points: list[Any]) -> Any:
        envelope = super().plot(call, points)
        if call.arguments.get("smooth"):
            layers = [{"mark": "point"}, {"mark": "line", "transform": [{"loess": "y", "on": "x"}]}]
            envelope["payload"] = {"data": envelope["payload"]["data"], "layer": layers}
        return envelope


@breaks("DSP-021")
class CachedDisplay(Negotiated):
    """The cache of cards has the text as its key: after a call that asked for the display, one with the same text
    that does not ask gets it too."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: set[str] = set()

    def sends_display(self, call: Call) -> bool:
        if call.name == "card" and call.shows:
            self.shown.add(call.arguments["text"])
        return call.shows or (call.name == "card" and call.arguments["text"] in self.shown)


@breaks("DSP-021")
class PresentIsTrue(Desk):
    """Whether to show is `"show_user" in arguments`: a call that says `false` gets the chart."""

    def sends_display(self, call: Call) -> bool:
        return "show_user" in self.given(call) if call.name == "plot" else call.shows


@breaks("DSP-022")
class LongCards(Desk):
    """A text of 16 KiB or more is answered by a shorter path, which has forgotten the display."""

    def do_card(self, call: Call) -> Answer:
        answer = super().do_card(call)
        return answer if len(call.arguments["text"].encode()) < 16384 else Answer(answer.text)


@breaks("DSP-043")
class AlreadyShortened(Desk):
    """A gateway's library puts a reference in the place of a display of more than 4,096 bytes, as a client would."""

    def with_fallback(self, call: Call, envelope: Any, text: str) -> Any:
        size = len(json.dumps(envelope))
        if size <= 4096:
            return super().with_fallback(call, envelope, text)
        return {"type": "x-xmcp-reference", "payload": {"type": envelope["type"], "bytes": size}}
