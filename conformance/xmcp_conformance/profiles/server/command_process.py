"""The processes of a command that is judged: how one is started, and how it is started before it is needed.

Nothing here loads the SDK of MCP, which takes as long as the start of a server: both happen at the same time.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

import anyio

from xmcp_conformance.core.last_words import LastWords
from xmcp_conformance.core.untrusted_text import quoted

from .peers import Peer, PeerUnavailable, StdioPeer


@dataclass(slots=True)
class CommandProcess:
    """A process of a command, in a session of its own, and the reader of its standard error."""

    process: Any
    stderr: LastWords
    beside: bool = False
    """Whether it was started while another one ran."""
    _stopped: bool = False

    @property
    def runs(self) -> bool:
        """Whether it has not ended by itself."""
        return self.process.returncode is None

    async def stop(self) -> None:
        """End it, with all that it started: it gets the end of its input first, and is killed if that does not help."""
        if self._stopped:
            return  # its number can be that of another process by now
        self._stopped = True
        from mcp.client import stdio as sdk

        await sdk._stop_server_process(self.process)
        if sys.platform != "win32":
            with suppress(OSError):  # nothing that it started is left
                os.killpg(self.process.pid, signal.SIGKILL)


async def start(peer: StdioPeer, stderr: LastWords, *, beside: bool = False) -> CommandProcess:
    """Start a process of a command.

    Raises:
        PeerUnavailable: there is no such program.
        OSError: it cannot be started.
    """
    command, *arguments = peer.command
    runs_in = peer.environment  # the command is the user's, and gets the user's environment
    if not runs_in.has(command):
        raise PeerUnavailable(
            f"The command `{quoted(command)}` does not exist or cannot be run; check the spelling and PATH."
        )
    given: Any = {"env": runs_in.variables(), "cwd": runs_in.cwd}
    if sys.platform == "win32":
        from mcp.client import stdio as sdk

        program = await sdk._get_executable_command(command)
        process: Any = await sdk._create_platform_compatible_process(
            program, arguments, errlog=cast("Any", stderr), **given
        )
    else:
        process = await anyio.open_process(peer.command, stderr=stderr, start_new_session=True, **given)
    return CommandProcess(process, stderr, beside)


@dataclass(slots=True)
class StartedAhead:
    """Starts the next process of a command while the server is judged in the one before, so that nobody waits for it.

    Hosts start a server as often as they like, too. Where `alone`, it starts none.
    """

    peer: Peer
    alone: bool = False
    _waiting: CommandProcess | None = None
    _all: list[CommandProcess] = field(default_factory=list)

    async def start(self, *, beside: bool) -> None:
        """Start a process, unless one waits. One that cannot be started is started again when it is needed.

        Args:
            beside: whether another one runs now.
        """
        if self.alone or self._waiting is not None or not isinstance(self.peer, StdioPeer):
            return
        with suppress(PeerUnavailable, OSError):
            stderr = LastWords(self.peer.environment.log)
            try:
                self._waiting = await start(self.peer, stderr, beside=beside)
            except BaseException:
                stderr.close()
                raise
            self._all.append(self._waiting)

    def take(self) -> CommandProcess | None:
        """Return the process that waits, if there is one and it has not ended by itself."""
        waiting, self._waiting = self._waiting, None
        return waiting if waiting is not None and waiting.runs else None

    async def stop(self) -> None:
        """End every process that was started, and what it started."""
        with anyio.CancelScope(shield=True):
            for one in self._all:
                with suppress(OSError):
                    await one.stop()  # also of one that ended: what it started can hold its pipes
                one.stderr.close()
