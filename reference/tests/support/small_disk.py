"""A disk of some megabytes that a test can fill, for a process that is started on it. It needs no root.

Where a file system can be mounted (by root, or in a namespace of a user's own), it is one of 2 MB in memory, in which
the process lives. Elsewhere no file of the process can grow: the system answers `File too large` instead of `No space
left on device`.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_MOUNT = 'mount -t tmpfs -o size=2m none "$1" && echo mounted && exec cat'
_COPY = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).backup(sqlite3.connect(sys.argv[2]))"
_NAMESPACES = (["unshare", "--mount"], ["unshare", "--map-root-user", "--mount"])
"""As root, and as anybody else where the system allows it."""


@dataclass
class SmallDisk:
    """The disk.

    Attributes:
        folder: Where the process finds it.
        seen: Where the test does, but for SQLite, which does not follow it.
        before: Words before the command of the process.
        how: What it is, for the report.
    """

    folder: Path
    seen: Path
    before: Sequence[str]
    how: str

    def fill(self, process: int) -> None:
        """Have no room left, for the process with this id."""
        if not self.before:
            resource.prlimit(process, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
            return
        with suppress(OSError), (self.seen / "filler").open("wb", buffering=0) as file:
            while file.write(b"\0" * 4096):
                pass

    def free(self, process: int) -> None:
        """Have room again."""
        if not self.before:
            resource.prlimit(process, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            return
        (self.seen / "filler").unlink()

    def copied(self, name: str, copy: Path) -> str:
        """Copy a SQLite file of the disk to a place elsewhere, and return its path."""
        words = [*self.before, sys.executable, "-I", "-c", _COPY, str(self.folder / name), str(copy)]
        subprocess.run(words, check=True, timeout=60)
        return str(copy)


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """Provide the disk in an empty folder while the block runs."""
    for words in _NAMESPACES:
        with subprocess.Popen(
            [*words, "sh", "-c", _MOUNT, "sh", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as holder:
            assert holder.stdin is not None
            assert holder.stdout is not None
            if holder.stdout.readline() == "mounted\n":
                seen = Path(f"/proc/{holder.pid}/root{folder}")
                entering = ["nsenter", "--target", str(holder.pid), "--mount"]
                if len(words) == 3:
                    entering += ["--user", "--preserve-credentials"]
                yield SmallDisk(folder, seen, entering, f"a tmpfs of 2 MB by {' '.join(words)}")
                holder.stdin.close()
                return
    yield SmallDisk(folder, folder, (), "RLIMIT_FSIZE of the process: no tmpfs can be mounted here")
