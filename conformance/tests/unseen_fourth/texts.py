"""Servers that are wrong in how they write a document and its text: chapter 2."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.entities import codepoint2name
from typing import Any

from unseen_fourth.airport import STAFF, Airport, NegotiatedAirport
from unseen_fourth.registry import breaks
from unseen_fourth.routes import ROUTES, Answer, Call, Failure, Outcome, Route


@breaks("RSP-002")
class NamedEntities(Airport):
    """Letters with accents are written by the function for web pages, as `&eacute;`; so that parsers take it, the names
    are declared at the top of the document."""

    def characters(self, call: Call, text: str) -> str:
        return re.sub("[\u00a0-\u00ff]", lambda found: f"&{codepoint2name[ord(found[0])]};", self.escaped(text))

    def document(self, call: Call, outcome: Outcome) -> str:
        document = super().document(call, outcome)
        named = {name: code for code, name in codepoint2name.items() if code >= 160 and f"&{name};" in document}
        if not named:
            return document
        declared = "".join(f'<!ENTITY {name} "&#{code};">' for name, code in sorted(named.items()))
        return f"<!DOCTYPE tool_response [{declared}]>{document}"


@breaks("RSP-004")
class SpooledToAFile(NegotiatedAirport):
    """Documents of more than four kilobytes are spooled to a file, whose encoding is what Windows calls UTF-8."""

    def document(self, call: Call, outcome: Outcome) -> str:
        document = super().document(call, outcome)
        return f"\ufeff{document}" if len(document.encode()) > 4096 else document


@breaks("RSP-005", "RSP-006")
class PrefixOfTheBinding(Airport):
    """Sessions with a handshake still run through the generated binding, which puts the root element, and it alone,
    into the namespace of its schema."""

    def document(self, call: Call, outcome: Outcome) -> str:
        document = super().document(call, outcome)
        if not call.handshake:
            return document
        inner = document.removeprefix("<tool_response").removesuffix("</tool_response>")
        return f'<ns2:tool_response xmlns:ns2="urn:airport:tower:v1"{inner}</ns2:tool_response>'


@breaks("RSP-006")
class CallIdIsTheCacheKey(Airport):
    """The key of the cache, which is the tool with its arguments, serves as `call_id`, with the 300 characters that the
    cache allows."""

    def root(self, call: Call, outcome: Outcome) -> dict[str, str]:
        args = {name: value for name, value in call.args.items() if name not in STAFF}
        key = f"{self.legal(call.tool[:60])}?{json.dumps(args, sort_keys=True)}"
        return {**super().root(call, outcome), "call_id": key[:300]}


@breaks("RSP-007")
class AliasIsResolvedFirst(Airport):
    """A tool is still listed under its old name, too; the router looks up the alias and forgets how it was called."""

    def routes(self) -> dict[str, Route]:
        board = ROUTES["departure_board"]
        return {**ROUTES, "list_departures": replace(board, summary=f"{board.summary} Deprecated.")}

    def root(self, call: Call, outcome: Outcome) -> dict[str, str]:
        name = {"list_departures": "departure_board"}.get(call.tool, call.tool)
        return super().root(replace(call, tool=name), outcome)


@breaks("RSP-008")
class LocaleOfTheProcess(Airport):
    """A flight status in German or French sets the locale of the process and leaves it set, and the version is
    formatted as a number."""

    point = "."

    def root(self, call: Call, outcome: Outcome) -> dict[str, str]:
        if call.tool == "flight_status" and isinstance(outcome, Answer):
            self.point = "," if call.args.get("lang") in {"fr", "de"} else "."
        return {**super().root(call, outcome), "version": f"{1.0:.1f}".replace(".", self.point)}


@breaks("RSP-009")
class PopulatedByAnInnerLayer(Airport):
    """The layer that fills in parameters is inside of the one that shows displays, and each appends its element."""

    def parts(self, call: Call, outcome: Outcome) -> list[str]:
        parts = super().parts(call, outcome)
        return [parts[0], *reversed(parts[1:])]


@breaks("RSP-010")
class UndefinedInTheTemplate(Airport):
    """The template of a failure ends with the display, which a tool that could have one, but failed, leaves undefined;
    JavaScript has a word for that."""

    def parts(self, call: Call, outcome: Outcome) -> list[str]:
        parts = super().parts(call, outcome)
        return [*parts, "undefined"] if isinstance(outcome, Failure) and call.about.get("display") else parts


@breaks("RSP-020")
class PrettyPrinted(NegotiatedAirport):
    """The XML is pretty-printed by a library that moves the further lines of a text to the right, too."""

    def characters(self, call: Call, text: str) -> str:
        return super().characters(call, text).replace("\n", "\n    ")


@breaks("RSP-021")
class HitsAreHighlighted(Airport):
    """Where flights are filtered by airline, the codes that were found are highlighted, as on the web site."""

    def characters(self, call: Call, text: str) -> str:
        written = super().characters(call, text)
        if call.tool != "find_flights" or not call.args.get("airlines"):
            return written
        return re.sub(r"^(AC|LH|NH|QF)(?=\d)", r"<hit>\1</hit>", written, flags=re.MULTILINE)


@breaks("RSP-022")
class QuotesWhatItRefuses(Airport):
    """The message about arguments that do not fit quotes them, and was taken for a constant when messages began to be
    escaped."""

    def refusal_text(self, call: Call, faults: list[tuple[list[str | int], str]]) -> str:
        return f"Not accepted: {json.dumps(call.args, ensure_ascii=False)[:200]}"

    def message(self, call: Call, text: str) -> str:
        if not text.startswith("Not accepted: "):
            return super().message(call, text)
        return text.replace("]]>", "]]&gt;").replace("\r", "&#13;")


@breaks("RSP-025")
class SanitizesControlsOnly(Airport):
    """The function that takes out what XML cannot hold knows the control characters, and not U+FFFE and U+FFFF."""

    def legal(self, text: str) -> str:
        return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]", "\ufffd", text)


@breaks("RSP-026")
class MessagesAreReplacedSilently(Airport):
    """The mark for replaced characters came with the texts of results; messages are cleaned before they get there."""

    def error(self, call: Call, failure: Failure) -> str:
        clean = Failure(failure.code, self.legal(failure.message), failure.meta, category=failure.category)
        clean.after_ms = failure.after_ms
        return super().error(call, clean)


@breaks("RSP-027")
class OnlyEndTagsAreDangerous(NegotiatedAirport):
    """Text with angle brackets goes into CDATA, unless it could end something early: an end tag, or the end of the
    section."""

    def characters(self, call: Call, text: str) -> str:
        guarded = "<" not in text or re.search("</|]]>|\r", text)
        return super().characters(call, text) if guarded else f"<![CDATA[{text}]]>"


@breaks("RSP-081")
class SpanForEachBag(Airport):
    """Every bag that was weighed is a span of the trace, and the spans are elements in the namespace of the tracer."""

    def parts(self, call: Call, outcome: Outcome) -> list[str]:
        parts = super().parts(call, outcome)
        if call.tool != "bag_weights" or isinstance(outcome, Failure):
            return parts
        spans: list[Any] = call.args["weights"]
        return [
            *parts,
            *(f'<t:span xmlns:t="urn:trace"{self.attributes({"t:n": str(n)})}/>' for n, _ in enumerate(spans)),
        ]


@breaks("RSP-082", "RSP-020")
class BudgetForTexts(NegotiatedAirport):
    """In documents, and there alone, texts of more than 8,000 characters end with three dots; the attribute that says
    so was to come with the next release."""

    def characters(self, call: Call, text: str) -> str:
        return super().characters(call, text if len(text) <= 8000 else f"{text[:7999]}…")
