"""Speaks the codec protocol for a codec of this process, one of a set that the suite has not seen."""

from __future__ import annotations

import base64
import json
import sys
from typing import Any

from xmcp_conformance.profiles.codec.tagged_values import tagged
from xmcp_conformance.profiles.codec.vector_checks import Refused
from xmcp_conformance.profiles.codec.vectors import untagged
from xmcp_conformance.wrong.codecs.miniature_codec import MiniatureCodec

_VALUES = [
    *("bytes", "date", "datetime", "decimal", "float", "halves", "integer", "opaque", "pairs", "surrogates", "tuple")
]


def serve(codec: MiniatureCodec, name: str) -> None:
    """Answer requests until `stop` or the end of the input."""
    for line in sys.stdin:
        request = json.loads(line)
        if request["command"] == "stop":
            break
        sys.stdout.write(json.dumps(_answer(codec, name, request)) + "\n")
        sys.stdout.flush()


def _answer(codec: MiniatureCodec, name: str, request: dict[str, Any]) -> dict[str, Any]:
    if request["command"] == "start":
        return {"protocol": 1, "name": name, "directions": ["encode", "decode", "stream"], "values": _VALUES}
    answer = {"id": request["id"]}
    if request["command"] == "encode":
        try:
            return answer | {"document": codec.encode(untagged(request["response"]), illegal=request["illegal"])}
        except Refused as refusal:
            return answer | {"refused": str(refusal) or "refused"}
    try:
        if "pieces" in request:
            pieces = [_document(piece) for piece in request["pieces"]]
            response, warnings = codec.decode_pieces(pieces, bad_display=request["bad_display"])
        else:
            response, warnings = codec.decode(_document(request["document"]), bad_display=request["bad_display"])
    except Refused as refusal:
        return answer | {"error": refusal.error_class, "why": str(refusal)}
    return answer | {"response": tagged(response), "warnings": warnings}


def _document(document: dict[str, str]) -> str | bytes:
    return document["text"] if "text" in document else base64.b64decode(document["base64"])
