"""`xmcp chat`: the command line, and what is started for it.

What needs the client is imported in the functions, so that help loads no SDK.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeAlias

import click

from xmcp.cli.chat.model_choice import DEMO, NAMES, NoModel, model_of, vendor_named
from xmcp.cli.chat.quiet import keep_logs
from xmcp.cli.named_servers import ServerCommand, servers_named
from xmcp.cli.numbers import Number
from xmcp.cli.plots import plots_option
from xmcp.cli.server_access import Access, access_options
from xmcp_conformance.core.command_environment import CommandEnvironment
from xmcp_conformance.core.untrusted_text import printable
from xmcp_conformance.profiles.server.peers import HttpPeer, Peer, StdioPeer

if TYPE_CHECKING:
    from rich.console import Console

    from xmcp.client import ServerTarget
    from xmcp.providers import LLMProvider
    from xmcp.render.terminal import Lines

Servers: TypeAlias = "Sequence[ServerTarget] | Mapping[str, ServerTarget]"

SAMPLE: Final = "xmcp.samples.sales:mcp"
"""The server of `--provider demo`, if none is named."""
APPROVAL_SECONDS: Final = 7 * 86_400.0
"""How long a person may take to approve a call: somebody who is away for a while finds the question where it was."""
_UNREACHABLE: Final = 3
_INTERRUPTED: Final = 130


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line asks for, apart from servers and model."""

    question: str | None
    """The one question; `None`: a person asks."""
    system: str | None
    resume: Path | None
    allow_writes: bool
    max_turns: int
    lines: Lines | None
    connect_timeout: float


@click.command(cls=ServerCommand)
@click.argument("target", nargs=-1, metavar="[SERVER]...")
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File with servers, as other hosts have it: `mcpServers` (Claude, Cursor, …) or `servers` (VS Code).",
)
@click.option(
    "--provider",
    type=click.Choice(NAMES),
    help="Whose model is asked; default: the first with a key in the environment. demo: a script, without a key.",
)
@click.option("--model", metavar="NAME", help="The model; default: that of the provider.")
@click.option("--base-url", metavar="URL", help="Address of another server with the provider's API.")
@click.option("--system", metavar="TEXT", help="Instructions to the model.")
@click.option("--once", metavar="QUESTION", help="Answer one question and end. It can also come from standard input.")
@click.option(
    "--resume",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Go on with the conversation that /save wrote.",
)
@click.option("--allow-writes", is_flag=True, help="Call tools that may change something without asking.")
@click.option(
    "--max-turns", type=click.IntRange(min=1), default=10, show_default=True, help="The model's answers to a question."
)
@plots_option
@access_options
@click.option("--connect-timeout", type=Number(0.1, 300), default=30.0, show_default=True, help="Seconds.")
def chat(
    target: tuple[str, ...],
    config: Path | None,
    provider: str | None,
    model: str | None,
    base_url: str | None,
    once: str | None,
    access: Access,
    **options: Any,
) -> None:
    """Talk to a model that has the tools of your servers.

    What a server shows you is drawn in a frame with its name. Tools that are not marked read-only are called only when
    you say yes. /help lists the commands; Ctrl-C stops an answer, Ctrl-D leaves.

    Keys are read from the environment: OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY and so on. Without a key,
    `xmcp chat --provider demo` shows how it looks.

    Exit codes: 0 answered, 1 no answer, 2 usage, 3 no server can be reached.
    """
    from rich.console import Console

    # FORCE_COLOR makes a terminal of every file, and a file is to have the answer alone.
    console = Console(highlight=False, force_terminal=None if _is_terminal(sys.stdout) else False)
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # the output of `git diff` need not be UTF-8
    wanted = Wanted(question=_question(once, console), **options)
    vendor, llm = _model(provider, model, base_url)
    servers = _servers(target or ((SAMPLE,) if vendor == DEMO and config is None else ()), config, access)
    keep_logs(access.environment.log)
    sys.exit(_run(console, wanted, servers, llm, model, vendor))


def _question(once: str | None, console: Console) -> str | None:
    """Return the one question, `None` if a person will ask.

    Raises:
        click.UsageError: there is neither a question nor a person at a terminal.
    """
    if once is None and not _is_terminal(sys.stdin):
        once = "" if sys.stdin is None else sys.stdin.read()
    if once is None and not console.is_terminal:
        raise click.UsageError("The output is no terminal, so nobody can be asked: give the question with --once.")
    if once is not None and not once.strip():
        raise click.UsageError("The question is empty.")
    return once


def _is_terminal(stream: TextIO | None) -> bool:
    """Return whether a person is at the other end of a stream; there is no stream after `<&-` or `>&-`."""
    return stream is not None and stream.isatty()


