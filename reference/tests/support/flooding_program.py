"""A program that speaks MCP on stdio by hand, and pours out what no server may when its tool `pour` is called.

Run as `python flooding_program.py KIND`, where KIND is what it pours without an end: `line`, `pings`, `notifications`,
`garbage` or `answers`; or `nothing`: then `pour` answers with as many characters as its argument `size` says. With
`brackets` and `brackets-id-last` an answer with `size` above 0 has a million arrays as well, with `blocks` ten
thousand blocks, and with `reports` it sends so many reports of progress before. A further argument is the name of an
extension that it announces.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

INPUT: dict[str, Any] = {"type": "object", "properties": {"size": {"type": "integer"}}}
TOOL: dict[str, Any] = {"name": "pour", "inputSchema": INPUT, "annotations": {"readOnlyHint": True}}

FLOODS = {
    "line": b"x" * 65536,
    "pings": b"".join(b'{"jsonrpc":"2.0","id":"p%d","method":"ping"}\n' % n for n in range(500)),
    "notifications": b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n' * 500,
    "garbage": b"no protocol\n" * 500,
    "answers": b'{"jsonrpc":"2.0","id":987654,"result":{}}\n' * 500,
}


def reports(token: Any, count: int) -> list[dict[str, Any]]:
    """Return so many reports of the progress of a call."""
    told = [{"progressToken": token, "progress": n, "total": count, "message": f"row {n}"} for n in range(1, count + 1)]
    return [{"jsonrpc": "2.0", "method": "notifications/progress", "params": params} for params in told]


def command(kind: str, *extension: str) -> list[str]:
    """Return the command that pours out `kind`, of a server that announces the extension if there is one."""
    return [sys.executable, str(Path(__file__)), kind, *extension]


def _answer(request: dict[str, Any], kind: str) -> dict[str, Any]:
    method, given = request["method"], request.get("params", {}).get("arguments", {})
    if method == "server/discover":
        return {"error": {"code": -32601, "message": "of the handshake era"}}
    if method == "initialize":
        info = {"name": "pouring", "version": "1"}
        announced = {name: {"versions": ["1.0"], "wire": "always"} for name in sys.argv[2:]}
        can = {"tools": {}, "experimental": announced}
        return {"result": {"protocolVersion": "2025-06-18", "capabilities": can, "serverInfo": info}}
    if method == "tools/list":
        return {"result": {"tools": [TOOL]}}
    if method == "tools/call":
        while kind in FLOODS:
            os.write(1, FLOODS[kind])
        size = int(given.get("size") or 0)
        if kind == "reports":
            for report in reports(request["params"]["_meta"]["progressToken"], size):
                sys.stdout.write(json.dumps(report) + "\n")
            size = 1
        data = {"structuredContent": {"x": [[]] * 1_000_000}} if size and kind.startswith("brackets") else {}
        blocks = [{"type": "text", "text": "x" * size}] * (10_000 if size and kind == "blocks" else 1)
        return {"result": {"content": blocks, **data}}
    return {"error": {"code": -32601, "message": method}}


if __name__ == "__main__":
    for text in sys.stdin:
        asked = json.loads(text)
        if "id" in asked and "method" in asked:
            reply = {"jsonrpc": "2.0", "id": asked["id"], **_answer(asked, sys.argv[1])}
            if sys.argv[1] == "brackets-id-last":
                reply = dict(reversed([*reply.items()]))
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()
