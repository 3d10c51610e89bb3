"""Reports of what a store has, for callers: read in threads of their own, within a time, and not too many at once."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from xmcp.gateway.audit.report import Report, ReportName, Wanted

if TYPE_CHECKING:
    from xmcp.gateway.audit.database import Address

REPORT_SECONDS: Final = 5.0
"""How long the statement of a report may take."""

MAX_AT_ONCE: Final = 2
"""Maximum number of reports that are read at the same time; each has a connection of its own."""

MAX_WAITING: Final = 32
"""Maximum number of tenants whose reports are read or wait for it."""

WAIT_SECONDS: Final = 15.0
"""How long a caller waits for a report, those before it included."""


class ReportsBusy(Exception):
    """Another report is being read for the same tenant, or those of too many others are before it."""


class Reports:
    """Reads reports, one at a time for a tenant. A slow one holds up no chat and not the writer; where all threads have
    slow ones, the reports of other tenants wait until one ends."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._threads = ThreadPoolExecutor(MAX_AT_ONCE, "xmcp reports")
        self._asked: set[str | None] = set()

    async def read(self, name: ReportName, wanted: Wanted) -> Report:
        """Return the rows of a report.

        Raises:
            ReportsBusy: too many reports are being read. Asking again in a second helps.
            AuditError: the database cannot be read, or takes longer than `REPORT_SECONDS`.
        """
        if wanted.tenant in self._asked or len(self._asked) >= MAX_WAITING:
            raise ReportsBusy("A report is being read already.")
        reading = self._threads.submit(self._read, name, wanted)
        self._asked.add(wanted.tenant)
        # Not before, also if whoever asked has left: a thread is busy until then, unless none has begun.
        reading.add_done_callback(lambda _: self._asked.discard(wanted.tenant))
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                return await asyncio.wrap_future(reading)
        except TimeoutError:
            raise ReportsBusy("The reports of others take too long.") from None

    def _read(self, name: ReportName, wanted: Wanted) -> Report:
        from xmcp.gateway.audit.reading import reading
        from xmcp.gateway.audit.report_queries import QUERIES

        with reading(self._address, REPORT_SECONDS) as connection:
            return QUERIES[name](connection, wanted)

    async def aclose(self) -> None:
        """Begin no further report. One that is being read ends by its time limit."""
        self._threads.shutdown(wait=False, cancel_futures=True)
