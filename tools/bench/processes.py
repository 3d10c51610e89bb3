"""Start the servers and clients of the bench and of the soak, each in a process of its own; send commands."""

from __future__ import annotations

import http.client
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import IO, Any, Self

from tools import ROOT
from tools.bench.script import Script

START_SECONDS = 60.0
ANSWER_SECONDS = 120.0


class Failed(Exception):
    """A process did not answer, or a chat did not end as its script says. The message names it and the reason."""


class Process:
    """A server or a client in a process of its own, which ends with the bench even if the bench is killed.

    Args:
        module: The module that the process runs, with its `arguments`.
        cpu: The processor that it runs on, if there are several; `None`: any.
        variables: Environment variables, in addition to those of this process.
        stderr: The file that gets its standard error; `None`: that of this process.
        stdout: The file that gets its standard output; `None`: `line` reads it.
        python: The interpreter; default: that of this process.
    """

    def __init__(
        self,
        module: str,
        *arguments: str,
        cpu: int | None = 0,
        variables: Mapping[str, str] | None = None,
        stderr: IO[bytes] | None = None,
        stdout: IO[bytes] | None = None,
        python: str = sys.executable,
    ) -> None:
        # The bench uses the loopback interface without a proxy, and no key or address of the environment.
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.lower().endswith("_proxy") and not name.startswith("OPENAI_")
        }
        self.name = " ".join((module.rpartition(".")[2], *arguments))
        self._process = subprocess.Popen(
            [python, "-m", module, *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=stdout or subprocess.PIPE,
            bufsize=0,
            stderr=stderr,
            env={**environment, **(variables or {})},
        )
        if cpu is not None and hasattr(os, "sched_setaffinity") and len(cpus := sorted(os.sched_getaffinity(0))) > 1:
            os.sched_setaffinity(self._process.pid, {cpus[cpu]})

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def line(self, seconds: float) -> str:
        """Return the next line that the process prints.

        Raises:
            Failed: it printed no line within `seconds`, or it ended.
        """
        output = self._process.stdout
        if output is None or not select.select([output], [], [], seconds)[0]:
            raise Failed(f"{self.name} did not answer within {seconds:g} s")
        if not (line := output.readline()):
            raise Failed(f"{self.name} ended")
        return line.decode()

    def send(self, command: object) -> None:
        """Write a line of JSON to the process.

        Raises:
            Failed: it has ended.
        """
        if self._process.stdin:
            try:
                self._process.stdin.write(json.dumps(command).encode() + b"\n")
            except BrokenPipeError:
                raise Failed(f"{self.name} ended") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate(timeout=START_SECONDS)


class Server(Process):
    """The scripted model or a tool server."""

    def __init__(self, *arguments: str) -> None:
        super().__init__("tools.bench.scripted_servers", *arguments, cpu=0)
        self.port = 0

    def ready(self) -> str:
        """Return the address of the server as soon as it listens."""
        self.port = self.port or int(self.line(START_SECONDS))
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str) -> dict[str, int]:
        """Request the state of the server, or a release."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request(method, path)
            answer: dict[str, int] = json.loads(connection.getresponse().read())
            return answer
        finally:
            connection.close()

    def until_held(self, number: int) -> None:
        """Wait until `number` requests wait for a release.

        Raises:
            Failed: fewer arrived within ANSWER_SECONDS.
        """
        deadline = time.monotonic() + ANSWER_SECONDS
        while (held := self.ask("GET", "/state")["held"]) < number:
            if time.monotonic() > deadline:
                raise Failed(f"only {held} of {number} requests reached {self.name}")
            time.sleep(0.05)


class Client(Process):
    """The floor or `AIClient`."""

    def __init__(self, kind: str) -> None:
        super().__init__("tools.bench.client_process", kind, cpu=1)

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Run a command of `client_process.Worker`.

        Raises:
            Failed: the command failed, or a chat ended with a wrong answer.
        """
        self.send([do, arguments])
        answer: dict[str, Any] = json.loads(self.line(ANSWER_SECONDS))
        if "error" in answer:
            raise Failed(f"{self.name}: {answer['error'][:200]}")
        return answer

    def connect(self, peer: str, model: Server, *servers: Server, **options: Any) -> None:
        """Connect the client, under the name `peer`, to a model and tool servers."""
        addresses = [f"{server.ready()}/mcp" for server in servers]
        self.ask("connect", peer=peer, model=f"{model.ready()}/v1", servers=addresses, options=options)

    def measure(self, peer: str, how: str, script: Script, chats: int) -> dict[str, Any]:
        """Return the seconds and the CPU seconds of `chats` chats. `how` is chat, first_token or at_once."""
        return self.ask("measure", peer=peer, how=how, script=script, chats=chats)