def _model(provider: str | None, model: str | None, base_url: str | None) -> tuple[str, LLMProvider]:
    try:
        vendor = vendor_named(provider, base_url)
        return vendor, model_of(vendor, model, base_url)
    except NoModel as error:
        raise click.UsageError(str(error)) from error


def _servers(words: tuple[str, ...], config: Path | None, access: Access) -> Servers:
    """Return the servers: those of the file by their names in it, or those of the command line.

    Raises:
        click.UsageError: there is none, or the file cannot be understood.
    """
    from xmcp.cli.chat.server_files import BadServerFile, read_server_file

    if config is None:
        if not words:
            raise click.UsageError(
                "Name a server: a URL, a command in quotes, a file, or --config FILE. "
                "`xmcp chat --provider demo` has one of its own."
            )
        return [target_of(peer) for peer in access.of(servers_named(words))]
    if words:
        raise click.UsageError("Name servers either in --config or on the command line; a file can have them all.")
    if access != Access(environment=CommandEnvironment(log=access.environment.log)):
        raise click.UsageError("--header, --wait, --env and --cwd are for servers on the command line, not in a file.")
    try:
        found = read_server_file(config)
    except BadServerFile as error:
        raise click.BadParameter(str(error), param_hint="--config") from error
    if not found.servers:
        off = f"; it turns {len(found.turned_off)} off" if found.turned_off else ""
        raise click.BadParameter(f"the file has no server{off}", param_hint="--config")
    return found.servers


def target_of(peer: Peer) -> ServerTarget:
    """Return a server of a command line as the client takes it."""
    from xmcp.client import ServerTarget

    if isinstance(peer, HttpPeer):
        return ServerTarget(peer.url, headers=dict(peer.headers) or None)
    if isinstance(peer, StdioPeer):
        return ServerTarget(list(peer.command), env=dict(peer.environment.env) or None, cwd=peer.environment.cwd)
    raise TypeError(f"{peer!r} is not a server of a command line")


def _run(console: Console, wanted: Wanted, servers: Servers, llm: LLMProvider, model: str | None, vendor: str) -> int:
    """Connect to the servers and have the conversation; return the exit code."""
    from xmcp.cli.chat.approvals import Approvals
    from xmcp.cli.chat.background import Background
    from xmcp.cli.chat.commands import completions
    from xmcp.cli.chat.keyboard import Keyboard
    from xmcp.cli.chat.saved import NotSaved
    from xmcp.cli.chat.screen import Screen
    from xmcp.cli.chat.script import answer_once, code_of
    from xmcp.cli.chat.session import Leave, Session, instructed, resumed
    from xmcp.cli.waiting import Waiting
    from xmcp.client import AIClient, Conversation

    by_person = console.is_terminal and _is_terminal(sys.stdin)

    def client() -> AIClient:
        return AIClient(
            servers,
            llm_provider=llm,
            llm_model=model,
            approve=background.approve,
            approval_timeout=APPROVAL_SECONDS,
            meta_tools=["clarify"] if by_person and wanted.question is None else False,
            max_turns=wanted.max_turns,
            connect_timeout=wanted.connect_timeout,
        )

    with ExitStack() as exits:
        background = exits.enter_context(Background())
        if (close := getattr(llm, "aclose", None)) is not None:
            exits.callback(background.run, close)
        with Waiting("xmcp chat", console) as waiting:
            many = len(servers) > 1
            waiting.begin(
                f"{len(servers)} servers to answer" if many else "the server to answer", wanted.connect_timeout
            )
            ai = background.enter(background.run(client))
        if not any(server.connected for server in ai.servers):
            for server in ai.servers:
                click.echo(
                    f"xmcp chat: {printable(server.label)}: {printable(server.error or 'not connected')}", err=True
                )
            return _UNREACHABLE
        try:
            conversation = Conversation(ai) if wanted.resume is None else resumed(ai, wanted.resume)
        except NotSaved as error:
            raise click.BadParameter(str(error), param_hint="--resume") from error
        if wanted.system is not None:
            conversation = instructed(ai, conversation, wanted.system)
        approvals = Approvals(everything=wanted.allow_writes)
        if wanted.question is not None and not by_person:
            return answer_once(background, conversation, wanted.question, approvals, lines=wanted.lines)
        session = Session(
            background,
            ai,
            Screen(console, lines=wanted.lines),
            Keyboard(completions, colours=console.color_system is not None and not console.no_color),
            approvals,
            conversation,
            model=model or getattr(llm, "model", None) or vendor,
            vendor=vendor,
            file=wanted.resume,
        )
        if wanted.question is not None:
            try:
                done = session.answer(wanted.question, once=True)
            except Leave:
                return _INTERRUPTED
            return _INTERRUPTED if done is None and session.interrupted else code_of(done)
        session.welcome()
        return _INTERRUPTED if session.talk() else 0
