"""Section 11.2: what a model wrote, and what became of calls that it wrote badly."""

from __future__ import annotations

import re

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client import injection
from xmcp_conformance.profiles.client.messages import compact, same
from xmcp_conformance.profiles.client.permitted_codes import grounds
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import Call
from xmcp_conformance.reader.errors import stack_trace

_EXCEPTION = re.compile(r"\b(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Timeout)(?:: |\()")
"""A class of an exception with what it says, as programs print it."""


@check("XMCP-CLI-010", profile="client")
def _arguments_that_are_none(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        if call.arguments is None:
            yield from _refused(
                trace, call, "XMCP-CLI-010", "VALIDATION_FAIL", "whose arguments are not one JSON object"
            )


@check("XMCP-CLI-011", profile="client")
def _tools_that_are_none(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        if not call.offered:
            yield from _refused(trace, call, "XMCP-CLI-011", "UNKNOWN_TOOL", "which was not offered")


def _refused(trace: TraceIndex, call: Call, id_: str, code: str, why: str) -> Observations:
    """That a call was not made, and that the model was told why; of several reasons any."""
    if call.sent:
        yield broken(id_, f"a server was called for {call}, {why}", f"{code}, and no call", where=call.sent[0].at)
    elif call.content is not None:
        seen = f"{call}, {why}, is answered by {call.code or 'a result'}"
        yield either(id_, call.code in grounds(trace, call), seen, code, where=call.turn.next_at)


@check("XMCP-CLI-012", profile="client")
def _the_server_gets_what_the_model_wrote(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        if call.tool is None or call.arguments is None:
            continue
        elsewhere = {*trace.setup.params, *_can_be_handed_on(trace, call)}
        written = {name: value for name, value in call.arguments.items() if name not in elsewhere}
        for attempt in call.sent:
            given = {name: value for name, value in attempt.arguments.items() if name not in elsewhere}
            seen = f"{call} went out with {quoted(compact(given))}"
            yield either("XMCP-CLI-012", same(given, written), seen, quoted(compact(written)), where=attempt.at)


def _can_be_handed_on(trace: TraceIndex, call: Call) -> set[str]:
    """Parameters that come from a predecessor, as far as that is known."""
    values = injection.due(trace, call)
    if values is not None:
        return set(values)
    return set(injection.parameters(trace, call.tool)) if call.tool and injection.needed(call) else set()


@check("XMCP-CLI-014", profile="client")
def _no_inside_of_the_client(trace: TraceIndex) -> Observations:
    raised = [
        text
        for record in trace.records
        if (text := getattr(record, "exception", None)) and len(text) >= 4  # shorter ones stand anywhere by chance
    ]
    for call in trace.calls:
        reply, answer = call.reply, call.answer
        if reply is None or reply.error is None:
            continue
        if answer is not None and answer.readable and answer.outcome == "error":
            continue  # its words are the server's
        words = reply.error.spoken
        trace_in_error = stack_trace(reply.error)
        leaked = next((text for text in raised if text in words), None)
        found = trace_in_error[0] if trace_in_error else leaked
        if found is None and (match := _EXCEPTION.search(reply.error.message)):
            found = match.group()
        seen = f"{call} is answered with `{quoted(found or '')}`"
        yield either(
            "XMCP-CLI-014", found is None, seen, "what happened, in words for the model", where=call.turn.next_at
        )
