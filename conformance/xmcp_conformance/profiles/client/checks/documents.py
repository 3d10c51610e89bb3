"""Checks of what a client reads as a document, and what the model gets of it (sections 2.5, 3.5 and 6.4)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.messages import (
    SHORT,
    WHITE_SPACE,
    compact,
    fault_of_a_writer,
    same,
)
from xmcp_conformance.profiles.client.permitted_codes import permitted_codes, was_cut_short
from xmcp_conformance.profiles.client.trace import INVALID_PARAMS, Answered
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import ModelCall, gives_text, is_error_by_flag_alone
from xmcp_conformance.reader import Document, looks_like_a_document, read

_PARTS: Final[Mapping[str, Any]] = {
    "tool_name": "",
    "version": "1.0",
    "call_id": None,
    "server_populated": None,
    "truncated": False,
    "format": "text/plain",
}
"""The parts of a document that stay as the server wrote them, each with what its absence means (section 11.1)."""


def answered_calls(trace: TraceIndex) -> Iterator[tuple[ModelCall, bool, Answered, Document]]:
    """Yield each call that was answered, whether its result is to be a document, the answer, and what the model got."""
    for call in trace.calls:
        last = call.attempts[-1] if call.attempts else None
        if last is None or not last.was_answered or was_cut_short(call) or call.was_held_back:
            continue
        if last.answered is not None and call.reply is not None:
            yield call, trace.sends_documents(last), last.answered, call.reply


@check("XMCP-CLI-003", profile="client")
def _tool_message_has_the_answer(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        if call.content is None:
            continue
        if call.reply is None:
            seen = f"{call} is answered by `{quoted(call.content)}`, which is not a document"
            yield either("XMCP-CLI-003", False, seen, "a document (chapter 2)", where=call.turn.next_at)
            continue
        fault = _difference_from_answer(trace, call, call.reply)
        if fault is not None:
            seen, expected = fault
            yield either("XMCP-CLI-003", seen == "", f"{call} is answered by {seen}", expected, where=call.turn.next_at)


def _difference_from_answer(trace: TraceIndex, call: ModelCall, reply: Document) -> tuple[str, str] | None:
    """Return how the document differs from the server's answer, and that answer; `None` where other checks judge it."""
    answer = call.answer
    if answer is None or not call.attempts or not trace.sends_documents(call.attempts[-1]):
        return None
    if call.code in permitted_codes(trace, call):
        return None  # the call must not be made, and the model got just that as its result
    if not answer.readable or answer.bad_display or any(callback.fails for _, callback in call.turn.chat.callbacks):
        return None
    if answer.outcome == "ok":
        if reply.error is not None:
            if was_cut_short(call):
                return None
            return f"the error {quoted(reply.error.code)}", "the result that the server gave"
        if answer.document is not None and (lost := _not_kept(answer, reply)):
            return lost
        cut = reply.truncated or "llm_output" in reply.lossy
        if answer.text is None or cut or gives_text(answer, reply.llm_output):
            return "", ""
        return f"the text `{quoted(reply.llm_output or '')}`", f"`{quoted(answer.text)}`"
    if is_error_by_flag_alone(answer) and reply.error is not None and reply.server_populated is not None:
        return "an error with what the server filled in", "that error, with nothing else of the server's but a display"
    message = (answer.error or {}).get("message")
    if reply.error is None or reply.error.code != (answer.error or {}).get("code") or not isinstance(message, str):
        return None
    own = message.strip(WHITE_SPACE)
    words = own or reply.error.code  # in a document that a client writes, the code (section 4.1)
    same_words = reply.error.message in (words, own) or "error" in reply.lossy
    return ("", "") if same_words else (f"the message `{quoted(reply.error.message)}`", f"`{quoted(message)}`")


def _not_kept(answer: Answered, reply: Document) -> tuple[str, str] | None:
    """Return what a document written anew has in the place of the first part that it has not kept, and what that was.

    What a part is by default can be written or left out. Lines for the person's blocks in the text are of no `format`.
    """
    told = read(answer.document or "").document
    if told is None:
        return None
    for name, default in _PARTS.items():
        was, kept = (default if one is None else one for one in (getattr(told, name), getattr(reply, name)))
        if same(was, default) or same(was, kept) or (name == "format" and answer.for_user is not None):
            continue
        seen = f"no `{name}`" if same(kept, default) else f"the `{name}` `{quoted(compact(kept))}`"
        return seen, f"`{quoted(compact(was))}`, as the server wrote it"
    return None


