"""Measure what the gateway and LiteLLM's proxy add to a completion of the same model, without tools.

The model, the gateway and the proxy are a process each, and the same client asks all three in turn, over connections
that stay open: the model itself, `scripted:plain` of the gateway, and the proxy. An overhead is the median of the time
minus that of the model itself; a figure is the gateway's overhead divided by the proxy's. The proxy has the settings
that its documentation recommends for production: one worker, no logging below errors, no database, no telemetry. Nor
does the gateway have a database; each asks for a key that stands in its settings.

The proxy has an environment of its own: the folder that `XMCP_BENCH_LITELLM` names, else one in the temporary folder.
It is made when it is not there, from the package index.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Final, NamedTuple, Self

from tools.bench.figure import Figure
from tools.bench.processes import START_SECONDS, Failed, Process, Server
from tools.bench.script import Script
from xmcp.gateway.keys import digest, new_key

BAR: Final = 0.5
"""Maximum of the gateway's overhead, divided by that of the proxy."""

WORDS: Final = 20
"""Words of each answer."""

WARM_UP: Final = 40
"""Requests to each before anything counts."""

ANSWER_SECONDS: Final = 60.0

_MASTER_KEY: Final = "sk-bench-0123456789abcdef0123456789abcdef"

_PRODUCTION: Final = {
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_LOG": "ERROR",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it fetches a list of prices from the network
    "PYTHONPATH": "",
}


class Taken(NamedTuple):
    """Seconds of one round: of a completion in one piece; until the first word of a stream, and until its end."""

    whole: float
    first: float
    last: float


