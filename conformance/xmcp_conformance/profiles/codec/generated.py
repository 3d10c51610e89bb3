"""Vectors of responses that are drawn, without end: to write them, and to read them from documents in many forms.

What a reader has to deliver of a written response, and what a document in another form says, follows from sections 2.3
and 2.4 alone; nothing here knows a codec.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

from xmcp_conformance.core.error_categories import CATEGORY_OF
from xmcp_conformance.generators.drawing import fitting
from xmcp_conformance.generators.responses import Arguments, fits, responses
from xmcp_conformance.generators.shrinking import smaller
from xmcp_conformance.generators.texts import text
from xmcp_conformance.reader.schemas import schema, validator
from xmcp_models.registry import ERROR_CODES

from .document_tree import ILLEGAL, JSON_ELEMENTS, Response, foreign, written
from .pieces_of_documents import in_pieces
from .tagged_values import tagged
from .vectors import Vector, untagged

_SAFE: Final = 2**53 - 1
_UNPAIRED: Final = re.compile("[\ud800-\udfff]")
_BLANKS: Final = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A response that was drawn, and the vectors of it: one of each direction."""

    seed: int
    number: int
    arguments: Arguments
    """Those of the tool of section 1.7, of which it is the `response`."""
    beside: Response
    """Of which call it is, and what the server filled in."""

    @property
    def given(self) -> Response:
        """The response that an emitter is given."""
        response: Response = untagged(self.arguments["response"])
        if error := response.get("error"):
            default = CATEGORY_OF.get(error["code"], "internal")
            if error["category"] == default and (self.number % 2 or error["code"] not in ERROR_CODES):
                response["error"] = {name: value for name, value in error.items() if name != "category"}
        return self.beside | response

    def vectors(self) -> Iterator[Vector]:
        """Yield the vectors, the same each time."""
        given = self.given
        delivered = carried(given)
        random = Random(f"{self.seed} {self.number}")  # noqa: S311 - no secret
        content: dict[str, Any] = {"response": tagged(given), "sentences": _of_an_emitter(given, delivered)}
        content["expect"] = {"response": delivered, "marked": _marked(given)}
        yield _vector("encode", self.number, "XMCP-RSP-020", content, delivered)
        document = str(written(delivered, random))
        content = {"document": document, "sentences": _sentences(document, delivered)}
        yield _vector("decode", self.number, "XMCP-RSP-067", content, delivered)
        content = in_pieces(document, random)
        yield _vector("stream", self.number, "XMCP-RSP-071", content, delivered)


def delivered_responses(seed: int) -> Iterator[Response]:
    """Yield what a reader delivers of drawn responses, without end."""
    return (carried(one.given) for one in drawn(seed))


def halved(seed: int) -> Iterator[Vector]:
    """Yield vectors of responses with half of a surrogate pair in their JSON or their texts, without end."""
    random = Random(f"halved {seed}")  # noqa: S311 - no secret
    for one in drawn(seed):
        given = one.given
        places = [given.get("display"), given.get("server_populated"), given.get("error", {}).get("meta")]
        half = random.choice(("\ud800", "a\udfff", "\ud83dz", "\ud83d\ude00"))
        if values := [value for value in places if value is not None and one.number % 2]:
            # A name cannot have a tag in a vector, without which a reader of JSON joins two halves.
            name = random.choice(("acme/half", half.removesuffix("\ude00")))
            random.choice(values)[name] = random.choice((half, [half], {"a": half}))
        elif "error" in given and random.random() < _IN_MESSAGES:
            given["error"] = {**given["error"], "message": f"a{half}b"}
        else:
            given[random.choice(("tool_name", "call_id"))] = f"a{half}b"
        requirement = "XMCP-RSP-053" if values else "XMCP-RSP-026"
        yield written_vector(f"drawn-{one.number}-halved", requirement, given)


def written_vector(name: str, requirement: str, given: Response, illegal: str = "replace") -> Vector:
    """Return the vector of a response that is to be written; with the policy `error`, refused if it is lossy."""
    delivered, marked = carried(given), _marked(given)
    content = {"response": tagged(given), "sentences": _of_an_emitter(given, delivered), "illegal": illegal}
    content["expect"] = {"response": delivered, "marked": marked}
    if illegal == "error" and marked:
        content["expect"] = {"refused": True}
    return Vector(name, 0, "encode", (requirement,), content)


_IN_MESSAGES: Final = 0.7


def _beside(random: Random) -> Response:
    """Return what is beside the response of a tool."""
    beside: Response = {"tool_name": (random.random() < 0.3 and text(random, longest=60)) or "t"}
    if random.random() < 0.3:
        beside["call_id"] = text(random, longest=120) or "c"
    if random.random() < 0.3:
        beside["server_populated"] = fitting(random, "server_populated", schema("server_populated"), 1)
    return beside if _fits_beside(beside) else {"tool_name": "t"}


def _fits_beside(beside: Response) -> bool:
    """Return whether a document can have this beside the response."""
    filled_in = beside.get("server_populated", {})
    if not beside.get("tool_name") or beside.get("call_id") == "" or _has_huge_double(filled_in):
        return False
    both = {*filled_in.get("values", ())} & {*filled_in.get("redacted", ())}
    return validator("server_populated").is_valid(filled_in) and not both


