"""The two forms of an answer: `Paper` writes documents, `Slip` plain results; an object of them writes one answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar

import mcp_types

from unseen_fifth.kit import PREFIX, Json, Outcome, Problem, Success, Tool, Visit, legal, whole

SAFE = 2**53 - 1
LARGEST = 8 * 1024 * 1024
LEAST = 4096
_MARKUP = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}
_QUOTED = {**_MARKUP, '"': "&quot;", "\t": "&#9;", "\n": "&#10;"}


def block(said: str) -> mcp_types.TextContent:
    """Return a block for everyone."""
    return mcp_types.TextContent(type="text", text=said)


def for_the_person(said: str) -> mcp_types.TextContent:
    """Return a block for the person alone."""
    return mcp_types.TextContent(type="text", text=said, annotations=mcp_types.Annotations(audience=["user"]))


def portable(value: Any) -> Any:
    """Return a value as JSON in an answer can hold it."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, dict):
        return {whole(name): portable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [portable(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > SAFE:
        return str(value)
    return value


class Writer:
    """What both forms have."""

    form: ClassVar[str]

    def __init__(self, visit: Visit, tool: type[Tool] | None) -> None:
        self.visit, self.tool = visit, tool

    def result(self, outcome: Outcome) -> mcp_types.CallToolResult:
        """Return the result of a call."""
        raise NotImplementedError

    def data(self, outcome: Outcome) -> Json | None:
        """Return the structured content; each tool that has data lists an output schema."""
        return None if isinstance(outcome, Problem) else outcome.data

    def failed(self, outcome: Outcome) -> bool:
        """Return what the result says in `isError`."""
        return isinstance(outcome, Problem)

    def mark(self, outcome: Outcome) -> Json:
        """Return what a result says of itself."""
        return {"version": "1.0", "form": self.form}

    def asides(self, outcome: Outcome) -> list[mcp_types.ContentBlock]:
        """Return the blocks for the person alone."""
        said = outcome.aside if isinstance(outcome, Success) else ""
        return [for_the_person(legal(said))] if said else []


class Paper(Writer):
    """A document."""

    form = "document"
    longest_message: ClassVar[int] = 400

    # -- texts

    def escaped(self, said: str) -> str:
        """Return character data."""
        return re.sub("[&<>\r]", lambda found: _MARKUP[found[0]], said)

    def quoted(self, value: str) -> str:
        """Return the value of an attribute, in its quotes."""
        return '"' + re.sub('[&<>"\t\n\r]', lambda found: _QUOTED[found[0]], value) + '"'

    def attributes(self, values: Mapping[str, str]) -> str:
        """Return attributes."""
        return "".join(f" {name}={self.quoted(value)}" for name, value in values.items())

    def element(self, name: str, values: Mapping[str, str], content: str) -> str:
        """Return an element."""
        return f"<{name}{self.attributes(values)}>{content}</{name}>"

    def model_text(self, success: Success) -> str:
        """Return the character data of `llm_output`."""
        return self.escaped(legal(success.text))

    def model_attributes(self, success: Success) -> dict[str, str]:
        """Return the attributes of `llm_output`."""
        said = {"format": success.media} if success.media else {}
        if success.cut:
            said["truncated"] = "true"
        if legal(success.text) != success.text:
            said["lossy"] = "true"
        return said

    # -- JSON

    def json(self, value: Any) -> str:
        """Return JSON."""
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    def inert(self, written: str) -> str:
        """Return JSON in which nothing is markup."""
        written = re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", written)
        return "".join(one if legal(one) == one else f"\\u{ord(one):04x}" for one in written)

    def json_element(self, name: str, value: Any) -> str:
        """Return an element that holds JSON."""
        lossy = {"lossy": "true"} if whole(value) != value else {}
        return self.element(name, lossy, self.inert(self.json(portable(value))))

    # -- elements

    def model(self, success: Success) -> str:
        """Return the element for the model."""
        return self.element("llm_output", self.model_attributes(success), self.model_text(success))

    def display(self, display: Any) -> str:
        """Return the element for the person."""
        return self.json_element("display", display)

    def filled(self, filled: Json) -> str:
        """Return the element that says what the server filled in."""
        return self.json_element("server_populated", filled)

    def error_attributes(self, problem: Problem) -> dict[str, str]:
        """Return the attributes of `error`."""
        said = {"code": problem.code}
        if problem.category:
            said["category"] = problem.category
        if problem.retryable:
            said["retryable"] = "true"
        if problem.wait_ms is not None:
            said["retry_after_ms"] = str(problem.wait_ms)
        if legal(str(problem)) != str(problem):
            said["lossy"] = "true"
        return said

    def message(self, problem: Problem) -> str:
        """Return the character data before `meta`."""
        return self.escaped(legal(str(problem)))

    def meta(self, problem: Problem) -> str:
        """Return the element `meta`, if there is something to say."""
        return self.json_element("meta", problem.meta) if problem.meta else ""

    def error(self, problem: Problem) -> str:
        """Return the element of a problem."""
        return self.element("error", self.error_attributes(problem), self.message(problem) + self.meta(problem))

    def parts(self, outcome: Outcome) -> list[str]:
        """Return the children of the root element."""
        if isinstance(outcome, Problem):
            shown = [] if outcome.display is None else [self.display(outcome.display)]
            return [self.error(outcome), *shown]
        parts = [self.model(outcome)]
        if outcome.display is not None:
            parts.append(self.display(outcome.display))
        if outcome.filled is not None:
            parts.append(self.filled(outcome.filled))
        return parts

    def root_attributes(self, outcome: Outcome) -> dict[str, str]:
        """Return the attributes of the root element."""
        name = self.visit.tool[:128]
        return {"tool_name": legal(name), **({"lossy": "true"} if legal(name) != name else {})}

    def document(self, outcome: Outcome) -> str:
        """Return a document."""
        return self.element("tool_response", self.root_attributes(outcome), "".join(self.parts(outcome)))

    # -- sizes

    def budget(self) -> int:
        """Return the size of the largest document that the client accepts."""
        most = self.visit.declaration.get("maxBytes", LARGEST)
        return max(int(most), LEAST) if isinstance(most, int | float) and not isinstance(most, bool) else LARGEST

    def fits(self, outcome: Outcome, document: str) -> bool:
        """Return whether the client accepts a document."""
        return len(document.encode()) <= self.budget()

    def smaller(self, outcome: Outcome) -> Problem:
        """Return what takes the place of an outcome that is too large."""
        if isinstance(outcome, Success):
            return Problem("RESULT_TOO_LARGE", "The answer is larger than your application accepts. Ask for less.")
        kept = {name: item for name, item in outcome.meta.items() if name in {"error_id", "side_effects", "recovery"}}
        said = str(outcome)[: self.longest_message]
        return Problem(outcome.code, said, category=outcome.category, wait_ms=outcome.wait_ms, **kept)

    def fitted(self, outcome: Outcome) -> tuple[str, Outcome]:
        """Return a document that the client accepts, with its outcome."""
        document = self.document(outcome)
        if self.fits(outcome, document):
            return document, outcome
        outcome = self.smaller(outcome)
        return self.document(outcome), outcome

    def content(self, outcome: Outcome, document: str) -> list[mcp_types.ContentBlock]:
        """Return the blocks."""
        return [block(document), *self.asides(outcome)]

    def result(self, outcome: Outcome) -> mcp_types.CallToolResult:
        document, outcome = self.fitted(outcome)
        return mcp_types.CallToolResult(
            content=self.content(outcome, document),
            is_error=self.failed(outcome),
            structured_content=self.data(outcome),
            _meta={f"{PREFIX}result": self.mark(outcome)},
        )


class Slip(Writer):
    """A plain result."""

    form = "plain"

    def mark(self, outcome: Outcome) -> Json:
        said = super().mark(outcome)
        if legal(self.said(outcome)) != self.said(outcome):
            said["lossy"] = True
        if isinstance(outcome, Success) and outcome.media:
            said["format"] = outcome.media
        if isinstance(outcome, Success) and outcome.cut:
            said["truncated"] = True
        return said

    def said(self, outcome: Outcome) -> str:
        """Return the text for the model."""
        return outcome.text if isinstance(outcome, Success) else f"{outcome.code}: {outcome}"

    def for_the_model(self, outcome: Outcome) -> list[mcp_types.ContentBlock]:
        """Return the blocks with that text."""
        return [block(legal(self.said(outcome)))]

    def filled(self, filled: Json) -> mcp_types.TextContent:
        """Return the block that says what the server filled in."""
        said = json.dumps(filled, ensure_ascii=False)
        return mcp_types.TextContent(type="text", text=said, _meta={f"{PREFIX}server_populated": True})

    def alternative(self, display: Any) -> str:
        """Return what a host without displays can show."""
        return legal(str(display.get("alt", "")))[:500]

    def error(self, problem: Problem) -> Json:
        """Return a problem as JSON."""
        said: Json = {
            "code": problem.code,
            "message": legal(str(problem)),
            "category": problem.kind,
            "retryable": problem.retryable,
        }
        if problem.wait_ms is not None:
            said["retry_after_ms"] = problem.wait_ms
        return {**said, "meta": portable(problem.meta)} if problem.meta else said

    def members(self, outcome: Outcome) -> Json:
        """Return the members of `_meta` beside the mark."""
        said: Json = {}
        if isinstance(outcome, Problem):
            said["error"] = self.error(outcome)
        elif outcome.filled is not None:
            said["server_populated"] = portable(outcome.filled)
        if outcome.display is not None:
            said["display"] = portable(outcome.display)
        return said

    def content(self, outcome: Outcome) -> list[mcp_types.ContentBlock]:
        """Return the blocks."""
        blocks = self.for_the_model(outcome)
        if isinstance(outcome, Success) and outcome.filled is not None:
            blocks.append(self.filled(outcome.filled))
        alternative = "" if outcome.display is None else self.alternative(outcome.display)
        return [*blocks, *self.asides(outcome), *([for_the_person(alternative)] if alternative else [])]

    def result(self, outcome: Outcome) -> mcp_types.CallToolResult:
        members = {"result": self.mark(outcome), **self.members(outcome)}
        return mcp_types.CallToolResult(
            content=self.content(outcome),
            is_error=self.failed(outcome),
            structured_content=self.data(outcome),
            _meta={PREFIX + name: member for name, member in members.items()},
        )
