"""Servers whose JSON goes wrong inside the document (sections 2.4 and 2.7)."""

from __future__ import annotations

import json
from typing import Any

from unseen.desk import Answer, Call, Desk, Failure, Negotiated
from unseen.registry import breaks


@breaks("RSP-040", "RSP-045")
class MeanOfNothing(Desk):
    """The mean of the points is in the chart's data: without points it is NaN, which Python writes into JSON."""

    def plot(self, call: Call, points: list[Any]) -> Any:
        mean = sum(points) / len(points) if points else float("nan")
        return {**super().plot(call, points), "mean": mean}

    def json(self, value: Any) -> str:
        return self.inert(json.dumps(self.safe(value)))


@breaks("RSP-041")
class RepeatedArgument(Desk):
    """The `params` of a refusal are joined from strings, one member `argument` for each refused argument: with two
    of them the name is there twice."""

    def error(self, call: Call, failure: Failure) -> str:
        written = super().error(call, failure)
        fields = (failure.meta or {}).get("fields", [])
        members = ", ".join(f'"argument": {self.json(one["pointer"])}' for one in fields)
        return written.replace("<meta>{", f'<meta>{{"params": {{{members}}}, ', 1) if members else written


@breaks("RSP-044")
class CutCaptions(Desk):
    """The text of a card is cut at 25 units of UTF-16, as `slice` of JavaScript does it: a character outside the BMP
    there is cut in two."""

    def card(self, call: Call, text: str) -> Any:
        units = text.encode("utf-16-le")[:50]
        short = "".join(chr(int.from_bytes(units[at : at + 2], "little")) for at in range(0, len(units), 2))
        return {**super().card(call, text), "title": short}


@breaks("RSP-095", "MCP-025")
class ScalarForOne(Negotiated):
    """`overridden` was XML once: where it has one item, the converter writes a string in the place of a list."""

    def do_orders(self, call: Call) -> Answer:
        answer = super().do_orders(call)
        populated = dict(answer.populated or {})
        if len(populated.get("overridden", ())) == 1:
            populated["overridden"] = populated["overridden"][0]
        return Answer(answer.text, populated=populated)


@breaks("RSP-096")
class MaskedAndRedacted(Desk):
    """A secret that the caller tried to set is masked in `values`, and is in `redacted` all the same."""

    def do_orders(self, call: Call) -> Answer:
        answer = super().do_orders(call)
        populated = dict(answer.populated or {})
        if "api_key" in call.arguments:
            populated["values"] = {**populated["values"], "api_key": "***"}
        return Answer(answer.text, populated=populated)
