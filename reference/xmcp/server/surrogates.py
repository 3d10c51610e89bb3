"""Lone surrogates: no UTF-8 can carry them, and one kills a stdio session (toolchain.md 1.7)."""

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
    """Return `value` as something that can be sent; most often it is, and to find out is cheap."""
    try:
        to_json(value)
    except PydanticSerializationError:
        return without_lone_surrogates(to_jsonable_python(value, fallback=str))
    return value


def sendable_block(block: ContentBlock) -> ContentBlock:
    """Return `block` as something that can be sent."""
    try:
        block.model_dump_json()
    except PydanticSerializationError:
        return type(block).model_validate(without_lone_surrogates(block.model_dump(mode="json", by_alias=True)))
    return block
