"""What a model wrote as the arguments of a call: read, or refused in words the model can act on. Pure."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from xmcp.wire import ErrorInfo


def parse_arguments(text: str) -> dict[str, Any] | ErrorInfo:
    """The JSON object in `text`; an empty text is an empty object, as some models write it for no arguments.

    Anything else is a `VALIDATION_FAIL` that says what is wrong and where. Integers keep their value at any size.
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as exc:
        return _refused("not_json", f"they are not valid JSON: {exc.msg} at character {exc.pos}")
    except (ValueError, RecursionError) as exc:
        return _refused("not_json", f"they are not usable JSON: {exc}")
    if not isinstance(value, dict):
        return _refused("not_an_object", f"they must be a JSON object, not {_kind(value)}")
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        # A lone surrogate cannot be sent: over stdio it would end the whole connection (toolchain 1.7).
        return _refused("not_text", "a string in them holds half of a surrogate pair")
    return value


def _refused(reason: str, problem: str) -> ErrorInfo:
    return ErrorInfo(
        "VALIDATION_FAIL",
        f"The arguments were not used: {problem}. Call the tool again with one JSON object.",
        meta={"side_effects": "none", "fields": [{"pointer": "", "reason": reason, "message": problem}]},
    )


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _kind(value: Any) -> str:
    return {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}.get(type(value), "a number")
