"""`xmcp check`: options and exit codes of the conformance suite on the command line."""

from __future__ import annotations

import asyncio
import logging
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from xmcp_conformance.core.events import CallMade, Connecting, Event, RunEnded, RunStarted
from xmcp_conformance.core.judge import ExitCode
from xmcp_conformance.core.untrusted_text import printable
from xmcp_conformance.profiles.server.blackbox import check as judge
from xmcp_conformance.profiles.server.call_plan import ERAS, Options
from xmcp_conformance.profiles.server.server_under_test import HttpPeer, Peer, PeerUnavailable, StdioPeer
from xmcp_conformance.reports.server_json import to_dict
from xmcp_conformance.reports.server_report import ServerReport
from xmcp_conformance.reports.server_terminal import show

from .addresses import is_address
from .check_document import document
from .report_files import STANDARD_OUTPUT, json_option, write_json
from .waiting import Waiting

_DEFAULTS = Options()
_SAMPLE = "xmcp.samples.sales:mcp"


@click.group(invoke_without_command=True)
@click.pass_context
def check(context: click.Context) -> None:
    """Check whether a server, or documents in files, conform to the specification.

    Without a command it checks the sample server of this package, over stdio and over HTTP.

    Exit codes: 0 conforms, 1 does not, 2 usage, 3 the peer cannot be reached or the suite itself failed.
    """
    if context.invoked_subcommand is None:
        context.invoke(server, sample=True)


check.add_command(document)


@check.command()
@click.option("--url", help="Streamable HTTP endpoint of the server, such as http://127.0.0.1:3333/mcp.")
@click.option("--stdio", metavar="COMMAND", help="Command of a server that speaks MCP on standard input and output.")
@click.option("--sample", is_flag=True, help="Check the sample server of this package, as `xmcp check` alone does.")
@click.option("--allow-writes", is_flag=True, help="Also call tools that are not marked read-only.")
@click.option("--strict", is_flag=True, help="Count a broken SHOULD like a broken MUST.")
@click.option(
    "--era", type=click.Choice(["both", *ERAS]), default="both", show_default=True, help="Protocol eras to check."
)
@click.option(
    "--examples",
    type=click.IntRange(1, 1000),
    default=_DEFAULTS.examples,
    show_default=True,
    help="Argument sets for each tool.",
)
@click.option("--seed", type=int, default=_DEFAULTS.seed, show_default=True, help="The same seed makes the same calls.")
@click.option(
    "--connect-timeout",
    type=click.FloatRange(0.1, 300),
    default=_DEFAULTS.connect_timeout,
    show_default=True,
    help="Seconds.",
)
@click.option(
    "--call-timeout",
    type=click.FloatRange(0.1, 300),
    default=_DEFAULTS.call_timeout,
    show_default=True,
    help="Seconds.",
)
@json_option("report")
def server(url: str | None, stdio: str | None, *, sample: bool, json_path: Path | None, **options: Any) -> None:
    """Check a server by its tools, without fixtures.

    Tools that are marked read-only are called with arguments generated from their schemas, and with arguments that do
    not fit; every answer is read by the suite's own strict reader.
    """
    if sample == (url is not None or stdio is not None):
        raise click.UsageError("Give the server with --url or --stdio, or --sample for the one of this package.")
    era = options.pop("era")
    settings = Options(eras=ERAS if era == "both" else (era,), **options)
    # The SDK logs invalid messages of a peer with tracebacks; here they become one sentence.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    console = Console(stderr=json_path == STANDARD_OUTPUT)
    try:
        with (
            Waiting("xmcp check", console, quiet=json_path == STANDARD_OUTPUT) as waiting,
            _bundled(waiting, settings.connect_timeout) if sample else _given(url, stdio) as peers,
        ):
            report = _judge(peers, settings, waiting)
    except PeerUnavailable as error:
        # `xmcp check` alone has no options.
        advised = sample and "--connect-timeout" in str(error)
        where = " It is an option of `xmcp check server --sample`." if advised else ""
        click.echo(f"xmcp check: {error}{where}", err=True)
        sys.exit(ExitCode.SUITE_FAILED)
    show(report, console)
    if json_path is not None:
        write_json(json_path, to_dict(report))
    sys.exit(report.exit_code)


@contextmanager
def _given(url: str | None, stdio: str | None) -> Iterator[list[Peer]]:
    """Provide the peers that the options name: the same server over one or both transports."""
    peers: list[Peer] = []
    if stdio is not None:
        try:
            command = tuple(shlex.split(stdio))
        except ValueError as error:
            raise click.BadParameter(f"{error} in `{stdio}`", param_hint="--stdio") from error
        if not command:
            raise click.BadParameter("the command is empty", param_hint="--stdio")
        peers.append(StdioPeer(command))
    if url is not None:
        if not is_address(url):
            raise click.BadParameter(f"`{url}` is not an http or https address", param_hint="--url")
        peers.append(HttpPeer(url))
    yield peers


@contextmanager
def _bundled(waiting: Waiting, limit: float) -> Iterator[list[Peer]]:
    """Provide the sample server over both transports; its HTTP process ends with the block, also on SIGTERM.

    Raises:
        PeerUnavailable: It ended, or did not start within `limit` seconds; the message says what to do.
    """
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    command = (sys.executable, "-m", "xmcp", "serve", _SAMPLE)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [*command, "--port", str(port)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr
        )
        try:
            waiting.begin(f"the sample server `{_SAMPLE}` to start on port {port}", limit)
            if not _accepts(port, process, limit):
                stderr.seek(0)
                lines = stderr.read().decode("utf-8", "replace").strip().splitlines()
                if process.poll() is None:
                    raise PeerUnavailable(
                        f"The sample server `{_SAMPLE}` did not start within {limit:g} s. On a busy machine, allow it "
                        "longer with --connect-timeout 120."
                    )
                said = printable(lines[-1]) if lines else "(no output)"
                raise PeerUnavailable(f"The sample server `{_SAMPLE}` did not start: {said}")
            yield [StdioPeer((*command, "--transport", "stdio")), HttpPeer(f"http://127.0.0.1:{port}/mcp")]
        finally:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(5)


def _accepts(port: int, process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait until the process accepts connections; return False if it ended or the time is up."""
    deadline = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return True
    return False


def _judge(peers: list[Peer], options: Options, waiting: Waiting) -> ServerReport:
    """Run the suite; say what it waits for, and on a terminal how many calls were made."""
    report = ServerReport()

    def add(event: Event) -> None:
        report.add(event)
        match event:
            case Connecting():
                waiting.begin(f"`{printable(event.peer)}` to answer over {event.transport}", options.connect_timeout)
            case CallMade():
                waiting.show(f"{event.run}: {report.runs[-1].calls} calls")
            case RunStarted() | RunEnded():
                waiting.end()

    asyncio.run(judge(peers, options, add))
    return report
