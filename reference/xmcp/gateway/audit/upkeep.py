"""What keeps the store true and small: closing runs without an end, and deleting old ones, a bounded batch at a time.

Each function is for one transaction, and takes what executes a statement in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from xmcp.gateway.audit.drivers import Execute

DAY_MS: Final = 24 * 60 * 60 * 1000

DELETE_SECONDS: Final = 3600
"""How often it is looked for runs that are old enough."""

RUNS_AT_ONCE: Final = 20
"""How many runs one transaction deletes, so that it does not keep the records waiting for long."""

_OF_RUNS: Final = ("events", "tool_invocations", "usage", "model_requests")


def close_abandoned(run: Execute, now: int, lease_ms: int) -> None:
    """Close as `interrupted` the runs whose executor has given no sign of life for the time of a lease.

    A run whose end is recorded later, because it was spilled, gets its true end then.

    Args:
        run: executes a statement.
        now: milliseconds since 1970.
        lease_ms: the time of a lease in milliseconds; how far the clocks of two executors may be apart.
    """
    run(
        "UPDATE runs SET status = 'interrupted', finished_at = ? WHERE status = 'running' AND CASE "
        "WHEN EXISTS (SELECT 1 FROM executors WHERE executors.id = runs.owner) "
        "THEN NOT EXISTS (SELECT 1 FROM executors WHERE executors.id = runs.owner AND lease_until > ?) "
        "ELSE started_at < ? END",
        [now, now, now - lease_ms],
    )


def delete_older_than(run: Execute, cutoff: int, *, locks: bool) -> bool:
    """Delete some of the runs that began before `cutoff`, and of their conversations what no other run has read.

    Args:
        run: executes a statement.
        cutoff: milliseconds since 1970.
        locks: whether the database has more than one writer at a time, so that conversations have to be locked.

    Returns:
        Whether there may be more.
    """
    old = run(
        "SELECT id, conversation_id FROM runs WHERE started_at < ? AND status <> 'running' "
        "ORDER BY started_at, id LIMIT ?",
        [cutoff, RUNS_AT_ONCE],
    )
    if not old:
        _delete_rest(run, cutoff)
        return False
    conversations = sorted({conversation for _, conversation in old})
    if locks:
        # Their writers wait. Those that a writer holds are left for the next time.
        them = f"SELECT id FROM conversations WHERE id IN ({_marks(conversations)})"  # noqa: S608 - only `?`
        free = run(f"{them} ORDER BY id FOR UPDATE SKIP LOCKED", conversations)
        there = run(them, conversations)
        held = {one for (one,) in there} - {one for (one,) in free}
        old = [(one, conversation) for one, conversation in old if conversation not in held]
        conversations = [one for one in conversations if one not in held]
        if not old:
            return False
    _delete_runs(run, [one for one, _ in old])
    for conversation in conversations:
        _delete_unread(run, conversation)
    return True


def delete_conversation(run: Execute, conversation: str, *, locks: bool) -> bool:
    """Delete some of the runs of a conversation that have ended; with the last one, everything of it.

    Args:
        run: executes a statement.
        conversation: its id.
        locks: whether the database has more than one writer at a time.

    Returns:
        Whether there are more.
    """
    if locks:
        run("SELECT id FROM conversations WHERE id = ? FOR UPDATE", [conversation])
    ended = run(
        "SELECT id FROM runs WHERE conversation_id = ? AND status <> 'running' LIMIT ?", [conversation, RUNS_AT_ONCE]
    )
    _delete_runs(run, [one for (one,) in ended])
    if len(ended) == RUNS_AT_ONCE:
        return True
    _delete_unread(run, conversation)
    return False


def _delete_runs(run: Execute, ids: Sequence[str]) -> None:
    for table in _OF_RUNS:
        run(f"DELETE FROM {table} WHERE run_id IN ({_marks(ids)})", ids)  # noqa: S608 - the names are ours
    run(f"DELETE FROM runs WHERE id IN ({_marks(ids)})", ids)  # noqa: S608


def _delete_unread(run: Execute, conversation: str) -> None:
    """Delete the messages that no run that is left has read or ended with; the conversation, if no run is left."""
    run(
        "WITH RECURSIVE read(hash) AS ("
        "SELECT messages_hash FROM model_requests WHERE conversation_id = ? AND messages_hash IS NOT NULL UNION "
        "SELECT history_hash FROM runs WHERE conversation_id = ? AND history_hash IS NOT NULL UNION "
        "SELECT messages.parent FROM messages JOIN read ON messages.hash = read.hash "
        "WHERE messages.conversation_id = ? AND messages.parent IS NOT NULL) "
        "DELETE FROM messages WHERE conversation_id = ? AND hash NOT IN (SELECT hash FROM read)",
        [conversation] * 4,
    )
    run(
        "DELETE FROM contents WHERE conversation_id = ? AND hash NOT IN "
        "(SELECT content_hash FROM messages WHERE conversation_id = ?)",
        [conversation] * 2,
    )
    run(
        "DELETE FROM conversations WHERE id = ? AND NOT EXISTS (SELECT 1 FROM runs WHERE conversation_id = ?)",
        [conversation] * 2,
    )


def _delete_rest(run: Execute, cutoff: int) -> None:
    """Delete what belongs to no run and has not been used since."""
    run(
        "DELETE FROM tool_lists WHERE last_used_at < ? AND NOT EXISTS "
        "(SELECT 1 FROM model_requests WHERE tools_hash = tool_lists.hash)",
        [cutoff],
    )
    run("DELETE FROM writer_gaps WHERE to_at < ?", [cutoff])
    run("DELETE FROM executors WHERE lease_until < ?", [cutoff])


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))
