"""`xmcp audit`: list the runs of a gateway, show one, and replay what the model of a conversation read."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console

from xmcp.chat.untrusted_text import printable
from xmcp.cli.report_files import STANDARD_OUTPUT, json_option, write_json

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from xmcp.gateway.audit.database import Address

_CANNOT_READ: Final = 3
_MOST: Final = 10_000
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


class _Since(click.ParamType[int]):
    """A time: so long ago, such as 30m, 12h or 7d; or a date, with or without a time, in UTC."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the milliseconds since 1970.

        Raises:
            click.BadParameter: it is neither.
        """
        now = datetime.now(UTC).timestamp()
        if ago := re.fullmatch(r"(\d{1,6})([smhdw])", str(value)):
            return round((now - int(ago[1]) * _UNITS[ago[2]]) * 1000)
        try:
            at = datetime.fromisoformat(str(value))
        except ValueError:
            said = f"'{printable(str(value))}' is no time: write 30m, 12h, 7d, 2026-11-30 or 2026-11-30T09:30."
            self.fail(said, param, ctx)
        return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


class _Group(click.Group):
    """A group whose options may also follow its argument, where no command does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the words that belong to the group, and return the others."""
        ctx.allow_interspersed_args = not (len(args) > 1 and args[1] in self.commands)
        return super().parse_args(ctx, args)


@click.group(cls=_Group, invoke_without_command=True, subcommand_metavar="[show RUN | replay CONVERSATION]")
@click.argument("database")
@click.option("--conversation", metavar="ID", help="Only runs of this conversation, or of this session of a caller.")
@click.option("--tenant", metavar="ID", help="Only runs of this tenant.")
@click.option("--since", type=_Since(), metavar="TIME", help="Only runs since then: 30m, 12h, 7d, or a date in UTC.")
@click.option("--failed", is_flag=True, help="Only runs that ended with an error or were interrupted.")
@click.option("--limit", type=click.IntRange(1, _MOST), default=50, show_default=True, help="How many runs at most.")
@json_option("list")
@click.pass_context
def audit(ctx: click.Context, /, database: str, *, json_path: Path | None, **wanted: Any) -> None:
    """List the runs of a gateway, the newest first.

    DATABASE is the SQLite file or the postgresql:// URL that the gateway writes to. It is only read.

    \b
    xmcp audit audit.db --failed --since 2d
    xmcp audit audit.db show 019abc12            one run: calls, errors, usage, cost
    xmcp audit audit.db replay CONVERSATION      what the model read, step by step

    Exit codes: 0 shown, 2 usage, or no such run, 3 the database cannot be read.
    """
    with _told():
        from xmcp.gateway.audit.database import address_of

        ctx.obj = address_of(database)
    if ctx.invoked_subcommand is not None:
        return
    with _read(ctx.obj) as connection:
        from xmcp.gateway.audit.reading import RunFilter, runs

        found = runs(connection, RunFilter(**wanted))
    if json_path is not None:
        write_json(json_path, {"runs": found})
    if json_path != STANDARD_OUTPUT:
        from xmcp.cli import audit_screen

        audit_screen.show_runs(found, _console(), cut=len(found) == wanted["limit"])


@audit.command()
@click.argument("run")
@json_option("run")
@click.pass_obj
def show(address: Address, run: str, *, json_path: Path | None) -> None:
    """Show one run: its model calls, tool calls, errors, usage and cost.

    RUN is its id, or the beginning of it.
    """
    with _read(address) as connection:
        from xmcp.gateway.audit.reading import one_run, run_ids

        found = one_run(connection, _only(run_ids(connection, run), run, "run"))
    if json_path is not None:
        write_json(json_path, found)
    if json_path != STANDARD_OUTPUT:
        from xmcp.cli import audit_screen

        audit_screen.show_run(found, _console())


@audit.command()
@click.argument("conversation")
@click.option("--full", is_flag=True, help="Show every text whole.")
@json_option("model calls, each with all that it received,")
@click.pass_obj
def replay(address: Address, conversation: str, *, full: bool, json_path: Path | None) -> None:
    """Show what the model of a conversation read and wrote, call by call; what it has read before is not repeated.

    CONVERSATION is its id, the caller's own id of it, or the id of one of its runs.
    """
    with _read(address) as connection:
        from xmcp.gateway.audit.reading import conversation_ids
        from xmcp.gateway.audit.rebuild import model_calls

        name = _only(conversation_ids(connection, conversation), conversation, "conversation")
        calls = model_calls(connection, conversation_id=name)
        if json_path is not None:
            kept = [*calls]
            write_json(json_path, {"conversation": name, "model_calls": [call.to_dict() for call in kept]})
            calls = iter(kept)
        if json_path != STANDARD_OUTPUT:
            from xmcp.cli import audit_screen

            audit_screen.show_calls(name, calls, _console(), full=full)


def _only(found: list[str], named: str, what: str) -> str:
    """Return the one id that is meant.

    Raises:
        click.UsageError: there is none, or more than one.
    """
    if not found:
        raise click.UsageError(f"There is no {what} '{printable(named)}' in this database.")
    if len(found) > 1:
        raise click.UsageError(f"'{printable(named)}' can be one of these: {', '.join(map(printable, found))}.")
    return found[0]


@contextmanager
def _read(address: Address) -> Iterator[Connection]:
    with _told():
        from xmcp.gateway.audit.reading import reading

        with reading(address) as connection:
            yield connection


@contextmanager
def _told() -> Iterator[None]:
    """End the program with a message if the database cannot be read."""
    try:
        from xmcp.gateway.audit.errors import AuditError

        yield
    except AuditError as error:
        click.echo(f"xmcp audit: {printable(str(error))}", err=True)
        sys.exit(_CANNOT_READ)
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("sqlalchemy", "alembic", "psycopg"):
            raise
        click.echo('xmcp audit: the audit store needs SQLAlchemy: pip install "xmcp[gateway]".', err=True)
        sys.exit(_CANNOT_READ)


def _console() -> Console:
    return Console(highlight=False, markup=False, emoji=False)
