"""The audit log: what a gateway tells of its runs, recorded without making them wait."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from xmcp.gateway.audit.database import Address, address_of
from xmcp.gateway.audit.errors import AuditError
from xmcp.gateway.audit.recording import (
    TEXT_TYPES,
    Accepted,
    Ended,
    Event,
    OpenRun,
    Record,
    RunOutcome,
    RunStart,
    Status,
)
from xmcp.gateway.audit.redaction import Redactor
from xmcp.gateway.audit.schema import migrate
from xmcp.gateway.audit.writer import Deletion, FlushMark, Kept, Writer, WriterLimits, WriterStatistics
from xmcp.gateway.ids import now_ms, uuid7

if TYPE_CHECKING:
    from xmcp.gateway.runs.events import RunEvent
    from xmcp.gateway.runs.record import RunRecord

CLOSE_SECONDS: Final = 30.0
"""Default for how long `aclose()` may take to write what is left."""

_OPENING: Final = frozenset({"run.started", "step.started"})
"""Events that come before a model or a tool has done anything."""

_STATUSES: Final[Mapping[str, Status]] = {"finished": "finished", "error": "error", "cancelled": "cancelled"}

_current: ContextVar[str | None] = ContextVar("xmcp_audit_run", default=None)
_log: Final = logging.getLogger("xmcp.gateway")


class AuditLog:
    """Records runs in a database. Make it with `open`, and end it with `aclose`.

    Methods that are not `async` never wait, neither for the database nor for the disk. They are for the event loop's
    thread. An `AuditLog` is an observer of runs (`accepted`, `event`, `ended`); what a model receives and what is
    called is told by the hooks of an `AuditMiddleware`.
    """

    def __init__(self, writer: Writer, owner: str, address: Address, secrets: Iterable[Any]) -> None:
        self._writer = writer
        self._owner = owner
        self._address = address
        self._secrets = tuple(secrets)
        self._redactor = Redactor(self._secrets)
        self._runs: dict[str, OpenRun] = {}
        self._closed = False

    @classmethod
    async def open(
        cls,
        database: str | Path,
        *,
        secrets: Iterable[Any] = (),
        spill: str | Path | None = None,
        keep_days: int | None = None,
        limits: WriterLimits | None = None,
        require: bool = True,
    ) -> AuditLog:
        """Open a store, and migrate it to the newest version of its schema.

        Args:
            database: The path of a SQLite file, or `postgresql://user:password@host:port/database`.
            secrets: Values that may not be recorded, such as the keys of the gateway (XMCP-REC-021); of a mapping or a
                list its members.
            spill: The folder for records that the database does not take; by default beside a SQLite file, and for
                PostgreSQL in the folder for state of the user.
            keep_days: Runs older than so many days are deleted; `None` keeps all.
            limits: What may wait in memory and on the disk.
            require: Whether a database that cannot be used is an error; else records are spilled until it can.

        Raises:
            AuditError: the database cannot be used, a package is missing, or an argument is wrong.
        """
        if keep_days is not None and keep_days < 1:
            raise AuditError(f"keep_days must be 1 or more, or None to keep all runs, not {keep_days}.")
        address = address_of(database)
        migrated = True
        try:
            await asyncio.to_thread(migrate, address)
        except AuditError as error:
            if require:
                raise
            _log.warning("%s Records are spilled until then.", error)
            migrated = False
        owner = uuid7()
        writer = Writer(
            address,
            owner=owner,
            version=f"xmcp {_version()}, {socket.gethostname()}, process {os.getpid()}",
            spill=Path(spill) if spill is not None else spill_folder(address),
            limits=limits or WriterLimits(),
            migrated=migrated,
            keep_days=keep_days,
        )
        writer.start()
        return cls(writer, owner, address, secrets)

    @property
    def name(self) -> str:
        """The address of the database without credentials."""
        return self._address.name

    @property
    def address(self) -> Address:
        """The database."""
        return self._address

    @property
    def statistics(self) -> WriterStatistics:
        """How much waits, is spilled, or was dropped, at this moment."""
        return self._writer.statistics

    def begin(self, start: RunStart) -> None:
        """Record that a run was accepted. Hooks in this context, and in that of tasks made in it, belong to the run.

        A process that is killed loses the records of the last 50 ms. Where this one is to be sure, await `flush`.
        """
        redactor = Redactor((*self._secrets, *start.secrets)) if start.secrets else self._redactor
        run = OpenRun(start, self._owner, redactor)
        self._runs[start.id] = run
        # The task that is created next takes it along.
        _current.set(start.id)
        self.put(Accepted(run), 0)

    def take(self, run_id: str, event: RunEvent) -> None:
        """Record an event of a run that goes on; of an unknown run it is left out."""
        run = self._runs.get(run_id)
        if run is None:
            return
        kind = event.type
        text = kind in TEXT_TYPES
        at = now_ms()
        if run.first_event_at is None and kind not in _OPENING:
            run.first_event_at = at
        hooked = kind == "tool.finished" and event.data.get("call_id") in run.calls
        self._writer.put(Event(run, event, hooked, at), len(event.json), text=text)

    def end(self, run_id: str, outcome: RunOutcome, history: Sequence[Mapping[str, Any]] = ()) -> None:
        """Record how a run ended. Where it is to be sure, await `flush`.

        `history`: the conversation after it, from which it can be continued; left out: that is not recorded.
        """
        run = self._runs.pop(run_id, None)
        if run is not None:
            messages, size, _ = run.encode(history)
            run.sent, run.encoded = [], []
            self.put(Ended(run, outcome, messages, now_ms()), size + 8 * len(messages))

    def accepted(self, run: RunRecord) -> None:
        """Record that a run of the gateway was accepted."""
        request, caller = run.request, run.caller
        self.begin(
            RunStart(
                id=run.id,
                tenant=caller.tenant,
                session=request.session_id,
                api_key=caller.key_name,
                surface=request.surface,
                model=request.model,
                trace_id=run.trace_id,
                attempt=run.attempt,
                secrets=() if caller.key is None else (caller.key,),
            )
        )

    def event(self, run: RunRecord, event: RunEvent) -> None:
        """Record an event of a run of the gateway."""
        self.take(run.id, event)

    def ended(self, run: RunRecord) -> None:
        """Record how a run of the gateway ended."""
        state, request = run.state, run.request
        # A chat that names a conversation says how that goes on, and nothing if it is not remembered in it.
        history = run.history if request.session_id is None else run.remembered
        error = state.error or {}
        status = _STATUSES.get(state.status, "interrupted")
        outcome = RunOutcome(status, state.stop_reason, error.get("code"), error.get("message"))
        self.end(run.id, outcome, history)

    def health(self) -> Mapping[str, Any]:
        """Return what the `/health` of a gateway says of the store."""
        now = self.statistics
        status = "ok" if now.database_up and not now.dropped else "degraded"
        lost = {"dropped_records": sum(now.dropped.values())} if now.dropped else {}
        return {"audit": {"status": status, "waiting": now.queue_records, "spilled_bytes": now.spilled_bytes, **lost}}

    @contextmanager
    def running(self, start: RunStart) -> Iterator[str]:
        """Record a chat that no gateway runs: its begin, what the hooks tell in this context, and its end."""
        before = _current.get()
        self.begin(start)
        outcome = RunOutcome("finished")
        try:
            yield start.id
        except (asyncio.CancelledError, GeneratorExit):
            outcome = RunOutcome("cancelled", None, "CANCELLED")
            raise
        except BaseException as error:
            from xmcp.chat.errors import error_of_chat

            told = error_of_chat(error)
            outcome = RunOutcome("error", None, told.code, told.message)
            raise
        finally:
            _current.set(before)
            self.end(start.id, outcome)

    def current_run(self) -> OpenRun | None:
        """Return the run that goes on in this context; `None` if there is none. For hooks."""
        run_id = _current.get()
        return None if run_id is None else self._runs.get(run_id)

    def put(self, record: Record, size: int) -> bool:
        """Put a record into the queue; return False if it has no room. For hooks."""
        return self._writer.put(record, size)

    async def flush(self, seconds: float = 5.0) -> Kept:
        """Have all records so far written at once, and return where they are: `committed`, `spilled`, or `lost`.

        `lost` also if that is not known after so many seconds. All that wait at the same time share one commit.
        """
        loop = asyncio.get_running_loop()
        return await self._told(FlushMark(loop, loop.create_future()), seconds)

    async def delete(self, conversation_id: str, seconds: float = 10.0) -> bool:
        """Delete a conversation, after all records so far were written; return whether that is done.

        Runs of it that go on are left. False also if it is not known after so many seconds; it may be done later then.
        """
        loop = asyncio.get_running_loop()
        return await self._told(Deletion(loop, loop.create_future(), conversation_id), seconds) == "committed"

    async def _told(self, mark: FlushMark, seconds: float) -> Kept:
        if not self._writer.put_mark(mark):
            return "lost"
        try:
            async with asyncio.timeout(seconds):
                return await mark.answer
        except TimeoutError:
            return "lost"

    async def aclose(self, seconds: float = CLOSE_SECONDS) -> bool:
        """Write what is left, and close the database; return False if that took longer than so many seconds."""
        if self._closed:
            return True
        self._closed = True
        done = await asyncio.to_thread(self._writer.close, seconds)
        if not done:
            waiting = self.statistics.queue_records
            _log.error("the audit writer did not end within %g s; %d records are lost", seconds, waiting)
        return done


def spill_folder(address: Address) -> Path:
    """Return where records are spilled that a database does not take."""
    if address.kind == "sqlite":
        return Path(f"{address.target}.spill")
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "xmcp" / "audit-spill"


def _version() -> str:
    try:
        return version("xmcp")
    except PackageNotFoundError:
        return "unknown"
