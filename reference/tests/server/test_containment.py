"""What one request raises ends that request only, whatever it is: the session and the server go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.server.middleware import Middleware
from mcp import MCPError

from xmcp import XMCP
from xmcp.server.containment import ends_its_task


class Panic(BaseException):
    pass


RAISED: dict[str, type[BaseException]] = {
    kind.__name__: kind
    for kind in (GeneratorExit, SystemExit, KeyboardInterrupt, asyncio.CancelledError, StopIteration, Panic)
}


def failure(kind: str) -> BaseException:
    group = kind.removeprefix("group of ")
    made = RAISED[group]("s3cr3t")
    return made if group == kind else BaseExceptionGroup("s3cr3t", [made])


class InMiddleware(Middleware):
    async def on_list_prompts(self, context: Any, call_next: Any) -> Any:
        raise failure("KeyboardInterrupt")

    async def on_notification(self, context: Any, call_next: Any) -> Any:
        raise failure("GeneratorExit")


def raising(**options: Any) -> XMCP:
    mcp = XMCP(**options)

    @mcp.tool
    async def is_async(kind: str) -> None:
        raise failure(kind)

    @mcp.tool
    def is_sync(kind: str) -> None:
        raise failure(kind)

    @mcp.tool(timeout=20)
    def is_timed(kind: str) -> None:
        raise failure(kind)

    @mcp.tool(run_in_thread=False)
    def is_inline(kind: str) -> None:
        raise failure(kind)

    @mcp.tool
    def is_generator(kind: str) -> Iterator[int]:
        yield 1
        raise failure(kind)

    @mcp.tool
    async def is_async_generator(kind: str) -> AsyncIterator[int]:
        yield 1
        raise failure(kind)

    @mcp.tool(server_populated=["value"])
    def has_provider(kind: str, value: int) -> None:
        pass

    @mcp.param_provider("value")
    def provides(request: Any) -> int:
        raise failure(request.arguments["kind"])

    @mcp.resource("data://{kind}")
    async def resource(kind: str) -> str:
        raise failure(kind)

    @mcp.prompt
    async def prompt(kind: str) -> str:
        raise failure(kind)

    @mcp.tool
    def works() -> str:
        return "fine"

    return mcp


TOOLS = ("is_async", "is_sync", "is_timed", "is_inline", "is_generator", "is_async_generator", "has_provider")


@pytest.mark.parametrize("kind", [*RAISED, "group of GeneratorExit", "group of KeyboardInterrupt"])
async def test_whatever_a_tool_raises_is_an_error_of_that_call_and_the_session_goes_on(kind: str, era: str) -> None:
    code = "CANCELLED" if kind == "CancelledError" else "INTERNAL"
    async with Client(raising(), mode=era, timeout=300) as client:
        for name in TOOLS:
            failed = await client.call_tool_mcp(name, {"kind": kind})
            assert f'code="{code}"' in failed.content[0].text, name
            assert "s3cr3t" not in failed.model_dump_json()
            assert "fine" in (await client.call_tool_mcp("works", {})).content[0].text


@pytest.mark.parametrize("kind", [name for name in RAISED if name != "StopIteration"])
async def test_whatever_a_resource_or_a_prompt_raises_the_session_goes_on(
    kind: str, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Client(raising(), mode=era, timeout=300) as client:
        for request in (client.read_resource(f"data://{kind}"), client.get_prompt("prompt", {"kind": kind})):
            with pytest.raises(MCPError, match=r"failed unexpectedly\. The server's log"):
                await request
            assert "fine" in (await client.call_tool_mcp("works", {})).content[0].text
    assert f"The handler of 'resources/read' raised {kind}." in caplog.text


@pytest.mark.filterwarnings("ignore:Client-to-server progress")
async def test_whatever_a_middleware_raises_the_session_goes_on(era: str) -> None:
    async with Client(raising(middleware=[InMiddleware()]), mode=era, timeout=300) as client:
        with pytest.raises(MCPError, match="failed unexpectedly"):
            await client.list_prompts()
        await client.session.send_progress_notification(1, 1)
        assert "fine" in (await client.call_tool_mcp("works", {})).content[0].text


@pytest.mark.parametrize("stateless", [True, False])
async def test_over_http_the_other_clients_go_on(stateless: bool, era: str, over_http: Any) -> None:
    app = raising().http_app(stateless_http=stateless)
    async with over_http(app) as url, Client(f"{url}/mcp", mode=era, timeout=300) as other:
        async with Client(f"{url}/mcp", mode=era, timeout=300) as client:
            for kind in ("GeneratorExit", "KeyboardInterrupt"):
                for name in ("is_async", "is_sync"):
                    await client.call_tool_mcp(name, {"kind": kind})
                with pytest.raises(MCPError, match="failed unexpectedly"):
                    await client.read_resource(f"data://{kind}")
        assert "fine" in (await other.call_tool_mcp("works", {})).content[0].text


async def test_a_request_whose_coroutine_is_closed_ends() -> None:
    seen = []

    async def request(leave: bool) -> None:
        task = asyncio.current_task()
        try:
            if leave:
                raise GeneratorExit
            await asyncio.Event().wait()
        except GeneratorExit as closed:
            seen.append(ends_its_task(closed, task))

    await request(leave=True)
    running = request(leave=False)

    async def begin() -> None:
        running.send(None)  # to its first wait; nothing will ever continue it, as at the end of a loop

    await asyncio.create_task(begin())
    running.close()
    assert seen == [False, True]
