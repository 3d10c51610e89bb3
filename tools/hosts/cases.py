"""The results that every host is given: one fact of MCP each, as a server would send them. Data only."""

from __future__ import annotations

from typing import Any, Final

IMAGE: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="  # one pixel
)
DATA: Final = {"region": "EMEA", "sales": 42}
FAILURE: Final = {"code": "CONFLICT", "message": "words of the failure"}
SCHEMA: Final = {"type": "object", "properties": {"region": {"type": "string"}, "sales": {"type": "integer"}}}
LONG: Final = 300_000
"""Characters of the long text: above every limit that hosts document."""


def for_audience(block: dict[str, Any], *audience: str) -> dict[str, Any]:
    """Return a block for `audience` only."""
    return {**block, "annotations": {"audience": list(audience)}}


def text(words: str, *audience: str) -> dict[str, Any]:
    """Return a text block, for `audience` only if it is given."""
    block: dict[str, Any] = {"type": "text", "text": words}
    return for_audience(block, *audience) if audience else block


def result(*content: dict[str, Any], **members: Any) -> dict[str, Any]:
    """Return a `CallToolResult`."""
    return {"content": list(content), **members}


IMAGE_BLOCK: Final = {"type": "image", "data": IMAGE, "mimeType": "image/png"}
AUDIO_BLOCK: Final = {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}
LINK_BLOCK: Final = {"type": "resource_link", "uri": "file:///reports/may.csv", "name": "may", "mimeType": "text/csv"}
RESOURCE_BLOCK: Final = {
    "type": "resource",
    "resource": {"uri": "file:///reports/may.csv", "mimeType": "text/csv", "text": "region,sales"},
}

_RESULTS: Final[dict[str, dict[str, Any]]] = {
    "text": result(text("words for the model")),
    "two_texts": result(text("first words"), text("second words")),
    "data_with_schema": result(text("words of the data"), structuredContent=DATA),
    "data_without_schema": result(text("words of the data"), structuredContent=DATA),
    "data_without_text": result(structuredContent=DATA),
    "user_only": result(text("words for the model", "assistant"), text("words for the person", "user")),
    "only_user": result(text("words for the person", "user")),
    "only_user_and_data": result(text("words for the person", "user"), structuredContent=DATA),
    "user_image_and_data": result(for_audience(IMAGE_BLOCK, "user"), structuredContent=DATA),
    "model_image": result(for_audience(IMAGE_BLOCK, "assistant")),
    "image": result(text("words for the model"), IMAGE_BLOCK),
    "image_alone": result(IMAGE_BLOCK),
    "image_and_data": result(text("words of the data"), IMAGE_BLOCK, structuredContent=DATA),
    "audio": result(text("words for the model"), AUDIO_BLOCK),
    "link": result(text("words for the model"), LINK_BLOCK),
    "resource": result(text("words for the model"), RESOURCE_BLOCK),
    "meta": result(text("words for the model"), _meta={"com.example/secret": "words for programs"}),
    "nothing": result(),
    "error": result(text("words of the failure"), isError=True),
    "error_with_data": result(text("words of the failure"), structuredContent=DATA, isError=True),
    "error_only_user": result(text("words for the person", "user"), structuredContent=FAILURE, isError=True),
    "long": result(text(("x" * 99 + "\n") * (LONG // 100))),
}

CASES: Final = {f"case_{name}": answer for name, answer in _RESULTS.items()}
"""The result of each tool, by a name that no host has a tool for."""

WITH_SCHEMA: Final = frozenset({"case_data_with_schema"})
"""The tools that list an output schema."""