@check("XMCP-CLI-003", profile="client")
def _what_was_filled_in_stays(trace: TraceIndex) -> Observations:
    """Judge whether the document for a plain result says what the server filled in (section 12.1)."""
    for call, is_document, answer, reply in answered_calls(trace):
        if is_document or answer.filled_in is None or reply.error is not None:
            continue
        seen = f"{call} is answered with `server_populated` `{quoted(compact(reply.server_populated))}`"
        ok = same(reply.server_populated, answer.filled_in)
        yield either("XMCP-CLI-003", ok, seen, f"`{quoted(compact(answer.filled_in))}`", where=call.turn.next_at)


@check("XMCP-CLI-003", profile="client")
def _documents_of_its_own(trace: TraceIndex) -> Observations:
    """Judge what a client writes itself: chapters 2 and 4 hold for it as for any emitter (section 11.1)."""
    called = {call.name for call in trace.calls if call.attempts}
    for call in trace.calls:
        if call.content is None or call.reply is None or call.unclear or (not call.attempts and call.name in called):
            continue  # it can be the answer to an equal call
        sent = call.attempts[-1] if call.attempts else None
        was_answered = sent is not None and sent.answered is not None and sent.answered.outcome in ("ok", "error")
        if sent is not None and trace.sends_documents(sent) and was_answered:
            continue  # it can be the server's, as it is
        fault = fault_of_a_writer(call.content)
        seen = f"{call} is answered by a document with {fault.seen} ({fault.requirement})" if fault else ""
        expected = fault.expected if fault else ""
        yield either("XMCP-CLI-003", fault is None, seen, expected, where=call.turn.next_at)


@check("XMCP-RSP-029", profile="client")
def _loss_is_said_again(trace: TraceIndex) -> Observations:
    for call, has_document, answer, reply in answered_calls(trace):
        if has_document and answer.lossy and answer.outcome == "ok" and reply.error is None:
            seen = f"{call}, whose document was marked as lossy, is answered by one without the mark"
            is_said = "tool_response" in reply.lossy
            yield either("XMCP-RSP-029", is_said, seen, '`lossy="true"` on the root element', where=call.turn.next_at)


@check("XMCP-MCP-010", "XMCP-MCP-011", "XMCP-MCP-043", profile="client")
def _text_of_plain_results(trace: TraceIndex) -> Observations:
    for call, has_document, answer, reply in answered_calls(trace):
        at = call.turn.next_at
        if answer.plain and answer.error is not None and call.code is not None:
            said, code = f"{call}, which failed with it, is answered by {call.came_to}", answer.error.get("code")
            yield either("XMCP-MCP-043", call.code == code, said, f"{quoted(str(code))}, as `_meta` says", where=at)
        if not has_document and not answer.plain and answer.outcome == "error":
            yield from _text_of_a_failure(call, answer, reply)
        if has_document or answer.outcome != "ok" or answer.text is None:
            continue
        text, taken = answer.text, reply.llm_output
        if not text and answer.structured is not None:
            changed = reply.truncated or "llm_output" in reply.lossy
            if answer.for_user is None and not changed:
                expected = f"`structuredContent` as JSON: `{quoted(compact(answer.structured))}`"
                said = f"{call}, whose result has no text, is answered by `{quoted(taken or '')}`"
                yield either("XMCP-MCP-011", _is_json_of(taken, answer.structured), said, expected, where=at)
            continue
        kept = gives_text(answer, taken) or "llm_output" in reply.lossy or reply.truncated
        inner = read(text).document if looks_like_a_document(text) else None
        where = "a plain result" if answer.plain else "of a server without the extension"
        seen = f"{call}, {where}, is answered by `{quoted(call.content or '')}`"
        read_as_one = not kept and inner is not None and _same_content(reply, inner)
        if inner is not None:
            requirement = "XMCP-MCP-043" if answer.plain else "XMCP-MCP-010"
            yield either(requirement, not read_as_one, seen, "its text as text", where=at)
        if not read_as_one:
            yield either("XMCP-MCP-011", kept, seen, f"`llm_output` with `{quoted(text)}`", where=at)


