"""Values that no record may have (XMCP-REC-021), replaced in the JSON that is recorded. Pure.

Known are the values that whoever opens the store gives: the credentials of the gateway, and the parameters that the
application fills in. Found are they as they are, escaped for XML or for JSON, and both, up to JSON within JSON. Not
found is a value of which only some characters are written as references, or that is cut, encoded or computed with.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from xmcp.chat.json_values import encode_json

REDACTED: Final = "[redacted]"

SHORTEST: Final = 4
"""Minimum number of characters of a value that is searched for; a shorter one occurs by chance."""

_XML: Final[tuple[dict[str, str | int | None], ...]] = (
    {"&": "&amp;", "<": "&lt;", ">": "&gt;"},
    {"&": "&amp;", "<": "&lt;"},
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"},
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"},
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;"},
)


class Redactor:
    """Removes values from JSON. Of a mapping or a list each member counts as a value; booleans and null do not."""

    def __init__(self, secrets: Iterable[Any] = ()) -> None:
        leaves = [leaf for secret in secrets for leaf in _leaves(secret)]
        texts = {form for leaf in leaves for form in _forms(leaf)}
        # The longest first: a secret that contains another one is removed as a whole.
        self._texts = sorted(texts, key=len, reverse=True)
        self._numbers = frozenset(leaf for leaf in leaves if not isinstance(leaf, str))
        self._written = sorted({_written(text) for text in texts})

    def out_of_json(self, text: str) -> str:
        """Return JSON without the values: the same text if it has none, else written anew."""
        if not any(form in text for form in self._written):
            return text
        try:
            value = json.loads(text)
        except ValueError:  # it was cut
            return self.out_of_text(text)
        return encode_json(self._out_of(value)).decode()

    def out_of_text(self, text: str) -> str:
        """Return a text without the values."""
        for form in self._texts:
            if form in text:
                text = text.replace(form, REDACTED)
        return text

    def _out_of(self, value: Any) -> Any:
        match value:
            case str():
                return self.out_of_text(value)
            case bool() | None:
                return value
            case int() | float():
                return REDACTED if value in self._numbers else value
            case list():
                return [self._out_of(part) for part in value]
            case dict():
                return {self.out_of_text(name): self._out_of(part) for name, part in value.items()}
            case _:
                return value


def _leaves(value: Any) -> Iterable[str | int | float]:
    match value:
        case bool() | None:
            return
        case str():
            for text in {value, value.strip()}:
                if len(text) >= SHORTEST:
                    yield text
        case int() | float():
            if len(json.dumps(value)) >= SHORTEST:
                yield value
        case Mapping():
            for part in value.values():
                yield from _leaves(part)
        case list() | tuple() | set() | frozenset():
            for part in value:
                yield from _leaves(part)
        case _:
            hidden = getattr(value, "get_secret_value", None)  # as of pydantic's SecretStr
            yield from _leaves(hidden() if callable(hidden) else str(value))


def _forms(leaf: str | int | float) -> set[str]:
    """Return the forms in which a value can stand in a text: itself, escaped for XML, for JSON, and both."""
    if not isinstance(leaf, str):
        return {json.dumps(leaf)}
    plain = {leaf, *(leaf.translate(str.maketrans(table)) for table in _XML)}
    within = {form for text in plain for form in (_written(text), json.dumps(text)[1:-1])}
    return plain | within | {form.translate(str.maketrans(table)) for form in within for table in _XML[:1]}


def _written(text: str) -> str:
    """Return a text as it stands in JSON that `encode_json` writes."""
    return encode_json(text).decode()[1:-1]
