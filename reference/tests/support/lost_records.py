"""What callers saw of chats, and what the audit store lacks of them: the measured loss."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from support.audited_runs import rows
from support.gateways import eventually
from xmcp.gateway.audit.database import address_of
from xmcp.gateway.audit.reading import reading
from xmcp.gateway.audit.rebuild import model_calls


@dataclass(frozen=True)
class Seen:
    """A chat that its caller saw finish.

    Attributes:
        run_id: The id that the caller was told.
        answer: The whole text.
        calls: The tools that were called, in their order.
    """

    run_id: str
    answer: str
    calls: tuple[str, ...] = ()

    @property
    def requests(self) -> int:
        """How often the model was asked."""
        return 1 + bool(self.calls)

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Seen:
        """Return the chat of an answer of `/chat`."""
        return cls(answer["run_id"], answer["answer"], tuple(call["tool"] for call in answer["tools_used"]))


def lost(database: str, chats: Iterable[Seen]) -> dict[str, list[str]]:
    """Return what the record of each chat lacks, by its id; chats whose record is whole are left out."""
    found = Recorded(database)
    lacking = {chat.run_id: [*found.lacking(chat)] for chat in chats}
    return {run_id: what for run_id, what in lacking.items() if what}


async def until_recorded(database: str | Callable[[], str], chats: Sequence[Seen]) -> None:
    """Wait until the records of chats are whole: the last of them are written a moment after the answer.

    `database`: the store, or what makes a copy of it.
    """

    def is_whole() -> bool:
        return not lost(database if isinstance(database, str) else database(), chats)

    await eventually(lambda: asyncio.to_thread(is_whole))


class Recorded:
    """Everything that a store has at one moment."""

    def __init__(self, database: str) -> None:
        self.runs: dict[str, str] = dict(rows(database, "SELECT id, status FROM runs"))
        self._events = _by_run(database, "seq, last_seq, type, payload", "events", "seq")
        self._calls = _by_run(database, "tool, status", "tool_invocations", "intent_at, call_id")
        self._usage = _by_run(database, "number", "usage", "number")
        self._asked = defaultdict(list)
        with reading(address_of(database)) as connection:
            for call in model_calls(connection):
                self._asked[call.run_id].append(call)

    def lacking(self, chat: Seen) -> list[str]:
        """Return what the record of a chat lacks."""
        run = chat.run_id
        status = self.runs.get(run)
        told = {
            f"its end: {status}": status == "finished",
            "events": self.events_are_whole(run) and self._events[run][-1][2] == "run.finished",
            "text": self.text(run) == chat.answer,
            "what the model read": sum(call.answer is not None for call in self._asked[run]) == chat.requests
            and all(call.complete for call in self._asked[run]),
            "calls": [tool for tool, status in self._calls[run] if status != "intent"] == [*chat.calls],
            "usage": len(self._usage[run]) >= chat.requests,
        }
        return [what for what, there in told.items() if not there]

    def events_are_whole(self, run: str) -> bool:
        """Return whether no event is missing from the first to the last that is there."""
        places = [(first, last) for first, last, _, _ in self._events[run]]
        expected = [1, *(last + 1 for _, last in places[:-1])]
        return bool(places) and [first for first, _ in places] == expected

    def last_event(self, run: str) -> tuple[int, str]:
        """Return the place and the type of the last event."""
        _, last, kind, _ = self._events[run][-1]
        return last, kind

    def text(self, run: str) -> str:
        """Return the text of an answer, without what was taken back."""
        text = ""
        for _, _, kind, payload in self._events[run]:
            if kind == "stream.reset":
                text = ""
            elif kind == "text.delta":
                text += json.loads(payload)["text"]
        return text


def _by_run(database: str, columns: str, table: str, order: str) -> dict[str, list[Sequence[Any]]]:
    found: dict[str, list[Sequence[Any]]] = defaultdict(list)
    for run, *values in rows(database, f"SELECT run_id, {columns} FROM {table} ORDER BY run_id, {order}"):
        found[run].append(values)
    return found
