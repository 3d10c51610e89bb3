"""Checks of what a model gets nothing of: documents that cannot be read, and blocks for the user alone (6.4)."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.histories import Message
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.messages import WHITE_SPACE, document_of, same, strings_of, text_of
from xmcp_conformance.profiles.client.permitted_codes import was_cut_short
from xmcp_conformance.profiles.client.trace import Asked
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import Chat, ModelCall
from xmcp_conformance.reader.strict_json import strings

from .documents import answered_calls

_REFERENCE_LINE = re.compile(r"^\[[^\[\]\n]*\]$", re.MULTILINE)
_MARKUP: Final = re.compile(r"<[^<>\s]*|/?>")
_LEAST_TEXT: Final = 4
"""The number of characters from which a text is not by chance in a reference that stands for it."""
_LEAST_RAW: Final = 20
"""The number of characters from which a text without markup is not by chance in the words of a client."""
_LEAST_PART: Final = 12
"""The number of characters from which a part of a text is not by chance in the words of a client."""
_MOST_PARTS: Final = 200
"""How many parts of a text are looked for, which is all of a short one."""


def _parts_of(text: str) -> Iterator[str]:
    """Yield the parts of a text from which something can be read, each of the same length."""
    starts = range(len(text) - _LEAST_PART + 1)
    for start in starts[: _MOST_PARTS // 2] if len(starts) > _MOST_PARTS else starts:
        yield text[start : start + _LEAST_PART]
    if len(starts) > _MOST_PARTS:
        yield from (text[start : start + _LEAST_PART] for start in starts[-_MOST_PARTS // 2 :])


@check("XMCP-MCP-013", profile="client")
def _nothing_of_an_unreadable_document(trace: TraceIndex) -> Observations:
    for call, is_document, answer, reply in answered_calls(trace):
        raw = (answer.text or "").strip()
        if answer.readable or not is_document or not (len(raw) >= _LEAST_RAW or "<" in raw):
            continue
        told = [reply.llm_output or "", reply.error.model_text if reply.error is not None else ""]
        found = raw if _is_told(raw, told) else _part_told(raw, told, call)
        seen = f"{call} is answered with the raw text `{quoted(found or '')}`"
        yield either("XMCP-MCP-013", found is None, seen, "none of that text", where=call.turn.next_at)


def _is_told(text: str, told: Sequence[str]) -> bool:
    return any(text in one for one in told)


def _part_told(raw: str, told: Sequence[str], call: ModelCall) -> str | None:
    """Return a part of a raw text, beside its tags and the name of its tool, that the model was told."""
    own = [call.name, call.tool.name if call.tool is not None else ""]
    for piece in _MARKUP.split(raw):
        for part in _parts_of(piece.strip(WHITE_SPACE)):
            if _is_told(part, told) and not _is_told(part.strip(WHITE_SPACE), own):
                return part
    return None


@check("XMCP-MCP-045", profile="client")
def _text_for_the_user_alone(trace: TraceIndex) -> Observations:
    judged = [call for call in trace.calls if call.turn.went_on and not was_cut_short(call) and _wanted_of(call)]
    holders: dict[tuple[str, str], set[str | None]] = defaultdict(set)  # the calls that have a text for the user
    for call in judged:
        for text in _wanted_of(call):
            holders[call.turn.chat.name, text].add(call.id)
    for call in judged:
        (text, *parts), chat = _wanted_of(call), call.turn.chat
        later = [(at, asked) for at, asked in chat.asks if at > call.turn.said_at]
        given, data = _given_to_the_model(trace, call), _data_instead_of_text(chat)
        found_at = call.turn.next_at if _is_read_in_the_data(call, text) else None
        for one in (text, *parts):
            # In the message of another call, what that one has for the user, too, is a leak of its own.
            its_own = holders[chat.name, one] - {call.id}
            held = (at for at, asked in later if _is_held(asked, one, given, data, but=its_own))
            if (at := next(held, None)) is not None:
                found_at, text = at, one
                break
        at = call.turn.next_at if found_at is None else found_at
        seen = f"the model got `{quoted(text)}`, which was for the user alone, in the answer to {call}"
        yield either("XMCP-MCP-045", found_at is None, seen, "nothing of that block before the model", where=at)


def _wanted_of(call: ModelCall) -> Sequence[str]:
    """Return the texts that the model must not get of a call, the whole block first; none without such a block."""
    text = (call.answer.for_user if call.answer is not None else None) or ""
    if not text.strip(WHITE_SPACE):
        return ()
    return (text,) if len(text) <= _LEAST_PART else (text, *_parts_of(text))


def _is_read_in_the_data(call: ModelCall, text: str) -> bool:
    """Return whether the model got the data of a call, an object or a list of which a text is the JSON (section 6.4).

    Elsewhere the data of a call are read by their texts alone: what else two of them have in common can be by chance.
    """
    answer, said = call.answer, call.reply.llm_output if call.reply is not None else None
    if answer is None or answer.text or not said:
        return False
    try:
        wanted, (value, _) = json.loads(text), json.JSONDecoder().raw_decode(said.lstrip())
    except (ValueError, RecursionError):
        return False
    return same(value, answer.structured) and any(same(wanted, one) for one in _containers(value))


def _containers(value: Any) -> Iterator[Any]:
    """Yield each object and list in a value, itself included."""
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, (dict, list)):
            yield one
            pending += one.values() if isinstance(one, dict) else one


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


def _is_held(
    asked: Asked, text: str, given: Sequence[str], data: Sequence[Any], *, but: Collection[str | None]
) -> bool:
    """Return whether a request has a text that was not given to the model, elsewhere than in the answers to `but`."""
    messages = (one for one in asked.messages if one.get("role") != "tool" or one.get("tool_call_id") not in but)
    return any(_holds_more(one, text, given, data) for one in messages)


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
