"""Vectors of responses that are drawn, without end: to write them, and to read them from documents in many forms.

What a reader has to deliver of a written response, and what a document in another form says, follows from sections 2.3
and 2.4 alone; nothing here knows a codec.
"""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final, TypeAlias

from xmcp_conformance.generators.responses import Arguments, fits, responses
from xmcp_conformance.generators.shrinking import smaller
from xmcp_models.registry import ERROR_CODES

from .tagged_values import tagged
from .vectors import Vector, untagged

_SAFE: Final = 2**53 - 1
_ILLEGAL: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_UNPAIRED: Final = re.compile("[\ud800-\udfff]")
_BLANKS: Final = " \t\r\n"
_CATEGORY_OF: Final = {
    name: row["category"] for code, row in ERROR_CODES.items() for name in (code, *row.get("aliases", ()))
}
Response: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A response that was drawn, and the vectors of it: one of each direction."""

    seed: int
    number: int
    arguments: Arguments
    """Those of the tool of section 1.7, of which it is the `response`."""

    def vectors(self) -> Iterator[Vector]:
        """Yield the vectors, the same each time."""
        random = Random(f"{self.seed} {self.number}")  # noqa: S311 - no secret
        given = {"tool_name": "t", **untagged(self.arguments["response"])}
        delivered = carried(given)
        content: dict[str, Any] = {"response": tagged(given), "sentences": {"]]>": "XMCP-RSP-023"}}
        yield _vector("encode", self.number, "XMCP-RSP-020", content, delivered)
        document = written(delivered, random)
        content = {"document": document, "sentences": _sentences(document, delivered)}
        yield _vector("decode", self.number, "XMCP-RSP-067", content, delivered)
        in_bytes = document.encode()
        places = [*random.sample(range(1, len(in_bytes)), min(5, len(in_bytes) - 1)), in_bytes.find(b"\r") + 1]
        cuts = sorted({place for place in places if 0 < place < len(in_bytes)})
        cuts = sorted([*cuts, random.choice(cuts)]) if cuts else []  # a piece can be empty
        content = {"document": {"$base64": base64.b64encode(in_bytes).decode()}, "chunks": {"cuts": cuts}}
        yield _vector("stream", self.number, "XMCP-RSP-071", content, delivered)


def _sentences(document: str, delivered: Response) -> dict[str, str]:
    """Return the sentence that a reader breaks if its one fault is about a certain thing of this document."""
    found = {"LIMIT": "XMCP-RSP-080"}
    if _FOREIGN in document and "display" not in delivered:
        found["display"] = "XMCP-RSP-066"
    if " category=" not in document:
        found["error/category"] = "XMCP-ERR-013"
    if " retryable=" not in document:
        found["error/retryable"] = "XMCP-ERR-015"
    return found


def drawn(seed: int) -> Iterator[Drawn]:
    """Yield responses without end, the same for the same seed."""
    some = (arguments for arguments in responses(seed) if not _has_huge_double(arguments))
    return (Drawn(seed, number, arguments) for number, arguments in enumerate(some, 1))


def _has_huge_double(value: Any) -> bool:
    """Return whether a value has a whole number in it, as a float, that some languages take for an integer."""
    if isinstance(value, dict | list):
        return any(map(_has_huge_double, value.values() if isinstance(value, dict) else value))
    return isinstance(value, float) and value.is_integer() and abs(value) > _SAFE


def smallest(one: Drawn, fails: Callable[[Vector], bool], direction: str) -> Vector:
    """Return the smallest vector of a direction that was found to fail as one of this response does."""
    tried: set[str] = set()
    best, candidates, until = one, smaller(one.arguments), time.monotonic() + _SECONDS
    while len(tried) < _TRIES and time.monotonic() < until and (arguments := next(candidates, None)) is not None:
        key = json.dumps(arguments, sort_keys=True)
        if key in tried or not fits(arguments) or _has_huge_double(arguments):
            continue
        tried.add(key)
        simpler = Drawn(one.seed, one.number, arguments)
        if fails(_of(simpler, direction)):
            best, candidates = simpler, smaller(arguments)
    return _of(best, direction)


_TRIES: Final = 200
_SECONDS: Final = 10.0
"""The bounds within which one fault is made smaller: vectors and seconds."""


def _of(one: Drawn, direction: str) -> Vector:
    return next(vector for vector in one.vectors() if vector.direction == direction)


def _vector(direction: str, number: int, requirement: str, content: dict[str, Any], delivered: Response) -> Vector:
    case = {**content, "expect": {"response": delivered}}
    return Vector(f"drawn-{number}-{direction}", 0, direction, (requirement,), case)


class _Channel:
    """Replaces what an element cannot carry, and remembers whether there was anything."""

    def __init__(self) -> None:
        self.lossy = False

    def text(self, text: str, illegal: re.Pattern[str] = _ILLEGAL) -> str:
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
    if "display" in response:
        delivered["display"] = channel.value(response["display"])
    if "error" in response:
        error = dict(response["error"])
        error["message"] = channel.text(error["message"].strip(_BLANKS))
        error.setdefault("category", _CATEGORY_OF.get(error["code"], "internal"))
        if "meta" in error:
            error["meta"] = channel.value(error["meta"])
        delivered["error"] = error
    return {**delivered, "lossy": bool(response.get("lossy")) or channel.lossy}


def written(response: Response, random: Random) -> str:
    """Return a document with this response, each part of it in a form that is drawn."""
    lossy = ' lossy="true"' if response.get("lossy") else ""
    parts = []
    if "llm_output" in response:
        says = f' format="{response["format"]}"' if "format" in response else ""
        says += f' truncated="{random.choice(("true", "1"))}"' if response.get("truncated") else ""
        parts.append(f"<llm_output{says}>{_data(response['llm_output'], random)}</llm_output>")
    if "error" in response:
        parts.append(_error(response["error"], random))
    if "display" in response:
        parts.append(f"<display>{_data(_json(response['display'], random), random)}</display>")
    if random.random() < 0.3:
        parts.append(_FOREIGN)
    gap = random.choice(("", "\n", " \t"))
    version = random.choice(("", ' version="1.0"'))
    start = f'<tool_response tool_name="{response["tool_name"]}"{version}{lossy}>'
    return f"{start}{gap}{gap.join(parts)}{gap}</tool_response>"


_FOREIGN: Final = '<v:a xmlns:v="urn:v"><v:b><display>{"type":"text","payload":"p"}</display></v:b></v:a>'
"""An element that a reader ignores with all that is in it (XMCP-RSP-066)."""


def _error(error: dict[str, Any], random: Random) -> str:
    attributes = [f'code="{error["code"]}"']
    if error["category"] != _CATEGORY_OF.get(error["code"], "internal") or random.random() < 0.2:
        attributes.append(f'category="{error["category"]}"')
    if error["retryable"] or random.random() < 0.5:
        attributes.append(f'retryable="{"true" if error["retryable"] else "false"}"')
    if "retry_after_ms" in error:
        attributes.append(f'retry_after_ms="{error["retry_after_ms"]}"')
    random.shuffle(attributes)
    around = random.choice(("", "\n  "))
    meta = f"<meta>{_data(_json(error['meta'], random), random)}</meta>" if "meta" in error else ""
    return f"<error {' '.join(attributes)}>{around}{_data(error['message'], random)}{around}{meta}</error>"


def _json(value: Any, random: Random) -> str:
    text = json.dumps(value, ensure_ascii=random.random() < 0.5, indent=random.choice((None, None, 1)))
    return _ILLEGAL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _data(text: str, random: Random) -> str:
    """Return character data: raw where that is possible, as references, or as a CDATA section; with any line end."""
    form, line_end = random.random(), random.choice(("\n", "\n", "\r\n", "\r"))
    if form < 0.25 and "]]>" not in text and "\r" not in text:
        return "<![CDATA[" + text.replace("\n", line_end) + "]]>"
    if form < 0.4:
        return "".join(f"&#{random.choice(('', '0'))}{ord(one)};" if one in _ALWAYS else one for one in text)
    names = {"<": "&lt;", "&": "&amp;", ">": "&gt;", "\n": line_end}
    names["\r"] = random.choice(("&#13;", "&#xD;", "&#x0d;"))
    return "".join(names.get(one, one) for one in text)


_ALWAYS: Final = frozenset("<&>\r")
