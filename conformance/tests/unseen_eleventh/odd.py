"""Odd, but right."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from typing import Any

import mcp_types
from unseen_eighth.kit import PREFIX, ROWS, Answer, Call, Failure, Json, Tool, takes, whole, words

from unseen_eleventh.garden import Garden, NegotiatedGarden, PlainGarden
from unseen_eleventh.registry import permitted
from unseen_eleventh.tools import LEAF


@permitted
class QuotesAsEntities(NegotiatedGarden):
    """Writes quotes and apostrophes in texts and messages as the entities that XML has for them."""

    def data(self, said: str) -> str:
        return super().data(said).replace('"', "&quot;").replace("'", "&apos;")


@permitted
class SelfClosing(NegotiatedGarden):
    """Closes an element without content in the tag that opens it, also that of an empty text beside a display."""

    def element(self, name: str, attributes: dict[str, str], content: str) -> str:
        written = super().element(name, attributes, content)
        return written if content else written.removesuffix(f"></{name}>") + " />"


@permitted
class LongCallIds(Garden):
    """Has a `call_id` of 256 characters in each document, with white space, markup and emoji, and never the same."""

    def root_says(self, call: Call, outcome: Answer | Failure) -> dict[str, str]:
        number = f"  </tool_response>\t\r\n&#0;\"'{uuid.uuid4()}🌱"
        return {"call_id": (number * 8)[:256], **super().root_says(call, outcome)}


@permitted
class MovesThePoint(NegotiatedGarden):
    """Writes each number in the JSON of documents with a fraction and an exponent, as all of them are doubles."""

    def json(self, value: Any) -> str:
        return self.inert(self.spelled(self.numbers(whole(value))))

    def spelled(self, value: Any) -> str:
        """Return a value as JSON, with an exponent in each number."""
        if isinstance(value, dict):
            return "{" + ",".join(f"{json.dumps(name)}:{self.spelled(one)}" for name, one in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ",".join(self.spelled(one) for one in value) + "]"
        if isinstance(value, int | float) and not isinstance(value, bool):
            return f"{value:.16e}"
        return json.dumps(value, ensure_ascii=False)


@permitted
class FieldsTwiceOver(PlainGarden):
    """Names the arguments as a whole among those that it refuses, and each of the others twice."""

    def unfit(self, call: Call, faults: list[tuple[list[str | int], str]]) -> Failure:
        failure = super().unfit(call, faults)
        fields = [self.named(call, path, why) for path, why in faults]
        failure.meta = {"fields": [*fields, {"pointer": "", "message": ""}, *fields[::-1]], "side_effects": "none"}
        return failure


@permitted
class BagsRunOut(NegotiatedGarden):
    """Gives a bag away with each search, which thus is no longer read-only, and has none left after twenty-five."""

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        tools["find_seeds"].reads = False
        return tools

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool != "find_seeds":
            return answer
        if call.times > 25:
            meta: Json = {"side_effects": "none", "recovery": "give_up"}
            raise Failure("X_GARDEN_NO_BAGS", "All bags are given away.", meta, category="conflict")
        return replace(answer, text=f"{answer.text}\nOf these bags, {25 - call.times} are left.")


@permitted
class OneIdForAll(PlainGarden):
    """Has the same id in all displays, those in groups and the fallbacks of others included: there is one screen."""

    def served(self, call: Call, answer: Answer) -> Answer:
        return replace(answer, display=self.marked(answer.display))

    def marked(self, display: Any) -> Any:
        """Return a display with the id in it, and in what it is made of."""
        if display is None:
            return None
        said = {**display, "id": " "}
        if display["type"] == "group":
            said["payload"] = [self.marked(one) for one in display["payload"]]
        return {**said, "fallback": self.marked(display["fallback"])} if "fallback" in display else said


@permitted
class HintComesFirst(NegotiatedGarden):
    """Says that a client can perhaps not show a display before the text, in one line with its beginning."""

    def serve(self, call: Call) -> Answer:
        answer = super().serve(call)
        if answer.display is None or call.client:
            return answer
        return replace(answer, text=f"[Your client may be unable to show the display of this.] {answer.text}")

    def hint(self, call: Call, answer: Answer) -> str:
        return ""


@permitted
class AltIsInTheText(PlainGarden):
    """Ends each text with the words of the display, and so has no block for the person with the same words."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if answer.display is None or "alt" not in answer.display:
            return answer
        answer.display["alt"] = self.legal(answer.display["alt"])
        return replace(answer, text=f"{answer.text}\n{answer.display['alt']}")

    def alt(self, call: Call, display: Any) -> str:
        return ""


@permitted
class BookAsJson(NegotiatedGarden):
    """Names what it filled in as the JSON of the whole member, on many lines."""

    def filled_block(self, call: Call, filled: Json) -> mcp_types.TextContent:
        said = json.dumps(self.numbers(whole(filled)), ensure_ascii=False, indent="\t")
        return mcp_types.TextContent(type="text", text=said, _meta={f"{PREFIX}server_populated": True})