@check("XMCP-MCP-040", profile="client")
def _errors_of_other_conventions(trace: TraceIndex) -> Observations:
    for call, has_document, answer, reply in answered_calls(trace):
        if has_document or answer.plain or answer.outcome != "error":
            continue
        yield from _words_of_a_failure(call, answer, reply)
        if answer.structured is None:
            continue
        code = (answer.error or {}).get("code") or _code_in(answer.structured)
        seen = f"{call}, which failed with the code {quoted(str(code))}, is answered by {call.came_to}"
        as_said = reply.error is not None and reply.error.code == code
        yield either("XMCP-MCP-040", as_said, seen, f"the error {quoted(str(code))}", where=call.turn.next_at)
        if as_said and reply.error is not None and answer.error is not None and "retryable" in answer.error:
            told = {"retryable": reply.error.retryable, "retry_after_ms": reply.error.retry_after_ms}
            right = {name: answer.error.get(name) for name in told}
            ok = told["retryable"] is right["retryable"] and _is_wait(told["retry_after_ms"], right["retry_after_ms"])
            seen = f"{call}, which failed with {quoted(compact(answer.structured))}, is answered by {compact(told)}"
            yield either("XMCP-MCP-040", ok, seen, compact(right), where=call.turn.next_at)


def _words_of_a_failure(call: ModelCall, answer: Answered, reply: Document) -> Observations:
    """Judge the message of a failure whose result has a text: it is that text."""
    message = (answer.error or {}).get("message")
    words = message.strip(WHITE_SPACE) if isinstance(message, str) else ""
    if not words or answer.protocol_error is not None or reply.error is None or "error" in reply.lossy:
        return
    if answer.for_user and answer.for_user in reply.error.message:
        return  # XMCP-MCP-045
    if len(reply.error.message) <= SHORT and reply.error.code == (answer.error or {}).get("code"):
        seen = f"{call}, which failed with `{quoted(words)}`, is answered by {_in_words(reply)}"
        yield either("XMCP-MCP-040", reply.error.message == words, seen, f"`{quoted(words)}`", where=call.turn.next_at)


@check("XMCP-MCP-041", profile="client")
def _refusals_of_the_protocol(trace: TraceIndex) -> Observations:
    for call, _, answer, reply in answered_calls(trace):
        if answer.protocol_error == INVALID_PARAMS:
            seen = f"{call}, which the server refused with the JSON-RPC error {INVALID_PARAMS}, is answered by"
            ok = reply.error is not None and reply.error.code == "VALIDATION_FAIL"
            yield either("XMCP-MCP-041", ok, f"{seen} {call.came_to}", "VALIDATION_FAIL", where=call.turn.next_at)


@check("XMCP-CLI-003", profile="client")
def _words_of_the_protocol(trace: TraceIndex) -> Observations:
    """Judge the message of an error that stands for a protocol error: it is that of the JSON-RPC error (11.4)."""
    for call, _, answer, reply in answered_calls(trace):
        words = str((answer.error or {}).get("message") or "").strip(WHITE_SPACE)
        if answer.protocol_error is None or reply.error is None or not 0 < len(words) <= SHORT:
            continue
        if "error" not in reply.lossy and reply.error.code == (answer.error or {}).get("code"):
            seen = f"{call}, which the server refused with `{quoted(words)}`, is answered by {_in_words(reply)}"
            ok = reply.error.message.strip(WHITE_SPACE) == words
            yield either("XMCP-CLI-003", ok, seen, f"`{quoted(words)}`", where=call.turn.next_at)


def _is_wait(told: int | None, right: int | None) -> bool:
    """Return whether a wait is that of an error; one millisecond more comes of binary fractions (section 6.4)."""
    return told == right or (told is not None and right is not None and told == right + 1)


