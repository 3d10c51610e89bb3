"""The gateway under test: the real command with a file of its own, and keys in a database."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tools import ROOT
from tools.bench.processes import Failed, Process
from tools.gateway_scale.words import token_of
from tools.soak.process_tree import tree

RESERVED_OUTPUT: Final = 50
"""Tokens that are reserved for each answer: more than the model writes."""

GONE_SECONDS: Final = 3.0
"""How long a chat goes on that nobody reads: a client that is cut off comes back sooner."""

START_SECONDS: Final = 180.0
"""Maximum time until the command serves, and until it has made a key, on a busy machine."""

STOP_SECONDS: Final = 45.0
"""Maximum time from SIGTERM to the end."""


def settings(database: str, model: str, tools: str, port: int, tenants: Sequence[str]) -> str:
    """Return the file of the gateway. What is kept of a chat is kept for seconds: memory shows what leaks."""
    lines = [
        f"[listen]\nport = {port}\nload_balancer_seconds = 0.2\ndrain_seconds = 20",
        f"[runs]\nkeep_seconds = 10\nclient_gone_seconds = {GONE_SECONDS}\nwait_seconds = 30\nmax_waiting = 200",
        "[sessions]\nkeep_seconds = 10",
        f"[audit]\ndatabase = {json.dumps(database)}",
        f"[access]\ndatabase = {json.dumps(database)}\nreserve_output_tokens = {RESERVED_OUTPUT}",
        f'[[models]]\nid = "scripted"\nprovider = "openai"\nmodel = "scripted"\nbase_url = "{model}/v1"',
        f'[servers.vault]\nurl = "{tools}/mcp"',
        *(
            f'[servers.vault.tenants.{name}]\nheaders = {{ Authorization = "Bearer ${{{variable_of(name)}}}" }}'
            for name in tenants
        ),
    ]
    return "\n\n".join(lines) + "\n"


def variable_of(tenant: str) -> str:
    """Return the variable that has the credential of a tenant."""
    return f"TOKEN_OF_{tenant.upper()}"


def command(file: Path, workers: int) -> list[str]:
    """Return the arguments of `xmcp` that serve a file with so many processes."""
    more = ["--workers", str(workers)] if workers > 1 else []
    return ["gateway", str(file), "--log-format", "json", *more]


class Served(Process):
    """The command, in a process of its own; `variables` has the pepper of the keys and the credentials of tenants."""

    def __init__(
        self, file: Path, database: str, port: int, workers: int, log: Path, variables: Mapping[str, str]
    ) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._database, self._log = database, log
        self._variables = {**variables, "XMCP_GATEWAY_PEPPER": secrets.token_hex(32), "OPENAI_API_KEY": "none"}
        with log.open("wb") as stderr:
            super().__init__("xmcp", *command(file, workers), cpu=None, stderr=stderr, variables=self._variables)

    def until_ready(self) -> None:
        """Wait until it serves.

        Raises:
            Failed: it does not.
        """
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.returned_now is None:
            try:
                with urllib.request.urlopen(f"{self.url}/readyz", timeout=5):
                    return
            except OSError:
                time.sleep(0.2)
        raise Failed(f"the gateway does not serve: {self._log.read_text()[-1_000:]}")

    def admin_key(self, tag: str) -> str:
        """Return a key of whoever runs the gateway, made by the command.

        Raises:
            Failed: the command made none.
        """
        words = ["gateway", "keys", "--database", self._database, "add", "root", "--tenant", f"ops{tag}"]
        made = subprocess.run(
            [sys.executable, "-m", "xmcp", *words, "--scope", "admin"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
            env={**os.environ, **self._variables},
            check=False,
        )
        found = [line for line in made.stdout.splitlines() if line.startswith("xmcp_")]
        if made.returncode or not found:
            raise Failed(f"no key of the administrator: {made.stderr[-500:]}")
        return found[0]

    def keys(self, admin: str, limits: Mapping[str, int | None]) -> dict[str, str]:
        """Add tenants with the tokens that each may use, and return a key of each."""
        keys = {}
        for tenant, tokens in limits.items():
            allowed = {} if tokens is None else {"tokens_per_month": tokens}
            self._post("/admin/tenants", admin, {"name": tenant, "limits": allowed})
            keys[tenant] = self._post("/admin/keys", admin, {"tenant": tenant, "name": "front-end"})["key"]
        return keys

    def _post(self, path: str, key: str, body: Mapping[str, Any]) -> Any:
        headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        try:
            with urllib.request.urlopen(
                urllib.request.Request(f"{self.url}{path}", json.dumps(body).encode(), headers), timeout=30
            ) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            raise Failed(f"{path}: {error.code} {error.read()[:300]!r}") from None

    def stop(self) -> str:
        """Send SIGTERM and return what is not clean about the end; empty if all is."""
        before = [one.pid for one in tree(self.pid)]
        os.kill(self.pid, signal.SIGTERM)
        begun = time.monotonic()
        while (code := self.returned_now) is None and time.monotonic() - begun < STOP_SECONDS:
            time.sleep(0.1)
        left = [one for one in before if Path(f"/proc/{one}").exists() and one != self.pid]
        said = [] if code == 0 else ["it did not end" if code is None else f"it ended with code {code}"]
        return "; ".join([*said, *(f"the process {pid} is left" for pid in left)])

    @property
    def returned_now(self) -> int | None:
        """The exit code, if it has ended."""
        return self._process.poll()

    def __exit__(self, *error: object) -> None:
        for one in reversed(tree(self.pid)):
            try:
                os.kill(one.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        super().__exit__(*error)


def free_port() -> int:
    """Return a port of the loopback that nothing listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port


def credentials(tenants: Sequence[str]) -> dict[str, str]:
    """Return a variable for each tenant, with a new credential."""
    return {variable_of(tenant): token_of(tenant, secrets.token_hex(4)) for tenant in tenants}
