"""The check of what the model gets of the error of a plain result (sections 6.3 and 6.4)."""

from __future__ import annotations

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.messages import SHORT, WHITE_SPACE
from xmcp_conformance.profiles.client.permitted_codes import was_cut_short
from xmcp_conformance.profiles.client.trace_index import TraceIndex


@check("XMCP-MCP-043", profile="client")
def _errors_as_their_members_say(trace: TraceIndex) -> Observations:
    """Judge the message, and whether a retry can help: they are in `_meta`, and the blocks say them for others."""
    for call in trace.calls:
        answer, reply = call.answer, call.reply
        if answer is None or not answer.plain or answer.error is None or was_cut_short(call) or call.was_held_back:
            continue
        if reply is None or reply.error is None or reply.error.code != answer.error.get("code"):
            continue  # another code is judged elsewhere
        told, message = reply.error, answer.error.get("message")
        words = (message.strip(WHITE_SPACE) if isinstance(message, str) else "") or told.code
        if len(words) <= SHORT and "error" not in reply.lossy:
            seen = f"{call} is answered by the message `{quoted(told.message)}`"
            same = told.message.strip(WHITE_SPACE) == words
            yield either("XMCP-MCP-043", same, seen, f"`{quoted(words)}`, as in `_meta`", where=call.turn.next_at)
        retryable = answer.error.get("retryable") is True
        seen = f"{call} is answered by an error with `retryable` {told.retryable}"
        expected = f"{retryable}, as in `_meta`"
        yield either("XMCP-MCP-043", told.retryable is retryable, seen, expected, where=call.turn.next_at)
