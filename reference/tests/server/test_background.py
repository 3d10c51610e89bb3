"""Background tasks: what the worker runs, what `tasks/get` answers, and what neither of them says.

That parameters, masking, displays and errors hold in a task is in `test_ways_around.py`.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
from typing import Annotated, Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.server.context import Context
from fastmcp_tasks import TasksExtension
from fastmcp_tasks.client import call_tool_task
from mcp import MCPError
from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult
from pydantic import Field
from support.declaration import DECLARES

from xmcp import XMCP, DisplayEnvelope
from xmcp.server.background import TASK_FAILED, BackgroundTool, KeptAnswer, masked
from xmcp.server.responses.capability import Reader

Filled = Annotated[str, Field(json_schema_extra={"server_populated": True})]


def server(**options: Any) -> XMCP:
    mcp = XMCP("tasks", **options)
    mcp.add_extension(TasksExtension(url="memory://"))
    return mcp


async def called(mcp: Any, name: str, reply: Any, **options: Any) -> Any:
    async with Client(mcp, timeout=300, **options) as client:
        return reply(await client.call_tool_mcp(name, {}))


async def test_a_provider_sees_the_request_that_made_the_task(over_http: Any, reply: Any) -> None:
    mcp = server()
    mcp.param_provider("who")(lambda request: f"{request.headers['x-user']} at {request.context.fastmcp.name}")

    @mcp.tool(task=True)
    async def says(who: Filled) -> str:
        return who

    async with over_http(mcp.http_app()) as url:
        answer = await called(StreamableHttpTransport(f"{url}/mcp", headers={"x-user": "ada"}), "says", reply)
    assert answer.llm_output == "ada at tasks"


async def test_a_caller_cannot_choose_the_value_for_a_task_with_a_header_that_a_proxy_adds_too(
    over_http: Any, reply: Any
) -> None:
    mcp = server()
    mcp.param_provider("who")(lambda request: request.headers["x-user"])

    @mcp.tool(task=True)
    async def says(who: Filled) -> str:
        return who

    inner = mcp.http_app()

    async def proxy(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [(b"x-user", b"ada"), *scope["headers"]]}
        await inner(scope, receive, send)

    async with over_http(proxy) as url:
        answer = await called(StreamableHttpTransport(f"{url}/mcp", headers={"x-user": "eve"}), "says", reply)
    assert answer.llm_output == "ada, eve"


async def test_a_task_asks_the_client_and_goes_on(reply: Any) -> None:
    mcp = server()
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    question = ElicitRequest(params=ElicitRequestFormParams(message="Your name?", requested_schema=schema))

    @mcp.tool(task=True)
    async def greets(ctx: Context) -> Any:
        if not ctx.input_responses:
            return InputRequiredResult(input_requests={"who": question}, request_state="S")
        return f"hello {ctx.input_responses['who'].content['name']}"  # type: ignore[union-attr]

    async def answers(*_: Any) -> dict[str, str]:
        return {"name": "Ada"}

    assert (await called(mcp, "greets", reply, elicitation_handler=answers)).llm_output == "hello Ada"


async def test_a_task_that_takes_too_long_or_says_too_much_is_an_error_with_its_code(reply: Any) -> None:
    mcp = server()

    @mcp.tool(task=True, timeout=0.05)
    async def slow() -> None:
        await asyncio.sleep(60)

    @mcp.tool(task=True)
    async def long() -> str:
        return "x" * 9_000_000

    @mcp.tool(task=True)
    async def exits() -> None:
        raise SystemExit(3)

    assert (await called(mcp, "slow", reply)).code == "TIMEOUT"
    assert (await called(mcp, "long", reply)).code == "RESULT_TOO_LARGE"
    assert (await called(mcp, "exits", reply)).code == "INTERNAL"


async def test_a_protocol_error_of_a_tool_fails_the_task_without_its_secrets() -> None:
    mcp = server()
    mcp.param_provider("key")(lambda: "k3y-s3cr3t")

    @mcp.tool(task=True, server_populated=["key"], sensitive=["key"])
    async def refuses(key: str) -> None:
        raise MCPError(-32042, f"no {key}")

    async with Client(mcp, timeout=300) as client:
        task = await call_tool_task(client, "refuses", {})
        status = await task.wait(timeout=300)
    assert status.status == "failed"
    assert status.status_message == "no [redacted]"


async def test_a_task_says_in_which_format_its_text_is(reply: Any) -> None:
    mcp = server()

    @mcp.tool(task=True, xml_formatter=lambda data, _level: f"<n>{data['n']}</n>")
    async def works() -> dict[str, int]:
        return {"n": 1}

    answer = await called(mcp, "works", reply)
    assert (answer.llm_output, answer.format) == ("<n>1</n>", "application/xml")


@pytest.mark.parametrize("declared", [True, False])
async def test_the_model_reads_of_a_display_of_a_task_what_it_reads_of_any_other(declared: bool) -> None:
    mcp = server(wire="negotiated")

    async def shown() -> DisplayEnvelope:
        return DisplayEnvelope(type="table", payload=[{"a": 1}], alt="one row")

    mcp.display_tool(shown, name="in_task", task=True)
    mcp.display_tool(shown, name="at_once", task=False)
    async with Client(mcp, timeout=300, extensions=DECLARES if declared else None) as client:
        in_task, at_once = [await client.call_tool_mcp(name, {"show_user": True}) for name in ("in_task", "at_once")]
    read = [block.text.replace("in_task", "at_once") for block in in_task.content]
    assert read == [block.text for block in at_once.content]
    assert ("payload" in read[0].partition("<display>")[0]) is not declared


async def test_a_task_says_that_a_character_was_replaced(reply: Any) -> None:
    mcp = server()

    @mcp.tool(task=True)
    async def odd() -> str:
        return "a\ud800b"

    answer = await called(mcp, "odd", reply)
    assert (answer.llm_output, answer.lossy) == ("a\ufffdb", True)


async def test_the_log_has_the_task_and_its_end_once_each(caplog: Any, reply: Any) -> None:
    mcp = server()

    @mcp.tool(task=True)
    async def works() -> str:
        return "done"

    with caplog.at_level(logging.INFO, "xmcp.server"):
        await called(mcp, "works", reply)
    assert [record.outcome for record in caplog.records if record.name == "xmcp.server"] == ["task", "ok"]


async def test_what_a_worker_keeps_is_plain_data_that_any_process_can_read() -> None:
    mcp = server()

    class Local:
        def __str__(self) -> str:
            return "text"

    @mcp.tool(task=True)
    async def local():  # type: ignore[no-untyped-def]
        return {"value": Local()}

    [tool] = await mcp.get_tasks()
    assert isinstance(tool, BackgroundTool)
    kept = await tool.run({})
    elsewhere = pickle.loads(pickle.dumps(kept))
    assert isinstance(elsewhere, KeptAnswer)
    assert elsewhere.content == kept.content
    assert 'tool_name="local"' in elsewhere.delivered(Reader(documents=True)).content[0].text  # type: ignore[union-attr]


async def test_a_server_gives_tasks_the_name_that_they_have_there() -> None:
    leaf, above = XMCP("leaf"), XMCP("above")

    @leaf.tool(task=True)
    async def works() -> None: ...

    above.mount(leaf, namespace="ns")
    above.add_extension(TasksExtension(url="memory://"))
    [tool] = await above.get_tasks()
    assert (type(tool), tool.name) == (BackgroundTool, "ns_works")


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        ({"code": -32603, "message": "password=hunter2"}, {"code": -32603, "message": TASK_FAILED}),
        ({"code": -32021, "message": "needs sampling"}, {"code": -32021, "message": "needs sampling"}),
    ],
)
def test_a_task_that_failed_does_not_show_the_text_of_an_exception(error: Any, shown: Any) -> None:
    task = {"taskId": "t", "status": "failed", "error": error, "statusMessage": error["message"]}
    sent = masked(task)
    assert (sent["error"], sent["statusMessage"]) == (shown, shown["message"])
    assert sent["taskId"] == "t"


@pytest.mark.parametrize("status", ["working", "input_required", "cancelled"])
def test_a_task_without_a_result_passes_as_it_is(status: str) -> None:
    task = {"taskId": "t", "status": status, "statusMessage": "half"}
    assert masked(task) == task


async def test_other_messages_of_the_tasks_extension_pass(reply: Any) -> None:
    mcp = server()
    begun = asyncio.Event()

    @mcp.tool(task=True)
    async def waits() -> None:
        begun.set()
        await asyncio.sleep(60)

    async with Client(mcp, timeout=300) as client:
        task = await call_tool_task(client, "waits", {})
        await asyncio.wait_for(begun.wait(), 300)
        await task.cancel()
        assert (await task.status()).status == "cancelled"
