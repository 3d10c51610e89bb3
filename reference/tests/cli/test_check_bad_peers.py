"""Servers that misbehave around the protocol: a run ends in time, with the right verdict, and leaves no process."""

from __future__ import annotations

import json
import os
import random
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support import bad_stdio

pytestmark = pytest.mark.slow

FINE = "CONFORMS"
VERDICTS = {
    "hangs": (1, "NOT SHOWN TO CONFORM: "),
    "crashes": (1, "DOES NOT CONFORM"),
    "floods": (1, "DOES NOT CONFORM"),
    "out-of-order": (0, FINE),
    "leaks-descriptors": (0, FINE),
    "ignores-sigterm": (0, FINE),
    "babbles": (0, FINE),
    "notifies": (0, FINE),
}
NOTES = {
    "babbles": "lines to stdout that are not MCP, first `DEBUG about to answer`",
    "notifies": "messages that MCP does not allow, first `notifications/message` in MCP 2025-11-25, `params.data`",
}
"""What is no broken sentence of ours, and is told; before a version is negotiated, by the last one with a handshake."""


@pytest.mark.parametrize("mode", bad_stdio.MODES)
def test_a_server_that_misbehaves_is_judged_and_leaves_no_process(mode: str, tmp_path: Path) -> None:
    mark = f"{random.randrange(10**9):09}"  # finds the processes of this test and no others
    report = tmp_path / "report.json"
    words = [sys.executable, bad_stdio.__file__, mode, "20", mark]
    options = ["--era", "newest", "--calls", "10", "--call-timeout", "1.5", "--json", str(report)]
    done = subprocess.run(
        [sys.executable, "-m", "xmcp", "check", "server", "--stdio", shlex.join(words), *options],
        capture_output=True, text=True, timeout=600, env={**os.environ, "COLUMNS": "200", "API_KEY": "sk-hunter2"},
    )  # fmt: skip
    code, verdict = VERDICTS[mode]
    assert done.returncode == code, done.stdout + done.stderr
    assert f"\n{verdict}" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert NOTES.get(mode, "") in " ".join(done.stdout.split())
    assert json.loads(report.read_text())["exit_code"] == code
    assert "hunter2" not in report.read_text() + done.stdout + done.stderr
    listing = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert mark not in listing
