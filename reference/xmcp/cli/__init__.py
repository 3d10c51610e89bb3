"""The command `xmcp`: the table of its commands, and the exit codes.

A command is loaded only when it is used: `xmcp --help` imports no server, no client and no SDK.

Exit codes: 0 success, 1 the answer is no (does not conform, could not start), 2 wrong usage, 3 the program itself
failed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import NoReturn

import click

from xmcp.cli.lazy_commands import LazyCommand, LazyGroup
from xmcp.cli.narrow_encodings import write_ascii_where_needed

_INTERRUPTED = 130
_FAILED = 3


COMMANDS: dict[str, LazyCommand] = {
    "chat": LazyCommand("xmcp.cli.chat.command", "Talk to a model that has the tools of your servers."),
    "see": LazyCommand("xmcp.cli.see", "See what the model and the person get of a server's results, in each host."),
    "render": LazyCommand("xmcp.cli.render", "Draw what a person sees of a document or an envelope, also as HTML."),
    "check": LazyCommand("xmcp.cli.check", "Check whether a server or documents conform to the specification."),
    "replay": LazyCommand(
        "xmcp.cli.replay", "Make the call again with which a server broke a sentence, and see the answer."
    ),
    "serve": LazyCommand("xmcp.cli.serve", "Serve an XMCP or FastMCP server from a module or a file."),
    "gateway": LazyCommand(
        "xmcp.cli.gateway", "Serve a model with your tools to front ends, as OpenAI's API and others."
    ),
    "audit": LazyCommand("xmcp.cli.audit", "Read what a gateway has recorded: runs, calls, costs, what models read."),
    "bindings": LazyCommand("xmcp.cli.type_bindings", "Write the generated types for your language."),
    "demo": LazyCommand("xmcp.cli.demo", "See it work: a sample server, a scripted model, your terminal."),
}


def _print_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted:
        from xmcp_conformance.core.requirements import registry

        try:
            own = version("xmcp")
        except PackageNotFoundError:
            own = "(not installed)"
        click.echo(f"xmcp {own}, specification {registry().version}")
        ctx.exit()


@click.group(cls=LazyGroup, lazy=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version."
)
def cli() -> None:
    """Serve, see and check tools whose results speak to the model and to the person."""


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line on `args` (default: those of the process) and end the process with its exit code."""
    write_ascii_where_needed()
    sys.exit(run(sys.argv[1:] if args is None else args))


def run(args: Sequence[str]) -> int:
    """Run the command line on `args` and return its exit code; raises nothing but SystemExit."""
    try:
        code = cli.main(args=list(args), prog_name="xmcp", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has gone; without this, Python reports it again when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1  # the same code as click's, if click notices first
    except Exception as error:
        if os.environ.get("XMCP_DEBUG"):
            raise
        click.echo(f"xmcp failed: {in_a_line(error)}", err=True)
        click.echo("Run it with XMCP_DEBUG=1 for the traceback.", err=True)
        return _FAILED
    return code if isinstance(code, int) else 0


def in_a_line(error: BaseException) -> str:
    """Return type and message of an exception in one line; for a group, those of its first member."""
    first = next(_leaves(error))
    text = " ".join(str(first).split())
    return f"{type(first).__name__}: {text[:300]}" if text else type(first).__name__


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
