"""What the server's tests share: a call over the protocol in each era, and a reader that is not `xmcp.wire`."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

import jsonschema_rs
import pytest
import uvicorn
from fastmcp import Client
from lxml import etree
from mcp_types import CallToolResult, TextContent
from rich.logging import RichHandler

_DATA = files("xmcp_models") / "data"
_XSD = etree.XMLSchema(etree.fromstring((_DATA / "tool_response.xsd").read_bytes()))
_ENVELOPE = jsonschema_rs.validator_for(json.loads((_DATA / "display_envelope.schema.json").read_text()))
_ERROR_META = jsonschema_rs.validator_for(json.loads((_DATA / "error_meta.schema.json").read_text()))
_PARSER = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)


class Reply:
    """A tools/call result read with lxml; reading it also checks it against every schema and rule."""

    def __init__(self, result: CallToolResult) -> None:
        self.result = result
        assert isinstance(result.content[0], TextContent)
        self.text = result.content[0].text
        self.other_blocks = result.content[1:]
        root = etree.fromstring(self.text.encode(), _PARSER)
        _XSD.assertValid(root)
        self.tool_name = root.get("tool_name")
        output, display, error = root.find("llm_output"), root.find("display"), root.find("error")
        filled = root.find("server_populated")
        self.filled = None if filled is None else json.loads(filled.text)
        self.llm_output = None if output is None else "".join(output.itertext())
        self.format = None if output is None else output.get("format")
        self.truncated = output is not None and output.get("truncated") == "true"
        self.lossy = any(element.get("lossy") == "true" for element in root.iter())
        self.display = None if display is None else json.loads("".join(display.itertext()))
        self.code = None if error is None else error.get("code")
        self.retryable = error is not None and error.get("retryable") == "true"
        self.retry_after_ms = (
            None if error is None or error.get("retry_after_ms") is None else int(error.get("retry_after_ms"))
        )
        self.category = None if error is None else error.get("category")
        self.message = None if error is None else (error.text or "").strip()
        meta = None if error is None else error.find("meta")
        self.meta: dict[str, Any] = {} if meta is None else json.loads("".join(meta.itertext()))
        self.structured = result.structured_content
        self.result_meta: dict[str, Any] = dict(result.meta or {})
        if self.display is not None:
            _ENVELOPE.validate(self.display)
        _ERROR_META.validate(self.meta)
        assert result.is_error == (error is not None)
        assert self.result_meta["dev.xmcp/version"] == "1.0"
        assert {key for key in self.result_meta if key.startswith("dev.xmcp/")} == {"dev.xmcp/version"}
        if error is not None:
            assert self.structured is None

    @property
    def wire(self) -> str:
        """Everything the client was sent."""
        return self.result.model_dump_json(by_alias=True)


Call = Callable[..., Awaitable[Reply]]


@pytest.fixture(scope="session", autouse=True)
def _fastmcp_draws_no_tracebacks() -> None:
    """FastMCP renders each traceback with rich, which takes longer than the test that provokes it."""
    for handler in logging.getLogger("fastmcp").handlers:
        if isinstance(handler, RichHandler):  # not those by which pytest itself listens
            handler.setLevel(logging.CRITICAL)


@pytest.fixture(params=["auto", "legacy"], ids=["modern", "handshake"])
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def call(era: str) -> Call:
    """Call one tool of a server (an object or an URL) in the era of the test."""

    async def call(server: Any, name: str, /, **arguments: Any) -> Reply:
        async with Client(server, mode=era, timeout=20) as client:
            return Reply(await client.call_tool_mcp(name, arguments))

    return call


@pytest.fixture
def reply() -> type[Reply]:
    return Reply


@pytest.fixture
def over_http() -> Callable[[Any], Any]:
    """Serve an ASGI application on a free port; gives the base URL."""

    @asynccontextmanager
    async def over_http(app: Any) -> AsyncIterator[str]:
        # Said to be TCP: else asyncio leaves Nagle's algorithm on and each request takes 40 ms more.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        config = uvicorn.Config(app, log_level="critical", ws="none", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await task
            listener.close()

    return over_http
