"""An MCP server on a port of this machine whose tools answer with `cases.CASES`, unchanged."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, Final

import mcp_types as mt
import uvicorn
from fastmcp import FastMCP
from fastmcp.tools import Tool, ToolResult

from tools.hosts.cases import CASES, SCHEMA, WITH_SCHEMA

START_SECONDS: Final = 30.0


@contextlib.contextmanager
def fixture_server() -> Iterator[str]:
    """Serve until the block ends; yield the address. The tools take no arguments and are read-only.

    Raises:
        SystemExit: the server does not start.
    """
    mcp: FastMCP[Any] = FastMCP("cases")
    for name, result in CASES.items():
        mcp.add_tool(_tool(name, mt.CallToolResult.model_validate(result)))
    config = uvicorn.Config(mcp.http_app(), log_level="critical", lifespan="on", timeout_graceful_shutdown=1)
    server, listener = uvicorn.Server(config), socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    deadline = time.monotonic() + START_SECONDS
    while not server.started:  # uvicorn has no event for it
        if time.monotonic() > deadline:
            sys.exit(f"the fixture server did not start within {START_SECONDS:.0f} s")
        time.sleep(0.05)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        thread.join(START_SECONDS)


def _tool(name: str, result: mt.CallToolResult) -> Tool:
    def answer() -> ToolResult:
        return ToolResult(
            content=result.content,
            structured_content=result.structured_content,
            meta=result.meta,
            is_error=bool(result.is_error),
        )

    return Tool.from_function(
        answer,
        name=name,
        description="Answer with a fixed result.",
        output_schema=SCHEMA if name in WITH_SCHEMA else None,
        annotations=mt.ToolAnnotations(read_only_hint=True),
    )
