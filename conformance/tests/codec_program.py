"""A codec behind a command, for tests: `python codec_program.py NAME [FAULT]` answers as a codec of the suite does.

FAULT is what it does at its tenth request, or all the time: see `FAULTS`.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
from typing import Any

from xmcp_conformance.profiles.codec.tagged_values import tagged
from xmcp_conformance.profiles.codec.vector_checks import Refused
from xmcp_conformance.profiles.codec.vectors import untagged
from xmcp_conformance.wrong.codecs import wrong_codecs
from xmcp_conformance.wrong.codecs.miniature_codec import MiniatureCodec

VALUES = [
    "bytes",
    "date",
    "datetime",
    "decimal",
    "float",
    "halves",
    "integer",
    "opaque",
    "pairs",
    "surrogates",
    "tuple",
]
FAULTS = ("ends", "hangs", "talks", "another id", "no member", "floods", "stays", "forks")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def document(given: dict[str, str]) -> str | bytes:
    return given["text"] if "text" in given else base64.b64decode(given["base64"])


def answer(codec: MiniatureCodec, request: dict[str, Any]) -> dict[str, Any]:
    try:
        if request["command"] == "encode":
            return {"document": codec.encode(untagged(request["response"]), illegal=request["illegal"])}
        policy = request["bad_display"]
        if "pieces" in request:
            response, warnings = codec.decode_pieces(map(document, request["pieces"]), bad_display=policy)
        else:
            response, warnings = codec.decode(document(request["document"]), bad_display=policy)
    except Refused as refusal:
        return {"error": refusal.error_class, "why": str(refusal)} if refusal.error_class else {"refused": str(refusal)}
    return {"response": tagged(response), "warnings": warnings}


def at_fault(fault: str, told: dict[str, Any]) -> None:
    """Do what is wrong at the tenth request."""
    match fault:
        case "ends":
            sys.exit("out of cheese")
        case "hangs":
            time.sleep(600)
        case "talks":
            say("Hello!")
        case "another id":
            told["id"] += 1
        case "no member":
            told.clear()
        case "floods":
            say("x" * (70 * 1024 * 1024))


def main() -> None:
    name, fault = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    codec = getattr(wrong_codecs, name, MiniatureCodec)()
    if fault == "forks":
        subprocess.Popen([sys.executable, "-c", f"import time; time.sleep(600) # {os.environ['MARK']}"])
    count = 0
    for line in sys.stdin:
        request = json.loads(line)
        if request["command"] == "stop":
            break
        if request["command"] == "start":
            told = {"protocol": 1, "name": name, "directions": ["encode", "decode", "stream"], "values": VALUES}
        else:
            count += 1
            told = {"id": request["id"], **answer(codec, request)}
            if count == 10:
                at_fault(fault, told)
        say(json.dumps(told))
    if fault == "stays":
        time.sleep(600)


if __name__ == "__main__":
    main()
