"""`xmcp gateway`: the command line. `gateway_parts.py` makes what it asks for.

What needs the client is imported in the functions, so that help loads no SDK.
"""

from __future__ import annotations

import logging.config
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from xmcp.cli.chat.model_choice import NAMES
from xmcp.cli.gateway_keys import keys
from xmcp.cli.logs import FORMATS, LEVELS, Format, logging_config, say

if TYPE_CHECKING:
    from xmcp.gateway.config import GatewayConfig

_DEFAULT_FILE: Final = "gateway.toml"
_COMMANDS: Final = ("serve", "check", "init", "key", "keys", "dashboards")


class _Gateway(click.Group):
    """A group whose command `serve` need not be written."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words; where none of the commands comes first, `serve` is meant."""
        if not args or args[0] not in (*_COMMANDS, *ctx.help_option_names):
            args = ["serve", *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the commands in the order in which one needs them."""
        return list(_COMMANDS)


@click.group(cls=_Gateway, short_help="Serve a model with your tools to front ends.")
def gateway() -> None:
    """Serve a model with the tools of your servers to front ends: OpenAI's API, an API of its own, and others.

    Without a command: serve.

    \b
      xmcp gateway --provider demo                 a script and sample tools, without a key
      xmcp gateway --provider openai --server server.py
      xmcp gateway init && xmcp gateway gateway.toml
    """


@gateway.command()
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--host", metavar="ADDRESS", help="Address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), help="0 takes a free port.  [default: 8080]")
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    help="Processes that serve, each with tool servers of its own.  [default: 1]",
)
@click.option(
    "--provider", type=click.Choice(NAMES), help="Whose model; default: the first with a key in the environment."
)
@click.option("--model", metavar="NAME", help="The model; default: that of the provider.")
@click.option("--base-url", metavar="URL", help="Address of another server with the provider's API.")
@click.option(
    "--server",
    "servers",
    multiple=True,
    metavar="SERVER",
    help="A server with tools: a URL, a command in quotes, a file or module as for `xmcp serve`. Repeatable.",
)
@click.option(
    "--metrics-port", type=click.IntRange(0, 65535), help="Serve /metrics for Prometheus there.  [default: not at all]"
)
@click.option("--audit", metavar="DATABASE", help="Record the chats: a file for SQLite, or postgresql://...")
@click.option(
    "--log-level",
    type=click.Choice(LEVELS),
    default="warning",
    show_default=True,
    help="debug logs a line for each request.",
)
@click.option("--log-format", type=click.Choice(FORMATS), default="text", show_default=True, help="json: for machines.")
def serve(
    file: Path | None,
    host: str | None,
    port: int | None,
    workers: int | None,
    audit: str | None,
    metrics_port: int | None,
    log_level: str,
    log_format: Format,
    **wanted: Any,
) -> None:
    """Serve until interrupted. The options take the place of what FILE says.

    The first Ctrl-C or SIGTERM lets the chats finish that are running, the second ends at once.

    Exit codes: 0 ended by a signal, 1 could not start, 2 usage.
    """
    from xmcp.cli.gateway_workers import serve_in_workers
    from xmcp.gateway.config import GatewayConfig
    from xmcp.gateway.config_file import BadConfig, read_config
    from xmcp.gateway.config_rules import CannotServe, refuse_unsafe, refuse_workers
    from xmcp.http_listening import CannotListen, listen, served_on

    logging.config.dictConfig(logging_config(log_level, log_format))
    try:
        config = GatewayConfig() if file is None else read_config(file)
        config = _with_options(config, "listen", host=host, port=port, workers=workers)
        config = _with_options(config, "audit", database=audit)
        config = _with_options(config, "metrics", port=metrics_port)
        refuse_unsafe(config)
        refuse_workers(config)
        count = config.listen.workers

        def ready(listener: socket.socket, models: Sequence[str], metrics: str | None) -> None:
            told = f"{served_on('The gateway', config.listen.host, listener, '')}, with {', '.join(models)}"
            told += "" if count == 1 else f", in {count} processes"
            told += "" if metrics is None else f"; its metrics on {metrics}"
            say(told, log_format)

        if count == 1:
            _serve(config, wanted, log_level, log_format, ready)
        else:
            with listen(config.listen.host, config.listen.port) as listener:
                serve_in_workers(config, wanted, log_level, log_format, listener, partial(ready, listener))
    except (BadConfig, CannotServe, CannotListen) as error:
        raise click.ClickException(str(error)) from None


def _serve(
    config: GatewayConfig,
    wanted: Mapping[str, Any],
    log_level: str,
    log_format: Format,
    ready: Callable[[socket.socket, Sequence[str], str | None], None],
) -> None:
    """Serve in this process."""
    from xmcp.cli.gateway_metrics import metrics_of
    from xmcp.cli.gateway_parts import gateway_of
    from xmcp.cli.open_telemetry import CannotExport, exporting
    from xmcp.gateway.serving import GatewayServer
    from xmcp.http_listening import listen

    made = gateway_of(config, os.environ, **wanted)
    listening = listen(config.listen.host, config.listen.port)
    try:
        with exporting("xmcp-gateway", os.environ), listening as listener, metrics_of(made) as metrics:
            server = GatewayServer(
                made,
                partial(ready, listener, made.model_ids, None if metrics is None else metrics.url),
                metrics,
                log_config=logging_config(log_level, log_format),
                log_level=None,
                access_log=log_level == "debug",
            )
            server.run([listener])
    except CannotExport as error:
        raise click.ClickException(str(error)) from None
    except SystemExit:  # raised by uvicorn when the application did not start
        raise click.ClickException("The gateway could not start. The log above says why.") from None


@gateway.command()
@click.argument("file", default=_DEFAULT_FILE, type=click.Path(dir_okay=False, path_type=Path))
def check(file: Path) -> None:
    """Judge FILE without serving it: its settings, and whether models, servers and keys can be made of it.

    Nothing is connected to but the database of keys, for its pepper.  Exit codes: 0 fine, 1 not.
    """
    from xmcp.cli.gateway_parts import problems
    from xmcp.gateway.config_file import BadConfig, read_config

    try:
        config = read_config(file)
    except BadConfig as error:
        raise click.ClickException(str(error)) from None
    if found := problems(config, os.environ):
        raise click.ClickException("\n".join(f"{file}: {problem}" for problem in found))
    counted = {"model": len(config.models), "server": len(config.servers)}
    stored = config.access.database is not None
    counted |= {"key": len(config.keys)} if config.keys or not stored else {}
    further = ", keys in a database" if stored else ""
    where = f"{config.listen.host}:{config.listen.port}"
    where += "" if config.listen.workers == 1 else f", in {config.listen.workers} processes"
    click.echo(f"{file} is fine: {_counts(counted)}{further}; it listens on {where}.")


@gateway.command()
@click.argument("file", default=_DEFAULT_FILE, type=click.Path(dir_okay=False, path_type=Path))
def init(file: Path) -> None:
    """Write FILE with every setting, its default and what it is. A file that exists is left as it is."""
    from xmcp.gateway.config_file import commented_config

    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(commented_config())
    except FileExistsError:
        raise click.ClickException(f"{file} exists already. Name another file, or delete it.") from None
    except OSError as error:
        raise click.ClickException(f"{file} cannot be written: {error.strerror}.") from None
    click.echo(f"Wrote {file}. Edit it, then: xmcp gateway check {file}; xmcp gateway {file}")


@gateway.command()
@click.argument("name", default="front-end")
@click.option("--tenant", default="default", show_default=True, help="The tenant whose chats these are.")
def key(name: str, tenant: str) -> None:
    """Print a new key for NAME, and the lines of the file that let it in. Nothing else has the key."""
    from pydantic import ValidationError

    from xmcp.gateway.config import Key
    from xmcp.gateway.keys import digest, new_key

    made = new_key()
    try:
        line = Key(name=name, tenant=tenant, hash=f"sha256:{digest(made).hex()}")
    except ValidationError:
        raise click.UsageError("NAME and --tenant must have 1 to 128 letters, digits and . _ @ -") from None
    click.echo(f"The key, which nothing else keeps:\n\n{made}\n\nFor the configuration:\n")
    click.echo(f'[[keys]]\nname = "{line.name}"\ntenant = "{line.tenant}"\nhash = "{line.hash}"')


gateway.add_command(keys)


@gateway.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def dashboards(folder: Path) -> None:
    """Write a dashboard for Grafana and alerts for Prometheus into FOLDER. Files that exist are left as they are."""
    import xmcp.gateway

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for shipped in (Path(xmcp.gateway.__file__).parent / "dashboards").iterdir():
            with (folder / shipped.name).open("xb") as new:
                new.write(shipped.read_bytes())
    except FileExistsError as error:
        raise click.ClickException(f"{error.filename} exists already. Name another folder, or delete it.") from None
    except OSError as error:
        raise click.ClickException(f"{error.filename} cannot be written: {error.strerror}.") from None
    click.echo(
        f"Wrote {folder}/grafana.json and {folder}/rules.yml. The guide of the gateway says what to do with them."
    )


def _with_options(config: Any, table: str, **options: Any) -> Any:
    """Return the configuration with the options of the command line in the place of those of a table."""
    given = {name: value for name, value in options.items() if value is not None}
    return config.model_copy(update={table: getattr(config, table).model_copy(update=given)})


def _counts(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}{'' if number == 1 else 's'}" for name, number in counted.items())
