"""A program that speaks MCP on its standard input and output, with a bound for everything that it writes.

The SDK's client for programs keeps a line of any length, joins it again for each piece that arrives, and reads on for
as long as the program writes. Here a line has `MAX_MESSAGE_BYTES`, and messages that nobody asked for have an
`Allowance`: a program that writes more is killed at once. Ending a connection in order is the SDK's.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import Any, Final, TextIO

import anyio
from anyio.abc import Process
from fastmcp.client.transports import ClientTransport, StdioTransport
from fastmcp.client.transports import stdio as fastmcp_stdio
from fastmcp.client.transports.base import TransportOptions
from mcp.client import stdio as sdk
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

from xmcp.chat.json_values import containers
from xmcp.client.servers.messages import read_message, too_large
from xmcp.client.servers.peer_limits import (
    MAX_CONTAINERS,
    MAX_MESSAGE_BYTES,
    REPORTS_PER_MESSAGE,
    REQUEST_COUNTS_AS,
    Allowance,
    Flood,
    TooLarge,
)
from xmcp.client.servers.progress_reports import NewestReports, is_report
from xmcp.client.servers.server_protocols import NotificationHandler

DRAIN_BYTES: Final = 16 * 1024 * 1024
"""What a program may write after its connection was closed. It then waits at its pipe until it is killed."""

FLUSH_SECONDS: Final = 0.5
"""Time limit for writing messages that were accepted before the connection was closed, as in the SDK."""

_ID_FIRST: Final = re.compile(rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,18})\s*,\s*"result"')
_ID_LAST: Final = re.compile(rb',\s*"id"\s*:\s*(\d{1,18})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')
"""The id of an answer, where implementations write it."""

_GONE: Final = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)


class BoundedStdioTransport(StdioTransport):
    """A program that ends with its connection, and whose lines are bounded.

    Args:
        command: The program.
        args: Its arguments.
        env: Environment variables, in addition to the few that it inherits.
        cwd: Its working directory.
        log_file: Gets its standard error.
        on_fault: Is told the `TooLarge` or `Flood` for which the program is killed, before its connection ends.
    """

    def __init__(
        self,
        command: str,
        args: list[str],
        *,
        env: dict[str, str] | None = None,
        cwd: str | None = None,
        log_file: Path | TextIO | None = None,
        on_fault: NotificationHandler | None = None,
    ) -> None:
        # FastMCP's default, keep_alive=True, leaves the program running after the client has closed.
        super().__init__(command=command, args=args, env=env, cwd=cwd, keep_alive=False, log_file=log_file)
        self._on_fault = on_fault

    @classmethod
    def like(cls, given: StdioTransport, on_fault: NotificationHandler | None) -> BoundedStdioTransport:
        """Return a transport with the settings of `given`."""
        return cls(given.command, given.args, env=given.env, cwd=given.cwd, log_file=given.log_file, on_fault=on_fault)

    @asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Any
    ) -> AsyncIterator[ClientSession]:
        """Start the program and open a session with it, as `StdioTransport.connect_session` does."""
        options = transport_options or TransportOptions()
        given = StdioServerParameters(command=self.command, args=self.args, env=self.env, cwd=self.cwd)
        async with AsyncExitStack() as stack:
            log = stack.enter_context(self.log_file.open("a")) if isinstance(self.log_file, Path) else self.log_file
            streams = await stack.enter_async_context(bounded_stdio(given, log, self._on_fault))
            yield await stack.enter_async_context(options.session_class(*streams, **session_kwargs))


class BoundedKeptAlive(ClientTransport):
    """A program that the transport `given` keeps alive: bounded like any other if this transport has it started.

    `given` is not changed, and goes on keeping the program alive, for other clients as well. A program that runs
    already when this transport opens a session stays as it was started.
    """

    def __init__(self, given: StdioTransport, on_fault: NotificationHandler | None) -> None:
        self.given = given
        self.legacy_only = given.legacy_only
        self._on_fault = on_fault

    @asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Any
    ) -> AsyncIterator[ClientSession]:
        """Open a session of `given`."""
        async with AsyncExitStack() as stack:
            # FastMCP starts the program in a task of its own, which inherits this.
            before = _STARTED_HERE.set((self._on_fault,))
            try:
                session = await stack.enter_async_context(
                    self.given.connect_session(transport_options=transport_options, **session_kwargs)
                )
            finally:
                _STARTED_HERE.reset(before)
            yield session

    async def close(self) -> None:
        """Close `given`."""
        closing: Any = self.given.close
        await closing()

    def __repr__(self) -> str:
        return repr(self.given)


_STARTED_HERE: Final[ContextVar[tuple[NotificationHandler | None] | None]] = ContextVar("_STARTED_HERE", default=None)
"""Set while a `BoundedKeptAlive` has FastMCP start a program: the handler of its faults."""


def _bounded_if_started_here(start: Any) -> Any:
    """Wrap the SDK's `stdio_client` as FastMCP calls it; programs of other clients are started as before."""

    @wraps(start)
    def started(server: StdioServerParameters, errlog: TextIO) -> Any:
        here = _STARTED_HERE.get()
        return start(server, errlog=errlog) if here is None else bounded_stdio(server, errlog, here[0])

    return started


