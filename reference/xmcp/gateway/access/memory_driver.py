"""A SQLite database in memory with the ledger alone: quotas without a database are counted as with one."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

from xmcp.gateway.audit.database import Address
from xmcp.gateway.audit.drivers import SqliteDriver
from xmcp.gateway.audit.tables import METADATA

_THE_ONE: Final = (0, 1)


class MemoryDriver(SqliteDriver):
    """Its rows are gone when it is closed."""

    def __init__(self) -> None:
        super().__init__(Address("sqlite", ":memory:", "memory"))

    def connect(self) -> None:
        """Make an empty database."""
        from sqlalchemy.dialects import sqlite
        from sqlalchemy.schema import CreateIndex, CreateTable

        self.close()
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        ledger = METADATA.tables["quota_ledger"]
        statements: list[Any] = [CreateTable(ledger), *(CreateIndex(index) for index in ledger.indexes)]
        for made in statements:
            self._connection.execute(str(made.compile(dialect=sqlite.dialect())))
        self._file = self._found()

    def _found(self) -> tuple[int, int]:
        return _THE_ONE
