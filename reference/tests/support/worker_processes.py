"""`xmcp gateway --workers N` as a person starts it, and its processes, none of which is left after a test.

They are found by a variable of their environment, which a process inherits whatever became of its parent.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx2
from prometheus_client.parser import text_string_to_metric_families

PATIENCE: Final = 120.0
"""Maximum wait in seconds: a busy machine takes long to start Python."""

_MARK: Final = "XMCP_TEST_PROCESSES"


class Marked:
    """Processes of one test; `environment` is what they must be started with."""

    def __init__(self) -> None:
        value = secrets.token_hex(16)
        self.environment = {**os.environ, _MARK: value}
        self._entry = f"{_MARK}={value}".encode()

    def running(self) -> dict[int, list[str]]:
        """Return the command lines of those that run, by their process ids."""
        found = {}
        for folder in Path("/proc").iterdir():
            with suppress(OSError):
                if not folder.name.isdigit() or self._entry not in (folder / "environ").read_bytes().split(b"\0"):
                    continue
                if (folder / "stat").read_text().rpartition(")")[2].split()[0] not in "XZ":
                    found[int(folder.name)] = (folder / "cmdline").read_bytes().decode().split("\0")[:-1]
        return found

    def workers(self) -> dict[int, int]:
        """Return the process ids of the workers that run, by their numbers."""
        commands = {pid: words for pid, words in self.running().items() if len(words) > 3}
        return {int(w[3]): pid for pid, w in commands.items() if w[2].endswith("gateway_worker.py")}

    async def gone(self) -> None:
        """Wait until none runs."""
        await until(lambda: not self.running())

    def kill(self) -> None:
        """End all that run."""
        while left := self.running():
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


@dataclass
class Workers:
    """A gateway in several processes.

    Attributes:
        process: The parent.
        marked: All of its processes.
        said: The lines on its stderr until now.
        folders: Where the processes may keep sockets.
    """

    process: asyncio.subprocess.Process
    marked: Marked
    folders: Path
    said: list[str] = field(default_factory=list)
    url: str = ""
    metrics_url: str = ""

    def http(self) -> httpx2.AsyncClient:
        """Return a client for the address."""
        return httpx2.AsyncClient(base_url=self.url, timeout=PATIENCE)

    async def says(self, pattern: str) -> str:
        """Wait for a line that has a regular expression, and return it."""
        await until(lambda: any(re.search(pattern, line) for line in self.said) or self.process.returncode is not None)
        await asyncio.sleep(0)
        found = next((line for line in self.said if re.search(pattern, line)), None)
        assert found is not None, (pattern, self.said)
        return found

    async def ended(self) -> int:
        """Wait for the end of the parent, and return its exit code."""
        async with asyncio.timeout(PATIENCE):
            return await self.process.wait()

    async def samples(self) -> dict[tuple[str, ...], float]:
        """Return the merged metrics: the value of each series, by its name and its labels in the order of names."""
        async with httpx2.AsyncClient(timeout=PATIENCE) as http:
            text = (await http.get(self.metrics_url)).text
        return {
            (one.name, *(value for _, value in sorted(one.labels.items()))): one.value
            for family in text_string_to_metric_families(text)
            for one in family.samples
        }


@asynccontextmanager
async def in_workers(
    folder: Path,
    *words: str,
    config: str = "",
    environment: Mapping[str, str] | None = None,
    started: Callable[[Workers], object] = lambda _: None,
) -> AsyncIterator[Workers]:
    """Start `xmcp gateway` with a file and words, and wait until it serves, or has ended.

    `config` is the file, which has a free port in addition. `started` is called before it serves.
    """
    (folder / "gateway.toml").write_text(f"[listen]\nport = 0\n{config}\n")
    marked = Marked()
    temporary = Path(tempfile.mkdtemp(prefix="xw"))  # that of a test has too long a name for sockets
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "xmcp",
        "gateway",
        str(folder / "gateway.toml"),
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={**marked.environment, "TMPDIR": str(temporary), **(environment or {})},
        cwd=folder,
        start_new_session=True,
    )
    assert process.stderr is not None
    stderr = process.stderr
    made = Workers(process, marked, temporary)

    async def read() -> None:
        async for line in stderr:
            made.said.append(line.decode().rstrip("\n"))

    reading = asyncio.create_task(read())
    started(made)
    try:
        # The end of the reading is that of all processes, which share the stderr.
        await until(lambda: any(" is served on " in line for line in made.said) or reading.done())
        first = next((line for line in made.said if " is served on " in line), "")
        urls = re.findall(r"http://[^\s;,\"]+", first)
        made.url, made.metrics_url = [*urls, "", ""][:2]
        yield made
    finally:
        marked.kill()
        shutil.rmtree(temporary)
        await process.wait()
        async with asyncio.timeout(PATIENCE):
            await reading


async def until(condition: Callable[[], object]) -> None:
    """Wait until a condition holds that no event announces."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
