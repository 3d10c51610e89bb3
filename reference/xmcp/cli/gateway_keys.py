"""`xmcp gateway keys`: the keys in a gateway's database, without HTTP. Changes are recorded as by the admin API."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from xmcp.gateway.grants import PROFILES, SCOPES

if TYPE_CHECKING:
    from xmcp.gateway.access.access import KeyDatabase
    from xmcp.gateway.access.key_store import Actor, StoredKey
    from xmcp.gateway.audit.drivers import Execute

T = TypeVar("T")

_DEFAULT_FILE: Final = "gateway.toml"
_LIMITS: Final = ("requests_per_minute", "tokens_per_day", "tokens_per_month", "usd_per_month")


@click.group(short_help="The keys in the database of a gateway.")
@click.option(
    "--config",
    "file",
    default=_DEFAULT_FILE,
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The gateway's file, whose [access] names the database.",
)
@click.option("--database", metavar="DATABASE", help="In place of a file: a file of SQLite, or postgresql://...")
@click.pass_context
def keys(ctx: click.Context, file: Path, database: str | None) -> None:
    """Add, list and revoke the keys in the database of a gateway. The pepper is in XMCP_GATEWAY_PEPPER."""
    ctx.obj = file, database


def _with_limits(command: Callable[..., None]) -> Callable[..., None]:
    for name in reversed(_LIMITS):
        kind: Any = float if name.startswith("usd") else int
        words = name.replace("_", " ").replace("usd", "US dollars")
        command = click.option(f"--{name.replace('_', '-')}", type=kind, help=f"Limit of {words}; none by default.")(
            command
        )
    return command


@keys.command("add")
@click.argument("name")
@click.option("--tenant", required=True, help="The tenant whose chats these are; it is added if there is none.")
@click.option("--scope", "scopes", type=click.Choice(SCOPES), multiple=True, help="Repeatable.  [default: chat, read]")
@click.option("--model", "models", multiple=True, help="A model that it can name; default: all. Repeatable.")
@click.option("--tool", "tools", multiple=True, help="A tool that its chats can have; default: all. Repeatable.")
@click.option("--days", type=click.FloatRange(min=0, min_open=True, max=36_500), help="Days after which it expires.")
@click.option(
    "--events",
    type=click.Choice(PROFILES),
    help="What its streams of /v1/chat/completions say beside the text; default: as in [openai].",
)
@_with_limits
@click.pass_obj
def add(where: tuple[Path, str | None], /, name: str, tenant: str, days: float | None, **options: Any) -> None:
    """Make a key, and print it. Nothing else keeps it."""
    from pydantic import ValidationError

    from xmcp.gateway.access import key_store
    from xmcp.gateway.config import NAME_RULE, is_name
    from xmcp.gateway.grants import NO_LIMITS
    from xmcp.gateway.ids import now_ms

    if not is_name(name) or not is_name(tenant):
        raise click.UsageError(f"NAME and --tenant {NAME_RULE}.")
    given = {one: options[one] for one in _LIMITS if options[one] is not None}
    lists = {one: list(options[one]) for one in ("scopes", "models", "tools") if options[one]}
    try:
        terms = key_store.Terms.model_validate({**lists, "events": options["events"], "limits": given})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise click.UsageError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}.") from None
    database = _database(where)
    key = database.pepper.new_key()
    issued = database.pepper.issued(key)
    expires_at = None if days is None else now_ms() + round(days * 86_400_000)

    def work(run: Execute) -> StoredKey:
        if issued is None:
            raise RuntimeError("a new key is not recognised")
        if not key_store.has_tenant(run, tenant):
            key_store.put_tenant(run, _actor(), tenant, NO_LIMITS)
        return key_store.add_key(run, _actor(), issued, tenant=tenant, name=name, terms=terms, expires_at=expires_at)

    try:
        stored = _in_transaction(database, work)
    except key_store.TooManyKeys:
        raise click.ClickException(f"The tenant {tenant} has too many keys. Revoke some.") from None
    except key_store.TenantDeleted:
        told = f"The tenant {tenant} was deleted, and what it had is kept under the name. Choose another name."
        raise click.ClickException(told) from None
    click.echo(f"The key, which nothing else keeps:\n\n{key}\n\nIt is {_line(stored)}")


@keys.command("list")
@click.option("--tenant", help="Only those of this tenant.")
@click.pass_obj
def list_(where: tuple[Path, str | None], tenant: str | None) -> None:
    """List the keys: id, tenant, name, scopes, and whether they are valid. No key can be printed again."""
    from xmcp.gateway.access import key_store

    database, after, number = _database(where), "", 0
    while True:
        page = _in_transaction(database, partial(key_store.list_keys, tenant=tenant, after=after, limit=key_store.PAGE))
        for stored in page:
            click.echo(_line(stored))
        number += len(page)
        if len(page) < key_store.PAGE:
            break
        after = page[-1].id
    if not number:
        click.echo("There are no keys.", err=True)


@keys.command("revoke")
@click.argument("key_id", metavar="ID")
@click.pass_obj
def revoke(where: tuple[Path, str | None], key_id: str) -> None:
    """Revoke the key with ID, for good. Gateways that run refuse it within 30 s; its chats that run go on."""
    from xmcp.gateway.access import key_store

    if not _in_transaction(_database(where), lambda run: key_store.revoke_key(run, _actor(), key_id)):
        raise click.ClickException("No such key is valid. `xmcp gateway keys list` lists them.")
    click.echo(f"{key_id} is revoked.")


def _database(where: tuple[Path, str | None]) -> KeyDatabase:
    from xmcp.gateway.access.opening import NoKeyDatabase, key_database
    from xmcp.gateway.config_file import BadConfig, read_config

    file, named = where
    try:
        database = named or read_config(file).access.database
        if database is None:
            raise click.ClickException(f"{file} has no database in [access]. Set it, or name one with --database.")
        return key_database(database, os.environ)
    except (BadConfig, NoKeyDatabase) as error:
        raise click.ClickException(str(error)) from None


def _in_transaction(database: KeyDatabase, work: Callable[[Execute], T]) -> T:
    from xmcp.gateway.access.database_thread import is_failure_of_database
    from xmcp.gateway.audit.database import reason_of
    from xmcp.gateway.audit.drivers import driver_for

    driver = driver_for(database.address)
    try:
        driver.connect()
        with driver.transaction() as run:
            return work(run)
    except Exception as error:
        if not is_failure_of_database(error):
            raise
        raise click.ClickException(f"{database.address.name} cannot be used: {reason_of(error)}.") from error
    finally:
        driver.close()


def _actor() -> Actor:
    from xmcp.gateway.access.key_store import Actor

    try:
        return Actor(f"command line: {getpass.getuser()}"[:200])
    except (OSError, KeyError):  # a container without a name for its user
        return Actor("command line")


def _line(stored: StoredKey) -> str:
    """Return what there is to see of a key, in one line."""
    from xmcp.gateway.ids import now_ms

    ends = "" if stored.expires_at is None else f" until {_day(stored.expires_at)}"
    state = f"valid{ends}"
    if stored.expires_at is not None and stored.expires_at <= now_ms():
        state = f"expired {_day(stored.expires_at)}"
    if stored.revoked_at is not None:
        state = f"revoked {_day(stored.revoked_at)}"
    limits = stored.terms.limits.model_dump(exclude_none=True)
    limited = "".join(f"  {name}={value}" for name, value in limits.items())
    return f"{stored.id}  {stored.tenant}  {stored.name}  {','.join(stored.terms.scopes)}  {state}{limited}"


def _day(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%MZ")
