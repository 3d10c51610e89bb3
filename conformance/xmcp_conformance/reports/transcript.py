"""What was sent and what came, one JSON object a line, for who wants to see a run with his own eyes.

Their shape is `transcript.schema.json` beside this file. There are no headers and no variables in it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from xmcp_conformance.core.plain_json import plain

SCHEMA: Final = Path(__file__).with_name("transcript.schema.json")


def line(
    protocol_version: str,
    client: str,
    name: str,
    arguments: dict[str, Any],
    *,
    seconds: float,
    result: dict[str, Any] | None,
    failed: str,
) -> str:
    """Return a call as one line of JSON, without the line end. It is ASCII: text of a peer cannot end the line.

    Args:
        protocol_version: the version of MCP.
        client: the kind of client, such as `declared`.
        name: the tool that was called.
        arguments: its arguments.
        seconds: how long the answer took.
        result: the result as it came, if one did.
        failed: else how the call ended.
    """
    answer: dict[str, Any] = {"failed": failed} if result is None else {"result": result}
    request = {"name": name, "arguments": arguments}
    of = {"protocol_version": protocol_version, "client": client}
    return json.dumps(plain({**of, "request": request, "seconds": round(seconds, 6), **answer}))
