"""Responses that are drawn and then altered in one place, so that an emitter has to refuse them (XMCP-RSP-006)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from itertools import cycle
from random import Random
from typing import Any, Final

from xmcp_conformance.reader.schemas import validator

from .altered_values import altered_value
from .document_tree import Response
from .generated import delivered_responses
from .schema_borders import broken
from .tagged_values import tagged
from .vectors import Vector

_BLANKS: Final = ("", " ", "\n\t", "\r", " \r\n ")
_OF_AN_ENVELOPE: Final = dict.fromkeys(("title", "alt", "fallback", "id", "meta"), "XMCP-DSP-005") | {
    "type": "XMCP-DSP-002"
}


def refused_responses(seed: int) -> Iterator[Vector]:
    """Yield vectors of responses that cannot be written, without end."""
    random = Random(f"refused {seed}")  # noqa: S311 - no secret
    number = 0
    for response in delivered_responses(seed):
        in_turn = _ALTERATIONS[number % len(_ALTERATIONS)]
        for alter in (in_turn, *random.sample(_ALTERATIONS, len(_ALTERATIONS))):
            changed = copy.deepcopy(response)
            if requirement := alter(changed, random):
                number += 1
                case = {"response": tagged(changed), "expect": {"refused": True}}
                yield Vector(f"refused-{number}", 0, "encode", (requirement,), case)
                break


def beyond_a_schema(seed: int) -> Iterator[Vector]:
    """Yield vectors of responses with JSON that breaks one keyword of a schema, each keyword in its turn."""
    random = Random(f"beyond {seed}")  # noqa: S311 - no secret
    rows = [(name, value) for name, schema in _SCHEMAS.items() for value in broken(schema) if value is not None]
    rows = [(name, value) for name, value in rows if not validator(_SCHEMAS[name]).is_valid(_without_nulls(value))]
    random.shuffle(rows)
    for number, (name, value) in enumerate(cycle(rows), 1):
        if name == "display" and number > len(rows):
            value = random.choice(_AROUND)(value)
        response: Response = {"tool_name": "t", "llm_output": "a", name: value}
        if name == "meta":
            error = {"code": "X", "message": "m", "retryable": False, "category": "internal", "meta": value}
            response = {"tool_name": "t", "error": error}
        case = {"response": tagged(response), "expect": {"refused": True}}
        yield Vector(f"beyond-{number}", 0, "encode", (_sentence(name, value),), case)


_SHOWN: Final = {"type": "text", "payload": "a"}
_AROUND: Final[tuple[Callable[[Any], Any], ...]] = (
    lambda inner: {"type": "group", "payload": [_SHOWN, inner]},
    lambda inner: {**_SHOWN, "fallback": {**_SHOWN, "fallback": inner}},
    lambda inner: {"type": "group", "payload": [_SHOWN, {**_SHOWN, "fallback": inner}]},
)
"""Envelopes that have another one in them."""
_SCHEMAS: Final = {"display": "display_envelope", "meta": "error_meta", "server_populated": "server_populated"}


def _sentence(name: str, value: Any) -> str:
    """Return the sentence that a value of an element breaks."""
    if name != "display":
        return {"meta": "XMCP-ERR-007", "server_populated": "XMCP-RSP-095"}[name]
    fault = next(iter(validator("display_envelope").iter_errors(value)), None)
    if fault is None:
        return ""
    path = fault.instance_path
    return _OF_AN_ENVELOPE.get(str(path[0]), "XMCP-DSP-004") if path else "XMCP-DSP-001"


def _bad_display(response: Response, random: Random) -> str:
    """Alter the display; return the sentence that it breaks now, if it breaks one."""
    if "display" not in response:
        return ""
    response["display"] = altered_value(response["display"], random)
    if validator("display_envelope").is_valid(_without_nulls(response["display"])):
        return ""  # to a typed language, such a member is absent
    return _sentence("display", response["display"])


def _without_nulls(value: Any) -> Any:
    """Return a value without the members that are `null`, at any depth."""
    if isinstance(value, dict):
        return {name: _without_nulls(member) for name, member in value.items() if member is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _bad_meta(response: Response, random: Random) -> str:
    if "meta" not in response.get("error", {}):
        return ""
    response["error"]["meta"] = altered_value(response["error"]["meta"], random)
    return "" if validator("error_meta").is_valid(_without_nulls(response["error"]["meta"])) else "XMCP-ERR-007"


def _bad_server_populated(response: Response, random: Random) -> str:
    if "server_populated" not in response:
        return ""
    response["server_populated"] = altered_value(response["server_populated"], random)
    return (
        "" if validator("server_populated").is_valid(_without_nulls(response["server_populated"])) else "XMCP-RSP-095"
    )


def _member(place: str, name: str, requirement: str, *values: Any) -> Callable[[Response, Random], str]:
    """Return an alteration that gives a member of the response, or of its `place`, a value that it cannot have."""

    def alter(response: Response, random: Random) -> str:
        if place and place not in response:
            return ""
        (response[place] if place else response)[name] = random.choice(values)
        return requirement

    return alter


def _wait_of_an_error_that_is_final(response: Response, random: Random) -> str:
    if "error" not in response:
        return ""
    response["error"] |= {"retryable": False, "retry_after_ms": random.choice((0, 1, 1_000, 2**53 - 1))}
    return "XMCP-ERR-005"


def _text_and_error(response: Response, random: Random) -> str:
    if "error" not in response:
        return ""
    response["llm_output"] = random.choice(("", "x", response["error"]["message"]))
    return "XMCP-RSP-009"


def _nothing_said(response: Response, _random: Random) -> str:
    for name in ("llm_output", "error", "display", "format", "truncated"):
        response.pop(name, None)
    return "XMCP-RSP-009"


def _bad_format(response: Response, random: Random) -> str:
    if "llm_output" not in response:
        return ""
    response["format"] = random.choice(("text", "text/", "/plain", "a/b; c=d", "text/plain ", "é/a", "a/" + "b" * 126))
    return "XMCP-RSP-006"


_BAD_CODES: Final = ("", "a", "aB", "1A", "_A", "A-B", "A B", " A", "A\n", "A" * 64, "É", "Ａ")
_BAD_CATEGORIES: Final = ("", "A", "1a", "_a", "a-b", "a b", "a\n", "a" * 64, "aB", "é")
_BAD_VERSIONS: Final = ("", "1", "1.", "1.0.0", "1.00", "1.10000", "1,0", "1.x", "1.0 ", "1.0\n", "１.0")
_ALTERATIONS: Final[tuple[Callable[[Response, Random], str], ...]] = (
    _bad_display,
    _member("error", "code", "XMCP-ERR-002", *_BAD_CODES),
    _bad_display,
    _bad_meta,
    _member("error", "message", "XMCP-ERR-006", *_BLANKS),
    _bad_display,
    _member("error", "category", "XMCP-RSP-006", *_BAD_CATEGORIES),
    _bad_server_populated,
    _wait_of_an_error_that_is_final,
    _bad_display,
    _text_and_error,
    _bad_format,
    _member("", "version", "XMCP-RSP-008", *_BAD_VERSIONS),
    _nothing_said,
    _member("", "tool_name", "XMCP-RSP-007", "", "x" * 129, "é" * 129, "\U0001f600" * 129),
    _member("", "call_id", "XMCP-RSP-006", "", "x" * 257, "\U0001f600" * 257),
    _bad_display,
    _bad_meta,
    _member("error", "retry_after_ms", "XMCP-ERR-004", -1, 2**53, -(2**53)),
)
"""What is altered in turn: displays most often, for they have most places."""
