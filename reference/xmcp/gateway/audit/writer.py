"""The writer: one thread that takes records from the queue and writes them in batches.

While the database does not take rows, they are spilled to the disk; what does not fit there is counted and dropped, and
a row of `writer_gaps` says so. The text of answers is the first to be left out.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar

from xmcp.gateway.audit import upkeep
from xmcp.gateway.audit.database import Address, reason_of
from xmcp.gateway.audit.drivers import Execute, driver_for
from xmcp.gateway.audit.errors import AuditError
from xmcp.gateway.audit.record_queue import Loss, RecordQueue
from xmcp.gateway.audit.recording import RECORD_BYTES, TEXT_TYPES, Ended, Event, Record
from xmcp.gateway.audit.schema import migrate
from xmcp.gateway.audit.spill import Spill
from xmcp.gateway.audit.statements import Unit, row
from xmcp.gateway.audit.text_segments import TextSegment
from xmcp.gateway.ids import now_ms, uuid7

Kept: TypeAlias = Literal["committed", "spilled", "lost"]
"""Where records are: in the database, on the disk, or nowhere. Of several, the worst counts."""

BATCH_ROWS: Final = 500
"""After so many rows a batch is committed."""

WINDOW_SECONDS: Final = 0.05
"""How long a record waits at most for others of its batch."""

SEGMENT_SECONDS: Final = 0.25
"""How long pieces of text are joined at most."""

SEGMENT_CHARACTERS: Final = 16 * 1024
"""How long a joined text becomes at most, but for its last piece."""

LEASE_SECONDS: Final = 60
"""For how long the runs of a process count as running after its last sign of life."""

RETRY_SECONDS: Final = 1.0
"""After so long a database that failed is tried again."""

KNOWN_SECONDS: Final = 600
"""How long the writer relies on rows that it has written; it is far less than what a deletion keeps."""

KNOWN_KEYS: Final = 20_000
"""How many messages and lists of tools the writer remembers to have written."""

T = TypeVar("T")
_ORDER: Final[tuple[Kept, ...]] = ("committed", "spilled", "lost")
_log: Final = logging.getLogger("xmcp.gateway")


@dataclass(frozen=True, slots=True)
class WriterLimits:
    """What the writer may use.

    Attributes:
        queue_records: Maximum number of records that wait in memory.
        queue_bytes: About how many bytes they may take.
        spill_bytes: Maximum number of bytes on the disk while the database does not take rows.
    """

    queue_records: int = 20_000
    queue_bytes: int = 64 * 1024 * 1024
    spill_bytes: int = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class WriterStatistics:
    """What the writer does.

    Attributes:
        queue_records: Records that wait in memory.
        queue_bytes: About how many bytes they take.
        spilled_bytes: Bytes on the disk that the database has not taken.
        database_up: Whether the last batch went to the database.
        dropped: Number of records that were lost since the start, by reason: `text` (pieces of answers), `queue_full`,
            `spill_full`, `disk`, `refused` (the database never takes them), `torn` (a spill that a process could not
            finish), `failed`.
        rows: Number of rows that the database has taken.
        flush_seconds: How long the last batch took.
    """

    queue_records: int
    queue_bytes: int
    spilled_bytes: int
    database_up: bool
    dropped: dict[str, int]
    rows: int
    flush_seconds: float


@dataclass(frozen=True, slots=True)
class FlushMark:
    """A place in the queue: `answer` is told where everything before it is."""

    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Kept]

    def tell(self, kept: Kept) -> None:
        """Tell it; for the writer's thread."""

        def set_result() -> None:
            if not self.answer.done():
                self.answer.set_result(kept)

        try:
            self.loop.call_soon_threadsafe(set_result)
        except RuntimeError:  # the loop was closed; nobody waits any more
            return


@dataclass(frozen=True, slots=True)
class Deletion(FlushMark):
    """A conversation is to be deleted, after everything before it in the queue; `committed`: that is done."""

    conversation_id: str


