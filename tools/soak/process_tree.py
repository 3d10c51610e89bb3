"""What a process and all its descendants use, read from /proc."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")


class Stat(NamedTuple):
    """A process: its id, that of its parent, and the CPU seconds of it and of its descendants that have ended."""

    pid: int
    parent: int
    cpu: float


def stat_of(line: str) -> Stat:
    """Return what a line of /proc/<pid>/stat says. The name of the program may have blanks and brackets."""
    pid, _, rest = line.partition(" (")
    fields = rest.rpartition(") ")[2].split()
    return Stat(int(pid), int(fields[1]), sum(map(int, fields[11:15])) / _TICKS)


def tree(root: int) -> list[Stat]:
    """Return a process and its descendants."""
    children: dict[int, list[Stat]] = defaultdict(list)
    found: list[Stat] = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                one = stat_of((path / "stat").read_text(encoding="utf-8", errors="replace"))
            except OSError:  # it has ended meanwhile
                continue
            children[one.parent].append(one)
            if one.pid == root:
                found.append(one)
    for one in found:
        found += children[one.pid]
    return found


def cpu_seconds(root: int, *without: int) -> float:
    """Return the CPU seconds of a process and its descendants, except for the processes `without`."""
    return sum(one.cpu for one in tree(root) if one.pid not in without)


def scheduled(pid: int) -> tuple[float, float]:
    """Return the seconds for which the main thread of a process ran, and for which it waited for a processor.

    Both are 0 where the system does not say, or if there is no such process.
    """
    try:
        ran, waited, _ = Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return 0.0, 0.0
    return int(ran) / 1e9, int(waited) / 1e9


def resident(pid: int) -> int:
    """Return the resident memory of a process in bytes; 0 if there is no such process."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
