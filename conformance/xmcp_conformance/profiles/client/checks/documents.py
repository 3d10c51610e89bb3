"""Checks of what a client reads as a document, and what the model gets of it (sections 2.5, 3.5 and 6.4)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.histories import Message
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.messages import (
    compact,
    document_of,
    fault_of_a_writer,
    same,
    strings_of,
    text_of,
)
from xmcp_conformance.profiles.client.permitted_codes import permitted_codes, was_cut_short
from xmcp_conformance.profiles.client.trace import Answered
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import Chat, ModelCall, gives_text, is_error_by_flag_alone
from xmcp_conformance.reader import Document, looks_like_a_document, read
from xmcp_conformance.reader.schemas import validator
from xmcp_conformance.reader.strict_json import strings

REFERENCE = "x-xmcp-reference"
_REFERENCE_LINE = re.compile(r"^\[[^\[\]\n]*\]$", re.MULTILINE)
_WHITE_SPACE = " \t\r\n"
_LEAST_TEXT = 4
"""The number of characters from which a text is not by chance in a reference that stands for it."""
_LEAST_RAW = 20
"""The number of characters from which a text without markup is not by chance in the words of a client."""

_PARTS: Final[Mapping[str, Any]] = {
    "tool_name": "",
    "version": "1.0",
    "call_id": None,
    "server_populated": None,
    "truncated": False,
    "format": "text/plain",
}
"""The parts of a document that stay as the server wrote them, each with what its absence means (section 11.1)."""


def _answered_calls(trace: TraceIndex) -> Iterator[tuple[ModelCall, bool, Answered, Document]]:
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
    own = message.strip(_WHITE_SPACE)
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
    for call, has_document, answer, reply in _answered_calls(trace):
        if has_document and answer.lossy and answer.outcome == "ok" and reply.error is None:
            seen = f"{call}, whose document was marked as lossy, is answered by one without the mark"
            is_said = "tool_response" in reply.lossy
            yield either("XMCP-RSP-029", is_said, seen, '`lossy="true"` on the root element', where=call.turn.next_at)


@check("XMCP-MCP-010", "XMCP-MCP-011", "XMCP-MCP-043", profile="client")
def _text_of_plain_results(trace: TraceIndex) -> Observations:
    for call, has_document, answer, reply in _answered_calls(trace):
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
    for call, has_document, answer, reply in _answered_calls(trace):
        if has_document or answer.plain or answer.outcome != "error" or answer.structured is None:
            continue
        code = (answer.error or {}).get("code") or _code_in(answer.structured)
        seen = f"{call}, which failed with the code {quoted(str(code))}, is answered by {call.came_to}"
        as_said = reply.error is not None and reply.error.code == code
        yield either("XMCP-MCP-040", as_said, seen, f"the error {quoted(str(code))}", where=call.turn.next_at)


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
    for call, xmcp, answer, reply in _answered_calls(trace):
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


@check("XMCP-MCP-045", profile="client")
def _text_for_the_user_alone(trace: TraceIndex) -> Observations:
    for call in trace.calls:
        text = (call.answer.for_user if call.answer is not None else None) or ""
        if not text.strip(_WHITE_SPACE) or not call.turn.went_on or was_cut_short(call):
            continue
        later = [(at, asked) for at, asked in call.turn.chat.asks if at > call.turn.said_at]
        given, data = _given_to_the_model(trace, call), _data_instead_of_text(call.turn.chat)
        found = next(
            (at for at, asked in later if any(_holds_more(one, text, given, data) for one in asked.messages)), None
        )
        at = call.turn.next_at if found is None else found
        seen = f"the model got `{quoted(text)}`, which was for the user alone, in the answer to {call}"
        yield either("XMCP-MCP-045", found is None, seen, "nothing of that block before the model", where=at)


def _given_to_the_model(trace: TraceIndex, shown: ModelCall) -> list[str]:
    """Return the texts that a model may have got whatever a call showed to the user alone, the longest first.

    They are what servers gave the model, what stands beside such a block included (section 6.4), the data of other
    calls, what the model wrote, and what the application gave.
    """
    chat = shown.turn.chat
    texts = [*strings_of(chat.began.history), chat.began.query]
    for turn in chat.turns:
        texts += [turn.said.text, *(call.written for call in turn.calls), *(call.name for call in turn.calls)]
        for call in turn.calls:
            answer = call.answer
            if answer is None:
                continue
            message = (answer.error or {}).get("message")
            own = call.attempts and trace.setup.servers[call.attempts[-1].server].xmcp
            texts += [answer.text or "", *strings(answer.display)]
            texts += strings(answer.structured) if call is not shown and not answer.text else ()
            if isinstance(message, str) and (own or message not in strings(answer.structured)):
                texts += [message]
    return sorted(filter(None, texts), key=len, reverse=True)


def _data_instead_of_text(chat: Chat) -> list[Any]:
    """Return the structured contents that can stand in for a missing text in a chat (section 6.4)."""
    answers = [call.answer for turn in chat.turns for call in turn.calls]
    return [answer.structured for answer in answers if answer and not answer.text and answer.structured is not None]


def _holds_more(message: Message, text: str, given: Sequence[str], data: Sequence[Any]) -> bool:
    """Return whether a message has a text elsewhere than in one of the texts that were given to the model.

    In one of `data`, only the texts and the names of members count, not a number or a bracket.
    """
    document = document_of(text_of(message)) if message.get("role") == "tool" else None
    parts = list(strings_of([message]))
    if len(text) < _LEAST_TEXT:
        parts = [_REFERENCE_LINE.sub("", part) for part in parts]
    if document is not None:
        # As JSON and not as the raw document, in which the text is escaped.
        words = document.error.model_text if document.error is not None else ""
        shown = strings(document.display) if document.has_display else ()
        said = document.llm_output or ""
        said = said if len(text) >= _LEAST_TEXT else _REFERENCE_LINE.sub("", said)
        parts = [*_texts_in(said, data), words, *shown]
    allowed = [one for one in given if text in one]
    return any(text in _without(part, allowed) for part in parts if text in part)


def _texts_in(taken: str, data: Sequence[Any]) -> list[str]:
    """Return the texts in a text for the model: where it begins with one of `data`, those in there and the rest."""
    begin = taken.lstrip()
    try:
        value, end = json.JSONDecoder().raw_decode(begin)
    except (ValueError, RecursionError):
        return [taken]
    return [*strings(value), begin[end:]] if any(same(value, one) for one in data) else [taken]


def _without(part: str, given: Sequence[str]) -> str:
    """Return a text without the longest of the given texts in it, once: what stands beside it was added to it."""
    found = next((text for text in given if text in part), None)
    if found is None:
        return part
    before, _, after = part.partition(found)
    return f"{before}\n{after}"


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


@check("XMCP-MCP-012", "XMCP-MCP-013", profile="client")
def _unreadable_document(trace: TraceIndex) -> Observations:
    for call, xmcp, answer, reply in _answered_calls(trace):
        at = call.turn.next_at
        if answer.readable or not xmcp:
            continue
        seen = f"{call}, whose document cannot be read, is answered by {call.came_to}"
        yield either("XMCP-MCP-012", call.code == "INVALID_XML", seen, "INVALID_XML", where=at)
        raw = (answer.text or "").strip()
        if len(raw) >= _LEAST_RAW or "<" in raw:
            seen = f"{call} is answered with the raw text"
            yield either("XMCP-MCP-013", not _holds(reply, raw), seen, "none of that text", where=at)


def _holds(reply: Document, raw: str) -> bool:
    error_text = reply.error.model_text if reply.error is not None else ""
    return raw in (reply.llm_output or "") or raw in error_text


@check("XMCP-RSP-072", profile="client")
def _bad_display_dropped(trace: TraceIndex) -> Observations:
    for call, xmcp, answer, reply in _answered_calls(trace):
        at = call.turn.next_at
        if not (xmcp and answer.bad_display and answer.readable):
            continue
        events = [received.event.get("type") for _, received in call.turn.chat.received]
        failed = reply.error is not None and answer.outcome == "ok"
        silent = bool(events) and "warning" not in events
        seen = "no event `warning`"
        if failed or reply.has_display:
            seen = f"{call} is answered by {call.code if failed else 'a document with that display'}"
        ok = not (failed or reply.has_display or silent)
        yield either("XMCP-RSP-072", ok, seen, "the rest of the document, and a warning for the application", where=at)


@check("XMCP-DSP-040", profile="client")
def _display_budget(trace: TraceIndex) -> Observations:
    budget = trace.setup.display_budget
    for chat in trace.chats.values():
        for at, asked in chat.asks:
            for message in asked.messages:
                document = document_of(text_of(message)) if message.get("role") == "tool" else None
                # One that is no envelope stays as it is (section 3.5).
                if (
                    document is not None
                    and document.has_display
                    and validator("display_envelope").is_valid(document.display)
                ):
                    size = len(compact(document.display).encode("utf-8", "replace"))
                    seen = f"a display of {size} bytes before the model"
                    yield either("XMCP-DSP-040", size <= budget, seen, f"at most {budget}", where=at)


def _least_reference(display: Mapping[str, Any]) -> int:
    """Return the length, in bytes, of the shortest reference that can stand for a display."""
    length = len(compact(display).encode("utf-8", "replace"))
    titled = {"title": display["title"]} if "title" in display else {}
    shortest = {"type": REFERENCE, **titled, "payload": {"type": display.get("type"), "bytes": length}}
    return len(compact(shortest).encode("utf-8", "replace"))


@check("XMCP-DSP-041", profile="client")
def _reference_for_large_display(trace: TraceIndex) -> Observations:
    for call, xmcp, answer, reply in _answered_calls(trace):
        at = call.turn.next_at
        display = answer.display if xmcp else None
        if display is None or not call.turn.went_on:
            continue
        large = len(compact(display).encode("utf-8", "replace")) > trace.setup.display_budget
        shown = reply.display if isinstance(reply.display, dict) else {}
        if not large or (reply.has_display and shown.get("type") == display.get("type") != REFERENCE):
            continue
        if not reply.has_display and _least_reference(display) > trace.setup.display_budget:
            continue  # even the reference is too long
        ok = shown.get("type") == REFERENCE and shown.get("title") == display.get("title")
        seen = f"in the place of the display of {call}: `{quoted(compact(reply.display))}`"
        yield either("XMCP-DSP-041", ok, seen, f"a reference titled {quoted(str(display.get('title')))}", where=at)
