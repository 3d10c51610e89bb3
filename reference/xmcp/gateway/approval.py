"""Which calls need the approval of a person, and asking for it in the run that makes the call."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

from xmcp.client.calls.approval import Approve
from xmcp.client.hooks.middleware import ToolState
from xmcp.client.tools.names import AFTER_SERVER
from xmcp.gateway.config import ChatSettings
from xmcp.gateway.runs.run import current_run

CANNOT_ASK: Final = (
    "A person must approve this call, and nobody can be asked where this chat is held. Do not try it again: tell the "
    "person that this needs an approval, which other ways into this assistant ask for."
)
"""What the model reads of a call whose client has no way to be asked."""


def approver(settings: ChatSettings) -> Approve | None:
    """Return the function for `AIClient(approve=...)`; `None` if no call needs an approval."""
    if not settings.approve and not settings.approve_changes:
        return None

    async def approve(call: ToolState) -> bool | str:
        reason = reason_to_ask(settings, call)
        if reason is None:
            return True
        run = current_run()
        if run is None or not run.request.can_be_asked:
            return CANNOT_ASK
        answer = await run.ask(call, reason)
        return True if answer.approve else answer.reason or False

    return approve


def reason_to_ask(settings: ChatSettings, call: ToolState) -> str | None:
    """Return why a call needs an approval, for the person who is asked; `None` if it needs none."""
    for pattern in settings.approve:
        if matches(pattern, call.tool_name):
            return f"Calls of {pattern} need an approval here."
    if settings.approve_changes and not call.read_only:
        return "The tool does not say that it changes nothing."
    return None


def matches(pattern: str, tool: str) -> bool:
    """Return whether a pattern names a tool, with the name of its server before it or without.

    A tool that is asked for in vain costs a question; one that is not asked for, because its server was given a name,
    could cost more.
    """
    return fnmatchcase(tool, pattern) or fnmatchcase(tool.partition(AFTER_SERVER)[2], pattern)
