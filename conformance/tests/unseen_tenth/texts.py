"""Wrong in how a text, an element or an attribute is written."""

from __future__ import annotations

import re
from html.entities import codepoint2name

from unseen_eighth.kit import ILLEGAL, LONE, TAG, Answer, Call, Failure

from unseen_tenth.harbour import Harbour, NegotiatedHarbour
from unseen_tenth.registry import breaks

OURS = "urn:harbour.example:watch"
NAMED = {chr(point): name for point, name in codepoint2name.items() if point > 127}


@breaks("RSP-001")
class MembersAsAttributes(NegotiatedHarbour):
    """Notes the type of each member of a log entry on the root, in an attribute that is named as the member is."""

    def root_says(self, call: Call, outcome: Answer | Failure) -> dict[str, str]:
        said = super().root_says(call, outcome)
        if call.tool != "log-entry" or isinstance(outcome, Failure):
            return said
        noted = {f"h:{self.legal(name)}": type(one).__name__ for name, one in call.args["entry"].items()}
        return {**said, "xmlns:h": OURS, **noted}


@breaks("RSP-002")
class LettersByName(NegotiatedHarbour):
    """Writes a letter that has a name in HTML by that name, and declares the names before the document."""

    def output_data(self, call: Call, answer: Answer) -> str:
        return "".join(f"&{NAMED[one]};" if one in NAMED else one for one in super().output_data(call, answer))

    def document(self, call: Call, outcome: Answer | Failure) -> str:
        written = super().document(call, outcome)
        used = sorted({one for one in getattr(outcome, "text", "") if one in NAMED})
        if not used:
            return written
        declared = "".join(f'<!ENTITY {NAMED[one]} "&#{ord(one)};">' for one in used)
        return f"<!DOCTYPE tool_response [{declared}]>{written}"


@breaks("RSP-003")
class StyledForBrowsers(Harbour):
    """Begins a document whose display is HTML with the instruction for browsers that names a style sheet."""

    def document(self, call: Call, outcome: Answer | Failure) -> str:
        written = super().document(call, outcome)
        html = outcome.display is not None and outcome.display["type"] == "html"
        return f'<?xml-stylesheet type="text/css" href="board.css"?>{written}' if html else written


@breaks("RSP-006")
class WholeNameOfAStranger(Harbour):
    """Repeats the whole name of a tool that it does not have, although no document can hold more than 128 letters."""

    def root_says(self, call: Call, outcome: Answer | Failure) -> dict[str, str]:
        said = super().root_says(call, outcome)
        return {**said, "tool_name": self.legal(call.tool)}


@breaks("RSP-008", "RSP-006")
class VersionOfTheProtocol(NegotiatedHarbour):
    """Writes the version of the protocol that the handshake agreed on as the version of documents."""

    def root_says(self, call: Call, outcome: Answer | Failure) -> dict[str, str]:
        said = super().root_says(call, outcome)
        return {**said, "version": "2025-11-25"} if call.handshake else said


@breaks("RSP-009", "RSP-006")
class PersonFirst(Harbour):
    """Writes the display of a failure before the failure, since the person is to see it first."""

    def children(self, call: Call, outcome: Answer | Failure) -> list[str]:
        children = super().children(call, outcome)
        return children[::-1] if isinstance(outcome, Failure) else children


@breaks("RSP-010")
class HardSpace(NegotiatedHarbour):
    """Sets the values that it filled in off from a display before them with a space, of the kind that never breaks."""

    def children(self, call: Call, outcome: Answer | Failure) -> list[str]:
        children = super().children(call, outcome)
        return [*children[:2], "\u00a0", children[2]] if len(children) == 3 else children


@breaks("RSP-020", "MCP-020")
class StripsSlashes(NegotiatedHarbour):
    """Takes back the backslashes that an earlier step used to add when it writes a document, and so those of others."""

    def output_data(self, call: Call, answer: Answer) -> str:
        return self.data(re.sub(r"\\(.?)", r"\1", self.legal(answer.text), flags=re.DOTALL))


