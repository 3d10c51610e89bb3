"""What a server answered: the results of a visit as data, without how they were got."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered to a call.

    Attributes:
        tool: the name of the tool.
        result: the `CallToolResult`, as the server wrote it; `None` where the call ended without one.
        failure: why there is no result, in words.
        display: the display envelope, from a document or from `_meta`; `None` if there is none.
        is_document: whether the text of the result is a tool response document.
        view: whether the tool names a view of MCP Apps.
    """

    tool: str
    result: Mapping[str, Any] | None
    failure: str = ""
    display: Any = None
    is_document: bool = False
    view: bool = False

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The content blocks that are objects."""
        content = (self.result or {}).get("content")
        return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []

    @property
    def data(self) -> Any:
        """`structuredContent`, or `None`."""
        return (self.result or {}).get("structuredContent")

    @property
    def meta(self) -> Mapping[str, Any]:
        """`_meta` where it is an object; else an empty one."""
        meta = (self.result or {}).get("_meta")
        return meta if isinstance(meta, dict) else {}

    @property
    def is_error(self) -> bool:
        """Whether the server marked the result as an error."""
        return (self.result or {}).get("isError") is True


@dataclass(slots=True)
class Case:
    """A call and its answers: `plain` to a client that declares nothing, `declared` to one that declares the extension.

    `title` says why the call was made; it is empty for an ordinary call.
    """

    tool: str
    arguments: dict[str, Any]
    title: str
    plain: Answer
    declared: Answer | None = None


@dataclass(slots=True)
class VisitedTool:
    """A tool and the calls of it; `not_called` is a sentence that says why there is none. `exists`: it is listed."""

    name: str
    cases: list[Case] = field(default_factory=list)
    not_called: str = ""
    exists: bool = True


@dataclass(slots=True)
class Visit:
    """What a visit of a server showed. `left_out`: so many tools were not called, because there are too many.

    `declared_failure`: why no client that declares the extension could connect, as a sentence; empty if one could.
    `note`: what a person should know of the server, as a sentence.
    """

    server: str
    transport: str
    protocol_version: str = ""
    announces: bool = False
    tools: list[VisitedTool] = field(default_factory=list)
    left_out: int = 0
    declared_failure: str = ""
    note: str = ""


def for_user_only(block: Mapping[str, Any]) -> bool:
    """Return whether the author of a block meant it for the person and not for the model."""
    audience = _audience(block)
    return bool(audience) and "assistant" not in audience


def for_model_only(block: Mapping[str, Any]) -> bool:
    """Return whether the author of a block meant it for the model and not for the person."""
    audience = _audience(block)
    return bool(audience) and "user" not in audience


def _audience(block: Mapping[str, Any]) -> list[Any]:
    annotations = block.get("annotations")
    audience = annotations.get("audience") if isinstance(annotations, dict) else None
    return audience if isinstance(audience, list) else []
