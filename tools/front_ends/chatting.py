"""Have a client chat: its driver is a process that reads what is asked as lines, and writes what it made of each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from tools.front_ends.cases import CASES, Case
from tools.front_ends.gateway import KEYS, Gateway, serving
from tools.front_ends.judge import Difference, differences

SECONDS: Final = 180.0
"""Time limit for the chats of one case."""

LINE_BYTES: Final = 8 * 1024 * 1024
"""Size of the longest line that a driver may write."""


@dataclass(frozen=True)
class Driver:
    """The running process of a client."""

    process: asyncio.subprocess.Process

    async def chat(self, gateway: Gateway, case: Case, *, stream: bool) -> list[dict[str, Any]]:
        """Have the chats of a case; return what the client made of each.

        Raises:
            RuntimeError: the driver ended, or took too long.
        """
        url = gateway.cut_url if case.cut else gateway.url
        asked = {"questions": case.questions, "url": url, "key": KEYS[case.key], "model": case.model}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({**asked, "stream": stream, "does": case.needs}).encode() + b"\n")
        stopping = asyncio.create_task(gateway.stop(case.stop)) if case.stop is not None else None
        try:
            async with asyncio.timeout(SECONDS):
                with suppress(ConnectionError):  # the driver has ended: there is no line to read either
                    await self.process.stdin.drain()
                line = await self.process.stdout.readline()
        except TimeoutError:
            raise RuntimeError(f"did not end within {SECONDS:.0f} s") from None
        finally:
            if stopping is not None:
                await _over(stopping, gateway)
        if not line:
            raise RuntimeError("ended before it had answered")
        answers: list[dict[str, Any]] = json.loads(line)
        return answers


async def _over(stopping: asyncio.Task[None], gateway: Gateway) -> None:
    """Wait for the end of a gateway that is being stopped; a client can have failed before there was occasion to."""
    if not gateway.model.waiting.is_set():
        stopping.cancel()
    await asyncio.wait({stopping})
    if not stopping.cancelled():
        stopping.result()


@asynccontextmanager
async def driver(command: Sequence[str], log: Path) -> AsyncIterator[Driver]:
    """Run the driver of a client until the block ends; what it writes besides is in `log`."""
    pipe = asyncio.subprocess.PIPE
    with log.open("wb") as err:
        process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=err, limit=LINE_BYTES)
        try:
            yield Driver(process)
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


def cases_for(can: frozenset[str], at_once: int) -> Iterator[tuple[str, Case, bool]]:
    """Yield name, case and way of asking for everything that a client can do."""
    for name, case in CASES.items():
        if (case.needs or "chat") in can:
            few = replace(case, questions=case.questions[:at_once], texts=case.texts[:at_once])
            for stream in case.streams:
                yield f"{name}, {'stream' if stream else 'whole'}", few, stream


async def chats(
    name: str, command: Sequence[str], wanted: Sequence[tuple[str, Case, bool]], folder: Path
) -> tuple[list[Difference], list[str]]:
    """Have a client chat in every case, until its driver fails; return what it made otherwise, and the cases.

    Logs are in `folder`.
    """
    found: list[Difference] = []
    tried: list[str] = []
    lasting = [one for one in wanted if one[1].stop is None]
    ending = [[one] for one in wanted if one[1].stop is not None]  # a gateway that is stopped serves one case
    log = folder / "driver.log"
    async with driver(command, log) as client:
        for together in [lasting, *ending] if lasting else ending:
            async with serving(folder) as gateway:
                for case_name, case, stream in together:
                    tried.append(case_name)
                    try:
                        answers = await client.chat(gateway, case, stream=stream)
                    except RuntimeError as error:
                        return [*found, Difference(name, case_name, "driver", f"{error}: see {log}")], tried
                    found += differences(name, case_name, case, answers)
    return found, tried
