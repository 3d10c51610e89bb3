"""A run: start the model, the tool server and the gateway, play the chats, stop the gateway, read what it recorded."""

from __future__ import annotations

import asyncio
import json
import secrets
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from tools.bench.processes import Failed, Process
from tools.gateway_scale.clients import Clients
from tools.gateway_scale.plan import planned, quotas
from tools.gateway_scale.records import records_of
from tools.gateway_scale.served import START_SECONDS, Served, credentials, free_port, settings, variable_of
from tools.gateway_scale.verdicts import Measured
from tools.gateway_scale.words import tenant_name
from tools.soak.process_tree import resident, tree

AT_ONCE: Final = 32
"""Clients at the same time."""

SAMPLE: Final = 0.5
"""Seconds between two looks at the memory."""

QUIET_SECONDS: Final = 30.0
"""Maximum time after the last client until the model has nothing to do any more."""


class Sampler(threading.Thread):
    """Notes the memory of a process and its descendants."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._done = threading.Event()
        self.sizes: list[tuple[float, int]] = []

    def run(self) -> None:
        """Look until `stop`."""
        while not self._done.wait(SAMPLE):
            self.sizes.append((time.monotonic(), sum(resident(one.pid) for one in tree(self._pid))))

    def stop(self) -> None:
        """Look no more."""
        self._done.set()
        self.join(10)


def run(
    chats: int, tenants: int, workers: int, postgres: str | None, seed: int, say: Callable[[str], None]
) -> Measured:
    """Run so many chats of so many tenants; whatever hangs ends it early."""
    tag = secrets.token_hex(3)
    names = [tenant_name(number, tag) for number in range(tenants)]
    plan = planned(chats, tenants, tag, seed)
    limits = {names[tenant]: tokens for tenant, tokens in quotas(plan).items()}
    measured = Measured(workers, sum(len(one.questions) for one in plan), names, limits)
    with ExitStack() as up:
        folder = Path(up.enter_context(tempfile.TemporaryDirectory(prefix="scale-")))
        database = postgres or str(folder / "gateway.db")
        try:
            model, tools = (
                up.enter_context(Process(f"tools.gateway_scale.{name}_process", cpu=None)) for name in ("model", "tool")
            )
            asked, called = (f"http://127.0.0.1:{int(one.line(START_SECONDS))}" for one in (model, tools))
            port, tokens = free_port(), credentials(names)
            (folder / "gateway.toml").write_text(settings(database, asked, called, port, names))
            gateway = up.enter_context(Served(folder / "gateway.toml", database, port, workers, folder / "log", tokens))
            gateway.until_ready()
            keys = gateway.keys(gateway.admin_key(tag), {name: limits.get(name) for name in names})
            say(f"{tenants} tenants, {len(limits)} of them with a quota, have their keys; the chats begin")
            clients = Clients(gateway.url, names, keys, {name: tokens[variable_of(name)] for name in names})
            sampler = Sampler(gateway.pid)
            sampler.start()
            asyncio.run(clients.play(plan, AT_ONCE))
            sampler.stop()
            say("the chats are over")
            measured.notes, measured.memory = clients.notes, sampler.sizes
            told = _when_quiet(asked)
            measured.answered, measured.cut, measured.crossed = told["tokens"], told["cut"], told["crossed"]
            measured.ended = gateway.stop()
            measured.log = (folder / "log").read_text(encoding="utf-8", errors="replace")
            measured.records = records_of(database, tag)
        except Failed as exc:
            measured.broken = str(exc)
    return measured


def _when_quiet(model: str) -> dict[str, Any]:
    """Return what the model counted, when it has nothing to do any more.

    Raises:
        Failed: it still has.
    """
    deadline = time.monotonic() + QUIET_SECONDS
    while time.monotonic() < deadline:
        with urllib.request.urlopen(f"{model}/state", timeout=10) as answer:
            told: dict[str, Any] = json.loads(answer.read())
        if not told["open"]:
            return told
        time.sleep(0.5)
    raise Failed("the model still answers: a chat that its client has left goes on")
