"""`xmcp check server`: the conformance suite for servers on the command line."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from xmcp_conformance.core.events import CallLasts, CallMade, Connecting, Emit, Event, NotReached, RunEnded, RunStarted
from xmcp_conformance.core.judge import ExitCode
from xmcp_conformance.core.untrusted_text import printable
from xmcp_conformance.profiles.server.command_process import StartedAhead
from xmcp_conformance.profiles.server.options import Options
from xmcp_conformance.profiles.server.peers import HttpPeer, Peer, PeerUnavailable, StdioPeer, without_secrets
from xmcp_conformance.reports.baseline import Baseline, read_baseline, to_baseline
from xmcp_conformance.reports.earlier_run import EarlierRun, earlier_run
from xmcp_conformance.reports.required_coverage import Required
from xmcp_conformance.reports.server_json import to_dict
from xmcp_conformance.reports.server_report import ServerReport
from xmcp_conformance.reports.server_terminal import show
from xmcp_conformance.reports.summary import of_server
from xmcp_conformance.reports.transcript import line

from . import sdk_log
from .call_options import call_options
from .named_servers import ServerCommand, server_named
from .report_files import (
    ReportFiles,
    json_option,
    lines_option,
    lines_to,
    report_options,
    source_of,
    write_json,
)
from .server_access import Access, access_options
from .waiting import Waiting

if TYPE_CHECKING:
    from xmcp_conformance.profiles.server.exchange import Exchange

_SAMPLE = "xmcp.samples.sales:mcp"
_OF_SAMPLE = 12
"""Calls of each tool of the sample: it is there to show what a run looks like, which should not take a minute."""


def _required(_context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]) -> tuple[Required, ...]:
    try:
        return tuple(Required(text) for text in given)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _earlier(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> EarlierRun | None:
    try:
        return None if path is None else earlier_run(path)
    except (ValueError, OSError) as error:
        raise click.BadParameter(str(error)) from error


@click.command(cls=ServerCommand)
@click.argument("target", nargs=-1, metavar="SERVER")
@click.option("--url", help="URL of the same server, to judge it over HTTP too, or alone.")
@click.option("--stdio", metavar="COMMAND", help="Command, file or module of the same server, to judge it over stdio.")
@access_options
@click.option("--sample", is_flag=True, help="Check the sample server of this package, as `xmcp check` alone does.")
@call_options
@click.option("--verbose", "-v", is_flag=True, help="Also print the table of all requirements, with those obeyed.")
@click.option("--quiet", "-q", is_flag=True, help="Print only what was broken, and the verdict.")
@click.option(
    "--require",
    "required",
    multiple=True,
    metavar="ID|TOOL|PERCENT",
    callback=_required,
    help="Exit with 1 unless this was seen: a sentence judged, a tool at work, or 80% of the tools. Repeatable.",
)
@click.option(
    "--last",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    callback=_earlier,
    help="JSON report of an earlier run: what that one covered, and this one not, is named.",
)
@click.option(
    "--baseline",
    "baseline_path",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Known faults: they do not fail the check; new ones do, and those that are gone.",
)
@click.option("--update-baseline", is_flag=True, help="Write the faults of this run to the file of --baseline.")
@json_option("report")
@report_options
@lines_option("transcript", "Also write each call and its answer, as it came, as a line of JSON.")
def server(
    target: tuple[str, ...],
    url: str | None,
    stdio: str | None,
    *,
    access: Access,
    settings: Options,
    sample: bool,
    verbose: bool,
    quiet: bool,
    json_path: Path | None,
    reports: ReportFiles,
    transcript_path: Path | None,
    required: tuple[Required, ...],
    last: EarlierRun | None,
    baseline_path: Path | None,
    update_baseline: bool,
) -> None:
    """Check a server by its tools, without fixtures.

    With --stdio and --url, or one of them beside SERVER, the same server is judged over both transports.

    Tools that are marked read-only are called with arguments generated from their schemas, and with arguments that do
    not fit; every answer is read by the suite's own strict reader.
    """
    given = access.of(_given(target, url, stdio))
    if sample == bool(given):
        raise click.UsageError(
            "Name the server: a URL, a command in quotes, or a file; also with --stdio or --url; or --sample for the "
            "one of this package."
        )
    if verbose and quiet:
        raise click.UsageError("--verbose and --quiet exclude each other.")
    settings = replace(settings, required=tuple(filter(None, (one.tool for one in required))))
    if left_out := [name for name in settings.required if not settings.chooses_name(name)]:
        raise click.UsageError(
            f"--require wants `{left_out[0]}` seen at work, and --exclude or --include leaves it out: it is not called."
        )
    if sample and settings.calls is None:
        settings = replace(settings, calls=_OF_SAMPLE)
    _end_on_sigterm()
    # Hypothesis would keep what it learns of modules here in the folder of the user.
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", os.devnull)
    sdk_log.silence()
    console = Console(stderr=reports.takes_stdout)
    known = _baseline(baseline_path, update=update_baseline)
    report = ServerReport(required=required, earlier=last, baseline=known)
    try:
        with (
            reports.recorded(report.add) as emit,
            lines_to(transcript_path) as write,
            Waiting("xmcp check", console, quiet=reports.takes_stdout) as waiting,
            _bundled(waiting, settings.connect_timeout) if sample else nullcontext(given) as peers,
        ):
            try:
                _judge(peers, settings, waiting, report, emit, write)
            except PeerUnavailable as error:
                if not sample:  # the sentence names all servers, if there are two
                    emit(NotReached(str(given[0]), given[0].transport, str(error)))
                raise
    except PeerUnavailable as error:
        # `xmcp check` alone has no options.
        advised = sample and "--connect-timeout" in str(error)
        where = " It is an option of `xmcp check server --sample`." if advised else ""
        click.echo(f"xmcp check: {error}{where}", err=True)
        if sample:
            sys.exit(ExitCode.SUITE_FAILED)
    else:
        if update_baseline and baseline_path is not None and not report.not_reached:
            write_json(baseline_path, to_baseline(report.broken_by))
            report.baseline = read_baseline(baseline_path)
        show(report, console, verbose=verbose, quiet=quiet)
    if json_path is not None:
        write_json(json_path, to_dict(report))
    reports.write(
        of_server(report, source_of(word for peer in given if isinstance(peer, StdioPeer) for word in peer.command))
    )
    sys.exit(report.exit_code)


def _baseline(path: Path | None, *, update: bool) -> Baseline:
    """Return the known faults; none where no file is named, or one is to be written.

    Raises:
        click.UsageError: an option is missing, or the file is no baseline.
    """
    if path is None and update:
        raise click.UsageError("--update-baseline needs --baseline FILE, the file to write.")
    if path is None or (update and not path.exists()):
        return Baseline()
    try:
        return read_baseline(path)
    except OSError as error:
        hint = "; --update-baseline writes it" if not path.exists() else ""
        raise click.BadParameter(f"{printable(str(path))}: {error.strerror}{hint}", param_hint="--baseline") from error
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--baseline") from error


def _given(target: tuple[str, ...], url: str | None, stdio: str | None) -> list[Peer]:
    """Return the peers that the command line names: the same server over one or more transports.

    Raises:
        click.BadParameter: One of them is no server, or not of its option's transport.
    """
    peers: list[Peer] = [server_named(*target)] if target else []
    if stdio is not None:
        peer = server_named(stdio, option="--stdio")
        if not isinstance(peer, StdioPeer):
            raise click.BadParameter(f"`{peer}` is a URL; give it with --url", param_hint="--stdio")
        peers.append(peer)
    if url is not None:
        if not url.strip():
            raise click.BadParameter("the URL is empty", param_hint="--url")
        peer = server_named(url, option="--url")
        if not isinstance(peer, HttpPeer):
            raise click.BadParameter(f"`{without_secrets(url)}` is not an http or https address", param_hint="--url")
        peers.append(peer)
    return peers


def _end_on_sigterm() -> None:
    """Let SIGTERM end the program as an exit does, so that no process of a server is left."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


