"""Odd, but right."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import mcp_types
from mcp.shared.exceptions import MCPError

from unseen_sixth.parts import PREFIX, Ask, Entry, Json, Reply, Trouble
from unseen_sixth.programme import PIXEL
from unseen_sixth.registry import permitted
from unseen_sixth.theatre import NegotiatedTheatre, PlainTheatre, Theatre

TAGS = re.compile(r"<\s*/?\s*(?:tool_response|llm_output|display|error|meta|server_populated)", re.IGNORECASE)


@permitted
class SectionsWherePossible(Theatre):
    """Writes every text as CDATA unless it has a carriage return or a tag of a document, and splits `]]>` in two."""

    def body(self, ask: Ask, said: str) -> str:
        if "\r" in said or TAGS.search(said):
            return super().body(ask, said)
        return f"<![CDATA[{said.replace(']]>', ']]]]><![CDATA[>')}]]>"


@permitted
class NothingButReferences(NegotiatedTheatre):
    """Writes each character that is no letter, digit or blank of ASCII as a numeric reference."""

    def raw(self, said: str) -> str:
        return re.sub(r"[^A-Za-z0-9 ]", lambda found: f"&#{ord(found[0])};", said)


@permitted
class TraceBehind(Theatre):
    """Adds an element and an attribute of its own namespace behind everything that the specification names."""

    def pieces(self, ask: Ask, end: Reply | Trouble) -> list[str]:
        trace = self.tag("t:trace", {"xmlns:t": "urn:theatre.example", "t:note": "a\tb\nc"}, "<t:cue>Q1</t:cue>")
        return [*super().pieces(ask, end), trace]


@permitted
class WideJson(NegotiatedTheatre):
    """Indents its JSON, puts white space around it and line feeds between the elements."""

    def dumped(self, value: Any) -> str:
        return f"\n\t{self.inert(json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True))} "

    def pieces(self, ask: Ask, end: Reply | Trouble) -> list[str]:
        return ["\n  ", "\n\n\t".join(super().pieces(ask, end)), "\n"]

    def for_trouble(self, ask: Ask, trouble: Trouble) -> str:
        return super().for_trouble(ask, trouble).replace("</meta></error>", "</meta>\n  </error>")


@permitted
class SingleQuotes(Theatre):
    """Quotes attributes with apostrophes, names the version and the call, and breaks the line inside tags."""

    def about_root(self, ask: Ask, end: Reply | Trouble) -> dict[str, str]:
        return {"version": "1.0", "call_id": "call 7 of <today>", **super().about_root(ask, end)}

    def tag(self, name: str, said: dict[str, str], inside: str) -> str:
        start = "".join(f"\n {key} = '{self.value(one).replace(chr(39), '&#39;')}'" for key, one in said.items())
        return f"<{name}{start}\n>{inside}</{name} >"


@permitted
class NoForging(NegotiatedTheatre):
    """Refuses calls that send a value for a parameter that it fills in, once the other arguments fit."""

    def my_bookings(self, ask: Ask) -> Reply:
        if ask.forged:
            meta: Json = {"params": {"names": sorted(ask.forged)}, "side_effects": "none"}
            raise Trouble("FORBIDDEN_PARAM_OVERRIDE", "You cannot say who you are.", meta)
        return super().my_bookings(ask)


@permitted
class BlockForEachLine(PlainTheatre):
    """Sends a block for each line of a text, empty ones too; joined by line feeds they are the text."""

    def model_blocks(self, ask: Ask, end: Reply | Trouble) -> list[Any]:
        [whole] = super().model_blocks(ask, end)
        return [mcp_types.TextContent(type="text", text=line) for line in whole.text.split("\n")]


@permitted
class SevenBits(Theatre):
    """Writes everything in ASCII: references in texts, escapes in JSON, pairs of them for what needs two."""

    def dumped(self, value: Any) -> str:
        return self.inert(json.dumps(value, ensure_ascii=True, separators=(",", ":")))

    def raw(self, said: str) -> str:
        return super().raw(said).encode("ascii", "xmlcharrefreplace").decode()

    def value(self, said: str) -> str:
        return super().value(said).encode("ascii", "xmlcharrefreplace").decode()


@permitted
class WordsForNumbers(NegotiatedTheatre):
    """Takes the decimal digits of a whole number, as a text, where a whole number is asked for."""

    def prepare(self, ask: Ask) -> None:
        super().prepare(ask)
        for name, takes in self.entry(ask).takes["properties"].items():
            given = ask.args.get(name)
            if takes.get("type") == "integer" and isinstance(given, str):
                ask.args[name] = int(given) if re.fullmatch("0|-?[1-9][0-9]{0,8}", given, re.ASCII) else given


@permitted
class StrangersOutside(Theatre):
    """Answers the call of a tool that it does not have with a protocol error."""

    def stranger(self, ask: Ask) -> Exception:
        return MCPError(-32602, "There is no such tool here.")


class _ShownTrouble(NegotiatedTheatre):
    """Can show something with a failure."""

    def pieces(self, ask: Ask, end: Reply | Trouble) -> list[str]:
        show = getattr(end, "show", None) if isinstance(end, Trouble) else None
        return super().pieces(ask, end) + ([self.json_tag("display", show)] if show else [])

    def plain_meta(self, ask: Ask, end: Reply | Trouble) -> Json | None:
        meta = super().plain_meta(ask, end)
        show = getattr(end, "show", None) if isinstance(end, Trouble) else None
        return {**(meta or {}), f"{PREFIX}display": self.plainly(show)} if show else meta


@permitted
class ShownFailures(_ShownTrouble):
    """Shows the person a notification about a booking that it did not find, where the caller wants a display."""

    async def perform(self, ask: Ask) -> Reply | Trouble:
        end = await super().perform(ask)
        if isinstance(end, Trouble) and end.code == "NOT_FOUND" and ask.shown:
            show = {"type": "notification", "payload": {"message": "Nobody booked so.", "level": "error"}}
            end.__dict__["show"] = self.known(ask, show)
        return end


@permitted
class MarkedCut(NegotiatedTheatre):
    """Cuts notes for the model after a thousand characters, says so in either form, and shows the person everything."""

    def curtain(self, ask: Ask, reply: Reply) -> Reply:
        if ask.tool == "programme_note" and len(reply.text) > 1000:
            reply = replace(reply, text=reply.text[:1000], cut=True)
        return super().curtain(ask, reply)


@permitted
class NoReplacing(NegotiatedTheatre):
    """Refuses to write a text with characters that XML does not have, in either form, rather than replace them."""

    def curtain(self, ask: Ask, reply: Reply) -> Reply:
        if self.legal(reply.text) != reply.text:
            meta: Json = {"side_effects": "none", "recovery": "fix_input"}
            message = "The text has characters that cannot be written."
            raise Trouble("X_THEATRE_UNPRINTABLE", message, meta, category="unsupported")
        return super().curtain(ask, reply)


@permitted
class Talkative(PlainTheatre):
    """Adds members of its own to everything that may have some: announcement, metadata, `_meta`, error, envelope."""

    def announcement(self, *, handshake: bool) -> Json:
        return {**super().announcement(handshake=handshake), "theatre.example/house": "old"}

    def listed(self, name: str, entry: Entry, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        more = replace(entry, about={**entry.about, "theatre.example/floor": 2, "xml_formatter": "None"})
        return super().listed(name, more, declared=declared, handshake=handshake)

    def plain_error(self, ask: Ask, trouble: Trouble) -> Json:
        return {**super().plain_error(ask, trouble), "theatre.example/desk": [1, 2]}

    def plain_meta(self, ask: Ask, end: Reply | Trouble) -> Json | None:
        meta = super().plain_meta(ask, end) or {}
        if f"{PREFIX}display" in meta:
            meta[f"{PREFIX}display"] = {"theatre.example/size": None, **meta[f"{PREFIX}display"]}
        return {**meta, "theatre.example/curtain": "red"}


@permitted
class ThreeAPage(PlainTheatre):
    """Lists its tools three at a time, so that one can depend on a tool of another page."""

    def page(self, params: Any, tools: list[mcp_types.Tool]) -> mcp_types.ListToolsResult:
        start = int(getattr(params, "cursor", None) or 0)
        more = str(start + 3) if start + 3 < len(tools) else None
        return mcp_types.ListToolsResult(tools=tools[start : start + 3], next_cursor=more)


@permitted
class DataWithAnyName(Theatre):
    """Keeps the data of a chart among `datasets`, with names in them that are forbidden outside of data."""

    def sales(self, ask: Ask) -> Reply:
        reply = super().sales(ask)
        chart = reply.show["payload"]
        values = [{**value, "url": "u", "expr": 1, "transform": []} for value in chart["data"]["values"]]
        chart["datasets"] = {"nightly": values, "empty": []}
        chart["data"] = {"name": "nightly"}
        return reply


@permitted
class AsDeepAsAllowed(NegotiatedTheatre):
    """Nests groups three deep, and three fallbacks in each other, and no deeper."""

    def lights(self, ask: Ask) -> Reply:
        reply = super().lights(ask)
        if ask.args.get("panel") == "group":
            reply.show = {"type": "group", "payload": [reply.show]}
        elif ask.args.get("panel") == "dial":
            reply.show = {**reply.show, "type": "x-theatre-lamp", "fallback": reply.show}
        return reply


@permitted
class PictureBeside(NegotiatedTheatre):
    """Sends a picture and a link along with a poster, as blocks of their own, for whoever can take them."""

    def beside(self, ask: Ask, end: Reply | Trouble) -> list[Any]:
        if ask.tool != "poster" or isinstance(end, Trouble):
            return []
        picture = mcp_types.ImageContent(type="image", data=PIXEL.partition(",")[2], mime_type="image/png")
        link = mcp_types.ResourceLink(type="resource_link", name="shop", uri="https://theatre.example/shop")
        return [picture, link]

    def paper_blocks(self, ask: Ask, end: Reply | Trouble, written: str) -> list[Any]:
        return [*super().paper_blocks(ask, end, written), *self.beside(ask, end)]

    def other_blocks(self, ask: Ask, end: Reply | Trouble) -> list[Any]:
        return [*super().other_blocks(ask, end), *self.beside(ask, end)]


@permitted
class RichFailures(Theatre):
    """Says all that the `meta` of a failure can say, and that it is retryable with `1`, after no time at all."""

    def for_trouble(self, ask: Ask, trouble: Trouble) -> str:
        more: Json = {
            "recovery": "ask_user",
            "localized": [{"locale": "fr", "message": "Cela n'a pas marché."}],
            "help": [{"title": "Help", "url": "https://theatre.example/help?a=1&b=2"}],
            "cause": {"code": "X_THEATRE_CAUSE", "deeper": None},
            "limit": {"reset_at": "2026-11-03T10:00:00+01:00"},
            "theatre/a/b": {"<&>": ["]]>", 1e300, 2**70]},
        }
        rich = trouble if self.brief(trouble) else self.copied(trouble, {**more, **(trouble.meta or {})})
        return super().for_trouble(ask, rich)

    def brief(self, trouble: Trouble) -> bool:
        """Return whether a failure was shortened, or is long enough as it is."""
        return len(trouble.message) > 300 or len(json.dumps(trouble.meta)) > 1500

    def copied(self, trouble: Trouble, meta: Json) -> Trouble:
        """Return a failure that says more."""
        rich = Trouble(trouble.code, trouble.message, meta, category=trouble.category, wait=trouble.wait)
        rich.retryable = trouble.retryable
        return rich

    def about_trouble(self, ask: Ask, trouble: Trouble) -> dict[str, str]:
        said = super().about_trouble(ask, trouble)
        return {**said, "retryable": "1", "retry_after_ms": "0"} if trouble.retryable else {**said, "retryable": "0"}


@permitted
class NothingDisclosed(PlainTheatre):
    """Names everything that it filled in as not disclosed, and no values at all; its tool does not repeat them."""

    def my_bookings(self, ask: Ask) -> Reply:
        count = int(ask.args.get("most", 2))
        show = {"type": "markdown", "payload": f"You have **{count}** bookings."}
        return Reply(f"{count} bookings, {ask.args.get('season', 'autumn')}.", show)

    def disclosed(self, ask: Ask) -> Json:
        more = {"overridden": sorted(ask.forged)} if ask.forged else {}
        return {"redacted": [*ask.filled], **more}

    def filled_block(self, ask: Ask, filled: Json) -> mcp_types.TextContent:
        return super().filled_block(ask, {"values": {}, **filled})
