"""Reading the conversations of one tenant: which there are, the runs and messages of one, and how it goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, func, or_, select, tuple_

from xmcp.chat.messages import size_of
from xmcp.gateway.audit.rebuild import BEGUN, ModelCall, model_calls, received
from xmcp.gateway.audit.recording import stored
from xmcp.gateway.audit.tables import METADATA
from xmcp.gateway.audit.valid_rows import checked, json_object
from xmcp.gateway.ids import conversation_of

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection, Table

HISTORY_RUNS: Final = 10
"""How many of the newest runs of a conversation are looked at for one whose messages are there."""

HISTORIES_SIZE: Final = 16 * 1024 * 1024
"""After how many characters no further conversation of a run is read for one request."""

UNENDED: Final = ("running", "interrupted")
"""The statuses of runs whose process may have been killed: what they came to is what their model last read."""

_conversations: Final = METADATA.tables["conversations"]
_runs: Final = METADATA.tables["runs"]
_requests: Final = METADATA.tables["model_requests"]


def conversations(
    connection: Connection, tenant: str | None, limit: int, before: tuple[int, str] | None
) -> list[dict[str, Any]]:
    """Return conversations of a tenant, with `run_count`, their number; the one that was used last comes first.

    `before`: `last_run_at` and `id` of the last one of an earlier page.
    """
    number = select(func.count()).where(_runs.c.conversation_id == _conversations.c.id).scalar_subquery()
    asked = select(_conversations, number.label("run_count")).where(_of(_conversations, tenant))
    if before is not None:
        asked = asked.where(_before(_conversations.c.last_run_at, _conversations.c.id, before))
    asked = asked.order_by(_conversations.c.last_run_at.desc(), _conversations.c.id.desc()).limit(limit)
    return [checked(_conversations, found, "run_count") for found in connection.execute(asked).mappings()]


def conversation(connection: Connection, tenant: str | None, conversation_id: str) -> dict[str, Any] | None:
    """Return a conversation of a tenant; `None` if there is none with this id."""
    asked = select(_conversations).where(_conversations.c.id == stored(conversation_id), _of(_conversations, tenant))
    found = connection.execute(asked).mappings().one_or_none()
    return None if found is None else checked(_conversations, found)


def runs_of(
    connection: Connection, tenant: str | None, conversation_id: str, limit: int, before: tuple[int, str] | None
) -> list[dict[str, Any]]:
    """Return runs of a conversation, the newest first. `before`: `started_at` and `id` of the last one of a page."""
    asked = select(_runs).where(_runs.c.conversation_id == conversation_id, _of(_runs, tenant))
    if before is not None:
        asked = asked.where(_before(_runs.c.started_at, _runs.c.id, before))
    asked = asked.order_by(_runs.c.started_at.desc(), _runs.c.id.desc()).limit(limit)
    return [checked(_runs, found) for found in connection.execute(asked).mappings()]


def session_history(connection: Connection, tenant: str | None, session: str) -> list[dict[str, Any]] | None:
    """Return the messages after the last run of a session, or as far as a run came that has no end; `None`: none."""
    named = conversation_of(tenant, session)
    return None if conversation(connection, tenant, named) is None else history(connection, tenant, named)


def history(connection: Connection, tenant: str | None, conversation_id: str) -> list[dict[str, Any]] | None:
    """Return the messages after the newest run of a conversation that has them all; `None` if none has."""
    asked = (
        select(_runs)
        .where(_runs.c.conversation_id == conversation_id, _of(_runs, tenant))
        .where(or_(_runs.c.history_hash.is_not(None), _runs.c.status.in_(UNENDED)))
        .order_by(_runs.c.started_at.desc(), _runs.c.id.desc())
        .limit(HISTORY_RUNS)
    )
    for run in connection.execute(asked).mappings().all():
        last, number = run["history_hash"], run["history_count"]
        if last is None:
            sent = select(_requests.c.messages_hash, _requests.c.message_count).where(_requests.c.run_id == run["id"])
            newest = sent.order_by(_requests.c.attempt.desc(), _requests.c.number.desc()).limit(1)
            last, number = connection.execute(newest).one_or_none() or (None, None)
        if messages := _messages(connection, conversation_id, last, number):
            return messages
    return None


def run_histories(connection: Connection, tenant: str | None, runs: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the messages after runs that `/v1/responses` began, by the ids of those that have them all.

    Those of the first are read in any case, and of the others as many as have `HISTORIES_SIZE` characters together.
    """
    asked = select(_runs).where(_runs.c.id.in_(runs), _runs.c.surface == "responses", _of(_runs, tenant))
    rows = {run["id"]: run for run in connection.execute(asked).mappings().all()}
    found: dict[str, list[dict[str, Any]]] = {}
    size = 0
    for run in (rows[run_id] for run_id in runs if run_id in rows):
        if size > HISTORIES_SIZE:
            break
        messages = _messages(connection, run["conversation_id"], run["history_hash"], run["history_count"])
        size += sum(map(size_of, messages))
        if messages:
            found[run["id"]] = messages
    return found


def _messages(
    connection: Connection, conversation_id: str, last: str | None, number: int | None
) -> list[dict[str, Any]]:
    """Return the messages of a conversation up to `last`, of which there are `number`; none if some are missing."""
    messages = received(connection, conversation_id, last)
    return [json_object(content, "contents") for _, content in messages] if len(messages) == number else []


def is_running(connection: Connection, conversation_id: str) -> bool:
    """Return whether a run of a conversation goes on."""
    asked = select(_runs.c.id).where(_runs.c.conversation_id == conversation_id, _runs.c.status == "running").limit(1)
    return connection.execute(asked).first() is not None


def replayed(
    connection: Connection, tenant: str | None, conversation_id: str, limit: int, after: tuple[str, int, int] | None
) -> Iterator[tuple[ModelCall, ModelCall | None]]:
    """Yield model calls of a conversation, in their order, each with the one before it.

    `after`: run, attempt and number of the last one of an earlier page.
    """
    mine = _of(_runs, tenant)
    before: ModelCall | None = None
    if after is not None:
        run_id, attempt, number = stored(after[0]), *after[1:]
        at = select(_runs.c.started_at).where(_runs.c.id == run_id, mine).scalar_subquery()
        place = tuple_(BEGUN, _requests.c.run_id, _requests.c.attempt, _requests.c.number)
        mine = and_(mine, place >= tuple_(at, run_id, attempt, number))
        limit += 1
    for call in model_calls(connection, conversation_id=conversation_id, where=mine, limit=limit):
        if after is None or (call.run_id, call.attempt, call.number) != after:
            yield call, before
        before = call


def _of(table: Table, tenant: str | None) -> ColumnElement[bool]:
    return table.c.tenant.is_not_distinct_from(tenant)


def _before(at: ColumnElement[int], name: ColumnElement[str], place: tuple[int, str]) -> ColumnElement[bool]:
    return or_(at < place[0], and_(at == place[0], name < stored(place[1])))
