"""What the server's tests share: a call over the protocol in each era, and a reader that is not `xmcp.wire`."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from importlib.resources import files
from typing import Any

import jsonschema_rs
import pytest
from fastmcp import Client
from lxml import etree
from mcp_types import CallToolResult, TextContent
from rich.logging import RichHandler
from support.declaration import DECLARES
from support.http_host import hosted

from xmcp import XMCP
from xmcp_models.registry import PREFIX, RESULT_META_KEY

_DATA = files("xmcp_models") / "data"
_XSD = etree.XMLSchema(etree.fromstring((_DATA / "tool_response.xsd").read_bytes()))
_ENVELOPE = jsonschema_rs.validator_for(json.loads((_DATA / "display_envelope.schema.json").read_text()))
_ERROR_META = jsonschema_rs.validator_for(json.loads((_DATA / "error_meta.schema.json").read_text()))
_PARSER = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)


@pytest.fixture(autouse=True, scope="module")
def documents_for_every_client() -> Iterator[None]:
    """Most tests look at documents, with a client that declares nothing: their servers have the wire `always`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(XMCP.__init__.__kwdefaults__, "wire", "always")
        yield


class Reply:
    """A tools/call result read with lxml, and checked against every schema and every rule of the MCP binding."""

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
        assert self.result_meta[RESULT_META_KEY] == {"version": "1.0", "form": "document"}
        assert {key for key in self.result_meta if key.startswith(PREFIX)} == {RESULT_META_KEY}
        if self.code in ("INTERNAL", "UNKNOWN_TOOL", "VALIDATION_FAIL"):  # no author gave data with these
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
    """Call one tool of a server (an object or an URL) in the era of the test, as a client that shows displays."""

    async def call(server: Any, name: str, /, **arguments: Any) -> Reply:
        async with Client(server, mode=era, timeout=300, extensions=DECLARES) as client:
            return Reply(await client.call_tool_mcp(name, arguments))

    return call


@pytest.fixture
def reply() -> type[Reply]:
    return Reply


@pytest.fixture
def over_http() -> Callable[[Any], Any]:
    """`async with over_http(app) as url`: serve an ASGI application on a free port."""
    return partial(hosted, drain=1)