@contextmanager
def _bundled(waiting: Waiting, limit: float) -> Iterator[list[Peer]]:
    """Provide the sample server over both transports; its HTTP process ends with the block.

    Raises:
        PeerUnavailable: It ended, or did not start within `limit` seconds; the message says what to do.
    """
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
                        f"longer with --connect-timeout {max(120, 2 * limit):g}."
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


def _judge(
    peers: list[Peer],
    options: Options,
    waiting: Waiting,
    report: ServerReport,
    emit: Emit,
    write: Callable[[str], None] | None,
) -> None:
    """Run the suite, fill the report and write the transcript; say what is waited for, and how many calls were made."""

    def add(event: Event) -> None:
        emit(event)
        match event:
            case Connecting():
                waiting.begin(f"`{printable(event.peer)}` to answer over {event.transport}", options.connect_timeout)
            case CallLasts():
                waiting.show(f"{event.run}: waiting for {event.tool}, at most {event.limit:g} s …")
            case CallMade():
                waiting.show(f"{event.run}: {report.runs[-1].calls} calls")
            case RunStarted() | RunEnded():
                waiting.end()

    def record(write: Callable[[str], None], protocol_version: str, client: str, exchange: Exchange) -> None:
        call, (seconds, result) = exchange.call, (exchange.seconds, exchange.result)
        failed = exchange.failed if result is None else ""
        write(line(protocol_version, client, call.name, call.arguments, seconds=seconds, result=result, failed=failed))

    async def run() -> None:
        ahead = StartedAhead(peers[0], alone=options.one_process)
        await ahead.start(beside=False)
        try:
            # It takes as long to load the suite as to start a server: both happen at the same time.
            from xmcp_conformance.profiles.server.blackbox import check as judge

            await judge(peers, options, add, partial(record, write) if write is not None else None, ahead)
        finally:
            await ahead.stop()

    asyncio.run(run())
