"""About how many tokens a request to a model and its answer have, from their bytes. Nothing is serialised for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from xmcp.chat.messages import Message
    from xmcp.chat.tool_schemas import ToolSchemas

BYTES_PER_TOKEN: Final = 4
"""The rule of thumb that vendors give for English; JSON and code have fewer bytes per token."""

MESSAGE_BYTES: Final = 16
"""The role and the frame of a message."""

UNKNOWN_MEDIA_TOKENS: Final = 1_000
"""A part of a message of which only an address or an id is known; a picture of one megapixel has about so many."""


class _Rate(NamedTuple):
    """How many tokens a file of a kind has. Vendors count pixels, pages and seconds, of which bytes tell little."""

    bytes_per_token: int
    least: int
    most: int


_RATES: Final[tuple[tuple[tuple[str, ...], _Rate], ...]] = (
    # From an icon to what vendors scale larger pictures down to; a photo of one megapixel has some 300 kB.
    (("image/",), _Rate(256, 100, 1_600)),
    (("text/", "application/json", "application/xml"), _Rate(BYTES_PER_TOKEN, 1, 10_000_000)),
    # Sound of 16 kB a second, which is 32 tokens, and pictures of it.
    (("audio/", "video/"), _Rate(500, 32, 1_000_000)),
    # PDFs, whose pages are read as text and as pictures: 10 kB each if they are written, several 100 if they are
    # scanned. Quotas reserve what is estimated, so rather too little. And whatever else there is.
    (("",), _Rate(100, 1_500, 200_000)),
)
"""By the beginning of the media type; the first that fits counts."""


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
    return 0 if part is None else _media_tokens(part) * BYTES_PER_TOKEN


def _media_tokens(part: Any) -> int:
    """Return about how many tokens a picture or a file has, by the media type and the size of its `data:` URL."""
    members = part.values() if isinstance(part, Mapping) else ()
    values = (value for one in members for value in (one.values() if isinstance(one, Mapping) else (one,)))
    url = next((value for value in values if isinstance(value, str) and value.startswith("data:")), None)
    comma = url.find(",", 0, _LONGEST_HEAD) if url is not None else -1
    if url is None or comma < 0:
        return UNKNOWN_MEDIA_TOKENS
    kind, size = url[len("data:") : comma].lower(), (len(url) - comma - 1) * 3 // 4
    rate = next(rate for beginnings, rate in _RATES if kind.startswith(beginnings))
    return min(max(-(-size // rate.bytes_per_token), rate.least), rate.most)


_LONGEST_HEAD: Final = 200
"""Characters of a `data:` URL in which its media type ends."""
