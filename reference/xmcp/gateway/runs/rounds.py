"""What a client's history lacks of a chat that ended with calls of the client's own tools: the tools that ran inside.

The client gets its own calls alone, under ids that nobody can guess, and sends them back with their results. What the
run added to the conversation is kept for that moment, the state of the vendor included, and takes the place of the
client's message. If it is not kept any more, that message stays, which any vendor accepts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from xmcp.chat.messages import INSTRUCTIONS, Message, size_of
from xmcp.gateway.runs.kept import Keeping, Kept
from xmcp.gateway.runs.record import RunRecord

_OPEN_CALL: Final = re.compile(r"ct_([0-9a-f]{32})_\d{1,3}")


def open_call_id(run_id: str, place: int) -> str:
    """Return the id under which a client gets a call of its own tools. All vendors accept it."""
    return f"ct_{run_id.removeprefix('run_')}_{place}"


def run_of_call(call_id: Any) -> str | None:
    """Return the run that gave a client this call; `None` if none did."""
    found = _OPEN_CALL.fullmatch(call_id) if isinstance(call_id, str) else None
    return None if found is None else f"run_{found[1]}"


def last_added(history: Sequence[Message]) -> Sequence[Message]:
    """Return what the last run added to a conversation: what follows the person's message, or the client's results."""
    place = 0
    for number, message in enumerate(history, start=1):
        role = message["role"]
        if role == "user" or role in INSTRUCTIONS or run_of_call(message.get("tool_call_id")) is not None:
            place = number
    while place < len(history) and history[place]["role"] == "tool":
        place += 1  # the result of a call beside the client's, which ran before
    return history[place:]


def with_open_calls(history: Sequence[Message], ids: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a history in which the calls with the given ids have others, and no answers yet."""
    if not ids:
        return [dict(message) for message in history]
    return [
        _renamed(message, ids)
        for message in history
        if message["role"] != "tool" or message.get("tool_call_id") not in ids
    ]


def _renamed(message: Message, ids: Mapping[str, str]) -> dict[str, Any]:
    calls = message.get("tool_calls")
    if not calls:
        return dict(message)
    return {**message, "tool_calls": [{**call, "id": ids.get(call["id"], call["id"])} for call in calls]}


@dataclass(frozen=True, slots=True)
class _Round:
    """What a run added to its conversation; `calls` are the ids of those that the client got."""

    tenant: str | None
    session: str | None
    calls: frozenset[str]
    messages: Sequence[Message]


class Rounds:
    """The rounds that wait for results of clients: for so long, and so many bytes of them."""

    def __init__(self, keeping: Keeping) -> None:
        self._kept = Kept[str](keeping)
        self._rounds: dict[str, _Round] = {}

    def keep(self, run: RunRecord, now: float) -> None:
        """Keep what a run that has ended added, if calls are left to the client. `now` is of a monotonic clock."""
        calls = frozenset(call["call_id"] for call in run.state.tool_calls)
        if calls:
            added = _added(run)
            self._rounds[run.id] = _Round(run.caller.tenant, run.request.session_id, calls, added)
            self._kept.add(run.id, run.caller.tenant, sum(map(size_with_calls, added)), now)
        self._forget_old(now)

    def forget(self, tenant: str | None, is_meant: Callable[[str, str | None], bool]) -> None:
        """Forget those of a tenant that are meant; `is_meant` is told the id of a run, and of its session."""
        for run_id in self._kept.of(tenant):
            if is_meant(run_id, self._rounds[run_id].session):
                self._kept.remove(run_id)
                del self._rounds[run_id]

    def completed(self, history: Sequence[Message], tenant: str | None, now: float) -> list[Message]:
        """Return a client's history with what it lacks, as far as it is kept for the tenant.

        Each round comes back once, so that a short history that has one many times does not become a giant one.
        """
        self._forget_old(now)
        complete: list[Message] = []
        back: set[str] = set()
        for message in history:
            run_id = self._round_of(message, tenant)
            if run_id is None or run_id in back:
                complete.append(message)
            else:
                back.add(run_id)
                _extend(complete, self._rounds[run_id].messages)
        return complete

    def _round_of(self, message: Message, tenant: str | None) -> str | None:
        """Return the run whose round a message stands for; `None` if it stands for none that is kept."""
        calls = {call["id"] for call in message.get("tool_calls") or ()}
        run_id = run_of_call(next(iter(calls))) if calls else None
        kept = None if run_id is None else self._rounds.get(run_id)
        return None if kept is None or kept.tenant != tenant or kept.calls != calls else run_id

    def _forget_old(self, now: float) -> None:
        for run_id in self._kept.forget(now):
            del self._rounds[run_id]


def _added(run: RunRecord) -> Sequence[Message]:
    """Return the messages that a run added to its conversation; they are none of the person's."""
    if run.request.query is None:
        return run.history[len(run.request.history) :]
    asked = max(place for place, message in enumerate(run.history) if message["role"] == "user")
    return run.history[asked + 1 :]


def _extend(history: list[Message], messages: Sequence[Message]) -> None:
    """Add a round to a history, which may end with what ran before the round's last message: some clients send it."""
    before = [*map(_calls_of, messages[:-1])]
    if before and before == [*map(_calls_of, history[-len(before) :])]:
        del history[-len(before) :]
    history += messages


def _calls_of(message: Message) -> Sequence[Any]:
    """Return what a message is of: the calls that it asks for, or the one that it answers."""
    return [message["role"], message.get("tool_call_id"), *(call["id"] for call in message.get("tool_calls") or ())]


def size_with_calls(message: Message) -> int:
    """Return about how many characters a message takes, the arguments of its calls included."""
    arguments = sum(len(call["function"]["arguments"]) for call in message.get("tool_calls") or ())
    return 200 + size_of(message) + arguments
