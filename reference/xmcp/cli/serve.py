"""`xmcp serve`: run somebody's server.

What may live here: the options and their check. Finding the server is target.py's, running it the server's own.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal, cast

import click

from xmcp.cli.target import load_server

if TYPE_CHECKING:
    from xmcp.server.serving import Serving

_NETWORK_OPTIONS = ("host", "port", "path")


@click.command(short_help="Serve an XMCP or FastMCP server.")
@click.argument("target", metavar="MODULE:ATTR")
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http", "sse"]),
    default="http",
    show_default=True,
    help="http (streamable) or sse (for older clients) on a port; stdio for a client that starts this command.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=3333, show_default=True, help="0 takes a free one.")
@click.option("--path", default=None, help="Path of the endpoint.  [default: /mcp; for sse: /sse]")
@click.pass_context
def serve(
    ctx: click.Context, target: str, transport: Literal["stdio", "http", "sse"], host: str, port: int, path: str | None
) -> None:
    """Serve the XMCP or FastMCP server MODULE:ATTR until interrupted.

    MODULE is a module (package.module) or a file (server.py). ATTR is the server in it and may be left out if there is
    only one, or one called mcp or app.

    \b
      xmcp serve server.py
      xmcp serve xmcp.samples.sales:mcp --port 8080
    """
    if transport == "stdio":
        for name in _NETWORK_OPTIONS:
            if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
                raise click.UsageError(f"--{name} means nothing with --transport stdio")
    if path is not None and not path.startswith("/"):
        raise click.UsageError("--path must begin with /")
    server = load_server(target)

    from xmcp.server import ServeError
    from xmcp.server.serving import Serving

    if transport == "stdio" and sys.stdin.isatty():
        click.echo(f"{server.name} waits for a client's messages on standard input; Ctrl-D ends it.", err=True)
    options: dict[str, Any] = {} if path is None else {"path": path}
    try:
        # `serve` needs nothing of its class but FastMCP's own methods, so a plain FastMCP server runs the same way.
        Serving.serve(cast("Serving", server), transport, host, port, **options)
    except ServeError as error:
        raise click.ClickException(str(error)) from None
