"""Checks of the answer of a chat: whose text it is, and whether it is that of its stop reason (section 11.7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.messages import text_of
from xmcp_conformance.profiles.client.permitted_codes import is_above_limit
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import Chat

from .stop_reasons import CLARIFY, is_known, is_unanswered, said_to, stalled_answer


@check("XMCP-CLI-072", profile="client")
def _answer_is_text_of_the_model(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        if chat.ended is None or not chat.ended.result:
            continue
        answer = chat.ended.result.get("answer")
        if not answer or not isinstance(answer, str) or is_unanswered(chat):
            yield obeyed("XMCP-CLI-072", where=chat.ended_at)
            continue
        seen = f"the answer `{quoted(answer)}`"
        yield either("XMCP-CLI-072", _is_of_model(chat, answer), seen, "a text of the model", where=chat.ended_at)


def _is_of_model(chat: Chat, answer: str) -> bool:
    """Return whether an answer is a text of the model, or all of them, or one of its questions."""
    texts = [turn.said.text for turn in chat.turns]
    own = [*texts, "".join(texts), *(q for turn in chat.turns for q in said_to(turn, CLARIFY, "question"))]
    ok = answer.strip() in [text.strip() for text in own]
    if chat.stop_reason == "timeout":  # what had come by then of an answer that was under way
        ok = ok or any(said.text.strip().startswith(answer.strip()) for _, said in chat.failed)
    return ok


def _said(answer: str) -> str:
    return f"the answer `{quoted(answer)}`" if answer else "no answer"


@check("XMCP-CLI-124", profile="client")
def _answer_of_the_stop_reason(trace: TraceIndex) -> Observations:
    for chat in trace.chats.values():
        if chat.ended is None or not chat.ended.result or not chat.turns or is_unanswered(chat):
            continue
        given = chat.ended.result.get("answer")
        answer = str(given or "").strip()
        if answer and not _is_of_model(chat, answer):
            continue  # another check judges it
        stalled = stalled_answer(chat)
        if chat.stop_reason == "timeout" and stalled is not None:
            # Whether it had broken off, the client says itself: then the history has nothing of it (XMCP-CLI-116).
            ok, wanted = stalled.text.strip().startswith(answer), "what had come of the answer that was under way"
            if not answer and stalled.text.strip():
                ok = not any(stalled.text.strip() in text_of(m) for m in chat.ended.history)
            seen = f"{_said(answer)} of a chat whose time was over"
            yield either("XMCP-CLI-124", ok, seen, wanted, where=chat.ended_at)
            continue
        under_way = chat.turns[-1].next is chat.ended and bool(chat.turns[-1].calls)
        if chat.stop_reason not in _ANSWERS and not (chat.stop_reason == "timeout" and under_way):
            continue
        wanted = chat.turns[-1].said.text.strip() if _ANSWERS.get(chat.stop_reason) else ""
        if not wanted and not answer:
            yield either("XMCP-CLI-124", given is None, "an empty text as the answer", "`null`", where=chat.ended_at)
            continue
        seen = f"{_said(answer)} of a chat that ended with {chat.stop_reason}"
        expected = f"`{quoted(wanted)}`, the text of the last turn" if wanted else "no answer"
        yield either("XMCP-CLI-124", answer == wanted, seen, expected, where=chat.ended_at)


_ANSWERS: Final[Mapping[str | None, bool]] = {
    "stop": True,
    "display": False,
    "max_turns": True,
    "length": True,
    "content_filter": True,
    "empty": False,
}
"""Whether the text of the last turn is the `answer`, by the stop reason; other checks judge that of the others."""


@check("XMCP-CLI-085", profile="client")
def _question_ends_the_chat(trace: TraceIndex) -> Observations:
    for turn in trace.turns:
        questions = said_to(turn, CLARIFY, "question")
        refused = any(call.meta and call.name == CLARIFY and is_above_limit(trace, call) for call in turn.calls)
        ended = turn.chat.ended
        stopped = turn.chat.cancelled is not None or (turn.cut and ended is not None and ended.failure is not None)
        if not questions or refused or stopped or not is_known(turn):
            continue
        if turn.cut and not all(call.succeeded for call in turn.calls if call.meta and call.name == CLARIFY):
            continue  # the time of the chat was over first
        if turn.went_on:
            seen = "the model was asked again after its question"
            yield broken("XMCP-CLI-085", seen, "the end of the chat", where=turn.next_at)
        elif ended is not None and ended.result is not None:
            answer = str(ended.result.get("answer") or "")
            seen = f"the chat ended with {_said(answer)}"
            yield either(
                "XMCP-CLI-085", answer == questions[-1], seen, f"`{quoted(questions[-1])}`", where=turn.next_at
            )
