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


class ReportsBusy(Exception):
    """Another report is being read for the same tenant, or too many are for others."""


class Reports:
    """Reads reports. A slow one holds up no chat, no other tenant's report for long, and not the writer."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._threads = ThreadPoolExecutor(MAX_AT_ONCE, "xmcp reports")
        self._reading: set[str | None] = set()

    async def read(self, name: ReportName, wanted: Wanted) -> Report:
        """Return the rows of a report.

        Raises:
            ReportsBusy: too many reports are being read. Asking again in a second helps.
            AuditError: the database cannot be read, or takes longer than `REPORT_SECONDS`.
        """
        if wanted.tenant in self._reading or len(self._reading) >= MAX_AT_ONCE:
            raise ReportsBusy("A report is being read already.")
        self._reading.add(wanted.tenant)
        reading = asyncio.get_running_loop().run_in_executor(self._threads, self._read, name, wanted)
        # Also if whoever asked has left: the thread is busy until then.
        reading.add_done_callback(lambda done: self._done(wanted.tenant, done))
        return await asyncio.shield(reading)

    def _done(self, tenant: str | None, reading: asyncio.Future[Report]) -> None:
        self._reading.discard(tenant)
        if not reading.cancelled():
            reading.exception()  # is seen, also if nobody waits any more

    def _read(self, name: ReportName, wanted: Wanted) -> Report:
        from xmcp.gateway.audit.reading import reading
        from xmcp.gateway.audit.report_queries import QUERIES

        with reading(self._address, REPORT_SECONDS) as connection:
            return QUERIES[name](connection, wanted)

    async def aclose(self) -> None:
        """Begin no further report. One that is being read ends by its time limit."""
        self._threads.shutdown(wait=False, cancel_futures=True)
