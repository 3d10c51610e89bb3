"""How the bakery writes documents."""

from __future__ import annotations

import json
from typing import Any

from unseen_seventh.kit import ILLEGAL, LONE, Goods, Json, Order, Refusal, broken, whole

MOST = 2**53 - 1
DATA: dict[str, str | int | None] = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}
VALUE: dict[str, str | int | None] = {**DATA, '"': "&quot;", "\t": "&#9;", "\n": "&#10;"}
INERT = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&"})


class Writer:
    """Elements and attributes, from the inside out."""

    def legal(self, said: str) -> str:
        """Return a text with U+FFFD for what XML does not have."""
        return ILLEGAL.sub("\ufffd", said)

    def data(self, said: str) -> str:
        """Return a text as character data."""
        return said.translate(str.maketrans(DATA))

    def value(self, said: str) -> str:
        """Return a text as the value of an attribute."""
        return said.translate(str.maketrans(VALUE))

    def element(self, name: str, attributes: dict[str, str], content: str) -> str:
        """Return an element with its content."""
        said = "".join(f' {key}="{self.value(one)}"' for key, one in attributes.items())
        return f"<{name}{said}>{content}</{name}>"

    # -- JSON ----------------------------------------------------------------------------------------------------

    def numbers(self, value: Any) -> Any:
        """Return a value with a text for each whole number that a double cannot hold."""
        if isinstance(value, dict):
            return {name: self.numbers(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self.numbers(one) for one in value]
        large = isinstance(value, int) and not isinstance(value, bool) and abs(value) > MOST
        return str(value) if large else value

    def json(self, value: Any) -> str:
        """Return a value as JSON in which nothing is markup."""
        written = json.dumps(self.numbers(whole(value)), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return self.inert(written)

    def inert(self, written: str) -> str:
        """Return JSON without what is markup or illegal in XML."""
        return ILLEGAL.sub(lambda found: f"\\u{ord(found[0]):04x}", written.translate(INERT))

    def json_element(self, name: str, value: Any) -> str:
        """Return an element with JSON in it."""
        return self.element(name, {"lossy": "true"} if broken(value) else {}, self.json(value))

    # -- elements ------------------------------------------------------------------------------------------------

    def output(self, order: Order, goods: Goods) -> str:
        """Return the element for the model."""
        return self.element("llm_output", self.output_says(order, goods), self.output_data(order, goods))

    def output_says(self, order: Order, goods: Goods) -> dict[str, str]:
        """Return the attributes of the element for the model."""
        said: dict[str, str] = {}
        if goods.media:
            said["format"] = goods.media
        if goods.cut:
            said["truncated"] = "true"
        if self.legal(goods.text) != goods.text:
            said["lossy"] = "true"
        return said

    def output_data(self, order: Order, goods: Goods) -> str:
        """Return the character data for the model."""
        return self.data(self.legal(goods.text))

    def failure(self, order: Order, refusal: Refusal) -> str:
        """Return the element of a failure."""
        meta = "" if refusal.meta is None else self.json_element("meta", refusal.meta)
        return self.element("error", self.failure_says(order, refusal), self.message(order, refusal) + meta)

    def failure_says(self, order: Order, refusal: Refusal) -> dict[str, str]:
        """Return the attributes of a failure."""
        said = {"code": refusal.code, "category": refusal.category}
        if refusal.retryable:
            said["retryable"] = "true"
            if refusal.wait is not None:
                said["retry_after_ms"] = str(refusal.wait)
        if self.legal(refusal.message) != refusal.message:
            said["lossy"] = "true"
        return said

    def message(self, order: Order, refusal: Refusal) -> str:
        """Return the character data of a message."""
        return self.data(self.legal(refusal.message))

    def shown(self, order: Order, display: Any) -> str:
        """Return the element for the person."""
        return self.json_element("display", display)

    def populated(self, order: Order, filled: Json) -> str:
        """Return the element that says what the bakery filled in."""
        return self.json_element("server_populated", filled)

    def children(self, order: Order, outcome: Goods | Refusal) -> list[str]:
        """Return the elements of a document."""
        if isinstance(outcome, Refusal):
            first, filled = self.failure(order, outcome), None
        else:
            first, filled = self.output(order, outcome), outcome.filled
        display = [self.shown(order, outcome.display)] if outcome.display is not None else []
        return [first, *display, *([self.populated(order, filled)] if filled is not None else [])]

    def root_says(self, order: Order, outcome: Goods | Refusal) -> dict[str, str]:
        """Return the attributes of the root."""
        name = order.tool[:128]
        said = {"tool_name": self.legal(name)}
        return said if said["tool_name"] == name else {**said, "lossy": "true"}

    def document(self, order: Order, outcome: Goods | Refusal) -> str:
        """Return a document."""
        return self.element("tool_response", self.root_says(order, outcome), "".join(self.children(order, outcome)))

    def size(self, written: str) -> int:
        """Return the bytes of a document."""
        return len(LONE.sub("\ufffd", written).encode())
