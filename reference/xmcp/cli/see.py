"""`xmcp see`: what the model and the person get of a server's results in each known host."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from xmcp.cli.numbers import Number
from xmcp_conformance.core.untrusted_text import printable
from xmcp_conformance.hosts.answers import Visit
from xmcp_conformance.hosts.picture import picture
from xmcp_conformance.hosts.rules import Host, hosts
from xmcp_conformance.hosts.tokens import tokenizer
from xmcp_conformance.profiles.server.options import ERAS
from xmcp_conformance.profiles.server.peers import Peer, PeerUnavailable
from xmcp_conformance.profiles.server.visit import NoSuchTool, VisitOptions, visit
from xmcp_conformance.reports.see_json import to_dict
from xmcp_conformance.reports.see_terminal import show

from . import sdk_log
from .named_servers import ServerCommand, server_named
from .report_files import STANDARD_OUTPUT, json_option, write_json
from .server_access import Access, access_options
from .suggestions import did_you_mean
from .waiting import Waiting

_DEFAULTS = VisitOptions()
_UNREACHABLE = 3


@click.command(cls=ServerCommand)
@click.argument("target", nargs=-1, required=True, metavar="SERVER")
@click.option(
    "--host",
    "host_names",
    multiple=True,
    metavar="NAME",
    help=f"Show this host only, with the text itself: {', '.join(host.name for host in hosts())}.",
)
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="Show this tool only, with the text itself.")
@click.option("--arguments", metavar="JSON", help="Call the tool with these arguments; needs --tool.")
@click.option("--allow-writes", is_flag=True, help="Also call tools that are not marked read-only.")
@access_options
@click.option("--beside", metavar="SERVER", help="Show the same calls of a second server next to them.")
@click.option(
    "--era",
    type=click.Choice(ERAS),
    default=_DEFAULTS.era,
    show_default=True,
    help="Version of MCP: the newest the server has, or 2025-11-25 (handshake).",
)
@click.option(
    "--connect-timeout",
    type=Number(0.1, 300),
    default=_DEFAULTS.connect_timeout,
    show_default=True,
    help="Seconds.",
)
@click.option(
    "--call-timeout",
    type=Number(0.1, 300),
    default=_DEFAULTS.call_timeout,
    show_default=True,
    help="Seconds.",
)
@json_option("picture")
def see(
    target: tuple[str, ...],
    host_names: tuple[str, ...],
    tools: tuple[str, ...],
    arguments: str | None,
    allow_writes: bool,
    access: Access,
    beside: str | None,
    era: str,
    connect_timeout: float,
    call_timeout: float,
    json_path: Path | None,
) -> None:
    """See what the model and the person get of a server's results, in each host that is known.

    The server can be written in any language. Tools that are marked read-only are called, with arguments made from
    their schemas and with wrong ones. No model is asked: what each host does with a result is data, with version and
    source.

    Exit codes: 0 seen, 2 usage, 3 the server cannot be reached.
    """
    chosen = _hosts(host_names)
    options = VisitOptions(
        allow_writes=allow_writes,
        tools=tools,
        arguments=_arguments(arguments, tools),
        era=era,
        connect_timeout=connect_timeout,
        call_timeout=call_timeout,
    )
    besides = [] if beside is None else [server_named(beside, option="--beside")]
    peers: list[Peer] = access.of([server_named(*target), *besides])
    # Hypothesis would keep what it learns of modules here in the folder of the user.
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", os.devnull)
    sdk_log.silence()
    console = Console(stderr=json_path == STANDARD_OUTPUT, highlight=False)
    try:
        with Waiting("xmcp see", console, quiet=json_path == STANDARD_OUTPUT) as waiting:
            visits = asyncio.run(_visit_all(peers, options, waiting))
    except NoSuchTool as error:
        raise click.BadParameter(str(error), param_hint="--tool") from error
    except PeerUnavailable as error:
        click.echo(f"xmcp see: {error}", err=True)
        sys.exit(_UNREACHABLE)
    pictures = [picture(seen, chosen, tokenizer()) for seen in visits]
    show(pictures, console, texts=bool(host_names or tools))
    if json_path is not None:
        write_json(json_path, to_dict(pictures))


def _hosts(names: tuple[str, ...]) -> tuple[Host, ...]:
    known = {host.name: host for host in hosts()}
    titles = {host.title.casefold(): host.name for host in hosts()}  # as the report prints them
    names = tuple(name if name in known else titles.get(name.casefold(), name) for name in names)
    if unknown := [name for name in names if name not in known]:
        raise click.BadParameter(
            f"there is no host {unknown[0]!r}.{did_you_mean(unknown[0], known)} Known: {', '.join(known)}",
            param_hint="--host",
        )
    return tuple(known[name] for name in names) or tuple(known.values())


def _arguments(text: str | None, tools: tuple[str, ...]) -> dict[str, Any] | None:
    if text is None:
        return None
    if len(tools) != 1:
        raise click.BadParameter("name the tool that gets them with one --tool NAME", param_hint="--arguments")
    try:
        value = json.loads(text)
    except ValueError as error:
        raise click.BadParameter(f"this is not JSON: {error}", param_hint="--arguments") from error
    if not isinstance(value, dict):
        raise click.BadParameter('write a JSON object, such as \'{"city": "Paris"}\'', param_hint="--arguments")
    return value


async def _visit_all(peers: list[Peer], options: VisitOptions, waiting: Waiting) -> list[Visit]:
    """Visit the servers, the second with the calls of the first; say what is being waited for and called."""

    def connecting(peer: Peer) -> None:
        waiting.begin(f"`{printable(str(peer))}` to answer over {peer.transport}", options.connect_timeout)

    def progress(tool: str) -> None:
        waiting.show(f"calling {printable(tool)} …")

    visits = [await visit(peers[0], options, progress=progress, connecting=connecting)]
    for peer in peers[1:]:
        calls = {tool.name: tool.cases for tool in visits[0].tools}
        visits.append(await visit(peer, options, calls=calls, progress=progress, connecting=connecting))
    return visits
