"""Values that are not to be told (XMCP-TOL-022): taken out of whatever leaves the server.

Pure functions only. What is sensitive, the author says (`populated`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from fastmcp.tools.base import ToolResult
from pydantic_core import to_jsonable_python

from xmcp.wire import ErrorInfo

REDACTED: Final = "[redacted]"
SHORTEST: Final = 4
"""Characters of a value that is looked for; a shorter one stands in answers by chance."""

Answer = TypeVar("Answer", ToolResult, ErrorInfo)


def without(secrets: Sequence[Any], answer: Answer) -> Answer:
    """Return `answer` with `REDACTED` wherever one of `secrets` stands in it, alone or inside of a text.

    Of a list or an object each member is looked for. Values with fewer than `SHORTEST` characters are not.
    """
    known = _Secrets(secrets)
    if isinstance(answer, ErrorInfo):
        return replace(answer, message=known.out_of(answer.message), meta=known.out_of(answer.meta))
    cleaned = answer.model_copy()
    cleaned.content = [
        type(block).model_validate(known.out_of(block.model_dump(mode="json", by_alias=True)))
        for block in answer.content
    ]
    cleaned.structured_content = known.out_of(answer.structured_content)
    cleaned.meta = known.out_of(answer.meta)
    return cleaned


class _Secrets:
    def __init__(self, values: Sequence[Any]) -> None:
        texts = {text for value in values for text in _texts(to_jsonable_python(value, fallback=str))}
        # The longest first: a secret that holds another one goes as a whole.
        self._texts = sorted((text for text in texts if len(text) >= SHORTEST), key=len, reverse=True)

    def out_of(self, value: Any) -> Any:
        match value:
            case str():
                for text in self._texts:
                    value = value.replace(text, REDACTED)
                return value
            case bool() | None:
                return value
            case int() | float():
                return REDACTED if str(value) in self._texts else value
            case Mapping():
                return {self.out_of(key): self.out_of(part) for key, part in value.items()}
            case list() | tuple():
                return [self.out_of(part) for part in value]
            case _:
                return value


def _texts(value: Any) -> list[str]:
    match value:
        case dict():
            return [text for part in value.values() for text in _texts(part)]
        case list():
            return [text for part in value for text in _texts(part)]
        case bool() | None:
            return []
        case _:
            return [str(value)]
