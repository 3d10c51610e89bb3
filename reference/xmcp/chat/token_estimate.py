"""About how many tokens a request to a model and its answer have, from their bytes. Nothing is serialised for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from xmcp.chat.messages import Message
    from xmcp.chat.tool_schemas import ToolSchemas

BYTES_PER_TOKEN: Final = 4
"""The rule of thumb that vendors give for English; JSON and code have fewer bytes per token."""

MESSAGE_BYTES: Final = 16
"""The role and the frame of a message."""

MEDIA_BYTES: Final = 4_000
"""A part of a message that is not text: vendors bill images and sounds by their measures, not by their bytes."""


def estimated_tokens(messages: Sequence[Message], tools: ToolSchemas) -> int:
    """Return about how many input tokens a request with these messages and tools has.

    It needs no tokenizer and no network.
    """
    return -(-(sum(map(_message_bytes, messages)) + len(tools.json)) // BYTES_PER_TOKEN)


def estimated_output_tokens(pieces: Sequence[str], other_bytes: int = 0) -> int:
    """Return about how many tokens a model wrote as these pieces of text, and as `other_bytes` of anything else."""
    return -(-(sum(map(_part_bytes, pieces)) + other_bytes) // BYTES_PER_TOKEN)


def _message_bytes(message: Message) -> int:
    content = message.get("content")
    size = sum(map(_part_bytes, content)) if isinstance(content, list | tuple) else _part_bytes(content)
    for call in message.get("tool_calls") or ():
        # A history may come from anywhere: only the ids of its calls have been checked.
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            size += _part_bytes(function.get("name")) + _part_bytes(function.get("arguments"))
    return MESSAGE_BYTES + size


def _part_bytes(part: Any) -> int:
    text = part.get("text") if isinstance(part, Mapping) else part
    if isinstance(text, str):
        return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return 0 if part is None else MEDIA_BYTES
