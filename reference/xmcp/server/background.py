"""Tools that run as background tasks: `task=True` and FastMCP's package `fastmcp-tasks` (SEP-2663).

A task's worker calls the function of a tool itself: no parameter would be filled in, no failure masked, and nothing
would become a response. So the server gives it each tool as a `BackgroundTool`, whose answer is kept as plain MCP until
the client fetches it with `tasks/get`.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final

from fastmcp.dependencies import CurrentContext
from fastmcp.server.context import Context
from fastmcp.tools import Tool
from fastmcp.tools.base import ToolResult
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types import INTERNAL_ERROR
from pydantic import Field, PrivateAttr

from xmcp.server.call_state import SHOW_USER, ServedCall
from xmcp.server.fastmcp_internals.failures import is_tool_timeout
from xmcp.server.lone_surrogates import sendable_block
from xmcp.server.middleware import answer, answer_failure
from xmcp.server.parameters.sensitive import Secrets
from xmcp.server.responses.capability import Reader, Wire, declared_in, reader_for
from xmcp.server.responses.delivery import deliver
from xmcp.server.responses.mcp_results import attributes_of
from xmcp_models.registry import RESULT_META_KEY

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
            MCPError: The tool raised a protocol error, by which SEP-2663 lets a task fail.
        """
        call = ServedCall(self.name, arguments, mask_error_details=self.mask_error_details)
        attributes: dict[str, Any] = {"tool_name": self.name}

        faults: list[MCPError] = []

        async def run() -> ToolResult:
            try:
                result = await self.tool.run(arguments)
            except MCPError as fault:
                faults.extend([] if is_tool_timeout(fault) else [fault])
                raise
            attributes.update(attributes_of(result))
            if any(sendable_block(block) is not block for block in result.content):
                attributes["lossy"] = True
            return result

        result = await answer(call, run, _PLAIN)
        for fault in faults:
            secrets, error = Secrets(call.sensitive), fault.error
            raise MCPError(error.code, secrets.out_of_text(error.message), secrets.out_of(error.data))
        return KeptAnswer.of(result, attributes) if type(result) is ToolResult else result  # or a question


class KeptAnswer(ToolResult):
    """The answer of a task, as plain MCP; when a client fetches it, what that client reads is made of it."""

    _attributes: dict[str, Any] = PrivateAttr(default_factory=dict)

    @classmethod
    def of(cls, answer: ToolResult, attributes: dict[str, Any]) -> KeptAnswer:
        """Return `answer` with the attributes of its response, and the name of its tool, which plain MCP has not."""
        kept = cls(content=answer.content, meta=answer.meta, is_error=answer.is_error)
        kept.structured_content = answer.structured_content
        kept._attributes = attributes
        return kept

    def to_mcp_result(self) -> Any:
        """Return what the client reads whose `tasks/get` is answered; plain MCP if it did not come to our server."""
        reader = _reader.get()
        return super().to_mcp_result() if reader is None else self.delivered(reader).to_mcp_result()

    def delivered(self, reader: Reader) -> ToolResult:
        """Return what `reader` is sent."""
        result = self.model_copy(update={"meta": {**(self.meta or {}), RESULT_META_KEY: self._attributes}})
        # Whether the caller asked for the display was decided when the tool ran.
        call = ServedCall(self._attributes["tool_name"], {SHOW_USER: True})
        try:
            return deliver(call, result, reader)[0]
        except Exception as failure:
            return answer_failure(failure, call, reader)[0]


_reader: Final[ContextVar[Reader | None]] = ContextVar("xmcp_task_reader", default=None)
"""Who reads the task that is being fetched."""


class TaskDelivery:
    """Middleware of every message: a task that is fetched has the result that the same call would have had."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Answer `tasks/get` with the task as this client reads it; any other message passes."""
        if ctx.method != "tasks/get":
            return await call_next(ctx)
        token = _reader.set(reader_for(self._wire, declared_in(ctx.session.client_capabilities)))
        try:
            task = await call_next(ctx)
        finally:
            _reader.reset(token)
        return masked(task) if isinstance(task, dict) else task


def masked(task: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to `tasks/get` without the text of an exception."""
    error = task.get("error")
    if isinstance(error, dict) and error.get("code") == INTERNAL_ERROR:
        return {**task, "error": {"code": INTERNAL_ERROR, "message": TASK_FAILED}, "statusMessage": TASK_FAILED}
    return task
