"""Lets the suite judge a codec in Python: `xmcp check codec "python examples/codec/adapter.py"`.

Copy this file, and put your codec in the place of `xmcp.wire`.
"""

import base64
import json
import sys
from dataclasses import asdict
from typing import Any

from xmcp.wire import DecodeError, Decoder, ErrorInfo, ToolResponse, encode

# Values beyond JSON that the codec is given with tags. Leave out those that yours has no use for, and their lines.
VALUES = ["float", "halves", "integer", "surrogates"]
MEMBERS = ["tool_name", "version", "call_id", "llm_output", "format", "truncated", "lossy", "server_populated"]


def value(given: Any) -> Any:
    """Return what a tagged value stands for."""
    match given:
        case {"$float": name, **none} if not none:
            return float(name)
        case {"$integer": digits, **none} if not none:
            return int(digits)
        case {"$surrogates": units, **none} if not none:
            return "".join(chr(int(unit, 16)) for unit in units)
        case dict():
            return {name: value(member) for name, member in given.items()}
        case list():
            return [value(item) for item in given]
    return given


def written(request: dict[str, Any]) -> dict[str, Any]:
    """Answer `encode`."""
    try:
        response = value(request["response"])
        error = response.get("error")
        made = ToolResponse(**response | {"error": ErrorInfo(**error) if error else None})
        return {"document": encode(made, illegal=request["illegal"])}
    except (ValueError, TypeError) as fault:
        return {"refused": str(fault)}


def read(request: dict[str, Any]) -> dict[str, Any]:
    """Answer `decode`, of a document or of its pieces."""
    decoder = Decoder(bad_display=request["bad_display"])
    try:
        for piece in request.get("pieces") or [request["document"]]:
            decoder.feed(piece["text"] if "text" in piece else base64.b64decode(piece["base64"]))
        made = decoder.close()
    except DecodeError as fault:
        return {"error": fault.kind, "why": str(fault)}
    response = {name: getattr(made, name) for name in MEMBERS}
    response["error"] = asdict(made.error) if made.error else None
    response["display"] = made.display.to_dict() if made.display else None
    return {"response": response, "warnings": len(made.warnings)}


for line in sys.stdin:
    asked = json.loads(line)
    match asked["command"]:
        case "start":
            told = {"protocol": 1, "name": "xmcp.wire", "directions": ["encode", "decode", "stream"], "values": VALUES}
        case "encode":
            told = {"id": asked["id"], **written(asked)}
        case "decode":
            told = {"id": asked["id"], **read(asked)}
        case _:
            break
    print(json.dumps(told), flush=True)
