"""`xmcp gateway FILE` in a process of its own: what it serves, what it says in its log, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from support.gateways import eventually

PATIENCE = 60.0
"""Maximum seconds to wait for anything that a gateway does; a busy machine stops a process for long."""


@dataclass
class GatewayProcess:
    """A gateway that is served, or was."""

    url: str
    metrics_url: str
    process: asyncio.subprocess.Process
    log: Path

    def http(self, **headers: str) -> httpx2.AsyncClient:
        """Return a client for its address."""
        return httpx2.AsyncClient(base_url=self.url, timeout=PATIENCE, headers=headers)

    async def metrics(self) -> dict[tuple[str, ...], float]:
        """Return the value of each series, by its name and the values of its labels in the order of their names."""
        async with httpx2.AsyncClient(timeout=PATIENCE) as http:
            text = (await http.get(self.metrics_url)).text
        samples = (one for family in text_string_to_metric_families(text) for one in family.samples)
        return {(one.name, *(value for _, value in sorted(one.labels.items()))): one.value for one in samples}

    async def metric(self, *name: str) -> float | None:
        """Return the value of one series."""
        return (await self.metrics()).get(name)

    async def until(self, value: float, *name: str) -> None:
        """Wait until a series has a value."""

        async def has_it() -> bool:
            return await self.metric(*name) == value

        await eventually(has_it, PATIENCE)

    async def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        await self.process.wait()

    async def terminate(self) -> int:
        """SIGTERM; return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return await self.ended()

    async def ended(self) -> int:
        """Wait for the end of the process, and return its exit code."""
        async with asyncio.timeout(PATIENCE):
            return await self.process.wait()


@asynccontextmanager
async def gateway_process(
    folder: Path,
    config: Mapping[str, Any],
    *options: str,
    environment: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
) -> AsyncIterator[GatewayProcess]:
    """Serve a gateway with a configuration while the block runs.

    Args:
        folder: Gets its file and its log, which may exist already.
        config: The tables of its file; `listen.port` and `metrics.port` are 0 unless they are given.
        options: Further words of the command line.
        environment: Variables beyond those of the test.
        before: Words before the command, of a program that starts it.
    """
    file, log = folder / "gateway.toml", folder / "gateway.log"
    listen, metrics = {"port": 0, **config.get("listen", {})}, {"port": 0, **config.get("metrics", {})}
    file.write_text("\n".join(toml({**config, "listen": listen, "metrics": metrics})))
    with log.open("wb") as written:
        process = await asyncio.create_subprocess_exec(
            *(*before, sys.executable, "-m", "xmcp", "gateway", str(file), *options),
            stdout=written,
            stderr=written,
            env={**os.environ, "OPENAI_API_KEY": "sk-test", **(environment or {})},
        )
    try:
        urls = await _served(process, log)
        yield GatewayProcess(*urls, process, log)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _served(process: asyncio.subprocess.Process, log: Path) -> tuple[str, str]:
    async with asyncio.timeout(2 * PATIENCE):
        while process.returncode is None:
            said = log.read_text()  # noqa: ASYNC240
            if found := re.search(r"served on (http://\S+?:\d+).*metrics on (http://\S+)", said):
                return found[1], found[2]
            await asyncio.sleep(0.05)
    raise AssertionError(f"the gateway ended with {process.returncode}: {log.read_text()}")  # noqa: ASYNC240


def toml(config: Mapping[str, Any], *names: str) -> Iterator[str]:
    """Yield the lines of a file; texts, numbers and lists have the form of JSON in TOML, too."""
    tables = {name: value for name, value in config.items() if isinstance(value, Mapping)}
    lists = {n: v for n, v in config.items() if isinstance(v, list) and v and isinstance(v[0], Mapping)}
    for name, value in config.items():
        if name not in tables and name not in lists:
            yield f"{name} = {json.dumps(value)}"
    for name, table in tables.items():
        yield f"[{'.'.join((*names, name))}]"
        yield from toml(table, *names, name)
    for name, entries in lists.items():
        for entry in entries:
            yield f"[[{'.'.join((*names, name))}]]"
            yield from toml(entry, *names, name)
