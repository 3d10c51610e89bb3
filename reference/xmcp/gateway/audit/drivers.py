"""Writing rows by the driver of a database directly: a batch is one transaction."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Final, Protocol, TypeAlias

from xmcp.gateway.audit.database import STATEMENT_SECONDS, Address, cut_after, postgres_connection, sqlite_connection
from xmcp.gateway.audit.statements import STATEMENTS, Kind, Unit, grouped

Execute: TypeAlias = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]
"""Runs one statement, with `?` for each value, and returns the rows that it selects."""

HANG_SECONDS: Final = 2 * STATEMENT_SECONDS
"""After so long without an answer, a connection to PostgreSQL is cut: the server, or the way to it, is stuck."""

_CONVERSATION_OF: Final[dict[Kind, int]] = {"content": 0, "message": 0, "request_sent": 3, "request_ended": 3}
"""Where rows that a deletion must not overtake have their conversation."""

_GONE: Final = (0, 0)
"""No file: the number of a file that is gone may become that of its successor."""


class Driver(Protocol):
    """A connection of the writer's thread. Every method can raise what the database's driver raises."""

    def connect(self) -> None:
        """Open the connection."""

    def is_the_same(self) -> bool:
        """Return whether `connect` will find the database that it found before, as far as is known."""

    def write(self, units: Sequence[Unit]) -> None:
        """Write all units in one transaction, or none."""

    def transaction(self) -> AbstractContextManager[Execute]:
        """Run statements in one transaction."""

    def close(self) -> None:
        """Close the connection; raises nothing."""

    def refuses(self, error: Exception) -> bool:
        """Return whether the database will never take these rows; otherwise it may take them later."""


def driver_for(address: Address) -> Driver:
    """Return the driver for a database, without a connection."""
    return SqliteDriver(address) if address.kind == "sqlite" else PostgresDriver(address)


class SqliteDriver:
    """Writes to a SQLite file."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._statements = {kind: statement.sql("?") for kind, statement in STATEMENTS.items()}

    def connect(self) -> None:
        """Open the file."""
        self.close()
        self._connection = sqlite_connection(self._address)
        self._file = self._found()

    def write(self, units: Sequence[Unit]) -> None:
        """Write all units in one transaction, or none."""
        with self._begun() as connection:
            for kind, rows in grouped(units):
                connection.executemany(self._statements[kind], rows)

    @contextmanager
    def transaction(self) -> Iterator[Execute]:
        """Run statements in one transaction."""
        with self._begun() as connection:
            yield lambda sql, values: connection.execute(sql, values).fetchall()

    @contextmanager
    def _begun(self) -> Iterator[sqlite3.Connection]:
        connection = self._connection
        if connection is None:
            raise sqlite3.OperationalError("not connected")
        if self._file is None or self._found() != self._file:
            # SQLite would write on into a file that nobody can open any more.
            self.close()
            self._file = _GONE
            raise sqlite3.OperationalError("the file was removed or replaced")
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # after some errors SQLite has rolled back already
                connection.execute("ROLLBACK")
            raise

    def is_the_same(self) -> bool:
        """Return whether it is the same file."""
        return self._file is None or self._file == self._found()

    def _found(self) -> tuple[int, int] | None:
        """Return device and number of the file that has the name now; `None` if there is none."""
        try:
            found = os.stat(self._address.target)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def refuses(self, error: Exception) -> bool:
        """Return whether SQLite will never take these rows."""
        never = sqlite3.DataError | sqlite3.IntegrityError | sqlite3.InterfaceError | sqlite3.ProgrammingError
        return isinstance(error, never | OverflowError | UnicodeError)


class PostgresDriver:
    """Writes to PostgreSQL through psycopg, in pipeline mode: a batch does not wait for the answer to each row."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._connection: Any = None
        self._statements = {kind: statement.sql("%s") for kind, statement in STATEMENTS.items()}

    def connect(self) -> None:
        """Open the connection."""
        self.close()
        self._connection = postgres_connection(self._address, seconds=STATEMENT_SECONDS)

    def is_the_same(self) -> bool:
        """Return True: a database has its name for good."""
        return True

    def write(self, units: Sequence[Unit]) -> None:
        """Write all units in one transaction, or none."""
        with self._begun() as cursor:
            if ids := _conversations(units):
                # Whoever deletes messages of these conversations waits, or was before: see `upkeep`.
                cursor.execute("SELECT id FROM conversations WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE", [ids])
            for kind, rows in grouped(units):
                cursor.executemany(self._statements[kind], rows)

    @contextmanager
    def transaction(self) -> Iterator[Execute]:
        """Run statements in one transaction."""
        with self._begun() as cursor:

            def execute(sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
                cursor.execute(sql.replace("?", "%s"), values)
                return [] if cursor.description is None else list(cursor.fetchall())

            yield execute

    @contextmanager
    def _begun(self) -> Iterator[Any]:
        """Begin a transaction; a connection that does not answer is cut after `HANG_SECONDS`."""
        connection = self._connection
        if connection is None:
            raise ConnectionError("not connected")
        with (
            cut_after(HANG_SECONDS, connection),
            connection.transaction(),
            connection.cursor() as cursor,
        ):
            yield cursor

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            with suppress(Exception):
                self._connection.close()
            self._connection = None

    def refuses(self, error: Exception) -> bool:
        """Return whether PostgreSQL will never take these rows."""
        import psycopg
        from psycopg.errors import ProgramLimitExceeded

        never = psycopg.DataError | psycopg.IntegrityError | ProgramLimitExceeded
        return isinstance(error, never | OverflowError | UnicodeError)


def _conversations(units: Sequence[Unit]) -> list[str]:
    found = {values[_CONVERSATION_OF[kind]] for unit in units for kind, values in unit if kind in _CONVERSATION_OF}
    return sorted(found)
