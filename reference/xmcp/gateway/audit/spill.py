"""Rows on the disk for as long as the database does not take them: NDJSON in files of a bounded total size.

Each process has a folder of its own, which it holds locked. What a process that died has left is adopted by the next.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

from xmcp.gateway.audit.statements import STATEMENTS, Row, Unit

SEGMENT_BYTES: Final = 4 * 1024 * 1024
"""A new file begins after so many bytes; a file is deleted as a whole once the database has its rows."""


class SpillFull(Exception):
    """The bound of the spill is reached."""


class Spill:
    """The spilled rows of one process. For one thread.

    Args:
        folder: Where all processes of this store spill.
        owner: The name of this process in it.
        limit: Maximum number of bytes of what this process has spilled and the database has not taken.
    """

    def __init__(self, folder: Path, owner: str, limit: int) -> None:
        self._root = folder
        self._folder = folder / owner
        self._limit = limit
        self._lock: IO[bytes] | None = None
        self._file: IO[bytes] | None = None
        self._number = 0
        self._sizes: dict[Path, int] = {}
        self.size = 0
        """Bytes that this process has spilled and the database has not taken. Any thread may read it."""
        self._waiting: list[Path] = []
        """Files to be read back, oldest first; the one that is being written is none of them."""
        self._adopted: dict[Path, IO[bytes]] = {}
        self.torn = 0
        """Number of lines that could not be read back, since a process died while it wrote them, for example."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to be read back."""
        return not self._waiting and self._file is None

    @property
    def has_room_for_text(self) -> bool:
        """Whether so little is spilled that the text of answers may be, too."""
        return self.size < self._limit // 2

    def append(self, units: list[Unit]) -> int:
        """Write units to the disk and return how many of them were written; the others have no room.

        Raises:
            OSError: the disk does not take them; none of them counts as written.
        """
        lines = []
        room = self._limit - self.size
        for unit in units:
            line = json.dumps(unit, separators=(",", ":")).encode("ascii") + b"\n"
            room -= len(line)
            if room < 0:
                break
            lines.append(line)
        if lines:
            self._write(b"".join(lines))
        return len(lines)

    def _write(self, data: bytes) -> None:
        file = self._opened()
        path = Path(file.name)
        begin = self._sizes[path]
        try:
            file.write(data)
            file.flush()
        except OSError:
            # What was written of a batch that failed must not be read as a part of the next one.
            self._file = None
            with suppress(OSError):
                file.close()
            with suppress(OSError):
                os.truncate(path, begin)
            if begin:
                self._waiting.append(path)
            else:
                del self._sizes[path]
                with suppress(OSError):
                    path.unlink()
            raise
        self._sizes[path] = begin + len(data)
        self.size += len(data)
        if self._sizes[path] >= SEGMENT_BYTES:
            self.seal()

    def _opened(self) -> IO[bytes]:
        if self._lock is None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = _locked(self._folder)
        if self._file is None:
            self._number += 1
            path = self._folder / f"{self._number:08}.ndjson"
            self._file = open(path, "ab", opener=_private)  # noqa: SIM115 - it stays open for the next batch
            self._sizes[path] = 0
        return self._file

    def seal(self) -> None:
        """End the file that is being written, so that it can be read back."""
        if self._file is not None:
            self._waiting.append(Path(str(self._file.name)))
            self._file.close()
            self._file = None

    def adopt(self) -> None:
        """Take over what processes have left that do not run any more."""
        for folder in sorted(self._root.iterdir()) if self._root.is_dir() else ():
            if folder == self._folder or folder in self._adopted or not folder.is_dir():
                continue
            lock = _locked(folder)
            if lock is not None:
                self._adopted[folder] = lock
                self._waiting = [*sorted(folder.glob("*.ndjson")), *self._waiting]

    def oldest(self) -> tuple[Path, Iterator[Unit]] | None:
        """Return the oldest file and its units; `None` if nothing is spilled. Call `taken` when the database has them.

        Raises:
            OSError: while it is read.
        """
        if not self._waiting:
            self.seal()
        return (self._waiting[0], self._read(self._waiting[0])) if self._waiting else None

    def _read(self, path: Path) -> Iterator[Unit]:
        with open(path, "rb") as file:
            for line in file:
                try:
                    yield _unit(json.loads(line))
                except (ValueError, TypeError, KeyError):
                    self.torn += 1

    def taken(self, path: Path) -> None:
        """Delete a file: the database has its rows."""
        self._waiting.remove(path)
        self.size -= self._sizes.pop(path, 0)
        with suppress(OSError):
            path.unlink()
        folder = path.parent
        if folder in self._adopted and not any(one.parent == folder for one in self._waiting):
            _remove(folder, self._adopted.pop(folder))

    def close(self) -> None:
        """Leave what is spilled for the next process, or remove the folder if nothing is."""
        self.seal()
        for lock in self._adopted.values():
            lock.close()
        if self._lock is not None:
            if any(path.parent == self._folder for path in self._waiting):
                self._lock.close()
            else:
                _remove(self._folder, self._lock)
            self._lock = None


def _private(path: str, flags: int) -> int:
    """Open a file that only this user can read: whoever may read the database need not be who may read this."""
    return os.open(path, flags, 0o600)


def _remove(folder: Path, lock: IO[bytes]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    lock.close()
    with suppress(OSError):
        folder.parent.rmdir()  # only if it is empty


def _locked(folder: Path) -> IO[bytes] | None:
    """Lock a folder for this process; `None` if another process holds it. The lock ends with the process."""
    try:
        lock = open(folder / "lock", "wb")  # noqa: SIM115 - it stays open as long as the lock is held
    except OSError:
        return None
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            lock.close()
            return None
    else:
        import fcntl

        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            return None
    return lock


def _unit(value: Any) -> Unit:
    """Return a unit as it was spilled.

    Raises:
        KeyError, TypeError, ValueError: it is none, or one of another version of the schema.
    """
    rows = tuple(Row(kind, tuple(values)) for kind, values in value)
    if any(len(row.values) != len(STATEMENTS[row.kind].columns) for row in rows):
        raise ValueError("a row of another version")
    return rows
