"""A hostile tool server of the soak that speaks stdio: `python -m tools.soak.stdio_peer`. It dies often."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

from tools.soak.script import FLOODS, STDIO_FAULTS

ESCAPES = "\x1b[2J\x1b]0;soak\x07"
"""What clears a terminal and gives its window another title."""

ENDLESS_SECONDS = 30.0
"""What floods goes on for so long, whatever the client does."""

_writing = threading.Lock()


def write(text: str) -> None:
    """Write to standard output, where the client reads."""
    with _writing:
        sys.stdout.write(text)
        sys.stdout.flush()


def reply(request: dict[str, Any], **result: Any) -> str:
    """Return the line that answers a request."""
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}) + "\n"


def said(request: dict[str, Any], text: str = "fine") -> str:
    """Return the line that answers a call with a text."""
    return reply(request, content=[{"type": "text", "text": text}], isError=False)


def call(request: dict[str, Any]) -> None:
    """Do what a tool says, in a thread of its own."""
    ending = time.monotonic() + ENDLESS_SECONDS
    match request["params"]["name"]:
        case "quick":
            time.sleep(0.05)
            write(said(request))
        case "wrong_id":
            write(said({"id": 987_654}))
        case "no_json":
            write("Welcome to the server!\n{oops\n")
        case "bad_display":
            write(said(request, '<tool_response tool_name="x"><display>{"type": 5}</display></tool_response>'))
        case "endless_line":
            while time.monotonic() < ending:
                write("x" * 65_536)
                time.sleep(0.004)
        case "huge":
            write(said(request, "x" * (8 << 20)))
        case "silence":
            pass
        case "flood":
            params = {"level": "error", "data": f"{ESCAPES} a line of a log"}
            line = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": params}) + "\n"
            while time.monotonic() < ending:
                write(line * 100)
        case "pings":
            number = 0
            while time.monotonic() < ending:
                number += 1
                write(json.dumps({"jsonrpc": "2.0", "id": f"ping-{number}", "method": "ping"}) + "\n")
        case "stderr":
            for _ in range(200):
                sys.stderr.write(f"{ESCAPES} a line of a log\n" * 100)
            write(said(request))
        case "die":
            sys.stderr.write(f"{ESCAPES} fatal: cannot go on\n")
            os._exit(1)


def main() -> None:
    """Answer until the standard input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        method = request.get("method")
        if "id" not in request or method is None:
            continue
        if method == "initialize":
            facts = {"capabilities": {"tools": {}, "logging": {}}, "serverInfo": {"name": "pipe", "version": "1"}}
            write(reply(request, protocolVersion=request["params"]["protocolVersion"], **facts))
        elif method == "tools/list":
            names = ("quick", *STDIO_FAULTS, *FLOODS)
            write(reply(request, tools=[{"name": name, "inputSchema": {"type": "object"}} for name in names]))
        elif method == "tools/call":
            threading.Thread(target=call, args=(request,), daemon=True).start()
        else:
            error = {"code": -32601, "message": "No such method."}
            write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}) + "\n")
    os._exit(0)


if __name__ == "__main__":
    main()
