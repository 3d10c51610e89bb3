"""Which database a person named: a SQLite file or PostgreSQL, and the SQLAlchemy engine for it.

The writer uses the drivers directly (`drivers`); migrations, reading and deleting go through SQLAlchemy.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import unquote, urlsplit

from xmcp.gateway.audit.errors import AuditError

if TYPE_CHECKING:
    from sqlalchemy import Engine

CONNECT_SECONDS: Final = 3
"""How long a connection to PostgreSQL may take to open."""

STATEMENT_SECONDS: Final = 5
"""How long a statement of the writer may take, and how long it waits for another process's lock of a SQLite file."""

READ_SECONDS: Final = 60
"""How long a statement of a reader may take on PostgreSQL, and all that it reads of a SQLite file."""

_STEPS: Final = 1_000
"""After so many of its steps SQLite asks whether it is to go on."""

_PAUSE_SECONDS: Final = 0.05
"""Maximum that the time from one such question to the next counts: between two statements, a person may read."""

_POSTGRES: Final = ("postgresql", "postgres", "postgresql+psycopg")


@dataclass(frozen=True, slots=True)
class Address:
    """A database. `name` is its address without credentials, for messages."""

    kind: Literal["sqlite", "postgresql"]
    target: str
    """The path of the file, or a URL that libpq reads."""
    name: str

    @property
    def path(self) -> Path:
        """The path of a SQLite file."""
        return Path(self.target)


def address_of(database: str | Path) -> Address:
    """Return the address of a database.

    Args:
        database: the path of a SQLite file, `sqlite:///PATH`, or `postgresql://user:password@host:port/database`.

    Raises:
        AuditError: it is none of these.
    """
    given = str(database)
    scheme, mark, rest = given.partition("://")
    if not mark:
        if not given.strip() or given == ":memory:":
            raise AuditError(f"{given!r} names no file: give the path of a SQLite file, or postgresql://host/database.")
        return Address("sqlite", given, given)
    if scheme == "sqlite":
        path = unquote(rest.partition("?")[0].removeprefix("/"))
        if not rest.startswith("/") or not path or path == ":memory:":
            raise AuditError("A SQLite URL is sqlite:///PATH, with four slashes before an absolute path.")
        return Address("sqlite", path, path)
    if scheme not in _POSTGRES:
        raise AuditError(
            f"{scheme!r} is no database for the audit store: give the path of a SQLite file, or "
            "postgresql://user:password@host:port/database."
        )
    try:
        parts = urlsplit(f"postgresql://{rest}")
        host = f"{parts.hostname or 'localhost'}:{parts.port or 5432}"
    except ValueError:
        raise AuditError(
            "The PostgreSQL URL cannot be parsed: write postgresql://user:password@host:port/database, with %-escapes "
            "for the characters / ? # @ : in user and password."
        ) from None
    return Address("postgresql", f"postgresql://{rest}", f"postgresql://{host}{parts.path}")


def sqlite_connection(address: Address, *, read_only: bool = False, seconds: float | None = None) -> sqlite3.Connection:
    """Open a SQLite file: write-ahead log, a commit survives the death of the process, 5 s of patience for locks.

    `seconds`: how long all reading may take, if it is read only; `None`: `READ_SECONDS`.

    Raises:
        sqlite3.Error: it cannot be opened, or is no database.
    """
    path = address.path.absolute()
    if not read_only and not path.exists():
        # It has what everybody said: nobody else reads it, unless whoever runs the gateway says so.
        with suppress(OSError):
            os.close(os.open(path, os.O_CREAT, 0o600))
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode={'ro' if read_only else 'rwc'}",
        uri=True,
        timeout=STATEMENT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        if read_only:
            connection.set_progress_handler(_Deadline(seconds or READ_SECONDS), _STEPS)
        else:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA query_only" + ("=ON" if read_only else ""))
    except BaseException:
        connection.close()
        raise
    return connection


class _Deadline:
    """Ends reading after some seconds: what a file has may be a statement that never ends."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._asked_at = time.monotonic()

    def __call__(self) -> bool:
        """Return whether the time is over."""
        now = time.monotonic()
        self._left -= min(now - self._asked_at, _PAUSE_SECONDS)
        self._asked_at = now
        return self._left < 0


def engine_of(address: Address, *, read_only: bool = False, seconds: float | None = None) -> Engine:
    """Return an engine that opens a connection for each use and keeps none. It connects at the first use.

    `seconds`: how long a statement may take, and all reading of a SQLite file; `None`: `READ_SECONDS`.

    Raises:
        AuditError: the packages for it are not installed.
    """
    try:
        from sqlalchemy import NullPool, create_engine, event
    except ModuleNotFoundError as missing:
        raise AuditError('The audit store needs SQLAlchemy: pip install "xmcp[gateway]".') from missing
    if address.kind == "sqlite":
        engine = create_engine(
            "sqlite://",
            creator=lambda: sqlite_connection(address, read_only=read_only, seconds=seconds),
            poolclass=NullPool,
        )

        def begin(connection: Any) -> None:
            connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")

        event.listen(engine, "begin", begin)
        return engine
    _psycopg()
    return create_engine(
        "postgresql+psycopg://",
        creator=lambda: postgres_connection(
            address, seconds=seconds or READ_SECONDS, options="-c default_transaction_read_only=on" if read_only else ""
        ),
        poolclass=NullPool,
    )


def postgres_connection(address: Address, *, seconds: float, options: str = "") -> Any:
    """Open a connection to PostgreSQL whose statements take at most so many seconds.

    Raises:
        AuditError: psycopg is not installed.
        psycopg.Error: the database cannot be reached.
    """
    return _psycopg().connect(
        address.target,
        connect_timeout=CONNECT_SECONDS,
        options=f"-c statement_timeout={int(seconds * 1000)} {options}".strip(),
        application_name="xmcp audit",
        client_encoding="utf-8",
        keepalives_idle=10,
    )


@contextmanager
def cut_after(seconds: float, connection: Any) -> Iterator[None]:
    """Cut a connection of psycopg that is used for longer: the server, or the way to it, is stuck.

    Whoever waits for its answer gets an error.
    """
    watch = threading.Timer(seconds, _cut, [connection.fileno()])
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()
        watch.join()  # before the descriptor can become that of another connection


def _cut(descriptor: int) -> None:
    with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as line:
        line.shutdown(socket.SHUT_RDWR)


def _psycopg() -> Any:
    try:
        import psycopg
    except ModuleNotFoundError as missing:
        raise AuditError('PostgreSQL needs psycopg: pip install "xmcp[gateway,postgres]".') from missing
    return psycopg


def reason_of(error: BaseException) -> str:
    """Return why a driver failed, in one line without credentials."""
    from xmcp.chat.untrusted_text import printable, without_secrets

    cause = getattr(error, "orig", None) or error
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    said = lines[0] if lines else type(cause).__name__
    return printable(without_secrets(said))[:300].rstrip(".")
