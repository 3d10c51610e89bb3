"""Odd, but right."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unseen_eighth.kit import PREFIX, ROWS, Answer, Call, Failure, Json, Tool
from unseen_eighth.observatory import EXTENSION, block

from unseen_tenth.harbour import SECRET, Harbour, NegotiatedHarbour, PlainHarbour
from unseen_tenth.registry import permitted


@permitted
class SpeaksWelsh(NegotiatedHarbour):
    """Has the attributes of XML for white space and for the language on each element."""

    def element(self, name: str, attributes: dict[str, str], content: str) -> str:
        return super().element(name, {"xml:lang": "cy", **attributes, "xml:space": "preserve"}, content)


@permitted
class NoNamespaceAtAll(Harbour):
    """Says on each element that there is no namespace, and declares one on the root that nothing is in."""

    def element(self, name: str, attributes: dict[str, str], content: str) -> str:
        return super().element(name, {"xmlns": "", **attributes}, content)

    def root_says(self, call: Call, outcome: Answer | Failure) -> dict[str, str]:
        return {**super().root_says(call, outcome), "xmlns:llm_output": "urn:harbour.example:nothing"}


@permitted
class IndentedFailures(Harbour):
    """Writes the message of a failure on a line of its own, and `meta` on the next one, with white space around."""

    def failure(self, call: Call, failure: Failure) -> str:
        meta = "" if failure.meta is None else self.json_element("meta", failure.meta) + "\n\t"
        said = f"\n\t  {self.message(call, failure)}&#13;&#10;  {meta}\r\n"
        return self.element("error", self.failure_says(call, failure), said)


@permitted
class CodesSayItAll(NegotiatedHarbour):
    """Writes no category with a code of the registry in documents, and `retryable` in each failure."""

    def failure_says(self, call: Call, failure: Failure) -> dict[str, str]:
        said = {"retryable": "false", **super().failure_says(call, failure)}
        return {name: one for name, one in said.items() if name != "category" or failure.code not in ROWS}


@permitted
class ReadFromAnArchive(Harbour):
    """Marks each element of each document as lossy, since all that it has went through an archive of tapes."""

    def element(self, name: str, attributes: dict[str, str], content: str) -> str:
        return super().element(name, {**attributes, "lossy": "true"}, content)


@permitted
class TeachesDocuments(Harbour):
    """Has tools whose texts are whole documents, as text, with the text that they have elsewhere in it."""

    def served(self, call: Call, answer: Answer) -> Answer:
        said = self.element("tool_response", {"tool_name": "an example"}, self.element("llm_output", {}, answer.text))
        return replace(answer, text=f'<?xml version="1.0"?>\n<!DOCTYPE x>\n{said}\n<!-- &amp; so on ]]> -->')


@permitted
class OnlyBlanks(NegotiatedHarbour):
    """Says nothing but white space to the model with three tools, whose displays say it all."""

    def served(self, call: Call, answer: Answer) -> Answer:
        return replace(answer, text=" \n\t \n") if call.tool in ("tide_chart", "stow", "log-entry") else answer


@permitted
class EndOfTheName(Harbour):
    """Repeats only the end of a name that is longer than the name of any tool, and lists the names that there are."""

    def root_says(self, call: Call, outcome: Answer | Failure) -> dict[str, str]:
        said = super().root_says(call, outcome)
        end = call.tool[-50:]
        if len(call.tool) <= 128:
            return said
        return {"tool_name": self.legal(end), **({} if self.legal(end) == end else {"lossy": "true"})}

    def stranger(self, call: Call) -> Answer:
        try:
            return super().stranger(call)
        except Failure as failure:
            failure.meta = {"params": {"names": sorted(self.tools())}, "recovery": "give_up"}
            raise


@permitted
class SaysItTwice(NegotiatedHarbour):
    """Names each argument that does not fit twice, the last one first, with other words and members of its own."""

    def unfit(self, call: Call, faults: list[tuple[list[str | int], str]]) -> Failure:
        failure = super().unfit(call, faults)
        fields = (failure.meta or {})["fields"][::-1]
        again = [{"message": "", "pointer": one["pointer"], "line": 1} for one in fields]
        failure.meta = {"harbour/gate": [None], "fields": [*fields, *again]}
        return failure


@permitted
class ColdStart(PlainHarbour):
    """Fails the first good call of each tool, since what is behind it has to get warm, and says when to try again."""

    def __init__(self) -> None:
        super().__init__()
        self.warm: set[str] = set()

    def faults(self, call: Call, tool: Tool) -> list[tuple[list[str | int], str]]:
        faults = super().faults(call, tool)
        if faults or call.tool in self.warm:
            return faults
        self.warm.add(call.tool)
        meta: Json = {"side_effects": "none", "cause": {"code": "CONNECTION_FAILED", "harbour": "cold"}}
        raise Failure("UPSTREAM_UNAVAILABLE", "It is cold in here: wait a little.", meta, wait=1)


@permitted
class BrokenPictures(NegotiatedHarbour):
    """Has two tools whose authors make no valid envelope with some arguments, which it says where one is asked for."""

    def served(self, call: Call, answer: Answer) -> Answer:
        broken = call.args.get("style") == "sketch" or call.args.get("look") == "almanac"
        if broken and call.wanted:
            wrong = [{"pointer": "/payload", "reason": "missing", "message": "There is no payload."}]
            raise Failure("INVALID_PAYLOAD", "The display of this tool is not valid.", {"params": {"envelope": wrong}})
        return answer


@permitted
class DisclosesNothing(Harbour):
    """Names what it filled in and discloses no value of it, secret or not."""

    def disclosed(self, call: Call) -> Json:
        said: Json = {"redacted": sorted(call.filled, key=lambda name: name not in SECRET)}
        return {**said, "overridden": sorted(call.forged)} if call.forged else said


@permitted
class SaysSorry(NegotiatedHarbour):
    """Says sorry to the person alone, in a block of its own, with each failure and in either form."""

    def document_blocks(self, call: Call, outcome: Answer | Failure, written: str) -> list[Any]:
        return [*super().document_blocks(call, outcome, written), *self.sorry(outcome)]

    def plain_blocks(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        return [*self.sorry(outcome), *super().plain_blocks(call, outcome)]

    def sorry(self, outcome: Answer | Failure) -> list[Any]:
        """Return what is said to the person."""
        return [block(f"Sorry! ({outcome.code})\r\n", "user")] if isinstance(outcome, Failure) else []


@permitted
class WarnsEverybody(NegotiatedHarbour):
    """Tells the model of each client, and before the answer, that a display is perhaps not shown."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if not self.keeps(call, answer.display):
            return answer
        said = "There is a display for the person, but perhaps your client is not able to show it.\n\n"
        return replace(answer, text=said + answer.text)

    def hint(self, call: Call, answer: Answer) -> str:
        return ""


