"""Checks of what a client says in the errors that it makes for calls, beside their codes (section 11.4)."""

from __future__ import annotations

from typing import Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.messages import compact
from xmcp_conformance.profiles.client.permitted_codes import permitted_codes
from xmcp_conformance.profiles.client.trace import INVALID_PARAMS
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import ModelCall
from xmcp_models.registry import ERROR_CODES

_SENTENCES: Final = {
    "VALIDATION_FAIL": "XMCP-CLI-010",
    "UNKNOWN_TOOL": "XMCP-CLI-011",
    "DEPENDENCY_FAILED": "XMCP-CLI-035",
    "TIMEOUT": "XMCP-CLI-041",
    "CIRCUIT_OPEN": "XMCP-CLI-043",
    "RATE_LIMIT": "XMCP-CLI-105",
    "CONNECTION_FAILED": "XMCP-CLI-125",
    "INVALID_XML": "XMCP-MCP-012",
}
"""The sentence that asks for an error of a code."""
_UNMADE: Final = {
    **{code: _SENTENCES[code] for code in ("VALIDATION_FAIL", "UNKNOWN_TOOL", "DEPENDENCY_FAILED", "RATE_LIMIT")},
    "FORBIDDEN": "XMCP-CLI-081",
    "MISSING_SERVER_PARAM": "XMCP-CLI-083",
}
"""The same for the error of a call that was not made."""


@check(*_SENTENCES.values(), profile="client")
def _retryable_as_its_code_is(trace: TraceIndex) -> Observations:
    """Judge whether an error of the client is retryable: that is what the registry has for its code.

    Those of a chat that was cut short are left out: no model can make their calls again.
    """
    for call in trace.calls:
        error = call.reply.error if call.reply is not None else None
        if error is None or error.code not in _SENTENCES or call.turn.cut or not _is_of_the_client(trace, call):
            continue
        right = ERROR_CODES[error.code]["retryable"]
        seen = f"{call} is answered by {error.code} with `retryable` {error.retryable}"
        expected = f"{right}, as the registry has it"
        yield either(_SENTENCES[error.code], error.retryable is right, seen, expected, where=call.turn.next_at)


def _is_of_the_client(trace: TraceIndex, call: ModelCall) -> bool:
    """Return whether no server can have written the error of a call."""
    if not call.attempts:
        return not trace.may_share(call) and not trace.setup.cache and call.code in permitted_codes(trace, call)
    answer = call.attempts[-1].answered
    if answer is not None and not answer.readable:
        return True
    code = {"lost": "CONNECTION_FAILED", "unreachable": "CONNECTION_FAILED", "late": "TIMEOUT"}
    return call.was_held_back or code.get(call.attempts[-1].outcome or "") == call.code


@check("XMCP-CLI-010", "XMCP-MCP-041", profile="client")
def _fields_of_refused_arguments(trace: TraceIndex) -> Observations:
    """Judge which arguments an error names: all of them by an empty pointer, and none after a protocol error."""
    for call in trace.calls:
        if call.code != "VALIDATION_FAIL" or call.reply is None or call.reply.error is None:
            continue
        fields = (call.reply.error.meta or {}).get("fields")
        seen = f"{call} is answered by VALIDATION_FAIL with `fields` `{quoted(compact(fields))}`"
        if call.arguments is None and not call.attempts and call.offered:
            pointers = [one.get("pointer") for one in fields or () if isinstance(one, dict)]
            yield either("XMCP-CLI-010", {*pointers} == {""}, seen, "the empty pointer", where=call.turn.next_at)
        elif call.answer is not None and call.answer.protocol_error == INVALID_PARAMS:
            yield either("XMCP-MCP-041", fields is None, seen, "none: nobody knows them", where=call.turn.next_at)


@check(*_UNMADE.values(), profile="client")
def _a_call_that_was_not_made_changed_nothing(trace: TraceIndex) -> Observations:
    """Judge `side_effects` of calls without an attempt; of the others XMCP-CLI-132 says what they are."""
    for call in trace.calls:
        error = call.reply.error if call.reply is not None else None
        unmade = not call.attempts and call.source is None and not call.turn.cut and not trace.may_share(call)
        if error is None or error.code not in _UNMADE or not unmade or error.code not in permitted_codes(trace, call):
            continue
        said = (error.meta if isinstance(error.meta, dict) else {}).get("side_effects")
        seen = f"{call}, which was not made, is answered by {error.code} with `side_effects` {said}"
        yield either(_UNMADE[error.code], said in (None, "none"), seen, "`none`", where=call.turn.next_at)
