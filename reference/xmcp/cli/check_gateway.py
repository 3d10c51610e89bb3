"""`xmcp check gateway`: judge a gateway by chats over HTTP, as a front end sees them."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import click
from rich.console import Console

from xmcp.cli.numbers import Number
from xmcp_conformance.core.events import Emit
from xmcp_conformance.core.untrusted_text import printable
from xmcp_conformance.profiles.client.command.hosting import Host
from xmcp_conformance.profiles.gateway.options import PROMPT, RUN, Options, Paths, Prompts
from xmcp_conformance.profiles.gateway.scripted_model import PROMPTS, ScriptedModel
from xmcp_conformance.profiles.gateway.visit import check
from xmcp_conformance.profiles.server.arguments import readable
from xmcp_conformance.profiles.server.peers import without_secrets
from xmcp_conformance.reports.case_json import to_dict
from xmcp_conformance.reports.case_report import CHATS, CaseReport
from xmcp_conformance.reports.case_terminal import show
from xmcp_conformance.reports.summary import of_cases

from .report_files import ReportFiles, json_option, report_options, write_json
from .server_access import header_option, wait_for_port, wait_option
from .waiting import Waiting

_Command = TypeVar("_Command", bound=Callable[..., Any])
_PATHS: Final = Paths()
_DEMO: Final = "sales_summary region=EMEA show_user=true"
"""What the model of `xmcp gateway --provider demo` takes for a call."""


def _url(_context: click.Context, _parameter: click.Parameter, url: str) -> str:
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
    except ValueError:
        known = False
    if not known:
        raise click.BadParameter(f"`{printable(without_secrets(url))}` is not an http or https address")
    return url


def _json(_context: click.Context, parameter: click.Parameter, text: str | None) -> Any:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise click.BadParameter(f"no JSON: {error}") from error
    if not isinstance(value, dict):
        raise click.BadParameter("no JSON object")
    if parameter.name == "body" and PROMPT not in text:
        raise click.BadParameter(f"the word {PROMPT} is missing, in whose place the prompt comes")
    return value


def _path(name: str, help_text: str) -> Callable[[_Command], _Command]:
    default = getattr(_PATHS, name)
    option = f"--{name}-path"
    return click.option(
        option, default=default, show_default=True, metavar="PATH", callback=_checked_path, help=help_text
    )


def _checked_path(_context: click.Context, parameter: click.Parameter, path: str) -> str:
    if path and not path.startswith("/"):
        raise click.BadParameter(f"`{printable(path)}` does not begin with /")
    if parameter.name in ("resume_path", "cancel_path") and RUN not in path:
        raise click.BadParameter(f"the word {RUN} is missing, in whose place the id of a run comes")
    return path


@click.command()
@click.argument("url", metavar="URL", callback=_url)
@click.option(
    "--prompt",
    "calling",
    multiple=True,
    metavar="TEXT",
    help=f"A question that makes the model call a tool. Repeatable.  [default: {_DEMO}]",
)
@click.option(
    "--failing-prompt", "failing", multiple=True, metavar="TEXT", help="A question with which a run fails. Repeatable."
)
@click.option("--long-prompt", "long", metavar="TEXT", help="A question whose answer takes long; it is cancelled.")
@click.option(
    "--serve-model",
    "port",
    type=click.IntRange(1, 65535),
    metavar="PORT",
    help="Serve a scripted model with the API of OpenAI at http://127.0.0.1:PORT/v1, which the gateway has to ask; it "
    "calls, fails and takes long, so that no prompt is needed.",
)
@click.option(
    "--tool", metavar="NAME", help="With --serve-model: the tool that is called; default: the first that can be."
)
@click.option(
    "--arguments", metavar="JSON", callback=_json, help="With --tool: its arguments; default: made of its schema."
)
@click.option("--model", metavar="NAME", help="The model for the API of OpenAI; default: the first that is listed.")
@click.option(
    "--body",
    metavar="JSON",
    callback=_json,
    help=f'The body of a request for a chat, with {PROMPT} in it.  [default: {{"input": "{PROMPT}"}}]',
)
@_path("chat", "Where a chat is asked for; empty if nowhere.")
@_path("resume", f"Where the events of a run are read again; {RUN} is its id.")
@_path("cancel", f"Where a run is cancelled; {RUN} is its id.")
@_path("openai", "Where a chat completion is asked for; empty if nowhere.")
@click.option(
    "--timeout", type=Number(1, 3600), default=60.0, show_default=True, help="Seconds for each answer of the gateway."
)
@header_option
@wait_option
@click.option("--strict", is_flag=True, help="Count a broken SHOULD like a broken MUST.")
@click.option("--verbose", "-v", is_flag=True, help="Also print the table of all requirements, with those obeyed.")
@click.option("--quiet", "-q", is_flag=True, help="Print only what was broken, the notes and the verdict.")
@json_option("report")
@report_options
def gateway(
    url: str,
    calling: tuple[str, ...],
    failing: tuple[str, ...],
    long: str | None,
    port: int | None,
    tool: str | None,
    arguments: Any,
    model: str | None,
    body: Any,
    chat_path: str,
    resume_path: str,
    cancel_path: str,
    openai_path: str,
    timeout: float,
    headers: tuple[tuple[str, str], ...],
    wait: float,
    strict: bool,
    verbose: bool,
    quiet: bool,
    json_path: Path | None,
    reports: ReportFiles,
) -> None:
    """Judge a gateway, which runs chats for front ends over HTTP.

    The suite asks it for chats as a front end does: as events, in one piece, and over the API of OpenAI; it reads a run
    again, cancels one, and sends what is wrong. URL is the address of the gateway, without a path.

    Exit codes: 0 conforms, 1 does not or too little was seen, 2 usage, 3 the gateway cannot be reached, or a chat not
    be judged.
    """
    if verbose and quiet:
        raise click.UsageError("--verbose and --quiet exclude each other.")
    if port is None and (tool or arguments is not None):
        raise click.UsageError("--tool and --arguments are for --serve-model.")
    if arguments is not None and not tool:
        raise click.UsageError("--arguments is for --tool NAME, which says for which tool they are.")
    prompts = Prompts(calling or (_DEMO,), failing, long or "")
    if port is not None:
        if calling or failing or long:
            raise click.UsageError("--serve-model has prompts of its own; leave the others out.")
        prompts = PROMPTS
    options = Options(
        url,
        prompts,
        headers,
        Paths(chat_path, resume_path, cancel_path, openai_path),
        model=model or "",
        seconds=timeout,
        strict=strict,
    )
    if body is not None:
        options = replace(options, body=body)
    name = printable(without_secrets(url))
    report = CaseReport(CHATS)
    console = Console(stderr=reports.takes_stdout, highlight=False)
    if wait:
        wait_for_port(url, time.monotonic() + wait)
    with (
        Waiting("xmcp check gateway", console, quiet=quiet or reports.takes_stdout) as waiting,
        reports.recorded(report.add) as emit,
    ):
        waiting.begin(f"{name} to answer", timeout)
        scripted = None if port is None else ScriptedModel(readable, tool or "", arguments)
        asyncio.run(_judge(options, emit, name, scripted, port or 0))
    show(report, console, verbose=verbose, quiet=quiet)
    if json_path is not None:
        write_json(json_path, to_dict(report))
    reports.write(of_cases(report, "."))
    sys.exit(report.exit_code)


async def _judge(options: Options, emit: Emit, name: str, model: ScriptedModel | None, port: int) -> None:
    """Judge the gateway while the model is served, if there is one."""
    if model is None:
        await check(options, emit, name)
        return
    try:
        host = Host(port)
    except OSError as error:
        raise click.BadParameter(
            f"port {port} cannot be taken: {error.strerror}", param_hint="--serve-model"
        ) from error
    try:
        await host.serve(model.app)
        await check(options, emit, name, model)
    finally:
        await host.close()
