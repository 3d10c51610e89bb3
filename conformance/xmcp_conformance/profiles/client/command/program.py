"""A program behind a command, with which the suite exchanges JSON objects, one in a line; it is never trusted.

`protocol.schema.json` beside this file has the form of all messages. Everything is bounded: the time for each answer,
the size and the number of lines; and no process is left.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol, cast

import jsonschema_rs

from xmcp_conformance.core.command_environment import OURS, CommandEnvironment
from xmcp_conformance.core.last_words import LastWords
from xmcp_conformance.core.leaks import redacted
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.core.untrusted_text import printable, quoted
from xmcp_conformance.profiles.client.adapter import Json

PROTOCOL: Final = 1
SCHEMA: Final = Path(__file__).with_name("protocol.schema.json")
MOST_READ: Final = 64 * 1024 * 1024
"""Maximum number of bytes of a line."""
_MOST_LINES: Final = 200_000
"""Maximum number of lines in one scenario. A model writes 40,000 characters, and a client may tell each by itself."""
_MOST_BYTES: Final = 256 * 1024 * 1024
"""Maximum number of bytes in one scenario."""
_STOP_SECONDS: Final = 5.0
"""The time in which a program has to end whose input has ended."""


class ProgramFault(Exception):
    """The program did not do as the protocol says. The message says what it did, for a person."""


class LateAnswer(ProgramFault):
    """The program did not answer in time. On a busy machine that is not its fault."""


class Listener(Protocol):
    """Takes what a program says unasked."""

    def heard(self, message: Json) -> Json | None:
        """Return the answer to a message, if it wants one.

        Raises:
            ProgramFault: the message makes no sense.
        """


class Program:
    """A program that runs. Its lines are read in the event loop, as soon as they arrive and in their order.

    What a client tells before it sends a request over HTTP is so recorded before that request, as long as it writes
    its lines without a buffer.

    Attributes:
        name: what the client calls itself.
        features: what it has; see `scenario.Feature`.
        fixed: the options that it cannot set, with their values.
        listener: takes what it says unasked.
    """

    def __init__(self, log: str | None = None) -> None:
        self.name, self.features, self.fixed = "", frozenset[str](), dict[str, Any]()
        self.listener: Listener | None = None
        self._transport: asyncio.SubprocessTransport | None = None
        self._stderr = LastWords(log)
        self._rest = bytearray()
        self._waiting: dict[int, tuple[str, asyncio.Future[Json]]] = {}
        self._fault: ProgramFault | None = None
        self._ended = asyncio.Event()
        self._last: asyncio.Task[None] | None = None
        self._lines = self._id = self._bytes = 0

    @classmethod
    async def started(cls, command: Sequence[str], seconds: float, environment: CommandEnvironment = OURS) -> Program:
        """Start a command, and return the program once it has said hello.

        Args:
            command: its words.
            seconds: the time that it has for that.
            environment: what it runs in.

        Raises:
            ProgramFault: it cannot be started, or does not speak the protocol.
        """
        if not environment.has(command[0]):
            raise ProgramFault("the command does not exist or cannot be run; check the spelling and PATH")
        program = cls(environment.log)
        try:
            transport, _ = await asyncio.get_running_loop().subprocess_exec(
                lambda: _Lines(program),
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=program._stderr,
                cwd=environment.cwd,
                env=environment.variables(),
                start_new_session=True,  # so that whatever it starts ends with it
            )
        except OSError as error:
            program._stderr.close()
            raise ProgramFault(f"the command cannot be run: {error.strerror}") from error
        program._transport = transport
        try:
            specification = registry().version
            hello = await program.ask("hello", seconds, form="hello", protocol=PROTOCOL, specification=specification)
        except BaseException:
            await program.end()
            raise
        program.name = printable(hello["name"])
        program.features, program.fixed = frozenset(hello["features"]), hello.get("fixed", {})
        return program

    async def ask(self, command: str, seconds: float, *, form: str = "done", **request: Any) -> Json:
        """Send a command, and return the answer.

        Args:
            command: its name.
            seconds: the time for the answer.
            form: the form of the answer in the schema.
            request: its other members.

        Raises:
            ProgramFault: the program ended, there is no answer in time, or one of another form.
        """
        self._id += 1
        number = self._id
        future: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[number] = form, future
        try:
            self.tell({"command": command, "id": number, **request})
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            of = f" of chat {request['chat']}" if "chat" in request else ""
            longer = "; --chat-timeout allows a client longer that is still at it" if command == "chat" else ""
            fault = LateAnswer(f"no answer to `{command}`{of} within {seconds:g} s{longer}")
            self._break(fault)
            raise fault from None
        finally:
            self._waiting.pop(number, None)

    def tell(self, message: Mapping[str, Any]) -> None:
        """Send a message that has no answer.

        Raises:
            ProgramFault: the program did not do as the protocol says before.
        """
        if self._fault is not None:
            raise self._fault
        pipe: Any = self._transport.get_pipe_transport(0) if self._transport is not None else None
        pipe.write(json.dumps(message).encode() + b"\n")

    def listen(self, listener: Listener | None) -> None:
        """Hand on to `listener` what the program says unasked from now on."""
        self.listener, self._lines, self._bytes = listener, 0, 0

    @property
    def fault(self) -> ProgramFault | None:
        """What the program did that the protocol does not allow; it is of no more use then."""
        return self._fault

    async def end(self) -> None:
        """End the program: close its input, wait a little, and kill it with all that it started in its own group."""
        transport, self._transport = self._transport, None
        if transport is None:
            return
        pipe: Any = transport.get_pipe_transport(0)
        if pipe is not None:
            pipe.close()
        if self._fault is None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), _STOP_SECONDS)
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(transport.get_pid(), signal.SIGKILL)
            else:
                transport.kill()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), _STOP_SECONDS)
        transport.close()
        if self._last is not None:
            await self._last
        self._stderr.close()

    def received(self, data: bytes) -> None:
        """Take a piece of what the program wrote."""
        if self._fault is not None:
            return
        self._bytes += len(data)
        first, *others = data.split(b"\n")
        self._rest += first
        try:
            for other in others:
                line, self._rest = bytes(self._rest), bytearray(other)
                self._read(line)
            if self._bytes > _MOST_BYTES:
                raise ProgramFault(f"more than {_MOST_BYTES // 2**20} MiB in one scenario")
            if len(self._rest) > MOST_READ:
                raise ProgramFault(f"a line of more than {MOST_READ // 2**20} MiB, which is not read")
        except ProgramFault as fault:
            self._break(fault)
        except Exception as error:  # what it wrote is data, and ends nothing but itself
            self._break(ProgramFault(f"a message that cannot be read ({type(error).__name__})"))

    def exited(self, transport: asyncio.SubprocessTransport) -> None:
        """Take note that the program has ended."""
        self._ended.set()
        self._last = asyncio.create_task(self._say_why(transport.get_returncode()))

    async def _say_why(self, code: int | None) -> None:
        said = await asyncio.to_thread(self._stderr.telling_line)  # it waits for what was written last
        how = f"ended by signal {-code}" if code is not None and code < 0 else f"ended with {code}"
        self._break(ProgramFault(f"the program {how}{f'; it wrote to stderr: {quoted(said)}' if said else ''}"))

    def _read(self, line: bytes) -> None:
        if self._fault is not None or not line.strip():
            return
        self._lines += 1
        if self._lines > _MOST_LINES:
            raise ProgramFault(f"more than {_MOST_LINES:,} lines in one scenario")
        try:
            message = json.loads(line, parse_constant=_refuse)
        except (ValueError, RecursionError):
            raise ProgramFault(f"a line that is no JSON: `{_shown(line.decode('utf-8', 'replace'))}`") from None
        if isinstance(message, dict) and "id" in message:
            form, future = self._waiting.get(message["id"], ("", None)) if _is_number(message["id"]) else ("", None)
            if future is None or future.done():
                raise ProgramFault(f"an answer that nobody asked for: `{_shown(json.dumps(message))}`")
            _check(message, form)
            future.set_result(message)
            return
        _check(message, "unasked")
        if self.listener is None:
            raise ProgramFault(f"a message without a running client: `{_shown(json.dumps(message))}`")
        if (answer := self.listener.heard(message)) is not None:
            self.tell({"command": "answer", "ask": message["ask"], **answer})

    def _break(self, fault: ProgramFault) -> None:
        """Take note of a fault; whoever waits for the program learns of it."""
        self._fault = self._fault or fault
        for _, future in self._waiting.values():
            if not future.done():
                future.set_exception(self._fault)


class _Lines(asyncio.SubprocessProtocol):
    """Hands on what the event loop reads of a program."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def pipe_data_received(self, _fd: int, data: bytes) -> None:
        self._program.received(data)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def process_exited(self) -> None:
        self._program.exited(self._transport)


def _check(message: Any, form: str) -> None:
    if (fault := next(iter(_form(form).iter_errors(message)), None)) is not None:
        raise ProgramFault(f"the message `{_shown(json.dumps(message))}`: {quoted(fault.message)}")


@cache
def _form(name: str) -> jsonschema_rs.Draft202012Validator:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return jsonschema_rs.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _refuse(word: str) -> Any:
    raise ValueError(word)


def _shown(text: str) -> str:
    """Return what a program wrote, for a report."""
    return quoted(redacted(text))
