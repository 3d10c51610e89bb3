"""Gemini by the command-line program that Google gives out, which signs in by itself: text only.

One process answers one request. It works in an empty directory of its own, without tools, extensions and MCP servers:
the CLI is an agent, and reads files and searches the web as it sees fit.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
import threading
import weakref
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Final

from xmcp.chat.completions import Completion
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.option_names import checking_options
from xmcp.providers.base import ModelRequest
from xmcp.providers.errors import redact
from xmcp.providers.formats import gemini_cli
from xmcp.providers.formats.chat_completions import too_large

EXECUTABLE: Final = "gemini"

TIMEOUT: Final = 300.0
"""Default of the maximum wait for more output, in seconds. The CLI retries for long where its model is busy."""

MAX_LINE_BYTES: Final = 16 * 1024 * 1024
MAX_OUTPUT_BYTES: Final = 512 * 1024 * 1024
MAX_STDERR_BYTES: Final = 64 * 1024
"""What is kept of stderr, from its end; the rest is read and forgotten."""

EXIT_SECONDS: Final = 2.0
"""Maximum wait for the end of a process that has answered, or that was killed."""

_POLL_SECONDS: Final = 0.5
_PIECE: Final = 64 * 1024

_ARGUMENTS: Final = ("--output-format", "stream-json", "--extensions", "none", "--allowed-mcp-server-names", "none")

_SETTINGS: Final = '{"tools": {"core": []}}'
"""Settings of the directory in which the CLI works: it has none of its own tools."""

_SECRETS: Final = ("GEMINI_API_KEY", "GOOGLE_API_KEY")


class GeminiCLIProvider:
    """Completions from the Gemini CLI (`npm install -g @google/gemini-cli`), which must be signed in, or have a key.

    It has no tools, pictures and options (`SamplerConfig`); they are left out. The directory in which it works is made
    with the first request, and removed by `aclose`.

    Args:
        executable: Name or path of the program.
        model: Model for requests that name none; `None` leaves it to the CLI.
        timeout: Maximum wait in seconds for the next output, after which the process is killed.
    """

    name = "gemini_cli"
    supports_tools = False
    max_context_tokens: int | None = None

    @checking_options()
    def __init__(self, executable: str = EXECUTABLE, model: str | None = None, *, timeout: float = TIMEOUT) -> None:
        self.executable = executable
        self.model = model
        self.timeout = timeout
        self._directory: Path | None = None
        self._making = threading.Lock()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Completion, None]:
        """Ask the model once (see `LLMProvider`)."""
        model = request.model or self.model
        try:
            prompt = gemini_cli.prompt(request.messages)
            instructions = gemini_cli.instructions(request.messages, request.sampler)
        except ProviderError as exc:
            raise self._error(exc.message, exc.category, model) from None
        except (TypeError, ValueError, AttributeError) as exc:
            raise self._error(f"The messages cannot be written as JSON: {exc}.", ErrorCategory.CONTENT, model) from exc
        if len(prompt) > gemini_cli.MAX_PROMPT_BYTES:
            message = f"The conversation is larger than the {gemini_cli.MAX_PROMPT_BYTES} bytes that the CLI reads."
            raise self._error(message, ErrorCategory.CONTEXT, model)
        making = asyncio.create_task(asyncio.to_thread(self._files, instructions))
        process: Process | None = None
        try:
            process = await self._start(await asyncio.shield(making), model)
            async with aclosing(self._answer(process, prompt, request, model)) as pieces:
                async for piece in pieces:
                    yield piece
        except OSError as exc:
            message = f"The directory in which the Gemini CLI works cannot be made: {exc.strerror}."
            raise self._error(message, ErrorCategory.UNKNOWN, model) from None
        finally:
            if process is not None:
                await _end(process)
            with suppress(OSError):  # a request can end while its files are made
                await asyncio.to_thread(shutil.rmtree, await making, ignore_errors=True)

    async def aclose(self) -> None:
        """Remove the directory in which the CLI works. Requests that still run end by themselves."""
        directory, self._directory = self._directory, None
        if directory is not None:
            await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)

    def _files(self, instructions: str) -> Path:
        """Return a new directory for one request, below that of the provider."""
        with self._making:
            directory = self._directory
            if directory is None or not directory.is_dir():
                directory = self._directory = Path(tempfile.mkdtemp(prefix="xmcp-gemini-"))
                weakref.finalize(self, shutil.rmtree, directory, ignore_errors=True)
                (directory / "work" / ".gemini").mkdir(parents=True)
                (directory / "work" / ".gemini" / "settings.json").write_text(_SETTINGS)
        files = Path(tempfile.mkdtemp(dir=directory))
        (files / "system.md").write_text(instructions, encoding="utf-8", errors="replace")
        return files

    async def _start(self, files: Path, model: str | None) -> Process:
        environment = {
            **os.environ,
            "GEMINI_SYSTEM_MD": str(files / "system.md"),
            # A directory that nobody else writes to; without it the CLI refuses to work in one that it does not know.
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "NO_COLOR": "1",
            "TMPDIR": str(files),  # its reports of errors repeat the prompt
        }
        # The path is absolute, since the process works in another directory.
        found = await asyncio.to_thread(shutil.which, self.executable)
        if found is None:
            message = (
                f"There is no program {self.executable!r}: install the Gemini CLI (npm install -g @google/gemini-cli) "
                "and sign in by starting it once, or pass its path as executable=..."
            )
            raise self._error(message, ErrorCategory.UNKNOWN, model)
        try:
            return await asyncio.create_subprocess_exec(
                os.path.abspath(found),  # noqa: ASYNC240 - it reads nothing but the name of the directory
                *_ARGUMENTS,
                *(("--model", model) if model else ()),
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                cwd=files.parent / "work",
                env=environment,
                start_new_session=True,  # so that whatever it starts ends with it
            )
        except (OSError, ValueError) as exc:
            message = f"{self.executable!r} cannot be started: {exc.strerror if isinstance(exc, OSError) else exc}."
            raise self._error(message, ErrorCategory.UNKNOWN, model) from None

    async def _answer(
        self, process: Process, prompt: bytes, request: ModelRequest, model: str | None
    ) -> AsyncGenerator[str | Completion, None]:
        assembly = gemini_cli.Assembly(self.name, request.received)
        complaints = bytearray()
        aside = [asyncio.create_task(_write(process, prompt)), asyncio.create_task(_keep(process, complaints))]
        try:
            async with aclosing(_lines(process, self.timeout)) as lines:
                async for line in lines:
                    if text := assembly.take(line):
                        yield text
                    if assembly.ended:
                        break
            code = await _exit_code(process, aside[1])
            if not assembly.ended and code != 0:
                raise self._crash(code, bytes(complaints), began=assembly.began)
            completion = assembly.finish()
        except _TooLarge:
            large = too_large(self.name)
            raise self._error(large.message, large.category, model, began=True) from None
        except TimeoutError:
            message = f"{self.executable!r} wrote nothing for {self.timeout:g} s and was ended."
            error = self._error(message, ErrorCategory.NETWORK, model, began=assembly.spoke)
            error.unanswered = True
            raise error from None
        except ProviderError as exc:
            raise self._error(exc.message, exc.category, model, exc.status, began=assembly.spoke) from None
        finally:
            for task in aside:
                task.cancel()
        if not assembly.began and completion.text:
            yield completion.text  # what came as plain text is the answer only if nothing else came
        yield completion

    def _crash(self, code: int | None, stderr: bytes, *, began: bool) -> ProviderError:
        complaint = gemini_cli.complaint(stderr)
        if code is None or code < 0 or not complaint:
            how = (
                "did not end" if code is None else f"was killed by signal {-code}" if code < 0 else f"ended with {code}"
            )
            category = ErrorCategory.NETWORK if began else ErrorCategory.UNKNOWN
            return ProviderError(f"The program {self.executable!r} {how} without an answer.", category=category)
        error = gemini_cli.failure(complaint, self.name, exit_code=code)
        if error.category is ErrorCategory.NETWORK and not began and error.status is None:
            error.category = ErrorCategory.UNKNOWN  # it had not asked anybody yet, and will say so again
        return error

    def _error(
        self,
        message: str,
        category: ErrorCategory,
        model: str | None,
        status: int | None = None,
        *,
        began: bool = False,
    ) -> ProviderError:
        safe = redact(message, *(os.environ.get(name) for name in _SECRETS))
        return ProviderError(safe, category=category, provider=self.name, model=model, status=status, began=began)


class _TooLarge(Exception):
    """The output is larger than what is read."""


async def _lines(process: Process, timeout: float) -> AsyncGenerator[bytes, None]:
    """Yield the lines of the output.

    Raises:
        _TooLarge: one of them, or all together.
        TimeoutError: nothing came for so long.
    """
    begun: list[bytes] = []
    size = taken = 0
    while piece := await _piece(process, timeout):
        taken += len(piece)
        if taken > MAX_OUTPUT_BYTES:
            raise _TooLarge
        first, *rest = piece.split(b"\n")
        begun.append(first)
        size += len(first)
        if size > MAX_LINE_BYTES:
            raise _TooLarge
        if rest:
            *whole, last = [b"".join(begun), *rest]
            begun, size = [last], len(last)
            for line in whole:
                yield line.removesuffix(b"\r")
    if line := b"".join(begun):
        yield line


async def _piece(process: Process, timeout: float) -> bytes:
    """Return what the process writes next; nothing when there is no more."""
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for
    reading = asyncio.ensure_future(process.stdout.read(_PIECE))
    loop = asyncio.get_running_loop()
    until = loop.time() + timeout
    try:
        while True:
            await asyncio.wait({reading}, timeout=min(_POLL_SECONDS, max(0.0, until - loop.time())))
            if reading.done():
                return reading.result()
            if process.returncode is not None:
                return b""  # something that it started keeps its output open
            if loop.time() >= until:
                raise TimeoutError
    finally:
        reading.cancel()


async def _write(process: Process, prompt: bytes) -> None:
    assert process.stdin is not None  # noqa: S101 - a pipe was asked for
    with suppress(OSError):  # it ended before it had read all; its exit code says why
        process.stdin.write(prompt)
        await process.stdin.drain()
    process.stdin.close()


async def _keep(process: Process, kept: bytearray) -> None:
    assert process.stderr is not None  # noqa: S101 - a pipe was asked for
    while piece := await process.stderr.read(_PIECE):
        kept += piece
        del kept[:-MAX_STDERR_BYTES]


async def _exit_code(process: Process, stderr: asyncio.Task[None]) -> int | None:
    """Return the exit code, after a moment in which it may end; `None` if it does not."""
    with suppress(TimeoutError):
        async with asyncio.timeout(EXIT_SECONDS):
            await process.wait()
            await asyncio.wait({stderr})
    return process.returncode


async def _end(process: Process) -> None:
    """Kill the process and whatever it started, and wait until it is gone."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        elif process.returncode is None:
            process.kill()
    with suppress(TimeoutError):
        async with asyncio.timeout(EXIT_SECONDS):
            await process.wait()
    process._transport.close()  # type: ignore[attr-defined]
