"""What a model wrote as the arguments of a call: read, or refused in words the model can act on. Pure."""

from __future__ import annotations

import json
import math
from typing import Any, Final, NoReturn

from xmcp.chat import failures
from xmcp.wire import ErrorInfo

DEEPEST: Final = 64
"""Levels of objects and lists. No tool needs more, and libraries on the way break at some hundred."""

QUOTED: Final = 200
"""Characters of what the model wrote that are told back to it."""


def parse_arguments(text: str) -> dict[str, Any] | ErrorInfo:
    """The JSON object in `text`; an empty text is an empty object, as some models write it for no arguments.

    Anything else is a `VALIDATION_FAIL` that says what is wrong and where. Integers keep their value at any size that
    can be read.
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except json.JSONDecodeError as exc:
        return _refused("not_json", f"they are not valid JSON: {exc.msg} at character {exc.pos}", text)
    except _NotANumber as exc:
        return _refused("not_json", f"they hold {exc}, which is no JSON number", text)
    except RecursionError:
        return _too_deep(text)
    except ValueError:
        return _refused("not_json", "they hold an integer with too many digits", text)
    if not isinstance(value, dict):
        return _refused("not_an_object", f"they must be a JSON object, not {_kind(value)}", text)
    if text.count("{") + text.count("[") > DEEPEST and _depth(value) > DEEPEST:
        return _too_deep(text)
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        # A lone surrogate cannot be sent: over stdio it would end the whole connection (toolchain 1.7).
        return _refused("not_text", "a string in them holds half of a surrogate pair", "")
    return value


class _NotANumber(Exception):
    """A number that JSON does not have, or that is beyond what can be sent."""


def _too_deep(text: str) -> ErrorInfo:
    return _refused("too_deep", f"they are nested more than {DEEPEST} levels deep", text)


def _refused(reason: str, problem: str, text: str) -> ErrorInfo:
    return failures.unusable_arguments(reason, problem, text if len(text) <= QUOTED else text[:QUOTED] + "…")


def _refuse_constant(name: str) -> NoReturn:
    raise _NotANumber(name)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _NotANumber(text[:QUOTED])
    return number


def _depth(value: Any) -> int:
    """How many objects and lists lie within each other, `value` itself included."""
    depth, level = 0, [value]
    while level:
        depth += 1
        inner = (child for one in level for child in (one.values() if isinstance(one, dict) else one))
        level = [child for child in inner if isinstance(child, dict | list)]
    return depth


def _kind(value: Any) -> str:
    return {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}.get(type(value), "a number")
