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


def check(query: Any) -> int:
    """Return about how many bytes `query` has, without copying any.

    Raises:
        TypeError: `query` is neither a text nor a list of parts; the message has the place.
        ValueError: a part has a type or a URL that no model takes, or nothing in it, there is none, or they are too
            large together.
    """
    if isinstance(query, str):
        return len(query)
    if not isinstance(query, list | tuple):
        raise TypeError(
            f"user_query must be a text or a list of parts (text, ImagePart, FilePart), not {_type(query)}."
        )
    if not query:
        raise ValueError("user_query is an empty list: pass a text, or at least one part.")
    size = 0
    for index, part in enumerate(query):
        place = f"user_query[{index}]"
        size += (own := _size(part, place))
        if size > MAX_INPUT_BYTES:
            most = f"all parts together may have {_mebibytes(MAX_INPUT_BYTES)}, before they are encoded"
            raise ValueError(f"{place}, {_named(part)} of {_mebibytes(own)}, is too much: {most}. {_remedy(part)}.")
        _check_kind(part, place)
    return size


def content_of(query: UserInput) -> str | list[dict[str, Any]]:
    """Return the content of the message that says `query`. Half of a surrogate pair becomes U+FFFD.

    It takes milliseconds for each MiB of pictures and files, which are encoded.

    Raises:
        TypeError, ValueError: as `check` does.
    """
    check(query)
    return as_text(query) if isinstance(query, str) else [_written(part) for part in query]


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


def _check_kind(part: InputPart, place: str) -> None:
    if isinstance(part, ImagePart | FilePart) and not part.data:
        raise ValueError(f"{place} is {_named(part)} without a byte: was it read to its end before? Leave it out.")
    match part:
        case ImagePart(data=str() as url):
            if not url.startswith(("https://", "http://", "data:")):
                raise ValueError(f"{place} has a URL that begins with neither https:, http: nor data:.")
            if url.startswith("data:") and not url.startswith(_IMAGE_DATA):
                raise ValueError(f"{place} has a data: URL that is not base64 of {_ONE_OF}.")
        case ImagePart(data=bytes() as data, media_type=given):
            if given is not None and given not in IMAGE_TYPES:
                other = f"pictures have {_ONE_OF}. Convert it; anything else than a picture is a FilePart"
                raise ValueError(f"{place} has the media type {given!r}: {other}.")
            if (kind := _image_type(data)) is None:
                said = "begins as no picture does" if given is None else f"does not begin as {given} does"
                raise ValueError(f"{place} {said}: pass the bytes of {_ONE_OF}. Anything else is a FilePart.")
            if given not in (None, kind):
                raise ValueError(f"{place} has the media type {given!r}, and its bytes are {kind}: leave the type out.")
        case FilePart(media_type=given, name=name):
            if not isinstance(name, str | None):
                raise TypeError(
                    f"{place} has {_type(name)} as the name of the file: pass a text such as 'report.pdf', or None."
                )
            if name and _CONTROL.search(name):
                raise ValueError(f"{place} has the name {name[:100]!r}, with a control character: leave it out.")
            if not isinstance(given, str) or not _MEDIA_TYPE.fullmatch(given.lower()):
                raise ValueError(f"{place} has the media type {given!r}: pass one such as 'application/pdf'.")
        case _:
            pass


def _written(part: InputPart) -> dict[str, Any]:
    match part:
        case ImagePart(data=str() as url):
            return {"type": "image_url", "image_url": {"url": as_text(url)}}
        case ImagePart(data=bytes() as data):
            return {"type": "image_url", "image_url": {"url": _data_url(_image_type(data) or "", data)}}
        case FilePart():
            kind = part.media_type.lower()
            name = as_text(part.name) if part.name else f"file{guess_extension(kind) or ''}"
            return {"type": "file", "file": {"filename": name, "file_data": _data_url(kind, part.data)}}
        case str() | TextPart():
            return {"type": "text", "text": as_text(part if isinstance(part, str) else part.text)}
    raise TypeError(f"{_type(part)} is no part of a query")  # which `check` has refused


_MEDIA_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9.+-]*/[a-z0-9][a-z0-9.+-]*")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_ONE_OF: Final = f"{', '.join(IMAGE_TYPES[:-1])} or {IMAGE_TYPES[-1]}"
_IMAGE_DATA: Final = tuple(f"data:{kind};base64," for kind in IMAGE_TYPES)
_MARKS: Final = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
}
"""How the bytes of each type begin."""

_ENCODED_AT_ONCE: Final = 3 * 64 * 1024
"""Bytes that are encoded at a stretch, in which no other thread runs; a multiple of three, so that the pieces fit."""


def _image_type(data: bytes) -> str | None:
    return next((kind for kind, mark in _MARKS.items() if mark.match(data)), None)


def _data_url(media_type: str, data: bytes) -> str:
    pieces = (data[at : at + _ENCODED_AT_ONCE] for at in range(0, len(data), _ENCODED_AT_ONCE))
    return "".join((f"data:{media_type};base64,", *(b64encode(piece).decode("ascii") for piece in pieces)))


def _named(part: Any) -> str:
    match part:
        case ImagePart():
            return "a picture"
        case FilePart(name=str() as name):
            return f"the file {name[:100]!r}"
        case FilePart():
            return "a file"
        case _:
            return "a text"


def _remedy(part: Any) -> str:
    match part:
        case ImagePart():
            return "Scale it down, or pass its URL"
        case FilePart():
            return "Pass the part of it that matters, or its text"
        case _:
            return "Shorten it"


def _mebibytes(size: int) -> str:
    return f"{size / 1024**2:.1f} MiB".replace(".0 ", " ")


def _type(value: Any) -> str:
    return f"a value of type {type(value).__name__}"
