"""A PostgreSQL server of a test's own, which it can stop, freeze and start again."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from contextlib import suppress
from glob import glob
from pathlib import Path

import psycopg

PATIENCE = 60
"""Maximum seconds for the server to start or to stop."""


def programs() -> Path | None:
    """Return the folder with `initdb` and `postgres`; `None` if there is none."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else []
    folders += [Path(path).parent for path in sorted(glob("/usr/lib/postgresql/*/bin/initdb"), reverse=True)]
    return next((folder for folder in folders if (folder / "postgres").exists()), None)


class PostgresServer:
    """A server with an empty cluster in a folder of its own; `with` starts and removes it."""

    def __init__(self, folder: Path) -> None:
        self._programs = folder
        # Below /tmp: another user has to be able to reach it, and the path of a socket has to be short.
        self._home = Path(tempfile.mkdtemp(prefix="xmcp-pg-", dir="/tmp"))
        self._data = self._home / "data"
        self._as = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def __enter__(self) -> PostgresServer:
        if self._as:
            owner = pwd.getpwnam("postgres")
            os.chown(self._home, owner.pw_uid, owner.pw_gid)
        self._run("initdb", "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C")
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(subprocess.CalledProcessError, FileNotFoundError):  # the test may have stopped it
            self.resume()
            self.stop()
        shutil.rmtree(self._home, ignore_errors=True)

    def start(self) -> None:
        options = f"-p {self.port} -k {self._home} -c listen_addresses=127.0.0.1 -c fsync=off"
        self._run("pg_ctl", "-w", "-t", str(PATIENCE), "-o", options, "-l", str(self._home / "log"), "start")

    def new_database(self) -> str:
        """Make an empty database, and return its URL."""
        name = f"test_{secrets.token_hex(8)}"
        with psycopg.connect(self.url, autocommit=True) as server:
            server.execute(f'CREATE DATABASE "{name}"')
        return self.url.rpartition("/")[0] + f"/{name}"

    def stop(self) -> None:
        self._run("pg_ctl", "-w", "-t", str(PATIENCE), "-m", "immediate", "stop")

    def freeze(self) -> None:
        """Let the server take what it is sent, and answer nothing."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        main = int((self._data / "postmaster.pid").read_text().split()[0]) if self._data.exists() else 0
        with suppress(FileNotFoundError, ProcessLookupError):
            listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(main)], capture_output=True, text=True)
            for pid in [main, *map(int, listed.stdout.split())]:
                os.kill(pid, number)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [*self._as, str(self._programs / program), "-D", str(self._data), *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=2 * PATIENCE,
            cwd="/",
        )
