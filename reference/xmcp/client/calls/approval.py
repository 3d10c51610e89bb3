"""Asking a person before a tool is called (spec section 11.8). A call without a clear yes is not made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from xmcp.chat import client_made_errors
from xmcp.client.calls import server_results
from xmcp.client.calls.active_call import ActiveCall, Next, Stage
from xmcp.client.calls.server_results import Reading
from xmcp.client.hooks.callbacks import call as call_hook
from xmcp.client.hooks.log import EventLog
from xmcp.client.hooks.middleware import ToolState
from xmcp.wire import ErrorInfo

Approve: TypeAlias = Callable[[ToolState], "Awaitable[bool | str] | bool | str"]
"""Decides about a call: `True`, `False`, or the reason of a refusal, which the model reads."""

APPROVAL_SECONDS: Final = 300.0
"""How long a person may take, by default."""


def stage(approve: Approve | None, timeout: float | None) -> Stage | None:
    """Return the stage that asks for an approval; `timeout` in seconds (`None`: no limit)."""
    if approve is None:
        return None

    async def ask_approval(call: ActiveCall, proceed: Next) -> Reading:
        error = await refusal(approve, call.state, timeout, call.log)
        return await proceed(call) if error is None else server_results.failed(call.name, error)

    return ask_approval


async def refusal(approve: Approve, state: ToolState, timeout: float | None, log: EventLog) -> ErrorInfo | None:
    """Return why a call must not be made; `None` if it was approved. No answer within `timeout` seconds is a no."""
    try:
        answer = await call_hook(approve, state, seconds=timeout)
    except TimeoutError:
        answer = "Nobody approved this call in time."
    except Exception:
        log.exception("callback_failed", callback="approve", tool_name=state.tool_name)
        answer = False
    if answer is True:
        return None
    return client_made_errors.not_approved(answer.strip() if isinstance(answer, str) else "")
