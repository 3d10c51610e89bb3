"""A Redis of a test's own, which it can stop, freeze and start again on its port."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import redis

PATIENCE = 60
"""Maximum seconds for the server to start or to stop."""


def program() -> str | None:
    """Return the path of `redis-server`; `None` if there is none."""
    return shutil.which("redis-server")


class RedisServer:
    """A server without persistence: what it had is gone when it stops. `with` starts and removes it."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._home = Path(tempfile.mkdtemp(prefix="xmcp-redis-"))
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.password = "sesame-of-the-test"
        self.url = f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    def __enter__(self) -> RedisServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self._home, ignore_errors=True)

    def start(self) -> None:
        words = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        words += ["--requirepass", self.password, "--dir", str(self._home)]
        self._process = subprocess.Popen([self._program, *words], stdout=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        with self.client() as client:
            while True:
                try:
                    client.ping()
                    return
                except redis.RedisError:
                    assert time.monotonic() < end, "redis-server does not start"
                    time.sleep(0.05)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)
            self._process = None

    def freeze(self) -> None:
        """Let the server take connections and commands, and answer nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url, socket_timeout=PATIENCE, retry=None, decode_responses=True)