vars(fastmcp_stdio)["stdio_client"] = _bounded_if_started_here(vars(fastmcp_stdio)["stdio_client"])


@asynccontextmanager
async def bounded_stdio(
    given: StdioServerParameters, log: TextIO | None, on_fault: NotificationHandler | None
) -> AsyncIterator[tuple[Any, Any]]:
    """Run a program; yield the streams of the messages from it and to it. It has ended when the block has.

    Raises:
        OSError: it cannot be started.
    """
    process: Any = await sdk._create_platform_compatible_process(
        command=await sdk._get_executable_command(given.command),
        args=given.args,
        env=sdk.get_default_environment() | (given.env or {}),
        **({} if log is None else {"errlog": log}),
        cwd=given.cwd,
    )
    # No `await` until the task group is entered: a cancellation in between would leave the program running.
    arriving, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, leaving = anyio.create_memory_object_stream[SessionMessage](0)
    asked, written = _Asked(), anyio.Event()

    async def read() -> None:
        async with arriving:
            try:
                await _read_messages(process, asked, arriving)
            except (TooLarge, Flood) as exc:
                if on_fault is not None:
                    await on_fault(exc)
                await _kill(process)
                return
            except anyio.BrokenResourceError:
                pass  # nobody listens any longer, or the program is gone
        await _drain(process)

    async def write() -> None:
        try:
            async with leaving:
                async for message in leaving:
                    if isinstance(message.message, JSONRPCRequest):
                        asked.count += 1
                    line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await process.stdin.send(line.encode() + b"\n")
        except _GONE:
            # Requests end instead of waiting for ever for a program that reads nothing.
            await arriving.aclose()
        finally:
            written.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(write)
        try:
            yield incoming, outgoing
        finally:
            # Bounded, and shielded: a caller that is cancelled leaves no program behind.
            with anyio.CancelScope(shield=True):
                incoming.close()
                outgoing.close()
                with anyio.move_on_after(FLUSH_SECONDS):
                    await written.wait()
                await sdk._stop_server_process(process)
                arriving.close()
                leaving.close()
            tasks.cancel_scope.cancel()


class _Asked:
    """How many requests the program has not answered."""

    count = 0


class LineReader:
    """Splits what arrives into lines. Takes time in proportion to the bytes, whatever the pieces are."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yield the lines that `piece` completes, without their ends.

        Raises:
            TooLarge: a line has more than `MAX_MESSAGE_BYTES`.
        """
        begin = 0
        while (end := piece.find(b"\n", begin)) >= 0:
            self._add(piece[begin:end])
            line = b"".join(self._begun)
            self._begun, self._size, begin = [], 0, end + 1
            yield line
        self._add(piece[begin:])

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > MAX_MESSAGE_BYTES:
            raise TooLarge
        if part:
            self._begun.append(part)


async def _read_messages(process: Process, asked: _Asked, arriving: Any) -> None:
    """Hand on what the program writes until it ends.

    Raises:
        TooLarge, Flood: it writes more than it may.
        BrokenResourceError: nobody takes the messages any longer.
    """
    assert process.stdout is not None  # noqa: S101 - it was started with pipes
    lines, allowance, reports = LineReader(), Allowance(), NewestReports()
    while True:
        try:
            async with asyncio.timeout_at(reports.due):
                piece = await process.stdout.receive()
        except TimeoutError:
            for report in reports.held():
                await arriving.send(report)
            continue
        except _GONE:
            return
        for line in lines.feed(piece):
            message = await _message(line) if containers(line) <= MAX_CONTAINERS else _refused(line)
            sent = message.message if isinstance(message, SessionMessage) else None
            if isinstance(sent, JSONRPCResponse | JSONRPCError) and asked.count:
                asked.count -= 1
            elif is_report(message):
                allowance.take(1 / REPORTS_PER_MESSAGE, len(line))
            else:
                allowance.take(REQUEST_COUNTS_AS if isinstance(sent, JSONRPCRequest) else 1, len(line))
            for passing in reports.passing(message):
                await arriving.send(passing)


def _refused(line: bytes) -> SessionMessage:
    """Return an error in the place of an answer with too many arrays and objects, which is not parsed.

    Raises:
        TooLarge: whose answer it is stands neither at its beginning nor at its end.
    """
    id_ = _ID_FIRST.match(line) or _ID_LAST.search(line[-100:])
    if id_ is None:
        raise TooLarge
    return too_large(int(id_[1]))


async def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return await read_message(line)
    except ValueError as exc:
        return exc


async def _drain(process: Process) -> None:
    """Take what a program still writes, so that it can end by itself, but no more than `DRAIN_BYTES`."""
    assert process.stdout is not None  # noqa: S101 - it was started with pipes
    left = DRAIN_BYTES
    with anyio.CancelScope(shield=True), suppress(*_GONE):
        while left > 0:
            left -= len(await process.stdout.receive())


async def _kill(process: Any) -> None:
    """Kill a program and those that it started, at once."""
    with suppress(ProcessLookupError):
        process.kill()
    await sdk._terminate_process_tree(process)
