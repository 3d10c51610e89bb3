"""`xmcp check codec`: judge a codec in any language, behind a command."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.console import Console

from xmcp.cli.numbers import Number
from xmcp_conformance.core.command_environment import CommandEnvironment
from xmcp_conformance.core.untrusted_text import printable, quoted
from xmcp_conformance.profiles.codec.check_command import check_command
from xmcp_conformance.profiles.codec.command import SCHEMA
from xmcp_conformance.profiles.codec.vectors import Vector, load, shipped
from xmcp_conformance.reports.case_json import to_dict
from xmcp_conformance.reports.case_report import VECTORS, CaseReport
from xmcp_conformance.reports.case_terminal import show
from xmcp_conformance.reports.summary import of_cases

from .command_words import words_of
from .report_files import ReportFiles, json_option, report_options, source_of, write_json
from .server_access import environment_options


def _print_schema(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        click.echo(SCHEMA.read_text(encoding="utf-8"), nl=False)
        context.exit()


@click.command()
@click.argument("command", metavar="COMMAND")
@click.option(
    "--vectors", type=click.Path(path_type=Path), metavar="FILE", help="Other vectors than those of the suite."
)
@click.option(
    "--start-timeout",
    type=Number(0.1, 300),
    default=30.0,
    show_default=True,
    help="Seconds for the first answer.",
)
@click.option(
    "--answer-timeout", type=Number(0.1, 300), default=10.0, show_default=True, help="Seconds for each other."
)
@click.option(
    "--examples", type=click.IntRange(0, 100_000), default=500, show_default=True, help="Responses drawn besides."
)
@click.option("--seed", type=int, default=20261121, show_default=True, help="The same seed draws the same responses.")
@click.option("--strict", is_flag=True, help="Count a broken SHOULD like a broken MUST.")
@click.option("--verbose", "-v", is_flag=True, help="Also print the table of all requirements, with those obeyed.")
@click.option("--quiet", "-q", is_flag=True, help="Print only what was broken, the notes and the verdict.")
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_schema,
    help="Print the JSON Schema of the protocol, and end.",
)
@environment_options("the command")
@json_option("report")
@report_options
def codec(
    command: str,
    vectors: Path | None,
    examples: int,
    seed: int,
    start_timeout: float,
    answer_timeout: float,
    strict: bool,
    verbose: bool,
    quiet: bool,
    environment: CommandEnvironment,
    json_path: Path | None,
    reports: ReportFiles,
) -> None:
    """Judge a codec, in any language, by the vectors.

    COMMAND, in quotes, starts a program that reads requests from standard input and writes answers to standard output,
    one JSON object in a line: 'node my_codec_adapter.mjs'. The guide "Write a codec" has adapters to copy.

    Exit codes: 0 conforms, 1 does not or nothing applied, 2 usage, 3 the command does not speak the protocol.
    """
    if verbose and quiet:
        raise click.UsageError("--verbose and --quiet exclude each other.")
    report = CaseReport(VECTORS)
    console = Console(stderr=reports.takes_stdout, highlight=False)
    words = words_of(command, "codec")
    with reports.recorded(report.add) as emit:
        check_command(
            words,
            _vectors(vectors),
            emit,
            strict=strict,
            examples=examples,
            seed=seed,
            start_timeout=start_timeout,
            answer_timeout=answer_timeout,
            environment=environment,
        )
    show(report, console, verbose=verbose, quiet=quiet)
    if json_path is not None:
        write_json(json_path, to_dict(report))
    reports.write(of_cases(report, source_of(words)))
    sys.exit(report.exit_code)


def _vectors(path: Path | None) -> list[Vector]:
    if path is None:
        return load(shipped())
    shown = printable(str(path))
    try:
        return load(path, form=shipped().with_name("wire.schema.json"))
    except OSError as error:
        raise click.BadParameter(f"{shown}: {error.strerror}", param_hint="--vectors") from error
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"{shown} has no vectors: {quoted(str(error))}", param_hint="--vectors") from error
