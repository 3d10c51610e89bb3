"""Values that must not be disclosed (XMCP-TOL-022), removed from everything a tool answers.

Pure functions. The author declares which parameters are sensitive (`server_parameters`). A tool's result is cleaned
before a formatter writes it, because a formatter could escape or cut a value so that it is not found; errors are
cleaned before they are sent.
"""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final
from xml.sax.saxutils import escape

from fastmcp.tools.base import ToolResult
from mcp_types import ContentBlock, EmbeddedResource, TextContent, TextResourceContents
from pydantic import BaseModel, SecretBytes, SecretStr
from pydantic_core import to_jsonable_python

from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse, plain
from xmcp_models.registry import PREFIX

REDACTED: Final = "[redacted]"
SHORTEST: Final = 4
"""Minimum number of characters of a value that is searched for; a shorter one appears in answers by chance."""


class Secrets:
    """The sensitive values of a call, and how to remove them. Each member of a list or an object counts as a value."""

    def __init__(self, values: Iterable[Any]) -> None:
        texts = {form for value in values for leaf in _leaves(value) for form in _forms(leaf)}
        # The longest first: a secret that contains another one is removed as a whole.
        self._texts = sorted((text for text in texts if len(text) >= SHORTEST), key=len, reverse=True)

    def __bool__(self) -> bool:
        return bool(self._texts)

    def out_of(self, value: Any) -> Any:
        """Return `value`, which has a JSON form, with each secret, alone or inside a text, replaced by `REDACTED`."""
        match value:
            case str():
                return self.out_of_text(value)
            case bool() | None:
                return value
            case int() | float():
                return REDACTED if any(form in self._texts for form in _forms(value)) else value
            case Mapping():
                return self._members(value)
            case list() | tuple():
                return [self.out_of(part) for part in value]
            case _:
                try:
                    return self.out_of(plain(value))
                except TypeError:  # no JSON form, so it is not sent
                    return value

    def out_of_text(self, text: str) -> str:
        """Return `text` with each secret replaced by `REDACTED`."""
        for secret in self._texts:
            text = text.replace(secret, REDACTED)
        return text

    def out_of_error(self, error: ErrorInfo) -> ErrorInfo:
        """Return `error` without the secrets; a code that contains one becomes `TOOL_ERROR`."""
        code = error.code if self.out_of_text(error.code) == error.code else "TOOL_ERROR"
        category = error.category if code == error.code else None
        return replace(
            error, code=code, category=category, message=self.out_of_text(error.message), meta=self.out_of(error.meta)
        )

    def out_of_display(self, display: DisplayEnvelope) -> DisplayEnvelope:
        """Return `display` without the secrets.

        Raises:
            ValueError: What is left is not a valid envelope.
        """
        members = display.to_dict()
        return DisplayEnvelope.model_validate({**self.out_of(members), "type": members["type"]})

    def out_of_response(self, response: ToolResponse) -> ToolResponse:
        """Return a response, which an author built, without the secrets.

        Raises:
            ValueError: As `out_of_display`.
        """
        return replace(
            response,
            llm_output=self.out_of(response.llm_output),
            error=None if response.error is None else self.out_of_error(response.error),
            display=None if response.display is None else self.out_of_display(response.display),
        )

    def out_of_result(self, result: ToolResult) -> ToolResult:
        """Return an MCP result without the secrets in its texts, its data and its `_meta`."""
        cleaned = result.model_copy()
        cleaned.content = [self._block(block) for block in result.content]
        cleaned.structured_content = self.out_of(result.structured_content)
        if result.meta is not None:  # the names of our own members are fixed
            cleaned.meta = {
                name if name.startswith(PREFIX) else self.out_of_text(name): self.out_of(part)
                for name, part in result.meta.items()
            }
        return cleaned

    def _members(self, value: Mapping[Any, Any]) -> dict[Any, Any]:
        cleaned: dict[Any, Any] = {}
        for key, part in value.items():
            name = self.out_of_text(key) if isinstance(key, str) else key
            while name in cleaned:  # two secret names must not become one
                name += "'"
            cleaned[name] = self.out_of(part)
        return cleaned

    def _block(self, block: ContentBlock) -> ContentBlock:
        """Return a block with its texts cleaned; type, media type and binary data are kept."""
        if isinstance(block, TextContent):
            return block.model_copy(update={"text": self.out_of_text(block.text)})
        if isinstance(block, EmbeddedResource):
            inner = block.resource
            changes: dict[str, Any] = {"uri": self._uri(inner.uri)}
            if isinstance(inner, TextResourceContents):
                changes["text"] = self.out_of_text(inner.text)
            return block.model_copy(update={"resource": inner.model_copy(update=changes)})
        texts = {name: self.out_of(getattr(block, name, None)) for name in ("name", "title", "description")}
        changes = {name: value for name, value in texts.items() if value is not None}
        if (uri := getattr(block, "uri", None)) is not None:
            changes["uri"] = self._uri(uri)
        return block.model_copy(update=changes)

    def _uri(self, uri: Any) -> Any:
        return uri if self.out_of_text(str(uri)) == str(uri) else "redacted:"


def _leaves(value: Any) -> Iterator[Any]:
    """Yield the values inside a value, also those that are hidden or left out when it is written."""
    match value:
        case SecretStr() | SecretBytes():
            yield from _leaves(value.get_secret_value())
        case BaseModel():
            for part in value.__dict__.values():
                yield from _leaves(part)
        case Mapping():
            for part in value.values():
                yield from _leaves(part)
        case list() | tuple() | set() | frozenset():
            for part in value:
                yield from _leaves(part)
        case bytes() | bytearray():
            yield bytes(value).decode("utf-8", "replace")
            yield base64.b64encode(value).decode()
        case bool() | None:
            return
        case str() | int() | float():
            yield value
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            for field in dataclasses.fields(value):
                yield from _leaves(getattr(value, field.name))
        case _:
            yield str(value)
            written = to_jsonable_python(value, fallback=str, bytes_mode="base64")
            if isinstance(written, str):
                yield written


def _forms(leaf: Any) -> set[str]:
    """Return the forms in which a value can appear in a text."""
    if isinstance(leaf, int | float):
        return {str(leaf), *([str(int(leaf))] if leaf == leaf // 1 else [])}
    text = str(leaf)
    return {form for plain in (text, text.strip()) for form in (plain, escape(plain), json.dumps(plain)[1:-1])}
