"""`xmcp serve`: the options of the command and their checks.

target.py finds the server, `xmcp.server.transports` runs it, processes.py runs it in several processes.
"""

from __future__ import annotations

import logging.config
import os
import re
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from functools import partial
from typing import Any, Literal

import click

from xmcp.cli.logs import FORMATS, LEVELS, Format, logging_config, say
from xmcp.cli.numbers import Number
from xmcp.cli.target import directory_of, load_server

_ORIGIN = re.compile(r"\*|null|[^/]+://[^/]+/?")
_NETWORK_OPTIONS = ("host", "port", "path", "allowed_host", "allowed_origin", "workers", "reload")
_GRACE = 8.0  # seconds, as `xmcp.server.transports.GRACE`, which would load the server for --help


@click.command(short_help="Serve an XMCP or FastMCP server.")
@click.argument("target", metavar="SERVER")
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http", "sse"]),
    default="http",
    show_default=True,
    help="http (streamable) or sse (for older clients) on a port; stdio for a client that starts this command.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=3333, show_default=True, help="0 takes a free port.")
@click.option("--path", default=None, help="Path of the endpoint.  [default: /mcp; for sse: /sse]")
@click.option(
    "--allowed-host",
    multiple=True,
    metavar="NAME",
    help="Name by which clients reach the server, as behind a reverse proxy: tools.example, *.example; repeatable.",
)
@click.option(
    "--allowed-origin", multiple=True, metavar="URL", help="Web page that may call it: https://app.example; repeatable."
)
@click.option(
    "--grace",
    type=Number(0),
    default=_GRACE,
    show_default=True,
    metavar="SECONDS",
    help="Time in which calls may finish after Ctrl-C, SIGTERM or the end of stdin; a second signal ends at once.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Number of serving processes, each of which imports the module; http only.",
)
@click.option("--reload", is_flag=True, help="Restart when a Python file changes; for development.")
@click.option(
    "--debug",
    is_flag=True,
    help="For development: send the class and the text of unexpected exceptions to the caller, beside the error id.",
)
@click.option(
    "--log-level",
    type=click.Choice(LEVELS),
    default="warning",
    show_default=True,
    help="info logs a line for each call, debug also one for each request.",
)
@click.option(
    "--log-format",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="json writes one object on each line, also for the line with the URL.",
)
@click.pass_context
def serve(
    ctx: click.Context,
    target: str,
    transport: Literal["stdio", "http", "sse"],
    host: str,
    port: int,
    path: str | None,
    allowed_host: tuple[str, ...],
    allowed_origin: tuple[str, ...],
    grace: float,
    workers: int,
    reload: bool,
    debug: bool,
    log_level: str,
    log_format: Format,
) -> None:
    """Serve an XMCP or FastMCP server until interrupted.

    SERVER is a file (server.py) or a module (package.module), with :name of the server in it; the name may be left out
    if there is only one server, or one named mcp or app.

    \b
      xmcp serve server.py
      xmcp serve xmcp.samples.sales:mcp --port 8080
      xmcp serve server.py --workers 4 --log-level info --log-format json
    """
    if transport == "stdio":
        for name in _NETWORK_OPTIONS:
            if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
                raise click.UsageError(f"--{name.replace('_', '-')} cannot be used with --transport stdio")
    if path is not None and not path.startswith("/"):
        raise click.UsageError("--path must begin with /")
    _refuse_what_matches_nothing(allowed_host, allowed_origin)
    if workers > 1 and transport == "sse":
        raise click.UsageError("--workers needs --transport http: an SSE session belongs to one process")
    if workers > 1 and reload:
        raise click.UsageError(
            "--reload and --workers exclude each other: --reload is for development, --workers for production"
        )

    # Before the author's module, which may log while it is imported; after FastMCP, which sets up its own log.
    from xmcp.server import ServeError
    from xmcp.server.server import DEBUG_VARIABLE
    from xmcp.server.transports import (
        ReadyServer,
        listen,
        refuse_contradictions,
        run,
        serve_stdio,
        served_on,
        stdout_diverted,
        uvicorn_settings,
    )

    if debug:
        os.environ[DEBUG_VARIABLE] = "1"  # the processes of --workers and --reload inherit it
    log_config = logging_config(log_level, log_format)
    logging.config.dictConfig(log_config)
    # The standard output of a stdio server carries messages, and an import may print or start programs that do.
    with stdout_diverted() if transport == "stdio" else nullcontext():
        server = load_server(target)
    try:
        refuse_contradictions(server)
    except ServeError as error:
        raise click.ClickException(str(error)) from None
    if transport == "stdio":
        if sys.stdin.isatty():
            say(f"{server.name} waits for messages of a client on standard input; Ctrl-D ends it.", log_format)
        serve_stdio(server, grace=grace, log_level=None)  # else FastMCP sets up its own log again
        return

    from xmcp.cli.processes import Application, Workers
    from xmcp.cli.processes import reload as run_and_reload

    asked = {"path": path, "allowed_hosts": list(allowed_host), "allowed_origins": list(allowed_origin)}
    application = Application(target, transport, {name: value for name, value in asked.items() if value})
    settings: dict[str, Any] = {
        "log_config": log_config,
        "log_level": None,
        "access_log": log_level == "debug",
        "timeout_graceful_shutdown": grace,
    }
    try:
        with listen(host, port) as listener:
            app = application.of(server)
            line = served_on(server.name, host, listener, app.state.path)
            if workers > 1:
                config = uvicorn_settings(application, {**settings, "factory": True, "workers": workers})
                supervisor = Workers(config, listener, partial(say, f"{line} by {workers} workers", log_format))
                supervisor.run()
                if supervisor.failed:
                    raise ServeError(f"{server.name} could not start in a worker. The lines above say why.")
            elif reload:
                config = uvicorn_settings(application, {**settings, "factory": True})
                run_and_reload(config, listener, directory_of(target), partial(say, line, log_format))
            else:
                run(ReadyServer(uvicorn_settings(app, settings), partial(say, line, log_format)), listener, server.name)
    except ServeError as error:
        raise click.ClickException(str(error)) from None


def _refuse_what_matches_nothing(hosts: Iterable[str], origins: Iterable[str]) -> None:
    """Refuse a name with a scheme and an origin without one: the headers never have such values.

    Raises:
        click.UsageError: The message names the value.
    """
    for host in hosts:
        if not host or "/" in host:
            raise click.UsageError(f"--allowed-host takes a name, such as tools.example, not {host!r}")
    for origin in origins:
        if not _ORIGIN.fullmatch(origin):
            raise click.UsageError(
                f"--allowed-origin takes a scheme and a name, such as https://app.example, not {origin!r}"
            )
