"""The view layer of the web component, run in Node: one process that answers lines of JSON."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools.node_packages import NODE_FOLDER

PROGRAM = Path(__file__).resolve().parents[2] / "web" / "test" / "plan_lines.ts"


class WebView:
    """Asks reference/web/test/plan_lines.ts, which says what can be asked."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, **request: Any) -> Any:
        """Return the answer to one request; every number in it is a float, as in JavaScript."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the program ended; what it wrote to standard error is above"
        return json.loads(answer, parse_int=float)


@contextmanager
def web_view() -> Iterator[WebView]:
    """Run the view layer of the web component until the block ends."""
    node = NODE_FOLDER / ("node.exe" if os.name == "nt" else "node")
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "encoding": "utf-8"}
    with subprocess.Popen([str(node), "--no-warnings", str(PROGRAM)], **pipes) as process:
        try:
            yield WebView(process)
        finally:
            process.kill()
