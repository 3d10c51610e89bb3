"""What a person says, as a text or in parts, and the content of the message that says it. Pure."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from mimetypes import guess_extension
from typing import Any, Final, TypeAlias

from xmcp.chat.json_values import as_text

MAX_INPUT_BYTES: Final = 20 * 1024 * 1024
"""Maximum size of all parts together. A history with them goes to the model again with each request."""

IMAGE_TYPES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The types of pictures that the vendors' models see."""


@dataclass(frozen=True, slots=True)
class TextPart:
    """A text; a plain string means the same."""

    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture: its bytes, or a URL with https:, http: or data:."""

    data: bytes | str = field(repr=False)
    media_type: str | None = None
    """The type of the bytes, one of `IMAGE_TYPES`; `None`: as they begin."""


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file, such as a PDF. Which types a model takes depends on its vendor."""

    data: bytes = field(repr=False)
    media_type: str
    """Such as `application/pdf`."""
    name: str | None = None
    """The name that the model is told."""


InputPart: TypeAlias = str | TextPart | ImagePart | FilePart
UserInput: TypeAlias = str | Sequence[InputPart]
"""What `chat()` takes as its query."""


def content_of(query: UserInput) -> str | list[dict[str, Any]]:
    """Return the content of the message that says `query`. Half of a surrogate pair becomes U+FFFD.

    Raises:
        TypeError: `query` is neither a text nor a list of parts; the message has the place.
        ValueError: a part has a type or a URL that no model takes, there is none, or they are too large together.
    """
    if isinstance(query, str):
        return as_text(query)
    if not isinstance(query, list | tuple):
        raise TypeError(
            f"user_query must be a text or a list of parts (text, ImagePart, FilePart), not {_type(query)}."
        )
    if not query:
        raise ValueError("user_query is an empty list: pass a text, or at least one part.")
    content: list[dict[str, Any]] = []
    size = 0
    for index, part in enumerate(query):
        place = f"user_query[{index}]"
        size += _size(part, place)
        if size > MAX_INPUT_BYTES:
            raise ValueError(
                f"user_query is larger than {MAX_INPUT_BYTES // 1024**2} MiB at its part {index}: scale pictures down, "
                "or pass URLs."
            )
        content.append(_written(part, place))
    return content


def _size(part: Any, place: str) -> int:
    """Return about how many bytes a part has, without copying it.

    Raises:
        TypeError: it is no part, or its members are of wrong types.
    """
    data: Any
    match part:
        case str():
            data = part
        case TextPart(text=data):
            if not isinstance(data, str):
                raise TypeError(f"{place} is a TextPart of {_type(data)}: pass a text.")
        case ImagePart(data=data):
            if not isinstance(data, bytes | str):
                raise TypeError(f"{place} is an ImagePart of {_type(data)}: pass bytes, or a URL.")
        case FilePart(data=data):
            if not isinstance(data, bytes):
                raise TypeError(f"{place} is a FilePart of {_type(data)}: pass the bytes of the file.")
        case _:
            raise TypeError(f"{place} must be a text, a TextPart, an ImagePart or a FilePart, not {_type(part)}.")
    return len(data)


def _written(part: InputPart, place: str) -> dict[str, Any]:
    match part:
        case ImagePart():
            return {"type": "image_url", "image_url": {"url": _image_url(part, place)}}
        case FilePart():
            kind = part.media_type.lower() if isinstance(part.media_type, str) else ""
            if not _MEDIA_TYPE.fullmatch(kind):
                raise ValueError(f"{place} has the media type {part.media_type!r}: pass one such as 'application/pdf'.")
            name = as_text(part.name) if part.name else f"file{guess_extension(kind) or ''}"
            return {"type": "file", "file": {"filename": name, "file_data": _data_url(kind, part.data)}}
        case _:
            return {"type": "text", "text": as_text(part if isinstance(part, str) else part.text)}


_MEDIA_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9.+-]*/[a-z0-9][a-z0-9.+-]*")


def _image_url(part: ImagePart, place: str) -> str:
    if isinstance(part.data, str):
        data_url = part.data.startswith("data:")
        if not part.data.startswith(("https://", "http://", "data:")):
            raise ValueError(f"{place} has a URL that begins with neither https:, http: nor data:.")
        if data_url and not part.data.startswith(_IMAGE_DATA):
            raise ValueError(f"{place} has a data: URL that is not base64 of {_ONE_OF}.")
        return as_text(part.data)
    kind = part.media_type or next((kind for kind, mark in _MARKS.items() if mark.match(part.data)), None)
    if kind is None:
        raise ValueError(f"{place} does not begin as a picture: pass its media_type, {_ONE_OF}.")
    if kind not in IMAGE_TYPES:
        raise ValueError(f"{place} has the media type {kind!r}: pictures have {_ONE_OF}. Anything else is a FilePart.")
    return _data_url(kind, part.data)


_ONE_OF: Final = f"{', '.join(IMAGE_TYPES[:-1])} or {IMAGE_TYPES[-1]}"
_IMAGE_DATA: Final = tuple(f"data:{kind};base64," for kind in IMAGE_TYPES)
_MARKS: Final = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
}
"""How the bytes of each type begin."""


def _data_url(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{b64encode(data).decode('ascii')}"


def _type(value: Any) -> str:
    return f"a value of type {type(value).__name__}"
