"""What the clients talk to: `xmcp gateway` in a process of its own, with the scripted model and the tool server."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import uvicorn

from tools.front_ends.cases import MODEL, Stop
from tools.front_ends.scripted_model import ScriptedModel

SECONDS: Final = 60.0
"""Time limit for the start of a process, and for its end."""

LOG_BYTES: Final = 64 * 1024
"""So much of what a gateway writes is read."""

KEYS: Final[Mapping[str, str]] = {
    "front-end": "xmcp_front_end",
    "xmcp": "xmcp_events_xmcp",
    "openwebui": "xmcp_events_openwebui",
    "wrong": "xmcp_nobody",
}
"""The secret of each key of `cases.Key`. The gateway does not know the last one."""

MODELS: Final = (MODEL, "gpt-5-scripted")
"""The models of the gateway. llm-comply tests reasoning only with models whose names it knows."""

_EVENTS: Final = {"front-end": "none", "xmcp": "xmcp", "openwebui": "openwebui"}


@dataclass(frozen=True)
class Gateway:
    """A gateway that runs; `url` is the address of its `/v1`, `cut_url` that of a proxy that cuts every answer."""

    url: str
    cut_url: str
    model: ScriptedModel
    process: asyncio.subprocess.Process

    async def stop(self, how: Stop) -> None:
        """Stop it once its model has begun an answer; wait for its end.

        Raises:
            TimeoutError: it did not end.
        """
        await self.model.waiting.wait()
        await asyncio.sleep(0.5)  # what the model has written reaches the client
        self.process.send_signal(signal.SIGTERM if how == "drain" else signal.SIGKILL)
        async with asyncio.timeout(SECONDS):
            await self.process.wait()


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Gateway]:
    """Serve a model and a gateway until the block ends; the gateway's configuration is written into `folder`.

    Raises:
        SystemExit: the gateway did not start; the message holds its output.
    """
    model = ScriptedModel()
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(model.app(), log_level="critical", lifespan="off", timeout_graceful_shutdown=0)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve([listener]))
    try:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with _process(folder, f"{address}/v1") as (url, process):
            yield Gateway(url, f"{address}/cut", model, process)
    finally:
        server.should_exit = True
        async with asyncio.timeout(SECONDS):
            await task


@asynccontextmanager
async def _process(folder: Path, model_url: str) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    file = folder / "gateway.toml"
    file.write_text(_config(model_url), encoding="utf-8")
    with (folder / "gateway.log").open("wb+") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "xmcp", "gateway", str(file), stderr=log, env={**os.environ, "OPENAI_API_KEY": "none"}
        )
        try:
            yield await _address(log, process), process
        finally:
            if process.returncode is None:
                process.terminate()
            try:
                async with asyncio.timeout(SECONDS):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


async def _address(log: IO[bytes], process: asyncio.subprocess.Process) -> str:
    with suppress(TimeoutError):
        async with asyncio.timeout(SECONDS):
            while process.returncode is None:
                if found := re.search(rb"served on (http://\S+:\d+)", _written(log)):
                    return f"{found[1].decode()}/v1"
                await asyncio.sleep(0.05)
    sys.exit(f"the gateway did not start:\n{_written(log).decode()}")


def _written(log: IO[bytes]) -> bytes:
    # Without a seek: the process writes at the place that it shares with this file.
    return os.pread(log.fileno(), LOG_BYTES, 0)


def _config(model_url: str) -> str:
    models = "".join(
        f'[[models]]\nid = "{model}"\nprovider = "openai"\nmodel = "scripted"\nbase_url = "{model_url}"\n'
        for model in MODELS
    )
    keys = "".join(
        f'[[keys]]\nname = "{name}"\nhash = "sha256:{hashlib.sha256(KEYS[name].encode()).hexdigest()}"\n'
        f'tenant = "acme"\nevents = "{events}"\n'
        for name, events in _EVENTS.items()
    )
    program = json.dumps(sys.executable), json.dumps(["-m", "tools.front_ends.tool_server"])
    server = f"[servers.adder]\ncommand = {program[0]}\nargs = {program[1]}\n"
    return f"[listen]\nport = 0\ndrain_seconds = 0.5\n{models}{server}{keys}"
