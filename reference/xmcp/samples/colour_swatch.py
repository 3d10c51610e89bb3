"""The PNG of a colour swatch, with the standard library only, for the tool of the sample server that shows an image."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import TypeAlias

Colour: TypeAlias = tuple[int, int, int]
SIDE = 16
"""Pixels."""


def png(colour: Colour) -> bytes:
    """Return a square PNG (RFC 2083) of `SIDE` pixels in the colour (red, green, blue, each 0 to 255)."""
    rows = (b"\0" + bytes(colour) * SIDE) * SIDE
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)  # 8 bits a sample, RGB
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )


def data_uri(colour: Colour) -> str:
    """Return the PNG as a data URI."""
    return f"data:image/png;base64,{base64.b64encode(png(colour)).decode()}"
