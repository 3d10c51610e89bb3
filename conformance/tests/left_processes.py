"""Which processes a test has left: those whose command line has a mark. What was killed needs a moment to be gone."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

_SECONDS = 20.0


def left(mark: str) -> list[str]:
    """Return the numbers of the processes that are still there after a while; a zombie is none."""
    until = time.monotonic() + _SECONDS
    while (there := _running(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    return there


def _running(mark: str) -> list[str]:
    found = subprocess.run(["pgrep", "-f", mark], capture_output=True, text=True, check=False).stdout.split()
    return [pid for pid in found if _state(pid) not in ("", "Z")]


def _state(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""
