"""One server in several processes (`--workers`), or in one that is replaced when a file changes (`--reload`).

uvicorn's supervisors start, watch and end the processes. Each imports the author's module again; the socket is created
once and shared.
"""

from __future__ import annotations

import math
import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any, Final

import click
import uvicorn
from fastmcp import FastMCP
from fastmcp.server.http import StarletteWithLifespan
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import ChangeReload, Multiprocess
from uvicorn.supervisors.multiprocess import Process

from xmcp.cli import in_a_line
from xmcp.cli.target import load_server
from xmcp.server.transports import CLEANUP, HTTPTransport, ReadyServer, Serving, http_app

_STEP: Final = 0.1  # seconds between two looks at processes that end
_MORE: Final = 1.0  # seconds after which a process is killed that does not end itself


@dataclass(frozen=True)
class Application:
    """Creates the ASGI application in any process: unlike the application, this object can be pickled."""

    target: str
    transport: HTTPTransport
    options: dict[str, Any] = field(default_factory=dict)

    def of(self, server: FastMCP[Any]) -> StarletteWithLifespan:
        """Return the application of `server`; a plain FastMCP server gets the defaults of XMCP."""
        if isinstance(server, Serving):
            return server.http_app(transport=self.transport, **self.options)
        return http_app(server, transport=self.transport, **self.options)

    def __call__(self) -> StarletteWithLifespan:
        """Import the server and return its application, in a process that ends together with its parent."""
        _unblock_ctrl_c()
        _end_with_parent()
        try:
            return self.of(load_server(self.target))
        except click.ClickException as error:
            error.show()
        except Exception as error:
            click.echo(f"Error: {self.target} could not be served: {in_a_line(error)}", err=True)
        sys.exit(STARTUP_FAILURE)


class _ChildServer(ReadyServer):
    """A server whose parent decides when it ends: with SIGTERM, and for an end at once with SIGKILL.

    A terminal sends Ctrl-C to both, and a service manager SIGTERM; neither is a second signal.
    """

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end at the first SIGTERM."""
        if sig != signal.SIGINT and not self.should_exit:
            super().handle_exit(sig, frame)


# ---- workers ----


class _Worker(Process):
    """A process of uvicorn that reports to its parent when it accepts connections."""

    @cached_property
    def server(self) -> ReadyServer:
        return _ChildServer(self.config, self._say_ready)

    def _say_ready(self) -> None:
        self.child_conn.send(True)

    def start(self) -> None:
        with _ctrl_c_blocked():
            super().start()

    def has_started(self) -> bool:
        return self.parent_conn.poll()

    def runs(self) -> bool:
        return self.process.is_alive()


class Workers(Multiprocess):
    """Several processes that accept connections on one socket.

    A process that ends is replaced. If one cannot start, all are ended, because the next could not start either.
    """

    processes: list[_Worker]  # type: ignore[assignment]

    def __init__(self, config: uvicorn.Config, listener: socket.socket, ready: Callable[[], None]) -> None:
        super().__init__(config, [listener])
        self.failed = False
        self._ready = ready

    def init_processes(self) -> None:
        """Start the workers and wait until they accept; the first alone, so that a failure is reported only once."""
        for number in (1, self.processes_num):
            while len(self.processes) < number:
                self.processes.append(self._started())
            while not self.should_exit.is_set() and not all(worker.has_started() for worker in self.processes):
                self.should_exit.wait(0.02)
                self.handle_signals()
                self.keep_subprocess_alive()
            if self.should_exit.is_set():
                return
        self._ready()

    def keep_subprocess_alive(self) -> None:
        """Replace workers that have ended."""
        for index, worker in enumerate(self.processes):
            if self.should_exit.is_set() or worker.runs():
                continue
            if not worker.has_started():
                self.failed = True
                self.should_exit.set()
                return
            self.processes[index] = self._started()

    def _started(self) -> _Worker:
        worker = _Worker(self.config, self.sockets)
        worker.start()
        return worker

    def join_all(self) -> None:
        """Wait for the workers to end: their calls get the grace, unless a second signal arrives."""
        for listener in self.sockets:
            listener.close()  # else connections would be queued that no worker accepts
        for worker in self.processes:
            _join(worker.process, self.config, lambda: bool(self.signal_queue))

    # Closing the terminal ends the command, and no signal changes the number of workers.
    handle_hup = handle_quit = Multiprocess.handle_term
    handle_ttin = handle_ttou = lambda _: None


# ---- reload ----


class _Attempt(_ChildServer):
    """A server that is replaced when a file changes, even if it could not start."""

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Run; if the server could not start, say what happens next."""
        try:
            super().run(sockets)
        except SystemExit:
            click.echo("The server could not start; it is started again when a file changes.", err=True)
            raise


class _Reload(ChangeReload):  # type: ignore[misc, valid-type]
    _signals = 0

    def signal_handler(self, sig: int, frame: FrameType | None) -> None:
        self._signals += 1
        super().signal_handler(sig, frame)

    def startup(self) -> None:
        with _ctrl_c_blocked():
            super().startup()

    def restart(self) -> None:
        with _ctrl_c_blocked():
            super().restart()

    def shutdown(self) -> None:
        for listener in self.sockets:
            listener.close()
        first = self._signals
        self.process.terminate()
        _join(self.process, self.config, lambda: self._signals > first)


def reload(config: uvicorn.Config, listener: socket.socket, directory: Path, ready: Callable[[], None]) -> None:
    """Serve in a child process until interrupted; it is replaced when a Python file below `directory` changes."""
    config.reload_dirs = [directory]
    _Reload(config, target=_Attempt(config, ready).run, sockets=[listener]).run()


# ---- a process and its parent ----


def _join(process: BaseProcess, config: uvicorn.Config, asked_again: Callable[[], bool]) -> None:
    """Wait until a process that was told to end has ended.

    It is killed if it is `asked_again`, or has not ended within its grace and some time to clean up.
    """
    grace = config.timeout_graceful_shutdown
    deadline = math.inf if grace is None else time.monotonic() + grace + CLEANUP + _MORE
    while process.is_alive() and time.monotonic() < deadline and not asked_again():
        process.join(_STEP)
    if process.is_alive():
        process.kill()
    process.join()


@contextmanager
def _ctrl_c_blocked() -> Iterator[None]:
    """Block Ctrl-C in processes started meanwhile, until they can end without a traceback.

    While a process imports modules, Ctrl-C would print a traceback. The parent gets the signal after the block.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # otherwise it starts with the first process, and unblocks the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _unblock_ctrl_c() -> None:
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="xmcp parent", daemon=True).start()
