"""The size in pixels of a picture inside a message, read from its first bytes without unpacking it.

A picture of a few kilobytes can unpack to gigabytes. PNG, GIF, WebP, JPEG and AVIF say their size near the beginning.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final
from urllib.parse import unquote_to_bytes

_BEGINNING: Final = 65_536
"""Bytes of the file that are looked at. A size that stands behind them, such as after a long comment, is not known."""
_DATA: Final = re.compile(r"data:[^,;]*((?:;[^,;]*)*),(.*)", re.DOTALL)
_NOT_BASE64: Final = re.compile(r"[^A-Za-z0-9+/]")


def picture_size(uri: str) -> tuple[int, int] | None:
    """Return width and height of the picture in a `data:` URI, None if its beginning does not tell."""
    data = _bytes(uri)
    for reader in (_png, _gif, _webp, _jpeg, _avif):
        if size := reader(data):
            return size
    return None


def _bytes(uri: str) -> bytes:
    found = _DATA.fullmatch(uri)
    if not found:
        return b""
    if not found[1].lower().endswith(";base64"):
        return unquote_to_bytes(found[2][: 3 * _BEGINNING])[:_BEGINNING]
    digits = _NOT_BASE64.sub("", unquote_to_bytes(found[2][: 4 * _BEGINNING]).decode("latin-1"))
    digits = digits[: _BEGINNING // 3 * 4]
    try:
        return base64.b64decode(digits[: len(digits) // 4 * 4])
    except binascii.Error:
        return b""


def _int(data: bytes, at: int, length: int, order: str = "big") -> int:
    """Return an unsigned number of `length` bytes; zero beyond the end."""
    part = data[at : at + length]
    return int.from_bytes(part, "little" if order == "little" else "big") if len(part) == length else 0


def _png(data: bytes) -> tuple[int, int] | None:
    return (_int(data, 16, 4), _int(data, 20, 4)) if data.startswith(b"\x89PNG") else None


def _gif(data: bytes) -> tuple[int, int] | None:
    return (_int(data, 6, 2, "little"), _int(data, 8, 2, "little")) if data.startswith(b"GIF8") else None


def _webp(data: bytes) -> tuple[int, int] | None:
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        return None
    match data[12:16]:
        case b"VP8X":
            return _int(data, 24, 3, "little") + 1, _int(data, 27, 3, "little") + 1
        case b"VP8L":
            bits = _int(data, 21, 4, "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case _:
            return _int(data, 26, 2, "little") & 0x3FFF, _int(data, 28, 2, "little") & 0x3FFF


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while data.startswith(b"\xff\xd8") and at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return _int(data, at + 7, 2), _int(data, at + 5, 2)
        at += 1 if marker == 0xFF else 2 + max(_int(data, at + 2, 2), 2)
    return None


def _avif(data: bytes) -> tuple[int, int] | None:
    """Return the largest size of the boxes `ispe`, each of which is that of one picture in the file."""
    sizes: list[tuple[int, int]] = []
    at = data.find(b"ispe") if data[4:8] == b"ftyp" else -1
    while at >= 0:
        sizes.append((_int(data, at + 8, 4), _int(data, at + 12, 4)))
        at = data.find(b"ispe", at + 4)
    return max(sizes, key=max, default=None)
