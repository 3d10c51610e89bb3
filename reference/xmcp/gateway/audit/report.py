"""What is asked of a report of a store, and what it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

MAX_ROWS: Final = 1_000
"""Maximum number of rows of a report."""

ReportName: TypeAlias = Literal["usage", "tools", "errors"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Of which runs a report is.

    Attributes:
        tenant: Whose runs; `None`: those of all tenants.
        since: Those that began at or after this time, in milliseconds since 1970.
        until: And before this one.
        by: By what the rows are grouped.
    """

    tenant: str | None
    since: int
    until: int
    by: Literal["day", "hour"]


@dataclass(frozen=True, slots=True)
class Report:
    """The rows of a report, the first ones in the order of time; `truncated` if there are more than `MAX_ROWS`."""

    rows: list[dict[str, Any]]
    truncated: bool
