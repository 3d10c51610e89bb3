"""Wrong in how a text, an element or an attribute is written."""

from __future__ import annotations

import re
from dataclasses import replace

from unseen_eighth.kit import ILLEGAL, LONE, TAG, Answer, Call, Failure, Json

from unseen_eleventh.garden import Garden, NegotiatedGarden
from unseen_eleventh.registry import breaks

OURS = "urn:garden.example:notes"


@breaks("RSP-001")
class PageAsElement(NegotiatedGarden):
    """Ends a list of seeds with an element of its own that is named after the page, a number, where one was asked."""

    def document(self, call: Call, outcome: Answer | Failure) -> str:
        written = super().document(call, outcome)
        if call.tool != "find_seeds" or "page" not in call.args or isinstance(outcome, Failure):
            return written
        page = f'<g:{int(call.args["page"])} xmlns:g="urn:garden.example:pages"/>'
        return written.removesuffix("</tool_response>") + page + "</tool_response>"


@breaks("RSP-004", "RSP-001")
class StringWriterDeclares(Garden):
    """Writes documents with a display with another writer, which begins each text with a declaration of UTF-16."""

    def document(self, call: Call, outcome: Answer | Failure) -> str:
        written = super().document(call, outcome)
        return written if outcome.display is None else f'<?xml version="1.0" encoding="utf-16"?>{written}'


@breaks("RSP-006", "RSP-082")
class YesForTruncated(NegotiatedGarden):
    """Says `yes` where a text was cut, as its settings do for what is true."""

    def output_says(self, call: Call, answer: Answer) -> dict[str, str]:
        said = super().output_says(call, answer)
        return {**said, "truncated": "yes"} if "truncated" in said else said


@breaks("RSP-007")
class TitleAsName(NegotiatedGarden):
    """Calls a tool by its title, which is what the validator knows of it, where arguments were refused."""

    def root_says(self, call: Call, outcome: Answer | Failure) -> dict[str, str]:
        said = super().root_says(call, outcome)
        if isinstance(outcome, Failure) and outcome.code == "VALIDATION_FAIL":
            return {**said, "tool_name": self.tools()[call.tool].title}
        return said


@breaks("RSP-009", "RSP-006")
class TwoBooks(Garden):
    """Says what it did not use of the caller in an element `server_populated` of its own, after the one with values."""

    def populated(self, call: Call, filled: Json) -> str:
        if "overridden" not in filled:
            return super().populated(call, filled)
        used = {name: one for name, one in filled.items() if name != "overridden"}
        return super().populated(call, used) + super().populated(call, {"overridden": filled["overridden"]})


@breaks("RSP-010", "RSP-006", "RSP-009")
class AngleInTheTemplate(Garden):
    """Has one `>` too many in the template of documents with a display, between the two elements."""

    def shown(self, call: Call, display: Json) -> str:
        return ">" + super().shown(call, display)


@breaks("RSP-020", "RSP-082", "MCP-020")
class ThreeBytesPerLetter(NegotiatedGarden):
    """Keeps documents in a table of three bytes for each letter, which ends a text before its first emoji."""

    def output_data(self, call: Call, answer: Answer) -> str:
        found = re.search("[\U00010000-\U0010ffff]", answer.text)
        return super().output_data(call, replace(answer, text=answer.text[: found.start()]) if found else answer)


@breaks("RSP-020", "MCP-020")
class TextAsFormat(NegotiatedGarden):
    """Prints the text into documents as the format itself: Go replaces each percent sign and what is after it."""

    def output_data(self, call: Call, answer: Answer) -> str:
        def verb(found: re.Match[str]) -> str:
            return {"%": "%", "": "%!(NOVERB)"}.get(found[1], f"%!{found[1]}(MISSING)")

        return self.data(re.sub("%(.?)", verb, self.legal(answer.text), flags=re.DOTALL))


@breaks("RSP-020", "MCP-020", "RSP-001")
class DollarsInTheTemplate(NegotiatedGarden):
    """Puts texts into a template with `replace` of JavaScript: `$$` is one dollar there, and `$&` is what was found."""

    def output_data(self, call: Call, answer: Answer) -> str:
        written = super().output_data(call, answer)
        return re.sub(r"\$([$&])", lambda found: "$" if found[1] == "$" else "{text}", written)


@breaks("RSP-022", "RSP-001")
class OnlyAnglesInMessages(Garden):
    """Escapes the angles in the messages of failures, and no ampersand."""

    def message(self, call: Call, failure: Failure) -> str:
        return super().message(call, failure).replace("&amp;", "&")


@breaks("RSP-024", "RSP-020")
class FirstReturnOnly(NegotiatedGarden):
    """Writes the first carriage return of a text as a reference, since `replace` of JavaScript does not go on."""

    def output_data(self, call: Call, answer: Answer) -> str:
        first, found, rest = super().output_data(call, answer).partition("&#13;")
        return first + found + rest.replace("&#13;", "\r")


@breaks("RSP-025", "RSP-001")
class MessagesKeepControls(Garden):
    """Cleans texts of what XML does not have, and not the messages of failures, which it wrote itself."""

    def message(self, call: Call, failure: Failure) -> str:
        return self.data(LONE.sub("\ufffd", failure.message))


@breaks("RSP-026", "RSP-020", "MCP-020")
class ControlPictures(NegotiatedGarden):
    """Writes the picture of a control character in its place (U+2400 and on), and marks the element as lossy."""

    def output_data(self, call: Call, answer: Answer) -> str:
        def picture(found: re.Match[str]) -> str:
            return chr(0x2400 + ord(found[0])) if ord(found[0]) < 32 else "\ufffd"

        return self.data(ILLEGAL.sub(picture, answer.text))


@breaks("RSP-027")
class TagsBeginLines(NegotiatedGarden):
    """Writes a text with a `<` as CDATA, unless a line of it begins with a tag of documents."""

    def output_data(self, call: Call, answer: Answer) -> str:
        said = self.legal(answer.text)
        if "<" not in said or any(TAG.match(line) for line in said.split("\n")):
            return super().output_data(call, answer)
        sections = said.replace("]]>", "]]]]><![CDATA[>").split("\r")
        return "&#13;".join(f"<![CDATA[{one}]]>" for one in sections)


@breaks("RSP-028")
class TabsInHeadings(NegotiatedGarden):
    """Has the heading of a chart in an attribute of its own, in which line ends are references, and tabs are not."""

    def root_says(self, call: Call, outcome: Answer | Failure) -> dict[str, str]:
        said = super().root_says(call, outcome)
        if call.tool != "growth_chart" or "heading" not in call.args or isinstance(outcome, Failure):
            return said
        heading = call.args["heading"]
        said |= {"xmlns:g": OURS, "g:heading": self.legal(heading)}
        return said if self.legal(heading) == heading else {**said, "lossy": "true"}

    def value(self, said: str) -> str:
        return super().value(said).replace("&#9;", "\t")
