"""What each model call of a run or a conversation received, byte for byte, from the database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, select

from xmcp.gateway.audit.tables import METADATA
from xmcp.gateway.audit.valid_rows import checked, json_object

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection

_messages: Final = METADATA.tables["messages"]
_contents: Final = METADATA.tables["contents"]
_requests: Final = METADATA.tables["model_requests"]
_tool_lists: Final = METADATA.tables["tool_lists"]
_runs: Final = METADATA.tables["runs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One call of a model.

    Attributes:
        run_id: The run.
        attempt: The attempt of the run, from 1.
        number: Number of the call in it, from 1.
        turn: The turn of the chat.
        provider: The vendor.
        model: The model as it was asked for.
        messages: The JSON of each message that the model received.
        hashes: For each message a hash of it and all before it, which names the same conversation up to there.
        tools: The JSON array of the tools that it was offered; `None` if it was lost.
        complete: Whether nothing of what it received was lost.
        altered: Whether something was replaced in the record: a secret, or what JSON cannot hold.
        answer: JSON with the `text` and the `tool_calls` that it wrote; `None` if it did not answer.
        finish_reason: Why it stopped.
        error_code: Why it did not answer.
        error_message: The same in words.
        started_at: Milliseconds since 1970 in UTC; `None` if that was lost.
        finished_at: The same of the end; `None` if there is none.
    """

    run_id: str
    attempt: int
    number: int
    turn: int
    provider: str | None
    model: str | None
    messages: tuple[str, ...]
    hashes: tuple[str, ...]
    tools: str | None
    complete: bool
    altered: bool
    answer: str | None
    finish_reason: str | None
    error_code: str | None
    error_message: str | None
    started_at: int | None
    finished_at: int | None

    def same_messages(self, before: ModelCall | None) -> int:
        """Return how many messages at the beginning are those of the call before."""
        pairs = zip(self.hashes, () if before is None else before.hashes, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    def size_after(self, before: ModelCall | None) -> int:
        """Return how many characters it has that the call before does not have."""
        size = sum(map(len, self.messages[self.same_messages(before) :])) + len(self.answer or "")
        return size if before is not None and before.tools == self.tools else size + len(self.tools or "")

    def to_dict(self, first: int = 0) -> dict[str, Any]:
        """Return it as a JSON object; of its messages those from the place `first` on."""
        return {
            "run_id": self.run_id,
            "attempt": self.attempt,
            "number": self.number,
            "turn": self.turn,
            "provider": self.provider,
            "model": self.model,
            "started_at": self.started_at,
            "finished_at": self.finished_at,
            "complete": self.complete,
            "altered": self.altered,
            "messages": [json.loads(message) for message in self.messages[first:]],
            "tools": None if self.tools is None else json.loads(self.tools),
            "answer": None if self.answer is None else json.loads(self.answer),
            "finish_reason": self.finish_reason,
            "error_code": self.error_code,
            "error_message": self.error_message,
        }


BEGUN: Final = func.coalesce(_runs.c.started_at, _requests.c.started_at, 0)
"""By what the runs of model calls are ordered."""


def model_calls(
    connection: Connection,
    *,
    conversation_id: str | None = None,
    run_id: str | None = None,
    where: ColumnElement[bool] | None = None,
    limit: int | None = None,
) -> Iterator[ModelCall]:
    """Yield the model calls of a conversation or of a run, in their order: those of a run follow each other.

    `where`: a further condition on `model_requests` and `runs`; `limit`: how many at most.
    """
    # The messages of a call are read when it is yielded: all at once, long conversations would not fit into memory.
    asked = (
        select(_requests, _tool_lists.c.tools)
        .select_from(
            _requests.outerjoin(_runs, _runs.c.id == _requests.c.run_id).outerjoin(
                _tool_lists, _tool_lists.c.hash == _requests.c.tools_hash
            )
        )
        .order_by(BEGUN, _requests.c.run_id, _requests.c.attempt, _requests.c.number)
        .limit(limit)
    )
    if where is not None:
        asked = asked.where(where)
    if conversation_id is not None:
        asked = asked.where(_requests.c.conversation_id == conversation_id)
    if run_id is not None:
        asked = asked.where(_requests.c.run_id == run_id)
    for request in connection.execute(asked).mappings().all():
        checked(_requests, request)
        if request["answer"] is not None:
            json_object(request["answer"], "model_requests")
        messages = received(connection, request["conversation_id"], request["messages_hash"])
        for _, content in messages:
            json_object(content, "contents")
        yield ModelCall(
            run_id=request["run_id"],
            attempt=request["attempt"],
            number=request["number"],
            turn=request["turn"],
            provider=request["provider"],
            model=request["model"],
            messages=tuple(content for _, content in messages),
            hashes=tuple(name for name, _ in messages),
            tools=request["tools"],
            complete=len(messages) == request["message_count"] and request["tools"] is not None,
            altered=bool(request["altered"]),
            answer=request["answer"],
            finish_reason=request["finish_reason"],
            error_code=request["error_code"],
            error_message=request["error_message"],
            started_at=request["started_at"],
            finished_at=request["finished_at"],
        )


def received(connection: Connection, conversation_id: str, last: str | None) -> list[tuple[str, str]]:
    """Return hash and JSON of each message of a conversation up to `last`, as far as they are there."""
    if last is None:
        return []
    here = _messages.c.conversation_id == conversation_id
    chain = (
        select(_messages.c.hash, _messages.c.parent, _messages.c.place, _messages.c.content_hash)
        .where(here, _messages.c.hash == last)
        .cte("chain", recursive=True)
    )
    before = select(_messages.c.hash, _messages.c.parent, _messages.c.place, _messages.c.content_hash).where(
        here, _messages.c.hash == chain.c.parent
    )
    chain = chain.union_all(before)
    found = (
        select(chain.c.hash, _contents.c.content)
        .join(
            _contents,
            (_contents.c.conversation_id == conversation_id) & (_contents.c.hash == chain.c.content_hash),
        )
        .order_by(chain.c.place)
    )
    return [(name, content) for name, content in connection.execute(found)]
