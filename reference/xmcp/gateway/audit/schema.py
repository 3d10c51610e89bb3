"""The version of a database's schema: migrating to the newest, and refusing what this package does not know."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from xmcp.gateway.audit import database
from xmcp.gateway.audit.database import Address, cut_after, engine_of, reason_of
from xmcp.gateway.audit.errors import AuditError

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy import Connection

NEWEST: Final = "0004"
"""The version of the schema that this package writes and reads."""

_LOCK: Final = 7_310_117_001
"""The advisory lock of PostgreSQL that a process holds while it migrates."""

_alembic: Final = threading.Lock()
"""Alembic has one place for the migration that goes on, for all threads."""


def migrate(address: Address) -> None:
    """Bring the schema to the newest version, also if several processes start at the same time.

    Raises:
        AuditError: the database cannot be reached, is no database, or has a version that this package does not know.
    """
    try:
        from alembic import command
        from sqlalchemy import text
    except ModuleNotFoundError as missing:
        raise AuditError('The audit store needs SQLAlchemy and Alembic: pip install "xmcp[gateway]".') from missing
    with opened(address) as connection, connection.begin():
        if address.kind == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            encoding = connection.execute(text("SHOW server_encoding")).scalar()
            if encoding != "UTF8":
                raise AuditError(f"{address.name} has the encoding {encoding}; the audit store needs UTF8.")
        found = version_of(connection)
        if found == NEWEST:
            return
        _refuse_unknown(address, found)
        with _alembic:
            command.upgrade(_config(connection), "head")


def require_newest(address: Address, connection: Connection) -> None:
    """Check that a database is an audit store of the version that this package reads.

    Raises:
        AuditError: it is not.
    """
    found = version_of(connection)
    if found is None:
        raise AuditError(f"{address.name} has no audit tables: name the database that the gateway writes to.")
    if found != NEWEST:
        _refuse_unknown(address, found)
        raise AuditError(
            f"{address.name} has version {found} of the audit tables, and this xmcp reads version {NEWEST}: start the "
            "gateway of this xmcp once, which migrates them."
        )
    from sqlalchemy import inspect

    from xmcp.gateway.audit.tables import METADATA

    # A view can be anything, also one that never ends.
    if missing := METADATA.tables.keys() - set(inspect(connection).get_table_names()):
        raise AuditError(f"{address.name} has no audit table {min(missing)}: it is no database of a gateway.")


class opened:
    """A connection to a database, whose errors are `AuditError`s that say what to do.

    `seconds`: how long a statement may take; after twice that, the connection is cut.
    """

    def __init__(self, address: Address, *, read_only: bool = False, seconds: float | None = None) -> None:
        self._address = address
        self._read_only = read_only
        self._seconds = seconds
        self._engine = engine_of(address, read_only=read_only, seconds=seconds)
        self._exits = ExitStack()

    def __enter__(self) -> Connection:
        try:
            connection = self._engine.connect()
        except Exception as error:
            raise self._told(error) from error
        self._exits.callback(self._engine.dispose)
        self._exits.callback(connection.close)
        if self._seconds is not None and self._address.kind == "postgresql":
            self._exits.enter_context(cut_after(2 * self._seconds, connection.connection.driver_connection))
        return connection

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        self._exits.close()
        from sqlalchemy.exc import DBAPIError

        if isinstance(error, DBAPIError | sqlite3.Error):
            raise self._told(error) from error

    def _told(self, error: Exception) -> AuditError:
        if isinstance(error, AuditError):
            return error
        address, why = self._address, reason_of(error)
        if address.kind == "sqlite" and why == "interrupted":
            why = f"reading it takes longer than {self._seconds or database.READ_SECONDS:g} s"
        if address.kind == "postgresql":
            return AuditError(f"{address.name} cannot be used: {why}. Check that it runs, and its URL and password.")
        if not address.path.exists():
            if self._read_only:
                return AuditError(f"There is no file {address.name}.")
            return AuditError(f"{address.name} cannot be created: {why}. Check that its folder is there.")
        return AuditError(f"{address.name} cannot be used as a SQLite database: {why}.")


def version_of(connection: Connection) -> str | None:
    """Return the version of the schema; `None` if there is none."""
    from sqlalchemy import inspect, text

    if "alembic_version" not in inspect(connection).get_table_names():
        return None
    version = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if version is None else str(version)


def _refuse_unknown(address: Address, found: str | None) -> None:
    """Raise `AuditError` for a version that no migration of this package has made."""
    from alembic.script import ScriptDirectory

    if found is not None and found not in {
        one.revision for one in ScriptDirectory.from_config(_config()).walk_revisions()
    }:
        raise AuditError(
            f"{address.name} has version {found} of the audit tables, which this xmcp does not know (its newest is "
            f"{NEWEST}): a newer xmcp has migrated it, or it belongs to another program."
        )


def _config(connection: Any = None) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "xmcp.gateway.audit:migrations")
    config.set_main_option("version_path_separator", "os")
    config.attributes["connection"] = connection
    return config
