"""`xmcp check client`: judge a client in any language, behind a command, by scenarios."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Mapping
from itertools import chain, count
from pathlib import Path
from typing import Final

import click
from click.core import ParameterSource
from rich.console import Console

from xmcp.cli.numbers import Number
from xmcp_conformance.core.command_environment import CommandEnvironment
from xmcp_conformance.core.untrusted_text import printable
from xmcp_conformance.profiles.client.command.adapter import Era, Limits
from xmcp_conformance.profiles.client.command.check_by_url import check_by_url
from xmcp_conformance.profiles.client.command.check_command import Driving, check_command, is_seen_over_http
from xmcp_conformance.profiles.client.command.program import SCHEMA
from xmcp_conformance.profiles.client.drawn_scenarios import MOST_DRAWN, SEED, drawn_scenarios, of_name
from xmcp_conformance.profiles.client.drawn_themes import ABOUT
from xmcp_conformance.profiles.client.scenario import Scenario, needed_features
from xmcp_conformance.profiles.client.scenario_files import MOST_BYTES, NoScenarios, scenarios_in, schema
from xmcp_conformance.profiles.client.scenarios import SCENARIOS
from xmcp_conformance.profiles.client.trace import Trace
from xmcp_conformance.profiles.client.trace import schema as trace_schema
from xmcp_conformance.reports.case_json import to_dict
from xmcp_conformance.reports.case_report import SCENARIOS as BY_SCENARIOS
from xmcp_conformance.reports.case_report import CaseReport
from xmcp_conformance.reports.case_terminal import show
from xmcp_conformance.reports.summary import of_cases

from . import sdk_log
from .command_words import words_of
from .report_files import ReportFiles, json_option, report_options, source_of, write_json
from .server_access import environment_options
from .suggestions import did_you_mean
from .waiting import Waiting

_DRIVING = Driving()
_DRAWN: Final = len(ABOUT)
"""Number of scenarios that are drawn for a run: one about each theme and each pair of them. More find more."""
_LARGEST_SEED: Final = 10**15


def _print_schema(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        protocol = json.loads(SCHEMA.read_text(encoding="utf-8"))
        members = trace_schema()["properties"]["setup"]["properties"]
        options = {name: member for name, member in members.items() if name not in ("servers", "tools")}
        protocol["$defs"]["setup"]["properties"] = options
        click.echo(json.dumps(protocol, indent=2))
        context.exit()


def _folder(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> Path | None:
    if path is not None:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise click.BadParameter(f"`{printable(str(path))}` cannot be made: {error.strerror}") from error
    return path


def _print_scenario_schema(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        click.echo(json.dumps(schema(), indent=2))
        context.exit()


def _with_own(_context: click.Context, _parameter: click.Parameter, paths: tuple[Path, ...]) -> Mapping[str, Scenario]:
    """Return the scenarios of the suite, and then those in files."""
    found = dict(SCENARIOS)
    for path in paths:
        shown = printable(str(path))
        try:
            with path.open("rb") as file:
                found |= scenarios_in(file.read(MOST_BYTES + 1), found)
        except OSError as error:
            raise click.BadParameter(f"`{shown}` cannot be read: {error.strerror}") from error
        except NoScenarios as fault:
            raise click.BadParameter(f"{shown}: {fault}") from fault
    return found


def _print_names(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        for name, scenario in SCENARIOS.items():
            needs = sorted(needed_features(scenario)) if is_seen_over_http(scenario) else ["an adapter in Python"]
            click.echo(f"{name}\t{', '.join(needs)}" if needs else name)
        context.exit()


@click.command()
@click.argument("command", metavar="COMMAND")
@click.option(
    "--scenario",
    "names",
    multiple=True,
    metavar="TEXT",
    help="Only the scenario of exactly this name; if there is none, all with TEXT in their names. Repeatable.",
)
@click.option(
    "--scenarios",
    "known",
    multiple=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    callback=_with_own,
    help="Also run the scenarios in FILE, as JSON. Their names cannot be those of the suite. Repeatable.",
)
@click.option(
    "--drawn",
    type=click.IntRange(0, MOST_DRAWN),
    default=_DRAWN,
    show_default=True,
    metavar="NUMBER",
    help="Also run so many scenarios that are drawn at random: failures, hand-overs, displays and caches, mixed. With "
    "--scenario drawn no others are run.",
)
@click.option(
    "--seed",
    type=click.IntRange(-_LARGEST_SEED, _LARGEST_SEED),
    help=f"With --drawn: the same seed draws the same scenarios.  [default: {SEED}]",
)
@click.option(
    "--era",
    type=click.Choice(["both", "newest", "handshake"]),
    default=_DRIVING.era,
    show_default=True,
    help="Versions of MCP that the servers speak: half of them 2025-11-25 (handshake) alone, none of them, or all.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    default=_DRIVING.jobs,
    show_default=True,
    help="Programs that run at the same time, each in a scenario of its own.",
)
@click.option(
    "--start-timeout",
    type=Number(0.1, 300),
    default=_DRIVING.limits.start,
    show_default=True,
    help="Seconds to start, to list tools again and to stop.",
)
@click.option(
    "--chat-timeout",
    type=Number(1, 3600),
    default=_DRIVING.limits.chat,
    show_default=True,
    help="Seconds for a chat.",
)
@click.option(
    "--traces",
    "traces_folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    callback=_folder,
    help="Also write what was seen in each scenario, as a trace.",
)
@click.option(
    "--by-url",
    is_flag=True,
    help="COMMAND is a test client of MCP's own conformance suite: it gets the address of a server as its last "
    "argument, and MCP_CONFORMANCE_SCENARIO. Only what it declares is judged; --start-timeout is the time of a run.",
)
@click.option("--strict", is_flag=True, help="Count a broken SHOULD like a broken MUST.")
@click.option("--verbose", "-v", is_flag=True, help="Also print the table of all requirements, with those obeyed.")
@click.option("--quiet", "-q", is_flag=True, help="Print only what was broken, the notes and the verdict.")
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_names,
    help="Print the names of the scenarios, and what features each needs, and end.",
)
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_schema,
    help="Print the JSON Schema of the protocol, and end.",
)
@click.option(
    "--scenario-schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_scenario_schema,
    help="Print the JSON Schema of a file of scenarios, and end.",
)
@environment_options("the command")
@json_option("report")
@report_options
def client(
    command: str,
    names: tuple[str, ...],
    known: Mapping[str, Scenario],
    drawn: int,
    seed: int | None,
    era: Era,
    jobs: int,
    start_timeout: float,
    chat_timeout: float,
    traces_folder: Path | None,
    by_url: bool,
    strict: bool,
    verbose: bool,
    quiet: bool,
    environment: CommandEnvironment,
    json_path: Path | None,
    reports: ReportFiles,
) -> None:
    """Judge a client, in any language, by scenarios.

    The suite plays the model and the MCP servers, over HTTP. COMMAND, in quotes, starts a program that contains the
    client. It reads commands from standard input and writes answers and events to standard output, one JSON object in
    a line: 'node my_client_adapter.mjs'. The guide "Have a client judged" has adapters to copy.

    Exit codes: 0 conforms, 1 does not or nothing applied, 2 usage, 3 the command does not speak the protocol, or failed
    in a scenario.
    """
    if verbose and quiet:
        raise click.UsageError("--verbose and --quiet exclude each other.")
    if seed is not None and not drawn:
        raise click.UsageError("--seed is for --drawn NUMBER, which says how many scenarios are drawn.")
    if by_url:
        _refuse_what_is_for_adapters()
    chosen = _chosen(names, {**known, **drawn_scenarios(drawn, SEED if seed is None else seed)})
    words = words_of(command, "client")
    report = CaseReport(BY_SCENARIOS)
    console = Console(stderr=reports.takes_stdout, highlight=False)
    limits = Limits(start_timeout, chat_timeout)
    sdk_log.silence()
    with (
        Waiting("xmcp check client", console, quiet=quiet or reports.takes_stdout) as waiting,
        reports.recorded(report.add) as emit,
    ):
        waiting.begin(f"`{printable(words[0])}` to start", start_timeout)
        driving = Driving(jobs, limits, environment, era, waiting.show)
        if by_url:
            checked = check_by_url(words, emit, seconds=start_timeout, environment=environment, strict=strict)
        else:
            checked = check_command(words, chosen, emit, strict=strict, driving=driving)
        traces = asyncio.run(checked)
    show(report, console, verbose=verbose, quiet=quiet)
    if json_path is not None:
        write_json(json_path, to_dict(report))
    reports.write(of_cases(report, source_of(words)))
    if traces_folder is not None:
        _write_traces(traces_folder, traces)
    sys.exit(report.exit_code)


_FOR_ADAPTERS: Final = {
    "names": "--scenario",
    "known": "--scenarios",
    "drawn": "--drawn",
    "seed": "--seed",
    "era": "--era",
    "jobs": "--jobs",
    "chat_timeout": "--chat-timeout",
}
"""The options that say nothing to a test client of MCP's own suite, by their parameters."""


