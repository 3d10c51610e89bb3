"""`xmcp check trace`: judge a client by files with traces of what it did."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
from rich.console import Console

from xmcp_conformance.profiles.client.trace import schema
from xmcp_conformance.profiles.client.trace_files import MOST_READ, check_trace, not_judged, start
from xmcp_conformance.reports.case_json import to_dict
from xmcp_conformance.reports.case_report import TRACES, CaseReport
from xmcp_conformance.reports.case_terminal import show
from xmcp_conformance.reports.summary import of_cases

from .named_files import STANDARD_INPUT, files_named, reason_of
from .report_files import ReportFiles, json_option, report_options, write_json


def _print_schema(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        click.echo(json.dumps(schema(), indent=2))
        context.exit()


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--strict", is_flag=True, help="Count a broken SHOULD like a broken MUST.")
@click.option("--verbose", "-v", is_flag=True, help="Also print the table of all requirements, with those obeyed.")
@click.option("--quiet", "-q", is_flag=True, help="Print only what was broken, the notes and the verdict.")
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_schema,
    help="Print the JSON Schema of a trace, and end.",
)
@json_option("report")
@report_options
def trace(
    files: tuple[str, ...],
    strict: bool,
    verbose: bool,
    quiet: bool,
    json_path: Path | None,
    reports: ReportFiles,
) -> None:
    """Judge a client, in any language, by traces of what it did.

    A trace is JSON: what the model, the servers and the application saw of the client, in order. FILE is a file, a
    folder (every .json in it), a pattern such as 'traces/**/*.json', or - for standard input.

    Exit codes: 0 conforms, 1 does not or nothing applied, 2 usage, 3 a file cannot be read or is no trace.
    """
    if verbose and quiet:
        raise click.UsageError("--verbose and --quiet exclude each other.")
    report = CaseReport(TRACES)
    with reports.recorded(report.add) as emit:
        start(strict=strict, emit=emit)
        for path, reason in files_named(files, (".json",)).items():
            try:
                data = b"" if reason else _content(path)
            except OSError as error:
                reason = reason_of(error)
            if reason:
                not_judged(path, f"it cannot be read: {reason}", emit)
            else:
                check_trace(path, data, emit)
    show(report, Console(stderr=reports.takes_stdout, highlight=False), verbose=verbose, quiet=quiet)
    if json_path is not None:
        write_json(json_path, to_dict(report))
    reports.write(of_cases(report))
    sys.exit(report.exit_code)


def _content(path: str) -> bytes:
    if path == STANDARD_INPUT:
        return sys.stdin.buffer.read(MOST_READ + 1)
    with open(path, "rb") as file:
        return file.read(MOST_READ + 1)
