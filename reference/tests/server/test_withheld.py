"""Values that an author marks as sensitive leave neither in messages to the client nor in the log while a tool runs."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import anyio.from_thread
import pytest
from fastmcp import Client, Context
from fastmcp.server.middleware.error_handling import ErrorHandlingMiddleware
from fastmcp.server.middleware.logging import LoggingMiddleware
from mcp_types import SamplingMessage, TextContent

from xmcp import XMCP

SECRET = "sk-live-4711"
LOGS = {"io.modelcontextprotocol/logLevel": "debug"}  # 2026-07-28: a client asks for log messages in each request


class Heard:
    """Everything that a client was sent besides answers."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    async def log(self, message: Any) -> None:
        self.messages.append(f"log {message.logger} {message.data}")

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.messages.append(f"progress {progress} {total} {message}")

    async def elicit(self, message: str, response_type: Any, params: Any, context: Any) -> Any:
        self.messages.append(f"elicit {params.model_dump_json(by_alias=True)}")
        return {"value": "no"}

    async def sample(self, messages: Any, params: Any, context: Any) -> str:
        self.messages.append(f"sample {params.model_dump_json(by_alias=True)}")
        return "sampled"

    async def other(self, message: Any) -> None:
        if "resources/updated" in str(message):
            self.messages.append(str(message))

    def client(self, server: Any, era: str) -> Client[Any]:
        return Client(
            server,
            mode=era,
            timeout=300,
            log_handler=self.log,
            progress_handler=self.progress,
            elicitation_handler=self.elicit,
            sampling_handler=self.sample,
            message_handler=self.other,
        )


def telling(secret: str = SECRET) -> XMCP:
    mcp = XMCP()
    hidden: dict[str, Any] = {"server_populated": ["key"], "sensitive": ["key"]}
    mcp.param_provider("key")(lambda: secret)

    @mcp.tool(**hidden)
    async def logs(key: str, ctx: Context) -> None:
        await ctx.info(f"with {key}")
        await ctx.log(f"with {key}", level="error", logger_name=f"of {key}", extra={key: [{"a": key}]})

    @mcp.tool(**hidden)
    def logs_in_thread(key: str, ctx: Context) -> None:
        anyio.from_thread.run(ctx.warning, f"with {key}")

    @mcp.tool(**hidden)
    async def logs_in_task(key: str, ctx: Context) -> None:
        await asyncio.create_task(ctx.info(f"with {key}"))

    @mcp.tool(**hidden)
    async def progress(key: str, ctx: Context) -> None:
        await ctx.report_progress(1, 2, f"with {key}")
        await ctx.session.report_progress(2, 2, f"with {key}")

    @mcp.tool(**hidden)
    async def elicits(key: str, ctx: Context) -> None:
        await ctx.elicit(f"with {key}?", response_type=[f"yes, {key}", "no"])

    @mcp.tool(**hidden)
    async def samples(key: str, ctx: Context) -> None:
        block = TextContent(type="text", text=f"with {key}")
        await ctx.session.create_message(
            [SamplingMessage(role="user", content=block), SamplingMessage(role="user", content=[block])],
            max_tokens=4711,
            system_prompt=f"with {key}",
            related_request_id=ctx.request_id,
        )

    @mcp.tool(**hidden)
    async def updates(key: str, ctx: Context) -> None:
        await ctx.session.send_resource_updated(f"data://with {key}")

    @mcp.tool
    async def calls_another(ctx: Context) -> None:
        await mcp.call_tool("logs", {})
        await ctx.info(f"with {secret}, which it knows by itself")

    return mcp


ANY_ERA = ["logs", "logs_in_thread", "logs_in_task", "progress", "calls_another"]
HANDSHAKE = ["elicits", "samples", "updates"]


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
@pytest.mark.parametrize(
    ("name", "era"),
    [*((name, era) for name in ANY_ERA for era in ("auto", "legacy")), *((name, "legacy") for name in HANDSHAKE)],
)
@pytest.mark.parametrize("mounted", [False, True])
async def test_no_message_of_a_tool_has_a_sensitive_value(name: str, era: str, mounted: bool) -> None:
    heard, server = Heard(), telling()
    if mounted:
        outer = XMCP()
        outer.mount(server)
        server = outer
    async with heard.client(server, era) as client:
        result = await client.call_tool_mcp(name, {}, meta=LOGS)
        await client.ping() if era == "legacy" else await client.list_tools()
        with anyio.fail_after(5):
            while not heard.messages:  # noqa: ASYNC110 - a notification has no answer
                await asyncio.sleep(0.01)
    assert not result.is_error, result.content
    assert not [message for message in heard.messages if SECRET in message]
    assert all("with [redacted]" in message for message in heard.messages)


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
@pytest.mark.parametrize("secret", ["user", "text", "info", "form", "4711", "error", "with"])
async def test_a_sensitive_value_that_is_a_word_of_the_protocol_breaks_no_message(secret: str) -> None:
    heard = Heard()
    async with heard.client(telling(secret), "legacy") as client:
        for name in ("logs", "progress", "elicits", "samples"):
            assert not (await client.call_tool_mcp(name, {}, meta=LOGS)).is_error
    assert [message.split(" ")[0] for message in heard.messages if message.startswith(("e", "s"))] == [
        "elicit",
        "sample",
    ]


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
async def test_messages_of_other_requests_on_the_same_connection_are_not_touched(era: str) -> None:
    mcp, heard = telling(), Heard()

    @mcp.tool
    async def innocent(ctx: Context) -> None:
        await ctx.info(f"with {SECRET}")

    async with heard.client(mcp, era) as client:
        await client.call_tool_mcp("logs", {}, meta=LOGS)
        heard.messages.clear()
        await client.call_tool_mcp("innocent", {}, meta=LOGS)
        with anyio.fail_after(5):
            while not heard.messages:  # noqa: ASYNC110 - a notification has no answer
                await asyncio.sleep(0.01)
    assert SECRET in heard.messages[0]


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
async def test_the_log_of_a_failure_has_the_details_without_the_sensitive_value(
    call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    mcp = XMCP(middleware=[LoggingMiddleware(include_payloads=True), ErrorHandlingMiddleware(include_traceback=True)])
    mcp.param_provider("key")(lambda: SECRET)

    @mcp.tool(server_populated=["key"], sensitive=["key"])
    async def fails(key: str, ctx: Context) -> None:
        await ctx.log(f"using {key}", extra={"detail": {"key": key}})
        try:
            raise LookupError(f"first {key}")
        except LookupError as error:
            raise RuntimeError(f"no such key: {key}") from error

    with caplog.at_level(logging.DEBUG):
        reply = await call(mcp, "fails")
    assert reply.meta["error_id"] in caplog.text
    assert "RuntimeError: no such key: [redacted]" in caplog.text
    assert "LookupError: first [redacted]" in caplog.text
    logs = [record for record in caplog.records if record.name.startswith(("xmcp", "fastmcp"))]
    assert not [record for record in logs if SECRET in f"{caplog.handler.format(record)} {vars(record)}"]
