"""The body of `POST /chat`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from xmcp.client.chat_options import ChatOptions
from xmcp.gateway.decoders.fields import MAX_REASON, BadRequest, client_tools, conversation, member, needed, sampler
from xmcp.gateway.runs.questions import Answer
from xmcp.gateway.runs.request import ChatRequest

MEMBERS: Final = (
    "input",
    "messages",
    "model",
    "system",
    "tools",
    "client_tools",
    "max_turns",
    "session_id",
    "deadline_ms",
    "history",
    "temperature",
    "top_p",
    "max_tokens",
    "stop",
    "seed",
    "reasoning_effort",
)


@dataclass(frozen=True, slots=True)
class NativeChat:
    """A chat, and whether the answer in one piece is to have the whole history."""

    request: ChatRequest
    history: bool


def decode(body: Mapping[str, Any], default_model: str) -> NativeChat:
    """Return what a body asks for. `input` is short for a last message of the user; with a `session_id` and without
    `messages`, the messages before it are those that the gateway remembers.

    Raises:
        BadRequest: it has a member that there is not, or one that is wrong.
    """
    if unknown := next((name for name in body if name not in MEMBERS), None):
        raise BadRequest(
            f"There is no {unknown[:100]!r}: the members are {', '.join(MEMBERS)}.", unknown[:100], "unknown"
        )
    sent = member(body, "messages", list)
    listed = list(sent or ())
    if (words := member(body, "input", str)) is not None:
        listed.append({"role": "user", "content": words})
    elif not listed:
        raise BadRequest("Say something: either input, a text, or messages.", "input", "missing_required_parameter")
    query, history = conversation(listed)
    deadline = member(body, "deadline_ms", int)
    if deadline is not None and deadline < 1:
        raise BadRequest("deadline_ms must be above 0.", "deadline_ms")
    turns = member(body, "max_turns", int)
    if turns is not None and turns < 1:
        raise BadRequest("max_turns must be above 0.", "max_turns")
    session_id = member(body, "session_id", str)
    if session_id == "":
        raise BadRequest("session_id is empty: leave it out, or name a session.", "session_id")
    options = ChatOptions(
        system=member(body, "system", str),
        tools=_names(body),
        external_tools=client_tools(member(body, "client_tools", list) or (), "client_tools"),
        max_turns=turns,
        sampler=sampler(body),
    )
    request = ChatRequest(
        surface="chat",
        model=member(body, "model", str) or default_model,
        query=query,
        history=history,
        options=options,
        session_id=session_id,
        continues=session_id is not None and not sent,
        deadline=None if deadline is None else deadline / 1000,
    )
    return NativeChat(request, bool(member(body, "history", bool)))


def decode_answer(body: Mapping[str, Any]) -> tuple[str, Answer]:
    """Return the call that the body of `POST /runs/{id}/input` is about, and the answer.

    Raises:
        BadRequest: a member is missing or wrong.
    """
    reason = member(body, "reason", str) or ""
    if len(reason) > MAX_REASON:
        raise BadRequest(f"reason has more than {MAX_REASON} characters.", "reason")
    return needed(body, "call_id", str), Answer(needed(body, "approve", bool), reason)


def _names(body: Mapping[str, Any]) -> list[str] | None:
    names = member(body, "tools", list)
    if names is not None and not all(isinstance(name, str) for name in names):
        raise BadRequest("tools must be a list of names of tools, as GET /tools has them.", "tools", "invalid_type")
    return names
