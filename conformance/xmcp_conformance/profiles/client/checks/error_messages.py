"""The check of what the errors that a client makes reveal to the model (section 11.2)."""

from __future__ import annotations

import re

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.reader.checks.error_element import stack_trace

_EXCEPTION = re.compile(r"\b(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Timeout)(?:: |\()")
"""The name of an exception class and the beginning of its message, as programs print them."""


@check("XMCP-CLI-014", profile="client")
def _no_internal_details(trace: TraceIndex) -> Observations:
    raised = [
        text
        for record in trace.records
        if (text := getattr(record, "exception", None))
        and len(text) >= 4  # a shorter text can occur anywhere by chance
    ]
    for call in trace.calls:
        reply, answer = call.reply, call.answer
        if reply is None or reply.error is None:
            continue
        if answer is not None and answer.readable and answer.outcome == "error":
            continue  # the text is the server's
        words = reply.error.model_text
        trace_in_error = stack_trace(reply.error)
        leaked = next((text for text in raised if text in words), None)
        found = trace_in_error[0] if trace_in_error else leaked
        if found is None and (match := _EXCEPTION.search(reply.error.message)):
            found = match.group()
        seen = f"{call} is answered with `{quoted(found or '')}`"
        yield either(
            "XMCP-CLI-014", found is None, seen, "what happened, in words for the model", where=call.turn.next_at
        )