def _code_in(structured: Any) -> str:
    """Return the code that structured content names, or `TOOL_ERROR`, in the form of section 6.4."""
    inner = structured.get("error") if isinstance(structured, Mapping) else None
    places = (inner, structured)
    codes = (place.get("code") for place in places if isinstance(place, Mapping))
    code = next((code for code in codes if isinstance(code, str)), "")
    written = re.sub("[^A-Z0-9]", "_", re.sub("[a-z]", lambda letter: letter[0].upper(), code))
    return written if re.fullmatch("[A-Z][A-Z0-9_]{0,62}", written) else "TOOL_ERROR"


@check("XMCP-MCP-052", profile="client")
def _failures_that_only_the_flag_names(trace: TraceIndex) -> Observations:
    for call, xmcp, answer, reply in answered_calls(trace):
        if not xmcp or not answer.readable or not is_error_by_flag_alone(answer):
            continue
        text, error = (answer.text or "").strip(), reply.error
        # An error needs words: where the document has none, a client writes its own.
        told = error is not None and (not text or error.message == text or "error" in reply.lossy)
        seen = f"{call}, whose result has `isError` and no error in the document, is answered by {_in_words(reply)}"
        ok = error is not None and error.code == "TOOL_ERROR" and told
        yield either("XMCP-MCP-052", ok, seen, f"TOOL_ERROR with `{quoted(text)}`", where=call.turn.next_at)


def _in_words(reply: Document) -> str:
    return f"{reply.error.code} with `{quoted(reply.error.message)}`" if reply.error is not None else "a result"


def _is_json_of(taken: str | None, value: Any) -> bool:
    try:
        return same(json.loads(taken or ""), value)
    except (ValueError, RecursionError):
        return False


def _same_content(reply: Document, inner: Document) -> bool:
    if inner.error is not None:
        return reply.error is not None and reply.error.code == inner.error.code
    return reply.llm_output == inner.llm_output or (reply.has_display and inner.has_display)


def _text_of_a_failure(call: ModelCall, answer: Answered, reply: Document) -> Observations:
    """Judge a failure of a server without the extension whose text looks like a document."""
    text = (answer.error or {}).get("message")
    inner = read(text).document if isinstance(text, str) and looks_like_a_document(text) else None
    if inner is not None:
        read_as_one = reply.error is None or (inner.error is not None and inner.error.code == reply.error.code)
        seen = f"{call}, which failed at a server without the extension, is answered by {call.came_to}"
        yield either("XMCP-MCP-010", not read_as_one, seen, "an error, with that text", where=call.turn.next_at)


@check("XMCP-MCP-012", profile="client")
def _unreadable_document(trace: TraceIndex) -> Observations:
    for call, xmcp, answer, _ in answered_calls(trace):
        at = call.turn.next_at
        if answer.readable or not xmcp:
            continue
        why = f" ({quoted(answer.why_unreadable)})" if answer.why_unreadable else ""
        seen = f"{call}, whose document cannot be read{why}, is answered by {call.came_to}"
        yield either("XMCP-MCP-012", call.code == "INVALID_XML", seen, "INVALID_XML", where=at)


@check("XMCP-RSP-072", profile="client")
def _bad_display_dropped(trace: TraceIndex) -> Observations:
    for call, xmcp, answer, reply in answered_calls(trace):
        at = call.turn.next_at
        if not (xmcp and answer.bad_display and answer.readable):
            continue
        events = [received.event for _, received in call.turn.chat.received]
        warned = [one for one in events if one.get("type") == "warning" and one.get("call_id") in (None, call.id)]
        failed = reply.error is not None and answer.outcome == "ok"
        silent = bool(events) and not warned
        seen = "no event `warning`"
        if failed or reply.has_display:
            seen = f"{call} is answered by {call.code if failed else 'a document with that display'}"
        lost = _not_kept(answer, reply) if answer.document is not None and reply.error is None else None
        if lost is not None:
            seen = f"{call} is answered by a document with {lost[0]}, and the server's had {lost[1]}"
        ok = not (failed or reply.has_display or silent or lost is not None)
        yield either("XMCP-RSP-072", ok, seen, "the rest of the document, and a warning for the application", where=at)