class Peer:
    """One of the three that answer, over one connection."""

    def __init__(self, port: int, model: str, key: str) -> None:
        self._port = port
        self._model = model
        self._key = key

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def ask(self) -> Taken:
        """Ask for a completion in one piece, then for a stream.

        Raises:
            Failed: an answer is not that of the script.
        """
        begun = time.perf_counter()
        self._writer.write(self._request(stream=False))
        head = await self._reader.readuntil(b"\r\n\r\n")
        body = await self._reader.readexactly(int(re.findall(rb"(?i)content-length: (\d+)", head)[0]))
        whole = time.perf_counter() - begun
        self._check(json.loads(body).get("choices", [{"message": {"content": body}}])[0]["message"]["content"])
        begun = time.perf_counter()
        self._writer.write(self._request(stream=True))
        first, data = 0.0, b""
        while not data.endswith(b"0\r\n\r\n"):  # the end of a body in chunks
            if not (more := await self._reader.read(65_536)):
                raise Failed(f"{self._model} broke off: {data[:200]!r}")
            data += more
            if not first and b"word0" in data:
                first = time.perf_counter() - begun
        last = time.perf_counter() - begun
        self._check("".join(re.findall(r'"content": ?"([^"]*)"', data.decode())))
        return Taken(whole, first, last)

    def _check(self, said: object) -> None:
        if said != Script([], words=WORDS).answer:
            raise Failed(f"{self._model} at port {self._port} answered {said!r}")

    def _request(self, *, stream: bool) -> bytes:
        messages = [{"role": "user", "content": Script([], words=WORDS).prompt}]
        # A text of its own, so that no repetition is answered from what is kept.
        asked = {"model": self._model, "messages": messages, "stream": stream, "user": f"u{time.perf_counter_ns()}"}
        body = json.dumps(asked).encode()
        head = "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        head += f"authorization: Bearer {self._key}\r\n"
        return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def figures(rounds: int) -> Iterator[Figure]:
    """Yield the gateway's overhead to LiteLLM's, for a completion in one piece and as a stream."""
    python = environment(Path(os.environ.get("XMCP_BENCH_LITELLM") or Path(tempfile.gettempdir()) / "bench-litellm"))
    with ExitStack() as up:
        folder = Path(up.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        model = up.enter_context(Server("model"))
        address = f"{model.ready()}/v1"
        ours, theirs, key = _free_port(), _free_port(), new_key()
        (folder / "gateway.toml").write_text(
            f'[[models]]\nid = "scripted"\nprovider = "openai"\nmodel = "scripted"\nbase_url = "{address}"\n\n'
            f'[[keys]]\nname = "bench"\ntenant = "bench"\nhash = "sha256:{digest(key).hex()}"\n'
        )
        (folder / "litellm.yaml").write_text(json.dumps(_proxy(address)))
        log = up.enter_context((folder / "log").open("wb"))
        gateway = ("gateway", str(folder / "gateway.toml"), "--port", str(ours))
        up.enter_context(Process("xmcp", *gateway, cpu=1, stderr=log, variables={"OPENAI_API_KEY": "none"}))
        options = ("--config", str(folder / "litellm.yaml"), "--host", "127.0.0.1", "--num_workers", "1")
        words = ("litellm.proxy.proxy_cli", *options, "--port", str(theirs), "--telemetry", "False")
        # Its standard output would fill the pipe that nobody reads, so that it goes to the log as well.
        up.enter_context(Process(*words, cpu=1, stderr=log, stdout=log, python=python, variables=_PRODUCTION))
        for port, path in ((ours, "/livez"), (theirs, "/health/liveliness")):
            _until_up(port, path, folder / "log")
        peers = (
            Peer(model.port, "scripted", "none"),
            Peer(ours, "scripted:plain", key),
            Peer(theirs, "scripted", _MASTER_KEY),
        )
        yield from asyncio.run(_race(rounds, *peers))


def environment(folder: Path) -> str:
    """Return the interpreter of the environment with LiteLLM's proxy, which is made if it is not there.

    Raises:
        Failed: it cannot be made.
    """
    python = folder / "bin" / "python"
    if not (folder / "bin" / "litellm").exists():
        uv = shutil.which("uv")
        if uv is None:
            raise Failed("LiteLLM's environment cannot be made without uv")
        for words in (["venv", "--clear", str(folder)], ["pip", "install", "--python", str(python), "litellm[proxy]"]):
            made = subprocess.run([uv, "-q", *words], capture_output=True, text=True, check=False)
            if made.returncode:
                raise Failed(f"uv {words[0]} failed: {made.stderr[-500:]}")
    return str(python)


def _proxy(address: str) -> Mapping[str, object]:
    """Return the settings of the proxy; JSON is YAML, too."""
    parameters = {"model": "openai/scripted", "api_base": address, "api_key": "none"}
    return {
        "model_list": [{"model_name": "scripted", "litellm_params": parameters}],
        "litellm_settings": {"set_verbose": False, "telemetry": False, "request_timeout": 600, "num_retries": 0},
        "general_settings": {"master_key": _MASTER_KEY, "disable_spend_logs": True, "disable_error_logs": True},
    }


async def _race(rounds: int, *peers: Peer) -> list[Figure]:
    async with AsyncExitStack() as up:
        for peer in peers:
            await up.enter_async_context(peer)
        taken: dict[Peer, list[Taken]] = {peer: [] for peer in peers}
        for number in range(WARM_UP + 40 * rounds):
            turn = number % len(peers)
            for peer in (*peers[turn:], *peers[:turn]):
                async with asyncio.timeout(ANSWER_SECONDS):
                    taken[peer].append(await peer.ask())
    medians = (Taken(*map(statistics.median, zip(*taken[peer][WARM_UP:], strict=True))) for peer in peers)
    return list(compared(*medians))


def compared(model: Taken, gateway: Taken, proxy: Taken) -> Iterator[Figure]:
    """Yield the figures from the medians of the three."""
    names = ("whole completion", "first word of a stream", "whole stream")
    for name, floor, ours, theirs in zip(names, model, gateway, proxy, strict=True):
        added, others = ((one - floor) * 1e3 for one in (ours, theirs))
        rest = f"{added:.2f} ms more than {floor * 1e3:.2f}; LiteLLM {others:.2f} more"
        yield Figure(f"{name}, x LiteLLM's overhead", added / others if others > 0 else float("inf"), BAR, rest)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port


def _until_up(port: int, path: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", path)
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.2)
        finally:
            connection.close()
    raise Failed(f"nothing answers at port {port} ({path}): {log.read_text(errors='replace')[-500:]}")