def _of_an_emitter(given: Response, delivered: Response) -> dict[str, str]:
    """Return the sentence that an emitter breaks if its one fault is about a certain member."""
    found = {"]]>": "XMCP-RSP-023", "error/category": "XMCP-ERR-010", "truncated": "XMCP-RSP-082"}
    for name in ("display", "server_populated", "error/meta"):
        value = given.get(name) if name != "error/meta" else given.get("error", {}).get("meta")
        alone = carried({"display": value})
        changed = "XMCP-RSP-053" if alone["lossy"] else "XMCP-RSP-043"
        found[name] = changed if alone["display"] != value else "XMCP-RSP-054"
    for name in ("tool_name", "call_id"):
        if name in given:
            found[name] = "XMCP-RSP-026" if given[name] != delivered[name] else "XMCP-RSP-028"
    replaced = any(given.get(name) != delivered.get(name) for name in ("tool_name", "call_id", "llm_output"))
    found |= {f"marked/{name}": "XMCP-RSP-026" for name in ("tool_response", "llm_output", "error")}
    found |= {f"marked/{name}": "XMCP-RSP-053" for name in JSON_ELEMENTS}
    found["lossy"] = "XMCP-RSP-026" if replaced or delivered.get("error") != given.get("error") else "XMCP-RSP-053"
    return found


def _marked(given: Response) -> list[str]:
    """Return the elements in which an emitter replaces something, and which it marks for that."""
    error = given.get("error", {})
    channels = {
        "tool_response": (given["tool_name"], given.get("call_id", "")),
        "llm_output": (given.get("llm_output", ""),),
        "error": (error.get("message", ""),),
    }
    marked = [name for name, texts in channels.items() if any(map(ILLEGAL.search, texts))]
    values = {"display": given.get("display"), "meta": error.get("meta"), **given}
    return [*marked, *(name for name in JSON_ELEMENTS if carried({"display": values.get(name)})["lossy"])]


def _sentences(document: str, delivered: Response) -> dict[str, str]:
    """Return the sentence that a reader breaks if its one fault is about a certain thing of this document."""
    found = {"LIMIT": "XMCP-RSP-080"}
    if str(foreign()) in document and "display" not in delivered:
        found["display"] = "XMCP-RSP-066"
    if " category=" not in document:
        found["error/category"] = "XMCP-ERR-013"
    if " retryable=" not in document:
        found["error/retryable"] = "XMCP-ERR-015"
    return found


def drawn(seed: int) -> Iterator[Drawn]:
    """Yield responses without end, the same for the same seed."""
    some = (arguments for arguments in responses(seed) if not _has_huge_double(arguments))
    beside = Random(f"beside {seed}")  # noqa: S311 - no secret
    return (Drawn(seed, number, arguments, _beside(beside)) for number, arguments in enumerate(some, 1))


def _has_huge_double(value: Any) -> bool:
    """Return whether a value has a whole number in it, as a float, that some languages take for an integer."""
    if isinstance(value, dict | list):
        return any(map(_has_huge_double, value.values() if isinstance(value, dict) else value))
    return isinstance(value, float) and value.is_integer() and abs(value) > _SAFE


def smallest(one: Drawn, fails: Callable[[Vector], bool], direction: str) -> Vector:
    """Return the smallest vector of a direction that was found to fail as one of this response does."""
    tried: set[str] = set()
    whole = {"arguments": one.arguments, "beside": one.beside}
    best, candidates, until = one, smaller(whole), time.monotonic() + _SECONDS
    while len(tried) < _TRIES and time.monotonic() < until and (less := next(candidates, None)) is not None:
        key = json.dumps(less, sort_keys=True)
        if key in tried or not _fits(less):
            continue
        tried.add(key)
        simpler = replace(one, **less)
        if fails(_of(simpler, direction)):
            best, candidates = simpler, smaller(less)
    return _of(best, direction)


def _fits(less: dict[str, Any]) -> bool:
    """Return whether what was made smaller can still be asked of an emitter."""
    if less.keys() != {"arguments", "beside"} or not _fits_beside(less["beside"]):
        return False
    return fits(less["arguments"]) and not _has_huge_double(less["arguments"])


_TRIES: Final = 200
_SECONDS: Final = 10.0
"""The bounds within which one fault is made smaller: vectors and seconds."""


def _of(one: Drawn, direction: str) -> Vector:
    return next(vector for vector in one.vectors() if vector.direction == direction)


def _vector(direction: str, number: int, requirement: str, content: dict[str, Any], delivered: Response) -> Vector:
    case = {"expect": {"response": delivered}, **content}
    return Vector(f"drawn-{number}-{direction}", 0, direction, (requirement,), case)


class _Channel:
    """Replaces what an element cannot carry, and remembers whether there was anything."""

    def __init__(self) -> None:
        self.lossy = False

    def text(self, text: str, illegal: re.Pattern[str] = ILLEGAL) -> str:
        legal = illegal.sub("\ufffd", text)
        self.lossy |= legal != text
        return legal

    def value(self, value: Any) -> Any:
        match value:
            case str():
                return self.text(value, _UNPAIRED)
            case bool() | None:
                return value
            case int():
                return value if abs(value) <= _SAFE else str(value)
            case dict():
                return {self.text(name, _UNPAIRED): self.value(member) for name, member in value.items()}
            case list():
                return [self.value(item) for item in value]
        return value


def carried(response: Response) -> Response:
    """Return what a reader delivers of a response that was written as the specification says."""
    channel = _Channel()
    delivered = dict(response)
    if "llm_output" in response:
        delivered["llm_output"] = channel.text(response["llm_output"])
    for name in ("tool_name", "call_id"):
        if name in response:
            delivered[name] = channel.text(response[name])
    for name in ("display", "server_populated"):
        if name in response:
            delivered[name] = channel.value(response[name])
    if "error" in response:
        error = dict(response["error"])
        error["message"] = channel.text(error["message"].strip(_BLANKS))
        error.setdefault("category", CATEGORY_OF.get(error["code"], "internal"))
        if "meta" in error:
            error["meta"] = channel.value(error["meta"])
        delivered["error"] = error
    return {**delivered, "lossy": bool(response.get("lossy")) or channel.lossy}
