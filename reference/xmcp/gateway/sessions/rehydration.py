"""Front ends send what they showed of a conversation. Here it gets back what the model had read beside. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from xmcp.chat.messages import Message, text_of
from xmcp.gateway.runs.rounds import run_of_call
from xmcp.gateway.sessions.window import turns_of


def rehydrated(
    sent: Sequence[Message], remembered: Sequence[Message], *, goes_on: bool = False
) -> list[Message] | None:
    """Return the history that was sent, with the remembered turns in the place of those that show the same.

    Either may begin later, where its window did; and the sent one may end earlier, where a person goes back. Where the
    last turn of the sent one `goes_on`, from results of the client's own tools, it follows what is remembered.
    `None`: what both have is not the same, or there is none; or the sent one has calls of tools, and so lacks nothing.
    """
    instructions, shown = turns_of(sent)
    last = shown.pop() if goes_on and shown and _is_answered_by_client(shown[-1]) else []
    if any(message["role"] == "tool" for turn in shown for message in turn):
        return None
    known = turns_of(remembered)[1]
    if last and not shown:
        return [*instructions, *(message for turn in (*known, last) for message in turn)]
    for end in range(len(known), 0, -1):
        both = min(len(shown), end)
        before, same = shown[: len(shown) - both], known[end - both : end]
        if both and all(map(_shows, shown[len(before) :], same)):
            return [*instructions, *(message for turn in (*before, *same, last) for message in turn)]
    return None


def _is_answered_by_client(turn: Sequence[Message]) -> bool:
    """Return whether a turn ends with the results of calls that a gateway left to its client."""
    return turn[-1]["role"] == "tool" and run_of_call(turn[-1].get("tool_call_id")) is not None


def _shows(shown: Sequence[Message], known: Sequence[Message]) -> bool:
    """Return whether a turn shows what a remembered one is.

    What the person said must be the same. So must be the answer, but where tools were called: a front end shows their
    displays between the texts of the model, which must all be there in their order.
    """
    if _said(shown) != _said(known):
        return False
    answer = "\n".join(text_of(message) for message in shown if message["role"] == "assistant")
    texts = [text for message in known if message["role"] == "assistant" and (text := text_of(message).strip())]
    if not any(message["role"] == "tool" for message in known):
        return answer.split() == " ".join(texts).split()
    place = 0
    for text in texts:
        found = answer.find(text, place)
        if found < 0:
            return False
        place = found + len(text)
    return True


def _said(turn: Sequence[Message]) -> list[object]:
    """Return the messages of the person; parts that are one text are that text."""
    return [
        text_of(message) if _is_text(message) else message["content"] for message in turn if message["role"] == "user"
    ]


def _is_text(message: Message) -> bool:
    content = message["content"]
    return isinstance(content, str) or all(part.get("type") == "text" for part in content or ())