class _Known:
    """Messages and lists of tools whose rows were written a short while ago, or are a part of this batch."""

    def __init__(self) -> None:
        self._written: OrderedDict[str, float] = OrderedDict()
        self._batch: set[str] = set()

    def __contains__(self, key: str) -> bool:
        if key in self._batch:
            return True
        at = self._written.get(key)
        return at is not None and time.monotonic() - at < KNOWN_SECONDS

    def note(self, key: str) -> None:
        self._batch.add(key)

    def written(self) -> None:
        """Take note that the batch is in the database or on the disk."""
        now = time.monotonic()
        for key in self._batch:
            self._written.pop(key, None)
            self._written[key] = now
        self._batch.clear()
        while len(self._written) > KNOWN_KEYS:
            self._written.popitem(last=False)

    def forget(self) -> None:
        """Rely on nothing: something was lost."""
        self._written.clear()
        self._batch.clear()


class Writer:
    """The thread and what it needs. `put` is for any thread, everything else for the one that made it.

    Args:
        address: The database.
        owner: The name of this process in the tables; unique.
        version: The version of the program, for the table of executors.
        spill: The folder for what the database does not take.
        limits: What the writer may use.
        migrated: Whether the schema is known to be the newest; otherwise it is migrated before the first batch.
        keep_days: Runs older than so many days are deleted; `None` deletes nothing.
    """

    def __init__(
        self,
        address: Address,
        *,
        owner: str,
        version: str,
        spill: Path,
        limits: WriterLimits,
        migrated: bool,
        keep_days: int | None,
    ) -> None:
        self._address = address
        self._owner = owner
        self._version = version
        self._started_at = now_ms()
        self._migrated = migrated
        self._keep_days = keep_days
        self.queue: RecordQueue[Record | FlushMark] = RecordQueue(limits.queue_records, limits.queue_bytes, BATCH_ROWS)
        self._driver = driver_for(address)
        self._spill = Spill(spill, owner, limits.spill_bytes)
        self._torn = 0
        self._known = _Known()
        self._segments: dict[tuple[str, int], TextSegment] = {}
        self._losses: dict[str, Loss] = {}
        self._dropped: dict[str, int] = {}
        self._connected = False
        self._up = True
        self._retry_at = 0.0
        self._renew_at = 0.0
        self._sweep_at = 0.0
        self._delete_at = 0.0
        self._rows = 0
        self._seconds = 0.0
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="xmcp audit writer", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def put(self, record: Record, size: int, *, text: bool = False) -> bool:
        """Put a record into the queue; return False if it has no room, or the writer was closed. Never waits."""
        return not self._closing.is_set() and self.queue.put(record, size + RECORD_BYTES, text=text)

    def put_mark(self, mark: FlushMark) -> bool:
        """Put a mark behind everything in the queue, and end the window; return False if the writer has ended."""
        return self._thread.is_alive() and self.queue.put(mark, 0, mark=True)

    def close(self, seconds: float) -> bool:
        """Write everything, and end the thread; return False if it took too long. Blocks."""
        self._closing.set()
        self.queue.wake()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    @property
    def statistics(self) -> WriterStatistics:
        """What the writer does at this moment."""
        return WriterStatistics(
            queue_records=self.queue.records,
            queue_bytes=self.queue.bytes,
            spilled_bytes=self._spill.size,
            database_up=self._up,
            dropped=dict(self._dropped),
            rows=self._rows,
            flush_seconds=self._seconds,
        )

    def _run(self) -> None:
        self._guarded(self._tend)  # connects: what is written before a connection does not count as known
        while True:
            closing = self._closing.is_set()
            self._guarded(self._once, closing)
            self._guarded(self._tend)
            if closing and not self.queue.records:
                break
        try:
            self._end()
        except Exception:
            _log.exception("the audit writer could not end cleanly")

    def _once(self, closing: bool) -> None:
        if not closing:
            self.queue.wait(WINDOW_SECONDS, self._idle_seconds())
        records, losses = self.queue.take()
        before = sum(self._dropped.values())
        for reason, loss in losses.items():
            self._lose(reason, loss.dropped, loss.from_at)
        kept: Kept = "lost"
        try:
            kept = self._keep_in_order(records)
        except Exception:
            # What a record or a driver does must not end the memory of all others. Some of them may have been written.
            _log.exception("the audit writer dropped a batch")
            self._lose("failed", sum(not isinstance(one, FlushMark) for one in records))
        if sum(self._dropped.values()) > before:
            kept = "lost"
        if kept == "lost":
            self._known.forget()
        else:
            self._known.written()
        for mark in records:
            if isinstance(mark, FlushMark) and not isinstance(mark, Deletion):
                mark.tell(kept)

    @staticmethod
    def _guarded(step: Callable[..., None], *arguments: Any) -> None:
        """Take a step; a fault in it must not end the thread, and with it the memory of all that comes."""
        try:
            step(*arguments)
        except Exception:
            _log.exception("the audit writer failed, and goes on")

    def _idle_seconds(self) -> float:
        if self._segments:
            return WINDOW_SECONDS
        due = min(self._renew_at, self._sweep_at)
        if self._keep_days is not None and self._up:
            due = min(due, self._delete_at)
        if not self._up or not self._spill.is_empty or self._losses:
            due = min(due, self._retry_at)
        return max(due - time.monotonic(), 0.001)

    def _units(self, records: Sequence[Record | FlushMark]) -> Iterator[Unit]:
        """Yield the rows of records; pieces of text are joined, and wait for more."""
        for record in records:
            if isinstance(record, FlushMark):
                yield from self._joined(every=True)
            elif isinstance(record, Event):
                place = (record.run.id, record.event.attempt)
                segment = self._segments.get(place)
                text = record.event.type in TEXT_TYPES
                if segment is not None and not (text and segment.take(record)):
                    yield (self._segments.pop(place).row(),)
                    segment = None
                if text and segment is None:
                    self._segments[place] = TextSegment.of(record)
                if not text:
                    yield self._rows_of(record)
            elif isinstance(record, Ended):
                if (segment := self._segments.pop((record.run.id, record.run.start.attempt), None)) is not None:
                    yield (segment.row(),)
                yield self._rows_of(record)
            else:
                yield self._rows_of(record)
        yield from self._joined(every=False)

    def _rows_of(self, record: Record) -> Unit:
        try:
            return record.rows(self._known)
        except Exception:
            # A fault in one record must not take the others of its batch with it.
            _log.exception("the audit writer dropped a record")
            self._lose("failed", 1)
            return ()

    def _joined(self, *, every: bool) -> Iterator[Unit]:
        oldest = now_ms() - SEGMENT_SECONDS * 1000
        for place, segment in [*self._segments.items()]:
            if every or segment.at <= oldest or segment.size >= SEGMENT_CHARACTERS:
                told, left = segment.cut()
                if left is None:
                    del self._segments[place]
                else:
                    self._segments[place] = left
                if told is not None:
                    yield (told,)

    def _keep_in_order(self, records: Sequence[Record | FlushMark]) -> Kept:
        kept: Kept = "committed"
        first = 0
        for place, record in enumerate(records):
            if isinstance(record, Deletion):
                kept = _worst(kept, self._keep([*self._units(records[first : place + 1])]))
                record.tell("committed" if self._delete(record.conversation_id) else "lost")
                first = place + 1
        return _worst(kept, self._keep([*self._units(records[first:])]))

    def _delete(self, conversation: str) -> bool:
        """Delete a conversation; not while records of it may wait on the disk, which would come after it."""
        self._known.written()
        while not self._spill.is_empty:
            if not (self._may_try() and self._drain()):
                return False
        locks = self._address.kind != "sqlite"
        more: bool | None = True
        while more:
            more = self._tidy(lambda run: upkeep.delete_conversation(run, conversation, locks=locks))
        self._known.forget()
        return more is not None

    def _keep(self, units: Sequence[Unit]) -> Kept:
        kept: Kept = "committed"
        for batch in _batches(units):
            kept = _worst(kept, self._keep_batch(batch))
        return kept

    def _keep_batch(self, batch: list[Unit]) -> Kept:
        if self._may_try():
            try:
                self._write(batch)
            except Exception as error:
                if self._driver.refuses(error):
                    return self._keep_singly(batch, error)
                self._down(error)
            else:
                return "committed"
        return self._spill_batch(batch)

    def _may_try(self) -> bool:
        return self._up or time.monotonic() >= self._retry_at

    def _write(self, batch: Sequence[Unit]) -> None:
        begun = time.monotonic()
        fresh = not self._connected
        if fresh:
            self._connect()
        try:
            self._driver.write(batch)
        except Exception as error:
            if fresh or self._driver.refuses(error):
                raise
            # A connection that was idle may have been closed by the server; a batch may be sent twice.
            self._connect()
            self._driver.write(batch)
        self._seconds = time.monotonic() - begun
        self._rows += sum(map(len, batch))
        if not self._up:
            self._up = True
            _log.warning("the audit database %s takes records again", self._address.name)

    def _connect(self) -> None:
        self._connected = False
        if not self._migrated or not self._driver.is_the_same():
            migrate(self._address)
            self._migrated = True
        self._driver.connect()
        self._connected = True
        self._known.forget()  # it may be another file, which has nothing

    def _down(self, error: Exception) -> None:
        if self._up:
            why = error if isinstance(error, AuditError) else reason_of(error)
            _log.warning("the audit database %s takes no records (%s); they are spilled", self._address.name, why)
        self._up = self._connected = False
        self._driver.close()
        self._retry_at = time.monotonic() + RETRY_SECONDS

    def _keep_singly(self, batch: list[Unit], error: Exception) -> Kept:
        """Write units one by one: the database refuses something in one of them, and takes the others."""
        kept: Kept = "committed"
        if len(batch) == 1:
            _log.error("the audit database refused a record of %d rows: %s", len(batch[0]), reason_of(error))
            self._lose("refused", 1)
            return "lost"
        for unit in batch:
            kept = _worst(kept, self._keep_batch([unit]))
        return kept

    def _spill_batch(self, batch: list[Unit]) -> Kept:
        kept: Kept = "spilled"
        if not self._spill.has_room_for_text:
            others = [unit for unit in batch if not _is_text(unit)]
            if len(others) < len(batch):
                self._lose("text", len(batch) - len(others))
                batch, kept = others, "lost"
        try:
            written = self._spill.append(batch)
        except OSError as error:
            if "disk" not in self._losses:
                _log.warning("audit records are dropped, because they cannot be spilled: %s", error.strerror or error)
            self._lose("disk", len(batch))
            return "lost"
        if written < len(batch):
            if "spill_full" not in self._losses:
                _log.warning("audit records are dropped, because the spill has reached its bound")
            self._lose("spill_full", len(batch) - written)
            return "lost"
        return kept

    def _lose(self, reason: str, dropped: int, since: int | None = None) -> None:
        self._dropped[reason] = self._dropped.get(reason, 0) + dropped
        loss = self._losses.setdefault(reason, Loss())
        loss.add(dropped)
        if since is not None:
            loss.from_at = min(loss.from_at, since)

    def _tend(self) -> None:
        """Do what is due beside the records: losses, the spill, the lease, deletions. Only where the database is up."""
        now = time.monotonic()
        if now >= self._renew_at or (not self._up and now >= self._retry_at):
            self._renew_at = now + LEASE_SECONDS / 3
            self._spill.adopt()
            self._keep_batch_or_wait([self._lease(now_ms() + LEASE_SECONDS * 1000)])
        if not self._may_try():
            return
        if self._losses and self._keep_batch_or_wait(self._gaps()):
            self._losses.clear()
        if not self._spill.is_empty and now >= self._retry_at:
            self._drain()
        if now >= self._sweep_at and self._up:
            self._sweep_at = now + LEASE_SECONDS
            self._tidy(lambda run: upkeep.close_abandoned(run, now_ms(), LEASE_SECONDS * 1000))
        if self._keep_days is not None and now >= self._delete_at and self._up:
            cutoff = now_ms() - self._keep_days * upkeep.DAY_MS
            more = self._tidy(lambda run: upkeep.delete_older_than(run, cutoff, locks=self._address.kind != "sqlite"))
            self._delete_at = now + (WINDOW_SECONDS if more else upkeep.DELETE_SECONDS)

    def _keep_batch_or_wait(self, batch: list[Unit]) -> bool:
        """Write rows that are made again if the database does not take them now; return whether it did."""
        if not self._may_try():
            return False
        try:
            self._write(batch)
        except Exception as error:
            self._down(error)
            return False
        return True

    def _tidy(self, work: Callable[[Execute], T]) -> T | None:
        try:
            if not self._connected:
                self._connect()
            with self._driver.transaction() as run:
                return work(run)
        except Exception as error:
            # The next batch finds out whether the database is down.
            _log.warning("the upkeep of the audit database failed, and is tried again: %s", reason_of(error))
            self._connected = False
            self._driver.close()
            return None

    def _lease(self, until: int) -> Unit:
        return (row("executor", id=self._owner, version=self._version, started_at=self._started_at, lease_until=until),)

    def _gaps(self) -> list[Unit]:
        return [
            (
                row(
                    "gap",
                    id=uuid7(),
                    owner=self._owner,
                    from_at=loss.from_at,
                    to_at=loss.to_at,
                    dropped=loss.dropped,
                    reason=reason,
                ),
            )
            for reason, loss in self._losses.items()
        ]

    def _drain(self) -> bool:
        """Give the oldest file of the spill to the database; return whether it took it. A file may be given twice."""
        try:
            found = self._spill.oldest()
            if found is None:
                return True
            path, units = found
            for batch in _batches(units):
                if not self._drain_batch(batch):
                    return False
        except OSError as error:
            _log.error("spilled audit records cannot be read back: %s", error.strerror or error)
            self._retry_at = time.monotonic() + RETRY_SECONDS
            return False
        self._spill.taken(path)
        if self._spill.torn > self._torn:
            self._lose("torn", self._spill.torn - self._torn)
            self._torn = self._spill.torn
        return True

    def _drain_batch(self, batch: list[Unit]) -> bool:
        try:
            self._write(batch)
        except Exception as error:
            if not self._driver.refuses(error):
                self._down(error)
                return False
            if len(batch) == 1:
                self._lose("refused", 1)
                return True
            return all(self._drain_batch([unit]) for unit in batch)
        return True

    def _end(self) -> None:
        """Write what is left, give up the lease, and leave the rest to the next process."""
        self._retry_at = 0.0  # once more, before what is left goes to the next process
        self._keep([(segment.row(),) for segment in self._segments.values()])
        while self._may_try() and not self._spill.is_empty and self._drain():
            pass
        if self._losses and not self._keep_batch_or_wait(self._gaps()):
            self._spill_batch(self._gaps())
        self._keep_batch_or_wait([self._lease(now_ms())])
        self._spill.close()
        self._driver.close()


def _batches(units: Sequence[Unit] | Iterator[Unit]) -> Iterator[list[Unit]]:
    batch: list[Unit] = []
    rows = 0
    for unit in units:
        batch.append(unit)
        rows += len(unit)
        if rows >= BATCH_ROWS:
            yield batch
            batch, rows = [], 0
    if batch:
        yield batch


def _is_text(unit: Unit) -> bool:
    return bool(unit) and unit[0].kind == "event" and unit[0].values[5] in TEXT_TYPES


def _worst(one: Kept, other: Kept) -> Kept:
    return max(one, other, key=_ORDER.index)