@permitted
class AnchorsInSchemas(Garden):
    """Has what its lists are made of under definitions with anchors, and a schema of its own for no argument."""

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        for tool in tools.values():
            tool.takes["$defs"] = {"never used": {"$anchor": "nothing", "not": {}}}
            for name, one in tool.takes["properties"].items():
                if one.get("type") == "array":
                    tool.takes["$defs"][f"one of {name}"] = {"$anchor": f"one.{name}", **one["items"]}
                    one["items"] = {"$ref": f"#one.{name}", "title": "One of them."}
        return tools


@permitted
class NothingUnevaluated(PlainGarden):
    """Refuses arguments that it does not know with `unevaluatedProperties`, and has its properties in `allOf`."""

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        for tool in tools.values():
            del tool.takes["additionalProperties"]
            tool.takes |= {"allOf": [{"properties": dict.fromkeys(tool.takes["properties"], True)}]}
            tool.takes["unevaluatedProperties"] = False
        return tools


@permitted
class AllInCapitals(NegotiatedGarden):
    """Has tools that speak in capitals, so that hardly anything of what was sent is in the text as it was sent."""

    def served(self, call: Call, answer: Answer) -> Answer:
        return answer if answer.media else replace(answer, text=answer.text.upper())


@permitted
class ShowsUsersAround(NegotiatedGarden):
    """Has tools without displays that have a `show_user` of their own: a name that is needed, and a wish."""

    def tools(self) -> dict[str, Tool]:
        def around(call: Call) -> Answer:
            return Answer(f"Somebody shows {call.args['show_user']} around the garden.")

        def greet(call: Call) -> Answer:
            return Answer("The user is shown." if call.args.get("show_user") else "The user is hidden.")

        name: Json = {**words(80), "minLength": 1, "description": "Whom to show around."}
        wish: Json = {"type": "boolean", "default": True, "description": "Whether the list of guests shows the user."}
        more = {
            "show_around": Tool("Show a user around.", takes("show_user", show_user=name), around),
            "list_guest": Tool("List a guest.", takes(show_user=wish), greet, meta={"display": False}),
        }
        return {**super().tools(), **more}


@permitted
class AttributesOfXml(NegotiatedGarden):
    """Has the language, and that white space counts, in the attributes that XML itself has for it."""

    def element(self, name: str, attributes: dict[str, str], content: str) -> str:
        of_xml = {"xml:lang": "en-GB", "xml:space": "preserve" if name == "llm_output" else "default"}
        return super().element(name, {**of_xml, **attributes}, content)


@permitted
class LongErrorIds(PlainGarden):
    """Has an id of 128 characters, in no alphabet that people read, for each failure that nobody foresaw."""

    def surprise(self, call: Call, error: Exception) -> Failure:
        failure = super().surprise(call, error)
        number = (" /~🌿<" + "".join(chr(0x4E00 + int(one, 16)) for one in uuid.uuid4().hex) * 4)[:128]
        self.log.append(f"{number} {type(error).__name__} in {call.tool}")
        failure.meta = {"error_id": number, "side_effects": "unknown", "recovery": "retry"}
        return failure


@permitted
class LeavesOutWhatIsKnown(NegotiatedGarden):
    """Writes no category in documents with a code for which the registry has one."""

    def failure_says(self, call: Call, failure: Failure) -> dict[str, str]:
        said = super().failure_says(call, failure)
        if failure.code in ROWS:
            del said["category"]
        return said


@permitted
class AlarmIsBroken(NegotiatedGarden):
    """Has built the alarm of a greenhouse wrongly, sees that, and fails where it would have to be shown."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool != "greenhouse" or call.args.get("look") != "alarm" or not call.wanted:
            return answer
        wrong = {"pointer": "/payload/level", "reason": "enum", "message": "This is none of the four levels."}
        meta: Json = {"params": {"envelope": [wrong]}, "side_effects": "none"}
        raise Failure("INVALID_PAYLOAD", "The display of this alarm is broken.", meta)


@permitted
class PictureOfTheFailure(NegotiatedGarden):
    """Sends a picture and the address of a page after each failure, and nothing after what was a success."""

    def document_blocks(self, call: Call, outcome: Answer | Failure, written: str) -> list[Any]:
        return [*super().document_blocks(call, outcome, written), *self.after(outcome)]

    def plain_blocks(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        return [*super().plain_blocks(call, outcome), *self.after(outcome)]

    def after(self, outcome: Answer | Failure) -> list[Any]:
        """Return the blocks that come with a failure."""
        if isinstance(outcome, Answer):
            return []
        picture = mcp_types.ImageContent(type="image", data=LEAF.partition(",")[2], mime_type="image/png")
        page = mcp_types.ResourceLink(type="resource_link", uri="https://garden.example/help", name="help")
        return [picture, page]


@permitted
class SaysThatNothingIsFilledIn(NegotiatedGarden):
    """Says with each success what it filled in, also with the tools for which that is nothing."""

    def serve(self, call: Call) -> Answer:
        answer = super().serve(call)
        return answer if answer.filled is not None else replace(answer, filled={"values": {}, "redacted": []})