@permitted
class WordsInTheText(PlainHarbour):
    """Begins the text with the words for a display, where there are any, and so sends them to nobody else."""

    def served(self, call: Call, answer: Answer) -> Answer:
        words = super().alt(call, answer.display) if call.wanted else ""
        return replace(answer, text=f"[{words}] {answer.text}") if words else answer

    def alt(self, call: Call, display: Any) -> str:
        words = super().alt(call, display)
        return "" if self.legal(words) == words else words


@permitted
class FramesAll(NegotiatedHarbour):
    """Puts each display into a frame of its own type, with the display as the way out for those who have no frames."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if answer.display is None:
            return answer
        inside = answer.display
        frame: Json = {"type": "x-harbour.9-frame", "payload": [{"oak": inside}], "fallback": inside, "frame": None}
        frame |= {name: inside[name] for name in ("alt", "title") if name in inside}
        return replace(answer, display=frame)


@permitted
class InARow(PlainHarbour):
    """Lists tools each of which depends on all that are before it, has the same to give, and is cacheable if it can."""

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        for at, tool in enumerate(tools.values()):
            tool.meta |= {"depends_on": [*tools][:at][::-1], "provides": "what was said", "cacheable": tool.reads}
        return tools


@permitted
class AnnouncedTwice(NegotiatedHarbour):
    """Announces the extension at the place of the other era, too, where messages have one, with members of its own."""

    def announced(self, *, handshake: bool) -> Json:
        said = {**self.announcement(handshake=handshake), "maxBytes": 1, "displayTypes": []}
        return {"experimental": {EXTENSION: said}, "extensions": {EXTENSION: said}}


@permitted
class CodeAtTheEnd(PlainHarbour):
    """Words the text of a failure around its message, with the code at the end, and says more of its plain results."""

    def text_blocks(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        if isinstance(outcome, Failure):
            said = f'"{self.legal(outcome.message)}" is what the harbour master said.'
            return [block(said), block(""), block(f"\t(Look for {outcome.code} in the book.)")]
        return super().text_blocks(call, outcome)

    def plain_meta(self, call: Call, outcome: Answer | Failure) -> Json:
        meta = super().plain_meta(call, outcome)
        mark = meta[f"{PREFIX}result"]
        if isinstance(outcome, Answer):
            mark = {"truncated": False, "lossy": False, "format": "text/vnd.harbour+plain", **mark}
            meta[f"{PREFIX}result"] = {
                **mark,
                **({} if outcome.display is None or call.client else {"display_text": "data"}),
            }
        return meta


@permitted
class ListsOfTypes(NegotiatedHarbour):
    """Writes each type in its input schemas as a list of one, each enum as a choice of constants, and refers to all."""

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        for tool in tools.values():
            tool.takes = {
                **self.loose(tool.takes),
                "type": "object",
                "$schema": "https://json-schema.org/draft/2020-12/schema",
            }
        return tools

    def loose(self, schema: Any) -> Any:
        """Return a schema in other words."""
        if isinstance(schema, list):
            return [self.loose(one) for one in schema]
        if not isinstance(schema, dict):
            return schema
        said: Json = {}
        for name, one in schema.items():
            match name:
                case "type" if isinstance(one, str):
                    said["type"] = [one]
                case "enum":
                    said["oneOf"] = [{"const": value, "title": value.title()} for value in one]
                case "examples" | "default":
                    said[name] = one
                case _:
                    said[name] = self.loose(one)
        return said
