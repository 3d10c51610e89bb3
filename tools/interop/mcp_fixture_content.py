"""The fixed content that fixtures return: a picture, a sound, resources."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Final

import mcp_types as mt


def _png() -> str:
    """Return one red pixel as a PNG in base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\xff\0\0")) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + chunks).decode()


def _wav() -> str:
    """Return one silent sample as a WAV in base64."""
    fields = (b"RIFF", 38, b"WAVE", b"fmt ", 16, 1, 1, 8000, 16000, 2, 16, b"data", 2, 0)
    return base64.b64encode(struct.pack("<4sI4s4sIHHIIHH4sIh", *fields)).decode()


def text_resource(uri: str, mime_type: str, text: str) -> mt.EmbeddedResource:
    """Return a text as an embedded resource."""
    return mt.EmbeddedResource(
        type="resource", resource=mt.TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    )


PNG: Final = _png()
IMAGE: Final = mt.ImageContent(type="image", data=PNG, mime_type="image/png")

CONTENT: Final[dict[str, list[mt.ContentBlock]]] = {
    "test_image_content": [IMAGE],
    "test_audio_content": [mt.AudioContent(type="audio", data=_wav(), mime_type="audio/wav")],
    "test_embedded_resource": [
        text_resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        mt.TextContent(type="text", text="Multiple content types test:"),
        IMAGE,
        text_resource("test://mixed-content-resource", "application/json", json.dumps({"test": "data", "value": 123})),
    ],
}
"""The content that each of these tools returns, by the name of the tool."""
