"""What the client changes in the clients and sessions of FastMCP and the SDK. Red means: they have changed."""

from __future__ import annotations

import asyncio
import gc
import json
import weakref
from typing import Any

import fastmcp
import pytest
from mcp.client import advertise

from xmcp.client.servers.fastmcp_internals import check_results_in_slices, prepared, sessions, skip_result_validation
from xmcp_models.registry import EXTENSION_ID

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


async def deaf(_: Any) -> None:
    """Hears nothing."""


@MODES
async def test_an_applications_client_advertises_what_is_added_and_what_it_did(mcp: Any, mode: str) -> None:
    own = fastmcp.Client(mcp, mode=mode, extensions=[advertise("com.example/own", {"a": 1})])
    added = [advertise(EXTENSION_ID, {"versions": ["1.0"]}), advertise("com.example/own", {"a": 2})]
    async with prepared(own, deaf, added) as client:
        result = await client.call_tool_mcp("declared", {})
    declared = json.loads(result.content[0].text)
    declared.pop("io.modelcontextprotocol/tasks", None)  # FastMCP adds it where fastmcp-tasks is installed
    assert declared == {
        "com.example/own": {"a": 1},
        EXTENSION_ID: {"versions": ["1.0"]},
    }
    assert not own.is_connected()
    assert [extension.identifier for extension in own._extensions_arg or ()] == ["com.example/own"]


@MODES
@pytest.mark.parametrize("cache", [True, False])
async def test_an_applications_client_hears_what_it_heard_and_so_do_we(mcp: Any, mode: str, cache: bool) -> None:
    heard: list[tuple[str, str]] = []
    both = asyncio.Event()

    def listener(who: str) -> Any:
        async def hear(message: Any) -> None:
            heard.append((who, type(message).__name__))
            if len(heard) == 2:
                both.set()

        return hear

    own = fastmcp.Client(mcp, mode=mode, message_handler=listener("app"), cache=cache)
    async with prepared(own, listener("we"), []) as client:
        await client.call_tool_mcp("announce", {})
        await asyncio.wait_for(both.wait(), 300)
    assert heard == [("we", "ToolListChangedNotification"), ("app", "ToolListChangedNotification")]


async def test_a_result_that_breaks_its_schema_is_handed_on(servers: Any) -> None:
    async with fastmcp.Client(servers.plain()) as client:
        with pytest.raises(RuntimeError, match="output schema"):
            await client.call_tool_mcp("breaks_schema", {})
    async with fastmcp.Client(servers.plain()) as client:
        skip_result_validation(client.session)
        result: Any = await client.call_tool_mcp("breaks_schema", {})
    assert result.content[0].text == "still a result"


@MODES
async def test_the_form_of_a_result_is_checked_in_slices_and_nowhere_else(
    mcp: Any, monkeypatch: Any, mode: str
) -> None:
    """Red: the SDK checks it by another name, so that its own check, which also writes the result, is back."""
    checked: list[str] = []
    monkeypatch.setattr(sessions, "check_result", lambda method, version, result: checked.append(method))
    monkeypatch.setattr("mcp_types.methods.validate_server_result", lambda *_: checked.append("by the SDK"))
    async with fastmcp.Client(mcp, mode=mode) as client:
        skip_result_validation(client.session)
        check_results_in_slices(client.session)
        checked.clear()
        assert (await client.call_tool_mcp("large", {"size": 3})).content[0].text == "xxx"  # type: ignore[union-attr]
    assert checked == ["tools/call"]


def test_a_session_is_freed_without_the_garbage_collector() -> None:
    class Session:
        async def send_request(self) -> None: ...

    session: Any = Session()
    gone = weakref.ref(session)
    gc.disable()
    try:
        check_results_in_slices(session)
        assert session.send_request.__func__ is not Session.send_request
        del session
        assert gone() is None
    finally:
        gc.enable()
