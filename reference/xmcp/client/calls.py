"""The one way a tool call takes, from what the model wrote to what the model reads (semantics 11).

Whatever goes wrong on the way becomes an error response; only cancellation leaves by an exception.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xmcp.client import displays, results
from xmcp.client.catalogue import Catalogue
from xmcp.client.connection import CallFailed
from xmcp.client.log import EventLog
from xmcp.client.naming import legal
from xmcp.client.results import Reading
from xmcp.providers import ToolCall
from xmcp.wire import ErrorInfo, ToolResponse


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended: the response, and the text of its tool message."""

    call: ToolCall
    response: ToolResponse
    content: str


@dataclass(frozen=True, slots=True)
class CallPipeline:
    """Runs calls against one catalogue. `slots` and `timeout` (seconds, from the slot on) are those of the client."""

    catalogue: Catalogue
    slots: asyncio.Semaphore
    timeout: float
    log: EventLog

    async def run(self, call: ToolCall, arguments: dict[str, Any] | ErrorInfo, started: Callable[[], None]) -> Outcome:
        """Run one call with what `parse_arguments` made of its text; `started` is called when it has its slot."""
        begun = time.monotonic()
        name = legal(call.name)
        try:
            reading = await self._read(call, arguments, name, started)
        except Exception:
            # A fault of ours: the model learns that it happened and how to find it, nothing more.
            error_id = uuid.uuid4().hex
            self.log.exception("call_crashed", tool_name=name, error_id=error_id)
            error = ErrorInfo("INTERNAL", "The client failed to make this call.", meta={"error_id": error_id})
            reading = results.failed(name, error)
        response = reading.response
        self.log.info(
            "tool_call",
            tool_name=name,
            duration_ms=round((time.monotonic() - begun) * 1000, 1),
            outcome=response.error.code if response.error else "ok",
        )
        return Outcome(call, response, displays.for_model(response, reading.document))

    async def _read(
        self, call: ToolCall, arguments: dict[str, Any] | ErrorInfo, name: str, started: Callable[[], None]
    ) -> Reading:
        entry = self.catalogue.entries.get(name)
        if entry is None:
            return results.failed(name, results.unknown_tool(call.name, self.catalogue.entries))
        if isinstance(arguments, ErrorInfo):
            return results.failed(name, arguments)
        async with self.slots:
            started()
            try:
                async with asyncio.timeout(self.timeout):
                    result = await entry.server.call(entry.tool, arguments)
            except TimeoutError:
                return results.failed(name, results.timed_out(self.timeout))
            except CallFailed as exc:
                return results.failed(name, exc.error)
        return results.read(result, name, speaks_xmcp=entry.server.speaks_xmcp)