def _refuse_what_is_for_adapters() -> None:
    context = click.get_current_context()
    for parameter, option in _FOR_ADAPTERS.items():
        if context.get_parameter_source(parameter) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option} is for a client behind an adapter, and --by-url is for one without.")


def _chosen(names: tuple[str, ...], known: Mapping[str, Scenario]) -> Mapping[str, Scenario]:
    if not names:
        return known
    chosen: dict[str, Scenario] = {}
    for name in names:
        if (scenario := of_name(name)) is not None:  # so that a failure can be seen again without counting up to it
            chosen[name] = scenario
            continue
        found = [name] if name in known else [one for one in known if name.lower() in one.lower()]
        chosen |= {one: known[one] for one in found}
        if not found:
            hint = did_you_mean(name, known)
            message = f"no scenario has `{printable(name)}` in its name.{hint} --list prints all names"
            raise click.BadParameter(message, param_hint="--scenario")
    return chosen


_LONGEST_FILE_NAME: Final = 60
"""Maximum number of characters of the name of a trace's file: each can have four bytes, and systems allow 255."""


def _write_traces(folder: Path, traces: Mapping[str, Trace]) -> None:
    try:
        taken: set[str] = set()
        for name, trace in traces.items():
            short = re.sub(r"[\W_]+", "-", name.casefold()).strip("-")[:_LONGEST_FILE_NAME] or "scenario"
            free = next(one for one in chain([short], (f"{short}-{n}" for n in count(2))) if one not in taken)
            taken.add(free)
            file = folder / f"{free}.json"
            file.write_text(json.dumps(trace.to_json(), indent=1), encoding="utf-8")
    except OSError as error:
        click.echo(f"xmcp check client: the traces cannot be written to {folder}: {error.strerror}", err=True)
        sys.exit(3)
