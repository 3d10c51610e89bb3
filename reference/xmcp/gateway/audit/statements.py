"""The statements of the writer: what each kind of row does where there is one with its key already. Pure.

Sending a row twice changes nothing, and rows may come in any order: what was spilled comes after what was not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from xmcp.gateway.audit.tables import METADATA

Kind: TypeAlias = Literal[
    "conversation",
    "run_accepted",
    "run_ended",
    "content",
    "message",
    "tool_list",
    "request_sent",
    "request_ended",
    "event",
    "call_intended",
    "call_ended",
    "call_seen",
    "usage",
    "executor",
    "gap",
]


class Row(NamedTuple):
    """One row for the database: its kind, and its values in the order of the kind's columns."""

    kind: Kind
    values: tuple[Any, ...]


Unit: TypeAlias = tuple[Row, ...]
"""Rows that are written together or not at all."""


@dataclass(frozen=True, slots=True)
class Statement:
    """How rows of a kind are written. `updated`: the columns that replace those of an earlier row with the same key."""

    table: str
    columns: tuple[str, ...]
    updated: tuple[str, ...]
    newest: str | None = None
    """A column of times: an earlier row is only updated by one with a later time."""

    known: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "known", frozenset(self.columns))

    def sql(self, mark: str) -> str:
        """Return the statement for a driver whose placeholder is `mark`."""
        table = METADATA.tables[self.table]
        key = ", ".join(column.name for column in table.primary_key)
        columns, marks = ", ".join(self.columns), ", ".join([mark] * len(self.columns))
        insert = f"INSERT INTO {self.table} ({columns}) VALUES ({marks})"  # noqa: S608 - the names are ours
        if not self.updated:
            return f"{insert} ON CONFLICT ({key}) DO NOTHING"
        changes = ", ".join(f"{name} = excluded.{name}" for name in self.updated)
        later = f" WHERE excluded.{self.newest} > {self.table}.{self.newest}" if self.newest else ""
        return f"{insert} ON CONFLICT ({key}) DO UPDATE SET {changes}{later}"

    def row(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the values in the order of the columns; a column that is not given is NULL.

        Raises:
            KeyError: a value has a name that is no column.
        """
        found = tuple([values.get(name) for name in self.columns])
        if unknown := values.keys() - self.known:
            raise KeyError(f"{self.table} has no column {min(unknown)}")
        return found


def _columns(table: str) -> tuple[str, ...]:
    return tuple(column.name for column in METADATA.tables[table].columns)


def _inserted(table: str) -> Statement:
    return Statement(table, _columns(table), ())


def _replaced(table: str, *kept: str) -> Statement:
    key = {column.name for column in METADATA.tables[table].primary_key}
    return Statement(table, _columns(table), tuple(name for name in _columns(table) if name not in {*key, *kept}))


_REQUEST: Final = ("run_id", "attempt", "number", "conversation_id", "turn", "provider", "model")
_SENT: Final = ("messages_hash", "message_count", "tools_hash", "altered", "started_at")
_ENDED: Final = ("finished_at", "finish_reason", "answer", "error_code", "error_message")

STATEMENTS: Final[Mapping[Kind, Statement]] = {
    "conversation": Statement(
        "conversations", _columns("conversations"), updated=("last_run_at",), newest="last_run_at"
    ),
    "run_accepted": _inserted("runs"),
    "run_ended": _replaced("runs"),
    "content": _inserted("contents"),
    "message": _inserted("messages"),
    "tool_list": Statement("tool_lists", _columns("tool_lists"), updated=("last_used_at",), newest="last_used_at"),
    "request_sent": Statement("model_requests", (*_REQUEST, *_SENT), updated=_SENT),
    "request_ended": Statement("model_requests", (*_REQUEST, *_ENDED), updated=_ENDED),
    "event": _inserted("events"),
    "call_intended": _inserted("tool_invocations"),
    "call_ended": _replaced("tool_invocations"),
    "call_seen": _inserted("tool_invocations"),
    "usage": _inserted("usage"),
    "executor": Statement("executors", _columns("executors"), updated=("lease_until",)),
    "gap": _inserted("writer_gaps"),
}
"""In the order in which a batch writes them: the conversations first, since they are what a deletion locks."""


def row(kind: Kind, **values: Any) -> Row:
    """Return a row of a kind from its values by name."""
    return Row(kind, STATEMENTS[kind].row(values))


def grouped(units: Sequence[Unit]) -> list[tuple[Kind, list[tuple[Any, ...]]]]:
    """Return the rows of some units by kind, in the order of `STATEMENTS`, and within a kind in the order of keys.

    Two processes that write the same rows at the same time lock them in the same order, so that neither waits for the
    other for ever.
    """
    kinds: dict[Kind, list[tuple[Any, ...]]] = {}
    for unit in units:
        for kind, values in unit:
            kinds.setdefault(kind, []).append(values)
    return [(kind, sorted(kinds[kind], key=_key)) for kind in STATEMENTS if kind in kinds]


def _key(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return values[:2] if isinstance(values[1], int) else (values[0], str(values[1]))
