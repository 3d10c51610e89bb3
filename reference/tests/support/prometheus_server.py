"""A Prometheus of a test's own, which reads one gateway several times a second."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

PATIENCE = 60
"""Maximum seconds for the server to start, and for it to have read."""


def program(name: str) -> str:
    """Return the path of `prometheus` or `promtool`; the test is skipped where there is none, and fails in CI."""
    found = shutil.which(name)
    if found is None:
        reason = f"no {name}: apt-get install prometheus"
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


class Prometheus:
    """A server that runs; its questions are those of its HTTP API."""

    def __init__(self, url: str) -> None:
        self._http = httpx2.Client(base_url=url, timeout=30)

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the series that an expression gives now."""
        answer = self._http.get("/api/v1/query", params={"query": expression}).json()
        assert answer["status"] == "success", (expression, answer)
        found: list[dict[str, Any]] = answer["data"]["result"]
        return found

    def wait_for(self, expression: str) -> None:
        """Wait until an expression gives something."""
        end = time.monotonic() + PATIENCE
        while not self._query_or_nothing(expression):
            assert time.monotonic() < end, f"{expression} has no value"
            time.sleep(0.05)

    def wait_for_readings(self, number: int = 2) -> None:
        """Wait until it has read so many times from now on."""
        for _ in range(number):
            now = time.time()
            self.wait_for(f"timestamp(up) > {now}")

    def _query_or_nothing(self, expression: str) -> list[dict[str, Any]]:
        try:
            return self.query(expression)
        except (httpx2.TransportError, ValueError):  # it is starting: nobody answers yet, or not in JSON
            return []


@contextmanager
def prometheus(folder: Path, target: str, rules: Path) -> Iterator[Prometheus]:
    """Run a server that reads `target`, `host:port`, with `rules`, in the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = {
        "global": {"scrape_interval": "300ms", "scrape_timeout": "300ms", "evaluation_interval": "300ms"},
        "rule_files": [str(rules)],
        "scrape_configs": [{"job_name": "xmcp-gateway", "static_configs": [{"targets": [target]}]}],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))
    words = ["--config.file", str(folder / "prometheus.yml"), "--storage.tsdb.path", str(folder / "data")]
    words += ["--web.listen-address", f"127.0.0.1:{port}", "--log.level", "error"]
    running = subprocess.Popen([program("prometheus"), *words], stderr=subprocess.DEVNULL)
    try:
        yield Prometheus(f"http://127.0.0.1:{port}")
    finally:
        running.terminate()
        try:
            running.wait(30)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait(30)
