"""A codec in any language, behind a command that reads requests and writes answers, one JSON object in a line.

`protocol.schema.json` beside this file has the form of both. Everything is bounded: the time for each answer, its
size, how often a command that ended is started again; and no process is left.
"""

from __future__ import annotations

import base64
import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, cast

import jsonschema_rs

from xmcp_conformance.core.command_environment import OURS, CommandEnvironment
from xmcp_conformance.core.last_words import LastWords
from xmcp_conformance.core.leaks import redacted
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.core.untrusted_text import printable, quoted

from .tagged_values import needed, tagged
from .vector_checks import BadDisplay, CodecFault, CodecUnavailable, Illegal, Refused, Response
from .vectors import Vector, untagged

PROTOCOL: Final = 1
SCHEMA: Final = Path(__file__).with_name("protocol.schema.json")
MOST_READ: Final = 64 * 1024 * 1024
"""Maximum number of bytes of an answer."""
_MOST_STARTS: Final = 20
"""Maximum number of times that a command is started: each vector may be the one that ends it."""
_MOST_UNREAD: Final = 2
"""Maximum number of lines that are kept and that nobody has read: a command says nothing unasked."""
_STOP_SECONDS: Final = 5.0
"""The time in which a command has to end that was asked to."""


class CommandCodec:
    """A codec behind a command; see `vector_checks.Codec` for its methods. Use it in a `with` block.

    Attributes:
        name: what it calls itself.
        directions: what it does: `encode`, `decode`, `stream`.
        values: the kinds of values beyond JSON that it takes.
        ends: how often it ended, or had to be ended.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        start_timeout: float = 30.0,
        answer_timeout: float = 10.0,
        environment: CommandEnvironment = OURS,
    ) -> None:
        """Judge a command.

        Args:
            command: the words of the command.
            start_timeout: seconds for its first answer.
            answer_timeout: seconds for each other.
            environment: what it runs in.
        """
        self.name, self.directions, self.values = "", frozenset[str](), frozenset[str]()
        self._command, self._environment = tuple(command), environment
        self._start_timeout, self._answer_timeout = start_timeout, answer_timeout
        self._running: _Running | None = None
        self.ends = self._starts = self._id = 0

    def __enter__(self) -> CommandCodec:
        """Start the command.

        Raises:
            CodecUnavailable: it cannot be started, or does not speak the protocol.
        """
        try:
            started = self._start().started
        except CodecFault as fault:
            self._end()
            raise CodecUnavailable(str(fault)) from fault
        except BaseException:
            self._end()
            raise
        self.name = printable(started["name"])
        self.directions, self.values = frozenset(started["directions"]), frozenset(started.get("values", ()))
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Stop the command; it has ended afterwards."""
        if self._running is not None:
            self._running.stop()
            self._running = None

    def encode(self, response: Response, *, illegal: Illegal = "replace") -> str:
        """Return the document; see `Codec.encode`."""
        answer = self._ask("written", {"command": "encode", "response": tagged(response), "illegal": illegal})
        if "refused" in answer:
            raise Refused(why=redacted(answer["refused"]))
        return str(answer["document"])

    def decode(self, document: str | bytes, *, bad_display: BadDisplay = "raise") -> tuple[Response, int]:
        """Return the response and the number of warnings; see `Codec.decode`."""
        return self._read({"command": "decode", "document": _document(document), "bad_display": bad_display})

    def decode_pieces(
        self, arriving: Iterable[str | bytes], *, bad_display: BadDisplay = "raise"
    ) -> tuple[Response, int]:
        """Return the same for a document that arrives in pieces; see `Codec.decode_pieces`."""
        pieces = [_document(piece) for piece in arriving]
        return self._read({"command": "decode", "pieces": pieces, "bad_display": bad_display})

    def lacks(self, vector: Vector) -> str:
        """Return what the codec would need for a vector and does not have; empty if it has it."""
        if vector.direction not in self.directions:
            return f"the direction `{vector.direction}`"
        given = vector.case["response"] if vector.direction == "encode" else vector.case["document"]
        missing = sorted(needed(untagged(given)) - self.values - ({"bytes"} if vector.direction != "encode" else set()))
        return f"values of the kind `{missing[0]}`" if missing else ""

    def _read(self, request: dict[str, Any]) -> tuple[Response, int]:
        answer = self._ask("read", request)
        if "error" in answer:
            raise Refused(answer["error"], redacted(answer.get("why", "")))
        return answer["response"], answer["warnings"]

    def _start(self) -> _Running:
        """Return the running command; start it, if it does not run."""
        if self._running is None:
            if self._starts >= _MOST_STARTS:
                times = f"it ended, or had to be ended, {_MOST_STARTS} times"
                raise CodecUnavailable(f"{times}; the rest was not judged. The first faults say why")
            self._starts += 1
            self._running = _Running(self._command, self._environment)
            request = {"command": "start", "protocol": PROTOCOL, "specification": registry().version}
            self._running.started = self._running.ask(request, _form("started"), self._start_timeout)
        return self._running

    def _ask(self, form: str, request: dict[str, Any]) -> dict[str, Any]:
        self._id += 1
        try:
            answer = self._start().ask({**request, "id": self._id}, _form(form), self._answer_timeout)
            if answer["id"] != self._id:
                raise CodecFault(f"the answer to the request {answer['id']}, where {self._id} was asked")
        except CodecFault:
            self._end()
            raise
        return answer

    def _end(self) -> None:
        """End a command that did not do as it should; the next request starts it again."""
        self.ends += 1
        if self._running is not None:
            self._running.kill()
            self._running = None


