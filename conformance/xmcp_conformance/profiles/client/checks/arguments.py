"""Section 11.2: what a model wrote, and what became of calls that it wrote badly."""

from __future__ import annotations

import re

from xmcp_conformance.errors import ErrorElement, observations
from xmcp_conformance.observation import quoted

from . import handover
from .finding import Findings, broken, check, either
from .grounds import grounds
from .messages import compact, same
from .parts import Call
from .story import Story

_EXCEPTION = re.compile(r"\b(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Timeout)(?:: |\()")
"""A class of an exception with what it says, as programs print it."""


@check("XMCP-CLI-010")
def _arguments_that_are_none(story: Story) -> Findings:
    for call in story.calls:
        if call.arguments is None:
            yield from _refused(
                story, call, "XMCP-CLI-010", "VALIDATION_FAIL", "whose arguments are not one JSON object"
            )


@check("XMCP-CLI-011")
def _tools_that_are_none(story: Story) -> Findings:
    for call in story.calls:
        if not call.offered:
            yield from _refused(story, call, "XMCP-CLI-011", "UNKNOWN_TOOL", "which was not offered")


def _refused(story: Story, call: Call, id_: str, code: str, why: str) -> Findings:
    """That a call was not made, and that the model was told why; of several reasons any."""
    if call.sent:
        yield broken(id_, call.sent[0].at, f"a server was called for {call}, {why}", f"{code}, and no call")
    elif call.content is not None:
        seen = f"{call}, {why}, is answered by {call.code or 'a result'}"
        yield either(id_, call.turn.next_at, call.code in grounds(story, call), seen, code)


@check("XMCP-CLI-012")
def _the_server_gets_what_the_model_wrote(story: Story) -> Findings:
    for call in story.calls:
        if call.tool is None or call.arguments is None:
            continue
        elsewhere = {*story.setup.params, *_can_be_handed_on(story, call)}
        written = {name: value for name, value in call.arguments.items() if name not in elsewhere}
        for attempt in call.sent:
            given = {name: value for name, value in attempt.arguments.items() if name not in elsewhere}
            seen = f"{call} went out with {quoted(compact(given))}"
            yield either("XMCP-CLI-012", attempt.at, same(given, written), seen, quoted(compact(written)))


def _can_be_handed_on(story: Story, call: Call) -> set[str]:
    """Parameters that come from a predecessor, as far as that is known."""
    values = handover.due(story, call)
    if values is not None:
        return set(values)
    return set(handover.parameters(story, call.tool)) if call.tool and handover.needed(call) else set()


@check("XMCP-CLI-014")
def _no_inside_of_the_client(story: Story) -> Findings:
    raised = [
        text
        for record in story.records
        if (text := getattr(record, "exception", None)) and len(text) >= 4  # shorter ones stand anywhere by chance
    ]
    for call in story.calls:
        reply, answer = call.reply, call.answer
        if reply is None or reply.error is None:
            continue
        if answer is not None and answer.readable and answer.outcome == "error":
            continue  # its words are the server's
        words = reply.error.spoken
        found = _stack_trace(reply.error) or next((text for text in raised if text in words), None)
        if found is None and (match := _EXCEPTION.search(reply.error.message)):
            found = match.group()
        seen = f"{call} is answered with `{quoted(found or '')}`"
        yield either("XMCP-CLI-014", call.turn.next_at, found is None, seen, "what happened, in words for the model")


def _stack_trace(error: ErrorElement) -> str | None:
    """What the check of errors (section 4.4) found."""
    return next((o.seen for o in observations(error) if not o.ok and o.requirement.endswith("ERR-031")), None)
