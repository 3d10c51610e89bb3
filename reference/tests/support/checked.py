"""Run `xmcp` as a program, most often `xmcp check` and `xmcp serve`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FEW = ("--examples", "1", "--calls", "12")
"""For a test that looks at something else than what the suite finds: it costs a third."""


def check(*arguments: str, timeout: float = 600, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    words = [*arguments]
    if words[:1] == ["server"] and "--connect-timeout" not in words:
        words[1:1] = ["--connect-timeout", "300"]  # a server can take longer to start than a user should wait
    return command_line("check", *words, timeout=timeout, cwd=cwd)


def command_line(*words: str, timeout: float = 600, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "xmcp", *words],
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "200"},
    )


@contextmanager
def served(*arguments: str) -> Iterator[str]:
    """Run `xmcp serve` on a free port; gives the URL from the line that it says when it is ready."""
    command = [sys.executable, "-m", "xmcp", "serve", *arguments, "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        url = next(found[0] for line in process.stderr if (found := re.search(r"http://\S+", line)))
        threading.Thread(target=process.stderr.read, daemon=True).start()  # a full pipe would stop it
        yield url
    finally:
        process.terminate()
        process.wait(300)