@breaks("RSP-021", "RSP-022")
class MarksWhatWasFound(Harbour):
    """Sets off what was searched for with a tag of HTML where it stands in the text about berths."""

    def output_data(self, call: Call, answer: Answer) -> str:
        query = self.legal(str(call.args.get("query", "")))
        if call.tool != "find_berths" or not query:
            return super().output_data(call, answer)
        return f"<em>{self.data(query)}</em>".join(self.data(one) for one in self.legal(answer.text).split(query))


@breaks("RSP-023", "RSP-001")
class OnceIsEnough(NegotiatedHarbour):
    """Escapes the `>` of the first `]]>` of a text and of no other one, with a function that replaces once."""

    def output_data(self, call: Call, answer: Answer) -> str:
        said = self.legal(answer.text).replace("&", "&amp;").replace("<", "&lt;").replace("\r", "&#13;")
        return said.replace("]]>", "]]&gt;", 1)


@breaks("RSP-024", "RSP-020")
class OlderWriter(Harbour):
    """Writes the text beside a display with an older function, which leaves carriage returns as they are."""

    def output_data(self, call: Call, answer: Answer) -> str:
        said = super().output_data(call, answer)
        return said if answer.display is None else said.replace("&#13;", "\r")


@breaks("RSP-025", "RSP-001")
class ControlsByNumber(NegotiatedHarbour):
    """Writes control characters in the messages of failures as references, as if XML could have them in this way."""

    def message(self, call: Call, failure: Failure) -> str:
        said = self.data(LONE.sub("\ufffd", failure.message))
        return ILLEGAL.sub(lambda found: f"&#{ord(found[0])};" if found[0] < " " else "\ufffd", said)


@breaks("RSP-026", "RSP-020")
class OneForARun(NegotiatedHarbour):
    """Replaces characters that XML does not have in documents, several in a row by one sign for all of them."""

    def output_data(self, call: Call, answer: Answer) -> str:
        return self.data(re.sub(f"{ILLEGAL.pattern}+", "\ufffd", answer.text))


@breaks("RSP-027", "RSP-024")
class ReturnsInSections(Harbour):
    """Writes calls by radio that have a `<` as CDATA, unless it finds a tag of a document, with the returns in them."""

    def output_data(self, call: Call, answer: Answer) -> str:
        said = self.legal(answer.text)
        if call.tool != "hail" or "<" not in said or TAG.search(said):
            return super().output_data(call, answer)
        return f"<![CDATA[{said.replace(']]>', ']]]]><![CDATA[>')}]]>"


@breaks("RSP-028", "RSP-007")
class NameOnTwoLines(Harbour):
    """Writes attributes with an escape for tags alone: the name of an unknown tool keeps its line feeds and tabs."""

    def value(self, said: str) -> str:
        return super().value(said).replace("&#10;", "\n").replace("&#9;", "\t")


@breaks("RSP-081")
class ElementForEachBerth(NegotiatedHarbour):
    """Ends a list of berths with an element of its own for each of them, also where there are three hundred."""

    def document(self, call: Call, outcome: Answer | Failure) -> str:
        written = super().document(call, outcome)
        if call.tool != "find_berths" or isinstance(outcome, Failure):
            return written
        berths = "<h:berth/>" * len((outcome.data or {})["berths"])
        ours = f'<h:berths xmlns:h="{OURS}">{berths}</h:berths>'
        return written.removesuffix("</tool_response>") + ours + "</tool_response>"


@breaks("RSP-082", "RSP-020")
class CutByItsQueue(NegotiatedHarbour):
    """Writes the first 4,096 letters of a text into a document, as many as its queue takes, and marks nothing."""

    def output_data(self, call: Call, answer: Answer) -> str:
        return self.data(self.legal(answer.text)[:4096])
