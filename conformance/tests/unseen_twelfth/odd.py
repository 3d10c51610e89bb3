"""Odd, but right."""

from __future__ import annotations

import random
import re
import uuid
from dataclasses import replace
from typing import Any

import mcp_types
from unseen_eighth.kit import Answer, Call, Failure, Json, Tool
from unseen_eighth.observatory import EXTENSION, block

from unseen_twelfth.registry import permitted
from unseen_twelfth.theatre import NegotiatedTheatre, PlainTheatre, Theatre

GIF = bytes.fromhex("47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b")


@permitted
class ForeignTwins(NegotiatedTheatre):
    """Ends each document with elements of its own namespace that have the names of those of documents."""

    def children(self, call: Call, outcome: Answer | Failure) -> list[str]:
        ours = "urn:theatre.example:twins"
        twins = [
            f'<t:llm_output xmlns:t="{ours}">No text of the tool.<t:error>Nor did it fail.</t:error></t:llm_output>',
            f'<display xmlns="{ours}">{{"this is": no JSON}}</display>',
        ]
        return [*super().children(call, outcome), *twins]


@permitted
class KnowsBetter(NegotiatedTheatre):
    """Says that a full foyer does not get empty by itself, and that a conflict can be tried again at once."""

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if isinstance(outcome, Failure) and outcome.code == "RATE_LIMIT":
            outcome.retryable, outcome.wait = False, None
        if isinstance(outcome, Failure) and outcome.code == "CONFLICT":
            outcome.retryable, outcome.wait = True, 0
        return outcome


@permitted
class WaitsForAges(PlainTheatre):
    """Has the alias of a code for a full foyer, and the longest wait that there can be, for which nobody can wait."""

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if isinstance(outcome, Failure) and outcome.code == "RATE_LIMIT":
            outcome.code, outcome.wait = "RATE_LIMITED", 2**53 - 1
        return outcome


@permitted
class AnnouncedInBothPlaces(NegotiatedTheatre):
    """Announces the extension in both places in either era, with a member of its own in the announcement."""

    def announced(self, *, handshake: bool) -> Json:
        said = {**self.announcement(handshake=handshake), "theatre/house": {"seats": 412}}
        return {"experimental": {EXTENSION: said}, "extensions": {EXTENSION: said}}


@permitted
class TakesAnything(Theatre):
    """Has schemas that let a caller send members which nobody knows, and does not look at them."""

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        for tool in tools.values():
            tool.takes = self.opened(tool.takes)
        return tools

    def opened(self, schema: Any) -> Any:
        """Return a schema that lets in what it does not know."""
        if isinstance(schema, list):
            return [self.opened(one) for one in schema]
        if not isinstance(schema, dict):
            return schema
        return {
            name: self.opened(one) for name, one in schema.items() if (name, one) != ("additionalProperties", False)
        }


@permitted
class DigitsAreNumbers(PlainTheatre):
    """Takes a text of digits for the whole number that it spells, as the forms of its page send them."""

    def set_aside(self, call: Call, tool: Tool) -> None:
        super().set_aside(call, tool)
        for name, one in tool.takes["properties"].items():
            said = call.args.get(name)
            if one.get("type") == "integer" and isinstance(said, str) and re.fullmatch("0|-?[1-9][0-9]{0,14}", said):
                call.args[name] = int(said)


