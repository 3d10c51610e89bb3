"""Wrong servers: what is written of texts, and around them."""

from __future__ import annotations

import re
import unicodedata

from unseen_fifth.kit import Outcome, Problem, Success, legal
from unseen_fifth.observatory import Negotiated, Observatory
from unseen_fifth.registry import breaks
from unseen_fifth.writers import Paper


@breaks("RSP-001")
class TwiceLossy(Observatory):
    """The resolver of names marks replaced characters itself, and the code for all tools puts its
    own mark beside it.
    """

    class _Paper(Paper):
        def model(self, success: Success) -> str:
            written = super().model(success)
            if self.visit.tool == "resolve_name" and legal(success.text) != success.text:
                return written.replace("<llm_output", '<llm_output lossy="true"', 1)
            return written

    paper = _Paper


@breaks("RSP-003")
class CommentOnRepeats(Negotiated):
    """Whoever debugs the cache wants to see a hit, so an answer that was given before has a comment at its end."""

    class _Paper(Paper):
        def parts(self, outcome: Outcome) -> list[str]:
            known = self.visit.again > 1 and self.tool is not None and (self.tool.about or {}).get("cacheable")
            return [*super().parts(outcome), *(["<!-- cached -->"] if known else [])]

    paper = _Paper


@breaks("RSP-007")
class CopiedToolName(Observatory):
    """What refuses the arguments of the almanac was copied from the search, with the name of that tool in it."""

    class _Paper(Paper):
        def root_attributes(self, outcome: Outcome) -> dict[str, str]:
            said = super().root_attributes(outcome)
            refused = isinstance(outcome, Problem) and outcome.code == "VALIDATION_FAIL"
            return {**said, "tool_name": "cone_search"} if refused and self.visit.tool == "ephemeris" else said

    paper = _Paper


@breaks("RSP-011")
class LanguageAttribute(Negotiated):
    """Since the tools speak other languages than English, the element for the model has an
    attribute with the language.
    """

    class _Paper(Paper):
        def model_attributes(self, success: Success) -> dict[str, str]:
            said, lang = super().model_attributes(success), self.visit.args.get("lang", "en")
            return said if lang == "en" else {**said, "lang": str(lang)}

    paper = _Paper


@breaks("RSP-020", "MCP-020")
class IndentedLines(Negotiated):
    """Documents of tools that list something are indented, so that they look well in the log."""

    class _Paper(Paper):
        def model_text(self, success: Success) -> str:
            written = super().model_text(success)
            return written.replace("\n", "\n  ") if self.visit.tool in {"cone_search", "ephemeris"} else written

    paper = _Paper


@breaks("RSP-020", "MCP-020")
class NormalisedNames(Negotiated):
    """The names of objects are brought into one normal form of Unicode while the document is written."""

    class _Paper(Paper):
        def model_text(self, success: Success) -> str:
            if self.visit.tool != "resolve_name":
                return super().model_text(success)
            return self.escaped(unicodedata.normalize("NFKC", legal(success.text)))

    paper = _Paper


@breaks("RSP-022")
class RawObservers(Observatory):
    """The line with the observers is joined from a list and put behind a text that has been escaped already."""

    class _Paper(Paper):
        def model_text(self, success: Success) -> str:
            if self.visit.tool != "observe_plan":
                return super().model_text(success)
            plan, comma, observers = legal(success.text).partition("\nObservers: ")
            return self.escaped(plan) + comma + observers.replace("\r", "&#13;").replace("]]>", "]]&gt;")

    paper = _Paper


@breaks("RSP-022")
class RawNotFound(Negotiated):
    """What was not found is answered by a function of its own, which builds its error in one string."""

    class _Paper(Paper):
        def message(self, problem: Problem) -> str:
            if problem.code != "NOT_FOUND":
                return super().message(problem)
            return legal(str(problem)).replace("\r", "&#13;").replace("]]>", "]]&gt;")

    paper = _Paper


@breaks("RSP-024")
class RawReturns(Observatory):
    """The remarks of the night come from an old terminal; they are escaped by a table without the carriage return."""

    class _Paper(Paper):
        def escaped(self, said: str) -> str:
            written = super().escaped(said)
            return written.replace("&#13;", "\r") if self.visit.args.get("remarks") else written

    paper = _Paper


@breaks("RSP-026")
class QuestionMarks(Observatory):
    """Messages to observers go through an encoder for telephones, which writes a question mark for what it lacks."""

    class _Paper(Paper):
        def model_text(self, success: Success) -> str:
            if self.visit.tool == "page_observer":
                return self.escaped(legal(success.text, "?"))
            return super().model_text(success)

    paper = _Paper


@breaks("RSP-027")
class LowerCaseCdata(Observatory):
    """Notes with markup are written as CDATA unless a pattern finds a tag of a document in them; it
    knows simple tags.
    """

    _OURS = re.compile("</?(tool_response|llm_output|display|error|meta|server_populated)>")

    class _Paper(Paper):
        def model_text(self, success: Success) -> str:
            said = legal(success.text)
            plain = self.visit.tool != "format_note" or "<" not in said or "\r" in said
            if plain or LowerCaseCdata._OURS.search(said):
                return super().model_text(success)
            return "<![CDATA[" + said.replace("]]>", "]]]]><![CDATA[>") + "]]>"

    paper = _Paper


@breaks("RSP-028")
class RawQuery(Observatory):
    """The root has what was asked for in an attribute of the observatory's own namespace, with line
    feeds as they came.
    """

    class _Paper(Paper):
        def document(self, outcome: Outcome) -> str:
            written, asked = super().document(outcome), self.visit.args.get("object_name")
            if not isinstance(asked, str) or isinstance(outcome, Problem):
                return written
            lossy = ' lossy="true"' if legal(asked) != asked else ""
            value = self.quoted(legal(asked[:200])).replace("&#10;", "\n").replace("&#9;", "\t")
            own = f'<tool_response xmlns:o="https://sky.example/ns" o:asked={value}{lossy}'
            return written.replace("<tool_response", own, 1)

    paper = _Paper


@breaks("RSP-082", "RSP-020")
class CutSilently(Negotiated):
    """In documents a note ends after a thousand characters with an ellipsis, because models read
    the display as well.
    """

    class _Paper(Paper):
        def model_text(self, success: Success) -> str:
            said = legal(success.text)
            if self.visit.tool == "format_note" and len(said) > 1000:
                return self.escaped(said[:1000] + "…")
            return super().model_text(success)

    paper = _Paper
