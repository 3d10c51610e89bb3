"""The attribute values of a tool response: one reader for each type of schemas/tool_response.xsd.

A reader takes the value as an XML parser reports it and returns its meaning, or raises ValueError with a sentence that
says what the value must be. The encoder checks with the same readers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

XML_WHITE_SPACE = " \t\r\n"
MAX_SAFE_INTEGER = 2**53 - 1
"""The largest integer that every JSON and XML reader keeps exactly."""

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def _length(maximum: int) -> Callable[[str], str]:
    def read(value: str) -> str:
        if not 1 <= len(value) <= maximum:
            raise ValueError(f"must have 1 to {maximum} characters, not {len(value)}")
        return value

    return read


def _pattern(expression: str, meaning: str) -> Callable[[str], str]:
    match = re.compile(expression).fullmatch

    def read(value: str) -> str:
        if not match(value):
            raise ValueError(f"must be {meaning}")
        return value

    return read


def boolean(value: str) -> bool:
    """Read an xs:boolean."""
    try:
        return _BOOLEANS[value.strip(XML_WHITE_SPACE)]
    except KeyError:
        raise ValueError("must be true, false, 1 or 0") from None


_non_negative = re.compile(r"\+?[0-9]+|-0+").fullmatch


def retry_after_ms(value: str) -> int:
    """Read an xs:nonNegativeInteger up to 2^53-1: milliseconds."""
    written = value.strip(XML_WHITE_SPACE)
    # Without leading zeros: Python refuses to convert thousands of digits, even if most are zeros.
    digits = written.lstrip("+-0") or "0"
    if not _non_negative(written) or len(digits) > 16 or int(digits) > MAX_SAFE_INTEGER:
        raise ValueError(f"must be a whole number from 0 to {MAX_SAFE_INTEGER}")
    return int(digits)


tool_name = _length(128)
call_id = _length(256)
version = _pattern(r"(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})", "two numbers with a dot between, like 1.0")
error_code = _pattern(r"[A-Z][A-Z0-9_]{0,62}", "an upper-case name like DB_TIMEOUT, of 1 to 63 characters")
category = _pattern(r"[a-z][a-z0-9_]{0,62}", "a lower-case name like rate_limited, of 1 to 63 characters")
_NAME = r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+\-]*"
media_type = _pattern(rf"(?=.{{1,127}}$){_NAME}/{_NAME}", "a media type like text/plain, of at most 127 characters")


def is_media_type(value: object) -> bool:
    """Tell whether `value` can be the `format` of a text."""
    try:
        check("llm_output", "format", value)
    except (TypeError, ValueError):
        return False
    return True


ATTRIBUTES: dict[str, dict[str, Callable[[str], Any]]] = {
    "tool_response": {"tool_name": tool_name, "version": version, "call_id": call_id, "lossy": boolean},
    "llm_output": {"format": media_type, "truncated": boolean, "lossy": boolean},
    "display": {"lossy": boolean},
    "error": {
        "code": error_code,
        "retryable": boolean,
        "retry_after_ms": retry_after_ms,
        "category": category,
        "lossy": boolean,
    },
    "meta": {"lossy": boolean},
    "server_populated": {"lossy": boolean},
}
"""The reader of each attribute of each element."""

REQUIRED = {"tool_response": "tool_name", "error": "code"}
"""The required attribute of each element that has one."""


def check(element: str, attribute: str, value: object) -> None:
    """Raise TypeError if a value is not a string, ValueError if the attribute does not allow it."""
    if not isinstance(value, str):
        raise TypeError(f"{attribute} must be a string, not {type(value).__qualname__}")
    try:
        ATTRIBUTES[element][attribute](value)
    except ValueError as fault:
        raise ValueError(f"{attribute} {fault}") from None