@permitted
class FailsInASentence(PlainTheatre):
    """Says the code and the message of a failure within a sentence, over several lines."""

    def text_blocks(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        if isinstance(outcome, Answer):
            return super().text_blocks(call, outcome)
        said = self.legal(outcome.message)
        return [block(f"Alas!\n\nWhat we call {outcome.code} has come to pass, to wit:\n{said}\n-- Exeunt.")]


@permitted
class AddressesTheModel(NegotiatedTheatre):
    """Says with each text for the model, and with each document, that it is for the model, and how much it matters."""

    def document_blocks(self, call: Call, outcome: Answer | Failure, written: str) -> list[Any]:
        [_, *rest] = super().document_blocks(call, outcome, written)
        return [self.addressed(written, "assistant", "user"), *rest]

    def text_blocks(self, call: Call, outcome: Answer | Failure) -> list[Any]:
        return [self.addressed(one.text, "assistant") for one in super().text_blocks(call, outcome)]

    def addressed(self, said: str, *audience: Any) -> mcp_types.TextContent:
        """Return a text block for somebody."""
        noted = mcp_types.Annotations(audience=[*audience], priority=1.0)
        return mcp_types.TextContent(type="text", text=said, annotations=noted)


@permitted
class DisplaysOfTheHouse(PlainTheatre):
    """Has displays of a type of its own alone, with a long name, a list as the payload, and no fallback."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if answer.display is None:
            return answer
        old = answer.display
        display: Json = {"type": "x-theatre.example-house.view.2", "payload": [old["type"], old["payload"]]}
        return replace(answer, display={**display, "alt": old.get("alt", f"The house shows a {old['type']}.")})


@permitted
class ShufflesTheList(NegotiatedTheatre):
    """Lists its tools in another order each time, and says something else of each of them."""

    def list_of(self, *, declared: bool, handshake: bool) -> list[mcp_types.Tool]:
        tools = super().list_of(declared=declared, handshake=handshake)
        random.shuffle(tools)
        for number, tool in enumerate(tools):
            tool.description = f"{tool.description} Today this is number {number + 1} of the bill."
        return tools


@permitted
class NotesInTheBook(NegotiatedTheatre):
    """Notes more in the element about what it filled in than is asked for, and that nothing was overridden."""

    def disclosed(self, call: Call) -> Json:
        notes: Json = {"overridden": [], "theatre/counter": {"clerk": "<none> & nobody", "till": [2**53 - 1, None]}}
        return {**notes, **super().disclosed(call)}


@permitted
class NeverTheSameTwice(NegotiatedTheatre):
    """Ends each text with a number that is never the same, and so do the alternative words of each display."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if answer.media or self.tools()[call.tool].meta.get("cacheable"):
            return answer
        if answer.display is not None:
            answer.display["alt"] = f"{answer.display.get('alt', 'A display.')[:3000]} ({uuid.uuid4()})"
        return replace(answer, text=f"{answer.text}\nTicket {uuid.uuid4()}")


@permitted
class QuotesDocuments(NegotiatedTheatre):
    """Has a tool for cues that quotes a document in its text, as the manual of its desk does."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool != "stage_cue":
            return answer
        quoted = '<tool_response tool_name="stage_cue"><llm_output>Go!</llm_output></tool_response>'
        return replace(answer, text=f"{answer.text}\nThe manual says that the desk answers with `{quoted}` then.")


@permitted
class ChoicesWithTitles(PlainTheatre):
    """Has a constant with a title for each choice in its schemas, as generators of forms like it."""

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        for tool in tools.values():
            tool.takes = self.titled(tool.takes)
        return tools

    def titled(self, schema: Any) -> Any:
        """Return a schema with constants in the place of choices."""
        if isinstance(schema, list):
            return [self.titled(one) for one in schema]
        if not isinstance(schema, dict):
            return schema
        if isinstance(schema.get("enum"), list):
            return {"oneOf": [{"const": one, "title": f"The choice {one}"} for one in schema["enum"]]}
        return {name: self.titled(one) for name, one in schema.items()}


@permitted
class TypesInLists(Theatre):
    """Has a list with one type in it wherever its schemas have a type, apart from the top of each."""

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        for tool in tools.values():
            tool.takes = {**self.listing(tool.takes), "type": "object"}
        return tools

    def listing(self, schema: Any) -> Any:
        """Return a schema with its types in lists."""
        if isinstance(schema, list):
            return [self.listing(one) for one in schema]
        if not isinstance(schema, dict):
            return schema
        said = {name: self.listing(one) for name, one in schema.items()}
        return {**said, "type": [said["type"]]} if isinstance(said.get("type"), str) else said


@permitted
class ChartFromDatasets(PlainTheatre):
    """Has the data of a chart under `datasets`, with members and fields there that a chart can have nowhere else."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if call.tool != "sales_chart":
            return answer
        payload = answer.display["payload"]
        rows = [{"url": one["night"], "expr": one["seats"], "href": "none"} for one in payload["data"]["values"]]
        payload["datasets"] = {"sold": rows, "spare": [{"config": {}, "transform": [{"params": None}]}]}
        payload["data"] = {"name": "sold"}
        payload["encoding"]["x"]["field"], payload["encoding"]["y"]["field"] = "url", "expr"
        return answer


@permitted
class OtherShapes(NegotiatedTheatre):
    """Has the other one of the shapes that the payload of a type can have, and a picture spelled out byte by byte."""

    def served(self, call: Call, answer: Answer) -> Answer:
        if answer.display is not None:
            answer.display["payload"] = self.reshaped(answer.display["type"], answer.display["payload"])
        return answer

    def reshaped(self, kind: str, payload: Any) -> Any:
        """Return a payload in another shape."""
        if kind == "table":
            return [*payload["rows"], {"number": None, "title": ["nothing"], "usher": {"name": True}}, {}]
        if kind == "image":
            return "data:image/gif," + "".join(f"%{one:02x}" for one in GIF)
        if kind == "facts":
            pairs = payload.items() if isinstance(payload, dict) else [(one["label"], one["value"]) for one in payload]
            return [{"label": name, "value": one} for _ in range(2) for name, one in pairs]
        if kind == "metric":
            return [{"label": payload["label"], "value": f"{payload['value']} of a hundred", "delta": ""}]
        short = {"code": "code", "notification": "message"}
        if kind in short:
            return payload[short[kind]]
        return {"uri": payload["uri"]} if kind == "file" else payload


@permitted
class PaddedMessages(NegotiatedTheatre):
    """Has white space of all kinds at both ends of the messages of its failures."""

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if isinstance(outcome, Failure):
            outcome.message = f"\t\n {outcome.message} \r\n\n\t"
        return outcome


@permitted
class ShowsEachFailure(NegotiatedTheatre):
    """Sends a display with each failure of a display tool that was called to show something, also with a refusal."""

    async def outcome(self, call: Call) -> Answer | Failure:
        outcome = await super().outcome(call)
        if isinstance(outcome, Failure) and outcome.display is None and call.wanted:
            said = "The show cannot go on."
            display: Json = {"type": "notification", "payload": {"message": said, "level": "error"}}
            outcome.display = self.understood(call, display)
        return outcome


@permitted
class NoToolsAtAll(Theatre):
    """Has no tools, since the theatre is on holiday, and answers each call that there is no such tool."""

    def tools(self) -> dict[str, Tool]:
        return {}
