"""How the observatory writes documents."""

from __future__ import annotations

import json
from typing import Any

from unseen_eighth.kit import ILLEGAL, LONE, Answer, Call, Failure, Json, broken, whole

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

    def output(self, call: Call, answer: Answer) -> str:
        """Return the element for the model."""
        return self.element("llm_output", self.output_says(call, answer), self.output_data(call, answer))

    def output_says(self, call: Call, answer: Answer) -> dict[str, str]:
        """Return the attributes of the element for the model."""
        said: dict[str, str] = {}
        if answer.media:
            said["format"] = answer.media
        if answer.cut:
            said["truncated"] = "true"
        if self.legal(answer.text) != answer.text:
            said["lossy"] = "true"
        return said

    def output_data(self, call: Call, answer: Answer) -> str:
        """Return the character data for the model."""
        return self.data(self.legal(answer.text))

    def failure(self, call: Call, failure: Failure) -> str:
        """Return the element of a failure."""
        meta = "" if failure.meta is None else self.json_element("meta", failure.meta)
        return self.element("error", self.failure_says(call, failure), self.message(call, failure) + meta)

    def failure_says(self, call: Call, failure: Failure) -> dict[str, str]:
        """Return the attributes of a failure."""
        said = {"code": failure.code, "category": failure.category}
        if failure.retryable:
            said["retryable"] = "true"
            if failure.wait is not None:
                said["retry_after_ms"] = str(failure.wait)
        if self.legal(failure.message) != failure.message:
            said["lossy"] = "true"
        return said

    def message(self, call: Call, failure: Failure) -> str:
        """Return the character data of a message."""
        return self.data(self.legal(failure.message))

    def shown(self, call: Call, display: Any) -> str:
        """Return the element for the person."""
        return self.json_element("display", display)

    def populated(self, call: Call, filled: Json) -> str:
        """Return the element that says what the observatory filled in."""
        return self.json_element("server_populated", filled)

    def children(self, call: Call, outcome: Answer | Failure) -> list[str]:
        """Return the elements of a document."""
        if isinstance(outcome, Failure):
            first, filled = self.failure(call, outcome), None
        else:
            first, filled = self.output(call, outcome), outcome.filled
        display = [self.shown(call, outcome.display)] if outcome.display is not None else []
        return [first, *display, *([self.populated(call, filled)] if filled is not None else [])]

    def root_says(self, call: Call, outcome: Answer | Failure) -> dict[str, str]:
        """Return the attributes of the root."""
        name = call.tool[:128]
        said = {"tool_name": self.legal(name)}
        return said if said["tool_name"] == name else {**said, "lossy": "true"}

    def document(self, call: Call, outcome: Answer | Failure) -> str:
        """Return a document."""
        return self.element("tool_response", self.root_says(call, outcome), "".join(self.children(call, outcome)))

    def size(self, written: str) -> int:
        """Return the bytes of a document."""
        return len(LONE.sub("\ufffd", written).encode())
