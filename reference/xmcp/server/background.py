"""Tools that run as background tasks: `task=True` and FastMCP's package `fastmcp-tasks` (SEP-2663).

A task's worker calls the function of a tool itself: no parameter would be filled in, no failure masked, and nothing
would become a response. So the server gives it each tool as a `BackgroundTool`, whose answer is kept as plain MCP until
the client fetches it with `tasks/get`; `deliver_task` turns it into what that client reads.
"""

from __future__ import annotations

from typing import Any, Final

from fastmcp.dependencies import CurrentContext
from fastmcp.server.context import Context
from fastmcp.tools import Tool
from fastmcp.tools.base import ToolResult
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types import INTERNAL_ERROR, CallToolResult
from pydantic import Field

from xmcp.server.call_state import SHOW_USER, ServedCall
from xmcp.server.lone_surrogates import sendable_block
from xmcp.server.middleware import answer, answer_failure
from xmcp.server.responses.capability import Reader, Wire, declared_in, reader_for
from xmcp.server.responses.delivery import deliver
from xmcp.server.responses.mcp_results import ATTRIBUTES_KEY, attributes_of

TASK_FAILED: Final = "The task failed unexpectedly."
_PLAIN: Final = Reader(documents=False)


class BackgroundTool(Tool):
    """What a task's worker runs instead of a tool: the tool, answered as any other call is."""

    tool: Tool = Field(exclude=True)
    mask_error_details: bool | None = Field(exclude=True)

    @classmethod
    def of(cls, tool: Tool, mask_error_details: bool | None = None) -> BackgroundTool:
        """Return the background tool for `tool`; for one that a mounted server made, the same."""
        if isinstance(tool, BackgroundTool):
            return tool
        members = {name: getattr(tool, name) for name in Tool.model_fields}
        return cls.model_construct(**members, tool=tool, mask_error_details=mask_error_details)

    async def run(self, arguments: dict[str, Any], context: Context = CurrentContext()) -> ToolResult:  # noqa: ARG002,B008
        """Return the answer as plain MCP, also for a failure.

        The worker enters `context`, by which the tool finds its server and the answers to its questions.

        Raises:
            MCPError: The client lacks a capability that the tool needs (SEP-2575).
        """
        call = ServedCall(self.name, arguments, mask_error_details=self.mask_error_details)
        attributes: dict[str, Any] = {"tool_name": self.name}

        async def run() -> ToolResult:
            result = await self.tool.run(arguments)
            attributes.update(attributes_of(result))
            if any(sendable_block(block) is not block for block in result.content):
                attributes["lossy"] = True
            return result

        result = await answer(call, run, _PLAIN)
        if type(result) is ToolResult:  # and not a question to the client
            result.meta = {**(result.meta or {}), ATTRIBUTES_KEY: attributes}
        return result


class TaskDelivery:
    """Middleware of every message: a task that is fetched has the result that the same call would have had."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Answer `tasks/get` with the task as this client reads it; any other message passes."""
        task = await call_next(ctx)
        if ctx.method != "tasks/get" or not isinstance(task, dict):
            return task
        return deliver_task(task, reader_for(self._wire, declared_in(ctx.session.client_capabilities)))


def deliver_task(task: dict[str, Any], reader: Reader) -> dict[str, Any]:
    """Return the answer to `tasks/get` with the result that `reader` reads, and without the text of an exception."""
    if isinstance(kept := task.get("result"), dict):
        return {**task, "result": _delivered(kept, reader)}
    error = task.get("error")
    if isinstance(error, dict) and error.get("code") == INTERNAL_ERROR:
        return {**task, "error": {"code": INTERNAL_ERROR, "message": TASK_FAILED}, "statusMessage": TASK_FAILED}
    return task


def _delivered(kept: dict[str, Any], reader: Reader) -> dict[str, Any]:
    result = ToolResult.from_mcp_result(CallToolResult.model_validate(kept))
    # Whether the caller asked for the display was decided when the tool ran.
    call = ServedCall(str(attributes_of(result).get("tool_name", "")), {SHOW_USER: True})
    try:
        sent, _ = deliver(call, result, reader)
    except Exception as failure:
        sent, _ = answer_failure(failure, call, reader)
    return sent.to_mcp_result().model_dump(by_alias=True, mode="json", exclude_none=True)  # type: ignore[union-attr]
