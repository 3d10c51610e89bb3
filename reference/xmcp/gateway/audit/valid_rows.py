"""Whether what a database has are records: a file may come from anybody, and SQLite holds any value in any column."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Text

from xmcp.gateway.audit.errors import AuditError

if TYPE_CHECKING:
    from sqlalchemy import Table

_LATEST: Final = 253_402_300_799_999
"""The last millisecond of the year 9999: a later one is no date."""


def checked(table: Table, found: Mapping[Any, Any], *sums: str) -> dict[str, Any]:
    """Return a row, and sums that were selected with it, as they are.

    Raises:
        AuditError: a value has not the type of its column.
    """
    for column in table.columns:
        value = found[column.name]
        if value is None:
            valid = bool(column.nullable)
        elif isinstance(column.type, Text):
            valid = isinstance(value, str)
        else:
            is_time = column.name == "at" or column.name.endswith("_at")
            valid = isinstance(value, int) and not (is_time and not 0 <= value <= _LATEST)
        if not valid:
            raise no_record(table.name)
    if not all(found[name] is None or isinstance(found[name], int | Decimal) for name in sums):
        raise no_record("usage")
    return {str(name): value for name, value in found.items()}


def json_object(text: object, table: str) -> dict[str, Any]:
    """Return the JSON object that a column of a table has.

    Raises:
        AuditError: it has none.
    """
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise no_record(table)
    return value


def no_record(table: str) -> AuditError:
    """Return the error that says so of a row."""
    return AuditError(
        f"The table {table} has a row that is no record of xmcp: something else has written to this database."
    )
