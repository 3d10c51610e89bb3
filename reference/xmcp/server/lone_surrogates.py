"""Lone surrogates: UTF-8 cannot carry them, and a single one would end a stdio session of the SDK."""

from __future__ import annotations

from typing import Any, Final

from mcp_types import ContentBlock
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

_SURROGATES: Final = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


def without_lone_surrogates(value: Any) -> Any:
    """Return JSON `value` with every lone surrogate in its strings and keys replaced by U+FFFD."""
    match value:
        case str():
            return value.translate(_SURROGATES)
        case dict():
            return {without_lone_surrogates(key): without_lone_surrogates(part) for key, part in value.items()}
        case list() | tuple():
            return [without_lone_surrogates(part) for part in value]
        case _:
            return value


def sendable(value: Any) -> Any:
    """Return `value`, without lone surrogates if there are any; the check is cheap and most values pass it."""
    try:
        to_json(value)
    except PydanticSerializationError:
        return without_lone_surrogates(to_jsonable_python(value, fallback=str))
    return value


def sendable_block(block: ContentBlock) -> ContentBlock:
    """Return `block`, without lone surrogates if there are any."""
    try:
        block.model_dump_json()
    except PydanticSerializationError:
        return type(block).model_validate(without_lone_surrogates(block.model_dump(mode="json", by_alias=True)))
    return block