def _document(document: str | bytes) -> dict[str, str]:
    if isinstance(document, str):
        return {"text": document}
    return {"base64": base64.b64encode(document).decode()}


@cache
def _form(name: str) -> jsonschema_rs.Draft202012Validator:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return jsonschema_rs.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})


class _Running:
    """A command that runs. A thread reads its lines and one writes, so that each wait for it is bounded."""

    started: dict[str, Any]
    """Its answer to `start`."""

    def __init__(self, command: tuple[str, ...], environment: CommandEnvironment) -> None:
        if not environment.has(command[0]):
            raise CodecFault("the command does not exist or cannot be run; check the spelling and PATH")
        self._stderr, self._is_over = LastWords(environment.log), False
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the command is the user's own
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                cwd=environment.cwd,
                env=environment.variables(),
                start_new_session=True,  # so that whatever it starts ends with it
            )
        except OSError as error:
            self._stderr.close()
            raise CodecFault(f"the command cannot be run: {error.strerror}") from error
        self._lines: queue.Queue[bytes] = queue.Queue(_MOST_UNREAD)
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        for work in (self._read, self._write):
            threading.Thread(target=work, name=work.__name__, daemon=True).start()

    def _read(self) -> None:
        with suppress(OSError, ValueError), cast("IO[bytes]", self._process.stdout) as stdout:
            while (line := stdout.readline(MOST_READ + 1)) and self._kept(line):
                if len(line) > MOST_READ:
                    return
        self._kept(b"")

    def _kept(self, line: bytes) -> bool:
        """Wait until a line can be kept; return whether that was before the end."""
        while not self._is_over:
            with suppress(queue.Full):
                self._lines.put(line, timeout=0.1)
                return True
        return False

    def _write(self) -> None:
        with suppress(OSError, ValueError), cast("IO[bytes]", self._process.stdin) as stdin:
            while (line := self._requests.get()) is not None:
                stdin.write(line)
                stdin.flush()

    def ask(self, request: dict[str, Any], form: jsonschema_rs.Draft202012Validator, timeout: float) -> dict[str, Any]:
        """Send a request, and return the answer.

        Raises:
            CodecFault: there is no answer in time, or it has another form.
        """
        self._requests.put(json.dumps(request).encode() + b"\n")
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            raise CodecFault(f"no answer within {timeout:g} s") from None
        if not line:
            raise CodecFault(self._ended())
        if len(line) > MOST_READ:
            raise CodecFault(f"an answer of more than {MOST_READ // 2**20} MiB, which is not read")
        try:
            answer = json.loads(line, parse_constant=_refuse)
        except (ValueError, RecursionError):
            raise CodecFault(f"a line that is no JSON: `{quoted(line.decode('utf-8', 'replace'))}`") from None
        if (fault := next(iter(form.iter_errors(answer)), None)) is not None:
            raise CodecFault(f"the answer `{quoted(json.dumps(answer))}`: {quoted(fault.message)}")
        return answer  # type: ignore[no-any-return]

    def _ended(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_SECONDS)
        said = self._stderr.telling_line()
        code = self._process.returncode
        how = "closed its output" if code is None else f"ended with {code}" if code >= 0 else f"ended by signal {-code}"
        return f"the command {how}{f'; it wrote to stderr: {quoted(said)}' if said else ''}"

    def stop(self) -> None:
        """Ask the command to end, and wait until it has."""
        self._requests.put(b'{"command": "stop"}\n')
        self._requests.put(None)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End the command, and all that it started in its own group."""
        self._is_over = True
        self._requests.put(None)
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        self._process.wait()
        self._stderr.close()


def _refuse(word: str) -> Any:
    raise ValueError(word)
