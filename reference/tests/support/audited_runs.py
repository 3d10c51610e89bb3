"""What a gateway tells the audit store, without a gateway; and the rows that it has then."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xmcp.gateway.audit.database import address_of, engine_of


@dataclass(frozen=True)
class Told:
    """An event of a run."""

    type: str
    seq: int
    data: Mapping[str, Any] = field(default_factory=dict)
    attempt: int = 1

    @property
    def json(self) -> bytes:
        return json.dumps(self.data).encode()


def rows(database: str | Path, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """Return what a statement selects."""
    from sqlalchemy import text

    engine = engine_of(address_of(database), read_only=True)
    names = {f"v{n}": value for n, value in enumerate(values)}
    for name in names:
        sql = sql.replace("?", f":{name}", 1)
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(sql), names)]


def one(database: str | Path, sql: str, *values: Any) -> Any:
    """Return the one value that a statement selects."""
    ((value,),) = rows(database, sql, *values)
    return value
