"""Asking a person before a tool is called (requirement C18). Whatever goes wrong with that, the answer is no."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from xmcp.client.hooks.callbacks import call
from xmcp.client.hooks.log import EventLog
from xmcp.client.hooks.middleware import ToolState
from xmcp.wire import ErrorInfo

Approve: TypeAlias = Callable[[ToolState], "Awaitable[bool | str] | bool | str"]
"""Says of a call whether it can be made: `True`, `False`, or a refusal in words that the model will read."""

APPROVAL_SECONDS: Final = 300.0
"""How long a person may take where the application says nothing else."""


async def refusal(approve: Approve | None, state: ToolState, timeout: float, log: EventLog) -> ErrorInfo | None:
    """Why a call is not to be made; `None` if it was approved. Nobody answers within `timeout` seconds: it is not."""
    if approve is None:
        return None
    try:
        said = await call(approve, state, seconds=timeout)
    except TimeoutError:
        said = "Nobody approved this call in time."
    except Exception:
        log.exception("callback_failed", callback="approve", tool_name=state.tool_name)
        said = False
    if said is True:
        return None
    reason = said.strip() if isinstance(said, str) else ""
    return ErrorInfo("FORBIDDEN", reason or "The person did not approve this call.", meta={"side_effects": "none"})
