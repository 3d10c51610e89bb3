"""Read the arguments of a call, of a model's text or of the application, or explain why they are not valid. No I/O."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from xmcp.chat import client_made_errors
from xmcp.chat.json_values import is_deeper_than
from xmcp.wire import ErrorInfo, plain

MAX_DEPTH: Final = 64
"""Maximum levels of objects and lists. No tool needs more, and some libraries fail at a few hundred."""

MAX_BYTES: Final = 1024 * 1024
"""Maximum size in bytes of UTF-8. No vendor's model writes as much in one answer, and every character costs time."""

MAX_QUOTED: Final = 200
"""Maximum number of characters of the model's own text that an error quotes."""


def parse_arguments(text: str) -> dict[str, Any] | ErrorInfo:
    """Return the JSON object in `text`, or a `VALIDATION_FAIL` that says what is wrong and where.

    An empty text is an empty object: some models write it for no arguments. Integers keep their value at any size that
    Python reads.
    """
    if len(text) > MAX_BYTES or (4 * len(text) > MAX_BYTES and len(text.encode("utf-8", "replace")) > MAX_BYTES):
        return _refused("too_large", f"they are larger than {MAX_BYTES} bytes", text)
    if not text.strip():
        return {}
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as exc:
        return _refused("not_json", f"they are not valid JSON: {exc.msg} at character {exc.pos}", text)
    except _NotANumber as exc:
        return _refused("not_json", f"they hold {exc}, which is not a JSON number", text)
    except RecursionError:
        return _too_deep(text)
    except ValueError:
        return _refused("not_json", "they hold an integer with too many digits", text)
    if not isinstance(value, dict):
        return _refused("not_an_object", f"they must be a JSON object, not {_kind(value)}", text)
    if text.count("{") + text.count("[") > MAX_DEPTH and is_deeper_than(MAX_DEPTH, value):
        return _too_deep(text)
    if not text.isascii() or "\\u" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            # A lone surrogate cannot be encoded as UTF-8: over stdio it would end the whole connection.
            return _refused("not_text", "a string in them holds half of a surrogate pair", "")
    return value


def of_application(given: Mapping[str, Any]) -> dict[str, Any] | ErrorInfo:
    """Return a copy of the application's arguments as JSON values, within the limits of a model's (`parse_arguments`).

    They are often those of a request that the application got, so they can be anything that is JSON.

    Raises:
        TypeError: they hold a value that has no form in JSON.
    """
    try:
        text = json.dumps(dict(given), ensure_ascii=False, default=plain)
    except TypeError as exc:
        raise TypeError(f"arguments must hold nothing but JSON values: {exc}.") from exc
    except (RecursionError, ValueError):  # `ValueError`: a value holds itself
        return _too_deep("")
    return parse_arguments(text)


class _NotANumber(Exception):
    """A number that JSON does not have, or that is infinite as a double."""


def _too_deep(text: str) -> ErrorInfo:
    return _refused("too_deep", f"they are nested more than {MAX_DEPTH} levels deep", text)


def _refused(reason: str, problem: str, text: str) -> ErrorInfo:
    return client_made_errors.unusable_arguments(
        reason, problem, text if len(text) <= MAX_QUOTED else text[:MAX_QUOTED] + "…"
    )


def _refuse_constant(name: str) -> NoReturn:
    raise _NotANumber(name)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _NotANumber(text[:MAX_QUOTED])
    return number


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)


def _kind(value: Any) -> str:
    return {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}.get(type(value), "a number")
