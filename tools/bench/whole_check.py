"""Measure `xmcp check server` from outside: seconds and memory, for the sample and for servers with many tools.

The bars are seconds on a machine with two quiet cores: what somebody waits for before a pull request is green.
Run as a program, this module serves so many tools over stdio: `python -m tools.bench.whole_check 50`.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Final

from tools.bench.figure import Figure

_SAMPLE: Final = f"{shlex.quote(sys.executable)} -m xmcp serve xmcp.samples.sales:mcp --transport stdio"
_MEGABYTE: Final = 1024
"""In the unit of `ru_maxrss`, which is KiB on Linux."""
MANY: Final = {50: 15.0, 500: None}
"""Numbers of tools, each with the seconds that a check can take."""


def figures() -> Iterator[Figure]:
    """Yield the seconds of a check, as soon as each was measured."""
    yield _figure("suite: the sample over stdio, s", _SAMPLE, 5.0, "--calls", "12")
    for tools, bar in MANY.items():
        command = f"{shlex.quote(sys.executable)} -m tools.bench.whole_check {tools}"
        yield _figure(f"suite: {tools} tools over stdio, s", command, bar)


def _figure(name: str, command: str, bar: float | None, *options: str) -> Figure:
    begun = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "xmcp", "check", "server", "--stdio", command, "--quiet", *options],
        stdout=subprocess.PIPE,
        text=True,
        # With that variable, each start of a process compiles every module anew: 2.5 s of 7.5 for the sample.
        env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    )
    assert process.stdout is not None
    said = process.stdout.read().strip()
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise AssertionError(f"{name}: {said}")
    return Figure(name, time.perf_counter() - begun, bar, f"{usage.ru_maxrss / _MEGABYTE:7.0f} MB")


def main() -> None:
    """Serve tools that repeat a text, so many as the command line says."""
    from xmcp import XMCP

    mcp = XMCP("many")

    def echo(text: str, times: int = 1) -> str:
        """Repeat a text."""
        return text * max(0, min(times, 3))

    for number in range(int(sys.argv[1])):
        mcp.tool(echo, name=f"echo_{number}", annotations={"readOnlyHint": True})
    mcp.run("stdio")


if __name__ == "__main__":
    main()
